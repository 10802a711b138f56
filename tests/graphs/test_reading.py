"""Laws of every format, and errors of faulty files.

What only one format can do or get wrong stands in the file of that format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.small_graphs import write_npz

from sekgnn.datasets import GraphTask, read_task, stream_task
from sekgnn.datasets.read_task import TASK_FORMATS
from sekgnn.encoding.sharded import encode_shards
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.graphs import (
    Graph,
    GraphRecord,
    cycle_graph,
    pack_pairs,
    path_graph,
    read_graphs,
    to_graph6,
)
from sekgnn.graphs.read_options import DEFAULTS, FORMATS, ReadOptions
from sekgnn.graphs.records import graph_format, input_parts, read_all, read_records
from sekgnn.testing import graphs

pytest.importorskip("rdkit")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

WALKS = WalkEncoding(num_shells=1, walk_length=2)
SMILES = ["C", "CCO", "c1ccccc1", "CC(=O)O", "C1CC1", "CCN", "O", "CC"]

Rows = Sequence[Graph | str]
"""Graphs, or SMILES."""


# -- Writers: the lines of a text, or a whole file ------------------------------------


def graph6_lines(rows: Rows) -> list[str]:
    return [to_graph6(graph) for graph in rows if isinstance(graph, Graph)]


def edge_lines(rows: Rows) -> list[str]:
    (graph,) = rows
    assert isinstance(graph, Graph)
    pairs = graph.edge_index().T.tolist()
    return [f"# nodes: {graph.num_nodes}", *(f"{u} {v}" for u, v in pairs)]


def json_lines(rows: Rows, full: bool = True) -> list[str]:
    """Every other graph lists its edges once, the others in both directions.

    In ``full`` with features and a target.
    """
    lines = []
    for i, graph in enumerate(rows):
        assert isinstance(graph, Graph)
        pairs = graph.edge_index().T.tolist()
        edges = [[u, v] for u, v in pairs if i % 2 or u < v]
        values: dict[str, Any] = {"num_nodes": graph.num_nodes, "edges": edges}
        if full:
            values |= {"x": [[i, v / 3] for v in range(graph.num_nodes)], "y": i / 3}
        lines.append(json.dumps(values))
    return lines


def smiles_of(rows: Rows) -> list[str]:
    """Chains of carbon stand for paths."""
    return [row if isinstance(row, str) else "C" * row.num_nodes for row in rows]


def table_lines(rows: Rows, delimiter: str = ",") -> list[str]:
    texts = smiles_of(rows)
    cells = [["id", "smiles"], *([str(i), text] for i, text in enumerate(texts))]
    return [delimiter.join(row) for row in cells]


def tu_lines(rows: Rows) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {
        "A": [], "graph_indicator": [], "graph_attributes": [], "node_labels": [],
    }  # fmt: skip
    for number, graph in enumerate(rows, start=1):
        assert isinstance(graph, Graph)
        start = len(parts["graph_indicator"]) + 1
        pairs = graph.edge_index().T.tolist()
        parts["A"] += [f"{u + start}, {v + start}" for u, v in pairs]
        parts["graph_indicator"] += [str(number)] * graph.num_nodes
        parts["graph_attributes"].append(f"{number / 4}, -1")
        parts["node_labels"] += [str(4 + v % 2) for v in range(graph.num_nodes)]
    return parts


def write_parquet(path: Path, rows: Rows) -> None:
    table = pa.table({"smiles": smiles_of(rows), "id": list(range(len(rows)))})
    pq.write_table(table, path, row_group_size=3)


def write_csr(path: Path, rows: Rows) -> None:
    (graph,) = rows
    assert isinstance(graph, Graph)
    pack_pairs([graph.edge_index().T], graph.num_nodes, path)


def write_shards(path: Path, rows: Rows) -> None:
    source = path.with_name("source.jsonl")
    source.write_text("\n".join(json_lines(rows)), "utf-8")
    encode_shards(source, path, WALKS, targets=["y"], shard_size=2)


@dataclass(frozen=True)
class Format:
    """How a format is written.

    ``lines`` makes those of a text, or of every file of a folder; ``write`` makes a
    whole file where it is no text.
    """

    name: str
    lines: Callable[[Rows], Any] | None = None
    write: Callable[[Path, Any], None] | None = None
    ends: tuple[str, ...] = ("\n", "\r\n")
    empty: bool = False  # holds graphs without nodes
    single: bool = False  # holds one graph
    chains: bool = False  # holds molecules

    def __str__(self) -> str:
        return self.name

    def of(self, given: list[Graph]) -> list[Graph]:
        """Return graphs of the sizes given that this format can hold."""
        some = [g if g.num_nodes or self.empty else path_graph(1) for g in given]
        held = [path_graph(g.num_nodes) if self.chains else g for g in some]
        return held[:1] if self.single else held

    def make(
        self,
        folder: Path,
        rows: Rows,
        end: str = "\n",
        mark: str = "",
        last: str = "\n",
    ) -> Path:
        """Write graphs, with line ends, a byte order mark and an end of the text."""
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.lines is None:
            assert self.write is not None
            self.write(path, rows)
            return path
        made = self.lines(rows)
        last = last.replace("\n", end)
        if isinstance(made, list):
            path.write_bytes((mark + end.join(made) + last).encode())
            return path
        path.mkdir()
        for part, lines in made.items():
            text = mark + end.join(lines) + last
            (path / f"TU_{part}.txt").write_bytes(text.encode())
        return path if path.name != "raw" else path.parent


ANY_END = ("\n", "\r\n", "\r")
TEXTS = (
    Format("a.g6", graph6_lines, empty=True),
    Format("a.edges", edge_lines, single=True, empty=True),
    Format("a.txt", edge_lines, single=True, empty=True),
    Format("a.jsonl", json_lines),
    Format("a.ndjson", lambda rows: json_lines(rows, full=False)),
    Format("A.CSV", table_lines, ends=ANY_END, chains=True),
    Format("a.csv", lambda rows: table_lines(rows, ";"), ends=ANY_END, chains=True),
    Format("a.tsv", lambda rows: table_lines(rows, "\t"), ends=ANY_END, chains=True),
    Format("a.smi", lambda rows: [f"{s} é" for s in smiles_of(rows)], ends=ANY_END,
           chains=True),
    Format("TU", tu_lines, ends=ANY_END),
    Format("TU/raw", tu_lines, ends=ANY_END),
)  # fmt: skip
BINARIES = (
    Format("a.npz", write=write_npz, empty=True),
    Format("a.csr", write=write_csr, single=True),
    Format("a.parquet", write=write_parquet, chains=True),
    Format("shards", write=write_shards),
)
ALL = (*TEXTS, *BINARIES)
every_format = pytest.mark.parametrize("form", ALL, ids=str)
every_text = pytest.mark.parametrize("form", TEXTS, ids=str)


def same(a: GraphRecord, b: GraphRecord) -> bool:
    return (
        a.graph == b.graph
        and (a.row, a.place, a.text, a.names) == (b.row, b.place, b.text, b.names)
        and str(a.targets) == str(b.targets)
        and all(
            np.array_equal(x, y) if x is not None and y is not None else x is y
            for x, y in ((a.x, b.x), (a.edge_attr, b.edge_attr))
        )
    )


# -- What is written comes back -------------------------------------------------------


@every_format
@settings(max_examples=10, deadline=None)
@given(many=st.lists(graphs(max_nodes=6), min_size=1, max_size=4))
def test_graphs_come_back(
    form: Format, many: list[Graph], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In their order, numbered from 1; as a task with the feature 1, or their own."""
    held = form.of(many)
    path = form.make(tmp_path_factory.mktemp("in"), held)
    assert read_graphs(path) == read_graphs(str(path)) == held
    records, left_out = read_all(path)
    assert [record.row for record in records] == list(range(1, len(held) + 1))
    assert len({record.place for record in records}) == len(held) and not left_out
    if graph_format(path) in TASK_FORMATS:
        task = read_task(path)
        assert task.kind is None or form.name.startswith("TU")
        for data, graph, record in zip(task, held, records, strict=True):
            assert Graph.from_edge_index(data.edge_index, data.num_nodes) == graph
            x = [[1.0]] * graph.num_nodes if record.x is None else record.x.tolist()
            assert data.x.tolist() == x


@every_text
@pytest.mark.parametrize("last", ["", "\n", "\n\n", "\n \n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_marks_do_not_matter(
    form: Format, mark: str, last: str, tmp_path: Path
) -> None:
    """Nor blank lines at the end, nor a byte order mark."""
    rows = form.of([path_graph(3), cycle_graph(5), path_graph(1)])
    plain, _ = read_all(form.make(tmp_path / "plain", rows))
    for number, end in enumerate(form.ends):
        if form.name.lower() in ("a.csv", "a.tsv") and last.strip("\n"):
            continue  # a line of blanks is a row of a table
        path = form.make(tmp_path / f"{number}", rows, end, mark, last)
        loaded, _ = read_all(path)
        assert all(map(same, loaded, plain)) and len(loaded) == len(plain)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.g6", "Bg\n\n \nBw\n"),
        ("a.g6", ">>graph6<<\nBg\nBw"),
        ("a.g6", "\ufeff>>graph6<<Bg\r\n\r\nBw"),
        ("a.jsonl", '{"edges": [[0, 1], [1, 2]], "num_nodes": 3}\n\n \n'
                    '{"edges": [[0, 1], [1, 2], [2, 0]], "x": [[1], [1], [1]]}'),
        ("a.csv", "\n\nsmiles,note\n\nCCC,\n\nC1CC1,\n"),
        ("a.csv", 'note,smiles\n"two\nlines, and one",CCC\n,"C1CC1"'),
        ("a.smi", "\nCCC propane\n\n C1CC1\tcyclopropane and more\n"),
    ],
)  # fmt: skip
def test_blank_lines_and_notes_do_not_matter(
    name: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert read_graphs(tmp_path / name) == [path_graph(3), cycle_graph(3)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.g6", "Bg"),
        ("a.graph6", "Bg"),
        ("a.G6", "Bg"),
        ("a.txt", "Bg"),
        ("a.txt", ">>graph6<<Bg"),
        ("a.txt", "# comment\n\n0 1\n1 0\n1 2\n2 1"),
        ("a.txt", "# nodes: 3\n0,1\n1,0\n1,2\n2,1"),
        ("a.txt", "0,1\n1,0\n1,2\n2,1"),
        ("a.txt", "0 1 0.5\n1 0 1\n1 2 1\n2 1 1"),
        ("a.edges", "0 1\n1 0\n1 2\n2 1"),
        ("a.el", "0 1\n1 0\n1 2\n2 1"),
        ("a.edgelist", "0 1\n1 0\n1 2\n2 1"),
        ("a.csv", "id,smiles\n1,CCO"),
        ("a.tsv", "id\tsmiles\n1\tCCO"),
        ("a.smi", "CCO"),
        ("a.jsonl", '{"edges": [[0, 1], [1, 2]], "num_nodes": 3}'),
    ],
)
def test_the_suffix_or_the_first_line_tells_the_format(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    assert read_graphs(tmp_path / name) == [path_graph(3)]


def test_a_format_that_is_named_overrides_the_suffix(tmp_path: Path) -> None:
    file = tmp_path / "a.data"
    file.write_text("Bw\n")
    with pytest.raises(GraphInputError, match=r"'\.data'.*\.npz"):
        read_graphs(file)
    assert read_graphs(file, format="graph6") == [cycle_graph(3)]
    with pytest.raises(GraphInputError, match="line 1"):
        read_graphs(file, format="edges")
    with pytest.raises(ConfigError, match=r"format.*'graph6'"):
        read_graphs(file, format="graph")
    assert set(FORMATS) == {"graph6", "edges", "npz", "csr", "smiles", "json", "tu"}


# -- The same whole, in parts and in chunks -------------------------------------------


def spread(folder: Path, form: Format) -> tuple[Path, list[str]]:
    """Write eight graphs with what else a format may hold; return targets, too."""
    paths = [path_graph(n) for n in (1, 2, 3, 4, 5, 6, 7, 2)]
    rows: Rows = SMILES if form.chains else form.of(paths)
    if form.lines is not None and form.chains and form.name != "a.smi":
        notes = ["note", *("two\nlines" if i % 3 else "" for i in range(len(SMILES)))]
        lines = form.lines(rows)
        sign = max(",;\t", key=lines[0].count)
        joined = [f'{a}{sign}"{b}"' for a, b in zip(lines, notes, strict=True)]
        joined[1:1] = [""]
        form = Format(form.name, lambda _: joined)
        return form.make(folder, rows, "\r\n", "\ufeff"), ["id", "note"]
    if form.name in ("a.smi", "a.jsonl", "a.g6"):
        assert form.lines is not None
        apart = "\n\n".join(form.lines(rows))
        head = ">>graph6<<\n" if form.name == "a.g6" else ""
        form = Format(form.name, lambda _: [head + apart])
    targets = {"a.parquet": ["id"], "a.jsonl": ["y"], "shards": ["y"]}
    return form.make(folder, rows, last=""), targets.get(form.name, [])


@every_format
@pytest.mark.parametrize("size", [1, 3, 100])
def test_parts_of_a_file_are_the_file(form: Format, size: int, tmp_path: Path) -> None:
    path, targets = spread(tmp_path, form)
    whole = list(read_records(path, DEFAULTS, targets))
    parts = [part for part, _ in input_parts(path, DEFAULTS, size, targets)]
    read = [list(read_records(path, DEFAULTS, targets, part=part)) for part in parts]
    assert [len(part) for part in read[:-1]] == [size] * (len(parts) - 1)
    loaded = [record for part in read for record in part]
    assert len(loaded) == len(whole) == (1 if form.single else 8)
    assert all(map(same, loaded, whole))


@every_format
@pytest.mark.parametrize("size", [1, 3, 100])
def test_chunks_of_a_file_are_the_file(form: Format, size: int, tmp_path: Path) -> None:
    path, targets = spread(tmp_path, form)
    if graph_format(path) not in TASK_FORMATS:
        with pytest.raises(GraphInputError, match="features nor targets"):
            stream_task(path)
        return
    targets = targets if form.name != "shards" else []
    whole = read_task(path, columns=targets)
    chunks = list(stream_task(path, chunk_size=size, columns=targets))
    assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    assert together(chunks, "rows") == whole.rows == tuple(range(1, 9))
    assert together(chunks, "places") == tuple(whole.places)
    assert together(chunks, "texts") == tuple(whole.texts or ())
    for name in targets:
        assert sum((c.column(name) for c in chunks), ()) == whole.column(name)
    for chunk in chunks:
        assert chunk.kind is None and chunk.target_names == ()
        assert chunk.feature_names == whole.feature_names
    pairs = zip((data for chunk in chunks for data in chunk), whole, strict=True)
    for ours, theirs in pairs:
        for key in ("x", "edge_index", "edge_attr"):
            assert (key in ours) == (key in theirs)
            assert key not in ours or ours[key].equal(theirs[key])


def together(chunks: list[GraphTask], name: str) -> tuple[Any, ...]:
    return tuple(item for chunk in chunks for item in getattr(chunk, name) or ())


# -- Targets, labels, weights ---------------------------------------------------------


def test_targets_are_the_same_in_every_format(tmp_path: Path) -> None:
    """Numbers, labels and other columns; missing ones, and labels that look alike."""
    columns: dict[str, list[Any]] = {
        "y": [0.5, None, -2.25, 1e10, 3.0, 0.1, None, 2.0],
        "label": ["007", "7", "007", "7", "Na", "Na", "None", "None"],
        "w": ["1", "2.5", "1", "1", "é", "1", "x,y", "1"],
    }
    texts = {k: ["" if v is None else str(v) for v in c] for k, c in columns.items()}
    for sign, name in ((",", "a.csv"), ("\t", "a.tsv"), (";", "b.csv")):
        head = sign.join(["smiles", *columns])
        body = [
            sign.join(f'"{cell}"' for cell in row)
            for row in zip(SMILES, *texts.values(), strict=True)
        ]
        (tmp_path / name).write_text("\n".join([head, *body]), "utf-8")
    pq.write_table(pa.table({"smiles": SMILES, **columns}), tmp_path / "a.parquet")
    lines = [
        json.dumps(
            {"edges": [], "num_nodes": 1, **dict(zip(columns, row, strict=True))}
        )
        for row in zip(*columns.values(), strict=True)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), "utf-8")
    for target, kind in (("y", "regression"), ("label", "multiclass")):
        loaded = []
        for name in ("a.csv", "a.tsv", "b.csv", "a.parquet", "a.jsonl"):
            task = read_task(tmp_path / name, target, columns=["w"])
            y, mask = task.targets()
            loaded.append((task.kind, task.classes, y.tolist(), mask.tolist()))
            assert task.column("w") == tuple(columns["w"])
        assert loaded[1:] == loaded[:1] * 4 and loaded[0][0] == kind
        present = [value is not None for value in columns[target]]
        assert [row[0] for row in loaded[0][3]] == present
    assert loaded[0][1] == ("007", "7", "Na", "None")


# -- Rules ----------------------------------------------------------------------------

ONE_WAY = {
    "a.edges": "0 1\n",
    "a.npz": [[0], [1]],
    "TU": {"A": "1, 2\n", "graph_indicator": "1\n1\n"},
}
LOOPED: dict[str, Any] = {
    "a.edges": "0 1\n1 0\n1 1\n",
    "a.npz": [[0, 1, 1], [1, 0, 1]],
    "a.jsonl": '{"edges": [[0, 1], [1, 1]], "num_nodes": 2}',
    "TU": {"A": "1, 2\n2, 1\n2, 2", "graph_indicator": "1\n1\n"},
}


def put(path: Path, content: Any) -> Path:
    """Write text, bytes, the edges of a graph of two nodes, or files of a folder."""
    if isinstance(content, dict):
        path.mkdir()
        for part, text in content.items():
            (path / f"TOY_{part}.txt").write_bytes(text.encode())
    elif isinstance(content, list):
        ptr = {"edge_ptr": [0, len(content[0])], "node_ptr": [0, 2]}
        np.savez(path, edge_index=np.array(content), **ptr)  # type: ignore[arg-type]
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", ONE_WAY)
def test_edges_in_one_direction(name: str, tmp_path: Path) -> None:
    path = put(tmp_path / name, ONE_WAY[name])
    message = refused(path)
    assert "0 -> 1 without 1 -> 0" in message
    assert ("graph 0" in message) == (name != "a.edges")
    assert read_graphs(path, undirected="add") == [path_graph(2)]
    with pytest.raises(ConfigError, match="undirected"):
        read_graphs(path, undirected="yes")


@pytest.mark.parametrize("name", LOOPED)
def test_self_loops(name: str, tmp_path: Path) -> None:
    path = put(tmp_path / name, LOOPED[name])
    with pytest.warns(GraphInputWarning, match=r"1 self-loop.*node 1"):
        assert read_graphs(path) == [path_graph(2)]
    with pytest.raises(GraphInputError, match="self-loop"):
        read_graphs(path, loops="error")


# -- What is wrong --------------------------------------------------------------------


def error_of(read: Callable[[], object]) -> str:
    """Return the error of a call; what the error holds, such as files, is let go."""
    try:
        read()
    except GraphInputError as error:
        return str(error)
    raise AssertionError("nothing was refused")


def refused(path: Path, **options: Any) -> str:
    """Return the one error of reading graphs, a task and chunks of it."""
    message = error_of(lambda: read_graphs(path, **options))
    try:
        as_task = graph_format(path) in TASK_FORMATS
    except GraphInputError:  # all say it
        as_task = True
    if as_task:
        assert error_of(lambda: read_task(path, **options)) == message
        assert error_of(lambda: list(stream_task(path, **options))) == message
    return message


@every_format
def test_what_is_not_there(form: Format, tmp_path: Path) -> None:
    path = tmp_path / form.name
    assert f"{path} does not exist" in refused(path)
    path.mkdir(parents=True)
    assert f"{path} is not a TU folder" in refused(path)
    known = {".g6": "graph6", ".edges": "edges", ".npz": "npz", ".csv": "smiles",
             ".parquet": "smiles", ".jsonl": "json"}  # fmt: skip
    if path.suffix in known:
        with pytest.raises(GraphInputError, match="is a folder"):
            read_graphs(path, format=known[path.suffix])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, "") for name in ("a.g6", "a.edges", "a.txt", "a.jsonl", "a.csv")),
        *((name, "\n \n") for name in ("a.g6", "a.edges", "a.txt", "a.jsonl")),
        *((name, "") for name in ("a.tsv", "a.smi", "a.npz", "a.csr", "a.parquet")),
        ("a.edges", "# only a comment"),
        ("a.csv", "\n\n"),
        ("a.csv", "smiles\n"),
        ("a.smi", "\n \n"),
        ("TU", {"A": "", "graph_indicator": ""}),
        ("TU", {"A": "1, 2\n", "graph_indicator": ""}),
        ("TU", {}),
    ],
)
def test_nothing_in_it(name: str, content: Any, tmp_path: Path) -> None:
    message = refused(put(tmp_path / name, content))
    assert str(tmp_path / name) in message
    words = "holds no|empty|not a readable|not a usable|not a TU folder"
    assert re.search(words, message)


def test_no_graphs_are_an_error_no_nodes_are_not(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", [])
    assert "no graphs" in refused(tmp_path / "a.npz")
    empty = path_graph(0)
    assert read_graphs(put(tmp_path / "a.g6", "?\n")) == [empty]
    assert read_graphs(put(tmp_path / "a.txt", "# nodes: 0\n")) == [empty]
    line = '{"edges": [], "num_nodes": 0}'
    assert read_graphs(put(tmp_path / "a.jsonl", line)) == [empty]
    with pytest.raises(GraphInputError, match=r"line 1.*no nodes"):
        read_task(tmp_path / "a.jsonl")
    with pytest.raises(GraphInputError, match=r"line 1.*no nodes"):
        list(stream_task(tmp_path / "a.jsonl"))
    skipped = {"A": "", "graph_indicator": "2\n"}
    assert read_graphs(put(tmp_path / "TU", skipped)) == [empty, path_graph(1)]


@every_text
def test_what_is_not_utf_8(form: Format, tmp_path: Path) -> None:
    rows = form.of([path_graph(2)] * 3)
    path = form.make(tmp_path, rows)
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            content = file.read_bytes()
            file.write_bytes(content + b"\xff\xfe\n")
            if file.stem in ("TU_graph_attributes", "TU_node_labels"):
                message = error_of(lambda: read_task(path))  # graphs do not need them
            else:
                message = refused(path)
            assert str(file) in message and "not UTF-8" in message
            file.write_bytes(content)


def test_binary_files_that_are_cut_or_changed(tmp_path: Path) -> None:
    for form in BINARIES[:3]:
        path = form.make(tmp_path, form.of([path_graph(5)] * 3))
        content = path.read_bytes()
        for damaged in (content[:-30], content[:50], b"hello", b"\x00" * 100):
            path.write_bytes(damaged)
            message = refused(path)
            assert str(path) in message and "\n" not in message


@pytest.mark.parametrize(
    ("name", "content", "place", "keyword"),
    [
        ("a.g6", "Bw\n\nD!c\n", "a.g6, line 3", "illegal"),
        ("a.g6", "Bw\nB", "a.g6, line 2", "too short"),
        ("a.g6", "Bw\n~~~~~~~~\n", "a.g6, line 2", "too short"),
        ("a.g6", "Bw\n" + "~" * 8 + "?" * 90, "a.g6, line 2", "too short"),
        ("a.edges", "0 1\n0 x\n", "a.edges, line 2", "integers"),
        ("a.edges", "0 1\n0 2147483647\n", "a.edges, line 2", "too large"),
        ("a.edges", "0 1\n0 " + "9" * 400, "a.edges, line 2", "too large"),
        ("a.edges", "0 1\n\n0 -1", "a.edges, line 3", "integers"),
        ("a.edges", "0 1\n1 0 nan", "a.edges, line 2", "finite"),
        ("a.edges", "0 1\n# nodes: 99999999999", "a.edges", "below"),
        ("a.edges", "0 1\n0 \u0661", "a.edges, line 2", "integers"),
        ("a.jsonl", '{"edges": [], "x": [[1]]}\n{', "a.jsonl, line 2", "JSON"),
        ("a.jsonl", "\n" + "[" * 100_000, "a.jsonl, line 2", "JSON"),
        ("a.jsonl", '{"edges": [], "num_nodes": 1' + "0" * 5000 + "}",
         "a.jsonl, line 1", "JSON"),
        ("a.jsonl", '{"edges": [], "num_nodes": 2147483648}', "line 1", "below"),
        ("a.jsonl", '{"edges": [[0, 99]], "num_nodes": 2}', "line 1", "edges"),
        ("a.jsonl", '\n{"edges": [[0, 1.5]], "num_nodes": 2}', "line 2", "edges"),
        ("a.csv", "smiles,b\nC,1\nC\n", "a.csv, line 3", "1 fields"),
        ("a.csv", "smiles,b\nC,1,2\n", "a.csv, line 2", "3 fields"),
        ("a.csv", 'smiles,b\n"C,1\n', "a.csv, line 2", "quote"),
        ("a.csv", "smiles\nC\n[CH999]\n", r"row 2 \(line 3\)", "rdkit"),
        ("a.csv", "smiles\nC\nC[#200]C\n", r"row 2 \(line 3\)", "rdkit"),
        ("a.tsv", "smiles\n\nC\x00C\n", r"row 1 \(line 3\)", "rdkit"),
        ("a.smi", "C\n\nC1C ring\n", r"row 2 \(line 3\)", "rdkit"),
        ("TU", {"A": "1, 2\n2, x", "graph_indicator": "1\n1"}, "_A.txt, line 2",
         "2 integers"),
        ("TU", {"A": "1, " + "9" * 23, "graph_indicator": "1\n1"}, "_A.txt, line 1",
         "2 integers"),
        ("TU", {"A": "1, 3", "graph_indicator": "1\n1"}, "_A.txt, line 1", "numbered"),
        ("TU", {"A": "", "graph_indicator": "1\n99999999999"}, "indicator.txt",
         "too large"),
        ("TU", {"A": "", "graph_indicator": "1\n2\n1"}, "line 3", "after"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_file_and_line(
    name: str, content: Any, place: str, keyword: str, tmp_path: Path
) -> None:
    """Ids beyond any memory, values that are none, and text that is cut."""
    message = refused(put(tmp_path / name, content))
    assert message.startswith(str(tmp_path))
    assert re.search(place, message) and keyword in message


@pytest.mark.parametrize(
    ("name", "content", "keyword"),
    [
        ("a.csv", "smiles\nC1C\n", "no graphs"),
        ("a.csv", "mol\nC\n", "['mol']"),
        ("a.xlsx", "", "suffix '.xlsx'"),
        ("a", "", "suffix ''"),
    ],
)
def test_other_faults_are_told_alike(
    name: str, content: str, keyword: str, tmp_path: Path
) -> None:
    options = {"skip_invalid": True} if content.startswith("smiles") else {}
    message = refused(put(tmp_path / name, content), **options)
    assert str(tmp_path / name) in message and keyword in message


def test_bad_rows_may_be_left_out(tmp_path: Path) -> None:
    """Of tables and lists of SMILES; the others keep their numbers."""
    texts = ["CC", "C1C", "", "O", "[CH999]"]
    lines = [f"{i},{text}" for i, text in enumerate(texts)]
    put(tmp_path / "a.csv", "\n".join(["id,smiles", *lines]))
    pq.write_table(
        pa.table({"smiles": [t or None for t in texts]}), tmp_path / "a.parquet"
    )
    for name in ("a.csv", "a.parquet"):
        records, left_out = read_all(tmp_path / name, ReadOptions(skip_invalid=True))
        assert [record.row for record in records] == [1, 4]
        assert [row[0] for row in left_out] == [2, 3, 5]
        task = read_task(tmp_path / name, skip_invalid=True)
        assert task.rows == (1, 4) and len(task) == 2
        with pytest.raises(GraphInputError, match="3 SMILES"):
            read_task(tmp_path / name)
        with pytest.raises(GraphInputError, match="1 SMILES"):  # the first
            list(stream_task(tmp_path / name))
