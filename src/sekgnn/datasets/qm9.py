"""QM9: 130,831 small molecules with twelve quantum mechanical properties."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.array_file import SUFFIX, Arrays, DamagedFileError, Header, cached
from sekgnn.checks import require
from sekgnn.datasets.by_name import choose_targets, numbers_task, register_dataset
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.root import check_statistics
from sekgnn.errors import DataNotFoundError, GraphInputError, MissingExtraError
from sekgnn.files import cache_folder, make_private
from sekgnn.graphs import Graph
from sekgnn.graphs.molecules import bond_features, hybridisation_columns, parse_smiles
from sekgnn.graphs.table import data_rows

HARTREE_IN_EV = 27.211386246
"""PyG's factor from Hartree to eV."""


class QM9Target(NamedTuple):
    """One of the twelve targets: name, column of the CSV files, and unit."""

    name: str
    column: str
    unit: str


QM9_TARGETS = (
    QM9Target("mu", "Dipole_debye", "D"),
    QM9Target("alpha", "Polarizability_bohr3", "a0^3"),
    QM9Target("homo", "HOMO_au", "Ha"),
    QM9Target("lumo", "LUMO_au", "Ha"),
    QM9Target("gap", "HOMO_LUMO_gap_au", "Ha"),
    QM9Target("r2", "R2_bohr2", "a0^2"),
    QM9Target("zpve", "ZPVE_au", "Ha"),
    QM9Target("u0", "InternalEnergy_0K_au", "Ha"),
    QM9Target("u", "InternalEnergy_298K_au", "Ha"),
    QM9Target("h", "Enthalphy_298K_au", "Ha"),  # sic
    QM9Target("g", "GibbsFreeEnergy_298K_au", "Ha"),
    QM9Target("cv", "Heatcapacity_Cv_cal_mol_K", "cal/(mol K)"),
)
"""The targets in PyG's order; u0 to g are total, not atomisation energies."""

_CSV_FILES = ("qm9_part1.csv", "qm9_part2.csv", "qm9_part3.csv")

_QM9_ELEMENTS, _QM9_SYMBOLS = (1, 6, 7, 8, 9), ("H", "C", "N", "O", "F")
QM9_ATOM_FEATURES = (
    *("is_H", "is_C", "is_N", "is_O", "is_F"),
    *("atomic_number", "aromatic", "sp", "sp2", "sp3", "num_hydrogens"),
)

NUM_MOLECULES = 130_831
_FORMAT = 4  # raise when the arrays change
_LONGEST_BOND = 1.9  # Å; that of QM9 is a C-C of about 1.7
_KEYS = ("x", "edge_index", "edge_attr", "pos", "node_ptr", "edge_ptr", "y")


def qm9_task(
    targets: Sequence[str],
    *,
    hydrogens: bool = True,
    folder: str | os.PathLike[str] | None = None,
) -> GraphTask:
    """Return the molecules of QM9 as in PyG, from the package qm9pack and RDKit.

    ``x`` is float32 ``[n, 11]``: one-hot H, C, N, O, F, atomic number, aromatic, sp,
    sp2, sp3, number of hydrogen neighbours; ``edge_attr`` float32 ``[2 m, 4]`` one-hot
    single, double, triple, aromatic; ``pos`` float32 ``[n, 3]`` in Å.

    Targets are in the units of the literature's tables (``QM9_TARGETS``): energies in
    Hartree, where PyG has eV. There are 130,831 molecules, as in PyG; the paper's table
    has 129,433. Parsing takes minutes; the arrays are kept in the cache folder.

    Args:
        targets: Names of ``QM9_TARGETS``.
        hydrogens: Whether hydrogens are nodes. Without them half of the nodes remain;
            only positions are lost, as atoms have their number of hydrogens.
        folder: Folder of the CSV files of qm9pack; by default that of the package.

    Raises:
        ConfigError: If no target is given, or a name is unknown.
        MissingExtraError: If qm9pack or rdkit is not installed.
        DataNotFoundError: If a CSV file is missing.
        GraphInputError: If a CSV file is malformed; names file, line and column.
    """
    by_name = {target.name: target for target in QM9_TARGETS}
    chosen = [by_name[name] for name in choose_targets("QM9", targets, [*by_name])]
    files = qm9_files(folder)
    digest = _digest(files)
    cache = cache_folder() / f"qm9-{digest}{SUFFIX}"
    with suppress(OSError):  # reported when the file is written
        make_private(cache.parent)
    arrays, _, _ = cached(
        cache, {"qm9": digest}, lambda: ({}, _checked({}, _build(files))), _checked
    )
    columns = [QM9_TARGETS.index(target) for target in chosen]
    return numbers_task(
        _molecules(arrays, columns, hydrogens),
        targets,
        name="QM9" if hydrogens else "QM9_heavy",
        source="qm9pack",
        units=", ".join(f"{target.name} in {target.unit}" for target in chosen),
        target_units=tuple(target.unit for target in chosen),
    )


def _registered(target: Sequence[str], *, hydrogens: bool, **unused: Any) -> GraphTask:
    return qm9_task(target, hydrogens=hydrogens)


register_dataset("QM9")(partial(_registered, hydrogens=True))
register_dataset("QM9_heavy")(partial(_registered, hydrogens=False))


def _molecules(a: Arrays, columns: list[int], hydrogens: bool) -> list[Any]:
    """Return PyG data for every molecule, with some targets."""
    import torch
    from torch_geometric.data import Data

    node_ptr, edge_ptr = a["node_ptr"], a["edge_ptr"]
    first = np.repeat(node_ptr[:-1], np.diff(edge_ptr))  # node of each edge's molecule
    row, col = edge_index = a["edge_index"] + first
    union = Data(
        x=torch.from_numpy(a["x"]),
        edge_index=torch.from_numpy(edge_index),
        edge_attr=torch.from_numpy(a["edge_attr"]),
        pos=torch.from_numpy(a["pos"]),
    )
    if not hydrogens:
        heavy = a["x"][:, 0] == 0
        union = union.subgraph(torch.from_numpy(heavy))
        node_ptr = _number_before(heavy)[node_ptr]
        edge_ptr = _number_before(heavy[row] & heavy[col])[edge_ptr]
    y = torch.from_numpy(a["y"][:, columns].astype(np.float32))
    nodes, edges = node_ptr.tolist(), edge_ptr.tolist()
    return [  # copies, each of which can be pickled alone
        Data(
            x=union.x[start:stop].float(),
            edge_index=union.edge_index[:, edges[i] : edges[i + 1]] - start,
            edge_attr=union.edge_attr[edges[i] : edges[i + 1]].float(),
            pos=union.pos[start:stop].clone(),
            y=y[i : i + 1].clone(),
            num_nodes=stop - start,
        )
        for i, (start, stop) in enumerate(pairwise(nodes))
    ]


def _number_before(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of true values before each position, ``[n + 1]``."""
    return np.concatenate([[0], np.cumsum(mask)])


def _build(files: list[Path]) -> Arrays:
    """Read every molecule; features are small integers, stored as bytes."""
    x, edges, attributes, positions, targets = [], [], [], [], []
    for place, smiles, texts, num_atoms, y in _read_files(files):
        mol = parse_smiles(smiles, add_hydrogens=True)
        if mol is None:
            raise GraphInputError(f"{place}: {smiles!r} is not a SMILES.")
        graph, atoms, bonds = _features(mol)
        if graph.num_nodes != num_atoms:
            raise GraphInputError(
                f"{place}: {smiles!r} has {graph.num_nodes} atoms, but the table says "
                f"{num_atoms}."
            )
        positions.append(_positions(place, texts, mol))
        x.append(atoms.astype(np.uint8))
        edges.append(graph.edge_index().astype(np.int16))
        attributes.append(bonds.astype(np.uint8))
        targets.append(y)
    if not targets:
        raise GraphInputError(f"{files[0].parent} holds no molecules.")
    return {
        "x": np.concatenate(x).reshape(-1, len(QM9_ATOM_FEATURES)),
        "edge_index": np.concatenate(edges, axis=1),
        "edge_attr": np.concatenate(attributes),
        "pos": np.concatenate(positions),
        "node_ptr": np.cumsum([0, *map(len, x)]),
        "edge_ptr": np.cumsum([0, *map(len, attributes)]),
        "y": np.array(targets, dtype=np.float64),
    }


def _digest(files: list[Path]) -> str:
    """Return a digest of the files, the format of the cache and rdkit's version."""
    version = require("rdkit", "qm9").__version__
    digest = hashlib.sha256(f"{_FORMAT} {version}".encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _checked(header: Header, arrays: Arrays) -> Arrays:
    """Return the arrays if they are those of the whole QM9."""
    if set(arrays) != set(_KEYS):
        raise DamagedFileError("it holds other arrays")
    check_statistics(
        "QM9",
        np.diff(arrays["node_ptr"]),
        np.diff(arrays["edge_ptr"]) / 2,
        tasks=arrays["y"].shape[1],
    )
    if len(arrays["y"]) != NUM_MOLECULES:
        raise GraphInputError(
            f"the parts hold {len(arrays['y'])} molecules, expected {NUM_MOLECULES}; "
            "use those of qm9pack 1.0.3."
        )
    return arrays


def _features(
    mol: Any,
) -> tuple[Graph, NDArray[np.float32], NDArray[np.float32]]:
    """Return a molecule of H, C, N, O, F with PyG's 11 features.

    ``mol`` is a sanitised rdkit ``Mol`` with explicit hydrogens.
    """
    x = np.zeros((mol.GetNumAtoms(), len(QM9_ATOM_FEATURES)), dtype=np.float32)
    numbers = np.array([atom.GetAtomicNum() for atom in mol.GetAtoms()], np.int64)
    x[:, :5] = numbers[:, None] == _QM9_ELEMENTS
    x[:, 5] = numbers
    for row, atom in zip(x, mol.GetAtoms(), strict=True):
        row[6:10] = (
            atom.GetIsAromatic(),
            *hybridisation_columns(int(atom.GetHybridization())),
        )
    graph, edge_attr = bond_features(mol)
    row, col = graph.edge_index()
    x[:, 10] = np.bincount(row, weights=numbers[col] == 1, minlength=len(x))
    return graph, x, edge_attr


def qm9_files(folder: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the CSV files, in ``folder`` or in the package qm9pack.

    Raises:
        MissingExtraError: If no folder is given and qm9pack is not installed.
        DataNotFoundError: If a file is missing.
    """
    if folder is None:
        spec = importlib.util.find_spec("qm9pack")  # importing it warns
        if spec is None or spec.origin is None:
            raise MissingExtraError(
                "QM9 is read from the package qm9pack, which is not installed. Install "
                "it with: pip install 'sekgnn[qm9]'"
            )
        folder = Path(spec.origin).parent / "data"
    files = [Path(folder) / name for name in _CSV_FILES]
    for file in files:
        if not file.is_file():
            raise DataNotFoundError(
                f"{file} does not exist; {', '.join(_CSV_FILES)} of qm9pack are needed."
            )
    return files


def _read_files(
    files: list[Path],
) -> Iterator[tuple[str, str, tuple[str, str], int, list[float]]]:
    """Yield line, SMILES, texts of elements and positions, size, and targets."""
    names = [
        *("SMILES", "Elements", "XYZ_Ang", "N_atoms"),
        *(target.column for target in QM9_TARGETS),
    ]
    for file in files:
        hint = "It should be a part of qm9pack 1.0.3."
        for _, line, values in data_rows(file, names, hint):
            place = f"{file}, line {line}"
            smiles, elements, positions, *fields = values
            atoms, *targets = map(_number, [place] * 13, names[3:], fields)
            yield place, smiles, (elements, positions), int(atoms), targets


def _positions(place: str, texts: tuple[str, str], mol: Any) -> NDArray[np.float32]:
    """Return the positions of the atoms of ``mol``, float32 ``[n, 3]``.

    The table nearly always has the same order of atoms. If elements differ, or a bond
    would be too long, atoms are matched by bonds that rdkit infers from the positions.
    """
    elements, text = texts
    try:
        symbols = json.loads(elements.replace("'", '"'))
        numbers = [_QM9_ELEMENTS[_QM9_SYMBOLS.index(symbol)] for symbol in symbols]
        fields = text.replace("[", "").replace("]", "").split(",")  # "0." is no JSON
        pos = np.array(fields, dtype=np.float64).reshape(-1, 3)
    except (ValueError, TypeError, AttributeError):
        numbers, pos = [], np.empty((0, 3))
    order: Sequence[int] = ()
    if len(pos) == len(numbers) == mol.GetNumAtoms() and np.isfinite(pos).all():
        order = range(len(pos))
        ends = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()]
        first, second = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        lengths = np.linalg.norm(pos[first] - pos[second], axis=1)
        same = numbers == [atom.GetAtomicNum() for atom in mol.GetAtoms()]
        if not same or lengths.max(initial=0.0) > _LONGEST_BOND:
            order = _matched(mol, numbers, pos) or (order if same else ())
    if len(order) != mol.GetNumAtoms():
        raise GraphInputError(
            f"{place}: columns 'Elements' and 'XYZ_Ang' must list the atoms of the "
            f"SMILES, and three numbers for each; got {elements[:40]} and {text[:40]}."
        )
    return pos[list(order)].astype(np.float32)


def _matched(mol: Any, numbers: list[int], pos: NDArray[np.float64]) -> Sequence[int]:
    """Return the row of ``pos`` for each atom of ``mol``; empty without a match."""
    from rdkit import Chem
    from rdkit.Chem.rdDetermineBonds import DetermineConnectivity

    def skeleton(atoms: list[int], bonds: list[tuple[int, int]]) -> Any:
        bare = Chem.RWMol()
        for number in atoms:
            bare.AddAtom(Chem.Atom(number))
        for ends in bonds:
            bare.AddBond(*ends, Chem.BondType.SINGLE)
        return bare

    def read(molecule: Any) -> Any:
        atoms = [atom.GetAtomicNum() for atom in molecule.GetAtoms()]
        bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()]
        return skeleton(atoms, bonds)

    embedded = skeleton(numbers, [])
    conformer = Chem.Conformer(len(numbers))
    for i, point in enumerate(pos.tolist()):
        conformer.SetAtomPosition(i, point)
    embedded.AddConformer(conformer)
    DetermineConnectivity(embedded)
    match: Sequence[int] = read(embedded).GetSubstructMatch(read(mol))
    return match


def _number(place: str, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise GraphInputError(f"{place}, column {column!r}: {text!r} is not a number.")
    return value
