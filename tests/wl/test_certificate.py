"""Certificates, and the checker that knows nothing of this library."""

from __future__ import annotations

import ast
import copy
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.small_graphs import HEXAGON, TRIANGLES
from tests.wl.cases import KERNELS, SMALL, pairs, walks

from sekgnn import wl
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import (
    LabelledGraph,
    complete_graph,
    csl_graph,
    cycle_graph,
    labelled_from_smiles,
    path_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.wl import (
    SEK,
    InnerWL,
    Isomorphism,
    KHopWL,
    OneWL,
    SEKTwoFWL,
    SubgraphWL,
    ThreeFWL,
    TwoFWL,
    Walks,
    WLTest,
    compare,
)

CHECKER = Path(wl.__file__).with_name("check_certificate.py")
_spec = importlib.util.spec_from_file_location("check_certificate", CHECKER)
assert _spec is not None and _spec.loader is not None
checker = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(checker)

DECALIN, BICYCLOPENTYL = (
    labelled_from_smiles(s) for s in ("C1CCC2CCCCC2C1", "C1CCCC1C1CCCC1")
)
SHORT = SEK(2, (Walks("internal", radius=1, walk_length=4, pairs="all"),))
SUMS = SEK(1, (Walks("internal", radius=1, walk_length=3, multisets=False),))
KNOWN: list[tuple[Any, Any, WLTest, bool]] = [
    (HEXAGON, TRIANGLES, OneWL(), False),
    (HEXAGON, TRIANGLES, KHopWL(2), True),
    (HEXAGON, TRIANGLES, KHopWL(2, kernel="diffusion"), False),
    (HEXAGON, TRIANGLES, TwoFWL(), True),
    (DECALIN, BICYCLOPENTYL, OneWL(), False),
    (DECALIN, BICYCLOPENTYL, SubgraphWL(3), True),
    (DECALIN, BICYCLOPENTYL, KHopWL(3), True),
    (csl_graph(11, 2), csl_graph(11, 3), SubgraphWL(1, marked=True), True),
    (rook_graph(4), shrikhande_graph(), SubgraphWL(1), False),
    (rook_graph(4), shrikhande_graph(), TwoFWL(), False),
    (rook_graph(4), shrikhande_graph(), SHORT, True),
    (rook_graph(4), shrikhande_graph(), SUMS, True),
    (rook_graph(4), shrikhande_graph(), SEKTwoFWL(1, SHORT.encodings), True),
    (path_graph(5), path_graph(4).disjoint_union(path_graph(1)), OneWL(), True),
    (path_graph(0), path_graph(0), OneWL(), False),
    (path_graph(0), path_graph(1), TwoFWL(), True),
]


def sealed(first: Any, second: Any, test: WLTest) -> dict[str, Any]:
    """Return a certificate as it comes out of a file."""
    made = compare(first, second, test).certificate()
    again: dict[str, Any] = json.loads(json.dumps(made))
    return again


def refused(claim: dict[str, Any]) -> bool:
    try:
        checker.check(claim)
    except (LookupError, TypeError, ValueError, AttributeError):
        return True
    return False


@pytest.mark.parametrize("first, second, test, apart", KNOWN)
def test_certificates_of_known_pairs_check(
    first: Any, second: Any, test: WLTest, apart: bool
) -> None:
    claim = sealed(first, second, test)
    assert claim["separated"] is apart
    assert ("does not" in checker.check(claim)) is not apart


def sek_tests(cls: type[SEK] = SEK) -> st.SearchStrategy[SEK]:
    return st.builds(cls, SMALL, st.tuples(walks()), st.booleans(), KERNELS)


@given(
    pairs(6),
    st.one_of(
        st.just(OneWL()), st.builds(KHopWL, SMALL, KERNELS),
        st.builds(SubgraphWL, SMALL, st.booleans()), sek_tests(), st.just(TwoFWL()),
        sek_tests(SEKTwoFWL),
    ),
)  # fmt: skip
@settings(max_examples=120)
def test_every_certificate_checks(
    two: tuple[LabelledGraph, LabelledGraph], test: WLTest
) -> None:
    assert not refused(sealed(*two, test))


def mutations(claim: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the certificate with one thing changed, in many ways."""

    def changed(what: str) -> tuple[str, dict[str, Any]]:
        return what, copy.deepcopy(claim)

    what, other = changed("the opposite verdict")
    other["separated"] = not claim["separated"]
    yield what, other
    for g in (0, 1):
        edges = claim["graphs"][g]["edges"]
        n = claim["graphs"][g]["num_nodes"]
        for k in range(len(edges)):
            what, other = changed(f"edge {k} of graph {g} listed twice")
            other["graphs"][g]["edges"].append(edges[k])
            yield what, other
            what, other = changed(f"edge {k} of graph {g} removed")
            del other["graphs"][g]["edges"][k]
            yield what, other
        what, other = changed(f"a node more in graph {g}")
        other["graphs"][g]["num_nodes"] = n + 1
        yield what, other
    tables = claim["rounds"] if claim["separated"] else [claim["partition"]]
    for t, table in enumerate(tables):
        for g, classes in enumerate(table):
            for i in range(len(classes)):
                what, other = changed(f"class of object {i} of graph {g} in table {t}")
                place = other["rounds"][t] if claim["separated"] else other["partition"]
                place[g][i] = classes[i - 1] + (classes[i - 1] == classes[i])
                yield what, other
    if not claim["separated"]:
        what, other = changed("a pair of the bijection missing")
        other["bijection"].pop()
        yield what, other
        if len(claim["bijection"]) > 1:
            what, other = changed("two classes swapped")
            (_, a), (_, b) = other["bijection"][:2]
            other["bijection"][0][1], other["bijection"][1][1] = b, a
            yield what, other
        return
    for key in ("class", "counts", "nodes", "facts"):
        what, other = changed(f"another {key}")
        value = other["colour"][key]
        other["colour"][key] = value + 1 if key == "class" else [*value[:-1], -1]
        yield what, other
    for name in (claim["colour"]["facts"][0] + [{}])[1]:
        what, other = changed(f"another fraction in {name}")
        rows = other["colour"]["facts"][0][1][name]
        (rows[0] if isinstance(rows[0], list) else rows)[0] = "7/9"
        yield what, other
    for t in range(len(claim["colour"]["unfolding"])):
        what, other = changed(f"another unfolding of round {t}")
        other["colour"]["unfolding"][t]["sees"][0].append([0, 0, 1])
        yield what, other


@pytest.mark.parametrize("first, second, test, apart", KNOWN[:13])
def test_mutations_are_refused(
    first: Any, second: Any, test: WLTest, apart: bool
) -> None:
    claim = sealed(first, second, test)
    tried = list(mutations(claim))
    assert len(tried) > 20
    chosen = tried if len(tried) < 100 else tried[:: len(tried) // 25] + tried[-8:]
    for what, other in chosen:
        assert refused(other), what


def test_parameters_of_another_test_are_refused() -> None:
    """Nobody proves for 1-WL what needs hops or walks."""
    claim = sealed(HEXAGON, TRIANGLES, KHopWL(2))
    claim["test"]["test"] = "1wl"
    assert refused(claim)
    claim = sealed(rook_graph(4), shrikhande_graph(), SHORT)
    claim["test"]["encodings"][0]["radius"] = 2
    assert refused(claim)


def split_from_itself() -> dict[str, Any]:
    """Return a triangle that is told from itself, were ``true`` not 1."""
    claim = sealed(cycle_graph(3), cycle_graph(3), OneWL())
    del claim["partition"], claim["bijection"]
    sees = [[[0, 1, 2]]]
    colour = {
        "class": 0, "counts": [3, 0], "graph": 0, "nodes": [0], "facts": [[0]],
        "unfolding": [{"was": 1, "sees": sees}],
    }  # fmt: skip
    rounds = [[[1, 1, 1], [True, True, True]], [[0, 0, 0], [2, 2, 2]]]
    return claim | {"separated": True, "rounds": rounds, "colour": colour}


def hidden_difference() -> dict[str, Any]:
    """Return a square and all of its pairs that look alike, were 0.0 not 0."""
    claim = sealed(cycle_graph(4), complete_graph(4), OneWL())
    del claim["rounds"], claim["colour"]
    claim |= {"separated": False, "bijection": [[0, 0]]}
    return claim | {"partition": [[0.0] * 4, [0] * 4]}


def null_edge() -> dict[str, Any]:
    """Return an edge and no edge that look alike, were a label null no label."""
    claim = sealed(path_graph(2), path_graph(2), TwoFWL())
    claim["graphs"][0]["edge_labels"] = [None]
    claim["graphs"][1] |= {"edges": [], "edge_labels": []}
    return claim


@pytest.mark.parametrize("forge", [split_from_itself, hidden_difference, null_edge])
def test_other_types_prove_nothing(forge: Any) -> None:
    """Values that Python calls equal, in JSON and beyond, are four different ones."""
    assert refused(forge())


@pytest.mark.parametrize(
    "key, value",
    [
        ("kernel", "Diffusion"), ("num_hops", 2.0), ("num_hops", True), ("num_hops", 0),
        ("num_hops", 257), ("num_hops", 10**400), ("num_hops", "2"), ("radius", 1),
    ],
)  # fmt: skip
def test_parameters_are_those_that_the_library_knows(key: str, value: Any) -> None:
    claim = sealed(HEXAGON, HEXAGON, KHopWL(2))
    claim["test"][key] = value
    assert refused(claim)


@pytest.mark.parametrize(
    "key, value",
    [
        ("scope", "graph"), ("radius", None), ("parts", []), ("parts", "f1f2f3"),
        ("parts", ["f1", "f2"]), ("multisets", False), ("self_loops", 2),
        ("encoding", "inner_wl"), ("walk_length", -1), ("pairs", None),
    ],
)  # fmt: skip
def test_parameters_of_walks_are_those_that_the_library_knows(
    key: str, value: Any
) -> None:
    claim = sealed(HEXAGON, HEXAGON, SHORT)
    claim["test"]["encodings"][0][key] = value
    assert refused(claim)
    claim["test"]["encodings"] = []
    assert refused(claim)


@pytest.mark.parametrize("first", [None, [0, 0, 0], ["0", "0", "0"], [0, "0", 0], []])
@pytest.mark.parametrize("second", [None, [0, 0, 0], ["0", "0", "0"], [False] * 3])
def test_labels_are_of_one_kind_in_both_graphs(first: Any, second: Any) -> None:
    claim = sealed(cycle_graph(3), cycle_graph(3), OneWL())
    for key in ("node_labels", "edge_labels"):
        claim["graphs"][0][key], claim["graphs"][1][key] = first, second
        assert refused(claim) is not (json.dumps(first) == json.dumps(second))
        claim["graphs"][0][key] = claim["graphs"][1][key] = None


def checked(content: bytes, path: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker on a file, as people do."""
    path.write_bytes(content)
    command = [sys.executable, "-I", "-S", str(CHECKER), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_hostile_files_are_refused_in_one_line(tmp_path: Path) -> None:
    good = json.dumps(sealed(HEXAGON, TRIANGLES, OneWL()))
    twice = good.replace('"separated": ', '"separated": true, "separated": ')
    number = good.replace('"num_nodes": 6', '"num_nodes": %s', 1)
    texts = ["", "7", '"bijection"', "[" * 10**6, '{"a":' * 10**6, good[:-1], twice]
    texts += [number % value for value in ("NaN", "1e999", "9" * 10**5, "6.0", "-0")]
    texts += ['{"\\u001b[2J\\n": 1}', good.replace('"format"', '"\\u001b\\n"')]
    for content in [*(text.encode() for text in texts), b"\xff\xfe", b"\x1b[2J\n"]:
        process = checked(content, tmp_path / "c.json")
        assert process.returncode == 1 and not process.stdout, content[:80]
        assert process.stderr.startswith("this does not hold: "), process.stderr[:300]
        line = process.stderr.removesuffix("\n")
        assert line.isascii() and line.isprintable(), line[:300]


def test_the_answer_names_test_and_graphs_without_control_characters(
    tmp_path: Path,
) -> None:
    names = "a\x1b[2J\nOK: isomorphic", 'é"\u202e\x7f\ud800'
    made = compare(HEXAGON, TRIANGLES, KHopWL(2), names=names).certificate()
    process = checked(json.dumps(made).encode(), tmp_path / "c.json")
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("OK: khop separates ")
    assert all(json.dumps(name) in process.stdout for name in names)
    assert "'num_hops': 2" in process.stdout
    assert process.stdout.removesuffix("\n").isprintable() and process.stdout.isascii()


def test_the_checker_stands_alone(tmp_path: Path) -> None:
    text = CHECKER.read_text()
    lines, home = len(text.splitlines()), Path(__file__).parents[2]
    assert lines < 200
    for page in ("README.md", "docs/expressiveness.md"):
        assert f"{lines} lines" in (home / page).read_text()
    tree = ast.walk(ast.parse(text))
    names = {
        a.name for node in tree if isinstance(node, ast.Import) for a in node.names
    }
    tree = ast.walk(ast.parse(text))
    names |= {str(node.module) for node in tree if isinstance(node, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names
    claim = sealed(HEXAGON, TRIANGLES, OneWL())
    for change, code, start in ((False, 0, "OK: "), (True, 1, "this does not hold: ")):
        claim["separated"] = change
        process = checked(json.dumps(claim).encode(), tmp_path / "c.json")
        assert process.returncode == code
        assert (process.stdout + process.stderr).startswith(start)


def test_what_has_no_certificate() -> None:
    for test in (ThreeFWL(), Isomorphism()):
        with pytest.raises(ConfigError, match="no certificates of"):
            compare(HEXAGON, TRIANGLES, test).certificate()
    with pytest.raises(ConfigError, match="walks only"):
        compare(HEXAGON, TRIANGLES, SEK(2, (InnerWL(1),))).certificate()
    for many in (KHopWL(257), SEK(1, (Walks("ego", radius=300),))):
        with pytest.raises(ConfigError, match="at most 256"):
            compare(HEXAGON, TRIANGLES, many).certificate()
    with pytest.raises(GraphInputError, match="61 nodes is too large"):
        compare(cycle_graph(61), cycle_graph(61), TwoFWL()).certificate()
    with pytest.raises(GraphInputError, match="201 nodes is too large"):
        compare(complete_graph(201), cycle_graph(201), OneWL()).certificate()
