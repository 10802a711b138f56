"""EXP and CEXP: the statistics of the files, labels and pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sekgnn.datasets import CEXP, EXP
from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, LabelledGraph


def wl_colours(graphs: list[LabelledGraph]) -> list[list[int]]:
    """Refine the graphs together, from node labels, and return sorted colours."""
    colours = [g.node_labels.tolist() for g in graphs if g.node_labels is not None]
    for _ in range(max(g.num_nodes for g in graphs)):
        table: dict[object, int] = {}
        colours = [
            [
                table.setdefault(
                    (own[v], tuple(sorted(own[u] for u in g.graph.neighbors(v)))),
                    len(table),
                )
                for v in range(g.num_nodes)
            ]
            for g, own in zip(graphs, colours, strict=True)
        ]
    return [sorted(own) for own in colours]


@pytest.mark.dataset
@pytest.mark.parametrize(
    ("dataset", "fewest", "most", "mean", "edges"),
    [(EXP, 32, 64, 44.45, 110.2), (CEXP, 40, 81, 55.78, 139.6)],
)
def test_statistics(
    dataset: type[EXP],
    fewest: int,
    most: int,
    mean: float,
    edges: float,
    data_root: Path,
) -> None:
    graphs = dataset(data_root)
    sizes = [g.num_nodes for g in graphs]
    assert len(graphs) == 1200
    assert repr(graphs) == f"{dataset.__name__}(1200)"
    assert (min(sizes), max(sizes)) == (fewest, most)
    assert round(float(np.mean(sizes)), 2) == mean
    assert round(float(np.mean([2 * g.num_edges for g in graphs])), 1) == edges


@pytest.mark.dataset
@pytest.mark.parametrize("dataset", [EXP, CEXP])
def test_the_labels_of_a_pair_are_opposite(dataset: type[EXP], data_root: Path) -> None:
    graphs = dataset(data_root)
    assert set(graphs.labels.tolist()) == {0, 1}
    assert np.array_equal(graphs.labels[0::2], 1 - graphs.labels[1::2])
    pairs = graphs.pairs()
    assert len(pairs) == 600
    assert pairs[7] == (graphs[14], graphs[15])


@pytest.mark.dataset
def test_one_wl_solves_the_learn_part_of_cexp_and_nothing_else(data_root: Path) -> None:
    def solved(pairs: list[tuple[LabelledGraph, LabelledGraph]]) -> list[bool]:
        return [a != b for a, b in (wl_colours(list(pair)) for pair in pairs)]

    cexp = CEXP(data_root)
    assert all(solved(cexp.pairs("learn")[::60]))
    assert not any(solved(cexp.pairs("exp")[::60]))
    assert not any(solved(EXP(data_root).pairs()[::100]))
    assert sorted(map(repr, cexp.pairs())) == sorted(
        map(repr, cexp.pairs("learn") + cexp.pairs("exp"))
    )
    with pytest.raises(ConfigError, match="part must be one of"):
        cexp.pairs("hard")  # type: ignore[arg-type]


@pytest.mark.dataset
def test_pyg_data(data_root: Path) -> None:
    graphs = EXP(data_root)
    data = graphs.to_pyg()
    assert [item.y.item() for item in data] == graphs.labels.tolist()
    for item, labelled in zip(data[::50], graphs[::50], strict=True):
        assert item.is_undirected()
        assert Graph.from_edge_index(item.edge_index, item.num_nodes) == labelled.graph
        assert item.x.shape == (labelled.num_nodes, 2)
        assert labelled.node_labels is not None
        assert item.x.argmax(1).tolist() == labelled.node_labels.tolist()
        assert bool((item.x.sum(1) == 1).all())
