"""CSL, EXP, CEXP, SR25: what their authors say of them."""

from __future__ import annotations

import pickle
from itertools import combinations
from pathlib import Path

import igraph
import numpy as np
import pytest
import torch

from sekgnn.datasets import CEXP, CSL, EXP, SR25, rook_shrikhande
from sekgnn.datasets.wl_benchmarks import SKIPS
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph, LabelledGraph, csl_graph


def isomorphic(first: Graph, second: Graph) -> bool:
    a, b = (
        igraph.Graph(g.num_nodes, g.edge_index().T.tolist()).simplify()
        for g in (first, second)
    )
    return bool(a.isomorphic(b))


def test_copies_belong_to_their_class_only() -> None:
    csl = CSL(seed=3)
    assert len(csl) == 150 and repr(csl) == "CSL(150)"
    assert csl.labels.tolist() == [label for label in range(10) for _ in range(15)]
    for graph, expected in zip(csl[::15], SKIPS, strict=True):
        fits = [skip for skip in SKIPS if isomorphic(graph, csl_graph(41, skip))]
        assert fits == [expected]


def test_copies_differ_and_follow_the_seed() -> None:
    a, b, c = CSL(seed=1), CSL(seed=1), CSL(seed=2)
    assert list(a) == list(b) != list(c)
    assert len(set(a)) == 150
    with pytest.raises(ConfigError, match=r"seed.*at least"):
        CSL(seed=-1)
    with pytest.raises(ConfigError, match=r"copies.*at least"):
        CSL(copies=0)


def wl_colours(graphs: list[Graph]) -> list[list[int]]:
    """Refine the graphs together, from node labels, and return sorted colours."""
    colours = [g.node_labels.tolist() for g in graphs if g.node_labels is not None]
    for _ in range(max(g.num_nodes for g in graphs)):
        table: dict[object, int] = {}
        colours = [
            [
                table.setdefault(
                    (colour[v], tuple(sorted(colour[u] for u in g.graph.neighbors(v)))),
                    len(table),
                )
                for v in range(g.num_nodes)
            ]
            for g, colour in zip(graphs, colours, strict=True)
        ]
    return [sorted(colour) for colour in colours]


@pytest.mark.dataset
@pytest.mark.parametrize(
    ("dataset", "fewest", "most", "mean", "edges"),
    [(EXP, 32, 64, 44.45, 110.2), (CEXP, 40, 81, 55.78, 139.6)],
)
def test_statistics_and_classes(
    dataset: type[EXP], fewest: int, most: int, mean: float, edges: float,
    data_root: Path,
) -> None:  # fmt: skip
    graphs = dataset(data_root)
    sizes = [g.num_nodes for g in graphs]
    assert repr(graphs) == f"{dataset.__name__}(1200, published)"
    assert (min(sizes), max(sizes)) == (fewest, most)
    assert round(float(np.mean(sizes)), 2) == mean
    assert round(float(np.mean([2 * g.num_edges for g in graphs])), 1) == edges
    assert np.array_equal(graphs.labels[0::2], 1 - graphs.labels[1::2])
    pairs = graphs.pairs()
    assert len(pairs) == 600
    assert pairs[7] == (graphs[14], graphs[15])


@pytest.mark.dataset
def test_one_wl_solves_the_learn_part_of_cexp_and_nothing_else(data_root: Path) -> None:
    def solved(pairs: list[tuple[Graph, Graph]]) -> list[bool]:
        return [a != b for a, b in (wl_colours(list(pair)) for pair in pairs)]

    cexp = CEXP(data_root)
    assert all(solved(cexp.pairs()[::120]))
    assert not any(solved(cexp.pairs()[1::120]))
    assert not any(solved(EXP(data_root).pairs()[::100]))


def is_strongly_regular(graph: Graph, k: int, common: int, other: int) -> bool:
    r"""Return whether A² = k I + λ A + μ (J - I - A)."""
    a = graph.adjacency()
    eye, ones = np.eye(len(a), dtype=np.int64), np.ones_like(a)
    return np.array_equal(a @ a, k * eye + common * a + other * (ones - eye - a))


@pytest.mark.dataset
def test_fifteen_strongly_regular_graphs(data_root: Path) -> None:
    graphs = SR25(data_root)
    assert len(graphs) == 15 and repr(graphs) == "SR25(15)"
    assert all(g.num_nodes == 25 for g in graphs)
    assert all(is_strongly_regular(g, 12, 5, 6) for g in graphs)
    assert not any(isomorphic(a, b) for a, b in combinations(graphs, 2))


def test_rook_and_shrikhande() -> None:
    first, second = rook_shrikhande()
    assert is_strongly_regular(first, 6, 2, 2)
    assert is_strongly_regular(second, 6, 2, 2)
    assert not isomorphic(first, second)


def as_text(items: list[Graph], classes: list[int]) -> str:
    """Return graphs in the format of GNN-RNI."""
    lines = [str(len(items))]
    for item, y in zip(items, classes, strict=True):
        lines.append(f"{item.graph.num_nodes} {y}")
        for node, label in enumerate(np.asarray(item.node_labels).tolist()):
            near = item.graph.neighbors(node).tolist()
            lines.append(" ".join(map(str, [label, len(near), *near])))
    return "\n".join(lines)


def as_pickle(
    items: list[Graph], classes: list[int], monkeypatch: pytest.MonkeyPatch
) -> bytes:
    """Return graphs as a pickle of PyG 1, whose ``Data`` keeps its fields itself."""
    import torch_geometric.data.data as module

    class Data:
        pass

    Data.__module__, Data.__qualname__ = module.__name__, "Data"
    out = []
    for item, y in zip(items, classes, strict=True):
        out.append(Data())
        vars(out[-1]).update(
            x=torch.tensor(np.asarray(item.node_labels).tolist()).unsqueeze(1),
            edge_index=torch.tensor(item.graph.edge_index().tolist()),
            y=torch.tensor([y]),
            edge_attr=None,
        )
    with monkeypatch.context() as patch:
        patch.setattr(module, "Data", Data)
        return pickle.dumps(out)


def test_published_formats_of_exp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    triangle = Graph.from_edge_index([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]], 3)
    path = Graph.from_edge_index([[0, 1], [1, 0]], 3)  # with an isolated node
    items: list[Graph] = [LabelledGraph(g, [0, 1, 1]) for g in (triangle, path)]
    (tmp_path / "GRAPHSAT.txt").write_text(as_text(items, [1, 0]))
    file = tmp_path / "GRAPHSAT.pkl"
    file.write_bytes(as_pickle(items, [1, 0], monkeypatch))
    for name in ("GRAPHSAT.txt", "GRAPHSAT.pkl"):
        exp = EXP(tmp_path / name)
        assert list(exp) == items and exp.labels.tolist() == [1, 0]
        assert exp.source == "another sample"
    (tmp_path / "exp").mkdir()
    file.rename(tmp_path / "exp" / "GRAPHSAT.pkl")
    assert list(EXP(tmp_path)) == items
    (tmp_path / "bad.txt").write_text("1\n3 0\n0 1 7")
    (tmp_path / "alone.txt").write_text(as_text(items, [1, 1]))
    for name in ("bad.txt", "alone.txt"):
        with pytest.raises(GraphInputError, match=name):
            EXP(tmp_path / name)


def test_a_pickle_runs_no_code(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return ((tmp_path / "mark").touch, ())

    bomb = pickle.dumps([Bomb()])
    inside = pickle.dumps(torch.zeros(2)).replace(b"OrderedDict", b"defaultdict")
    for content in (bomb, inside, b"", b"cos\nsystem\n(S'true'\ntR."):
        (tmp_path / "GRAPHSAT.pkl").write_bytes(content)
        with pytest.raises(GraphInputError, match="not a published file"):
            EXP(tmp_path / "GRAPHSAT.pkl")
    assert not (tmp_path / "mark").exists()


@pytest.mark.dataset
def test_the_published_text_of_cexp_is_known(data_root: Path, tmp_path: Path) -> None:
    cexp = CEXP(data_root)
    (tmp_path / "CEXP.txt").write_text(as_text(list(cexp), cexp.labels.tolist()))
    again = CEXP(tmp_path / "CEXP.txt")
    assert list(again) == list(cexp) and again.source == "published"
