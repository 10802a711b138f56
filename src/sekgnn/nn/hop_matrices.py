"""The K hops of a batch, and the features of hop 1, as compressed sparse rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from sekgnn.checks import check_positive
from sekgnn.errors import GraphInputError
from sekgnn.nn.sparse_sum import Csr, chosen, csr_sum

Ints = NDArray[np.int64]

_MOST = 2**31 - 1


def hop_csr(
    hop_edge_index: Tensor, hop_order: Tensor, num_nodes: int, num_hops: int
) -> Csr:
    """Return the hops 1..K of a graph or batch; pairs of higher hops are left out.

    Args:
        hop_edge_index: Row 0 the node u that sends, row 1 the node v that receives,
            int64 ``[2, M]``, in any order.
        hop_order: The hop of every pair, at least 1, int64 ``[M]``.
        num_nodes: N.
        num_hops: K.

    Raises:
        GraphInputError: If the pairs do not fit together or name other nodes.

    Example:
        >>> pairs = torch.tensor([[1, 0], [0, 1]])
        >>> hops = hop_csr(pairs, torch.tensor([1, 1]), num_nodes=3, num_hops=2)
        >>> hops.indptr.tolist(), hops.indices.tolist()
        ([0, 1, 2, 2, 2, 2, 2], [1, 0])
    """
    check_positive("num_hops", num_hops)
    make_rows = chosen("hop_rows", _hop_rows, hop_edge_index)
    indptr, indices, t_indptr, t_indices = make_rows(
        hop_edge_index, hop_order, num_nodes, num_hops
    )
    return Csr(indptr, indices, t_indptr, t_indices, num_hops)


def _hop_rows(
    hop_edge_index: Tensor, hop_order: Tensor, num_nodes: int, num_hops: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Check the pairs; return the rows of all hops, and those of their transposes."""
    _check_pairs(hop_edge_index, hop_order, num_nodes, num_hops)
    keep = hop_order <= num_hops
    if not bool(keep.all()):
        hop_edge_index, hop_order = hop_edge_index[:, keep], hop_order[keep]
    base = (hop_order - 1) * num_nodes
    sender, receiver = hop_edge_index
    rows = num_hops * num_nodes
    return (
        *grouped(base + receiver, sender, rows),
        *grouped(base + sender, receiver, rows),
    )


def as_hops(
    hop_edge_index: Tensor | Csr,
    hop_order: Tensor | None,
    num_nodes: int,
    num_hops: int,
) -> Csr:
    """Return the hops that a layer was given as pairs, or ready as a :class:`Csr`.

    Raises:
        GraphInputError: If ``hop_order`` is missing, hops are missing from those that
            are ready, or as for :func:`hop_csr`.
    """
    if not isinstance(hop_edge_index, Csr):
        if hop_order is None:
            raise GraphInputError(
                "hop_order is missing, the hop of every pair of hop_edge_index; "
                f"AddKHopEdges({num_hops}) writes both: pass batch.hop_order."
            )
        return hop_csr(hop_edge_index, hop_order, num_nodes, num_hops)
    if hop_order is not None:
        raise GraphInputError("hops in one table need no order; leave hop_order out.")
    if hop_edge_index.num_hops < num_hops:
        raise GraphInputError(
            f"the batch holds {hop_edge_index.num_hops} hops and the layer reads "
            f"{num_hops}; make it with num_hops={num_hops}."
        )
    if hop_edge_index.num_nodes != num_nodes:
        raise GraphInputError(
            f"the hops are of {hop_edge_index.num_nodes} nodes, x has {num_nodes} rows."
        )
    return hop_edge_index


def check_index(name: str, value: Tensor) -> Tensor:
    """Return a tensor of numbers of nodes or hops; raise GraphInputError for others."""
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        kind = str(value.dtype).removeprefix("torch.")
        raise GraphInputError(
            f"{name} must hold integers, got {kind}; pass {name}.long()."
        )
    return value


def _check_pairs(edges: Tensor, order: Tensor, num_nodes: int, num_hops: int) -> None:
    check_index("hop_edge_index", edges)
    check_index("hop_order", order)
    if edges.dim() != 2 or edges.size(0) != 2 or order.shape != edges.shape[1:]:
        raise GraphInputError(
            "hop_edge_index must have shape [2, M] and hop_order [M], got "
            f"{list(edges.shape)} and {list(order.shape)}."
        )
    if max(num_hops * num_nodes, edges.size(1)) > _MOST:
        raise GraphInputError(
            f"{edges.size(1)} pairs on {num_hops} x {num_nodes} rows do not fit 32-bit "
            "numbers; use fewer hops or sample them (max_neighbors)."
        )
    if edges.numel() == 0:
        return
    low, high = int(edges.min()), int(edges.max())
    if low < 0 or high >= num_nodes:
        raise GraphInputError(
            f"hop_edge_index holds nodes {low}..{high}, but there are {num_nodes}; "
            f"node ids must lie in [0, {num_nodes}), one row of x for every node."
        )
    if int(order.min()) < 1:
        raise GraphInputError(
            f"hop_order counts from 1, got {int(order.min())}; see AddKHopEdges."
        )


def by_key(keys: Ints, values: Ints, size: int) -> tuple[Ints, NDArray[np.int32]]:
    """Return where each key begins, and the values sorted by key, in linear time.

    Equal keys keep their order, as from CSR to CSC.

    Args:
        keys: Numbers in 0..R-1, ``[M]``.
        values: Numbers that fit 32 bits, ``[M]``.
        size: R.

    Returns:
        int64 ``[R + 1]`` and int32 ``[M]``.
    """
    each = np.arange(keys.size + 1)
    rows = csr_array((values.astype(np.int32), keys, each), shape=(keys.size, size))
    columns = rows.tocsc()
    return columns.indptr.astype(np.int64), columns.data


def transposed(
    indptr: NDArray[Any], indices: NDArray[np.int32], num_nodes: int
) -> tuple[Ints, NDArray[np.int32]]:
    """Return hop-major rows transposed hop by hop, with nodes in rising order."""
    row = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    receiver = row % max(num_nodes, 1)
    return by_key(row - receiver + indices, receiver, indptr.size - 1)


def grouped(keys: Tensor, values: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Return row starts and the values sorted by row, both int32."""
    if keys.is_cpu:
        starts, ordered = by_key(keys.numpy(), values.numpy(), rows)
        return torch.from_numpy(starts).int(), torch.from_numpy(ordered)
    indptr = keys.new_zeros(rows + 1, dtype=torch.int32)
    indptr[1:] = torch.bincount(keys, minlength=rows).cumsum(0)
    return indptr, values[keys.argsort(stable=True)].int()


class EdgeFeatures(NamedTuple):
    """Features of the pairs of hop 1, and which node sends and receives each.

    Attributes:
        attr: ``[M_1, D]``.
        sender: The node u of every pair, int64 ``[M_1]``.
        receivers: The matrix of nodes and the pairs that they receive, ``[N, M_1]``.
    """

    attr: Tensor
    sender: Tensor
    receivers: Csr


def edge_features(edge_index: Tensor, edge_attr: Tensor, hops: Csr) -> EdgeFeatures:
    """Bring the features of ``edge_index`` to the order of hop 1.

    Args:
        edge_index: From u (row 0) to v (row 1), int64 ``[2, E]``, in any order. Edges
            that hop 1 does not hold (not sampled, self-loops) are left out.
        edge_attr: ``[E]`` or ``[E, D]``.
        hops: The batch.

    Raises:
        GraphInputError: If a pair of hop 1 has no edge, or has two.
    """
    check_index("edge_index", edge_index)
    if edge_attr.size(0) != edge_index.size(1):
        raise GraphInputError(
            f"edge_attr has {edge_attr.size(0)} rows for {edge_index.size(1)} edges."
        )
    first = hops.hop(1)
    places = chosen("edge_places", _edge_places, edge_index)
    edge, sender, receiver = places(edge_index, first.indptr, first.indices)
    attr = edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr
    return EdgeFeatures(attr[edge], sender, _received(first, receiver))


def _edge_places(
    edge_index: Tensor, indptr: Tensor, indices: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the edge, sender and receiver of every pair of hop 1, each ``[M_1]``."""
    hop = Csr(indptr, indices, indptr, indices)
    receiver, sender = hop.pairs(1)
    n = hop.num_nodes
    keys, order = (edge_index[1] * n + edge_index[0]).sort(stable=True)  # [E]
    wanted = receiver * n + sender
    left = torch.searchsorted(keys, wanted)
    edges = torch.searchsorted(keys, wanted, right=True) - left
    if bool((edges != 1).any()):
        at = int((edges != 1).nonzero()[0])
        u, v = int(sender[at]), int(receiver[at])
        raise GraphInputError(
            f"the pair {u} -> {v} of hop 1 has {int(edges[at])} edges in edge_index; "
            "with edge features it must have one. Give both directions of every edge "
            "and join multiple ones (torch_geometric.utils.to_undirected)."
        )
    return order[left], sender, receiver


def received(hops: Csr, k: int) -> Csr:
    """Return the matrix of nodes and the pairs of hop k that they receive.

    Its columns are the pairs in the order of ``hops.pairs(k)``, ``[N, M_k]``.
    """
    receiver, _ = hops.pairs(k)
    return _received(hops.hop(k), receiver)


def _received(hop: Csr, receiver: Tensor) -> Csr:
    """Return the same of one hop, whose pairs have these receivers."""
    steps = torch.arange(
        receiver.numel() + 1, dtype=torch.int32, device=receiver.device
    )
    return Csr(hop.indptr - hop.indptr[0], steps[:-1], steps, receiver.int())


def edge_sum(x: Tensor, lift: nn.Module, edges: EdgeFeatures) -> Tensor:
    r"""Return :math:`\sum_{u \in N_1(v)} \mathrm{ReLU}(x_u + \mathrm{lift}(e_{uv}))`.

    Args:
        x: ``[N, C]``.
        lift: Brings features to ``[M_1, C]``.
        edges: The features.
    """
    message = (x.index_select(0, edges.sender) + lift(edges.attr)).relu()  # [M_1, C]
    return csr_sum(message, edges.receivers)


def as_edges(
    edge_index: Tensor | None,
    edge_attr: Tensor | EdgeFeatures | None,
    hops: Csr,
    channels: int,
) -> EdgeFeatures | None:
    """Return the edge features that a layer was given, or ``None`` if it reads none.

    Args:
        edge_index: Of the graph, int64 ``[2, E]``; not needed for prepared features.
        edge_attr: ``[E]`` or ``[E, D]``, or what :func:`edge_features` made of them.
        hops: The batch.
        channels: D, as the layer was made; 0 if it reads none.

    Raises:
        GraphInputError: If something is missing or has another width.
    """
    if not channels:
        return None
    if not isinstance(edge_attr, EdgeFeatures):
        for name, value in (("edge_attr", edge_attr), ("edge_index", edge_index)):
            if value is None:
                raise GraphInputError(
                    f"this layer was made with edge_channels={channels}, but {name} is "
                    "missing: pass edge_index and edge_attr of the batch."
                )
        assert edge_index is not None and edge_attr is not None
        edge_attr = edge_features(edge_index, edge_attr, hops)
    if edge_attr.attr.size(1) != channels:
        raise GraphInputError(
            f"edge_attr has {edge_attr.attr.size(1)} columns, the layer was made with "
            f"edge_channels={channels}."
        )
    return edge_attr


def as_encoding(encoding: Tensor | None, num_nodes: int, channels: int) -> Tensor:
    """Return f as ``[N, F]``, for a layer that was made with ``channels`` = F.

    Raises:
        GraphInputError: If it is missing or has another shape.
    """
    if encoding is None:
        raise GraphInputError(
            f"this layer was made with encoding_channels={channels}: pass encoding, "
            "such as batch.sub_enc."
        )
    flat = encoding.flatten(start_dim=1)
    if flat.shape != (num_nodes, channels):
        raise GraphInputError(
            f"encoding has shape {list(encoding.shape)}; {num_nodes} rows of "
            f"{channels} numbers are expected (encoding_channels)."
        )
    return flat


def _fake_hop_rows(
    hop_edge_index: Tensor, hop_order: Tensor, num_nodes: int, num_hops: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    def starts() -> Tensor:
        return hop_edge_index.new_empty(num_hops * num_nodes + 1, dtype=torch.int32)

    def nodes() -> Tensor:
        return hop_edge_index.new_empty(kept, dtype=torch.int32)

    kept = torch.library.get_ctx().new_dynamic_size()
    return starts(), nodes(), starts(), nodes()


def _fake_edge_places(
    edge_index: Tensor, indptr: Tensor, indices: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    pairs = torch.library.get_ctx().new_dynamic_size()
    edge, sender, receiver = (edge_index.new_empty(pairs) for _ in range(3))
    return edge, sender, receiver


# What reads the numbers of a tensor, and so cannot be traced, is an operator: compiled
# and exported layers check their pairs too.
_rows = torch.library.custom_op("sekgnn::hop_rows", _hop_rows, mutates_args=())
_rows.register_fake(_fake_hop_rows)
_places = torch.library.custom_op("sekgnn::edge_places", _edge_places, mutates_args=())
_places.register_fake(_fake_edge_places)
