"""Encodings and K-hop neighbourhoods for PyTorch Geometric."""

from sekgnn.transforms.add_khop_edges import AddKHopEdges
from sekgnn.transforms.add_substructure_encoding import AddSubstructureEncoding
from sekgnn.transforms.encode_dataset import EncodedDataset, encode_dataset

__all__ = [
    "AddKHopEdges",
    "AddSubstructureEncoding",
    "EncodedDataset",
    "encode_dataset",
]
