"""The CSV parts of the package qm9pack: SMILES and the twelve targets."""

from __future__ import annotations

import csv
import importlib.util
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sekgnn.errors import DataNotFoundError, GraphInputError, MissingExtraError

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
_SMILES, _ATOMS = "SMILES", "N_atoms"


@dataclass(frozen=True)
class QM9Row:
    """One molecule.

    Attributes:
        place: File and line, for messages.
        smiles: The molecule.
        num_atoms: Number of its atoms, hydrogens included.
        targets: The twelve numbers.
    """

    place: str
    smiles: str
    num_atoms: int
    targets: tuple[float, ...]


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
                f"{file} does not exist; needed are {', '.join(_PARTS)} of qm9pack."
            )
    return files


def read_qm9(files: list[Path], limit: int | None = None) -> Iterator[QM9Row]:
    """Yield the molecules of the parts, in order, at most ``limit`` of them.

    Raises:
        GraphInputError: If a column is missing, or a field is no number; names file,
            line and column.
    """
    return islice((row for file in files for row in _read_part(file)), limit)


def _read_part(file: Path) -> Iterator[QM9Row]:
    names = [_SMILES, _ATOMS, *(target.column for target in QM9_TARGETS)]
    with file.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, strict=True)
        try:
            heading = [name.strip() for name in next(reader, [])]
            missing = [name for name in names if name not in heading]
            if missing:
                raise GraphInputError(
                    f"{file} has no column {missing[0]!r}; its columns are {heading}. "
                    "It should be a part of qm9pack 1.0.3."
                )
            columns = [heading.index(name) for name in names]
            for fields in reader:
                place = f"{file}, line {reader.line_num}"
                if len(fields) != len(heading):
                    raise GraphInputError(
                        f"{place}: {len(fields)} fields, but the heading has "
                        f"{len(heading)}; the file may be cut short."
                    )
                smiles, *numbers = (fields[column].strip() for column in columns)
                atoms, *targets = map(_number, [place] * 13, names[1:], numbers)
                yield QM9Row(place, smiles, int(atoms), tuple(targets))
        except csv.Error as error:
            raise GraphInputError(
                f"{file}, line {reader.line_num}: {error}."
            ) from error


def _number(place: str, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise GraphInputError(f"{place}, column {column!r}: {text!r} is no number.")
    return value
