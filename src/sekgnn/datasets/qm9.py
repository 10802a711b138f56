"""QM9: 130,831 small molecules with twelve quantum mechanical properties."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.array_file import (
    SUFFIX,
    Arrays,
    DamagedFileError,
    Header,
    cached,
)
from sekgnn.checks import check_positive
from sekgnn.datasets.statistics import check_statistics
from sekgnn.errors import (
    DataNotFoundError,
    GraphInputError,
    MissingExtraError,
)
from sekgnn.files import cache_folder, make_private
from sekgnn.graphs import Graph
from sekgnn.graphs.extras import require
from sekgnn.graphs.molecules import bond_features, hybridisation, parse_smiles
from sekgnn.graphs.table import data_rows

if TYPE_CHECKING:
    from torch_geometric.data import Data

HARTREE_IN_EV = 27.211386246
"""PyG's factor; it multiplies the targets whose unit is Ha to give eV."""


@dataclass(frozen=True)
class QM9Target:
    """One of the twelve regression targets.

    Attributes:
        name: As in the tables of the literature.
        column: Heading in the CSV files.
        unit: Of the numbers there, and in the tables.
        meaning: In words.
    """

    name: str
    column: str
    unit: str
    meaning: str


QM9_TARGETS = (
    QM9Target("mu", "Dipole_debye", "D", "dipole moment"),
    QM9Target("alpha", "Polarizability_bohr3", "a0^3", "isotropic polarizability"),
    QM9Target("homo", "HOMO_au", "Ha", "highest occupied orbital energy"),
    QM9Target("lumo", "LUMO_au", "Ha", "lowest unoccupied orbital energy"),
    QM9Target("gap", "HOMO_LUMO_gap_au", "Ha", "lumo - homo"),
    QM9Target("r2", "R2_bohr2", "a0^2", "electronic spatial extent"),
    QM9Target("zpve", "ZPVE_au", "Ha", "zero point vibrational energy"),
    QM9Target("u0", "InternalEnergy_0K_au", "Ha", "internal energy at 0 K"),
    QM9Target("u", "InternalEnergy_298K_au", "Ha", "internal energy at 298.15 K"),
    QM9Target("h", "Enthalphy_298K_au", "Ha", "enthalpy at 298.15 K"),  # sic
    QM9Target("g", "GibbsFreeEnergy_298K_au", "Ha", "free energy at 298.15 K"),
    QM9Target("cv", "Heatcapacity_Cv_cal_mol_K", "cal/(mol K)", "heat capacity"),
)
"""The targets in PyG's order; u0 to g are total, not atomisation energies."""

_PARTS = ("qm9_part1.csv", "qm9_part2.csv", "qm9_part3.csv")

_QM9_ELEMENTS, _QM9_SYMBOLS = (1, 6, 7, 8, 9), ("H", "C", "N", "O", "F")
QM9_ATOM_FEATURES = (
    *("is_H", "is_C", "is_N", "is_O", "is_F"),
    *("atomic_number", "aromatic", "sp", "sp2", "sp3", "num_hydrogens"),
)

NUM_MOLECULES = 130_831
_FORMAT = 3  # raise when the arrays change
_LONGEST_BOND = 1.9  # Å; that of QM9 is a C-C of about 1.7
_KEYS = ("x", "edge_index", "edge_attr", "pos", "node_ptr", "edge_ptr", "y")


class QM9Dataset:
    """The molecules of QM9 as in PyG, from the package qm9pack and RDKit.

    ``dataset[i]`` is a PyG ``Data``, made when it is asked for: hydrogens are nodes;
    ``x`` float32 ``[n, 11]`` one-hot H, C, N, O, F, atomic number, aromatic, sp, sp2,
    sp3, number of hydrogen neighbours; ``edge_attr`` float32 ``[2 m, 4]`` one-hot
    single, double, triple, aromatic; ``pos`` float32 ``[n, 3]`` in Å; ``y`` float32
    ``[1, 12]``.

    Targets are in the units of the literature's tables (``QM9_TARGETS``): energies in
    Hartree, where PyG has eV (``targets * ev_factors``). There are 130,831 molecules,
    as in PyG; the paper's table says 129,433.

    Args:
        folder: With the CSV parts of qm9pack; by default where that is installed.
        sanitize: What rdkit is to know of a molecule. True: aromatic rings and
            hybridisation, as in NestedGNN's reader. False: as PyG and KP-GNN read
            gdb9.sdf, where these four columns are 0 and bonds Kekulé's.
        hydrogens: Whether they are nodes. If not, half of the nodes are left; nothing
            but positions is lost, as every atom knows how many it had.
        limit: Only the first molecules; the statistics are then not compared.
        cache_dir: Where to keep the arrays, which take minutes to make; by default what
            ``SEKGNN_CACHE`` names, else the user's cache folder. Kept only without
            ``limit``.
        progress: Called with (done, total) molecules while the arrays are made.

    Attributes:
        from_cache: Whether the arrays were found in the cache.

    Raises:
        MissingExtraError: If qm9pack or rdkit is not installed.
        DataNotFoundError: If ``folder`` lacks a part.
        GraphInputError: If a part is not as it should be; names file, line and column.
    """

    target_names = tuple(target.name for target in QM9_TARGETS)
    ev_factors: NDArray[np.float64] = np.array(
        [HARTREE_IN_EV if target.unit == "Ha" else 1.0 for target in QM9_TARGETS]
    )

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        sanitize: bool = True,
        hydrogens: bool = True,
        limit: int | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        """Read the molecules, or what was made of them before."""
        files = qm9_files(folder)
        self.from_cache = False
        self.sanitize, self.hydrogens = sanitize, hydrogens
        if limit is not None:
            check_positive("limit", limit)
            self._arrays = _build(files, sanitize, limit, progress)
            self._leave_out_hydrogens()
            return
        digest = _digest(files, sanitize)
        file = cache_folder(cache_dir) / f"qm9-{digest}{SUFFIX}"
        with suppress(OSError):  # reported when the file is written
            make_private(file.parent)
        self._arrays, _, self.from_cache = cached(
            file,
            {"qm9": digest},
            lambda: ({}, _checked({}, _build(files, sanitize, None, progress))),
            _checked,
        )
        self._leave_out_hydrogens()

    def _leave_out_hydrogens(self) -> None:
        """Drop their nodes and bonds, unless they are to be there."""
        a = self._arrays
        kept = a["x"][:, 0] == 0  # [N]
        if self.hydrogens or kept.all():
            return
        first = np.repeat(a["node_ptr"][:-1], np.diff(a["edge_ptr"]))
        row, col = a["edge_index"] + first
        bonds = kept[row] & kept[col]
        before = np.concatenate([[0], np.cumsum(kept)])  # kept nodes before each
        node_ptr = before[a["node_ptr"]]
        edge_ptr = np.concatenate([[0], np.cumsum(bonds)])[a["edge_ptr"]]
        first = np.repeat(node_ptr[:-1], np.diff(edge_ptr))
        pairs = np.stack([before[row[bonds]], before[col[bonds]]]) - first
        self._arrays = {
            **a,
            "x": a["x"][kept],
            "pos": a["pos"][kept],
            "edge_index": pairs.astype(np.int16),
            "edge_attr": a["edge_attr"][bonds],
            "node_ptr": node_ptr,
            "edge_ptr": edge_ptr,
        }

    @property
    def targets(self) -> NDArray[np.float64]:
        """The targets of all molecules, float64 ``[G, 12]``."""
        return self._arrays["y"]

    def __len__(self) -> int:
        """Number of molecules."""
        return len(self.targets)

    def __getitem__(self, index: int) -> Data:
        """Return molecule ``index`` as PyG data."""
        import torch
        from torch_geometric.data import Data

        place = range(len(self))[index]
        a = self._arrays
        nodes = slice(*a["node_ptr"][place : place + 2].tolist())
        edges = slice(*a["edge_ptr"][place : place + 2].tolist())
        return Data(
            x=torch.from_numpy(a["x"][nodes].astype(np.float32)),
            edge_index=torch.from_numpy(a["edge_index"][:, edges].astype(np.int64)),
            edge_attr=torch.from_numpy(a["edge_attr"][edges].astype(np.float32)),
            pos=torch.from_numpy(a["pos"][nodes]),
            y=torch.from_numpy(a["y"][place : place + 1].astype(np.float32)),
            num_nodes=nodes.stop - nodes.start,
        )

    def to_pyg(self) -> list[Data]:
        """Return all molecules at once, which takes some gigabytes for all of QM9."""
        return [self[i] for i in range(len(self))]

    def __repr__(self) -> str:
        """Name, size and the choice of features."""
        choice = f"sanitize={self.sanitize}, hydrogens={self.hydrogens}"
        return f"{type(self).__name__}({len(self)}, {choice})"


def _build(
    files: list[Path],
    sanitize: bool,
    limit: int | None,
    progress: Callable[[int, int], object] | None,
) -> Arrays:
    """Read every molecule; features are small integers, kept as bytes."""
    total = NUM_MOLECULES if limit is None else min(limit, NUM_MOLECULES)
    x, edges, attributes, positions, targets = [], [], [], [], []
    rows = islice(_read_parts(files), limit)
    for done, (place, smiles, texts, num_atoms, y) in enumerate(rows, start=1):
        mol = parse_smiles(smiles, add_hydrogens=True)
        if mol is None:
            raise GraphInputError(f"{place}: {smiles!r} is not a SMILES.")
        graph, atoms, bonds = qm9_features(mol, sanitize)
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
        if progress is not None and (done % 1000 == 0 or done == total):
            progress(done, max(total, done))
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


def _digest(files: list[Path], sanitize: bool) -> str:
    """Return a name for the content of the files and for what is made of them."""
    version = require("rdkit", "qm9").__version__
    digest = hashlib.sha256(f"{_FORMAT} {sanitize} {version}".encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _checked(header: Header, arrays: Arrays) -> Arrays:
    """Return the arrays of all of QM9, or refuse others."""
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
            "use those of qm9pack 1.0.3, or set limit."
        )
    return arrays


def qm9_features(
    mol: Any, sanitize: bool
) -> tuple[Graph, NDArray[np.float32], NDArray[np.float32]]:
    """Return a molecule of H, C, N, O, F, hydrogens included, with PyG's 11 features.

    Args:
        mol: An rdkit ``Mol`` that was sanitised, with explicit hydrogens.
        sanitize: If false, what rdkit reports without sanitising: Kekulé bonds, and
            neither aromaticity nor hybridisation.
    """
    if not sanitize:
        from rdkit import Chem

        mol = Chem.Mol(mol)
        Chem.Kekulize(mol, clearAromaticFlags=True)
    x = np.zeros((mol.GetNumAtoms(), len(QM9_ATOM_FEATURES)), dtype=np.float32)
    numbers = np.array([atom.GetAtomicNum() for atom in mol.GetAtoms()], np.int64)
    x[:, :5] = numbers[:, None] == _QM9_ELEMENTS
    x[:, 5] = numbers
    if sanitize:
        for row, atom in zip(x, mol.GetAtoms(), strict=True):
            row[6:10] = (atom.GetIsAromatic(), *hybridisation(atom))
    graph, edge_attr = bond_features(mol)
    row, col = graph.edge_index()
    x[:, 10] = np.bincount(row, weights=numbers[col] == 1, minlength=len(x))
    return graph, x, edge_attr


def qm9_files(folder: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the CSV parts, in ``folder`` or where qm9pack is installed.

    Raises:
        MissingExtraError: If no folder is given and qm9pack is not installed.
        DataNotFoundError: If a part is missing.
    """
    if folder is None:
        spec = importlib.util.find_spec("qm9pack")  # importing it warns
        if spec is None or spec.origin is None:
            raise MissingExtraError(
                "QM9 is read from the package qm9pack, which is not installed. Install "
                "it with: pip install 'sekgnn[qm9]'"
            )
        folder = Path(spec.origin).parent / "data"
    files = [Path(folder) / part for part in _PARTS]
    for file in files:
        if not file.is_file():
            raise DataNotFoundError(
                f"{file} does not exist; {', '.join(_PARTS)} of qm9pack are needed."
            )
    return files


def _read_parts(
    files: list[Path],
) -> Iterator[tuple[str, str, tuple[str, str], int, list[float]]]:
    """Yield place, SMILES, texts of elements and positions, size, and targets."""
    names = [
        *("SMILES", "Elements", "XYZ_Ang", "N_atoms"),
        *(target.column for target in QM9_TARGETS),
    ]
    for file in files:
        for row in data_rows(file, names, "It should be a part of qm9pack 1.0.3."):
            place = f"{file}, line {row.line}"
            smiles, elements, positions, *fields = row.values
            atoms, *targets = map(_number, [place] * 13, names[3:], fields)
            yield place, smiles, (elements, positions), int(atoms), targets


def _positions(place: str, texts: tuple[str, str], mol: Any) -> NDArray[np.float32]:
    """Return where the atoms of ``mol`` are, float32 ``[n, 3]``, in their order.

    The table has nearly always that order. Where elements differ, or a bond would be
    too long, atoms are matched by the bonds that rdkit sees in the positions.
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
    """Return the row of ``pos`` that each atom of ``mol`` has; empty if none fits."""
    from rdkit import Chem
    from rdkit.Chem.rdDetermineBonds import DetermineConnectivity

    def skeleton(atoms: list[int], bonds: list[tuple[int, int]]) -> Any:
        bare = Chem.RWMol()
        for number in atoms:
            bare.AddAtom(Chem.Atom(number))
        for ends in bonds:
            bare.AddBond(*ends, Chem.BondType.SINGLE)
        return bare

    def read(whole: Any) -> Any:
        atoms = [atom.GetAtomicNum() for atom in whole.GetAtoms()]
        bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in whole.GetBonds()]
        return skeleton(atoms, bonds)

    placed = skeleton(numbers, [])
    conformer = Chem.Conformer(len(numbers))
    for i, point in enumerate(pos.tolist()):
        conformer.SetAtomPosition(i, point)
    placed.AddConformer(conformer)
    DetermineConnectivity(placed)
    match: Sequence[int] = read(placed).GetSubstructMatch(read(mol))
    return match


def _number(place: str, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise GraphInputError(f"{place}, column {column!r}: {text!r} is not a number.")
    return value
