"""A packed file is the graph in memory; whatever is wrong is one line that names it."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from sekgnn.errors import GraphInputError, GraphInputWarning, OutputError
from sekgnn.graphs import (
    Graph,
    edge_list,
    graph_file,
    pack,
    pack_edge_list,
    pack_pairs,
    read_graph_file,
    read_graphs,
)
from sekgnn.graphs.edge_list import read_edge_list


@pytest.mark.parametrize("n", [1, 2, 30, 400])
@pytest.mark.parametrize("both_ways", [False, True])
def test_a_packed_list_is_the_graph_in_memory(
    n: int, both_ways: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the form of the lines, the order, the repeats and the passes."""
    monkeypatch.setattr(graph_file, "ROWS_BUFFER", 37)
    monkeypatch.setattr(graph_file, "_CHUNK", 11)
    monkeypatch.setattr(edge_list, "_BLOCK", 101)
    rng = np.random.default_rng(n)
    pairs = rng.integers(0, n, size=(3 * n, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if both_ways:
        pairs = rng.permutation(np.concatenate([pairs, pairs[:, ::-1], pairs]))
    forms = ["{} {}", "{},{}", " {}\t{} ", "{} , {}\r", "{} {} 0.5", "{} {} # why"]
    lines = [forms[i % len(forms)].format(*pair) for i, pair in enumerate(pairs)]
    text = "\n".join(["% a comment", f"# nodes: {n}", "", *lines])
    (tmp_path / "edges.txt").write_text(text)
    rule: Literal["error", "add"] = "error" if both_ways else "add"
    x = rng.standard_normal((n, 3)).astype(np.float32)
    file = tmp_path / "graph.csr"
    packed = pack_edge_list(
        tmp_path / "edges.txt", file, arrays={"x": x}, undirected=rule
    )
    expected = read_edge_list(tmp_path / "edges.txt", undirected=rule)
    assert packed.graph == expected
    np.testing.assert_array_equal(packed.nodes["x"], x)
    assert read_graphs(file) == [expected]
    assert pack_pairs([pairs], n, file, undirected=rule).graph == expected
    np.testing.assert_array_equal(pack([packed.graph]).indices, expected.indices)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["edges.txt", "graph.csr"]


def test_every_change_of_a_file_is_found(tmp_path: Path) -> None:
    """A byte in the header, the rows or the arrays; and a file cut short."""
    file = tmp_path / "graph.csr"
    pack_pairs([np.array([[0, 1]])], 3, file, arrays={"y": [1, 2, 3]}, undirected="add")
    whole = file.read_bytes()
    start = 1 << 16
    for place in (3, 60, start, start + 64, start + 128):
        changed = bytearray(whole)
        changed[place] ^= 1
        file.write_bytes(changed)
        with pytest.raises(GraphInputError, match=r"graph\.csr.*usable"):
            read_graph_file(file)
    file.write_bytes(whole[:-1])
    with pytest.raises(GraphInputError, match="length is wrong"):
        read_graph_file(file, check=False)
    with pytest.raises(GraphInputError, match="does not exist"):
        read_graph_file(tmp_path / "none.csr")


@pytest.mark.parametrize(
    ("text", "message", "options"),
    [
        ("0 1\n1 x\n", r"line 2.*integers", {}),
        ("0 1\n7 2\n", r"node 7.*count is 5", {"num_nodes": 5}),
        ("# nodes: 4\n0 1\n", "4 and 5", {"num_nodes": 5}),
        ("0 1\n", r"one direction.*0 -> 1", {"undirected": "error"}),
        ("1 1\n0 1\n", r"1 self-loop.*node 1\)", {"loops": "error"}),
        ("# nothing\n", "holds no edges", {}),
        ("0 1\n", "3 and 4", {"arrays": {"x": [0, 0, 0], "y": [0] * 4}}),
        ("0 1\n", "must hold numbers", {"arrays": {"x": ["a", "b"]}}),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    text: str, message: str, options: dict[str, object], tmp_path: Path
) -> None:
    """And an older file stays as it was."""
    source, file = tmp_path / "edges.txt", tmp_path / "graph.csr"
    source.write_text(text)
    file.write_bytes(b"old")
    given: dict[str, object] = {"undirected": "add", **options}
    with pytest.raises(GraphInputError, match=message):
        pack_edge_list(source, file, **given)  # type: ignore[arg-type]
    assert file.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """Whether the pairs or the file itself do not fit."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 3000, size=(20_000, 2))
    file = tmp_path / "graph.csr"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in (100_000, 190_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            with (
                pytest.warns(GraphInputWarning) if limit > 160_000 else _nothing(),
                pytest.raises(OutputError, match="cannot write"),
            ):
                pack_pairs([pairs], 3000, file, undirected="add")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert not list(tmp_path.iterdir())


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...


def test_self_loops_are_dropped_with_a_note(tmp_path: Path) -> None:
    """As everywhere; a node of loops alone is isolated."""
    with pytest.warns(GraphInputWarning, match="1 self-loop dropped"):
        packed = pack_pairs([np.array([[1, 1], [0, 2]])], 3, tmp_path / "g.csr",
                            undirected="add")  # fmt: skip
    assert packed.graph == Graph.from_edge_index([[0], [2]], 3, undirected="add")
