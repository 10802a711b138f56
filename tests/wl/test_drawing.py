"""Pictures of verdicts: what is drawn, and how the file is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from tests.wl.cases import any_tests, pairs

from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    complete_graph,
    csl_graph,
    cycle_graph,
    from_networkx,
    labelled_from_smiles,
    path_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.graphs.molecules import depict
from sekgnn.testing import graphs
from sekgnn.wl import TESTS, Isomorphism, WLTest, compare
from sekgnn.wl.drawing import layout, neighbourhood_shape


def dots(axis: Any) -> Any:
    """Return the nodes of one picture (the edges are the other collection)."""
    return axis.collections[1]


def squeezed(text: str) -> str:
    return "".join(text.split())


def assert_whole(axis: Any) -> None:
    """No node is cut off: its disc, in points, is inside the axes."""
    frame, nodes = axis.get_window_extent(), dots(axis)
    radius = np.sqrt(nodes.get_sizes().max(initial=0)) / 2 * axis.figure.dpi / 72
    at = axis.transData.transform(nodes.get_offsets())
    for low, high, pos in (
        (frame.x0, frame.x1, at[:, 0]),
        (frame.y0, frame.y1, at[:, 1]),
    ):
        assert (pos - radius >= low - 0.5).all()
        assert (pos + radius <= high + 0.5).all()


@given(any_tests(), pairs(5))
@example(Isomorphism(), (LabelledGraph(path_graph(0)), LabelledGraph(path_graph(1))))
@settings(max_examples=10)
def test_every_verdict_can_be_drawn(
    test: WLTest, pair: tuple[LabelledGraph, LabelledGraph]
) -> None:
    verdict = compare(*pair, test)
    figure = verdict.plot()
    figure.draw_without_rendering()
    last = verdict.rounds if verdict.round is None else verdict.round
    assert len(figure.axes) == 2 * min(6, last + 1)
    assert "".join(figure.get_suptitle().split()) == squeezed(verdict.sentence())
    for axis, item in zip(figure.axes, pair * (last + 1), strict=False):
        assert len(dots(axis).get_offsets()) == item.num_nodes
        assert len(axis.collections[0].get_segments()) == item.num_edges
        assert_whole(axis)


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


def texts(axis: Any) -> list[str]:
    return [text.get_text() for text in axis.texts]


def test_molecules_are_drawn_as_molecules() -> None:
    """Symbols, charges and bonds; a second line inside the ring where aromatic."""
    pytest.importorskip("rdkit")
    nitro, indole = (
        labelled_from_smiles(s) for s in ("C[N+](=O)[O-]", "c1ccc2[nH]ccc2c1")
    )
    names = ("smiles:C[N+](=O)[O-]", "$x_1$" * 20)
    figure = compare(nitro, indole, "1wl", names=names).plot()
    figure.draw_without_rendering()
    first, second = figure.axes
    assert texts(first) == ["C", "N+", "O", "O−"]
    assert sorted(texts(second)) == ["C"] * 8 + ["N"]
    assert squeezed(second.get_title()).startswith(squeezed(names[1]))
    assert len(first.collections[0].get_segments()) == 4  # one of three is double
    lines = second.collections[0].get_segments()
    assert len(lines) == 2 * 10  # all are aromatic
    pos = dots(second).get_offsets()
    rings = [pos[[0, 1, 2, 3, 7, 8]].mean(0), pos[[3, 4, 5, 6, 7]].mean(0)]
    for solid, dashed in zip(lines[::2], lines[1::2], strict=True):
        assert np.linalg.norm(solid[1] - solid[0]) == pytest.approx(1.5, rel=0.1)
        away = [
            [np.linalg.norm(line.mean(0) - r) for r in rings]
            for line in (solid, dashed)
        ]
        assert min(away[1]) < min(away[0])
    for axis in figure.axes:
        assert_whole(axis)
    # atoms alone, and a pair of which one is no molecule
    water = labelled_from_smiles("O")
    assert texts(compare(water, water, "1wl").plot().axes[0]) == ["O"]
    other = LabelledGraph(path_graph(3), [0, 0, 0], [1, 1, 1, 1])
    assert texts(compare(nitro, other, "1wl").plot().axes[0]) == list("0123")


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        ([0, 6], [1, 1]),  # no element has number 0
        ([119, 6], [1, 1]),
        ([9, 9], [2, 2]),  # fluorine has one bond
        ([6, 6], [99, 99]),  # no such bond
        (["C", "C"], [1, 1]),
        ([6, 6], None),
        (None, [1, 1]),
    ],
)
def test_other_labels_are_no_molecules(nodes: Any, edges: Any) -> None:
    pytest.importorskip("rdkit")
    assert depict(LabelledGraph(path_graph(2), nodes, edges)) is None
    assert depict(LabelledGraph(path_graph(2), [6, 8], [2, 2])) is not None


def test_strongly_regular_graphs_show_the_reason() -> None:
    """What the neighbours of a node form, brought out and in words."""
    perm = np.random.default_rng(0).permutation(16)
    pair = rook_graph(4), shrikhande_graph().relabel(perm)
    figure = compare(*pair, "sek", names=("rook", "other")).plot()
    figure.draw_without_rendering()
    for axis, graph, shape in zip(
        figure.axes, pair, ("two triangles", "one 6-cycle"), strict=True
    ):
        last = axis.get_title().splitlines()[-1]
        words, _, drawn_shape = last.partition(": ")
        assert drawn_shape == shape and words.startswith("neighbours of node ")
        centre = int(words.split()[-1])
        lines = axis.collections[0]
        widths = lines.get_linewidths()
        bold = [i for i, width in enumerate(widths) if width == max(widths)]
        assert len(bold) == 6 and len(widths) == graph.num_edges
        pos = np.asarray(dots(axis).get_offsets())
        near = set(graph.neighbors(centre).tolist())
        for i in bold:
            ends = lines.get_segments()[i]
            found_nodes = [int(np.abs(pos - end).sum(1).argmin()) for end in ends]
            assert set(found_nodes) <= near
            assert found_nodes[1] in graph.neighbors(found_nodes[0])
        assert_whole(axis)
    plain = compare(cycle_graph(5), cycle_graph(5), "1wl").plot()  # regular, but clear
    assert "neighbours" not in plain.axes[0].get_title()


def test_what_neighbours_form() -> None:
    """A wheel's hub sees its rim, a leaf one node; more complex parts are counted."""
    rim = [(i, i % 6 + 1) for i in range(1, 7)]
    wheel = from_networkx(nx.Graph([(0, i) for i in range(1, 7)] + rim))
    assert neighbourhood_shape(wheel, 0) == "one 6-cycle"
    assert neighbourhood_shape(wheel, 1) == "one part (3 nodes, 2 edges, 0 triangles)"
    assert neighbourhood_shape(path_graph(3), 1) == "two single nodes"
    assert neighbourhood_shape(path_graph(1), 0) == "none"
    assert neighbourhood_shape(complete_graph(6), 0) == "one K5"


@given(graphs(max_nodes=9))
@settings(max_examples=25)
def test_layout(graph: Graph) -> None:
    """No two nodes in one place; parts have boxes of their own; edges alike."""
    pos = layout(graph)
    assert pos.shape == (graph.num_nodes, 2) and np.isfinite(pos).all()
    apart = np.linalg.norm(pos[:, None] - pos[None], axis=2)
    assert (apart + np.eye(graph.num_nodes) > 0.05).all()
    boxes = []
    for part in nx.connected_components(graph.to_networkx()):
        own = pos[sorted(part)]
        boxes.append((own.min(0), own.max(0)))
    for i, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:i]:
            gap = np.maximum(low - other_high, other_low - high)
            assert gap.max() > 0.5


def test_circulants_stand_on_a_ring() -> None:
    pos = layout(csl_graph(11, 3))
    np.testing.assert_allclose(np.hypot(*pos.T), 11 / (2 * np.pi))
    steps = np.linalg.norm(pos - np.roll(pos, 1, axis=0), axis=1)
    np.testing.assert_allclose(steps, steps[0])
    axis = compare(csl_graph(31, 2), csl_graph(31, 2), "1wl").plot().axes[0]
    lines = axis.collections[0].get_segments()  # chords go round the node between
    assert sorted(map(len, lines)) == [2] * 31 + [13] * 31


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
