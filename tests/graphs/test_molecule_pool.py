"""Molecules that several processes read are those that one reads, in their order."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sekgnn.errors import GraphInputError
from sekgnn.graphs import molecule_pool
from sekgnn.graphs.molecule_pool import in_order, read_molecule
from sekgnn.graphs.molecules import descriptors_of, scaffold
from sekgnn.graphs.read_options import ReadOptions
from sekgnn.graphs.records import read_all, read_records

pytest.importorskip("rdkit")

SMILES = ["CCO", "C(", "c1ccccc1", "C[C@H](N)O", "", "[Na+].[Cl-]", "C/C=C/C"] * 5


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes begin early."""
    monkeypatch.setattr(molecule_pool, "FIRST", 4)
    monkeypatch.setattr(molecule_pool, "BLOCK", 3)
    monkeypatch.setattr(molecule_pool, "usable_cores", lambda: 2)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the processes that are started."""
    made: list[Any] = []
    popen = subprocess.Popen

    def note(*args: Any, **more: Any) -> Any:
        made.append(popen(*args, **more))
        return made[-1]

    monkeypatch.setattr(subprocess, "Popen", note)
    return made


def assert_read(results: Any) -> None:
    alone = list(in_order(read_molecule, enumerate(SMILES), alone=True))
    assert [number for number, _ in results] == [*range(len(SMILES))]
    for (_, one), (_, other) in zip(results, alone, strict=True):
        assert (one is None) == (other is None)
        for a, b in zip(one or (), other or (), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


def test_they_are_the_same_in_the_same_order(started: list[Any]) -> None:
    assert_read(list(in_order(read_molecule, enumerate(SMILES))))
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


def test_short_tables_and_parts_need_no_process(started: list[Any]) -> None:
    list(in_order(read_molecule, enumerate(SMILES[:5])))
    list(in_order(read_molecule, enumerate(SMILES), alone=True))
    assert not started


def test_a_process_that_ends_early_changes_nothing(started: list[Any]) -> None:
    results = []
    for pair in in_order(read_molecule, enumerate(SMILES)):
        results.append(pair)
        if len(results) == 10:
            for process in started:
                process.kill()
    assert_read(results)
    assert len(started) == 2


def test_who_stops_early_leaves_no_process(started: list[Any]) -> None:
    reading = in_order(read_molecule, enumerate(SMILES))
    assert sum(1 for _ in zip(range(12), reading, strict=False)) == 12
    reading.close()  # type: ignore[attr-defined]
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


def test_a_fault_is_raised_after_what_stands_before_it() -> None:
    def faulty() -> Iterator[tuple[int, str]]:
        yield from enumerate(SMILES[:20])
        raise GraphInputError("row 21")

    results = []
    with pytest.raises(GraphInputError, match="row 21"):
        for pair in in_order(read_molecule, faulty()):
            results.append(pair)
    assert len(results) == 20


def test_an_error_of_a_process_is_raised_here(started: list[Any]) -> None:
    """And what it prints is not."""
    with pytest.raises(GraphInputError, match="'C\\('"):
        list(in_order(scaffold, [(0, "CC")] * 20 + [(0, "C(")]))
    assert len(started) == 2


def test_descriptors_of_many_molecules(started: list[Any]) -> None:
    texts = [(0, "C" * n) for n in range(1, 12)]
    results = [row for _, row in in_order(descriptors_of, texts, first=2)]
    np.testing.assert_array_equal(results, [descriptors_of(text) for _, text in texts])
    assert started


def test_a_table_is_read_by_processes(tmp_path: Path, started: list[Any]) -> None:
    """Targets, places and rows left out are as without."""
    table = tmp_path / "table.csv"
    lines = [f"{text or '?'},{i}" for i, text in enumerate(SMILES)]
    table.write_text("\n".join(["smiles,y", *lines]))
    options = ReadOptions(skip_invalid=True)
    records, invalid = read_all(table, options, ["y"])
    assert started
    assert [row[0] for row in invalid] == [
        i + 1 for i, text in enumerate(SMILES) if text in ("C(", "")
    ]
    assert [int(one.targets["y"]) for one in records] == [
        i for i, text in enumerate(SMILES) if text not in ("C(", "")
    ]
    assert all(one.text == SMILES[int(one.targets["y"])] for one in records)
    plain = list(read_records(table, options, features=False))
    assert [a.graph for a in plain] == [b.graph for b in records]
