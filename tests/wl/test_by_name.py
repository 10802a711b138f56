"""Tests and encodings by name, the user's own included; parameters are checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.wl.cases import any_tests, encodings

import sekgnn.wl
from sekgnn.digest import Colours
from sekgnn.encoding import ENCODINGS
from sekgnn.errors import ConfigError
from sekgnn.graphs import complete_graph, cycle_graph, path_graph
from sekgnn.hops import hop_pairs
from sekgnn.walks.modular import MAX_STEPS
from sekgnn.wl import (
    EXACT_ENCODINGS,
    SEK,
    TESTS,
    Batch,
    Colouring,
    DistanceProfile,
    ExactEncoding,
    HopColouring,
    InnerFWL,
    InnerWL,
    KHopWL,
    OneWL,
    PatternCounts,
    SubgraphWL,
    Walks,
    WLTest,
    colours_of,
    compare,
    make_exact_encoding,
    make_test,
    register_exact_encoding,
    register_test,
    wl_hash,
)


@pytest.fixture
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget afterwards what a test has registered."""
    for registry in (TESTS, EXACT_ENCODINGS, ENCODINGS):
        monkeypatch.setattr(registry, "_classes", dict(registry))


@dataclass(frozen=True)
class Sizes(WLTest):
    """K-hop 1-WL from the sizes of shells, a test nobody needs."""

    step: int = 2

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Start from the sizes."""
        hops = hop_pairs(batch.packed, self.step, threads=threads)
        first = colours_of(hops.counts(), "sizes")
        return HopColouring(batch, hops, first, threads=threads)


@dataclass(frozen=True)
class Degree(ExactEncoding):
    """The degree, or whether there are neighbours at all."""

    exact: bool = True

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Digest the degrees."""
        degrees = np.diff(batch.packed.indptr)
        return colours_of(degrees if self.exact else degrees > 0, "degree")

    def words(self, batch: Batch, node: int) -> str:
        """Say the degree."""
        return f"{np.diff(batch.packed.indptr)[node]} neighbours"


@pytest.mark.usefixtures("own_names")
def test_a_test_of_ones_own() -> None:
    assert register_test("sizes")(Sizes) is Sizes
    assert register_test("sizes")(Sizes) is Sizes  # twice is once
    verdict = compare(cycle_graph(4), complete_graph(4), "sizes")
    assert verdict.round == 0 and verdict.run.test == Sizes()
    assert str(Sizes(3)) == "sizes(step=3)"
    assert json.loads(verdict.to_json())["step"] == 2
    assert wl_hash(cycle_graph(4), "sizes") != wl_hash(cycle_graph(5), Sizes())

    class Other(Sizes):
        pass

    with pytest.raises(ConfigError, match="taken"):
        register_test("sizes")(Other)
    assert TESTS["sizes"] is Sizes


@pytest.mark.usefixtures("own_names")
def test_an_encoding_of_ones_own() -> None:
    assert register_exact_encoding("degree")(Degree) is Degree
    star, path = complete_graph(4), path_graph(4)
    verdict = compare(star, path, "sek", encodings="degree", num_hops=1)
    assert verdict.round == 0
    assert "3 neighbours against 1 neighbours" in verdict.explain() or (
        "3 neighbours against 2 neighbours" in verdict.explain()
    )
    same = compare(
        cycle_graph(4), complete_graph(4), "sek", num_hops=1, context=False,
        encodings=[{"encoding": "degree", "exact": False}],
    )  # fmt: skip
    assert same.round == 1
    assert str(Degree(exact=False)) == "degree(exact=False)"

    class Other(Degree):
        pass

    with pytest.raises(ConfigError, match="taken"):
        register_exact_encoding("degree")(Other)


def test_names_of_the_library() -> None:
    assert list(TESTS) == [
        "1wl", "khop", "subgraph", "sek", "2fwl", "sek2fwl", "3fwl", "isomorphism",
    ]  # fmt: skip
    assert all(cls.name == name for name, cls in TESTS.items())
    assert all(cls.name == name for name, cls in EXACT_ENCODINGS.items())
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sekgnn.wl.nothing
    assert all(hasattr(sekgnn.wl, name) for name in sekgnn.wl.__all__)


@given(any_tests())
@settings(max_examples=60)
def test_tests_survive_json(test: WLTest) -> None:
    fields = json.loads(json.dumps(test.to_dict()))
    assert make_test(fields.pop("test"), **fields) == test
    assert make_test(test) is test


@given(encodings())
def test_encodings_survive_json(f: ExactEncoding) -> None:
    assert make_exact_encoding(json.loads(json.dumps(f.to_dict()))) == f
    assert make_exact_encoding(f) is f


def test_encodings_in_any_form() -> None:
    walks = Walks(walk_length=3)
    form: Any
    for form in (walks, {"encoding": "walks", "walk_length": 3}, [walks], (walks,)):
        assert make_test("sek", encodings=form) == SEK(encodings=(walks,))
    assert SEK(encodings=[walks]) == SEK(encodings=(walks,))  # type: ignore[arg-type]
    assert make_test("sek", encodings=["walks", "patterns"]) == SEK(
        encodings=(Walks(), PatternCounts())
    )
    assert make_exact_encoding({"encoding": "walks"}, walk_length=3) == walks


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_test("2-fwl"), "Did you mean '2fwl'"),
        (lambda: make_test(OneWL), "test must be a name"),  # type: ignore
        (lambda: make_test("khop", hop=3), "it takes num_hops, kernel"),
        (lambda: make_test("1wl", num_hops=3), "takes no parameters"),
        (lambda: make_test(OneWL(), num_hops=3), "object or its parameters"),
        (lambda: make_exact_encoding("walk"), "'walks'"),
        (lambda: make_exact_encoding({"walk_length": 3}), "needs its name"),
        (lambda: make_exact_encoding(Walks(), walk_length=3), "object or"),
        (lambda: make_exact_encoding("walks", walk_lenght=3), "'walk_length'"),
        (lambda: make_test("sek", encodings=[]), "encodings"),
        (lambda: make_test("sek", encodings=["nothing at all"]), "'walks'"),
        (lambda: KHopWL(0), "num_hops"),
        (lambda: KHopWL(2, "shortest"), "'shortest_path'"),  # type: ignore
        (lambda: SubgraphWL(0), "radius"),
        (lambda: SEK(0), "num_hops"),
        (lambda: SEK(kernel="diffuse"), "'diffusion'"),  # type: ignore
        (lambda: Walks("grap"), "'graph'"),  # type: ignore
        (lambda: Walks(radius=2), "radius has no meaning"),
        (lambda: Walks("ego"), "radius must be"),
        (lambda: Walks(num_shells=0), "num_shells"),
        (lambda: Walks(walk_length=0), "walk_length"),
        (lambda: Walks(walk_length=MAX_STEPS + 1), "at most 256"),
        (lambda: Walks(parts=()), "empty"),
        (lambda: Walks(parts=("f4",)), "parts must be"),  # type: ignore
        (lambda: Walks("internal", radius=1, parts=("f1",)), "leaves nothing"),
        (lambda: Walks(pairs="some"), "pairs must be"),  # type: ignore
        (lambda: Walks(multisets=False, parts=("f1",)), "sums"),
        (lambda: Walks(multisets=False, pairs="all"), "sums"),
        (lambda: InnerWL(0), "radius"),
        (lambda: InnerFWL(0), "radius"),
        (lambda: DistanceProfile(0), "num_shells"),
        (lambda: PatternCounts(()), "empty"),
        (lambda: PatternCounts(("cycle9",)), "patterns must be"),
    ],
)
def test_bad_names_and_parameters(call: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        call()


def test_as_many_steps_as_there_are_keys() -> None:
    batch = Batch.of([])
    assert Walks(walk_length=MAX_STEPS).colours(batch).shape == (0, 2)


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (OneWL(), "1wl"),
        (KHopWL(), "khop(num_hops=4)"),
        (KHopWL(2, "diffusion"), "khop(num_hops=2, kernel=diffusion)"),
        (SubgraphWL(marked=True), "subgraph(radius=3, marked=True)"),
        (
            SEK(2, (Walks(walk_length=3), PatternCounts(("cycle3",))), context=False),
            "sek(num_hops=2, encodings=graph(l=3)+patterns(patterns=cycle3), "
            "context=False)",
        ),
    ],
)
def test_tests_name_their_parameters(test: WLTest, text: str) -> None:
    assert str(test) == text
