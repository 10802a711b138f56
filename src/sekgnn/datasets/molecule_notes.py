"""What stands out in a table of molecules, and what is done with it, in words."""

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
    """Return a line for each thing that a chemist may want to know of a table.

    Salts and mixtures, stereochemistry, elements without a column of their own,
    charges, single atoms, and molecules that occur more than once, with equal or other
    targets.

    Args:
        task: Of molecules, read with their features.
        stereo: Whether their stereochemistry was read.
    """
    texts = task.texts
    if texts is None or not len(task):
        return []
    sums = np.stack([data.x.sum(0).numpy() for data in task.graphs])  # [G, F]
    parts = np.array(["." in text for text in texts])
    others = sums[:, _OTHER] > 0
    marked = np.array([any(mark in text for mark in "@/\\") for text in texts])
    known = [
        (parts, "of several parts (salts, mixtures)", "each is one graph"),
        (marked, "with marks of stereochemistry", "read" if stereo else "not read"),
        (others, f"with rare elements ({_elements(texts, others)})", "read as one"),
        (sums[:, _CHARGE] != 0, "with a charge in sum", "none is neutralised"),
        (np.array(task.sizes) == 1, "of a single atom", "they have no bonds"),
    ]
    lines = [
        f"{_count(int(where.sum()))} {what}, {_places(task, where)}: {done}"
        for where, what, done in known
        if where.any()
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
    """Return a line for each column of a table that names several units."""
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
    """Yield the positions of equal molecules; only those of like atoms are compared."""
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
    """Tell whether some rows have different values of a target that is present."""
    y, mask = (part.numpy()[rows] for part in task.targets())
    y = y.reshape(len(rows), -1)
    return any(
        len(np.unique(column[here])) > 1
        for column, here in zip(y.T, mask.T, strict=True)
    )


def _elements(texts: Sequence[str], chosen: Any) -> str:
    """Return the symbols of elements of some molecules that have no column."""
    columns = {name.removeprefix("is_") for name in ATOM_FEATURES[:_OTHER]}
    found: set[str] = set()
    for position in np.flatnonzero(chosen).tolist():
        mol: Any = parse_smiles(texts[position])
        found |= {atom.GetSymbol() for atom in mol.GetAtoms()}
    symbols = sorted(found - columns)
    return ", ".join(symbols[:_MOST_NAMED]) + ", ..." * (len(symbols) > _MOST_NAMED)


def _places(task: GraphTask, chosen: Any) -> str:
    places = [str(task.places[i]) for i in np.flatnonzero(chosen)[:_SHOWN]]
    return ", ".join(places) + ", ..." * (int(chosen.sum()) > _SHOWN)


def _count(molecules: int) -> str:
    return f"{molecules:,} molecule{'s' * (molecules != 1)}"
