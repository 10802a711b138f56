"""``sekgnn wl`` answers with words, JSON, a picture and the exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sekgnn.encoding import ENCODINGS
from sekgnn.graphs import named_graph
from sekgnn.wl import TESTS, Walks, compare, refinement

from .conftest import Run, RunMain, assert_refused

SEPARATED, NOT_SEPARATED, FAILED = 0, 1, 2
PAIRS = (("rook:4", "shrikhande"), ("cycle:6", "path:6"), ("csl:11:2", "csl:11:3"))


def timeless(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key != "seconds"}


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("rook:4", "shrikhande", "--test", "sek"), SEPARATED),
        (("rook:4", "shrikhande", "--test", "2fwl"), NOT_SEPARATED),
        (("rook:4", "shrikhand"), FAILED),
    ],
)
def test_exit_codes(run_main: RunMain, args: tuple[str, ...], code: int) -> None:
    done = run_main("wl", *args)
    assert done.code == code
    if code == FAILED:
        assert (done.out, done.err[:7]) == ("", "error: ")
    else:
        assert done.err == "" or done.err.startswith("compiling kernels")
        assert "rook:4 and shrikhande" in done.out


def test_a_defect_is_an_error_and_no_verdict(
    run_main: RunMain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's own exit code after an exception would say "not separated"."""

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("sekgnn.cli.wl.graph_argument", fail)
    done = run_main("wl", "path:3", "path:4")
    assert done.code == FAILED
    assert "Traceback" in done.err
    assert done.err.endswith("RuntimeError: a defect\n")


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_test_answers_as_the_library(
    run: Run, test: str, first: str, second: str
) -> None:
    expected = compare(
        named_graph(first), named_graph(second), test, names=(first, second)
    )
    code = SEPARATED if expected.separated else NOT_SEPARATED
    words = run("wl", first, second, "--test", test)
    assert (words.exit_code, words.stdout) == (code, expected.explain() + "\n")
    printed = run(
        "wl", first, second, "--test", test, "--json", "--threads", 1, code=code
    )
    assert printed.stdout.count("\n") == 1
    found = json.loads(printed.stdout)
    assert timeless(found) == timeless(json.loads(expected.to_json()))


def test_options_reach_the_test(run: Run) -> None:
    """Values may follow one flag, in any order with the graphs, or repeat it."""
    once = ("--scope", "graph", "internal", "--radius", 1, 2, "rook:4", "shrikhande")
    again = (
        "rook:4", "--scope", "graph", "--scope", "internal", "shrikhande",
        "--radius", 1, "--radius", 2,
    )  # fmt: skip
    dashes = ("--radius", 1, 2, "--scope", "graph", "internal", "--", *PAIRS[0])
    rest = ("wl", "--json", "--walk-length", 3)
    found = [json.loads(run(*rest, *args).stdout) for args in (once, again, dashes)]
    assert timeless(found[0]) == timeless(found[1]) == timeless(found[2])
    f = (
        Walks("graph", walk_length=3),
        Walks("internal", 1, walk_length=3, pairs="all"),
        Walks("internal", 2, walk_length=3, pairs="all"),
    )
    a, b = (named_graph(name) for name in PAIRS[0])
    expected = compare(a, b, "sek", encodings=f, names=PAIRS[0])
    assert timeless(found[0]) == timeless(json.loads(expected.to_json()))


def test_labels_count_unless_left_out(run: Run) -> None:
    pytest.importorskip("rdkit")
    graphs = ("smiles:CCO", "smiles:CCN", "--test", "1wl")
    assert run("wl", *graphs).exit_code == SEPARATED
    assert run("wl", *graphs, "--no-labels").exit_code == NOT_SEPARATED
    assert run("wl", "F/C=C/F", "F/C=C\\F", "--test", "3fwl").exit_code == NOT_SEPARATED
    for extra in ((), ("--all",)):
        mixed = run("wl", "path:3", "CCO", *extra)
        assert_refused(mixed, "label all graphs or none")
    assert run("wl", "path:3", "CCO", "--no-labels").exit_code == NOT_SEPARATED


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_all_prints_a_row_per_test(run: Run, first: str, second: str) -> None:
    result = run("wl", "--all", first, second, code=SEPARATED)
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["test", "verdict", "round", "rounds", "seconds"]
    assert [row.split()[0] for row in rows] == list(TESTS)
    for row, name in zip(rows, TESTS, strict=True):
        verdict = compare(named_graph(first), named_graph(second), name)
        words = row.split()[1:-1]  # without the seconds
        at = [] if verdict.round is None else [str(verdict.round)]
        answer = ["separated"] if verdict.separated else ["not", "separated"]
        assert words == [*answer, *at, str(verdict.rounds)]
        assert len(row) == len(head)


def test_all_as_json(run: Run) -> None:
    result = run("wl", "--all", "rook:4", "shrikhande", "--json")
    found = json.loads(result.stdout)["verdicts"]
    assert [entry["test"] for entry in found] == list(TESTS)
    assert any(entry["separated"] for entry in found)
    assert not all(entry["separated"] for entry in found)
    for entry in found:
        one = run("wl", "rook:4", "shrikhande", "--json", "--test", entry["test"])
        assert timeless(entry) == timeless(json.loads(one.stdout))


def test_all_is_not_separated_if_no_test_separates(run: Run) -> None:
    result = run("wl", "--all", "path:3", "rook:1:3", "--json", code=SEPARATED)
    result = run("wl", "--all", "cycle:3", "rook:1:3", code=NOT_SEPARATED)
    assert result.stdout.count("not separated") == len(TESTS)


def test_a_test_too_large_is_left_out(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [16, 16]
    limit = TESTS["3fwl"]().memory(sizes) - 1
    monkeypatch.setattr(refinement, "MEMORY_LIMIT", limit)
    fit = [name for name in TESTS if TESTS[name]().memory(sizes) <= limit]
    assert "3fwl" not in fit
    result = run("wl", "--all", "rook:4", "shrikhande", code=SEPARATED)
    assert [row.split()[0] for row in result.stdout.splitlines()[1:]] == fit
    notes = result.stderr.splitlines()
    assert len(notes) == len(TESTS) - len(fit)
    assert notes[-1].startswith("note: 3fwl is left out: 3fwl on graphs of 16 nodes")
    alone = run("wl", "rook:4", "shrikhande", "--test", "3fwl")
    assert (alone.exit_code, alone.stdout) == (FAILED, "")
    assert "GiB" in alone.stderr


def test_all_without_any_verdict_is_an_error(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refinement, "MEMORY_LIMIT", 0)
    for extra in ((), ("--json",)):
        result = run("wl", "--all", "rook:4", "shrikhande", *extra, code=FAILED)
        assert "error: no test could be run" in result.stderr
        assert "separated" not in result.stdout


def test_without_igraph(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    result = run("wl", "--all", "rook:4", "shrikhande", code=SEPARATED)
    assert "note: isomorphism is left out" in result.stderr
    alone = run("wl", "rook:4", "shrikhande", "--test", "isomorphism", code=FAILED)
    assert "pip install 'sekgnn[iso]'" in alone.stderr


def test_plot(run: Run, tmp_path: Path) -> None:
    """The picture is the library's."""
    file = tmp_path / "verdict.png"
    result = run("wl", "cycle:6", "path:6", "--test", "1wl", "--plot", file)
    assert result.exit_code == SEPARATED and "1wl separates" in result.stdout
    names = "cycle:6", "path:6"
    first, second = map(named_graph, names)
    verdict = compare(first, second, "1wl", names=names)
    verdict.plot(tmp_path / "same.png")
    assert file.read_bytes() == (tmp_path / "same.png").read_bytes()


OWN = """
from dataclasses import dataclass
from sekgnn.encoding import SubstructureEncoding, register_encoding
from sekgnn.wl import KHopWL

class Far(KHopWL):
    pass

@register_encoding("own-degree")
@dataclass(frozen=True)
class Degree(SubstructureEncoding):
    channels = ("degree",)
    length = 1
    walk_length: int = 1

    def encode_graph(self, graph):
        return self.walk_length * graph.degrees[:, None, None]

class Share(Degree):
    def encode_graph(self, graph):
        return super().encode_graph(graph) / max(1, graph.num_nodes)
"""


def test_own_encodings_and_tests_by_import_path(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_wl_pieces.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    for registry in (TESTS, ENCODINGS):
        monkeypatch.setattr(registry, "_classes", dict(registry))
    unknown = run("wl", "cycle:6", "path:6", "--encoding", "own-degree")
    assert unknown.exit_code == FAILED and "Import the module" in unknown.stderr
    path = "own_wl_pieces:Degree"
    args = ("cycle:6", "path:6", "--num-hops", 1, "--encoding")
    result = run("wl", *args, path, "--walk-length", 3, code=SEPARATED)
    assert "degree 6 against own-degree(walk_length=3): degree 3" in result.stdout
    assert run("wl", *args, "own-degree", "patterns").exit_code == SEPARATED
    floats = run("wl", *args, "own_wl_pieces:Share", code=FAILED)
    assert "'own_wl_pieces:Share' gives floats" in floats.stderr
    assert "integers" in floats.stderr
    far = run("wl", "cycle:6", "path:6", "--test", "own_wl_pieces:Far")
    assert far.exit_code == SEPARATED and "own_wl_pieces:Far(num_hops=4)" in far.stdout
    wrong = run("wl", "cycle:6", "path:6", "--test", path)
    assert wrong.exit_code == FAILED and "is not a test" in wrong.stderr
