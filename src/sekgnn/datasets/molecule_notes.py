"""Remarks on a table of molecules: oddities, and how they are treated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.checks import require
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.graphs.molecules import ATOM_FEATURES, parse_smiles
from sekgnn.graphs.table import data_rows, table_headings

_CHARGE = ATOM_FEATURES.index("charge")
_OTHER = ATOM_FEATURES.index("is_other")
_UNITS = re.compile(r"(^|[\W_])units?($|[\W_])", re.IGNORECASE)
_MOST_NAMED = 8
_SHOWN = 3


def molecule_notes(task: GraphTask, stereo: bool = True) -> list[str]:
    """Return remarks on a table of molecules, a line each.

    They count salts and mixtures, stereochemistry, rare elements, charges, single
    atoms, and repeated molecules with equal or different targets.

    Args:
        task: Molecules with their features.
        stereo: Whether stereochemistry was read.
    """
    texts = task.texts
    if texts is None or not len(task):
        return []
    sums = np.stack([data.x.sum(0).numpy() for data in task.graphs])  # [G, F]
    mixed = np.array(["." in text for text in texts])
    rare = sums[:, _OTHER] > 0
    marked = np.array([any(mark in text for mark in "@/\\") for text in texts])
    facts = [
        (mixed, "of several parts (salts, mixtures)", "each is one graph"),
        (marked, "with marks of stereochemistry", "read" if stereo else "not read"),
        (rare, f"with rare elements ({_elements(texts, rare)})", "read as one"),
        (sums[:, _CHARGE] != 0, "with a charge in sum", "none is neutralised"),
        (np.array(task.sizes) == 1, "of a single atom", "they have no bonds"),
    ]
    lines = [
        f"{_count(int(mask.sum()))} {what}, {_places(task, mask)}: {done}"
        for mask, what, done in facts
        if mask.any()
    ]
    return lines + _repeated(task, sums, stereo)


def bound_notes(task: GraphTask) -> list[str]:
    """Return a line for each target with values that are bounds, such as ``>5``."""
    if task.bounds is None:
        return []
    y = task.targets()[0].numpy()
    lines = []
    for t, name in enumerate(task.target_names):
        rows = np.flatnonzero(task.bounds[:, t])
        if not rows.size:
            continue
        first = rows[0]
        sign = ">" if task.bounds[first, t] > 0 else "<"
        lines.append(
            f"{rows.size:,} values of {name!r} are bounds (first "
            f"{sign}{y[first, t]:g}, {task.places[first]}): the loss of networks "
            "counts only what violates them; metrics, trees and ridge leave them out"
        )
    return lines


def unit_notes(path: Path) -> list[str]:
    """Return a line for every column of a table that names several units."""
    headings = [name for name in table_headings(path) if _UNITS.search(name)]
    lines = []
    for name in headings:
        units = sorted({str(row[2][0]) for row in data_rows(path, [name])})
        if 1 < len(units) <= _MOST_NAMED:
            lines.append(
                f"column {name!r} names several units ({', '.join(units)}): nothing is "
                "converted; give all targets one unit"
            )
    return lines


def _repeated(task: GraphTask, sums: Any, stereo: bool) -> list[str]:
    """Return a line about molecules that occur in several rows."""
    groups = [rows for rows in _same(task.texts or (), sums, stereo) if len(rows) > 1]
    if not groups:
        return []
    contrary = [rows for rows in groups if _differ(task, rows)]
    rows = sum(map(len, groups))
    line = f"{_count(len(groups))} in several rows ({rows} in all)"
    if not contrary:
        return [f"{line}, with equal targets: all rows are kept"]
    first = " and ".join(str(task.places[row]) for row in contrary[0][:_SHOWN])
    return [
        f"{line}, {len(contrary)} with different targets (first {first}): all rows are "
        "kept, so that at best their mean is learned; --split-by scaffold keeps equal "
        "molecules in one part"
    ]


def _same(texts: Sequence[str], sums: Any, stereo: bool) -> Iterator[list[int]]:
    """Yield the positions of equal molecules, compared among equal sums of atoms."""
    alike: dict[bytes, list[int]] = {}
    for position, row in enumerate(sums):
        alike.setdefault(row.tobytes(), []).append(position)
    chem = require("rdkit.Chem", "mol")
    for positions in alike.values():
        if len(positions) == 1:
            continue
        equal: dict[str, list[int]] = {}
        for position in positions:
            mol = parse_smiles(texts[position], stereo=stereo)
            equal.setdefault(chem.MolToSmiles(mol, stereo), []).append(position)
        yield from equal.values()


def _differ(task: GraphTask, rows: Sequence[int]) -> bool:
    """Return whether rows differ in a target that is present."""
    y, mask = (array.numpy()[rows] for array in task.targets())
    y = y.reshape(len(rows), -1)
    return any(
        len(np.unique(column[present])) > 1
        for column, present in zip(y.T, mask.T, strict=True)
    )


def _elements(texts: Sequence[str], chosen: Any) -> str:
    """Return the symbols of elements without a column in some molecules."""
    columns = {name.removeprefix("is_") for name in ATOM_FEATURES[:_OTHER]}
    elements: set[str] = set()
    for position in np.flatnonzero(chosen).tolist():
        mol: Any = parse_smiles(texts[position])
        elements |= {atom.GetSymbol() for atom in mol.GetAtoms()}
    symbols = sorted(elements - columns)
    return ", ".join(symbols[:_MOST_NAMED]) + ", ..." * (len(symbols) > _MOST_NAMED)


def _places(task: GraphTask, chosen: Any) -> str:
    places = [str(task.places[i]) for i in np.flatnonzero(chosen)[:_SHOWN]]
    return ", ".join(places) + ", ..." * (int(chosen.sum()) > _SHOWN)


def _count(molecules: int) -> str:
    return f"{molecules:,} molecule{'s' * (molecules != 1)}"
