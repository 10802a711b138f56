"""TU folders, written here and (marked) the real ones."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.errors import GraphInputError, GraphInputWarning
from sekgnn.graphs import Graph, complete_graph, path_graph, read_graphs
from sekgnn.testing import graphs


def write(folder: Path, name: str = "TOY", **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, text in files.items():
        (folder / f"{name}_{part}.txt").write_bytes(text.encode())
    return folder


@settings(max_examples=30)
@given(
    st.lists(graphs(min_nodes=1, max_nodes=5), min_size=1, max_size=4), st.booleans()
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, many: list[Graph], raw: bool
) -> None:
    starts = np.cumsum([1] + [g.num_nodes for g in many])
    edges = [
        f"{u + start}, {v + start}"
        for g, start in zip(many, starts, strict=False)
        for u, v in g.edge_index().T.tolist()
    ]
    owners = [str(i) for i, g in enumerate(many, 1) for _ in range(g.num_nodes)]
    folder = tmp_path_factory.mktemp("tu")
    write(
        folder / "raw" if raw else folder,
        A="\n".join(edges),
        graph_indicator="\n".join(owners) + "\n",
        graph_labels="\n".join("1" for _ in many),
    )
    assert read_graphs(folder) == many


def test_by_hand(tmp_path: Path) -> None:
    """A triangle, a graph without nodes, a path with an isolated node; edges mixed."""
    folder = write(
        tmp_path,
        A="4,5\r\n1, 2\r\n2, 1\r\n5 , 4\r\n1,3\r\n3,1\r\n2,3\r\n3,2\r\n",
        graph_indicator="1\r\n1\r\n1\r\n3\r\n3\r\n3\r\n",
    )
    path = path_graph(2).disjoint_union(path_graph(1))
    assert read_graphs(folder) == [complete_graph(3), path_graph(0), path]


def test_rules(tmp_path: Path) -> None:
    folder = write(tmp_path, A="1, 2\n", graph_indicator="1\n1\n")
    with pytest.raises(GraphInputError, match="0 -> 1 without 1 -> 0 of graph 0"):
        read_graphs(folder)
    assert read_graphs(folder, undirected="add") == [path_graph(2)]
    write(tmp_path, A="1, 2\n2, 1\n2, 2", graph_indicator="1\n1\n")
    with pytest.warns(GraphInputWarning, match="node 1 of graph 0"):
        assert read_graphs(folder) == [path_graph(2)]
    with pytest.raises(GraphInputError, match="self-loop"):
        read_graphs(folder, loops="error")


@pytest.mark.parametrize(
    ("edges", "indicator", "message"),
    [
        (
            "1, 2\n2",
            "1\n1\n",
            r"_A\.txt, line 2: a line must hold 2 integers, got '2'",
        ),
        ("1, 2\n2, ", "1\n1\n", r"TOY_A\.txt, line 2: a line must hold 2 integers"),
        ("1, x", "1\n1\n", "line 1: a line must hold 2 integers, got '1, x'"),
        ("1.5, 2", "1\n1\n", "must hold 2 integers"),
        ("1, nan", "1\n1\n", "must hold 2 integers"),
        ("1, 2, 3", "1\n1\n", "2 integers, got '1, 2, 3'"),
        ("1, 99999999999999999999999", "1\n1\n", "must hold 2 integers"),
        (
            "1, 2\n2, 3",
            "1\n1\n",
            "line 2: edge 2, 3, but nodes are numbered from 1 to 2",
        ),
        ("0, 1", "1\n1\n", "line 1: edge 0, 1"),
        ("2, 3", "1\n1\n2\n", "line 1: edge 2, 3 joins graphs 1 and 2"),
        ("1, 2", "", "indicator.txt is empty"),
        ("1, 2", "1\n2\n1\n", "line 3: graph 1 after graph 2"),
        ("1, 2", "0\n1\n", "numbered from 1"),
        ("1, 2", "1\none\n", "graph_indicator.txt, line 2: a line must hold 1 integer"),
        ("1, 2", "1\n99999999999\n", "too large"),
    ],
)
def test_malformed_files(
    tmp_path: Path, edges: str, indicator: str, message: str
) -> None:
    write(tmp_path, A=edges, graph_indicator=indicator)
    with pytest.raises(GraphInputError, match=message):
        read_graphs(tmp_path, undirected="add")


def test_folder_errors(tmp_path: Path) -> None:
    with pytest.raises(GraphInputError, match="is not a TU folder"):
        read_graphs(tmp_path)
    with pytest.raises(GraphInputError, match="does not exist"):
        read_graphs(tmp_path / "none")
    write(tmp_path, A="")
    with pytest.raises(GraphInputError, match=r"TOY_graph_indicator\.txt is missing"):
        read_graphs(tmp_path)
    write(tmp_path, graph_indicator="1\n2\n", graph_labels="1\n")
    with pytest.raises(GraphInputError, match="1 lines for 2 graphs"):
        read_graphs(tmp_path)
    write(tmp_path, graph_labels="1\n-1\n\n")
    assert read_graphs(tmp_path) == [path_graph(1)] * 2
    write(tmp_path, name="OTHER", A="")
    with pytest.raises(GraphInputError, match=r"several datasets: OTHER_A\.txt, TOY_A"):
        read_graphs(tmp_path)


@pytest.mark.dataset
@pytest.mark.parametrize(
    ("name", "count", "nodes", "edges"),
    [
        ("MUTAG", 188, 17.93, 19.79),
        ("PTC_MR", 344, 14.29, 14.69),
        ("PROTEINS", 1113, 39.06, 72.82),
        ("ENZYMES", 600, 32.63, 62.14),
        ("BZR", 405, 35.75, 38.36),
        ("COX2", 467, 41.22, 43.45),
        ("IMDB-BINARY", 1000, 19.77, 96.53),
        ("IMDB-MULTI", 1500, 13.00, 65.94),
    ],
)
def test_published_statistics(
    name: str, count: int, nodes: float, edges: float
) -> None:
    root = os.environ.get("SEKGNN_DATA")
    if not root or not (Path(root) / "tu" / name).is_dir():
        pytest.skip(f"SEKGNN_DATA is unset or lacks tu/{name}")
    many = read_graphs(Path(root) / "tu" / name)
    assert len(many) == count
    assert np.mean([g.num_nodes for g in many]) == pytest.approx(nodes, abs=0.005)
    assert np.mean([g.num_edges for g in many]) == pytest.approx(edges, abs=0.005)
