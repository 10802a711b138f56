"""``sekgnn theorem1`` counts, writes, continues, and refuses what cannot be."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sekgnn.studies import theorem1
from sekgnn.studies.theorem1_cell import run_cell
from sekgnn.studies.theorem1_record import Cell, Theorem1Record

from .conftest import Run

SMALL = (
    "theorem1", "--nodes", 10, "--nodes", 12, "--degree", 3, "--hops", 1, "--hops", 2,
    "--graphs", 2, "--seed", 4,
)  # fmt: skip
FILES = {"theorem1.json", "theorem1.md", "theorem1.png"}


def test_files_and_summary(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "results"
    result = run(*SMALL, "--output", folder)
    assert result.exit_code == 0, result.output
    assert {file.name for file in folder.iterdir()} == FILES
    assert "n = 12, r = 3" in result.stdout
    assert str(folder) in result.stdout
    record = Theorem1Record.from_json((folder / "theorem1.json").read_text("utf-8"))
    assert record.config.nodes == (10, 12)
    assert record.config.seed == 4
    assert "# Theorem 1, seen" in (folder / "theorem1.md").read_text("utf-8")


def test_json_and_quiet(run: Run, tmp_path: Path) -> None:
    printed = run(*SMALL, "--output", tmp_path, "--json")
    assert printed.exit_code == 0
    assert json.loads(printed.stdout)["config"]["degrees"] == [3]
    assert printed.stdout == (tmp_path / "theorem1.json").read_text("utf-8")
    quiet = run(*SMALL, "--output", tmp_path, "--quiet", "--no-self-loops")
    assert (quiet.exit_code, quiet.output) == (0, "")
    text = (tmp_path / "theorem1.json").read_text("utf-8")
    assert not Theorem1Record.from_json(text).config.self_loops


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--nodes", 9, "--degree", 3), "do not pair up"),
        (("--nodes", 4, "--degree", 5), "no graph with 4 nodes is 5-regular"),
        (("--degree", 2), "degrees must be at least 3"),
        (("--hops", 0), "hops must be at least 1"),
        (("--graphs", 1), "graphs must be at least 2"),
        (("--seed", -1), "seed must be at least 0"),
        (("--threads", 0), "--threads must be at least 1"),
    ],
)
def test_bad_parameters_write_nothing(
    run: Run, tmp_path: Path, args: tuple[object, ...], words: str
) -> None:
    folder = tmp_path / "results"
    result = run("theorem1", "--output", folder, *args)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not folder.exists()


def test_the_same_command_continues(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(*SMALL, "--output", tmp_path / "whole", "--quiet")
    assert whole.exit_code == 0
    ran: list[int] = []

    def fragile(config: object, n: int, r: int, **options: object) -> Cell:
        if n in ran or len(ran) == 1:
            raise KeyboardInterrupt
        ran.append(n)
        return run_cell(config, n, r)  # type: ignore[arg-type]

    monkeypatch.setattr(theorem1, "run_cell", fragile)
    folder = tmp_path / "part"
    cut = run(*SMALL, "--output", folder, "--quiet")
    assert cut.exit_code == 130
    assert [file.name for file in folder.iterdir()] == ["theorem1.partial.json"]
    ran[:] = []
    assert run(*SMALL, "--output", folder, "--quiet").exit_code == 0
    assert ran == [12]
    assert {file.name for file in folder.iterdir()} == FILES
    first, second = (
        Theorem1Record.from_json((tmp_path / name / "theorem1.json").read_text("utf-8"))
        for name in ("whole", "part")
    )
    assert first == second


def test_without_igraph(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    result = run(*SMALL, "--output", tmp_path / "results")
    assert result.exit_code == 2
    assert "pip install 'sekgnn[iso]'" in result.stderr
    assert not (tmp_path / "results").exists()
