"""Edge lists: what is accepted, and that every bad line is named."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph, path_graph
from sekgnn.graphs.edge_list import read_edge_list
from sekgnn.testing import graphs


def parse_edge_list(text: str, **options: Any) -> Graph:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "x.edges"
        file.write_bytes(text.encode())
        return read_edge_list(file, **options)


@given(
    graphs(), st.sampled_from([" ", "\t", ",", " , "]), st.sampled_from(["\n", "\r\n"])
)
def test_round_trip(g: Graph, separator: str, end: str) -> None:
    rows = [f"{u}{separator}{v}" for u, v in g.edge_index().T.tolist()]
    text = end.join(["# nodes: " + str(g.num_nodes), *rows, ""])
    assert parse_edge_list(text) == g


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2",
        "0,1\n1, 2\n",
        "% comment\n0 1 # the first\n\n  1\t2 % second",
        "0 1 0.5\n1 2 -3e2\n0 2 0",
        "0 1 1\n1 2",
        "# Nodes: 3\n0 1\n1 2",
        "# a heading\n#nodes:3\n1 0\n0 1\n1 2\n1 2",
        "# Nodes: 3 Edges: 2\n0 1\n1 2",
    ],
)
def test_all_these_are_the_path(text: str) -> None:
    assert parse_edge_list(text, undirected="add") == path_graph(3)


def test_weight_zero_is_no_edge_but_its_nodes_count() -> None:
    g = parse_edge_list("0 1 1\n1 0 1\n4 0 0.0")
    assert (g.num_nodes, g.num_edges) == (5, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n1", r"x\.edges, line 2: expected"),
        ("0 1 2 3", "line 1: expected"),
        ("0,,1", r"integers.*''"),
        ("source,target\n0,1", r"line 1.*'source'.*'#'"),
        ("0 -1", "got '-1'"),
        ("0 1.0", "got '1.0'"),
        ("0 1_0", "got '1_0'"),
        ("0 ١", "integers"),
        ("0 1 inf", "finite"),
        ("0 1 heavy", r"number.*'heavy'"),
        ("", "holds no edges.*# nodes: N"),
        ("# only a comment", "holds no edges"),
        ("0 1", r"one direction.*0 -> 1"),
        ("# nodes: 2\n0 2\n2 0", r"node 2.*count is 2"),
        ("# nodes: 2\n1 3 0", r"node 3 occurs"),
        ("# nodes: 2\n# nodes: 3\n0 1", "line 2.*3 contradicts 2"),
        ("# nodes: 99999999999", r"below 2\^31"),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(GraphInputError, match=message):
        parse_edge_list(text)


def test_the_node_count() -> None:
    assert parse_edge_list("# nodes: 0") == path_graph(0)
    assert parse_edge_list("0 1\n1 0").num_nodes == 2
