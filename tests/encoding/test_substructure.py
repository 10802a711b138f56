"""Anybody's own f: what it must say, what it may return, how it is found by name."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.encoding import (
    ENCODINGS,
    RaggedEncoding,
    SubstructureEncoding,
    WalkEncoding,
    encode,
    encode_exact,
    encode_many,
    encoding_from_dict,
    make_encoding,
    register_encoding,
)
from sekgnn.encoding.ragged import PARTS
from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, cycle_graph, pack, path_graph
from sekgnn.testing.strategies import graphs

STAR = Graph.from_edge_index([[0, 0, 0], [1, 2, 3]], 4, undirected="add")


@dataclass(frozen=True)
class Degrees(SubstructureEncoding):
    """Powers of the degree."""

    name = "test_degrees"
    channels = ("degree",)
    length: int = 3
    values: tuple[Any, ...] = ()

    def encode_graph(self, graph: Graph) -> Any:
        """Return ``[n, 1, L]``."""
        return graph.degrees[:, None, None] ** np.arange(1, self.length + 1)


@dataclass(frozen=True)
class NeighbourDegrees(SubstructureEncoding):
    """The multiset of the neighbours' degrees."""

    name = "test_neighbour_degrees"
    ragged = True
    channels = ("around",)
    length = 1

    def encode_graph(self, graph: Graph) -> RaggedEncoding:
        """Return one multiset per node."""
        lists = [
            [[[graph.degrees[u]] for u in graph.neighbors(v)]]
            for v in range(graph.num_nodes)
        ]
        return RaggedEncoding.of(lists, 1, 1)


@pytest.fixture
def registered() -> Iterator[None]:
    """Make the two known for a test."""
    register_encoding("test_degrees")(Degrees)
    register_encoding("test_neighbour_degrees")(NeighbourDegrees)
    yield
    for cls in (Degrees, NeighbourDegrees):
        ENCODINGS.forget(cls.name)


@given(st.lists(graphs(max_nodes=6), min_size=1, max_size=4))
def test_many_graphs_are_encoded_as_one_by_one(several: list[Graph]) -> None:
    together = encode_many(several, Degrees())
    for graph, part in zip(several, together, strict=True):
        np.testing.assert_array_equal(part, encode(graph, Degrees()))
        assert part.dtype == np.float64
        assert part.shape == (graph.num_nodes, 1, Degrees().num_features)


@given(st.lists(graphs(max_nodes=6), min_size=1, max_size=4))
def test_ragged_graphs_are_encoded_as_one_by_one(several: list[Graph]) -> None:
    """And hold the multiset that a Counter holds."""
    together = encode_many(several, NeighbourDegrees())
    for graph, part in zip(several, together, strict=True):
        alone = encode(graph, NeighbourDegrees(), dtype=np.float32)
        for name in PARTS:
            np.testing.assert_array_equal(getattr(part, name), getattr(alone, name))
        assert alone.vectors.dtype == np.float32
        for v in range(graph.num_nodes):
            counts = {float(x[0]): n for n, x in part.multisets(v)[0]}
            assert counts == Counter(graph.degrees[graph.neighbors(v)].tolist())


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=4)),
    st.randoms(),
)
def test_ragged_arrays_do_not_depend_on_the_order_of_lists(
    groups: list[list[tuple[int, int]]], rng: Any
) -> None:
    """Equal multisets and vectors are there once."""
    ragged = RaggedEncoding.of([[group] for group in groups], 1, 2)
    shuffled = [[rng.sample(group, len(group))] for group in groups]
    again = RaggedEncoding.of(shuffled, 1, 2)
    for name in PARTS:
        np.testing.assert_array_equal(getattr(again, name), getattr(ragged, name))
    assert len(ragged.sizes) == len({tuple(sorted(group)) for group in groups})
    assert len(ragged.vectors) == len({pair for group in groups for pair in group})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vectors": np.zeros((1, 2))}, r"vectors .* shape \[2, 2\], .* got \[1, 2\]"),
        ({"members": np.array([0, 2])}, r"members .* in \[0, 2\), got 0..2"),
        ({"counts": np.array([0, 1])}, r"counts .* got 0..1"),
        ({"rows": np.array([[-1], [0]])}, r"rows .* got -1..0"),
        ({"tables": np.ones((1, 1))}, r"shape \[G, 2, C\], got \[1, 1\]"),
    ],
)
def test_ragged_arrays_must_fit(change: dict[str, Any], message: str) -> None:
    good = RaggedEncoding.of([[[[1, 2], [3, 4]]], [[]]], 1, 2)
    with pytest.raises(ConfigError, match=message):
        replace(good, **change)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros((3, 2)), r"\[3, 1, 3\] \(nodes, channels, length\), got \[3, 2\]"),
        (np.zeros((3, 1, 4)), r"'wrong' must return the shape .* got \[3, 1, 4\]"),
        (np.full((3, 1, 3), np.nan), "finite numbers, got NaN"),
        (np.full((3, 1, 3), 1e300), "in float32; scale them"),
        (np.full((3, 1, 3), "a"), "must return numbers"),
        (np.zeros((3, 1, 3), dtype=complex), "must return numbers"),
        (None, "got \\[\\]"),
        (RaggedEncoding.of([[]] * 3, 0, 3), "must return an array, got Ragged"),
    ],
)
def test_a_wrong_result_is_explained(value: Any, message: str) -> None:
    class Wrong(Degrees):
        name = "wrong"

        def encode_graph(self, graph: Graph) -> Any:
            return value

    with pytest.raises(ConfigError, match=message):
        encode(path_graph(3), Wrong(), dtype=np.float32)


def test_integers_are_exact_and_floats_are_not() -> None:
    packed = pack([STAR, cycle_graph(4)])
    exact = Degrees().exact(packed)
    assert isinstance(exact, np.ndarray)
    assert exact[:, 0, 0].tolist() == [3, 1, 1, 1, 2, 2, 2, 2]
    ragged = NeighbourDegrees().exact(packed)
    assert isinstance(ragged, RaggedEncoding)
    assert ragged.counts.tolist() == [3, 1, 2]

    class Floats(Degrees):
        def encode_graph(self, graph: Graph) -> Any:
            return super().encode_graph(graph) / 3

    assert Floats().exact(packed) is None
    walks = WalkEncoding(walk_length=2)
    parts = [encode_exact(g, walks) for g in (STAR, cycle_graph(4))]
    np.testing.assert_array_equal(walks.exact(packed), np.concatenate(parts))


@pytest.mark.usefixtures("registered")
def test_files_name_what_is_registered() -> None:
    encoding = Degrees(length=2, values=(1, "a", (2.5, None)))
    stored = json.loads(json.dumps(encoding.to_dict()))
    assert stored == {
        "encoding": "test_degrees",
        "length": 2,
        "values": [1, "a", [2.5, None]],
    }
    assert encoding_from_dict(stored) == encoding
    assert hash(encoding_from_dict(stored)) == hash(encoding)
    assert make_encoding("test_degrees", length=2) == Degrees(2)
    assert str(Degrees(2)) == "test_degrees(length=2)"
    with pytest.raises(ConfigError, match="not both; got length"):
        make_encoding(Degrees(), length=3)
    with pytest.raises(ConfigError, match="must be numbers, strings"):
        Degrees(values=({1},)).to_dict()


def test_what_could_not_be_read_again_is_not_written() -> None:
    class OwnWalks(WalkEncoding):
        pass

    with pytest.raises(ConfigError, match="OwnWalks is not registered"):
        OwnWalks().to_dict()
    np.testing.assert_array_equal(
        encode(path_graph(3), OwnWalks()), encode(path_graph(3))
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("walk", "Did you mean 'walks'. Import the module"),
        ("", "encoding must be one of"),
        (3, "must be a name, a mapping or a SubstructureEncoding, got 3"),
        ({"length": 3}, 'needs its name under "encoding"'),
        ({"encoding": "walks", "length": 3}, "has no parameter 'length'; it takes"),
        ("no_such_package:F", "cannot import 'no_such_package'"),
        ("sekgnn.encoding:WalkEncodin", "Did you mean 'WalkEncoding'"),
        ("sekgnn.encoding:encode", "must extend .*SubstructureEncoding"),
    ],
)
def test_an_unknown_name_is_explained(name: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_encoding(name)


def test_only_the_user_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's path is imported, also from the working directory; a file's is not."""
    (tmp_path / "my_own_f.py").write_text(
        "from sekgnn.encoding import SubstructureEncoding\n"
        "class F(SubstructureEncoding):\n"
        "    channels, length = ('n',), 1\n"
        "    def encode_graph(self, graph):\n"
        "        return [[[graph.num_nodes]]] * graph.num_nodes\n"
    )
    monkeypatch.chdir(tmp_path)
    stored = {"encoding": "my_own_f:F"}
    for read in (encoding_from_dict, make_encoding):
        with pytest.raises(ConfigError, match=r"sekgnn --import my_own_f:F \.\.\."):
            read(stored)
    with pytest.raises(ConfigError, match="Import the module that registers"):
        encoding_from_dict({"encoding": "my_own_f"})
    assert "my_own_f" not in sys.modules
    made = make_encoding("my_own_f:F")
    assert encode(path_graph(2), made).tolist() == [[[2.0]], [[2.0]]]
    assert made.to_dict() == stored and encoding_from_dict(stored) == made
    ENCODINGS.forget("my_own_f:F")


def test_a_name_is_given_once() -> None:
    class Other(Degrees):
        pass

    with pytest.raises(ConfigError, match=r"'walks' of .*Other is taken by .*Walk"):
        register_encoding("walks")(Other)
    for name in ("", "a:b", Other):
        with pytest.raises(ConfigError, match=r'as in @register_encoding\("mine"\)'):
            register_encoding(name)  # type: ignore[arg-type]


def test_backends_belong_to_walks() -> None:
    with pytest.raises(ConfigError, match="'test_degrees' has no backends"):
        encode(path_graph(2), Degrees(), backend="dense")
