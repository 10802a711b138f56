"""Floors of the error, and what is advised of known data."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from statistics import fmean, median
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.wl.cases import any_tests, batches

from sekgnn.datasets import GraphTask, networkx_task, pyg_task
from sekgnn.datasets.graph_task import Y_MASK
from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    labelled_from_smiles,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.training.advise import Advice, advise, rows
from sekgnn.training.config import RunConfig
from sekgnn.training.floors import Finding, Ladder, floors, in_conflict, joined
from sekgnn.wl import Isomorphism, ThreeFWL, WLTest, partition
from sekgnn.wl.graph_classes import graph_keys
from sekgnn.wl.ladder import advised

QUICK = RunConfig(baseline=False, walk_length=4)
HEXAGON = nx.cycle_graph(6)
TRIANGLES = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))


def as_nx(graph: Graph) -> nx.Graph:
    out = nx.empty_graph(graph.num_nodes)
    out.add_edges_from(graph.edge_index().T.tolist())
    return out


ROOK, SHRIKHANDE = as_nx(rook_graph(4)), as_nx(shrikhande_graph())
DECALIN, BICYCLOPENTYL = (
    as_nx(labelled_from_smiles(s).graph) for s in ("C1CCC2CCCCC2C1", "C1CCCC1C1CCCC1")
)


@st.composite
def coloured(draw: st.DrawFn) -> tuple[str, Any, Any, Any]:
    """Draw a kind of task, classes, targets and where they are present."""
    count, width = draw(st.integers(1, 12)), draw(st.integers(1, 2))
    kind = draw(st.sampled_from(["regression", "multilabel"]))
    values = st.integers(0, 1) if kind == "multilabel" else st.sampled_from([0, 0.1, 7])
    classes = draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    cell = st.lists(values, min_size=width, max_size=width)
    y = draw(st.lists(cell, min_size=count, max_size=count))
    bools = st.lists(st.booleans(), min_size=width, max_size=width)
    mask = draw(st.lists(bools, min_size=count, max_size=count))
    return kind, np.array(classes), np.array(y, dtype=float), np.array(mask)


@given(coloured(), st.randoms())
def test_floors_are_those_of_the_definition(case: Any, rng: random.Random) -> None:
    """Brute force over the classes, and nothing constant on them does better."""
    kind, classes, y, mask = case
    for t, found in enumerate(floors(kind, classes, y, mask)):
        groups: dict[int, list[float]] = defaultdict(list)
        for c, value, present in zip(classes, y[:, t], mask[:, t], strict=True):
            if present:
                groups[int(c)].append(float(value))
        total = sum(map(len, groups.values()))
        if not total:
            assert all(np.isnan(value) for value in found.values())
            continue
        guess = {c: rng.choice([0.0, 0.1, 1.0, 7.0]) for c in groups}
        if kind == "regression":
            away = [abs(v - median(g)) for g in groups.values() for v in g]
            squares = [(v - fmean(g)) ** 2 for g in groups.values() for v in g]
            assert found["mae"] == pytest.approx(sum(away) / total, abs=1e-12)
            assert found["rmse"] == pytest.approx((sum(squares) / total) ** 0.5)
            errors = [abs(v - guess[c]) for c, g in groups.items() for v in g]
            assert found["mae"] <= fmean(errors) + 1e-12
            assert found["rmse"] ** 2 <= fmean(e * e for e in errors) + 1e-12
        else:
            best = sum(max(Counter(g).values()) for g in groups.values())
            assert found["accuracy"] == pytest.approx(best / total)
            right = [v == guess[c] for c, g in groups.items() for v in g]
            assert found["accuracy"] >= fmean(right) - 1e-12
    expected = [
        any(
            mask[i, t]
            and mask[j, t]
            and y[i, t] != y[j, t]
            and classes[i] == classes[j]
            for j in range(len(y))
            for t in range(y.shape[1])
        )
        for i in range(len(y))
    ]
    assert in_conflict(classes, y, mask).tolist() == expected


@given(coloured(), st.integers(1, 3))
def test_refinement_only_lowers_floors(case: Any, parts: int) -> None:
    kind, classes, y, mask = case
    finer = joined(classes, np.arange(len(classes)) % parts)
    before, after = (floors(kind, c, y, mask) for c in (classes, finer))
    for coarse, fine in zip(before, after, strict=True):
        for name, value in fine.items():
            sign = -1 if name == "accuracy" else 1
            assert np.isnan(value) or sign * value <= sign * coarse[name] + 1e-12
    alone = floors(kind, np.arange(len(y)), y, mask)
    assert all(v in (0.0, 1.0) or np.isnan(v) for f in alone for v in f.values())


@given(st.data(), any_tests().filter(lambda t: not isinstance(t, Isomorphism)))
@settings(max_examples=40)
def test_keys_make_the_classes_of_the_test(data: st.DataObject, test: WLTest) -> None:
    """One by one or together, and whatever nodes are called: the same classes."""
    items = data.draw(batches(4 if isinstance(test, ThreeFWL) else 6, (2, 4)))
    keys = graph_keys(test, items)
    table: dict[bytes, int] = {}
    numbers = [table.setdefault(key.tobytes(), len(table)) for key in keys]
    assert numbers == partition(items, test).tolist()
    alone = [graph_keys(test, [item])[0].tolist() for item in items]
    assert alone == keys.tolist()


def found(task: GraphTask, config: RunConfig = QUICK) -> tuple[Advice, dict[str, int]]:
    advice = advise(config, task)
    return advice, {f.name: f.collisions for f in advice.findings if f.floors}  # type: ignore[misc]


def test_known_verdicts() -> None:
    two = networkx_task([HEXAGON, TRIANGLES] * 2, [0, 1] * 2)
    advice, left = found(two)
    assert (left["1wl"], left["khop2"], left["2fwl"]) == (4, 0, 0)
    assert advice.chosen == "khop2" and "the last 4" in advice.sentence
    _, left = found(networkx_task([DECALIN, BICYCLOPENTYL] * 2, [0, 1] * 2))
    assert (left["1wl"], left["khop3"]) == (4, 0)
    advice, left = found(networkx_task([ROOK, SHRIKHANDE] * 2, [0, 1] * 2))
    for weak in ("features", "1wl", "khop3", "graph", "2fwl"):
        assert left[weak] == 4
    assert left["internal1"] == left["sek2fwl"] == 0
    assert advice.chosen == "internal1"
    assert advice.config["radius"] == [1] and advice.config["scope"] == ["internal"]
    assert "--scope internal --radius 1" in advice.command()
    assert "add nothing here" in advice.sentence
    assert RunConfig.from_dict(advice.config).model == "sek-gin"
    accuracy = {f.name: f.floors[0]["accuracy"] for f in advice.findings}
    assert (accuracy["2fwl"], accuracy["internal1"]) == (0.5, 1.0)


def test_duplicates_are_told_from_collisions() -> None:
    """The same graph with two targets: nothing can separate it."""
    graphs = [HEXAGON, nx.relabel_nodes(HEXAGON, {0: 3, 3: 0}), TRIANGLES, ROOK]
    advice, left = found(networkx_task(graphs, [1.0, 2.0, 4.0, 7.0]))
    assert (left["1wl"], left["khop2"], left["isomorphism"]) == (3, 2, 2)
    assert set(list(left.values())[2:]) == {2}
    assert "nothing can tell them apart" in advice.sentence
    floor = advice.findings[-1].floors[0]
    assert floor["mae"] == pytest.approx(0.25)
    assert floor["rmse"] == pytest.approx((0.5 / 4) ** 0.5)
    assert advice.findings[-2].tested == 0  # isomorphic graphs are not tested


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=8), st.randoms())
@settings(max_examples=12)
def test_ladder_agrees_with_whole_partitions(
    seeds: list[int], rng: random.Random
) -> None:
    """What stops early, and skips isomorphic graphs, has the floors of whole classes.

    Floors are monotone along the ladder, and other names of nodes change nothing.
    """
    graphs = [nx.gnm_random_graph(5, 5, seed=seed % 5) for seed in seeds]
    targets = [float(seed % 3) for seed in seeds[:-1]] + [5.0]
    task = networkx_task(graphs, targets, kind="regression")
    steps = Ladder(task)
    items = [LabelledGraph(item.graph) for item in steps.items]
    seen: dict[str, Finding] = {}
    for rung in advised(QUICK.num_shells, QUICK.walk_length):
        if rung.key == "1wl":
            steps.climb(rung)
            steps.find_forms()
            continue
        if rung.key in ("multisets", "sek2fwl"):
            continue
        own = steps.climb(rung)
        if rung.rounds is None:
            classes = partition(items, rung.test)
            expected = floors("regression", classes, steps.y, steps.mask)
            assert own.floors[0] == pytest.approx(expected[0])
            collisions = in_conflict(classes, steps.y, steps.mask).sum()
            assert own.collisions == collisions
        for weaker in rung.refines:
            if weaker in seen:
                assert own.floors[0]["mae"] <= seen[weaker].floors[0]["mae"] + 1e-12
        seen[rung.key] = own
    names = list(range(5))
    rng.shuffle(names)
    order = dict(enumerate(names))
    moved = []
    for graph in graphs:
        other = nx.empty_graph(5)
        other.add_edges_from((order[u], order[v]) for u, v in graph.edges)
        moved.append(other)
    tasks = [networkx_task(g, targets, kind="regression") for g in (graphs, moved)]
    first, second = ([f.floors for f in advise(QUICK, t).findings] for t in tasks)
    assert first == second


def node_task() -> GraphTask:
    """A path whose ends differ in the target, a triangle with a tail, and more."""
    path = nx.path_graph(4)
    tail = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
    task = networkx_task([path, tail, path], [0.0, 1.0, 2.0])
    targets: list[list[float]] = [[1, 2, 2, 3], [5, 5, 6, 7], [1, 2, 2, 1]]
    for data, y in zip(task.graphs, targets, strict=True):
        data.y = torch.tensor(y)[:, None]
        data[Y_MASK] = torch.ones_like(data.y, dtype=torch.bool)
    from dataclasses import replace

    return replace(task, level="node", name="nodes")


def test_targets_of_nodes() -> None:
    """The ends of a path are one orbit: of 1, 3, 1, 1 the 3 cannot be told."""
    advice, left = found(node_task())
    assert advice.objects == "nodes" and advice.count == 12
    assert left["1wl"] == 4 == left["isomorphism"] == left["2fwl"]
    assert advice.findings[-1].floors[0]["mae"] == pytest.approx(2 / 12)
    assert left["features"] == 12


def test_features_of_nodes_edges_and_graphs_count() -> None:
    from torch_geometric.data import Data

    edge = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])

    def graph(y: int, **more: NDArray[Any] | torch.Tensor) -> Data:
        return Data(edge_index=edge, num_nodes=3, y=torch.tensor([y]), **more)

    def kinds(*values: float) -> torch.Tensor:
        return torch.tensor([[v] for v in values for _ in (0, 1)])

    marked = [graph(i, edge_attr=kinds(1.0, 1.0 + i)) for i in (0, 1)] * 2
    advice, left = found(pyg_task(marked, kind="binary"))
    assert (left["1wl-nodes"], left["1wl"]) == (4, 0)
    one_way = [graph(i, edge_attr=torch.arange(4.0)[:, None] + i) for i in (0, 1)] * 2
    advice, left = found(pyg_task(one_way, kind="binary"))
    assert left["1wl"] == 4 and "1wl-nodes" not in left
    assert any("two directions" in note for note in advice.notes)
    x = [graph(i, x=torch.tensor([[1.0], [2.0], [1.0 + i]])) for i in (0, 1)] * 2
    assert found(pyg_task(x, kind="binary"))[1]["features"] == 0


def test_corners() -> None:
    with pytest.raises(GraphInputError, match="no graph has a target"):
        advise(QUICK, networkx_task([HEXAGON]))
    advice, left = found(networkx_task([HEXAGON], [1.5], kind="regression"))
    assert set(left.values()) == {0} and advice.chosen == "1wl"
    alike = networkx_task([HEXAGON, TRIANGLES, HEXAGON], [2.0] * 3, kind="regression")
    advice, left = found(alike)
    assert set(left.values()) == {0} and "is enough" in advice.sentence
    some = networkx_task(
        [HEXAGON, TRIANGLES, ROOK], [1.0, None, 2.0], kind="regression"
    )
    advice, left = found(some)
    assert advice.count == 2 and set(left.values()) == {0}
    assert any("1 graphs without a target" in note for note in advice.notes)
    two = {"a": [1.0, None, 5.0], "b": [None, 2.0, 6.0]}
    advice, left = found(networkx_task([HEXAGON, HEXAGON, TRIANGLES], two))
    assert left["1wl"] == 3 and left["khop2"] == 0  # a and b are never both present
    assert len(list(rows(advice))) == 1 + len(advice.findings)


def test_a_test_that_takes_too_long_is_left_out() -> None:
    task = networkx_task([HEXAGON, TRIANGLES] * 600, [0, 1] * 600)
    slow = Ladder(task, seconds=1e-9)
    found = slow.climb(advised(QUICK.num_shells, QUICK.walk_length)[0])
    assert found.collisions is None and "more than 1e-09 s" in found.left_out


def test_baselines_are_cross_validated() -> None:
    graphs = [nx.path_graph(n) for n in range(3, 33)]
    task = networkx_task(graphs, [float(n) for n in range(3, 33)])
    config = RunConfig(walk_length=2, folds=3)
    got = advise(config, task).baseline
    assert (got["metric"], got["folds"], got["graphs"]) == ("test_mae", 3, 30)
    assert got["ridge"]["test_r2"]["value"] > 0.9
    few = advise(config, networkx_task(graphs[:2], [1.0, 2.0], kind="regression"))
    assert "left_out" in few.baseline
