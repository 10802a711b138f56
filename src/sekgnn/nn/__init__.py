"""Layers of SEK-GNN: tensors in, tensors out."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.nn.choices import (
        Activation,
        Combine,
        Fusion,
        Inject,
        Jump,
        Norm,
        Standardize,
        Update,
    )
    from sekgnn.nn.encoding_fusion import EncodingFusion
    from sekgnn.nn.hop_loader import HopLoader
    from sekgnn.nn.hop_matrices import EdgeFeatures, edge_features, hop_csr
    from sekgnn.nn.messages import MESSAGES, Message, register_message
    from sekgnn.nn.mlp import MLP
    from sekgnn.nn.multiset_fusion import MultisetFusion, Multisets, join_multisets
    from sekgnn.nn.neighbor_loader import HopNeighborLoader
    from sekgnn.nn.pooling import GraphReadout, JumpingKnowledge, membership
    from sekgnn.nn.ppgn_block import PairLayout, PPGNBlock, pair_layout
    from sekgnn.nn.sek_conv import GINEPlusConv, HopCombine, SEKConv
    from sekgnn.nn.sparse_sum import Csr, csr_sum
    from sekgnn.nn.standardizer import Standardizer

__all__ = [
    "MESSAGES",
    "MLP",
    "Activation",
    "Combine",
    "Csr",
    "EdgeFeatures",
    "EncodingFusion",
    "Fusion",
    "GINEPlusConv",
    "GraphReadout",
    "HopCombine",
    "HopLoader",
    "HopNeighborLoader",
    "Inject",
    "Jump",
    "JumpingKnowledge",
    "Message",
    "MultisetFusion",
    "Multisets",
    "Norm",
    "PPGNBlock",
    "PairLayout",
    "SEKConv",
    "Standardize",
    "Standardizer",
    "Update",
    "csr_sum",
    "edge_features",
    "hop_csr",
    "join_multisets",
    "membership",
    "pair_layout",
    "register_message",
]

__getattr__, __dir__ = lazy_names(__name__)
