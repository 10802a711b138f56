r"""Which atoms the predictions of a trained model rest on.

A prediction of values is :math:`\sum_v c_v + r`: what every atom v contributes, in the
units of the target, and the rest, which belongs to no atom. Of classes the same is
said of the logarithm of the odds.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.datasets import GraphTask
from sekgnn.errors import ConfigError, GraphInputWarning
from sekgnn.graphs.molecules import parse_smiles, shown_smiles
from sekgnn.models import GraphModel
from sekgnn.models.attribution import STEPS, contributions
from sekgnn.models.model_file import ModuleModel
from sekgnn.training.objective import Objective
from sekgnn.training.predict_file import FilePredictions, molecule_options
from sekgnn.training.predictor import Predictor


class Explanation(NamedTuple):
    """What the atoms of a molecule, or the nodes of a graph, contribute.

    Attributes:
        row: Its number in the input, from 1.
        smiles: As it stands there; ``None`` for a graph that is no molecule.
        elements: Of the atoms, in the order of ``values``; empty likewise.
        values: Contributions, float64 ``[n, T]``.
        rest: What belongs to no atom, ``[T]``.
    """

    row: int
    smiles: str | None
    elements: tuple[str, ...]
    values: NDArray[np.float64]
    rest: NDArray[np.float64]

    @property
    def predicted(self) -> NDArray[np.float64]:
        """What the explained models predict, or the logarithm of the odds, ``[T]``."""
        total: NDArray[np.float64] = self.values.sum(axis=0) + self.rest
        return total


class Explainer:
    """Says what every atom contributes to the predictions of a trained model.

    Of an ensemble it is the mean over the networks with their weights in the
    prediction. Trees of a blend have no gradients, and so no contributions: they are
    left out, and ``share`` is the weight of the models that are not.

    Args:
        predictor: The trained model.

    Attributes:
        titles: What each column of the contributions explains: the target, or one
            class of several.
        share: The weight of the explained models in the prediction.

    Raises:
        ConfigError: If no model has contributions.
    """

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        each = zip(predictor.models, predictor.weights.tolist(), strict=True)
        weights = {model: weight for model, weight in each if weight}
        known = {m: weight for m, weight in weights.items() if _is_explained(m)}
        if not known:
            raise ConfigError(
                f"{_names(weights)} cannot say what atoms contribute, and "
                "the predictions rest on nothing else; explain a run of a network, or "
                "of ridge."
            )
        self.share = sum(known.values())
        self._weights = {model: w / self.share for model, w in known.items()}
        note = predictor.note
        several = note.kind == "multiclass"
        names = note.classes if several and note.classes else note.targets
        self.titles = tuple(map(str, names))

    @property
    def unit(self) -> str:
        """What the contributions are numbers of, in words."""
        note = self.predictor.note
        if note.kind == "binary":
            return f"logarithm of the odds of {(note.classes or ())[1]}"
        return "units of the target" if note.link == "none" else "logarithm of the odds"

    @property
    def sentence(self) -> str:
        """Which part of the prediction is explained; empty if all of it is."""
        others = [m for m in self.predictor.models if not _is_explained(m)]
        if not others:
            return ""
        return (
            f"{_names(others)} ({1 - self.share:.0%} of the prediction) cannot say "
            f"what atoms contribute: explained are the networks ({self.share:.0%})."
        )

    def explain(
        self, task: GraphTask, *, steps: int = STEPS, batch_size: int = 256
    ) -> list[Explanation]:
        """Return an explanation of each graph of a task.

        Args:
            task: Graphs that fit the model, with the features of their own that it
                reads.
            steps: Of the integral (:func:`~sekgnn.models.attribution.contributions`).
            batch_size: Graphs that are computed together.
        """
        ends = np.cumsum([0, *task.sizes])
        values = np.zeros((ends[-1], len(self.titles)))
        rest = np.zeros((len(task), len(self.titles)))
        sources = self.predictor.batches(task.graphs, batch_size)
        notes = self.predictor.notes
        for note, (model, batches) in zip(notes, sources, strict=True):
            weight = self._weights.get(model)
            if weight is None:
                continue
            parts = [
                contributions(model, batch.to(model.device), steps=steps)
                for batch in batches
            ]
            nodes, others = (torch.cat(each).cpu() for each in zip(*parts, strict=True))
            values += weight * _in_units(note, nodes, constant=False)
            rest += weight * _in_units(note, others, constant=True)
        hydrogens = molecule_options(self.predictor.note)["add_hydrogens"]
        return [
            Explanation(
                task.rows[i] if task.rows else i + 1,
                None if text is None else shown_smiles(text),
                () if text is None else _elements(text, hydrogens),
                values[ends[i] : ends[i + 1]],
                rest[i],
            )
            for i, text in enumerate(task.texts or [None] * len(task))
        ]

    def explain_file(
        self,
        path: str | os.PathLike[str],
        *,
        smiles: str | Sequence[str] | None = None,
        skip_invalid: bool = False,
        steps: int = STEPS,
        chunk_size: int = 256,
    ) -> Iterator[Explanation]:
        """Yield an explanation of each graph of a file, which may be of any length.

        Args:
            path: Graphs like those the model was trained on.
            smiles: Column of the SMILES; that of the training data by default.
            skip_invalid: Leave out SMILES that rdkit cannot read, with a warning.
            steps: As for :meth:`explain`.
            chunk_size: Graphs in memory at a time.

        Raises:
            GraphInputError: If the file is wrong or does not fit the model.
        """
        file = FilePredictions(
            self.predictor, path, smiles=smiles, skip_invalid=skip_invalid, columns=()
        )
        for task, _ in file.chunks(chunk_size):
            yield from self.explain(task, steps=steps, batch_size=chunk_size)
        if file.skipped:
            text = (
                f"{len(file.skipped)} SMILES that rdkit cannot read are left out: "
                f"{', '.join(file.skipped)}."
            )
            warnings.warn(text, GraphInputWarning, stacklevel=2)


def explain(
    run: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    accelerator: str = "auto",
    **options: Any,
) -> list[Explanation]:
    """Return what the atoms of every molecule of a file contribute.

    Args:
        run: Run folder or model file.
        path: Table of SMILES, or other graphs like those of training.
        accelerator: Device to compute on.
        **options: Of :meth:`Explainer.explain_file`.

    Raises:
        ConfigError: If the model has no contributions, as a forest.
        ModelFileError: If there is no model, or it is damaged or foreign.
        GraphInputError: If the file is wrong or does not fit the model.
    """
    explainer = Explainer(Predictor.load(run, accelerator))
    return list(explainer.explain_file(path, **options))


def _is_explained(model: GraphModel) -> bool:
    if isinstance(model, ModuleModel):
        return False
    return model.learns or model.skip is not None


def _names(models: Iterable[GraphModel]) -> str:
    return " and ".join(dict.fromkeys(model.name for model in models))


def _in_units(note: Objective, outputs: Tensor, *, constant: bool) -> Any:
    """Return contributions to outputs as those to what is predicted, ``[R, T]``.

    Of values in their units, with their mean if they are the constant part; of two
    classes to the logarithm of the odds of the second, of several to each one's
    logarithm of the probability less the mean over the classes.
    """
    if note.kind == "binary":
        return (outputs[:, 1:] - outputs[:, :1]).numpy()
    if note.kind == "multiclass":
        return (outputs - outputs.mean(dim=1, keepdim=True)).numpy()
    if note.link != "none":
        return outputs.numpy()
    scaled = outputs.numpy() * np.array(note.scale)
    return scaled + np.array(note.mean) if constant else scaled


def _elements(smiles: str, add_hydrogens: bool) -> tuple[str, ...]:
    mol: Any = parse_smiles(smiles, add_hydrogens)
    return tuple(atom.GetSymbol() for atom in mol.GetAtoms())
