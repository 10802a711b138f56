"""The counting benchmark, and its targets against brute force."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.errors import ConfigError, DataNotFoundError, GraphInputError
from sekgnn.graphs import Graph, complete_graph, cycle_graph, path_graph, petersen_graph
from sekgnn.paper import CountingDataset, counting, pattern_counts
from sekgnn.paper.counting import PATTERNS, SHAPES
from sekgnn.testing import graphs

EDGES = {n: n * degree // 2 - n for n, degree in SHAPES}


@pytest.fixture(scope="module")
def generated() -> CountingDataset:
    return CountingDataset.generated(seed=1, num_graphs=1000)


@pytest.mark.dataset
def test_the_file(data_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = CountingDataset(data_root)
    assert repr(dataset) == "CountingDataset(5000, file)"
    assert dataset.split.sizes == (1500, 1000, 2500)
    published = [3.0723, 25.9458, 17.7789, 6.9390, 0.1112]  # randomgraph.mat
    assert dataset.scale[:5].round(4).tolist() == published
    assert all(g.num_edges == EDGES[g.num_nodes] for g in dataset)
    monkeypatch.setenv("SEKGNN_DATA", str(data_root))
    assert CountingDataset().source == "file"


@pytest.mark.dataset
def test_generated_graphs_have_the_distribution_of_the_file(
    data_root: Path, generated: CountingDataset
) -> None:
    dataset = CountingDataset(data_root)
    for n in EDGES:  # means of each size within six standard errors
        a, b = (
            d.targets[np.array([g.num_nodes == n for g in d])]
            for d in (dataset, generated)
        )
        error = np.sqrt(a.var(0) / len(a) + b.var(0) / len(b))
        assert (np.abs(a.mean(0) - b.mean(0)) <= 6 * error + 1e-12).all()


def test_generated_graphs_follow_the_recipe(generated: CountingDataset) -> None:
    degree = dict(SHAPES)
    sizes = Counter(g.num_nodes for g in generated)
    assert set(sizes) == set(degree)
    assert all(180 < count < 320 for count in sizes.values())  # a quarter each
    for graph in generated:
        assert graph.num_edges == EDGES[graph.num_nodes]
        assert graph.degrees.max() <= degree[graph.num_nodes]
    assert np.array_equal(generated.targets[:50], pattern_counts(generated[:50]))


def test_the_split_covers_every_graph_once(generated: CountingDataset) -> None:
    split = generated.split
    assert split.sizes == (300, 200, 500)
    indices = np.concatenate([split.train, split.val, split.test])
    assert sorted(indices.tolist()) == list(range(1000))


def test_seeds() -> None:
    a, b, c = (CountingDataset.generated(seed, num_graphs=40) for seed in (3, 3, 4))
    assert list(a) == list(b) and a.split.test.tolist() == b.split.test.tolist()
    assert list(a) != list(c)
    assert len(set(a)) == 40
    with pytest.raises(ConfigError, match=r"seed.*at least"):
        CountingDataset.generated(-1)
    with pytest.raises(ConfigError, match=r"num_graphs.*at least"):
        CountingDataset.generated(0, 9)


def test_without_a_data_folder_the_graphs_are_generated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sekgnn.paper.counting.NUM_GRAPHS", 20)
    monkeypatch.delenv("SEKGNN_DATA", raising=False)
    first = CountingDataset()
    assert repr(first) == "CountingDataset(20, generated)"
    assert list(CountingDataset(seed=5)) == list(CountingDataset.generated(5, 20))
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path))  # a folder without the file
    assert list(CountingDataset()) == list(first)
    with pytest.raises(DataNotFoundError, match=r"counting/counting\.npz"):
        CountingDataset(tmp_path)
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path / "typo"))
    with pytest.raises(DataNotFoundError, match="which is not a folder"):
        CountingDataset()


def test_pyg_data(generated: CountingDataset) -> None:
    two = generated.to_pyg(("k4", "triangle"))
    for data, graph, row in zip(two, generated, generated.targets, strict=True):
        assert data.y.tolist() == [[row[10], row[0]]]
        assert Graph.from_edge_index(data.edge_index, data.num_nodes) == graph
        assert data.x.tolist() == [[1.0]] * graph.num_nodes
    assert generated.to_pyg()[0].y.shape == (1, 11)
    assert generated.to_pyg("cycle4")[7].y.item() == generated.targets[7, 3]
    with pytest.raises(ConfigError, match="Did you mean 'cycle4'"):
        generated.to_pyg("cycle_4")
    with pytest.raises(GraphInputError, match="no target is named"):
        generated.to_pyg(())


Edges = list[tuple[int, int]]


def cycle(n: int) -> Edges:
    return [(i, (i + 1) % n) for i in range(n)]


PICTURES: dict[str, tuple[int, Edges, bool]] = {  # nodes, edges, induced
    "triangle": (3, cycle(3), False),
    "tailed_triangle": (4, [*cycle(3), (0, 3)], False),
    "star3": (4, [(0, 1), (0, 2), (0, 3)], False),
    "cycle4": (4, cycle(4), False),
    "cycle5": (5, cycle(5), False),
    "cycle6": (6, cycle(6), False),
    "diamond": (4, [*cycle(4), (0, 2)], False),
    "diamond_induced": (4, [*cycle(4), (0, 2)], True),
    "tailed_triangle_induced": (4, [*cycle(3), (0, 3)], True),
    "k4": (4, list(itertools.combinations(range(4), 2)), False),
}


def brute_force(graph: Graph, size: int, edges: Edges, induced: bool) -> int:
    """Count the different sets of edges that are a copy of the pattern."""
    adjacency = graph.adjacency()
    copies = set()
    for nodes in itertools.permutations(range(graph.num_nodes), size):
        if not all(adjacency[nodes[u], nodes[v]] for u, v in edges):
            continue
        inside = adjacency[np.ix_(nodes, nodes)].sum() // 2
        if not induced or inside == len(edges):
            copies.add(frozenset(frozenset((nodes[u], nodes[v])) for u, v in edges))
    return len(copies)


def custom(graph: Graph) -> float:
    a = graph.adjacency().astype(float)
    ones = np.ones(graph.num_nodes)
    return float((a @ np.diag(np.exp(-a @ a @ ones)) @ a).sum())


@settings(max_examples=40)
@given(graphs(max_nodes=7))
def test_counts_match_the_definition(graph: Graph) -> None:
    counts = dict(zip(PATTERNS, pattern_counts([graph])[0].tolist(), strict=True))
    assert counts.pop("custom") == pytest.approx(custom(graph), abs=1e-12)
    assert counts == {name: brute_force(graph, *s) for name, s in PICTURES.items()}


@given(st.lists(graphs(max_nodes=8), max_size=6), st.randoms())
def test_each_graph_is_counted_alone_and_names_do_not_matter(
    many: list[Graph], rng: random.Random
) -> None:
    together = pattern_counts(many)
    assert together.shape == (len(many), 11)
    for graph, row in zip(many, together, strict=True):
        perm = rng.sample(range(graph.num_nodes), graph.num_nodes)
        np.testing.assert_allclose(pattern_counts([graph.relabel(perm)])[0], row)


@given(graphs(max_nodes=7), graphs(max_nodes=7))
def test_counts_add_up_over_a_disjoint_union(a: Graph, b: Graph) -> None:
    both = pattern_counts([a.disjoint_union(b)])[0]
    np.testing.assert_allclose(both, pattern_counts([a, b]).sum(0), atol=1e-12)


def test_known_counts() -> None:
    names = ("triangle", "cycle4", "cycle5", "cycle6", "k4", "star3")
    columns = [PATTERNS.index(name) for name in names]
    expected = {
        complete_graph(6): [20, 45, 72, 60, 15, 60],
        petersen_graph(): [0, 0, 12, 10, 0, 10],
        cycle_graph(6): [0, 0, 0, 1, 0, 0],
        path_graph(1): [0] * 6,
        path_graph(0): [0] * 6,
    }
    for graph, counts in expected.items():
        assert pattern_counts([graph])[0, columns].tolist() == counts


@pytest.mark.dataset
def test_counts_equal_the_stored_targets_on_all_graphs(data_root: Path) -> None:
    dataset = CountingDataset(data_root)
    difference = np.abs(pattern_counts(dataset) - dataset.targets).max(axis=0)
    limit = [0.0] * 11
    limit[PATTERNS.index("custom")] = 1e-14
    assert len(dataset) == 5000
    assert (difference <= limit).all(), dict(zip(PATTERNS, difference, strict=True))


def test_the_benchmarks_matlab_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generated: CountingDataset
) -> None:
    """``randomgraph.mat`` as others have it: matrices, sparse or not, and a split."""
    from scipy.io import savemat
    from scipy.sparse import csc_array

    cells = np.empty((1, len(generated)), dtype=object)
    for i, graph in enumerate(generated):
        matrix = graph.adjacency().astype(np.float64)
        cells[0, i] = csc_array(matrix) if i % 2 else matrix
    split = {
        f"{name}_idx": getattr(generated.split, name)
        for name in ("train", "val", "test")
    }
    (tmp_path / "counting").mkdir()
    file = tmp_path / "counting" / "randomgraph.mat"
    savemat(file, {"A": cells, **split})
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path))
    monkeypatch.setattr(counting, "check_statistics", lambda *_, **__: None)
    dataset = CountingDataset()
    assert dataset.source == "file" and list(dataset) == list(generated)
    assert dataset.split.sizes == generated.split.sizes
    np.testing.assert_allclose(dataset.targets, generated.targets)
    savemat(file, {"A": cells, **split, "val_idx": split["val_idx"][1:]})
    with pytest.raises(GraphInputError, match="no split of A"):
        CountingDataset(tmp_path)
    file.write_bytes(b"MATLAB")
    with pytest.raises(GraphInputError, match=r"is not randomgraph\.mat"):
        CountingDataset(tmp_path)
