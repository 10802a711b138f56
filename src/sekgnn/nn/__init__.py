"""Layers of SEK-GNN: tensors in, tensors out."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.nn.encoding_fusion import EncodingFusion, Fusion
    from sekgnn.nn.gine_plus_conv import GINEPlusConv
    from sekgnn.nn.graph_readout import GraphReadout, Readout, membership
    from sekgnn.nn.hop_combine import Combine, HopCombine
    from sekgnn.nn.hop_loader import HopBatcher, HopLoader
    from sekgnn.nn.hop_matrices import EdgeFeatures, HopCSR, edge_features, hop_csr
    from sekgnn.nn.jumping_knowledge import Jump, JumpingKnowledge
    from sekgnn.nn.mlp import MLP
    from sekgnn.nn.node_pairs import PairLayout, pair_layout
    from sekgnn.nn.norms import Norm
    from sekgnn.nn.ppgn_block import PPGNBlock
    from sekgnn.nn.sek_conv import Message, SEKConv, Update
    from sekgnn.nn.sparse_sum import Csr, csr_sum

__all__ = [
    "MLP",
    "Combine",
    "Csr",
    "EdgeFeatures",
    "EncodingFusion",
    "Fusion",
    "GINEPlusConv",
    "GraphReadout",
    "HopBatcher",
    "HopCSR",
    "HopCombine",
    "HopLoader",
    "Jump",
    "JumpingKnowledge",
    "Message",
    "Norm",
    "PPGNBlock",
    "PairLayout",
    "Readout",
    "SEKConv",
    "Update",
    "csr_sum",
    "edge_features",
    "hop_csr",
    "membership",
    "pair_layout",
]

__getattr__, __dir__ = lazy_names(__name__)
