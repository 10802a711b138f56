"""What both transforms owe to PyG: datasets, edges in one direction, a telling repr."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.transforms.helpers import InMemory, OnDisk, mixed_graphs, to_data
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import DataLoader

from sekgnn import fields
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import GraphInputError
from sekgnn.graphs import cycle_graph, path_graph
from sekgnn.transforms import AddKHopEdges, AddSubstructureEncoding

HOPS = (fields.HOP_EDGE_INDEX, fields.HOP_ORDER)
SMALL: dict[str, Any] = {"num_shells": 2, "walk_length": 4}
BOTH: list[Any] = [
    (AddKHopEdges, {"num_hops": 2}, {"num_hops": 3}, HOPS),
    (AddSubstructureEncoding, SMALL, {"walk_length": 8}, (fields.SUB_ENC,)),
]


@pytest.mark.parametrize(("kind", "keys", "other", "names"), BOTH)
def test_through_datasets(
    tmp_path: Path, kind: Any, keys: Any, other: Any, names: tuple[str, ...]
) -> None:
    """Before it is stored, or when it is read; in memory and in a database.

    PyG's own AddRandomWalkPE(4) and (8) print alike, so a stale file is served.
    """
    source = [to_data(g) for g in mixed_graphs()]
    transform = kind(**keys)
    before = OnDisk(str(tmp_path / "a"), source, before_saving=transform)
    during = OnDisk(str(tmp_path / "b"), source, transform=transform)
    memory = InMemory(str(tmp_path / "c"), source, pre_transform=transform)
    read = InMemory(str(tmp_path / "d"), source, transform=transform)
    expected = [transform(data) for data in source]
    for i, data in enumerate(expected):
        for dataset in (before, during, memory, read):
            for name in names:
                assert torch.equal(dataset[i][name], data[name])
    (batch,) = DataLoader(before, batch_size=len(source))
    for graph, data in zip(batch.to_data_list(), expected, strict=True):
        assert all(torch.equal(graph[name], data[name]) for name in names)
    before.close()
    during.close()
    InMemory(str(tmp_path / "c"), source, pre_transform=kind(**keys))  # no warning
    with pytest.warns(UserWarning, match="pre_transform` argument differs"):
        InMemory(str(tmp_path / "c"), source, pre_transform=kind(**{**keys, **other}))


@pytest.mark.parametrize(("kind", "keys", "other", "names"), BOTH)
def test_edges_in_one_direction(
    kind: Any, keys: Any, other: Any, names: tuple[str, ...]
) -> None:
    """undirected="add" serves the result; edges and their features stay as given."""
    edge_index = torch.tensor([[0, 1, 2], [1, 2, 3]])
    data = Data(edge_index=edge_index, edge_attr=torch.arange(3.0), num_nodes=4)
    with pytest.raises(GraphInputError, match="one direction only"):
        kind(**keys)(data)
    out = kind(**keys, undirected="add")(data)
    assert torch.equal(out.edge_index, edge_index)
    assert torch.equal(out.edge_attr, torch.arange(3.0))
    expected = kind(**keys)(to_data(path_graph(4)))
    assert all(torch.equal(out[name], expected[name]) for name in names)
    assert names[0] not in data


@pytest.mark.parametrize(("kind", "keys", "other", "names"), BOTH)
def test_other_types_are_refused(kind: Any, keys: Any, other: Any, names: Any) -> None:
    hetero = HeteroData()
    hetero["a"].num_nodes = 2
    with pytest.raises(GraphInputError, match=r"HeteroData.*to_homogeneous"):
        kind(**keys)(hetero)
    with pytest.raises(GraphInputError, match="got Graph"):
        kind(**keys)(cycle_graph(3))


EDGES: dict[str, Any] = {"undirected": "add", "loops": "error"}
OF_HOPS: dict[str, Any] = {
    "num_hops": 3,
    "kernel": "diffusion",
    "max_neighbors": 5,
    "seed": 1,
    **EDGES,
}
OF_ENCODING: dict[str, Any] = {
    "num_shells": 4,
    "walk_length": 5,
    "scope": "ego",
    "radius": 2,
    "aggregate": "mean",
    "merge": "mean",
    "self_loops": (False, True),
    "first_step": 0,
    "shell_sizes": 3,
    "attr_name": "other",
    "dtype": torch.float64,
    **EDGES,
}


@pytest.mark.parametrize(
    ("kind", "changes", "more"),
    [
        (AddKHopEdges, OF_HOPS, ()),
        (AddSubstructureEncoding, OF_ENCODING, signature(WalkEncoding).parameters),
    ],
)
def test_every_parameter_changes_the_repr(kind: Any, changes: Any, more: Any) -> None:
    own = {*signature(kind.__init__).parameters, *more}
    assert set(changes) == own - {"self", "encoding", "threads", "parameters"}
    for key, value in changes.items():
        base: dict[str, Any] = {"num_hops": 2} if kind is AddKHopEdges else {}
        if key in ("radius", "scope"):
            base = {"scope": "internal"}
        changed = kind(**{**base, key: value})
        assert repr(changed) != repr(kind(**base))
        assert f"{key}=" in repr(changed)
        assert repr(kind(**base, threads=2)) == repr(kind(**base))
