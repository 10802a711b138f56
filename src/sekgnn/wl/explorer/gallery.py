"""A gallery of famous pairs of graphs: one page each, and an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import Any, NamedTuple

import numpy as np

from sekgnn._version import __version__
from sekgnn.graphs.families import (
    cfi_pair,
    complete_graph,
    csl_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.molecules import labelled_from_smiles
from sekgnn.wl.explorer.page import filled, page_content, page_of
from sekgnn.wl.verdict import compare

INDEX = "index.html"
_SIZE = 150  # of a thumbnail


class Pair(NamedTuple):
    """A pair of the gallery."""

    file: str  # name of the page
    names: tuple[str, str]
    graphs: Callable[[], tuple[Any, Any]]  # makes the graphs
    test: str  # shown first
    about: str  # two sentences


def product(first: Graph, second: Graph) -> Graph:
    """Return the Cartesian product: one coordinate moves along an edge at a time."""
    a, b = first.adjacency(), second.adjacency()
    identity_a, identity_b = (np.eye(len(side), dtype=np.int64) for side in (a, b))
    steps = np.kron(a, identity_b) + np.kron(identity_a, b)
    return Graph.from_edge_index(np.stack(np.nonzero(steps)), len(steps))


def _molecules(first: str, second: str) -> Callable[[], tuple[Any, Any]]:
    return lambda: (labelled_from_smiles(first), labelled_from_smiles(second))


PAIRS = (
    Pair(
        "rook_shrikhande.html",
        ("rook 4 × 4", "Shrikhande"),
        lambda: (rook_graph(4), shrikhande_graph()),
        "sek",
        "Both are strongly regular with 16 nodes, so 2-FWL and walks on the whole "
        "graph see one and the same thing everywhere. Take a node away and look at its "
        "neighbours: two triangles in one graph, a ring of six in the other.",
    ),
    Pair(
        "circular_skip_links.html",
        ("CSL 41, skip 2", "CSL 41, skip 3"),
        lambda: (csl_graph(41, 2), csl_graph(41, 3)),
        "khop",
        "A ring of 41 nodes with further links of length 2, or of length 3: every node "
        "has four neighbours, and for 1-WL that is all there is. Two hops are enough "
        "to count 4 nodes at distance two in one graph and 6 in the other.",
    ),
    Pair(
        "decalin_bicyclopentyl.html",
        ("decalin", "bicyclopentyl"),
        _molecules("C1CCC2CCCCC2C1", "C1CCC(C1)C1CCCC1"),
        "1wl",
        "Two rings of six atoms that share a bond, and two of five joined by one: "
        "1-WL gives every atom of one molecule the class of an atom of the other, in "
        "equal numbers. A message-passing network must predict the same for both, "
        "whereas distances, ego-nets or walks see the rings.",
    ),
    Pair(
        "vanillin_isovanillin.html",
        ("vanillin", "isovanillin"),
        _molecules("COc1cc(C=O)ccc1O", "COc1ccc(C=O)cc1O"),
        "1wl",
        "The same groups on the same ring, two of them exchanged: one smells of "
        "vanilla, the other hardly does. 1-WL needs three rounds to carry the "
        "difference from atom to atom, K-hop refinement one.",
    ),
    Pair(
        "hamming_doob.html",
        ("Hamming H(3, 4)", "Doob D(1, 1)"),
        lambda: (
            product(rook_graph(4), complete_graph(4)),
            product(shrikhande_graph(), complete_graph(4)),
        ),
        "sek",
        "Two distance-regular graphs of 64 nodes with the same intersection array: how "
        "many nodes lie where depends on distances alone, and is the same in both. "
        "2-FWL stops with one class of nodes, while walks inside ego-nets see that "
        "three triangles have become one triangle and a ring of six.",
    ),
    Pair(
        "cfi_k4.html",
        ("CFI of K4", "twisted CFI of K4"),
        lambda: cfi_pair(complete_graph(4)),
        "3fwl",
        "The construction of Cai, Fürer and Immerman: two copies of one graph, but for "
        "a single crossed pair of edges that can be pushed around and never removed. "
        "None of the tests up to 2-FWL sees it, whatever the walks; triples of nodes "
        "(3-FWL) do.",
    ),
)


def gallery_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the HTML of every page; the index comes last.

    Raises:
        MissingExtraError: If rdkit is not installed, before anything is yielded.
    """
    made = [(pair, pair.graphs()) for pair in PAIRS]
    cards = []
    for pair, graphs in made:
        content = page_content(compare(*graphs, pair.test, names=pair.names))
        cards.append(_card(pair, content))
        yield pair.file, page_of(content, pair.about, INDEX)
    title = "What can a graph neural network tell apart?"
    html = {"cards": "\n".join(cards), "version": escape(__version__)}
    yield INDEX, filled("gallery.html", title, **html)


def _card(pair: Pair, content: dict[str, Any]) -> str:
    """Return one entry of the index."""
    tests: dict[bool, list[str]] = {True: [], False: []}
    for test in content["tests"]:
        tests[bool(test.get("separated"))].append(test["label"])
    sentences = [
        f"{words} {'; '.join(labels)}."
        for words, labels in (("Told apart by", tests[True]), ("Not by", tests[False]))
        if labels
    ]
    pictures = "".join(_picture(graph) for graph in content["graphs"])
    return (
        f'<a class="card" href="{pair.file}"><h2>{escape(" and ".join(pair.names))}'
        f'</h2><div class="two">{pictures}</div><p>{escape(pair.about)}</p>'
        f'<p class="seen">{escape(" ".join(sentences))}</p></a>'
    )


def _picture(graph: dict[str, Any]) -> str:
    """Return a small drawing of a graph as SVG."""
    points = [[_SIZE * (0.5 + 0.45 * x) for x in point] for point in graph["places"]]
    lines = "".join(
        f'<line x1="{points[u][0]:.1f}" y1="{points[u][1]:.1f}" '
        f'x2="{points[v][0]:.1f}" y2="{points[v][1]:.1f}"/>'
        for u, v in graph["edges"]
    )
    size = max(2.0, min(5.5, 22 / graph["n"] ** 0.5))
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>' for x, y in points
    )
    return (
        f'<svg viewBox="0 0 {_SIZE} {_SIZE}" aria-hidden="true">'
        f'<g class="edges">{lines}</g><g class="dots">{dots}</g></svg>'
    )
