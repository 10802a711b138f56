"""Molecules: atoms are nodes, bonds are edges; their types are labels or features."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import require
from sekgnn.errors import GraphInputError, MissingExtraError
from sekgnn.graphs.graph import Graph, LabelledGraph

T = TypeVar("T")

MOST_RING_ATOMS = 20_000
"""Molecules with a longer cycle are refused: rdkit would search its rings for hours."""

MOST_MATRIX_ATOMS = 200
"""Bonds of larger molecules are listed one by one instead of as a matrix."""

MORGAN_BINS = 2048
MOST_STEREO_ATOMS = 1_000
"""Stereochemistry of larger molecules is not read: rdkit's search is quadratic."""

BOND_NUMBERS = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3, "AROMATIC": 12}  # of rdkit
BONDS = tuple(BOND_NUMBERS)
"""One-hot columns of a bond; a bond of another type is all zeros."""
_OTHER_BONDS = "*!-;!=;!#;!:*"
_OF_TWICE_THE_ORDER = np.zeros(7, dtype=np.int64)
_OF_TWICE_THE_ORDER[[2, 4, 6, 3]] = [*BOND_NUMBERS.values()]

_ELEMENTS = {
    **{"H": 1, "B": 5, "C": 6, "N": 7, "O": 8, "F": 9, "Si": 14, "P": 15, "S": 16},
    **{"Cl": 17, "Se": 34, "Br": 35, "I": 53},
}
_ELEMENT_COLUMNS = {number: i for i, number in enumerate(_ELEMENTS.values())}
HYBRIDISATIONS = 2, 3, 4
"""Rdkit's numbers of sp, sp2 and sp3."""
_STEREO_KNOWN = "_StereochemDone"  # a property that rdkit sets
_DOUBLE = {"STEREOE": 0, "STEREOTRANS": 0, "STEREOZ": 1, "STEREOCIS": 1}
ATOM_FEATURES = (
    *(f"is_{element}" for element in _ELEMENTS),
    *("is_other", "charge", "aromatic", "sp", "sp2", "sp3", "in_ring"),
    "num_hydrogens", "chiral_R", "chiral_S",
)  # fmt: skip
"""The columns of an atom, the same for every molecule."""
BOND_FEATURES = (*BONDS, "bond_E", "bond_Z")
JOINT = "\x1f"
"""Between the SMILES of several columns of a row, which make one graph."""
"""The columns of a bond."""


def from_rdkit(mol: Any) -> Graph:
    """Build a graph from an rdkit ``Mol``; node i is atom i."""
    return _bonds(mol)[0]


def labelled_from_rdkit(mol: Any) -> Graph:
    """Build a labelled graph from an rdkit ``Mol``.

    A node's label is its atom's element and formal charge, ``1000 * charge + Z``; an
    edge's label is rdkit's number of the bond type (1, 2, 3; 12 for aromatic). The name
    of a label is the atom's symbol and charge, such as ``N+``.
    """
    graph, types = _bonds(mol)
    labels, names = [], {}
    for atom in mol.GetAtoms():
        charge = atom.GetFormalCharge()
        labels.append(1000 * charge + atom.GetAtomicNum())
        names[labels[-1]] = _symbol(atom, "-")
    return LabelledGraph(graph, np.array(labels, dtype=np.int64), types, names)


def depict(graph: Graph) -> tuple[list[str], NDArray[np.float64]] | None:
    """Return symbols and coordinates of a molecule of :func:`labelled_from_rdkit`.

    Returns:
        The symbol of every atom with its charge, and its coordinates, ``[n, 2]``, with
        bonds about 1.5 long; ``None`` if the labels are not those of a molecule with
        valid valences, or rdkit is not installed.
    """
    if graph.node_labels is None or graph.edge_labels is None or not graph.num_nodes:
        return None
    try:
        chem = require("rdkit.Chem", "mol")
    except MissingExtraError:
        return None
    charges = np.round(graph.node_labels / 1000).astype(np.int64)
    numbers = graph.node_labels - 1000 * charges
    types = set(chem.BondType.values)
    bonds = {int(label) for label in graph.edge_labels}
    largest = max(np.abs(charges).max(), 0)
    if numbers.min() < 1 or numbers.max() > 118 or largest > 9 or not bonds <= types:
        return None
    mol = chem.RWMol()
    for number, charge in zip(numbers.tolist(), charges.tolist(), strict=True):
        atom = chem.Atom(number)
        atom.SetFormalCharge(charge)
        mol.AddAtom(atom)
    for (u, v), kind in zip(
        graph.edge_index().T.tolist(), graph.edge_labels.tolist(), strict=True
    ):
        if u < v:
            mol.AddBond(u, v, chem.BondType.values[kind])

    def positions() -> NDArray[np.float64]:
        mol.UpdatePropertyCache(strict=True)  # refuses too many bonds of an atom
        chem.FastFindRings(mol)
        require("rdkit.Chem.rdDepictor", "mol").Compute2DCoords(mol, canonOrient=True)
        positions: NDArray[np.float64] = mol.GetConformer().GetPositions()[:, :2]
        return positions

    coordinates = _answer(positions)
    if coordinates is None:
        return None
    return [_symbol(atom, "−") for atom in mol.GetAtoms()], coordinates


def _symbol(atom: Any, minus: str) -> str:
    """Return an atom's symbol and charge, such as ``N+``."""
    charge = atom.GetFormalCharge()
    size = str(abs(charge)) if abs(charge) > 1 else ""
    return atom.GetSymbol() + size + ("", "+", minus)[int(np.sign(charge))]


def from_smiles(smiles: str, *, add_hydrogens: bool = False) -> Graph:
    """Build a graph from a SMILES string; atoms are in rdkit's order.

    Nodes are the heavy atoms, and the hydrogens that rdkit keeps (as in ``[H][H]``) or,
    with ``add_hydrogens``, all.

    Raises:
        GraphInputError: If rdkit cannot read it, or a cycle has more than
            ``MOST_RING_ATOMS`` atoms.
        MissingExtraError: If rdkit is not installed.

    Example:
        >>> from_smiles("c1ccccc1")  # doctest: +SKIP
        Graph(num_nodes=6, num_edges=6)
    """
    return from_rdkit(_readable(smiles, add_hydrogens))


def labelled_from_smiles(smiles: str, *, add_hydrogens: bool = False) -> Graph:
    """Build a labelled graph from a SMILES string; see :func:`labelled_from_rdkit`.

    Raises what :func:`from_smiles` does.
    """
    return labelled_from_rdkit(_readable(smiles, add_hydrogens))


def molecule_features(
    mol: Any,
) -> tuple[Graph, NDArray[np.float32], NDArray[np.float32]]:
    """Return the graph of an rdkit ``Mol`` and the features of its atoms and bonds.

    Elements are one-hot (with a last column for all others); then formal charge,
    aromaticity, hybridisation, membership in a ring, the number of hydrogens (also of
    those that are nodes), and the configuration of a stereocentre, R or S. Bonds have
    one-hot types and the configuration of a double bond, E or Z. These descriptors of
    Cahn, Ingold and Prelog do not depend on the order of atoms; they are 0 if the
    SMILES has no marks, or was read without them (:func:`parse_smiles`).

    Returns:
        The structure, ``x`` float32 ``[n, len(ATOM_FEATURES)]`` and ``edge_attr``
        float32 ``[2 m, len(BOND_FEATURES)]``, in the order of its ``indices``.
    """
    graph, edge_attr = bond_features(mol)
    edge_attr = np.concatenate([edge_attr, np.zeros((len(edge_attr), 2))], axis=1)
    has_stereo = mol.HasProp(_STEREO_KNOWN) and mol.GetNumAtoms() <= MOST_STEREO_ATOMS
    for bond in mol.GetBonds() if has_stereo else ():
        kind = str(bond.GetStereo())
        if kind in _DOUBLE:
            u, v = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            for a, b in ((u, v), (v, u)):
                entry = graph.indptr[a] + np.searchsorted(graph.neighbors(a), b)
                edge_attr[entry, len(BONDS) + _DOUBLE[kind]] = 1
    rows = bytearray()
    for atom in map(mol.GetAtomWithIdx, range(mol.GetNumAtoms())):
        rows += _atom_row(
            atom.GetAtomicNum(),
            atom.GetFormalCharge(),
            atom.GetIsAromatic(),
            int(atom.GetHybridization()),
            atom.IsInRing(),
            atom.GetTotalNumHs(True),  # also those that are nodes
            *(_chirality(atom) if has_stereo else (False, False)),
        )
    x = np.frombuffer(rows, dtype=np.float32).reshape(-1, len(ATOM_FEATURES))
    return graph, x, edge_attr.astype(np.float32)


@lru_cache(maxsize=4096)
def _atom_row(
    number: int, charge: int, aromatic: bool, hybridisation: int, *others: int
) -> bytes:
    """Return the features of an atom, float32 as bytes; cached, since atoms repeat."""
    row = np.zeros(len(ATOM_FEATURES), dtype=np.float32)
    row[_ELEMENT_COLUMNS.get(number, len(_ELEMENT_COLUMNS))] = 1
    kinds = hybridisation_columns(hybridisation)
    row[len(_ELEMENT_COLUMNS) + 1 :] = charge, aromatic, *kinds, *others
    return row.tobytes()


def scaffold(smiles: str) -> str:
    """Return the Bemis-Murcko scaffold of a molecule: its rings and their linkers.

    As canonical SMILES without stereochemistry; empty if there is no ring.

    Raises:
        GraphInputError: If rdkit cannot read the molecule, or finds no answer.
        MissingExtraError: If rdkit is not installed.
    """
    murcko = require("rdkit.Chem.Scaffolds.MurckoScaffold", "mol")
    mol = _readable(smiles, False)
    text: str = _needed(
        lambda: murcko.MurckoScaffoldSmiles(mol=mol, includeChirality=False), smiles
    )
    return text


def descriptor_names() -> list[str]:
    """Return the names of rdkit's descriptors, except ``Ipc``, which has no bounds."""
    descriptors = require("rdkit.Chem.Descriptors", "mol").descList
    return [name for name, _ in descriptors if name != "Ipc"]


def descriptors_of(smiles: str) -> list[float]:
    """Return the descriptors of a molecule; NaN where rdkit cannot compute one.

    Raises what :func:`scaffold` does.
    """
    package = require("rdkit.Chem.Descriptors", "mol")
    mol = _readable(smiles, False)
    values: dict[str, float] | None = _answer(
        lambda: package.CalcMolDescriptors(mol, missingVal=math.nan, silent=True)
    )
    return [float((values or {}).get(name, math.nan)) for name in descriptor_names()]


def morgan_counts(smiles: str) -> NDArray[np.uint32]:
    """Return counts of the circular substructures of a molecule, ``[2048]``.

    Morgan's of radius 0, 1 and 2, hashed to 2048 bins. Raises what :func:`scaffold`
    does.
    """
    package = require("rdkit.Chem.rdFingerprintGenerator", "mol")
    maker = package.GetMorganGenerator(radius=2, fpSize=MORGAN_BINS)
    mol = _readable(smiles, False)
    counts: NDArray[np.uint32] = _needed(
        lambda: maker.GetCountFingerprintAsNumPy(mol), smiles
    )
    return counts


def molecule_numbers(name: str) -> tuple[list[str], Callable[[str], Any]]:
    """Return the headings of ``"rdkit"`` or ``"morgan"``, and a function for a row."""
    if name == "rdkit":
        return descriptor_names(), descriptors_of
    return [f"morgan_{i}" for i in range(MORGAN_BINS)], morgan_counts


def joined_smiles(values: Sequence[Any]) -> Any:
    """Return the cells of a row that hold SMILES as one text; ``None`` if one is none.

    A single cell is returned as it is.
    """
    if len(values) == 1:
        return values[0]
    return JOINT.join(values) if all(isinstance(v, str) for v in values) else None


def shown_smiles(text: str) -> str:
    """Return the SMILES of a row as one of a mixture, for people and for files."""
    return text.replace(JOINT, ".")


def component_columns(text: str, mol: Any) -> NDArray[np.float32] | None:
    """Return from which of K columns of SMILES every atom is, one-hot ``[n, K]``.

    Args:
        text: Of :func:`joined_smiles`; each column must be a molecule by itself.
        mol: What it is together.
    """
    each: list[Any] = [parse_smiles(smiles) for smiles in text.split(JOINT)]
    if any(one is None for one in each):
        return None
    owner = np.repeat(np.arange(len(each)), [one.GetNumAtoms() for one in each])
    added = map(mol.GetAtomWithIdx, range(owner.size, mol.GetNumAtoms()))
    hydrogens = [owner[atom.GetNeighbors()[0].GetIdx()] for atom in added]
    owner = np.concatenate([owner, np.array(hydrogens, dtype=np.int64)])
    return np.eye(len(each), dtype=np.float32)[owner]


def bond_features(mol: Any) -> tuple[Graph, NDArray[np.float32]]:
    """Return the structure, and one-hot ``BONDS`` of its ``indices``, ``[2 m, 4]``."""
    graph, types = _bonds(mol)
    numbers = np.array([*BOND_NUMBERS.values()])
    return graph, (types[:, None] == numbers).astype(np.float32)


def hybridisation_columns(hybridisation: int) -> tuple[bool, ...]:
    """Return whether a hybridisation of rdkit is sp, sp2, sp3."""
    return tuple(hybridisation == kind for kind in HYBRIDISATIONS)


def _chirality(atom: Any) -> tuple[bool, bool]:
    """Return whether an atom is an R stereocentre, and whether an S one."""
    if not atom.HasProp("_CIPCode"):
        return False, False
    code = atom.GetProp("_CIPCode")
    return code == "R", code == "S"


def parse_smiles(
    text: Any, add_hydrogens: bool = False, stereo: bool = False
) -> Any | None:
    """Return the sanitised rdkit ``Mol``, or ``None`` if there is none.

    These are the steps of ``MolFromSmiles``; the last, which assigns stereochemistry,
    is taken only with ``stereo``, if the text has marks of it and the molecule at most
    ``MOST_STEREO_ATOMS`` atoms. Cycles of more than ``MOST_RING_ATOMS`` atoms are
    refused.

    Raises:
        MissingExtraError: If rdkit is not installed.
    """
    chem = require("rdkit.Chem", "mol")
    steps = chem.SmilesParserParams()
    steps.sanitize = steps.removeHs = False

    def molecule() -> Any | None:
        whole = shown_smiles(text).strip() if isinstance(text, str) else None
        mol = None if whole is None else chem.MolFromSmiles(whole, steps)
        if mol is None or _longest_cycle(mol) > MOST_RING_ATOMS:
            return None
        mol = chem.RemoveHs(mol)  # sanitises
        if mol.GetNumAtoms() == 0:
            return None
        marked = stereo and any(mark in text for mark in "@/\\")
        marked = marked and mol.GetNumAtoms() <= MOST_STEREO_ATOMS
        if marked:
            chem.AssignStereochemistry(mol, cleanIt=True, force=True)
        if add_hydrogens:
            mol = chem.AddHs(mol)
            if marked:  # with hydrogens, two neighbours of an atom may be alike
                chem.AssignStereochemistry(mol, cleanIt=True, force=True)
        return mol

    return _answer(molecule)


def _answer(ask: Callable[[], T]) -> T | None:
    """Return rdkit's answer, or ``None`` if it raises anything; its log is silent.

    It raises errors of its own, but also ``RuntimeError``, ``ValueError``,
    ``OverflowError``, ... for faulty molecules.
    """
    with require("rdkit.rdBase", "mol").BlockLogs():  # the caller raises an error
        try:
            return ask()
        except Exception:
            return None


def _needed(ask: Callable[[], T], smiles: str) -> T:
    """Return rdkit's answer, or raise."""
    answer = _answer(ask)
    if answer is None:
        raise GraphInputError(f"rdkit finds no answer for {smiles!r}; remove the row.")
    return answer


def _readable(smiles: str, add_hydrogens: bool) -> Any:
    """Return the rdkit ``Mol`` of a SMILES string, or raise."""
    mol = parse_smiles(smiles, add_hydrogens)
    if mol is None:
        limit = f" Cycles of more than {MOST_RING_ATOMS} atoms are refused."
        raise GraphInputError(
            f"{smiles!r} is not a SMILES that rdkit can read."
            + limit * (len(smiles) > MOST_RING_ATOMS)
        )
    return mol


def _bonds(mol: Any) -> tuple[Graph, NDArray[np.int64]]:
    """Return the structure and the bond type of every entry of its ``indices``.

    The matrix of bond orders takes one call, but is large for large molecules, and does
    not distinguish dative bonds and the like.
    """
    if mol is None:
        raise GraphInputError(
            "mol is None: rdkit could not build this molecule; check its SMILES."
        )
    num_atoms = mol.GetNumAtoms()
    if num_atoms > MOST_MATRIX_ATOMS or mol.HasSubstructMatch(_other_bonds()):
        row, col, types = _listed_bonds(mol)
    else:
        chem = require("rdkit.Chem", "mol")
        orders = chem.GetAdjacencyMatrix(mol, useBO=True)  # [n, n]
        row, col = np.nonzero(orders)
        types = _OF_TWICE_THE_ORDER[(2 * orders[row, col]).astype(np.int64)]
    indptr = np.zeros(num_atoms + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=num_atoms), out=indptr[1:])
    return Graph.over(indptr, col.astype(np.int32)), types


@cache
def _other_bonds() -> Any:
    """Return the query for a bond other than ``BONDS``."""
    return require("rdkit.Chem", "mol").MolFromSmarts(_OTHER_BONDS)


def _listed_bonds(mol: Any) -> tuple[NDArray[np.int64], ...]:
    """Return every bond in both directions, sorted: two atoms and the type.

    Bonds are read from their atoms: ``mol.GetBonds()`` takes quadratic time.
    """
    bonds = sorted(
        (i, bond.GetOtherAtomIdx(i), int(bond.GetBondType()))
        for i, atom in enumerate(mol.GetAtoms())
        for bond in atom.GetBonds()
    )
    return tuple(np.array(bonds, dtype=np.int64).reshape(-1, 3).T.copy())


def _longest_cycle(mol: Any) -> int:
    """Return the longest cycle that a depth-first search meets; 0 in small molecules.

    rdkit's own quick search (``FastFindRings``) overflows the stack at this size.
    """
    if mol.GetNumAtoms() <= MOST_RING_ATOMS:
        return 0
    neighbours = [
        [bond.GetOtherAtomIdx(i) for bond in atom.GetBonds()]
        for i, atom in enumerate(mol.GetAtoms())
    ]
    depth = [0] * len(neighbours)  # 0: not visited
    longest = 0
    for root in range(len(neighbours)):
        if depth[root]:
            continue
        depth[root] = 1
        path = [iter(neighbours[root])]
        while path:
            for other in path[-1]:
                if not depth[other]:
                    depth[other] = len(path) + 1
                    path.append(iter(neighbours[other]))
                    break
                longest = max(longest, len(path) + 1 - depth[other])
            else:
                path.pop()
    return longest
