"""From a PyG ``Data`` or ``Batch`` to the tensors that the models compute with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from sekgnn import fields
from sekgnn.encoding.ragged import PARTS
from sekgnn.errors import GraphInputError
from sekgnn.nn import (
    Csr,
    EdgeFeatures,
    Multisets,
    PairLayout,
    edge_features,
    hop_csr,
    join_multisets,
    membership,
    pair_layout,
)
from sekgnn.nn.hop_matrices import check_index
from sekgnn.walks.between import STEPS

if TYPE_CHECKING:
    from sekgnn.models.graph_model import GraphModel

# PyG neither batches nor moves a field with an underscore
_CACHE = "_sekgnn_hops"
_JOINED = "_sekgnn_multisets"


_ENCODE = "apply AddSubstructureEncoding with the model's encoding"


class GraphInputs(NamedTuple):
    """What a model computes with, all tensors.

    Attributes:
        hops: The K hops.
        graphs: The matrix of graphs and their nodes, ``[G, N]``.
        x: Node features, ``[N, F]``.
        encoding: Substructure encoding, ``[N, C, L]``.
        edges: Edge features on hop 1.
        pairs: All pairs of nodes, for PPGN.
        multisets: Substructure encoding, if it is ragged.
        graph_x: Features of graphs, standardised, ``[G, D]``.
        extra: What :meth:`GraphModel.extras` made of the batch.
        seeds: Rows of the nodes, ``[B]``, or pairs, ``[B, 2]``, that are asked for;
            ``None`` for all nodes.
        pair_walks: Walks between the nodes of the pairs, ``[B, 3]``.
    """

    hops: Csr
    graphs: Csr
    x: Tensor | None = None
    encoding: Tensor | None = None
    edges: EdgeFeatures | None = None
    pairs: PairLayout | None = None
    multisets: Multisets | None = None
    graph_x: Tensor | None = None
    extra: Any = None
    seeds: Tensor | None = None
    pair_walks: Tensor | None = None

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return self.hops.num_nodes

    def edge_index(self) -> Tensor:
        """Return hop 1 as PyG's layers take it, in the order of ``edges``."""
        receiver, sender = self.hops.pairs(1)
        return torch.stack([sender, receiver])


def graph_inputs(data: Any, model: GraphModel) -> GraphInputs:
    """Return the tensors of a graph or batch that a model reads, in its type.

    Batches of ``HopLoader`` hold their hops ready. For any other the hops are made of
    ``hop_edge_index`` (of ``edge_index`` where one hop is enough), once: they are kept
    with the batch until its pairs change.

    Args:
        data: A PyG ``Data`` or ``Batch``.
        model: Says what to look for.

    Raises:
        GraphInputError: If something is missing or has another shape.
    """
    given = data.num_nodes
    if given is None:
        raise GraphInputError("num_nodes is not set; isolated nodes would be lost.")
    num_nodes, kind = int(given), next(model.parameters()).dtype
    hops = hops_of(data, num_nodes, model.num_hops)
    ptr = getattr(data, "ptr", None)
    if ptr is None:
        ptr = torch.tensor([0, num_nodes], device=hops.indptr.device)
    check_index("ptr", ptr)
    x = encoding = edges = multisets = None
    if model.in_channels:
        x = _matrix(data, "x", (model.in_channels,), num_nodes).to(kind)
        _check_finite(x, ptr)
    if model.encoding is not None:
        shape = model.encoding.num_channels, model.encoding.length
        if model.encoding.ragged:
            multisets = _multisets(data, *shape, num_nodes, ptr)
        else:
            encoding = _matrix(data, fields.SUB_ENC, shape, num_nodes).to(kind)
    if model.edge_channels:
        size = data.edge_index.size(1)
        attr = _matrix(data, "edge_attr", (model.edge_channels,), size)
        edges = edge_features(data.edge_index, attr.to(kind), hops)
    pairs = pair_layout(ptr, hops) if model.needs_pairs else None
    graph_x = None
    if model.graph_scale is not None:
        graph_x = model.graph_scale(graph_features(data, model.graph_channels).to(kind))
    parts = (x, encoding, edges, pairs, multisets, graph_x)
    seeds = data[fields.SEEDS] if fields.SEEDS in data else None
    walks = None
    if model.level == "link":
        count = 0 if seeds is None else len(seeds)
        walks = _matrix(data, fields.PAIR_WALKS, (len(STEPS),), count).to(kind)
    inputs = GraphInputs(hops, membership(ptr), *parts, seeds=seeds, pair_walks=walks)
    return inputs._replace(extra=model.extras(data, inputs))


def graph_features(data: Any, width: int) -> Tensor:
    """Return the first ``width`` features of the graphs of a batch, ``[G, D]``.

    Raises:
        GraphInputError: If they are missing or of another width.
    """
    ptr = getattr(data, "ptr", None)
    known = max(width, data[fields.GRAPH_X].size(-1) if fields.GRAPH_X in data else 0)
    graphs = 1 if ptr is None else len(ptr) - 1
    return _matrix(data, fields.GRAPH_X, (known,), graphs)[:, :width]


def _multisets(
    data: Any, num_channels: int, length: int, num_nodes: int, ptr: Tensor
) -> Multisets:
    """Return the multisets of a batch; they are joined once, and kept with it."""
    _matrix(data, fields.SUB_ENC_ROWS, (num_channels,), num_nodes)
    _matrix(data, fields.SUB_ENC_TABLES, (2, num_channels), ptr.numel() - 1)
    vectors = data[fields.SUB_ENC_VECTORS]
    _matrix(data, fields.SUB_ENC_VECTORS, (length,), len(vectors))
    rows, kept = data[fields.SUB_ENC_ROWS], getattr(data, _JOINED, None)
    if kept is not None and kept[0] is rows:
        multisets: Multisets = kept[1]
        return multisets
    parts = zip(PARTS, fields.SUB_ENC_PARTS, strict=True)
    tensors = {part: data[name] for part, name in parts}
    joined = join_multisets(**tensors, num_nodes=ptr.diff())
    setattr(data, _JOINED, (rows, joined))
    return joined


def hops_of(data: Any, num_nodes: int, num_hops: int) -> Csr:
    """Return the hops of a graph or batch; see :func:`graph_inputs`.

    Raises:
        GraphInputError: If there are fewer than ``num_hops``.
    """
    if fields.HOPS in data:
        ready: Csr = data[fields.HOPS]
        if ready.num_hops < num_hops:
            raise GraphInputError(
                f"the loader made {ready.num_hops} hops, the model reads {num_hops}; "
                f"use HopLoader(num_hops={num_hops})."
            )
        return ready
    source = data[fields.HOP_EDGE_INDEX] if fields.HOP_EDGE_INDEX in data else None
    if source is None and num_hops > 1:
        raise GraphInputError(
            f"the graph has no {fields.HOP_EDGE_INDEX!r}; apply AddKHopEdges"
            f"({num_hops}), or load it with HopLoader(num_hops={num_hops})."
        )
    edges = data.edge_index if source is None else source
    kept = getattr(data, _CACHE, None)
    if kept is not None and kept[0] is edges and kept[1].num_hops >= num_hops:
        hops: Csr = kept[1]
        return hops  # layers read as many of its hops as they need
    if source is None:
        check_index("edge_index", edges)
        plain = edges[:, edges[0] != edges[1]]
        hops = hop_csr(plain, torch.ones_like(plain[0]), num_nodes, 1)
    else:
        hops = hop_csr(edges, data[fields.HOP_ORDER], num_nodes, num_hops)
    setattr(data, _CACHE, (edges, hops))
    return hops


def _check_finite(x: Tensor, ptr: Tensor) -> None:
    """Raise GraphInputError for features that would make all of a graph NaN."""
    if bool(x.detach().sum().isfinite()):
        return
    bad = (~x.isfinite()).nonzero()
    if len(bad):  # and not a sum that is too large
        node, column = bad[0].tolist()
        graph = int(torch.searchsorted(ptr, node, right=True)) - 1
        raise GraphInputError(
            f"x of graph {graph} of the batch, node {node - int(ptr[graph])}, column "
            f"{column}, is {x[node, column].item()}; features must be finite."
        )


def _matrix(data: Any, name: str, shape: tuple[int, ...], rows: int) -> Tensor:
    """Return field ``name`` if it has ``rows`` rows of the shape that is wanted."""
    value: Tensor | None = data[name] if name in data else None
    if value is None:
        cure = {
            fields.SUB_ENC: _ENCODE,
            fields.SUB_ENC_ROWS: _ENCODE,
            "x": "make the model with in_channels=0 if there are no node features",
            fields.PAIR_WALKS: "load pairs of nodes with HopNeighborLoader",
            fields.GRAPH_X: "make the model with graph_channels=0 if there are none",
        }.get(name, "make the model with edge_channels=0 if there are none")
        raise GraphInputError(f"the graph has no {name!r}; {cure}.")
    value = value.view(-1, 1) if value.dim() == 1 else value
    if tuple(value.shape) != (rows, *shape):
        raise GraphInputError(
            f"{name} must have shape {[rows, *shape]} for this model, got "
            f"{list(value.shape)}."
        )
    return value
