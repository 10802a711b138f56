"""What a trained model's outputs mean and what it may be fed: kept in its file."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from sekgnn.datasets.graph_task import GraphTask, add_graph_features
from sekgnn.datasets.read_task import TASK_FORMATS, task_format
from sekgnn.datasets.targets import Label
from sekgnn.errors import GraphInputError, ModelFileError
from sekgnn.graphs.shards import Reader, read_manifest
from sekgnn.models import GraphModel, load_models
from sekgnn.models.model_file import read_about
from sekgnn.models.module_model import ModuleModel
from sekgnn.parsing import Size, read_as
from sekgnn.training.batches import sampled
from sekgnn.training.config import RunConfig
from sekgnn.training.objective import Objective


@dataclass(frozen=True, kw_only=True)
class TaskNote(Objective):
    """An objective, and all else that is needed beside a model to predict.

    Attributes:
        targets: Their names.
        classes: Label of every class number; ``None`` where there are none.
        units: Of the predictions, in words.
        feature_names: The columns of ``x``, if they have names.
        reader: Format and options of the file it was trained on; ``None`` for
            benchmarks and objects in memory.
        max_neighbors: Sample of every hop, or ``None``.
        sample_seed: Its seed.
    """

    targets: tuple[str, ...]
    classes: tuple[Label, ...] | None
    units: str = "as given"
    feature_names: tuple[str, ...] | None = None
    edge_feature_names: tuple[str, ...] | None = None
    reader: Annotated[dict[str, Any], Reader] | None = None
    max_neighbors: Size | None = None
    sample_seed: int = 0
    graph_feature_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: RunConfig, data: GraphTask, train: GraphTask) -> TaskNote:
        """Return the note for a model that is trained on some of the data.

        Raises:
            ConfigError: If loss or monitor do not fit the kind of task.
        """
        assert data.kind is not None  # as there are targets
        note = cls.fit(
            data.kind,
            config.loss,
            config.normalize,
            *train.targets(),
            data.has_one_unit,
            config.class_weight,
            targets=data.target_names,
            classes=data.classes,
            units=data.units,
            feature_names=data.feature_names,
            edge_feature_names=data.edge_feature_names,
            reader=data.reader,
            max_neighbors=sampled(data, config.max_neighbors),
            sample_seed=config.seed,
            graph_feature_names=data.graph_feature_names,
        )
        note.check_monitor(config.monitor)
        return note

    @property
    def features(self) -> tuple[str, ...]:
        """Columns whose numbers belong to the vector of a graph."""
        return tuple((self.reader or {}).get("features", ()))

    def add_features(self, task: GraphTask) -> GraphTask:
        """Return further graphs with the features of their own that a model reads.

        Raises:
            GraphInputError: If a value is not a number.
        """
        descriptors = (self.reader or {}).get("descriptors", "none")
        return add_graph_features(task, self.features, descriptors)

    def reader_options(
        self,
        path: str | os.PathLike[str],
        *,
        smiles: str | None = None,
        skip_invalid: bool = False,
    ) -> dict[str, Any]:
        """Return how to read further graphs, so that they mean what those here meant.

        Raises:
            GraphInputError: If the model was trained on another format.
        """
        form = task_format(Path(path))
        kept = form == "shards"
        if kept:
            form = read_manifest(Path(path))["reader"]["format"]
        trained = self.reader or {}
        known = trained.get("format")
        if known == "benchmark" and form != "json":
            raise GraphInputError(
                f"the model was trained on a benchmark, whose features {path} lacks; "
                "give graphs as JSON lines, with x as in that benchmark."
            )
        if known not in (None, "benchmark", form):
            raise GraphInputError(
                f"the model was trained on {TASK_FORMATS.get(known, known)}; {path} is "
                f"{TASK_FORMATS.get(form, form)}, whose features mean something else."
            )
        if kept:
            return {}
        if form == "smiles":
            return {
                "smiles": smiles or trained.get("smiles", "smiles"),
                "add_hydrogens": bool(trained.get("add_hydrogens", False)),
                "skip_invalid": skip_invalid,
            }
        if form == "tu" and known == "tu":
            return {
                "node_labels": _labels(self.feature_names),
                "edge_labels": _labels(self.edge_feature_names),
            }
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; weights of classes are for training alone."""
        values = asdict(self)
        del values["class_weights"]
        return values

    @classmethod
    def from_dict(cls, values: Any) -> TaskNote:
        """Return the note of :meth:`to_dict`; raise ModelFileError if it is not one."""
        try:
            note = read_as(cls, values, "task")
            note._check()
        except ValueError as error:
            raise ModelFileError(
                f"the model's task cannot be read: {error}; get the file again."
            ) from error
        return note

    def _check(self) -> None:
        """Raise ValueError if the parts do not fit together."""
        sizes = {len(self.mean), len(self.scale)}
        numbers = len(self.targets) if self.kind == "regression" else 0
        if not self.targets or sizes != {numbers}:
            raise ValueError("targets, mean and scale do not belong together")
        if self.kind in ("binary", "multiclass") and len(self.classes or ()) < 2:
            raise ValueError("it has no classes")

    @property
    def num_outputs(self) -> int:
        """How many outputs a model of this task has."""
        labelled = self.kind in ("binary", "multiclass")
        return len(self.classes or ()) if labelled else len(self.targets)


def read_models(file: Path) -> list[tuple[GraphModel, TaskNote]]:
    """Return the models in a file, each with what its outputs mean.

    Raises:
        ModelFileError: If it is damaged or foreign.
    """
    note = TaskNote.from_dict(read_about(file).get("task", {}))
    models = load_models(file)
    for model in models:
        foreign, outputs = isinstance(model, ModuleModel), model.out_channels
        if not foreign and outputs != note.num_outputs:
            raise ModelFileError(
                f"{file} is damaged: its model has {outputs} outputs, and its task "
                f"{note.num_outputs}."
            )
    return [(model, note) for model in models]


def _labels(names: tuple[str, ...] | None) -> list[int] | None:
    """Return the labels behind the one-hot columns ``label 0``, ``label 3``, ..."""
    texts = [name.removeprefix("label ") for name in names or ()
             if name.startswith("label ")]  # fmt: skip
    return [int(float(text)) for text in texts] or None
