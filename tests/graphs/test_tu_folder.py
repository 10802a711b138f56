"""TU folders, written here and (marked) the real ones."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sekgnn.errors import GraphInputError, GraphInputWarning
from sekgnn.graphs import (
    complete_graph,
    path_graph,
    read_graphs,
    tu_folder,
)
from sekgnn.graphs.read_options import DEFAULTS
from sekgnn.graphs.records import input_parts
from sekgnn.graphs.tu_folder import tu_records


def write(folder: Path, name: str = "TOY", **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, text in files.items():
        (folder / f"{name}_{part}.txt").write_bytes(text.encode())
    return folder


def test_by_hand(tmp_path: Path) -> None:
    """A triangle, a graph without nodes, a path with an isolated node; edges mixed."""
    folder = write(
        tmp_path,
        A="4,5\r\n1, 2\r\n2, 1\r\n5 , 4\r\n1,3\r\n3,1\r\n2,3\r\n3,2\r\n",
        graph_indicator="1\r\n1\r\n1\r\n3\r\n3\r\n3\r\n",
    )
    path = path_graph(2).disjoint_union(path_graph(1))
    assert read_graphs(folder) == [complete_graph(3), path_graph(0), path]


@pytest.mark.parametrize(
    ("edges", "indicator", "message"),
    [
        (
            "1, 2\n2",
            "1\n1\n",
            r"_A\.txt, line 2.*2 integers, got '2'",
        ),
        ("1, 2\n2, ", "1\n1\n", r"TOY_A\.txt, line 2.*2 integer"),
        ("1, x", "1\n1\n", r"line 1.*2 integers, got '1, x'"),
        ("1.5, 2", "1\n1\n", "must hold 2 integers"),
        ("1, nan", "1\n1\n", "must hold 2 integers"),
        ("1, 2, 3", "1\n1\n", "2 integers, got '1, 2, 3'"),
        ("0, 1", "1\n1\n", "line 1: edge 0, 1"),
        ("2, 3", "1\n1\n2\n", r"line 1: edge 2, 3.*1 and 2"),
        ("1, 2", "", "indicator.txt is empty"),
        ("1, 2", "0\n1\n", "numbered from 1"),
        ("1, 2", "1\none\n", r"graph_indicator.txt, line 2.*1 integer"),
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


def random_folder(folder: Path, rng: np.random.Generator, sizes: list[int]) -> Path:
    """Write graphs of these sizes, some without edges, with all that a folder holds."""
    edges, edge_labels, nodes = [], [], 0
    for size in sizes:
        pairs = np.argwhere(np.triu(rng.random((size, size)) < 0.4, 1)) + nodes + 1
        labels = rng.integers(0, 3, len(pairs))
        order = rng.permutation(2 * len(pairs))
        edges += np.concatenate([pairs, pairs[:, ::-1]])[order].tolist()
        edge_labels += np.concatenate([labels, labels])[order].tolist()
        nodes += size
    owners = np.repeat(np.arange(len(sizes)), sizes) + 1
    count = int(owners[-1])
    attributes = rng.random((nodes, 2)).tolist()
    columns: dict[str, list[Any]] = {
        "A": [f"{u}, {v}" for u, v in edges],
        "graph_indicator": owners.tolist(),
        "graph_labels": rng.integers(0, 2, count).tolist(),
        "node_labels": rng.integers(-2, 4, nodes).tolist(),
        "node_attributes": [f"{a:.3f}, {b}" for a, b in attributes],
        "edge_labels": edge_labels,
    }
    ends = ["\n", "\r\n", "\r", "\n\n \n"]
    texts = {k: str(rng.choice(ends)).join(map(str, v)) for k, v in columns.items()}
    texts["A"] = "\ufeff" * int(rng.integers(2)) + texts["A"] + "\n" * 2
    if rng.integers(2):
        del texts["graph_labels"]
        texts["graph_attributes"] = "\n".join(f"{i}, {-i}" for i in range(count))
    return write(folder, **texts)


@contextmanager
def in_pieces(size: int, block: int = 1 << 14) -> Iterator[None]:
    """Read folders in pieces of so many lines of nodes and edges."""
    with mock.patch.multiple(tu_folder, _PIECE=size, _BLOCK=block):
        yield


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.lists(st.sampled_from([0, 1, 1, 2, 5]), min_size=1, max_size=9).filter(any),
    st.sampled_from([1, 3, 1 << 14]),
    st.sampled_from([1, 4, 20]),
)
def test_pieces_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    sizes: list[int],
    block: int,
    limit: int,
) -> None:
    """Graphs without nodes or edges anywhere, blank lines, any line ends."""
    rng = np.random.default_rng(seed)
    folder = random_folder(tmp_path_factory.mktemp("tu"), rng, sizes)
    whole = list(tu_records(folder))
    with in_pieces(limit, block):
        records = list(tu_records(folder))
    assert len(records) == len(whole)
    for a, b in zip(records, whole, strict=True):
        assert (a.graph, a.place, a.row) == (b.graph, b.place, b.row)
        assert (a.targets, a.names) == (b.targets, b.names)
        assert a.x is not None and b.x is not None
        assert a.edge_attr is not None and b.edge_attr is not None
        assert a.x.tobytes() == b.x.tobytes() and a.x.shape == b.x.shape
        assert a.edge_attr.tobytes() == b.edge_attr.tobytes()
        assert a.edge_attr.shape == b.edge_attr.shape


def test_parts_change_with_their_own_lines(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    folder = random_folder(tmp_path, rng, [3, 3, 3, 3])
    before = list(input_parts(folder, DEFAULTS, 2))
    file = folder / "TOY_node_labels.txt"
    text = file.read_text()
    file.write_text(text[:-1] + ("1" if text[-1] == "0" else "0"))
    after = list(input_parts(folder, DEFAULTS, 2))
    assert before[0][1] == after[0][1] and before[1][1] != after[1][1]


def test_edges_that_are_not_sorted_are_read_whole(tmp_path: Path) -> None:
    edges = "3, 4\n4, 3\n1, 2\n2, 1"
    folder = write(tmp_path, A=edges, graph_indicator="1\n1\n2\n2\n")
    assert read_graphs(folder) == [path_graph(2)] * 2  # small, so it always is
    warned = pytest.warns(GraphInputWarning, match=r"TOY_A\.txt.*not sorted")
    with in_pieces(1), warned:
        assert read_graphs(folder) == [path_graph(2)] * 2


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("A", "1,2\n2,1\n2,3", r"A\.txt, line 3: edge 2, 3.*1 and 2"),
        ("A", "1,2\n2,1\n3,2", r"A\.txt, line 3: edge 3, 2.*2 and 1"),
        (
            "A",
            "1,2\n2,1\n5,5",
            r"line 3: edge 5, 5.*1 to 4",
        ),
        ("A", "1,2\n2,1\n3,4", "0 -> 1 without 1 -> 0 of graph 1"),
        ("A", "1,2\n2,1\n3,x", r"line 3.*2 integer"),
        ("graph_indicator", "1\n1\n2\n1", "line 4: graph 1 after graph 2"),
        ("graph_indicator", "1\n1\n99999999\n99999999", "graphs are claimed"),
        ("graph_labels", "1\n2\n3", "labels.txt has 3 lines for 2 graphs"),
        ("graph_labels", "1\n2, 3", r"line 2: .*1 value.*'2, 3'"),
        ("node_labels", "1\n1\n1", "labels.txt has 3 lines for 4 nodes"),
        ("node_labels", "1\n1\n1\nnan", r"line 4: .*finite.*'nan'"),
        ("node_attributes", "1\n1\n1\n2,3", r"line 4: .*1 finite.*'2,3'"),
        ("node_attributes", "1\n1\n1\ninf", r"line 4: .*finite.*'inf'"),
        ("edge_labels", "1\n1\n0\n1", r"line 4: edge 4, 3.*label.*line 3"),
        ("edge_labels", "1\n1\n0\n1.5", r"line 4.*1 integer"),
    ],
)
def test_errors_in_pieces_name_the_line(
    tmp_path: Path, part: str, text: str, message: str
) -> None:
    files = {"A": "1,2\n2,1\n3,4\n4,3", "graph_indicator": "1\n1\n2\n2"}
    folder = write(tmp_path, **files | {part: text})
    for block in (1, 3, 1 << 14):
        with in_pieces(1, block), pytest.raises(GraphInputError, match=message):
            list(tu_records(folder))


def test_memory_is_that_of_a_piece(tmp_path: Path) -> None:
    """And of three or four numbers per graph, whatever it holds."""
    peaks = []
    for count in (3_000, 30_000):
        ones = np.arange(1, 4 * count, 4)
        folder = tmp_path / str(count)
        write(
            folder,
            A="".join(f"{u}, {u + 2}\n{u + 2}, {u}\n" for u in ones),
            graph_indicator="".join(f"{i}\n" * 4 for i in range(1, count + 1)),
            node_labels="1\n2\n3\n4\n" * count,
            node_attributes="0.25, 0.50\n" * 4 * count,
        )
        with in_pieces(1500, 1000):
            tracemalloc.start()
            assert sum(1 for _ in tu_records(folder)) == count
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert peaks[1] - peaks[0] < 32 * 27_000
    assert peaks[1] < size / 2
