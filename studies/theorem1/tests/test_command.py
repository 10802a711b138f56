"""``python -m studies.theorem1`` counts, writes, continues, and refuses bad input."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from studies.theorem1 import simulation
from studies.theorem1.__main__ import main
from studies.theorem1.counts import Cell, Theorem1Record
from studies.theorem1.simulation import run_cell

SMALL = "--nodes 10 12 --degrees 3 --radii 1 2 --graphs 2 --seed 4".split()
FILES = {"theorem1.json", "theorem1.md", "theorem1.png"}


def read(folder: Path) -> Theorem1Record:
    return Theorem1Record.from_json((folder / "theorem1.json").read_text("utf-8"))


def test_files_and_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "results"
    assert main([*SMALL, "--no-self-loops", "--output", str(folder)]) == 0
    assert {file.name for file in folder.iterdir()} == FILES
    printed = capsys.readouterr().out
    assert "n = 12, r = 3" in printed and str(folder) in printed
    config = read(folder).config
    assert (config.nodes, config.seed, config.self_loops) == ((10, 12), 4, False)
    assert "# Theorem 1, seen" in (folder / "theorem1.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("--nodes 9 --degrees 3", "do not pair up"),
        ("--nodes 4 --degrees 5", "no graph with 4 nodes is 5-regular"),
        ("--degrees 2", "degrees must be at least 3"),
        ("--graphs 1", "graphs must be at least 2"),
        ("--threads 0", "--threads must be at least 1"),
    ],
)
def test_bad_parameters_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: str, words: str
) -> None:
    folder = tmp_path / "results"
    assert main([*args.split(), "--output", str(folder)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and words in message
    assert message.count("\n") == 1
    assert not folder.exists()


def test_the_same_command_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uninterrupted, folder = tmp_path / "whole", tmp_path / "part"
    assert main([*SMALL, "--output", str(uninterrupted)]) == 0
    ran: list[int] = []

    def fragile(config: object, n: int, r: int, **options: object) -> Cell:
        if len(ran) == 1:
            raise KeyboardInterrupt
        ran.append(n)
        return run_cell(config, n, r)  # type: ignore[arg-type]

    monkeypatch.setattr(simulation, "run_cell", fragile)
    assert main([*SMALL, "--output", str(folder)]) == 130
    assert [file.name for file in folder.iterdir()] == ["theorem1.partial.json"]
    ran[:] = []
    assert main([*SMALL, "--output", str(folder)]) == 0
    assert ran == [12]
    assert {file.name for file in folder.iterdir()} == FILES
    assert read(uninterrupted) == read(folder)


def test_without_igraph(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    assert main([*SMALL, "--output", str(tmp_path / "results")]) == 2
    assert "pip install 'sekgnn[iso]'" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
