"""graph6 against networkx, the format's own example, and damaged text."""

from __future__ import annotations

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    Graph,
    csl_graph,
    from_graph6,
    from_networkx,
    path_graph,
    random_graph,
    read_graphs,
    to_graph6,
)
from sekgnn.graphs.graph6 import _write_size
from sekgnn.testing import graphs


def by_networkx(g: Graph) -> str:
    return str(nx.to_graph6_bytes(g.to_networkx(), header=False), "ascii").strip()


@given(graphs(max_nodes=9))
def test_round_trip_and_oracle(g: Graph) -> None:
    assert to_graph6(g) == by_networkx(g)
    assert from_graph6(to_graph6(g)) == g
    assert from_graph6(f">>graph6<<{to_graph6(g)}\r\n".encode()) == g


def test_example_worked_by_hand() -> None:
    """N = 5, edges 0-2, 0-4, 1-3, 3-4: the example of nauty's formats.txt, 'DQc'."""
    g = Graph.from_edge_index([[0, 0, 1, 3], [2, 4, 3, 4]], 5, undirected="add")
    assert to_graph6(g) == "DQc"
    assert from_graph6("DQc") == g


@pytest.mark.parametrize(("n", "start"), [(0, "?"), (1, "@"), (62, "}"), (63, "~??~")])
def test_node_counts(n: int, start: str) -> None:
    assert to_graph6(path_graph(n)).startswith(start)
    assert to_graph6(path_graph(n)) == by_networkx(path_graph(n))
    assert from_graph6(to_graph6(path_graph(n))) == path_graph(n)


def test_larger_graphs_and_the_eight_byte_form() -> None:
    g = random_graph(300, 0.1, np.random.default_rng(0))
    text = to_graph6(g)
    assert from_graph6(text) == g
    assert from_networkx(nx.from_graph6_bytes(text.encode())) == g
    long_form = "~~???" + text[1:]  # 12 + 24 bits instead of 18
    assert from_graph6(long_form) == g


@pytest.mark.parametrize(
    ("n", "text"), [(258_047, "~}~~"), (258_048, "~~???~??"), (2**36 - 1, "~~~~~~~~")]
)
def test_node_counts_at_the_last_boundary(n: int, text: str) -> None:
    """258047 = 62·64² + 63·64 + 63 is the last whose first byte is not a mark itself.

    Such graphs take gigabytes, so the count stands alone, and the reader says what it
    read when it misses the rest.
    """
    assert _write_size(n).decode() == text
    with pytest.raises(GraphInputError, match=f"a graph of {n} nodes takes"):
        from_graph6(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (">>graph6<<", "empty"),
        ("D", r"too short.*3 characters, got 1"),
        ("DQcc", "too long.*got 4"),
        ("D!c", r"illegal.* '!' at position 2"),
        ("D\x7fc", "illegal"),
        ("Dé", "illegal"),
        ("DQ\tc", r"illegal.* '\\t' at position 3"),
        ("DQd", "bits set after"),
        ("~?", "within the node count"),
        ("~~????", "within the node count"),
        ("~~~~~~~~", "too short"),
        (":Fa@x^", "sparse6"),
        (">>sparse6<<:Fa@x^", "sparse6"),
        (";x", "incremental sparse6"),
        ("&AG", "digraph6"),
        (">>digraph6<<&AG", "digraph6"),
    ],
)
def test_damaged_text(text: str, message: str) -> None:
    with pytest.raises(GraphInputError, match=message):
        from_graph6(text)


def data_file(name: str) -> Path:
    root = os.environ.get("SEKGNN_DATA")
    if not root or not (Path(root) / name).is_file():
        pytest.skip(f"SEKGNN_DATA is unset or lacks {name}")
    return Path(root) / name


@pytest.mark.dataset
def test_sr25() -> None:
    """15 strongly regular graphs (25, 12, 5, 6)."""
    many = read_graphs(data_file("sr25/sr251256.g6"))
    assert len(many) == 15
    eye, ones = np.eye(25, dtype=int), np.ones((25, 25), dtype=int)
    for g in many:
        a = g.adjacency()
        np.testing.assert_array_equal(a @ a, 12 * eye + 5 * a + 6 * (ones - eye - a))


@pytest.mark.dataset
def test_csl_file_holds_csl_graphs() -> None:
    import igraph

    for line in data_file("csl/csl.g6.txt").read_text().splitlines()[::15]:
        _, skip, text = line.split("\t")
        stored, ours = from_graph6(text), csl_graph(41, int(skip))
        a, b = (
            igraph.Graph(g.num_nodes, g.edge_index().T.tolist()).simplify()
            for g in (stored, ours)
        )
        assert a.isomorphic(b)
