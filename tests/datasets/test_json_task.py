"""JSON lines: what they hold, and what is said of wrong lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sekgnn.datasets import read_task
from sekgnn.errors import GraphInputError


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(text))
    return path


def test_features_and_targets(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.jsonl",
        {"edges": [[0, 1]], "x": [[1, 2], [3, 4.5]], "y": 1.5, "tag": "a\u2028b"},
        "",
        {"edges": [], "x": [[0, 0]], "y": None},
        {"edges": [], "x": [[7, 0]], "y": "2.5"},
        '{"edges": [], "x": [[7, 0]], "y": NaN}',
        {"edges": [], "x": [[7, 0]]},
    )
    task = read_task(file, "y")
    assert task.kind == "regression"
    assert task[0].x.tolist() == [[1, 2], [3, 4.5]]
    assert [data.y.item() for data in task] == [1.5, 0, 2.5, 0, 0]
    assert task.mask[:, 0].tolist() == [True, False, True, False, False]
    assert task.places == ("line 1", "line 3", "line 4", "line 5", "line 6")


def test_several_targets_and_windows_line_ends(tmp_path: Path) -> None:
    lines = [
        json.dumps({"edges": [], "num_nodes": 1, "a": a, "b": b})
        for a, b in ((0, True), (1, None), (1, False))
    ]
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*lines, ""]).encode())
    task = read_task(file, ["a", "b"])
    assert task.kind == "multilabel" and task.num_outputs == 2
    assert [data.y.tolist() for data in task] == [[[0, 1]], [[1, 0]], [[1, 0]]]


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"edges": [],\r"num_nodes": 1}\n\r\n{"edges":\r[], "x": [1]}')
    assert read_task(file).places == ("line 1", "line 3")


GOOD: dict[str, Any] = {"edges": [[0, 1]], "num_nodes": 2, "y": 1}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"edges": [[0,', r"line 2.*JSON"),
        ("[1, 2]", r"line 2.*'edges'"),
        ('{"nodes": 3}', r"line 2.*'edges'"),
        ({"edges": []}, r"line 2.*'num_nodes'"),
        ({"edges": [], "num_nodes": -1}, r"line 2: num_nodes.*at least"),
        ({"edges": [], "num_nodes": 2**31}, r"line 2: num_nodes.*below"),
        ({"edges": [[0, 2**70]], "num_nodes": 2**71}, r"line 2: num_nodes.*below"),
        ('{"edges": [], "num_nodes": ' + "1" * 5000 + "}", r"line 2.*JSON"),
        ("[" * 100_000, r"line 2.*JSON"),
        ({"edges": [], "num_nodes": "3"}, r"line 2: num_nodes.*integer"),
        ({**GOOD, "edges": [[0, 2]]}, r"line 2: 'edges'.* in 0\.\.1"),
        ({**GOOD, "edges": [[0, 1.0]]}, r"line 2: 'edges'.*pairs"),
        ({**GOOD, "edges": [[0, 1, 1]]}, r"line 2: 'edges'.*pairs"),
        ({**GOOD, "edges": "0 1"}, r"line 2: 'edges'.*pairs"),
        ({**GOOD, "x": [[1]]}, r"line 2: 'x'.*1 rows"),
        ({**GOOD, "x": [[1], [1, 2]]}, r"line 2.*features"),
        ({**GOOD, "x": [["a"], ["b"]]}, r"line 2.*features"),
        (
            '{"edges": [], "x": [[1, 2], [3, NaN]], "y": 1}',
            "line 2: feature 1 of node 1",
        ),
        ({**GOOD, "x": [[1, 2], [3, 4]]}, "line 2: 2 node features"),
        ({**GOOD, "num_nodes": 0, "edges": []}, r"line 2.*no nodes"),
        ({**GOOD, "y": {"a": 1}}, r"line 2, target 'y'.*needed"),
        ('{"edges": [], "num_nodes": 1, "y": Infinity}', "line 2, target 'y': inf is"),
    ],
)
def test_wrong_lines_are_named(
    line: dict[str, Any] | str, message: str, tmp_path: Path
) -> None:
    file = write(tmp_path / "a.jsonl", GOOD, line, {**GOOD, "y": 3})
    with pytest.raises(GraphInputError, match=f"^{file}, {message}"):
        read_task(file, "y")


def test_wrong_files(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", GOOD)
    with pytest.raises(GraphInputError, match="no key 'z'"):
        read_task(file, "z")
    with pytest.raises(GraphInputError, match="holds no graphs"):
        read_task(write(file, "", ""), "y")


@pytest.mark.parametrize("features", [False, True])
def test_a_huge_graph_is_read(tmp_path: Path, features: bool) -> None:
    n = 100_000
    line: dict[str, Any] = {"edges": [[i, (i + 1) % n] for i in range(n)]}
    line |= {"x": [[i, 0.5] for i in range(n)]} if features else {"num_nodes": n}
    (data,) = read_task(write(tmp_path / "a.jsonl", line))
    assert (data.num_nodes, data.num_edges) == (n, 2 * n)
    assert data.x[-1].tolist() == ([n - 1, 0.5] if features else [1])
