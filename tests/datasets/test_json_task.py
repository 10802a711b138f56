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
        ('{"edges": [[0,', "line 2: not valid JSON"),
        ("[1, 2]", "line 2: an object with the key 'edges' is needed"),
        ('{"nodes": 3}', "line 2: an object with the key 'edges' is needed"),
        ({"edges": []}, "line 2: neither 'num_nodes' nor 'x' is given"),
        ({"edges": [], "num_nodes": -1}, "line 2: num_nodes must be at least 0"),
        ({"edges": [], "num_nodes": 2**31}, r"line 2: num_nodes must be below 2\^31"),
        ({"edges": [[0, 2**70]], "num_nodes": 2**71}, "line 2: num_nodes must be bel"),
        ('{"edges": [], "num_nodes": ' + "1" * 5000 + "}", "line 2: not valid JSON"),
        ("[" * 100_000, "line 2: not valid JSON"),
        ({"edges": [], "num_nodes": "3"}, "line 2: num_nodes must be an integer"),
        ({**GOOD, "edges": [[0, 2]]}, r"line 2: 'edges' must be .* in 0\.\.1"),
        ({**GOOD, "edges": [[0, 1.0]]}, "line 2: 'edges' must be a list of pairs"),
        ({**GOOD, "edges": [[0, 1, 1]]}, "line 2: 'edges' must be a list of pairs"),
        ({**GOOD, "edges": "0 1"}, "line 2: 'edges' must be a list of pairs"),
        ({**GOOD, "x": [[1]]}, "line 2: 'x' has 1 rows, but there are 2 nodes"),
        ({**GOOD, "x": [[1], [1, 2]]}, "line 2: node features must be one list"),
        ({**GOOD, "x": [["a"], ["b"]]}, "line 2: node features must be one list"),
        (
            '{"edges": [], "x": [[1, 2], [3, NaN]], "y": 1}',
            "line 2: feature 1 of node 1 is nan",
        ),
        ({**GOOD, "x": [[1, 2], [3, 4]]}, "line 2: 2 node features, but 1 in line 1"),
        ({**GOOD, "num_nodes": 0, "edges": []}, "line 2: the graph has no nodes"),
        ({**GOOD, "y": {"a": 1}}, "line 2, target 'y': a number or a string is needed"),
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
    with pytest.raises(GraphInputError, match="no key 'z'; the keys of its first line"):
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
