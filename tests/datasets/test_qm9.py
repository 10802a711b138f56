"""QM9 from small CSV parts with the columns of qm9pack."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch_geometric.loader import DataLoader
from torch_geometric.utils import subgraph

from sekgnn.datasets import QM9_TARGETS, QM9Dataset
from sekgnn.datasets import qm9 as module
from sekgnn.datasets.qm9 import HARTREE_IN_EV
from sekgnn.errors import (
    CacheWarning,
    ConfigError,
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
    for part in range(3):
        with (folder / f"qm9_part{part + 1}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, names, quoting=csv.QUOTE_NONNUMERIC)
            writer.writeheader()
            writer.writerows(table[2 * part : 2 * part + 2])
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "qm9", rows(), COLUMNS)


def test_targets_are_the_columns_as_they_are(folder: Path) -> None:
    dataset = QM9Dataset(folder, limit=100)
    expected = np.arange(6)[:, None] + np.arange(12) / 100
    np.testing.assert_allclose(dataset.targets, expected, atol=1e-12)
    assert repr(dataset) == "QM9Dataset(6, sanitize=True, hydrogens=True)"
    assert dataset[4].y.tolist() == [pytest.approx(expected[4].tolist())]


def test_units() -> None:
    names = "mu alpha homo lumo gap r2 zpve u0 u h g cv"
    assert QM9Dataset.target_names == tuple(names.split())
    in_ev = [2, 3, 4, 6, 7, 8, 9, 10]  # those PyG multiplies
    assert np.flatnonzero(QM9Dataset.ev_factors == HARTREE_IN_EV).tolist() == in_ev
    assert set(QM9Dataset.ev_factors.tolist()) == {1.0, HARTREE_IN_EV}


def test_atoms_and_bonds_are_worked_out_by_hand(folder: Path) -> None:
    cyanide = QM9Dataset(folder, limit=3)[2]  # C, N, then the hydrogen of C
    assert cyanide.x.tolist() == [
        [0, 1, 0, 0, 0, 6, 0, 1, 0, 0, 1],
        [0, 0, 1, 0, 0, 7, 0, 1, 0, 0, 0],
        [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
    ]
    assert cyanide.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    single, triple = [1, 0, 0, 0], [0, 0, 1, 0]
    assert cyanide.edge_attr.tolist() == [triple, single, triple, single]
    assert cyanide.num_nodes == 3
    assert cyanide.pos.tolist() == [[2, 0, 0.5], [2, 0.125, 0.5], [2, 0.25, 0.5]]


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [3, 1, 4, 0, 2], [0, 1, 4, 2, 3]])
def test_positions_follow_the_atoms_of_the_smiles(
    tmp_path: Path, order: list[int]
) -> None:
    """In whatever order the table has them, also with equal elements (here H, H)."""
    symbols, smiles = "CNHHH", "C=N"  # two hydrogens on C, the last on N
    places = np.array([[0, 0, 0], [1.27, 0, 0], [-0.6, 0.9, 0], [-0.6, -0.9, 0],
                       [1.7, 0.9, 0]])  # fmt: skip
    row = {**rows()[0], "SMILES": smiles, "N_atoms": len(symbols)}
    row["Elements"] = str([symbols[i] for i in order])
    row["XYZ_Ang"] = str(places[order].tolist()).replace("0.0", "0.")  # as qm9pack
    folder = write(tmp_path / "qm9", [row, *rows()[1:]], COLUMNS)
    data = QM9Dataset(folder, limit=1)[0]
    lengths = (data.pos[data.edge_index[0]] - data.pos[data.edge_index[1]]).norm(dim=1)
    assert data.x[:, 5].tolist() == [6, 7, 1, 1, 1]
    assert lengths.max() < 1.3 and data.pos[4].tolist() == pytest.approx([1.7, 0.9, 0])


def test_sanitize_decides_on_aromaticity(folder: Path) -> None:
    pyrrole, plain = (
        QM9Dataset(folder, sanitize=choice, limit=6)[3] for choice in (True, False)
    )
    assert pyrrole.x[:5, 6].tolist() == [1] * 5  # aromatic
    assert pyrrole.x[:5, 8].tolist() == [1] * 5  # sp2
    assert pyrrole.edge_attr.sum(0).tolist() == [10, 0, 0, 10]
    assert plain.x[:, 6:10].sum() == 0
    assert plain.edge_attr.sum(0).tolist() == [16, 4, 0, 0]  # two double bonds
    rest = [0, 1, 2, 3, 4, 5, 10]
    assert plain.x[:, rest].tolist() == pyrrole.x[:, rest].tolist()
    assert plain.edge_index.tolist() == pyrrole.edge_index.tolist()


def test_without_hydrogens_the_rest_is_the_same(folder: Path) -> None:
    whole, heavy = (QM9Dataset(folder, hydrogens=h, limit=6) for h in (True, False))
    assert np.array_equal(whole.targets, heavy.targets)
    assert repr(heavy) == "QM9Dataset(6, sanitize=True, hydrogens=False)"
    for old, new in zip(whole.to_pyg(), heavy.to_pyg(), strict=True):
        kept = old.x[:, 0] == 0
        edges, attr = subgraph(
            kept, old.edge_index, old.edge_attr, True, num_nodes=old.num_nodes
        )
        assert new.num_nodes == int(kept.sum()) == len(new.x)
        for name, value in (("x", old.x[kept]), ("pos", old.pos[kept]),
                            ("edge_index", edges), ("edge_attr", attr),
                            ("y", old.y)):  # fmt: skip
            assert new[name].tolist() == value.tolist(), name


def test_items_are_sequences_and_batches(folder: Path) -> None:
    dataset = QM9Dataset(folder, limit=6)
    sizes = [len(atoms) for _, atoms in MOLECULES]
    assert [data.num_nodes for data in dataset.to_pyg()] == sizes
    assert dataset[-1].num_nodes == 5
    with pytest.raises(IndexError):
        dataset[6]
    batch = next(iter(DataLoader(dataset, batch_size=6)))
    assert batch.x.shape == (31, 11) and batch.y.shape == (6, 12)


def test_limit(folder: Path) -> None:
    assert len(QM9Dataset(folder, limit=3)) == 3
    with pytest.raises(ConfigError, match=r"limit.*at least"):
        QM9Dataset(folder, limit=0)


def test_fewer_molecules_than_qm9_are_refused_without_limit(
    folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(GraphInputError, match=r"nodes 5\.1667 \(paper: 18\.0\)"):
        QM9Dataset(folder, cache_dir=tmp_path)
    assert not list(tmp_path.glob("qm9-*"))


def test_the_cache_holds_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NUM_MOLECULES", 6)
    monkeypatch.setattr(module, "check_statistics", lambda *_, **__: None)
    calls: list[tuple[int, int]] = []
    cache = tmp_path / "cache"
    first = QM9Dataset(folder, cache_dir=cache, progress=lambda *c: calls.append(c))
    assert calls == [(6, 6)]
    again = QM9Dataset(folder, cache_dir=cache)
    assert (first.from_cache, again.from_cache) == (False, True)
    for a, b in zip(first.to_pyg(), again.to_pyg(), strict=True):
        assert a.to_dict().keys() == b.to_dict().keys()
        assert all(np.array_equal(a[key], b[key]) for key in a.keys())
    assert not QM9Dataset(folder, cache_dir=cache, sanitize=False).from_cache
    whole = {file: file.read_bytes() for file in cache.glob("qm9-*")}
    targets = first.targets.copy()  # they are mapped
    for damage in ("cut", "changed"):
        for file, content in whole.items():
            changed = bytearray(content)
            changed[-70] ^= 1  # among the targets
            file.write_bytes(changed[:50] if damage == "cut" else changed)
        with pytest.warns(CacheWarning, match=r"qm9-.* is not used, .* made again"):
            made = QM9Dataset(folder, cache_dir=cache)
        assert not made.from_cache and np.array_equal(made.targets, targets)
        assert QM9Dataset(folder, cache_dir=cache).from_cache
    write(folder, [{**rows()[0], "HOMO_au": 9.0}, *rows()[1:]], COLUMNS)
    edited = QM9Dataset(folder, cache_dir=cache)
    assert not edited.from_cache and edited.targets[0, 2] == 9.0
    with pytest.warns(CacheWarning, match="not cached"):
        QM9Dataset(folder, cache_dir=folder / "qm9_part1.csv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"HOMO_au": "high"},
            r"part2\.csv, line 2, column 'HOMO_au': 'high'.*number",
        ),
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
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    table = rows()
    table[2].update(change)
    with pytest.raises(GraphInputError, match=message):
        QM9Dataset(write(tmp_path / "qm9", table, COLUMNS), limit=6)


def test_wrong_files_are_named(folder: Path, tmp_path: Path) -> None:
    part = folder / "qm9_part2.csv"
    text = part.read_text()
    part.write_bytes(b"\xef\xbb\xbf" + text.replace("\r\n", "\n").encode())
    assert len(QM9Dataset(folder, limit=6)) == 6  # a byte order mark does no harm
    part.write_text(text[:-30])
    with pytest.raises(GraphInputError, match=r"line 3: \d+ fields"):
        QM9Dataset(folder, limit=6)
    part.write_text(text.replace("R2_bohr2", "R2"))
    with pytest.raises(GraphInputError, match="no column 'R2_bohr2'"):
        QM9Dataset(folder, limit=6)
    part.unlink()
    with pytest.raises(DataNotFoundError, match=r"qm9_part2\.csv does not exist"):
        QM9Dataset(folder, limit=6)


def test_the_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n: None if n == "qm9pack" else real(n)
    )
    with pytest.raises(MissingExtraError, match=r"pip install 'sekgnn\[qm9\]'"):
        QM9Dataset()
