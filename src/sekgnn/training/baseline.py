"""Is a network worth it here? What is reached on the same splits without one."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sekgnn.datasets import NodeTask
from sekgnn.datasets.graph_task import add_graph_features
from sekgnn.errors import GraphInputError
from sekgnn.fields import GRAPH_X
from sekgnn.kernel import clock
from sekgnn.models import Forest
from sekgnn.training.config import TREES, TREES_READ
from sekgnn.training.loop import Status
from sekgnn.training.paired import Outcome, paired_error
from sekgnn.training.run_record import (
    LEFT_OUT,
    PAIRED_ERROR,
    FoldRecord,
    is_better_high,
)
from sekgnn.training.training import Trained, Training

_LARGEST = 1 << 27  # numbers in a table: 1 GiB
_MOST_MOLECULES = 20_000  # beyond, their descriptors alone take minutes
_LEAST = 30.0  # seconds that they may take however fast the network was
_TREES = {"n_estimators": 100}


class Baseline:
    """Ridge and trees beside the training of a network, on the same splits.

    Ridge and a forest read pooled encodings. Where the data are SMILES, the forest and
    gradient boosting read RDKit's descriptors and Morgan counts instead, with which
    chemists would begin. None begins after they have taken longer than the network, or
    half a minute.
    """

    def __init__(self, training: Training) -> None:
        self.network = training
        self.molecules = training.data.texts is not None
        self.names = ("ridge", *(TREES if self.molecules else TREES[:1]))
        self._known: dict[str, Training] = {}
        self._described: Training | None = None

    def fold(
        self,
        number: int,
        members: Sequence[Trained] = (),
        seconds: float = math.inf,
        tested: Outcome | None = None,
        status: Status | None = None,
    ) -> dict[str, dict[str, Any]]:
        """Return the metrics of each model on split ``number``, from 0.

        These are ``test_...`` and, where the split has validation graphs, ``val_...``,
        and :data:`PAIRED_ERROR`, the standard error of the difference to what is
        ``tested``; or instead of them :data:`LEFT_OUT`, why the model is not fitted
        here.

        Args:
            number: Of the split.
            members: Models of the training, of which trees need not be fitted again.
            seconds: The time that the network took.
            tested: What the training's models together say of the test graphs.
            status: Called with the name of each model that is fitted.
        """
        tables: dict[str, dict[str, Any]] = {}
        begun = clock()
        leaving_out = None if tested is None else tested.leaving_out()
        for name in self.names:
            member = next((one for one in members if one.model.name == name), None)
            if member is None and clock() - begun > max(seconds, _LEAST):
                tables[name] = {LEFT_OUT: "it would take longer than the network."}
                continue
            if member is None and status is not None:
                status(f"baseline {name}")
            try:
                trained = member or self._fit(name, number)
                tables[name] = _metrics(trained)
                if leaving_out is not None:
                    error = paired_error(leaving_out, _tested(trained).leaving_out())
                    tables[name][PAIRED_ERROR] = error
            except (ValueError, RuntimeError, MemoryError, ImportError) as error:
                # a network that was trained for hours is worth more than its baseline
                tables[name] = {LEFT_OUT: str(error) or type(error).__name__}
        return tables

    def _fit(self, name: str, number: int) -> Trained:
        if name not in self._known:
            self._known[name] = self._training(name)
            _check_size(self._known[name])
        return self._known[name].fit(number)

    def _training(self, name: str) -> Training:
        if name == "ridge" or not self.molecules:
            return self.network.change(self.network.config.without_network(name))
        base = self.network
        if not base.config.blend:
            if self._described is None:
                self._described = self._with_descriptors()
            base = self._described
        config = base.tree_config(name)
        options = {**dict(config.model_options), **_TREES}
        return base.change(replace(config, model_options=tuple(options.items())))

    def _with_descriptors(self) -> Training:
        """Return the training on molecules that carry what trees read."""
        data = self.network.data
        if len(data) > _MOST_MOLECULES:
            raise GraphInputError(
                f"{len(data):,} molecules are more than the {_MOST_MOLECULES:,} whose "
                "descriptors are computed beside a network."
            )
        graphs = [copy.copy(graph) for graph in data.graphs]
        for graph in graphs:
            graph.pop(GRAPH_X, None)
        plain = replace(data, graphs=graphs, graph_feature_names=())
        features = self.network.config.features
        return self.network.on(add_graph_features(plain, features, TREES_READ))


def _metrics(trained: Trained) -> dict[str, float]:
    out: dict[str, float] = {}
    for part in ("val", "test"):
        if getattr(trained.training.splits[trained.number], part).size:
            metrics = trained.evaluate(part).metrics(trained.note)
            out |= {f"{part}_{key}": value for key, value in metrics.items()}
    return out


def _tested(trained: Trained) -> Outcome:
    rows = trained.evaluate()
    return Outcome(trained.note, trained.note.predictions(rows.out), rows)


def make_baseline(training: Training) -> Baseline | None:
    """Return the baseline of a network's training, if its config asks for one."""
    wanted = training.config.baseline and training.config.has_epochs
    wanted = wanted and not isinstance(training.data, NodeTask)  # they pool graphs
    return Baseline(training) if wanted else None


def _check_size(training: Training) -> None:
    """Raise if encodings or vectors would be huge."""
    model = training.model()
    fixed = model if isinstance(model, Forest) else model.skip
    assert fixed is not None  # as these models have one or the other
    size = len(training.data.targets()[0]) * fixed.features.num_features
    if model.encoding is not None:
        nodes = int(training.data.sizes.sum())
        size = max(size, nodes * model.encoding.num_features)
    if size > _LARGEST:
        raise GraphInputError(
            f"a table of {size:,} numbers is too large to make beside a network; train "
            f"with --model {training.config.model} to see what it reaches."
        )


def summarise_baseline(
    training: Training, folds: Sequence[FoldRecord]
) -> dict[str, Any]:
    """Return what the record of a network says about its baselines.

    ``metric``; ``each``, the mean over the folds per model; ``model`` and ``value`` of
    the better one by the validation graphs of each fold, ``None`` where there are none;
    ``error``, the standard error of the difference between its value and the network's
    over the test graphs of all folds, where it is known; ``selected_on``, in words;
    ``left_out``, a reason per model that is missing. Empty if no baseline was asked
    for.
    """
    tables = [fold.baseline for fold in folds]
    known = tables[0] if tables else {}
    names = [name for name in known if all(name in table for table in tables)]
    reasons = {
        name: table[name][LEFT_OUT]
        for name in names
        for table in tables
        if LEFT_OUT in table[name]
    }
    names = [name for name in names if name not in reasons]
    out: dict[str, Any] = {LEFT_OUT: reasons} if reasons else {}
    if not names:
        return out
    metric = training.objective().metric_names[0]
    test, val = f"test_{metric}", f"val_{metric}"
    each = {name: np.mean([table[name][test] for table in tables]) for name in names}
    out |= {"metric": test, "each": {name: float(v) for name, v in each.items()}}
    if any(val not in table[names[0]] for table in tables):
        return {**out, "model": None, "value": None, "selected_on": "nothing"}
    sign = 1 if is_better_high(metric) else -1

    def merit(table: dict[str, dict[str, float]], name: str) -> float:
        value = sign * table[name][val]
        return -math.inf if math.isnan(value) else value

    chosen = [max(names, key=lambda name: merit(table, name)) for table in tables]
    counts = {name: chosen.count(name) for name in names if name in chosen}
    words = [f"{name} in {count} folds" for name, count in counts.items()]
    best = [table[name] for table, name in zip(tables, chosen, strict=True)]
    errors = np.array([table.get(PAIRED_ERROR, math.nan) for table in best])
    error = float(np.sqrt((errors**2).sum())) / len(errors)
    return {
        **out,
        "model": chosen[0] if len(counts) == 1 else ", ".join(words),
        "value": float(np.mean([table[test] for table in best])),
        **({"error": error} if math.isfinite(error) else {}),
        "selected_on": f"{val} of the validation {training.config.things}",
    }
