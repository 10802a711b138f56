"""Options make the test they describe, and refuse what would do nothing."""

from __future__ import annotations

from typing import Any

import pytest

from sekgnn.cli.wl_options import build_test, flags_of_tests
from sekgnn.errors import ConfigError
from sekgnn.wl import (
    SEK,
    TESTS,
    DistanceProfile,
    InnerFWL,
    InnerWL,
    KHopWL,
    PatternCounts,
    SEKTwoFWL,
    SubgraphWL,
    Walks,
    WLTest,
    make_test,
)

SET: dict[str, Any] = {
    "num_hops": 2,
    "kernel": "diffusion",
    "context": False,
    "radius": (4,),
    "marked": True,
    "encodings": ("walks",),
    "scope": ("internal",),
    "num_shells": 2,
    "walk_length": 5,
    "parts": ("f3",),
    "pairs": "same",
    "multisets": False,
    "self_loops": False,
    "neighbours": True,
    "patterns": ("cycle3",),
}
WALKS = {"scope", "walk_length", "parts", "pairs", "multisets", "self_loops"}
SEK_TAKES = {"num_hops", "kernel", "encodings", "context", "num_shells", "radius"}
MEANT = {
    "khop": {"num_hops", "kernel"},
    "subgraph": {"radius", "marked"},
    "sek": SEK_TAKES | WALKS,
    "sek2fwl": SEK_TAKES | WALKS,
}


def build(test: str, **options: Any) -> WLTest:
    return build_test(test, options)


def test_every_parameter_is_a_flag() -> None:
    assert {flag.name for flag in flags_of_tests()} >= {"test", *SET}


@pytest.mark.parametrize("test", TESTS)
def test_without_options_every_test_is_the_library_s(test: str) -> None:
    assert build(test) == make_test(test)


@pytest.mark.parametrize(
    ("test", "options", "expected"),
    [
        ("khop", {"num_hops": 2}, KHopWL(2)),
        ("khop", {"kernel": "diffusion"}, KHopWL(4, "diffusion")),
        ("subgraph", {"radius": [2]}, SubgraphWL(2)),
        ("subgraph", {"marked": True}, SubgraphWL(3, True)),
        ("sek", {"scope": ["graph"]}, SEK(4, (Walks("graph"),))),
        (
            "sek",
            {"scope": ["internal"], "radius": [2, 1, 2], "walk_length": 5,
             "num_hops": 3},
            SEK(3, tuple(Walks("internal", h, 3, 5, pairs="all") for h in (2, 1))),
        ),
        (
            "sek",
            {"scope": ["ego", "graph"], "radius": [1], "parts": ["f1", "f3", "f1"]},
            SEK(4, (Walks("ego", 1, parts=("f1", "f3"), pairs="all"),
                    Walks("graph", parts=("f1", "f3")))),
        ),
        (
            "sek",
            {"multisets": False, "radius": [2]},
            SEK(4, (Walks("graph", multisets=False),
                    Walks("internal", 2, multisets=False))),
        ),
        (
            "sek2fwl",
            {"scope": ["graph"], "context": False, "kernel": "diffusion"},
            SEKTwoFWL(4, (Walks("graph"),), False, "diffusion"),
        ),
        (
            "sek",
            {"encodings": ["patterns", "distances", "patterns"], "num_hops": 6},
            SEK(6, (PatternCounts(), DistanceProfile(6))),
        ),
        ("sek", {"encodings": ["inner_wl"]}, SEK(4, (InnerWL(3),))),
        (
            "sek",
            {"encodings": ["inner_wl", "inner_fwl"], "radius": [1, 2]},
            SEK(4, (InnerWL(1), InnerWL(2), InnerFWL(1), InnerFWL(2))),
        ),
        (
            "sek",
            {"encodings": ["distances", "walks"], "scope": ["graph"], "walk_length": 2},
            SEK(4, (DistanceProfile(4), Walks("graph", walk_length=2))),
        ),
    ],
)  # fmt: skip
def test_options(test: str, options: dict[str, Any], expected: WLTest) -> None:
    assert build(test, **options) == expected


@pytest.mark.parametrize("test", TESTS)
def test_each_option_counts_or_is_refused(test: str) -> None:
    for name, value in SET.items():
        if name in MEANT.get(test, ()):
            same = name == "encodings"  # walks are the default
            assert (build(test, **{name: value}) == make_test(test)) == same, name
        else:
            flag = "--" + name.replace("_", "-").replace("encodings", "encoding")
            with pytest.raises(ConfigError, match=f"{flag} means nothing"):
                build(test, **{name: value})


@pytest.mark.parametrize("test", ["sek", "sek2fwl"])
@pytest.mark.parametrize(
    ("encoding", "scope", "meant"),
    [
        (["walks"], None, {*WALKS, "radius", "num_shells"}),
        (["walks"], ["graph"], {*WALKS, "num_shells"}),
        (["walks"], ["internal"], {*WALKS, "radius"}),
        (["walks"], ["graph", "ego"], {*WALKS, "radius", "num_shells"}),
        (["inner_wl"], None, {"radius", "marked"}),
        (["inner_fwl"], None, {"radius", "neighbours"}),
        (["distances"], None, {"num_shells"}),
        (["patterns", "distances"], None, {"patterns", "num_shells"}),
        (["inner_fwl", "walks"], ["graph"], {*MEANT["sek"], "neighbours"}),
    ],
)
def test_options_that_mean_nothing_to_an_encoding_are_refused(
    test: str, encoding: list[str], scope: list[str] | None, meant: set[str]
) -> None:
    chosen = {"encodings": encoding} | ({} if scope is None else {"scope": scope})
    plain = build(test, **chosen)
    for name in SET.keys() - {"num_hops", "kernel", "context", *chosen}:
        if name in meant:
            same = name == "marked" or (name == "pairs" and scope == ["graph"])
            found = build(test, **chosen | {name: SET[name]})
            assert (found == plain) == same, name  # some are the default
        else:
            flag = name.replace("_", "-")
            words = f"--{flag} means nothing to --test {test} --encoding {encoding[0]}"
            with pytest.raises(ConfigError, match=words):
                build(test, **chosen | {name: SET[name]})


@pytest.mark.parametrize(
    ("test", "options", "words"),
    [
        ("secks", {}, "'sek'"),
        ("1wl", {"walk_length": 0}, "--walk-length means nothing"),
        ("1wl", {"num_hops": 0}, "--num-hops means nothing"),
        ("khop", {"kernel": "diffuse"}, "Did you mean 'diffusion'"),
        ("subgraph", {"radius": [1, 2]}, "takes one --radius"),
        ("sek", {"radius": [0]}, "radius must be"),
        ("sek", {"scope": ["grap"]}, "Did you mean 'graph'"),
        ("sek", {"encodings": ["walk"], "walk_length": 3}, "Did you mean 'walks'"),
        ("sek", {"multisets": False, "parts": ["f3"]}, "sums keep every part"),
        ("sek", {"scope": ["internal"], "parts": ["f1"]}, "only f3"),
        ("sek", {"scope": ["graph"], "radius": [1]}, "nothing to --test sek --scope"),
    ],
)
def test_wrong_options(test: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build(test, **options)
