"""``sekgnn brec`` prints the score of a test, and writes the whole scoreboard."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.brec.cases import UNSORTED as PAIRS

from sekgnn.brec import BRECScore, ExactPair, TrainedPair, exact, networks
from sekgnn.brec.exact import score_exact
from sekgnn.brec.record import from_json
from sekgnn.reports.brec_page import brec_page, brec_png, trained_page
from sekgnn.wl import WLTest

from .conftest import RUNGS, Run, assert_refused

FILES = {"exact.json", "exact.md", "exact.png"}


def printed_table(text: str) -> dict[str, tuple[int, int]]:
    """Read the table back: category to separated and all pairs."""
    rows = [line.rsplit(maxsplit=2) for line in text.split("\n\n")[0].splitlines()[1:]]
    return {name.strip(): (int(count), int(total)) for name, count, total in rows}


@pytest.mark.dataset
def test_the_variable_or_an_option_names_the_data(
    run: Run, data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEKGNN_DATA", str(data_root))
    args = ("brec", "--test", "1wl", "--copies", 0, "--category", "cfi")
    result = run(*args)
    assert printed_table(result.stdout) == {"CFI": (0, 100), "total": (0, 100)}
    assert "among 0 relabelled copies" in result.stdout
    monkeypatch.delenv("SEKGNN_DATA")  # the option alone must do
    found = run(*args, "--data", data_root / "brec").stdout
    assert printed_table(found) == printed_table(result.stdout)


def test_the_score_is_the_library_s(run: Run, small_brec: None) -> None:
    args = ("brec", "--test", "khop", "--num-hops", 2, "--copies", 3, "--seed", 5)
    expected = score_exact("khop", num_hops=2, pairs=PAIRS, copies=3, seed=5)
    found = run(*args, "--json", "--threads", 1)
    assert (found.exit_code, found.stdout.count("\n")) == (0, 1)
    score = BRECScore.from_dict(json.loads(found.stdout))
    assert score == expected
    words = run(*args)
    assert printed_table(words.stdout)["total"] == (expected.separated, 4)
    assert words.stdout.split("\n\n")[0] == expected.table().split("\n\n")[0]
    assert words.stderr == ""  # no terminal, no bar


def test_categories(run: Run, small_brec: None) -> None:
    """Several behind one flag, or the flag repeated: the same."""
    many = ("--category", "basic", "strongly_regular")
    again = ("--category", "strongly_regular", "--category", "basic")
    found = [printed_table(run("brec", *args).stdout) for args in (many, again)]
    assert found[0] == found[1]
    assert list(found[0]) == ["basic", "strongly regular", "total"]
    assert found[0]["total"] == (3, 3)


def test_missing_data(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEKGNN_DATA", raising=False)
    folder = tmp_path / "results"
    for args in ((), ("--data", tmp_path), ("--all", "-o", folder)):
        assert_refused(run("brec", *args), "github.com/GraphPKU/BREC")
    assert list(tmp_path.iterdir()) == []


def test_all_writes_record_page_and_figure(
    run: Run, small_brec: None, tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "results"
    result = run(
        "brec", "--all", "--output", folder, "--copies", 2, "--seed", 4, code=0
    )
    assert {file.name for file in folder.iterdir()} == FILES
    record = from_json((folder / "exact.json").read_text("utf-8"))
    for score, rung in zip(record, RUNGS, strict=True):
        expected = score_exact(rung.test, pairs=PAIRS, copies=2, seed=4)
        assert score == replace(
            expected, name=rung.key, label=rung.label, memory=rung.memory
        )
    assert (folder / "exact.md").read_text("utf-8") == brec_page(record)
    assert (folder / "exact.png").read_bytes() == brec_png(record)
    *lines, last = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "3", "3"]
    assert [line.split(" s  ")[1] for line in lines] == [e.label for e in RUNGS]
    assert last.startswith("0 false separations; wrote exact.json, exact.md and")
    assert str(folder) in last
    # page and figure again, without a test: the record stays as it is
    before = {file: (folder / file).read_bytes() for file in FILES}
    (folder / "exact.md").unlink()
    again = run("brec", "--all", "--no-run", "--output", folder)
    assert (again.exit_code, again.stdout) == (0, result.stdout)
    assert {file: (folder / file).read_bytes() for file in FILES} == before


def test_all_as_json(run: Run, small_brec: None, tmp_path: Path) -> None:
    result = run(
        "brec", "--all", "-o", tmp_path, "--json", "--category", "basic", code=0
    )
    assert result.stdout == (tmp_path / "exact.json").read_text("utf-8")
    record = from_json(result.stdout)
    assert [p.index for p in record[0].pairs] == [3, 5]


def test_the_same_command_continues(
    run: Run, small_brec: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def fragile(test: WLTest, **options: object) -> BRECScore[ExactPair]:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(test.name)
        return score_exact(test, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(exact, "score_exact", fragile)
    older = tmp_path / "exact.md"
    older.write_text("older")
    cut = run("brec", "--all", "-o", tmp_path)
    assert (cut.exit_code, cut.stdout) == (130, "")
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"exact.partial.json", "exact.md"}
    assert older.read_text() == "older"
    ran.clear()
    assert run("brec", "--all", "-o", tmp_path).exit_code == 0
    assert ran == ["2fwl"]
    assert {file.name for file in tmp_path.iterdir()} == FILES
    assert older.read_text("utf-8").startswith("# What exact tests separate")


def test_all_needs_igraph(
    run: Run, small_brec: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    result = run("brec", "--all", "-o", tmp_path / "results")
    assert_refused(result, "pip install 'sekgnn[iso]'")
    assert not (tmp_path / "results").exists()


NETWORK = (
    *("--norm", "none", "--hidden-channels", 8, "--num-layers", 2),
    *("--epochs", 2, "--lr", 0.01),
)
SEK = (
    *("brec", "--model", "sek-gin", *NETWORK, "--scope", "graph", "internal"),
    *("--radius", 1, 2, "--num-shells", 1, "--walk-length", 4),
    *("--self-loops", "--no-self-loops"),
)


def test_a_network_adds_a_row(run: Run, small_brec: None, tmp_path: Path) -> None:
    output = tmp_path / "new" / "networks.json"
    run("brec", "--model", "gin", *NETWORK, "-o", output, code=0)
    chosen = tmp_path / "chosen.txt"
    chosen.write_text("3 7-9")
    more = ("--dtype", "float64", "--subset", chosen, "--name", "SEK", "--seed", 5)
    sek = run(*SEK, *more, "-o", output, code=0)
    assert {path.name for path in output.parent.iterdir()} == {
        "networks.json",
        "networks.md",
    }
    record = from_json(output.read_text("utf-8"))
    first, second = record
    assert (first.name, first.subset, second.name) == ("gin", None, "SEK")
    assert (first.separated, second.separated) == (1, 4)
    assert second.subset == (3, 7, 8, 9)
    protocol, config = (second.settings[key] for key in ("protocol", "config"))
    assert protocol["seed"] == 5 and protocol["lr"] == 0.01
    assert config["encoding"]["radius"] == [1, 2]
    assert config["encoding"]["self_loops"] == [True, False]
    assert second.settings["dtype"] == "float64"
    assert output.with_suffix(".md").read_text("utf-8") == trained_page(record)
    assert sek.stdout.startswith(second.table())
    assert "Outside the 4 pairs that it was chosen on: 1 of 1" in sek.stdout
    again = run(*SEK, *more, "-o", output, "--json")
    assert BRECScore.from_dict(json.loads(again.stdout)) == second
    assert run(*SEK, *more, "-o", output, "--quiet").output == ""


def test_pairs_and_categories_of_a_network(
    run: Run, small_brec: None, tmp_path: Path
) -> None:
    gin = ("brec", "--model", "gin", *NETWORK, "-o", tmp_path / "t.json", "--json")
    assert run("brec", "--no-self-loops", "--self-loops").exit_code == 0  # of a test
    found = []
    for args in (("--numbers", "5,9"), ("--category", "basic"), ("--numbers", "0-99")):
        score = BRECScore.from_dict(json.loads(run(*gin, *args).stdout))
        found.append([pair.index for pair in score.pairs])
    assert found == [[5, 9], [3, 5, 9], [3, 5, 7, 9]]


def test_the_same_command_continues_a_network(
    run: Run, small_brec: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, cut = tmp_path / "whole.json", tmp_path / "cut.json"
    assert run(*SEK, "-o", whole).exit_code == 0
    ran: list[int] = []
    usual = networks.compare

    def fragile(make: Any, pair: Any, *args: Any, **more: Any) -> TrainedPair:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(pair.index)
        return usual(make, pair, *args, **more)

    monkeypatch.setattr(networks, "compare", fragile)
    first = run(*SEK, "-o", cut)
    assert (first.exit_code, first.stdout) == (130, "")
    assert "the same command continues" in first.stderr
    assert not cut.exists() and len(list(tmp_path.glob("cut.*.partial"))) == 1
    done, ran[:] = ran[:], []
    assert run(*SEK, "-o", cut, "--jobs", 1).exit_code == 0
    assert sorted(done + ran) == [3, 5, 7, 9]
    records = [from_json(path.read_text("utf-8")) for path in (whole, cut)]
    assert records[0] == records[1]
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".md"}
