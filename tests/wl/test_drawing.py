"""Pictures of verdicts: what is drawn, and how the file is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.wl.cases import any_tests, pairs

from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    LabelledGraph,
    cycle_graph,
    path_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.wl import TESTS, WLTest, compare


def dots(axis: Any) -> Any:
    """Return the nodes of one picture (the edges are the other collection)."""
    return axis.collections[1]


@given(any_tests(), pairs(5))
@settings(max_examples=10)
def test_every_verdict_can_be_drawn(
    test: WLTest, pair: tuple[LabelledGraph, LabelledGraph]
) -> None:
    verdict = compare(*pair, test)
    figure = verdict.plot()
    last = verdict.rounds if verdict.round is None else verdict.round
    assert len(figure.axes) == 2 * min(6, last + 1)
    assert verdict.sentence() == figure.get_suptitle()
    for axis, item in zip(figure.axes, pair * (last + 1), strict=False):
        assert len(dots(axis).get_offsets()) == item.num_nodes
        assert len(axis.collections[0].get_segments()) == item.num_edges


def test_colours_and_rings_follow_the_classes() -> None:
    """A path: one class at first, then its ends; the ring marks what is uneven."""
    verdict = compare(path_graph(4), cycle_graph(4), "1wl", names=("path", "ring"))
    figure = verdict.plot()
    assert [axis.get_title() for axis in figure.axes] == [
        "path, round 0: 1 colour",
        "ring, round 0: 1 colour",
        "path, round 1: 2 colours",
        "ring, round 1: 1 colour",
    ]
    first, _, path, ring = (dots(axis) for axis in figure.axes)
    assert len(np.unique(first.get_facecolors(), axis=0)) == 1
    a, b, c, d = path.get_facecolors().tolist()
    assert a == d and b == c and a != b
    assert ring.get_facecolors().tolist() == [b] * 4
    assert list(first.get_linewidths()) == [0.5] * 4
    assert list(path.get_linewidths()) == [1.6] * 4
    assert list(ring.get_linewidths()) == [1.6] * 4


@pytest.mark.parametrize("test", TESTS)
def test_the_diagonal_stands_for_the_nodes(test: str) -> None:
    figure = compare(rook_graph(4), shrikhande_graph(), test).plot()
    for axis in figure.axes:
        assert len(dots(axis).get_offsets()) == 16
        assert len(np.unique(dots(axis).get_facecolors(), axis=0)) == 1


def test_late_rounds_are_shown() -> None:
    figure = compare(path_graph(30), path_graph(30), "1wl").plot()
    titles = [axis.get_title() for axis in figure.axes[::2]]
    assert len(titles) == 6 and "round 14" in titles[-1]


@pytest.mark.parametrize(
    ("name", "magic"),
    [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF"), ("a", b"\x89PNG")],
)
def test_files(tmp_path: Path, name: str, magic: bytes) -> None:
    path = tmp_path / name
    path.write_text("old")
    verdict = compare(path_graph(3), cycle_graph(3), "1wl")
    verdict.plot(path)
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]
    verdict.plot(str(path))


def test_a_failure_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    def broken(self: Figure, file: Any, **kwargs: Any) -> None:
        file.write(b"half a picture")
        raise RuntimeError("power cut")

    monkeypatch.setattr(Figure, "savefig", broken)
    path = tmp_path / "a.png"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="power cut"):
        compare(path_graph(3), cycle_graph(3), "1wl").plot(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_too_large_to_be_drawn() -> None:
    large = cycle_graph(401)
    with pytest.raises(GraphInputError, match="at most 400 nodes per graph"):
        compare(large, large, "1wl").plot()
