"""Names of the fields that transforms write on a PyG ``Data``, spelt only here.

PyG batches a field by its name: one with the word ``index`` is shifted by the number of
nodes before it and joined along its last dimension, any other is joined along its
first. So no field needs a ``Data`` subclass.
"""

from __future__ import annotations

from typing import Final

SUB_ENC: Final = "sub_enc"
"""Substructure encoding of every node, float32 ``[N, C, L]``."""

SUB_ENC_ROWS: Final = "sub_enc_rows"
SUB_ENC_SIZES: Final = "sub_enc_sizes"
SUB_ENC_MEMBERS: Final = "sub_enc_members"
SUB_ENC_COUNTS: Final = "sub_enc_counts"
SUB_ENC_VECTORS: Final = "sub_enc_vectors"
SUB_ENC_TABLES: Final = "sub_enc_tables"
SUB_ENC_PARTS: Final = (
    SUB_ENC_ROWS, SUB_ENC_SIZES, SUB_ENC_MEMBERS, SUB_ENC_COUNTS, SUB_ENC_VECTORS,
    SUB_ENC_TABLES,
)  # fmt: skip
"""The arrays of a ragged encoding (:class:`~sekgnn.encoding.RaggedEncoding`). Multisets
and vectors are numbered within their graph, so nothing is shifted when PyG batches
graphs."""

GRAPH_X: Final = "graph_x"
"""Features of a whole graph, such as descriptors, float64 ``[1, D]``, NaN where one is
missing."""

HOP_EDGE_INDEX: Final = "hop_edge_index"
"""Pairs of K-hop neighbours, int64 ``[2, M]``: row 0 the neighbour u that sends, row 1
the node v that receives, u in N_k(v); PyG's flow ``source_to_target``."""

HOP_ORDER: Final = "hop_order"
"""The hop k of every pair, int64 ``[M]``, values 1..K, in rising order per graph."""

HOPS: Final = "hops"
"""On batches of all our loaders: the K hops, a :class:`~sekgnn.nn.Csr`."""

SEEDS: Final = "seeds"
"""On batches of ``HopNeighborLoader``: the rows of the seeds, int64 ``[B]``, or of
pairs ``[B, 2]``."""

GRAPH_NUMBER: Final = "graph_number"
"""On batches of all our loaders: the number of every graph in the dataset, or of every
seed among the items, int64 ``[B]``."""

PAIR_WALKS: Final = "pair_walks"
"""On batches of ``HopNeighborLoader`` with pairs as seeds: walks between the two nodes,
float32 ``[B, 3]``, see :func:`~sekgnn.walks.between.walks_between`."""

NODE_NUMBER: Final = "node_number"
"""On batches of ``HopNeighborLoader``: the number of every node in the whole graph,
int64 ``[N]``."""

POSITIONS: Final = "pos"
"""Positions of the nodes in space, float32 ``[N, 3]``, in Å; PyG's name."""

Y_BOUND = "y_bound"
"""Where a target is a bound: 1 of a lower one, -1 of an upper one, int8 ``[1, T]``."""
