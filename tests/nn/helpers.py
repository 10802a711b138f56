"""Graphs, batches and the slow, obvious form of the aggregations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from tests.transforms.helpers import to_data
from torch import Tensor
from torch_geometric.data import Batch, Data

from sekgnn import AddKHopEdges, AddSubstructureEncoding, WalkEncoding
from sekgnn.encoding import SubstructureEncoding
from sekgnn.graphs import Graph
from sekgnn.nn import Csr, hop_csr

SPEC = WalkEncoding(num_shells=2, walk_length=3, scope=("graph", "internal"), radius=2)
LEARNED = replace(SPEC, aggregate="learned")


def dress(
    graph: Graph,
    num_hops: int = 3,
    *,
    encoding: WalkEncoding | None = SPEC,
    **more: Any,
) -> Data:
    """Return ``graph`` as ``Data`` with hops, f in float64, and the given fields."""
    data = AddKHopEdges(num_hops)(to_data(graph, **more))
    return data if encoding is None else encoded(data, encoding)


def encoded(data: Data, *encodings: SubstructureEncoding) -> Data:
    """Return ``data`` with encodings in float64, of fields of their own."""
    for encoding in encodings:
        data = AddSubstructureEncoding(encoding, dtype=torch.float64)(data)
    return data


def dressed(graphs: Sequence[Graph], num_hops: int = 3, seed: int = 0) -> list[Data]:
    """Return graphs with random node features, positions, symmetric edge features."""
    draw = torch.Generator().manual_seed(seed)
    out = []
    for graph in graphs:
        edges = torch.from_numpy(graph.edge_index().copy())
        n = graph.num_nodes
        table = torch.randn(n, n, 2, dtype=torch.float64, generator=draw)
        table = table + table.transpose(0, 1)
        x = torch.randn(n, 3, dtype=torch.float64, generator=draw)
        attr = table[edges[0], edges[1]]
        pos = torch.randn(n, 3, dtype=torch.float64, generator=draw)
        data = dress(graph, num_hops, x=x, edge_attr=attr, pos=pos)
        out.append(encoded(data, LEARNED))
    return out


def hops_of(data: Data | Batch, num_hops: int) -> Csr:
    return hop_csr(data.hop_edge_index, data.hop_order, data.num_nodes, num_hops)


def dense(hops: Csr, k: int) -> Tensor:
    """Return B_k as a matrix, counting repeated pairs."""
    row, col = hops.pairs(k)
    out = torch.zeros(hops.num_nodes, hops.num_nodes, dtype=torch.float64)
    return out.index_put((row, col), torch.ones(len(row)).double(), accumulate=True)


def relabel(data: Data, perm: Sequence[int], num_hops: int = 3) -> Data:
    """Return ``data`` with node v renamed ``perm[v]``, everything made anew."""
    p = torch.tensor(perm, dtype=torch.long)
    out = Data(edge_index=p[data.edge_index], num_nodes=data.num_nodes)
    for name in ("x", "y", "pos"):
        if data.get(name) is not None:
            out[name] = torch.empty_like(data[name])
            out[name][p] = data[name]
    if data.get("edge_attr") is not None:
        out.edge_attr = data.edge_attr
    out = AddKHopEdges(num_hops)(out)
    return encoded(out, SPEC, LEARNED)


def unset_parameters(module: torch.nn.Module) -> list[str]:
    """Return the names of the parameters that the last backward pass did not reach."""
    return [
        name
        for name, p in module.named_parameters()
        if p.numel() and (p.grad is None or not bool(p.grad.abs().sum() > 0))
    ]
