"""Names of the fields that transforms write on a PyG ``Data``, spelt only here.

PyG decides by the name what to do with a field when it batches graphs: one with the
word ``index`` is shifted by the number of nodes before it and joined along its last
dimension, any other is joined along its first. So no field needs a ``Data`` subclass.
"""

from __future__ import annotations

from typing import Final

SUB_ENC: Final = "sub_enc"
"""Substructure encoding of every node, float32 ``[N, C, L]``."""

SUB_ENC_ROWS: Final = "sub_enc_rows"
"""Of a ragged encoding: the multiset of every node and channel, int32 ``[N, C]``.
Multisets and vectors are numbered within their graph, so nothing is shifted when PyG
batches graphs."""

SUB_ENC_SIZES: Final = "sub_enc_sizes"
"""Of a ragged encoding: different vectors in every multiset, int32 ``[U]``."""

SUB_ENC_MEMBERS: Final = "sub_enc_members"
"""Of a ragged encoding: the vectors in all multisets, in order, int32 ``[M]``."""

SUB_ENC_COUNTS: Final = "sub_enc_counts"
"""Of a ragged encoding: how often each is in its multiset, int32 ``[M]``."""

SUB_ENC_VECTORS: Final = "sub_enc_vectors"
"""Of a ragged encoding: the vectors of every graph, float32 ``[T, L]``."""

SUB_ENC_TABLES: Final = "sub_enc_tables"
"""Of a ragged encoding: multisets and vectors of every graph by channel, int64
``[G, 2, C]``."""

SUB_ENC_PARTS: Final = (
    SUB_ENC_ROWS,
    SUB_ENC_SIZES,
    SUB_ENC_MEMBERS,
    SUB_ENC_COUNTS,
    SUB_ENC_VECTORS,
    SUB_ENC_TABLES,
)
"""All fields of a ragged encoding."""

GRAPH_X: Final = "graph_x"
"""Features of a whole graph, such as descriptors, float64 ``[1, D]``, NaN where one is
missing."""

HOP_EDGE_INDEX: Final = "hop_edge_index"
"""Pairs of K-hop neighbours, int64 ``[2, M]``: row 0 the neighbour u that sends, row 1
the node v that receives, u in N_k(v); PyG's flow ``source_to_target``."""

HOP_ORDER: Final = "hop_order"
"""The hop k of every pair, int64 ``[M]``, values 1..K, in rising order per graph."""

HOP_INDPTR: Final = "hop_indptr"
"""On batches of ``HopLoader``: row starts of the K hops, int32 ``[K N + 1]``, row
``(k - 1) N + v`` for node v and hop k."""

HOP_INDICES: Final = "hop_indices"
"""On batches of ``HopLoader``: the nodes u of every row, int32 ``[M]``."""

HOP_T_INDPTR: Final = "hop_t_indptr"
"""As ``hop_indptr``, of the transposed hops; only where a sample is not symmetric."""

HOP_T_INDICES: Final = "hop_t_indices"
"""As ``hop_indices``, of the transposed hops; only where a sample is not symmetric."""

NUM_HOPS: Final = "num_hops"
"""On batches of ``HopLoader``: K, a Python int."""

SEEDS: Final = "seeds"
"""On batches of ``HopNeighborLoader``: the rows of the seeds, int64 ``[B]``, or of
pairs ``[B, 2]``."""

PAIR_WALKS: Final = "pair_walks"
"""On batches of ``HopNeighborLoader`` whose seeds are pairs: what walks between the two
say of them, float32 ``[B, 3]``, see :func:`~sekgnn.walks.between.walks_between`."""

NODE_NUMBER: Final = "node_number"
"""On batches of ``HopNeighborLoader``: the number of every node in the whole graph,
int64 ``[N]``."""

POSITIONS: Final = "pos"
"""Positions of the nodes in space, float32 ``[N, 3]``, in Å; PyG's name."""
