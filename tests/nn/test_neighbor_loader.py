"""A batch of seeds gives what the whole graph gives, all neighbours or sampled ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sekgnn import AddKHopEdges, WalkEncoding, encode
from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    Graph,
    barabasi_albert_graph,
    cycle_graph,
    pack_pairs,
    path_graph,
)
from sekgnn.models import build_model
from sekgnn.nn import HopNeighborLoader
from sekgnn.walks.between import walks_between

_ENCODING = WalkEncoding(num_shells=1, walk_length=3)


def _graph() -> Graph:
    """Hubs, a long cycle and two isolated nodes."""
    rng = np.random.default_rng(0)
    parts = barabasi_albert_graph(50, 3, rng).disjoint_union(cycle_graph(20))
    lone = path_graph(1)
    return parts.disjoint_union(lone).disjoint_union(lone)


def _model(name: str, level: str, **options: Any) -> Any:
    torch.manual_seed(1)
    given: dict[str, Any] = {"encoding": _ENCODING} if name.startswith("sek") else {}
    config = {"model": name, "in_channels": 4, "out_channels": 3, "level": level}
    model = build_model(
        {**config, **given, "num_layers": 2, "hidden_channels": 8, **options}
    ).double()
    return model.eval()


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sek-gin", {"num_hops": 3, "skip": False}),
        ("sek-gnn", {"num_hops": 2, "jump": "last", "head": "mlp"}),
        ("k-gin", {"num_hops": 2}),
        ("graphsage", {}),
    ],
)
def test_seeds_get_what_the_whole_graph_gives(
    name: str, options: dict[str, Any], limit: int | None, tmp_path: Any
) -> None:
    """For all nodes, in any batches, from a mapped file; and for pairs of nodes."""
    graph = _graph()
    n = graph.num_nodes
    file = pack_pairs([graph.edge_index().T], n, tmp_path / "g.csr")
    rng = np.random.default_rng(2)
    x, encoding = rng.standard_normal((n, 4)), encode(graph, _ENCODING)
    hops = options.get("num_hops", 1)
    whole = Data(
        x=torch.from_numpy(x),
        sub_enc=torch.from_numpy(encoding),
        edge_index=torch.from_numpy(graph.edge_index()),
        num_nodes=n,
    )
    whole = AddKHopEdges(hops, max_neighbors=limit, seed=5)(whole)
    more: dict[str, Any] = {"num_hops": hops, "num_layers": 2, "max_neighbors": limit}
    more |= {"x": x, "encoding": encoding, "resample": False, "seed": 5}
    nodes = rng.permutation(n)
    model = _model(name, "node", **options)
    expected = model(whole)
    loader = HopNeighborLoader(file.graph, nodes, 7, **more)
    found = torch.cat([model(batch) for batch in loader])
    torch.testing.assert_close(found, expected[nodes], rtol=1e-10, atol=1e-10)
    if limit is not None:
        sizes = [batch.num_nodes for batch in loader]
        assert max(sizes) <= 7 * (1 + hops * limit) ** 2

    linker = _model(name, "link", **options)
    pairs = rng.integers(0, n, size=(11, 2))
    with torch.no_grad():
        each = [branch(model.prepare(whole)) for branch in linker.branches]
        u, v = ([part[pairs[:, end]] for part in each] for end in (0, 1))
        own = [each for a, b in zip(u, v, strict=True) for each in (a * b, abs(a - b))]
        walks = torch.from_numpy(walks_between(graph, pairs)).float().double()
        joined = torch.cat([*own, walks], dim=1)
        if linker.lift is not None:
            joined = linker.lift(joined).relu()
        expected = linker.head(joined)
        loader = HopNeighborLoader(file.graph, pairs, 4, **more)
        found = torch.cat([linker(batch) for batch in loader])
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_an_epoch_is_a_function_of_seed_and_number() -> None:
    """Order and samples change from epoch to epoch and can be had again."""
    graph = barabasi_albert_graph(60, 3, np.random.default_rng(0))
    more: dict[str, Any] = {"num_hops": 1, "num_layers": 2, "max_neighbors": 2}
    loaders = [HopNeighborLoader(graph, None, 9, True, seed=3, **more) for _ in "ab"]
    epochs = [[[b.node_number for b in loader] for _ in "xy"] for loader in loaders]
    chained = [[*both[0], *both[1]] for both in epochs]
    for one, other in zip(*chained, strict=True):
        torch.testing.assert_close(one, other)
    first, second = (torch.cat([b[:9] for b in epoch]) for epoch in epochs[0])
    assert not torch.equal(first, second)
    with pytest.raises(GraphInputError, match=r"seeds must lie in \[0, 60\)"):
        HopNeighborLoader(graph, [60], **more)
