"""QM9 from small CSV parts with the columns of qm9pack."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_geometric.utils import subgraph

from sekgnn.datasets import QM9_TARGETS, GraphTask, qm9_task
from sekgnn.datasets import qm9 as module
from sekgnn.errors import (
    CacheWarning,
    DataNotFoundError,
    GraphInputError,
    MissingExtraError,
)

pytest.importorskip("rdkit")

COLUMNS = [
    *("XYZ_file", "Index", "SMILES", "InChi", "N_atoms", "Stoichiometry", "Elements"),
    "XYZ_Ang",
    *(target.column for target in QM9_TARGETS),
]
MOLECULES = [
    ("C", "CHHHH"), ("N", "NHHH"), ("C#N", "CNH"), ("c1cc[nH]c1", "CCCNCHHHHH"),
    ("C=O", "COHH"), ("CF", "CFHHH"),
]  # fmt: skip


def rows() -> list[dict[str, Any]]:
    return [
        {
            **{"XYZ_file": f"{i}.xyz", "Index": i, "SMILES": smiles},
            **{"N_atoms": len(atoms), "InChi": "", "Stoichiometry": "[1,0]"},
            "Elements": str([*atoms]),
            "XYZ_Ang": str([[i, k / 8, 0.5] for k in range(len(atoms))]),
            **{t.column: i + k / 100 for k, t in enumerate(QM9_TARGETS)},
        }
        for i, (smiles, atoms) in enumerate(MOLECULES)
    ]


def write(folder: Path, table: list[dict[str, Any]], names: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(3):
        with (folder / f"qm9_part{number + 1}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, names, quoting=csv.QUOTE_NONNUMERIC)
            writer.writeheader()
            writer.writerows(table[2 * number : 2 * number + 2])
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "qm9", rows(), COLUMNS)


@pytest.fixture
def small(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., GraphTask]:
    """Return a reader that takes six molecules for QM9."""
    monkeypatch.setattr(module, "NUM_MOLECULES", 6)
    monkeypatch.setattr(module, "check_statistics", lambda *_, **__: None)
    names = [target.name for target in QM9_TARGETS]
    return lambda folder, **more: qm9_task(names, folder=folder, **more)


def test_targets_are_the_columns_as_they_are(folder: Path, small: Any) -> None:
    task = small(folder)
    expected = np.arange(6)[:, None] + np.arange(12) / 100
    np.testing.assert_allclose(task.targets()[0], expected, rtol=1e-7)
    names = "mu alpha homo lumo gap r2 zpve u0 u h g cv"
    assert task.target_names == tuple(names.split())
    assert task.mask.all() and task.kind == "regression"
    task = qm9_task(["gap", "mu"], folder=folder)
    np.testing.assert_allclose(task.targets()[0], expected[:, [4, 0]], rtol=1e-7)
    assert (task.units, task.target_units) == ("gap in Ha, mu in D", ("Ha", "D"))


def test_atoms_and_bonds_are_worked_out_by_hand(folder: Path, small: Any) -> None:
    sizes = [len(atoms) for _, atoms in MOLECULES]
    assert small(folder).sizes.tolist() == sizes
    cyanide, pyrrole = (small(folder)[i] for i in (2, 3))
    assert cyanide.x.tolist() == [  # C, N, then the hydrogen of C
        [0, 1, 0, 0, 0, 6, 0, 1, 0, 0, 1],
        [0, 0, 1, 0, 0, 7, 0, 1, 0, 0, 0],
        [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
    ]
    assert cyanide.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    single, triple = [1, 0, 0, 0], [0, 0, 1, 0]
    assert cyanide.edge_attr.tolist() == [triple, single, triple, single]
    assert cyanide.num_nodes == 3
    assert cyanide.pos.tolist() == [[2, 0, 0.5], [2, 0.125, 0.5], [2, 0.25, 0.5]]
    assert pyrrole.x[:5, 6].tolist() == [1] * 5  # aromatic
    assert pyrrole.x[:5, 8].tolist() == [1] * 5  # sp2
    assert pyrrole.edge_attr.sum(0).tolist() == [10, 0, 0, 10]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [3, 1, 4, 0, 2], [0, 1, 4, 2, 3]])
def test_positions_follow_the_atoms_of_the_smiles(
    tmp_path: Path, small: Any, order: list[int]
) -> None:
    """In whatever order the table has them, also with equal elements (here H, H)."""
    symbols, smiles = "CNHHH", "C=N"  # two hydrogens on C, the last on N
    positions = np.array([[0, 0, 0], [1.27, 0, 0], [-0.6, 0.9, 0], [-0.6, -0.9, 0],
                       [1.7, 0.9, 0]])  # fmt: skip
    row = {**rows()[0], "SMILES": smiles, "N_atoms": len(symbols)}
    row["Elements"] = str([symbols[i] for i in order])
    row["XYZ_Ang"] = str(positions[order].tolist()).replace("0.0", "0.")  # as qm9pack
    folder = write(tmp_path / "qm9", [row, *rows()[1:]], COLUMNS)
    data = small(folder)[0]
    lengths = (data.pos[data.edge_index[0]] - data.pos[data.edge_index[1]]).norm(dim=1)
    assert data.x[:, 5].tolist() == [6, 7, 1, 1, 1]
    assert lengths.max() < 1.3 and data.pos[4].tolist() == pytest.approx([1.7, 0.9, 0])


def test_without_hydrogens_the_rest_is_the_same(folder: Path, small: Any) -> None:
    full, heavy = (small(folder, hydrogens=choice) for choice in (True, False))
    assert (full.name, heavy.name) == ("QM9", "QM9_heavy")
    for old, new in zip(full, heavy, strict=True):
        mask = old.x[:, 0] == 0
        edges, attr = subgraph(
            mask, old.edge_index, old.edge_attr, True, num_nodes=old.num_nodes
        )
        assert new.num_nodes == int(mask.sum()) == len(new.x)
        for name, value in (("x", old.x[mask]), ("pos", old.pos[mask]),
                            ("edge_index", edges), ("edge_attr", attr),
                            ("y", old.y)):  # fmt: skip
            assert new[name].tolist() == value.tolist(), name


def test_fewer_molecules_than_qm9_are_refused(folder: Path, own_cache: Path) -> None:
    with pytest.raises(GraphInputError, match=r"nodes 5\.1667 \(paper: 18\.0\)"):
        qm9_task(["mu"], folder=folder)
    assert not list(own_cache.glob("qm9-*"))


def test_the_cache_holds_the_same(
    folder: Path, own_cache: Path, small: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[int] = []

    def build(files: list[Path]) -> Any:
        built.append(1)
        return original(files)

    original = module._build
    monkeypatch.setattr(module, "_build", build)
    first, again = small(folder), small(folder)
    assert len(built) == 1 and first.fingerprint() == again.fingerprint()
    (file,) = own_cache.glob("qm9-*")
    intact = file.read_bytes()
    changed = bytearray(intact)
    changed[-70] ^= 1  # among the targets
    for content in (intact[:50], changed):
        file.write_bytes(content)
        with pytest.warns(CacheWarning, match=r"qm9-.* is not used, .* made again"):
            rebuilt = small(folder)
        assert (
            rebuilt.fingerprint() == first.fingerprint() == small(folder).fingerprint()
        )
    assert len(built) == 3
    write(folder, [{**rows()[0], "HOMO_au": 9.0}, *rows()[1:]], COLUMNS)
    assert small(folder)[0].y[0, 2] == 9.0 and len(built) == 4
    monkeypatch.setenv("SEKGNN_CACHE", str(folder / "qm9_part1.csv"))
    with pytest.warns(CacheWarning, match="not cached"):
        small(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"HOMO_au": "high"}, r"part2\.csv, line 2, column 'HOMO_au': 'high'.*number"),
        ({"ZPVE_au": ""}, r"part2\.csv, line 2, column 'ZPVE_au': ''.*number"),
        ({"ZPVE_au": "nan"}, r"column 'ZPVE_au': 'nan'.*number"),
        ({"SMILES": "C(("}, r"part2\.csv, line 2: 'C\(\('.*SMILES"),
        ({"Elements": "['N','O','H']"}, r"'XYZ_Ang'.*atoms"),
        ({"XYZ_Ang": "[[0,0,0]]"}, r"line 2.*three"),
        ({"XYZ_Ang": "here"}, "got .'C', 'N', 'H'. and here"),
        ({"N_atoms": 7}, r"line 2: 'C#N'.*3 atoms"),
    ],
)
def test_wrong_rows_are_named(
    change: dict[str, Any], message: str, tmp_path: Path, small: Any
) -> None:
    table = rows()
    table[2].update(change)
    with pytest.raises(GraphInputError, match=message):
        small(write(tmp_path / "qm9", table, COLUMNS))


def test_wrong_files_are_named(folder: Path, small: Any) -> None:
    file = folder / "qm9_part2.csv"
    text = file.read_text()
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\r\n", "\n").encode())
    assert len(small(folder)) == 6  # a byte order mark does no harm
    file.write_text(text[:-30])
    with pytest.raises(GraphInputError, match=r"line 3: \d+ fields"):
        small(folder)
    file.write_text(text.replace("R2_bohr2", "R2"))
    with pytest.raises(GraphInputError, match="no column 'R2_bohr2'"):
        small(folder)
    file.unlink()
    with pytest.raises(DataNotFoundError, match=r"qm9_part2\.csv does not exist"):
        small(folder)


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n: None if n == "qm9pack" else real(n)
    )
    with pytest.raises(MissingExtraError, match=r"pip install 'sekgnn\[qm9\]'"):
        qm9_task(["mu"])
