"""Is a network worth it here? What is reached on the same splits without one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sekgnn.errors import GraphInputError
from sekgnn.models import Forest
from sekgnn.training.run_record import LEFT_OUT, FoldRecord, is_better_high
from sekgnn.training.training import Training

BASELINES = ("ridge", "forest")
_LARGEST = 1 << 27  # numbers in a table: 1 GiB


class Baseline:
    """Ridge and forest beside the training of a network.

    Args:
        training: Of the network; hops and encodings are shared with it where they are
            the same.
    """

    def __init__(self, training: Training) -> None:
        """Begin with nothing fitted."""
        self.network = training
        self._known: dict[str, Training] = {}

    def fold(self, number: int) -> dict[str, dict[str, Any]]:
        """Return the metrics of each model on split ``number``, from 0.

        These are ``test_...`` and, where the split has validation graphs, ``val_...``;
        or instead of them :data:`LEFT_OUT`, why the model cannot be fitted here.
        """
        found: dict[str, dict[str, Any]] = {}
        for name in BASELINES:
            try:
                found[name] = self._metrics(name, number)
            except (ValueError, RuntimeError, MemoryError, ImportError) as error:
                # a network that was trained for hours is worth more than its baseline
                found[name] = {LEFT_OUT: str(error) or type(error).__name__}
        return found

    def _metrics(self, name: str, number: int) -> dict[str, float]:
        if name not in self._known:
            training = self.network.change(self.network.config.without_network(name))
            _check_size(training)
            self._known[name] = training
        training = self._known[name]
        trained = training.fit(number)
        out: dict[str, float] = {}
        for part in ("val", "test"):
            if getattr(training.splits[number], part).size:
                found = training.evaluate(trained, number, part)
                metrics = found.metrics(trained.note.objective)
                out |= {f"{part}_{key}": value for key, value in metrics.items()}
        return out


def make_baseline(training: Training) -> Baseline | None:
    """Return the baseline of a network's training, if its config asks for one."""
    wanted = training.config.baseline and training.config.has_epochs
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

    Args:
        training: Of the network.
        folds: With what :meth:`Baseline.fold` found.

    Returns:
        ``metric``; ``each``, the mean over the folds per model; ``model`` and ``value``
        of the better one by the validation graphs of each fold, ``None`` where there
        are none; ``selected_on``, in words; ``left_out``, a reason per model that is
        missing. Empty if no baseline was asked for.
    """
    tables = [fold.baseline for fold in folds]
    names = [name for name in BASELINES if all(name in table for table in tables)]
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
    values = [table[name][test] for table, name in zip(tables, chosen, strict=True)]
    return {
        **out,
        "model": chosen[0] if len(counts) == 1 else ", ".join(words),
        "value": float(np.mean(values)),
        "selected_on": f"{val} of the validation graphs",
    }
