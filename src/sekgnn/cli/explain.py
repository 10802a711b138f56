"""``sekgnn explain``: which atoms the predictions of a trained model rest on."""

from __future__ import annotations

from pathlib import Path

from sekgnn.cli.options import (
    DEVICE,
    JSON,
    NEW_GRAPHS,
    QUIET,
    SKIP_INVALID,
    SMILES,
    THREADS,
    TRAINED_MODEL,
    option,
)
from sekgnn.cli.printing import note, progress_bar, say, say_json


def explain(
    run: Path = TRAINED_MODEL,
    data: Path = NEW_GRAPHS,
    output: Path = option(..., "folder for the table and the page", "--output", "-o"),
    target: str | None = option(
        None, "target, or class of several, to draw", shown="the first"
    ),
    top: int = option(50, "number of molecules to draw", low=1),
    smiles: list[str] | None = SMILES,
    skip_invalid: bool = SKIP_INVALID,
    threads: int = THREADS,
    accelerator: str = DEVICE,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Say which atoms predictions rest on, as numbers and as drawn molecules.

    Writes atoms.csv, a line per atom with what it contributes to each target,
    and explanation.html, the molecules with the highest predictions, drawn.
    Contributions are exact for linear models, integrated gradients of
    networks, and of an ensemble their weighted mean; trees have none. Of
    classes they are contributions to the logarithm of the odds.
    """
    import torch

    from sekgnn.reports.explanation_page import write_explanations
    from sekgnn.training.explain import Explainer
    from sekgnn.training.predictor import Predictor

    torch.set_num_threads(threads)
    explainer = Explainer(Predictor.load(run, accelerator))
    found = explainer.explain_file(data, smiles=smiles, skip_invalid=skip_invalid)
    with progress_bar("graphs", shown=not (quiet or json)) as progress:
        done = write_explanations(
            explainer,
            found,
            output,
            target=target,
            top=top,
            about={"model": str(run), "molecules": str(data)},
            progress=progress,
        )
    if explainer.sentence and not quiet:
        note(explainer.sentence)
    if json:
        values = {**done._asdict(), "share": explainer.share, "unit": explainer.unit}
        say_json(values, indent=2)
    elif not quiet:
        drawn = f", {done.drawn:,} of them drawn" if done.drawn else ""
        say(
            f"explained {done.molecules:,} graphs with {done.atoms:,} nodes{drawn}; "
            f"wrote {output}"
        )
