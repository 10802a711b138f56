"""Streamed chunks: together they are the task; none waits for the end of the file."""

from __future__ import annotations

import importlib
import json
import tracemalloc
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.datasets import GraphTask, read_task, stream_task
from sekgnn.errors import ConfigError, GraphInputError

SMILES = ["CCO", "C1C", "c1ccccc1", "", "CC#N", "O", "[Na+].[Cl-]", "x"]
GRAPH = {"edges": [[0, 1]], "num_nodes": 2}


def write_table(file: Path, texts: Iterable[str], end: str = "\n") -> Path:
    """Write SMILES beside other columns to a CSV or Parquet file."""
    texts = list(texts)
    if file.suffix == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"id": list(range(len(texts))), "smiles": texts}), file)
    else:
        lines = ["id,smiles", *(f"{i},{text}" for i, text in enumerate(texts))]
        file.write_bytes(b"\xef\xbb\xbf" + end.join(lines).encode())
    return file


def write_lines(file: Path, lines: Iterable[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def assert_together(chunks: list[GraphTask], task: GraphTask) -> None:
    """Check that the chunks, one after the other, hold the graphs of ``task``."""
    graphs = [data for chunk in chunks for data in chunk]
    for ours, theirs in zip(graphs, task, strict=True):
        assert set(ours.keys()) == set(theirs.keys())
        assert ours.num_nodes == theirs.num_nodes
        for key in ("x", "edge_index", "edge_attr"):
            assert (key in ours) == (key in theirs)
            if key in ours:
                assert torch.equal(ours[key], theirs[key])
    assert tuple(p for chunk in chunks for p in chunk.places) == task.places
    for chunk in chunks:
        assert len(chunk) == len(chunk.rows) == len(chunk.mask) > 0
        assert chunk.kind is None and chunk.target_names == ()
        assert chunk.feature_names == task.feature_names


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@given(
    texts=st.lists(st.sampled_from(SMILES), max_size=9),
    size=st.integers(1, 10),
    hydrogens=st.booleans(),
    end=st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_chunks_of_tables_are_the_task(
    tmp_path_factory: pytest.TempPathFactory,
    suffix: str,
    texts: list[str],
    size: int,
    hydrogens: bool,
    end: str,
) -> None:
    pytest.importorskip("rdkit")
    texts = ["C", *texts]
    file = write_table(tmp_path_factory.mktemp("s") / f"a{suffix}", texts, end)
    left_out: list[Any] = []
    options: dict[str, Any] = {"skip_invalid": True, "add_hydrogens": hydrogens}
    callback = left_out.append
    chunks = list(stream_task(file, chunk_size=size, on_invalid=callback, **options))
    assert_together(chunks, read_task(file, **options))
    bad = [i for i, text in enumerate(texts) if text in ("C1C", "", "x")]
    assert [row[0] for row in left_out] == [i + 1 for i in bad]
    valid = [i for i in range(len(texts)) if i not in bad]
    assert [row for chunk in chunks for row in chunk.rows] == [i + 1 for i in valid]
    texts_read = [text for chunk in chunks for text in chunk.texts or ()]
    assert texts_read == [texts[i] for i in valid]
    assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)


def test_chunks_of_a_folder_are_the_graphs_without_their_labels(tmp_path: Path) -> None:
    """Five paths of two nodes, all of one class, which nobody could learn."""
    edges = [(2 * i + 1, 2 * i + 2) for i in range(5)]
    for suffix, text in {
        "A": "".join(f"{u}, {v}\n{v}, {u}\n" for u, v in edges),
        "graph_indicator": "".join(f"{i}\n{i}\n" for i in range(1, 6)),
        "node_labels": "3\n7\n" * 5,
        "edge_labels": "4\n" * 10,
        "graph_labels": "1\n" * 5,
    }.items():
        (tmp_path / f"OWN_{suffix}.txt").write_text(text)
    labels: dict[str, Any] = {"node_labels": [7, 5, 3], "edge_labels": [2, 4]}
    chunks = list(stream_task(tmp_path, chunk_size=2, **labels))
    assert [chunk.rows for chunk in chunks] == [(1, 2), (3, 4), (5,)]
    assert chunks[2][0].x.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert chunks[2][0].edge_attr.tolist() == [[0, 1], [0, 1]]
    (tmp_path / "OWN_graph_labels.txt").unlink()
    assert_together(chunks, read_task(tmp_path, **labels))
    with pytest.raises(GraphInputError, match="line 2: node label 7"):
        list(stream_task(tmp_path, node_labels=[3]))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_bad_row_does_not_keep_back_the_chunks_before_it(
    tmp_path: Path, name: str
) -> None:
    pytest.importorskip("rdkit")
    file = write_table(tmp_path / name, [*["CC", "O"] * 15_000, "C1C"])
    chunks = stream_task(file, chunk_size=7)
    assert next(chunks).texts == ("CC", "O", "CC", "O", "CC", "O", "CC")
    assert next(chunks).rows == tuple(range(8, 15))
    file = write_table(tmp_path / name, ["CC", "O", "C", "C1C", "C"])
    invalid: list[Any] = []  # only of rows that are left out
    chunks = stream_task(file, chunk_size=3, on_invalid=invalid.append)
    assert len(next(chunks)) == 3  # full, so it comes before row 4 is looked at
    where = r"row 4 \(line 5\)" if name == "a.csv" else "row 4"
    message = rf"^{file}: 1 SMILES in column 'smiles' .*\n  {where}: 'C1C'\nCorrect"
    with pytest.raises(GraphInputError, match=message):
        next(chunks)
    assert list(chunks) == invalid == []


def test_a_bad_line_does_not_keep_back_the_chunks_before_it(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", [GRAPH] * 4)
    with open(file, "ab") as out:
        out.write(b"{\n" + json.dumps(GRAPH).encode() * 20_000 + b"\xff")
    chunks = stream_task(file, chunk_size=2)
    assert [next(chunks).rows, next(chunks).rows] == [(1, 2), (3, 4)]
    with pytest.raises(GraphInputError, match=r"line 5.*JSON"):
        next(chunks)


def test_graphs_are_let_go_and_rows_are_not_kept(tmp_path: Path) -> None:
    """However long the file, at most two chunks and the first graph are alive."""
    lines = ({"edges": [], "x": [[i]], "note": "x" * 4000} for i in range(2000))
    file = write_lines(tmp_path / "a.jsonl", lines)
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    most = rows = 0
    list(stream_task(write_lines(tmp_path / "b.jsonl", [GRAPH])))  # imports
    tracemalloc.start()
    try:
        for chunk in stream_task(file, chunk_size=50):
            rows += len(chunk)
            alive.update(data.x for data in chunk)
            most = max(most, len(alive))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows == 2000
    assert most <= 2 * 50 + 1
    assert peak < file.stat().st_size / 10


def test_chunks_of_huge_graphs_are_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its last graph a chunk is below the limit; it ends where it meets it."""
    module = importlib.import_module("sekgnn.datasets.read_task")
    monkeypatch.setattr(module, "MOST_CHUNK_NODES", 10)
    sizes = np.random.default_rng(0).integers(1, 15, 60).tolist()
    lines = ({"edges": [], "num_nodes": n} for n in sizes)
    file = write_lines(tmp_path / "a.jsonl", lines)
    chunks = list(stream_task(file, chunk_size=5))
    assert_together(chunks, read_task(file))
    for number, chunk in enumerate(chunks, start=1):
        nodes = [int(data.num_nodes) for data in chunk]
        assert sum(nodes[:-1]) < 10 and len(nodes) <= 5
        assert number == len(chunks) or sum(nodes) >= 10 or len(nodes) == 5


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_other_features_in_a_later_chunk(tmp_path: Path, size: int) -> None:
    """Names the first graph of the file, as ``read_task`` does."""
    lines = [{"edges": [], "x": [[1] * width]} for width in (2, 2, 2, 3)]
    file = write_lines(tmp_path / "a.jsonl", lines)
    with pytest.raises(GraphInputError) as caught:
        read_task(file)
    chunks = stream_task(file, chunk_size=size)
    for _ in range(3 // size):
        next(chunks)
    with pytest.raises(GraphInputError, match="line 4: 3 node features"):
        next(chunks)
    with pytest.raises(GraphInputError) as streamed:
        list(stream_task(file, chunk_size=size))
    assert str(streamed.value) == str(caught.value)


def test_wrong_parameters_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"chunk_size.*at least"):
        stream_task(tmp_path / "a.csv", chunk_size=0)
    with pytest.raises(GraphInputError, match="does not exist"):
        stream_task(tmp_path / "a.xyz")
