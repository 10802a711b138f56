"""What atoms contribute to predictions: as a table, and as drawn molecules."""

from __future__ import annotations

import csv
import heapq
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_positive, require
from sekgnn.files import as_cell, atomic_path, make_folder, write_atomically
from sekgnn.graphs.molecules import parse_smiles
from sekgnn.parallel import Progress
from sekgnn.reports.html import box, facts, note, page, picture
from sekgnn.training.explain import Explainer, Explanation

ATOMS_FILE = "atoms.csv"
PAGE_FILE = "explanation.html"
_SIZE = 360, 260  # of a drawing, in pixels
_WHITE = np.ones(3)
_MORE, _LESS = np.array([0.86, 0.37, 0.16]), np.array([0.24, 0.49, 0.79])
_HOW = (
    "An atom is orange where it raises the prediction and blue where it lowers it; the "
    "colour is full at the largest contribution on this page. Contributions of a "
    "molecule and what belongs to no atom add up to what the explained model predicts. "
    "They are exact for linear models and integrated gradients of networks: they say "
    "what this model computes, not what is true of the molecule."
)


class Written(NamedTuple):
    """How much was explained: molecules, their atoms, and how many were drawn."""

    molecules: int
    atoms: int
    drawn: int


def write_explanations(
    explainer: Explainer,
    explanations: Iterable[Explanation],
    output: str | os.PathLike[str],
    *,
    target: str | None = None,
    top: int = 50,
    about: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> Written:
    """Write a line per atom to ``atoms.csv``, and draw molecules in one page.

    Columns of the table are ``row``, ``atom`` (its number in the SMILES, from 0, as in
    rdkit), ``element`` and the contribution to each target. The last line of a molecule
    has no atom: ``rest`` belongs to none. The page ``explanation.html`` shows those
    with the highest predictions; graphs that are no molecules are not drawn.

    Args:
        explainer: What made the explanations.
        explanations: Used as they come, so there may be any number.
        output: Folder for the files.
        target: One of the explainer's titles to draw; by default the first.
        top: Number of molecules to draw.
        about: Facts for the head of the page.
        progress: Called with the number of molecules so far.

    Raises:
        ConfigError: If there is no such target.
        OutputError: If a file cannot be written.
    """
    titles = explainer.titles
    drawn = titles[0] if target is None else target
    column = titles.index(check_choice("target", drawn, titles))
    check_positive("top", top)
    folder = make_folder(Path(output))
    molecules = atoms = 0

    def written(lines: Any) -> Iterator[Explanation]:
        nonlocal molecules, atoms
        named = [as_cell(f"contribution {title}") for title in titles]
        lines.writerow(["row", "atom", "element", *named])
        for one in explanations:
            lines.writerows(_lines(one))
            molecules += 1
            atoms += len(one.values)
            if progress is not None:
                progress(molecules, 0)
            yield one

    with (
        atomic_path(folder / ATOMS_FILE) as draft,
        draft.open("w", encoding="utf-8", newline="") as file,
    ):
        shown = heapq.nlargest(
            top,
            written(csv.writer(file, lineterminator="\n")),
            key=lambda one: one.predicted[column],
        )
    shown = [one for one in shown if one.smiles is not None]
    if shown:
        known = {**(about or {}), "target": f"{drawn}, in {explainer.unit}"}
        content = _page(explainer, shown, column, known)
        write_atomically(folder / PAGE_FILE, content.encode())
    return Written(molecules, atoms, len(shown))


def _lines(one: Explanation) -> Iterator[list[Any]]:
    elements = one.elements or [""] * len(one.values)
    rows = (*enumerate(elements), ("", "rest"))
    for (atom, element), values in zip(rows, [*one.values, one.rest], strict=True):
        yield [one.row, atom, element, *(f"{value:.7g}" for value in values)]


def _page(
    explainer: Explainer,
    shown: Sequence[Explanation],
    column: int,
    known: dict[str, str],
) -> str:
    largest = max(np.abs(one.values[:, column]).max() for one in shown)
    known["largest contribution"] = f"{largest:.4g}"
    cards = []
    for one in shown:
        values, rest = one.values[:, column], one.rest[column]
        text = (
            f"Row {one.row}: {values.sum() + rest:.4g} = {values.sum():.4g} of its "
            f"atoms {'+' if rest >= 0 else '−'} {abs(rest):.4g} of none. {one.smiles}"
        )
        image = picture(draw_atoms(one, column, largest), str(one.smiles), "svg+xml")
        cards.append(f"<div>{image}{note(text)}</div>")
    notes = [note(each) for each in (_HOW, explainer.sentence) if each]
    title = f"What atoms contribute to {explainer.titles[column]}"
    return page(title, [facts(known), *notes, box("cards", cards)])


def draw_atoms(one: Explanation, column: int, largest: float) -> bytes:
    """Return a molecule as SVG, its atoms coloured by what they contribute.

    Args:
        one: An explanation of a molecule.
        column: Of the contributions.
        largest: The contribution, of either sign, that has the full colour.
    """
    drawing = require("rdkit.Chem.Draw.rdMolDraw2D", "mol")
    mol: Any = parse_smiles(one.smiles)
    if mol.GetNumAtoms() != len(one.values):
        mol = parse_smiles(one.smiles, add_hydrogens=True)
    canvas = drawing.MolDraw2DSVG(*_SIZE)
    options = canvas.drawOptions()
    options.useBWAtomPalette()
    options.fillHighlights = True
    colours = {
        atom: tuple(_colour(value / largest if largest else 0.0))
        for atom, value in enumerate(one.values[:, column].tolist())
    }
    drawing.PrepareAndDrawMolecule(
        canvas,
        mol,
        highlightAtoms=list(colours),
        highlightAtomColors=colours,
        highlightBonds=[],
    )
    canvas.FinishDrawing()
    svg: str = canvas.GetDrawingText()
    return svg.encode()


def _colour(share: float) -> NDArray[np.float64]:
    """Return red, green and blue of a share of the largest contribution, -1 to 1."""
    strength = min(abs(share), 1.0)
    colour: NDArray[np.float64] = _WHITE + strength * (
        (_MORE if share > 0 else _LESS) - _WHITE
    )
    return colour
