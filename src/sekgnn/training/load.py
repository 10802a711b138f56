"""A trained model in Python: predictions for SMILES and graphs of other libraries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import require
from sekgnn.datasets import GraphTask
from sekgnn.datasets.graph_task import record_task
from sekgnn.datasets.read_task import list_task
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.molecules import joined_smiles
from sekgnn.graphs.records import smiles_records
from sekgnn.graphs.table import Column
from sekgnn.training.explain import Explainer, Explanation
from sekgnn.training.predict_file import (
    feature_columns,
    molecule_options,
    with_features,
)
from sekgnn.training.predictor import Predictor


class TrainedModel:
    """What ``sekgnn train`` has left in a run folder, to be used from Python.

    Its methods take a list of SMILES, of rdkit molecules, of PyG ``Data``, of networkx
    graphs or of :class:`~sekgnn.graphs.Graph`, and the options of :meth:`read`.
    Molecules are read as those of the training were, from their SMILES.

    Args:
        predictor: The models.

    Attributes:
        predictor: The models.
        targets: What is predicted.
        classes: The labels of a task with classes, else ``None``.
    """

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self.targets = predictor.note.targets
        self.classes = predictor.note.classes

    def predict(self, graphs: Iterable[Any], **reading: Any) -> NDArray[Any]:
        """Return a value per graph, ``[G]``, or of several targets ``[G, T]``.

        Of classes it is the predicted label; of labels that are yes or no, their
        probabilities.

        Raises:
            GraphInputError: If a graph cannot be read or does not fit the model.
        """
        mean = self._predicted(graphs, reading)[0]
        if self.classes is None:
            return mean[:, 0] if len(self.targets) == 1 else mean
        return np.array(self.classes)[self.predictor.decided(mean)]

    def probabilities(
        self, graphs: Iterable[Any], **reading: Any
    ) -> NDArray[np.float64]:
        """Return the probability of every class ``[G, C]``, or of every label.

        Raises:
            ConfigError: If the targets are numbers.
            GraphInputError: As :meth:`predict`.
        """
        if self.predictor.note.link == "none":
            raise ConfigError(
                f"{', '.join(self.targets)}: numbers have no probabilities; use "
                "predict, or intervals."
            )
        return self._predicted(graphs, reading)[0]

    def intervals(
        self, graphs: Iterable[Any], **reading: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return lower and upper ends of conformal intervals, shaped as predictions.

        Raises:
            ConfigError: If the run has none, or its targets are classes.
            GraphInputError: As :meth:`predict`.
        """
        calibration = self.predictor.calibration
        if self.predictor.note.kind != "regression":
            raise ConfigError(
                "classes have sets instead of intervals; use table, column 'set ...'."
            )
        if calibration is None or calibration.confidence is None:
            raise ConfigError(
                "there are no intervals; train with confidence (--confidence 0.9), and "
                "load the run's folder, not the model file alone."
            )
        mean, spread = self._predicted(graphs, reading)
        radii = calibration.half_widths(spread)
        ends = mean - radii, mean + radii
        if len(self.targets) > 1:
            return ends
        return ends[0][:, 0], ends[1][:, 0]

    def table(self, graphs: Iterable[Any], **reading: Any) -> dict[str, list[Any]]:
        """Return the columns that ``sekgnn predict`` writes, by their headings.

        Takes and raises what :meth:`predict` does. Numbers are texts, as in a file.
        """
        return self.predictor.columns(*self._predicted(graphs, reading))

    def explain(self, graphs: Iterable[Any], **reading: Any) -> list[Explanation]:
        """Return what every atom contributes (:class:`~sekgnn.training.Explanation`).

        Raises:
            ConfigError: If the model has no contributions, as a forest.
            GraphInputError: As :meth:`predict`.
        """
        return Explainer(self.predictor).explain(self.read(graphs, **reading))

    def read(
        self,
        graphs: Iterable[Any],
        *,
        features: Mapping[str, Sequence[Any]] | None = None,
        node_features: Sequence[str] = (),
    ) -> GraphTask:
        """Return graphs as the model reads them.

        Args:
            graphs: All of one kind.
            features: Of a run with ``features``, values for each of these columns.
            node_features: Node attributes of networkx graphs to use.

        Raises:
            GraphInputError: If one cannot be read or does not fit the model.
        """
        if isinstance(graphs, str) or not isinstance(graphs, Iterable):
            raise GraphInputError(
                f"a list of molecules or graphs is needed, got {graphs!r:.50}; write "
                '["CCO"] for one, and use sekgnn predict for a file.'
            )
        note, items = self.predictor.note, list(graphs)
        first = items[0] if items else None
        several = isinstance(first, list | tuple) and isinstance(first[0], str)
        if several or isinstance(first, str) or hasattr(first, "GetAtoms"):
            texts = [_smiles(item, i) for i, item in enumerate(items)]
            records = smiles_records(texts, **molecule_options(note))
            task = record_task("molecules", list(records))
        else:
            task = list_task(items, node_features)
        given = dict(features or {})
        for name in feature_columns(note):
            if len(given.get(name, ())) != len(task):
                raise GraphInputError(
                    f"the model reads the column {name!r}; give features="
                    f"{{{name!r}: [...]}}, a value for each of the {len(task)} graphs."
                )
        columns: dict[Column, Any] = {name: tuple(v) for name, v in given.items()}
        task = with_features(replace(task, columns=columns), note)
        self.predictor.check(task, task.name or "the input")
        return task

    def _predicted(
        self, graphs: Iterable[Any], reading: dict[str, Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        return self.predictor.predict_with_spread(self.read(graphs, **reading).graphs)

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(m.name for m in self.predictor.models))
        return f"{type(self).__name__}({names}: {', '.join(self.targets)})"


def _smiles(molecule: Any, number: int) -> str:
    """Return a SMILES string, that of an rdkit molecule, or several as one."""
    if isinstance(molecule, str):
        return molecule
    if isinstance(molecule, list | tuple):  # of a model of several molecules per row
        return str(joined_smiles(molecule))
    if not hasattr(molecule, "GetAtoms"):
        raise GraphInputError(
            f"graph {number} is {type(molecule).__name__}, graph 0 is a molecule; all "
            "must be SMILES or rdkit molecules."
        )
    text: str = require("rdkit.Chem", "mol").MolToSmiles(molecule)
    return text


def load(path: str | os.PathLike[str], accelerator: str = "auto") -> TrainedModel:
    """Return the trained model in a run folder or a model file; runs no code from it.

    Args:
        path: What ``sekgnn train`` wrote, or the model file in it.
        accelerator: Device to predict on.

    Raises:
        ModelFileError: If there is none, or it is damaged or foreign.
        ConfigError: If it predicts for nodes or links, or there is no such device.
    """
    predictor = Predictor.load(path, accelerator)
    level = predictor.models[0].level
    if level != "graph":
        raise ConfigError(
            f"{path} predicts targets of a {level}; use sekgnn predict, or "
            "sekgnn.training.predictor.Predictor.predict_items."
        )
    return TrainedModel(predictor)
