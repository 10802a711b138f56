"""Hashes that can be stored: the same for ever, and as fine as the test."""

from __future__ import annotations

import os
import subprocess
import sys

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.brute_force import edges_of, node_label
from tests.wl.cases import any_tests, pairs

from sekgnn.errors import ConfigError
from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    cycle_graph,
    path_graph,
    petersen_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.wl import TESTS, Isomorphism, WLTest, compare, refine, wl_hash
from sekgnn.wl.hop_wl import OneWL
from sekgnn.wl.refinement import Batch

Pair = tuple[LabelledGraph, LabelledGraph]
LABELLED = LabelledGraph(path_graph(3), ["C", "C", "O"], {(0, 1): 1, (1, 2): 2})
# These values are stored by users and must never change. If colours have to change,
# give the hashes a new prefix and keep this list for the old one.
GOLDEN = [
    ("nothing", "1wl", "wl1:ecb640ff5e6a9d46de77c68ff674c9a2"),
    ("node", "1wl", "wl1:1714c9152ac3edd7600bc86feb36a578"),
    ("path", "1wl", "wl1:99dc8052ef26fd5599c871202facc21d"),
    ("path", "khop", "wl1:e571fb880fae1dce7b9a11bd04fa50c4"),
    ("path", "subgraph", "wl1:ab4b324169546ff1856d44b2bea744ad"),
    ("path", "2fwl", "wl1:a75278a0a6c30811311aef434b1975fa"),
    ("path", "3fwl", "wl1:d56305bb4fdea9ed781fb3ee9f5e5da2"),
    ("rook", "sek", "wl1:01b3660267108b6bef609e60c9cebd90"),
    ("shrikhande", "sek", "wl1:edfa9d0dff85db53abf946fc7703b7fe"),
    ("rook", "2fwl", "wl1:4bda0fba0c34aba5b6ab2e35c5280f7b"),
    ("shrikhande", "2fwl", "wl1:4bda0fba0c34aba5b6ab2e35c5280f7b"),
    ("petersen", "sek2fwl", "wl1:822d1b614684281fa9e98b28085c4c44"),
    ("petersen", "subgraph", "wl1:7deedba3a75f36afb31caac82b2e384e"),
    ("labelled", "1wl", "wl1:a15a30f29f24e0be5a7b7ac8ef9f43c8"),
    ("labelled", "khop", "wl1:7c0406442faf6562bdd7082d51ff66b7"),
    ("labelled", "sek", "wl1:4148129e17b70b31b5a1421b0392d261"),
    ("labelled", "subgraph", "wl1:b9a27d3ba8c9931ec541bdf2bc65858b"),
    ("labelled", "3fwl", "wl1:96be8d407e26dbb9d2f5ace8d8635758"),
]
GRAPHS: dict[str, Graph | LabelledGraph] = {
    "nothing": path_graph(0),
    "node": path_graph(1),
    "path": path_graph(5),
    "rook": rook_graph(4),
    "shrikhande": shrikhande_graph(),
    "petersen": petersen_graph(),
    "labelled": LABELLED,
}


@pytest.mark.parametrize(("graph", "test", "expected"), GOLDEN)
def test_golden_values(graph: str, test: str, expected: str) -> None:
    assert wl_hash(GRAPHS[graph], test) == expected


def test_the_same_in_another_process() -> None:
    code = (
        "from sekgnn.graphs import *; from sekgnn.wl import wl_hash\n"
        "g = LabelledGraph(path_graph(3), ['C', 'C', 'O'], {(0, 1): 1, (1, 2): 2})\n"
        "for t in ('1wl', 'khop', 'sek', '2fwl', '3fwl'): print(wl_hash(g, t))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout.split()
        for seed in ("1", "2")
    ]
    here = [wl_hash(LABELLED, t) for t in ("1wl", "khop", "sek", "2fwl", "3fwl")]
    assert runs[0] == runs[1] == here


@given(any_tests().filter(lambda test: test != Isomorphism()), pairs(6))
@settings(max_examples=80)
def test_equal_exactly_when_not_separated(test: WLTest, pair: Pair) -> None:
    hashes = [wl_hash(item, test) for item in pair]
    assert (hashes[0] != hashes[1]) == compare(*pair, test).separated


def test_hashes_of_different_questions_differ() -> None:
    g = cycle_graph(5)
    names = [name for name in TESTS if name != "isomorphism"]
    hashes = [wl_hash(g, name) for name in names]
    hashes += [wl_hash(g, "khop", num_hops=k) for k in (1, 2, 3)]
    hashes += [wl_hash(g, "khop", num_hops=2, kernel="diffusion")]
    hashes += [wl_hash(g, "sek", encodings="patterns")]
    zeros = [0] * 5
    hashes += [wl_hash(g, node_labels=zeros)]
    hashes += [wl_hash(LabelledGraph(g, None, [0] * 10))]
    assert len(set(hashes)) == len(hashes)
    assert all(h.startswith("wl1:") and len(h) == 36 for h in hashes)


def test_isomorphism_has_no_lasting_hash() -> None:
    with pytest.raises(ConfigError, match="may change with igraph"):
        wl_hash(cycle_graph(3), "isomorphism")


@given(pairs(7), st.integers(1, 4))
@settings(max_examples=80)
def test_networkx_separates_the_same(pair: Pair, rounds: int) -> None:
    """In every number of rounds, with labels on nodes and edges or all alike."""
    theirs = []
    for item in pair:
        drawn = nx.Graph()
        for v in range(item.num_nodes):
            drawn.add_node(v, kind=node_label(item, v))
        for (u, v), kind in edges_of(item).items():
            drawn.add_edge(u, v, kind=kind)
        theirs.append(
            nx.weisfeiler_lehman_graph_hash(
                drawn, node_attr="kind", edge_attr="kind", iterations=rounds
            )
        )
    at = refine(OneWL(), Batch.of(pair)).separated_at(0, 1)
    assert (theirs[0] != theirs[1]) == (at is not None and at <= rounds)
