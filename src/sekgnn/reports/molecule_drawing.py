"""Drawn molecules for pages: coloured by atom, and those that a run predicts worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sekgnn.checks import require
from sekgnn.errors import MissingExtraError
from sekgnn.graphs.molecules import parse_smiles
from sekgnn.reports import html
from sekgnn.reports.run_figures import Predictions

_SIZE = 360, 260  # of a drawing, in pixels
_WORST = 6
_MOST_ATOMS = 500  # of a molecule that can still be seen


def draw_molecule(
    smiles: str,
    colours: Mapping[int, Sequence[float]] | None = None,
    *,
    add_hydrogens: bool = False,
) -> bytes | None:
    """Return a molecule as SVG; ``None`` if it cannot be read, or is far too large.

    Args:
        smiles: What to draw.
        colours: Red, green and blue of atoms, 0 to 1, by their number.
        add_hydrogens: Draw every hydrogen.

    Raises:
        MissingExtraError: If rdkit is not installed.
    """
    drawing = require("rdkit.Chem.Draw.rdMolDraw2D", "mol")
    mol: Any = parse_smiles(smiles, add_hydrogens, stereo=True)
    if mol is None or mol.GetNumAtoms() > _MOST_ATOMS:
        return None
    canvas = drawing.MolDraw2DSVG(*_SIZE)
    canvas.drawOptions().useBWAtomPalette()
    shown = {atom: tuple(colour) for atom, colour in (colours or {}).items()}
    drawing.PrepareAndDrawMolecule(
        canvas,
        mol,
        highlightAtoms=[*shown],
        highlightAtomColors=shown,
        highlightBonds=[],
    )
    canvas.FinishDrawing()
    svg: str = canvas.GetDrawingText()
    return svg.encode()


def worst_molecules(predictions: Predictions) -> list[str]:
    """Return pieces of HTML with the test molecules whose errors are largest.

    Of the first target; nothing without SMILES or rdkit, or if targets are no numbers.
    """
    texts = predictions.columns.get("smiles")
    target = predictions.targets[0]
    if texts is None:
        return []
    truth, guess = predictions.numbers(target)
    errors = np.nan_to_num(np.abs(guess - truth), nan=-1.0)
    cards = []
    for row in np.argsort(-errors, kind="stable")[:_WORST].tolist():
        try:
            image = draw_molecule(texts[row])
        except MissingExtraError:
            return []
        if image is None or errors[row] < 0:
            continue
        words = f"true {truth[row]:.4g}, predicted {guess[row]:.4g}: {texts[row]}"
        picture = html.picture(image, texts[row], "svg+xml")
        cards.append(f"<div>{picture}{html.note(words)}</div>")
    if not cards:
        return []
    title = html.heading(3, f"Test molecules with the largest errors of {target}")
    return [title, html.box("cards", cards)]
