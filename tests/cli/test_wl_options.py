"""Options make the test they describe, and refuse what would do nothing."""

from __future__ import annotations

from typing import Any

import pytest

from sekgnn.cli.wl_options import build_test
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

UNSET: dict[str, Any] = {
    "num_hops": None,
    "kernel": None,
    "scope": None,
    "radius": None,
    "walk_length": None,
    "part": None,
    "encoding": None,
    "sums": False,
    "no_context": False,
    "marked": False,
}
SET: dict[str, Any] = {
    "num_hops": 2,
    "kernel": "diffusion",
    "scope": ["internal"],
    "radius": [2],
    "walk_length": 5,
    "part": ["f3"],
    "encoding": ["walks"],
    "sums": True,
    "no_context": True,
    "marked": True,
}
ALWAYS = {"num_hops", "kernel", "encoding", "no_context"}
WALKS = {"scope", "walk_length", "part", "sums"}
MEANT = {
    "khop": {"num_hops", "kernel"},
    "subgraph": {"radius", "marked"},
    "sek": {*ALWAYS, *WALKS, "radius"},
    "sek2fwl": {*ALWAYS, *WALKS, "radius"},
}


def build(test: str, **options: Any) -> WLTest:
    return build_test(test, **(UNSET | options))


@pytest.mark.parametrize("test", TESTS)
def test_without_options_every_test_is_the_library_s(test: str) -> None:
    assert build(test) == make_test(test)
    unset: dict[str, Any] = {
        name: [] for name in ("scope", "radius", "part", "encoding")
    }
    assert build(test, **unset) == make_test(test)


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
            {
                "scope": ["internal"],
                "radius": [2, 1, 2],
                "walk_length": 5,
                "num_hops": 3,
            },
            SEK(
                3,
                tuple(
                    Walks("internal", h, num_shells=3, walk_length=5, pairs="all")
                    for h in (2, 1)
                ),
            ),
        ),
        (
            "sek",
            {"scope": ["ego", "graph"], "radius": [1], "part": ["f1", "f3", "f1"]},
            SEK(
                4,
                (
                    Walks("ego", 1, parts=("f1", "f3"), pairs="all"),
                    Walks("graph", parts=("f1", "f3")),
                ),
            ),
        ),
        (
            "sek",
            {"sums": True, "radius": [2]},
            SEK(
                4,
                (
                    Walks("graph", multisets=False),
                    Walks("internal", 2, multisets=False),
                ),
            ),
        ),
        (
            "sek2fwl",
            {"scope": ["graph"], "no_context": True, "kernel": "diffusion"},
            SEKTwoFWL(4, (Walks("graph"),), False, "diffusion"),
        ),
        (
            "sek",
            {"encoding": ["patterns", "distances", "patterns"], "num_hops": 6},
            SEK(6, (PatternCounts(), DistanceProfile(6))),
        ),
        ("sek", {"encoding": ["inner_wl"]}, SEK(4, (InnerWL(3),))),
        (
            "sek",
            {"encoding": ["inner_wl", "inner_fwl"], "radius": [1, 2]},
            SEK(4, (InnerWL(1), InnerWL(2), InnerFWL(1), InnerFWL(2))),
        ),
        (
            "sek",
            {"encoding": ["distances", "walks"], "scope": ["graph"], "walk_length": 2},
            SEK(4, (DistanceProfile(4), Walks("graph", walk_length=2))),
        ),
    ],
)
def test_options(test: str, options: dict[str, Any], expected: WLTest) -> None:
    assert build(test, **options) == expected


@pytest.mark.parametrize("test", TESTS)
def test_each_option_counts_or_is_refused(test: str) -> None:
    for name, value in SET.items():
        if name in MEANT.get(test, ()):
            same = name == "encoding"  # walks are the default
            assert (build(test, **{name: value}) == make_test(test)) == same, name
        else:
            flag = "--" + name.replace("_", "-")
            with pytest.raises(ConfigError, match=f"{flag} means nothing to --test"):
                build(test, **{name: value})


@pytest.mark.parametrize("test", ["sek", "sek2fwl"])
@pytest.mark.parametrize(
    ("encoding", "scope", "meant"),
    [
        (["walks"], None, {*WALKS, "radius"}),
        (["walks"], ["graph"], WALKS),
        (["walks"], ["graph", "ego"], {*WALKS, "radius"}),
        (["inner_wl"], None, {"radius"}),
        (["inner_fwl"], None, {"radius"}),
        (["distances"], None, set()),
        (["patterns", "distances"], None, set()),
        (["patterns", "inner_wl", "walks"], ["graph"], {*WALKS, "radius"}),
    ],
)
def test_options_that_mean_nothing_to_an_encoding_are_refused(
    test: str, encoding: list[str], scope: list[str] | None, meant: set[str]
) -> None:
    chosen = {"encoding": encoding, "scope": scope}
    plain = build(test, **chosen)
    for name in ("scope", "radius", "walk_length", "part", "sums", "marked"):
        if scope is not None and name == "scope":
            continue
        if name in meant:
            assert build(test, **chosen | {name: SET[name]}) != plain, name
        else:
            flag = name.replace("_", "-")
            words = f"--{flag} means nothing to --test {test} --encoding {encoding[0]}"
            with pytest.raises(ConfigError, match=words):
                build(test, **chosen | {name: SET[name]})


@pytest.mark.parametrize(
    ("test", "options", "words"),
    [
        ("secks", {}, "--test must be one of .* Did you mean 'sek'"),
        ("1wl", {"walk_length": 0}, "--walk-length means nothing to --test 1wl;"),
        ("1wl", {"num_hops": 0}, "--num-hops means nothing to --test 1wl;"),
        ("khop", {"num_hops": 0}, "num_hops must be at least 1"),
        ("khop", {"kernel": "diffuse"}, "Did you mean 'diffusion'"),
        ("subgraph", {"radius": [1, 2]}, "takes one --radius"),
        ("subgraph", {"radius": [0]}, "radius must be at least 1"),
        ("sek", {"radius": [0]}, "radius must be at least 1"),
        ("sek", {"walk_length": 0}, "walk_length must be at least 1"),
        ("sek", {"num_hops": 0}, "num_shells must be at least 1"),
        ("sek", {"scope": ["grap"]}, "Did you mean 'graph'"),
        ("sek", {"encoding": ["walk"], "walk_length": 3}, "Did you mean 'walks'"),
        ("sek", {"part": ["f4"]}, "parts must be one of"),
        ("sek", {"sums": True, "part": ["f3"]}, "sums keep every part"),
        ("sek", {"scope": ["internal"], "part": ["f1"]}, "only f3"),
        ("sek", {"scope": ["graph"], "radius": [1]}, "nothing to --test sek --scope"),
    ],
)
def test_wrong_options(test: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build(test, **options)
