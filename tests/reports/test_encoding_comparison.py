"""Comparisons of encodings: known pairs, relabellings, corners."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import (
    Graph,
    cycle_graph,
    path_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.reports.encoding_comparison import (
    compare_graphs,
    compare_multisets,
    explain_neighbours,
)
from sekgnn.testing import graphs

SPEC = WalkEncoding(num_shells=2, walk_length=6, scope=("graph", "internal"), radius=1)
PAIR = (rook_graph(4), shrikhande_graph())
NAMES = ("rook", "Shrikhande")


def test_rook_and_shrikhande() -> None:
    found = compare_graphs(*PAIR, SPEC)
    graph, internal = found.scopes
    assert not graph.separated
    assert graph.difference is None
    assert graph.distinct == (1, 1, 1)
    assert "all 32 nodes have the same encoding" in graph.sentence()
    assert "1e-09" in graph.sentence()
    assert internal.separated
    d = internal.difference
    assert d is not None
    assert (d.channel, d.step) == ("internal1/across_diagonal/1", 3)
    # closed walks with loops: 1/3 on a triangle, 7/27 on a 6-cycle; 6 neighbours
    assert d.first == pytest.approx(2)
    assert d.second == pytest.approx(14 / 9)
    assert d.gap == pytest.approx(4 / 9)
    assert "at step 3: 2 against 1.55556" in internal.sentence()
    assert found.scope("internal1") is internal
    json.dumps([verdict.to_dict() for verdict in found.scopes])
    with pytest.raises(ConfigError, match=r"\['graph', 'internal1'\]"):
        found.scope("ego1")


def test_loops_step_0_and_shell_sizes_have_verdicts() -> None:
    encoding = WalkEncoding(1, 3, self_loops=(True, False), first_step=0, shell_sizes=2)
    found = compare_graphs(path_graph(3), cycle_graph(3), encoding)
    assert [s.scope for s in found.scopes] == [
        "loops/graph", "no_loops/graph", "shell_sizes",
    ]  # fmt: skip
    d = found.scope("no_loops/graph").difference
    assert d is not None
    assert (d.channel, d.step) == ("no_loops/graph/across_diagonal/1", 0)
    assert found.scope("shell_sizes").separated


def test_why() -> None:
    text = explain_neighbours(PAIR, NAMES, compare_graphs(*PAIR, SPEC))
    assert "two triangles (every node) in rook" in text
    assert "one 6-cycle (every node) in Shrikhande" in text
    assert "0.3333 in rook, 0.2593 in Shrikhande" in text
    same = (PAIR[0], PAIR[0])
    text = explain_neighbours(same, NAMES, compare_graphs(*same, SPEC))
    assert "probability" not in text


@given(graphs(min_nodes=1, max_nodes=8), st.randoms())
def test_a_relabelled_copy_is_never_separated(g: Graph, rng: object) -> None:
    perm = rng.sample(range(g.num_nodes), g.num_nodes)  # type: ignore[attr-defined]
    encoding = WalkEncoding(2, 4, scope=("graph", "ego", "internal"), radius=(1, 2))
    found = compare_graphs(g, g.relabel(perm), encoding)
    assert len(found.scopes) == 5
    for verdict in found.scopes:
        assert not verdict.separated
        assert verdict.difference is None
        assert len({*verdict.distinct}) == 1
        assert "not separated" in verdict.sentence()


def test_a_plain_difference() -> None:
    found = compare_graphs(path_graph(3), cycle_graph(3), WalkEncoding(1, 2))
    d = found.scopes[0].difference
    assert d is not None
    assert (d.channel, d.step) == ("graph/return", 1)
    # path: 1/2, 1/3, 1/2 against 1/3 everywhere
    assert [d.first, d.second] == pytest.approx([1 / 2, 1 / 3])


def test_numbers_that_only_differ_together() -> None:
    first = np.array([[[0.0], [0.0]], [[1.0], [1.0]]])  # [2, 2, 1]
    second = np.array([[[0.0], [1.0]], [[1.0], [0.0]]])
    found = compare_multisets(first, second, "graph", ("a", "b"))
    assert found.separated
    assert found.difference is None
    assert found.distinct == (2, 2, 4)
    assert "only by several numbers together" in found.sentence()


def test_tolerance() -> None:
    base = np.zeros((1, 1, 1))
    assert not compare_multisets(base, base + 1e-12, "graph", ("a",)).separated
    assert compare_multisets(base, base + 1e-6, "graph", ("a",)).separated
    assert not compare_multisets(base, base + 1e-6, "graph", ("a",), 1e-5).separated


def test_first_means_smallest_step_then_channel() -> None:
    first, second = np.zeros((1, 2, 3)), np.zeros((1, 2, 3))
    second[0, 0, 2] = second[0, 1, 1] = 1
    d = compare_multisets(first, second, "graph", ("a", "b")).difference
    assert d is not None
    assert (d.channel, d.step) == ("b", 2)
    second[0, 0, 1] = -2
    d = compare_multisets(first, second, "graph", ("a", "b")).difference
    assert d is not None
    assert (d.channel, d.step, d.second) == ("a", 2, -2)


@pytest.mark.parametrize(("n", "m"), [(3, 4), (0, 0)])
def test_numbers_of_nodes_must_agree(n: int, m: int) -> None:
    with pytest.raises(GraphInputError, match=f"{n} and {m} nodes"):
        compare_graphs(path_graph(n), path_graph(m), SPEC)
