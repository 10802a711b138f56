"""Any substructure encoding that gives integers works inside a test."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.small_graphs import HEXAGON, TRIANGLES

from sekgnn.encoding import RaggedEncoding, SubstructureEncoding, WalkEncoding
from sekgnn.encoding.reference import reference_encoding
from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, LabelledGraph, cycle_graph, path_graph
from sekgnn.testing import graphs, walk_encodings
from sekgnn.wl import SEK, Batch, Walks, compare, partition
from sekgnn.wl.encodings.base import ExactValues, as_exact

from .cases import batches


@dataclass(frozen=True)
class Degrees(SubstructureEncoding):
    """Powers of the degree."""

    name = "own_degrees"
    channels = ("degree", "square")

    length: int = 2
    floats: bool = False

    def encode_graph(self, graph: Graph) -> Any:
        """Return ``[n, 2, L]``."""
        powers = graph.degrees[:, None, None] ** np.array([[1], [2]])
        values = np.repeat(powers, self.length, axis=2)
        return values / 3 if self.floats else values


@dataclass(frozen=True)
class Around(SubstructureEncoding):
    """The multiset of the neighbours' degrees."""

    name = "own_around"
    channels = ("degrees",)
    ragged = True
    length = 1

    def encode_graph(self, graph: Graph) -> RaggedEncoding:
        """Return one vector per neighbour."""
        near = [
            [[[graph.degrees[u]] for u in graph.neighbors(v)]]
            for v in range(graph.num_nodes)
        ]
        return RaggedEncoding.of(near, 1, 1)


def classes(values: list[Any]) -> list[int]:
    seen: dict[Any, int] = {}
    return [seen.setdefault(value, len(seen)) for value in values]


@given(batches(6))
@settings(max_examples=60)
def test_colours_are_equal_exactly_for_equal_values(items: list[LabelledGraph]) -> None:
    batch = Batch.of(items)
    plain = [int(d) for item in items for d in item.graph.degrees]
    around = [
        tuple(sorted(item.graph.degrees[item.graph.neighbors(v)].tolist()))
        for item in items
        for v in range(item.num_nodes)
    ]
    for f, values in ((Degrees(), plain), (Around(), around)):
        colours = ExactValues(f).colours(batch)
        assert classes([row.tobytes() for row in colours]) == classes(values)
    assert ExactValues(Around()).colours(Batch.of([])).shape == (0, 2)


@given(walk_encodings(), st.lists(graphs(1, 5), min_size=1, max_size=2))
@settings(max_examples=40)
def test_walk_encodings_are_equal_where_their_fractions_are(
    encoding: WalkEncoding, some: list[Graph]
) -> None:
    colours = ExactValues(encoding).colours(Batch.of(map(LabelledGraph, some)))
    rows = [
        tuple(row.ravel())
        for g in some
        for row in reference_encoding(g, encoding, Fraction(1))
    ]
    assert classes([row.tobytes() for row in colours]) == classes(rows)


def test_sums_of_walks_and_the_encoding_of_networks_agree() -> None:
    some = [HEXAGON, path_graph(6), TRIANGLES]
    walks = Walks("internal", radius=2, walk_length=4, multisets=False)
    encoding = WalkEncoding(num_shells=2, walk_length=4, scope="internal", radius=2)
    for context in (True, False):
        a, b = (SEK(2, (f,), context) for f in (walks, encoding))
        assert partition(some, a).tolist() == partition(some, b).tolist()


def test_words() -> None:
    text = compare(cycle_graph(6), path_graph(6), SEK(1, (Degrees(),))).explain()
    name = "own_degrees"
    assert f"{name}: degree [2, 2], square [4, 4]" in text
    said = "degree {0}, square {1} against {2}: degree {3}, square {4}"
    assert said.format([2, 2], [4, 4], name, [1, 1], [1, 1]) in text
    long = compare(cycle_graph(6), path_graph(6), SEK(1, (Degrees(99),))).explain()
    assert "degree [2, 2, 2," in long and " ... against own_degrees(" in long
    ragged = compare(cycle_graph(4), path_graph(4), SEK(1, (Around(),))).explain()
    assert (
        "own_around: degrees {2 × [2]} against own_around: degrees {1 × [2]}" in ragged
    )
    encoding = WalkEncoding(num_shells=1, walk_length=2)
    walks = compare(cycle_graph(6), path_graph(6), SEK(1, (encoding,))).explain()
    assert f"a value of {encoding} in both, but not the same value" in walks


def test_floats_and_other_things_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"floats.* Return integers from"):
        compare(cycle_graph(4), path_graph(4), SEK(1, (Degrees(floats=True),)))
    with pytest.raises(ConfigError, match="ExactEncoding"):
        SEK(1, ("walks",))  # type: ignore[arg-type]
    assert as_exact(Walks()) == Walks()
