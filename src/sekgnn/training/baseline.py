"""Is a network worth it here? What is reached on the same splits without one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from sekgnn.datasets import NodeTask
from sekgnn.datasets.graph_task import Y_WEIGHT
from sekgnn.errors import GraphInputError
from sekgnn.graphs.molecules import morgan_counts
from sekgnn.models import Forest
from sekgnn.training.closed_form import solve_linear
from sekgnn.training.objective import Objective
from sekgnn.training.predictions import Rows
from sekgnn.training.run_record import LEFT_OUT, FoldRecord, is_better_high
from sekgnn.training.training import Training

BASELINES = ("ridge", "forest", "morgan-ridge", "morgan-forest")
"""Models on pooled encodings and, of molecules, on Morgan counts."""
_LARGEST = 1 << 27  # numbers in a table: 1 GiB
_MOST_MOLECULES = 20_000  # beyond, trees of thousands of counts take many minutes


class Baseline:
    """Ridge and forest beside the training of a network.

    Both are fitted to pooled encodings and, where the data are SMILES, to counts of
    Morgan's substructures, which chemists would begin with. Hops and encodings are
    shared with the network where they are the same.
    """

    def __init__(self, training: Training) -> None:
        self.network = training
        self._known: dict[str, Training] = {}
        self._counts: NDArray[np.uint32] | None = None

    def fold(self, number: int) -> dict[str, dict[str, Any]]:
        """Return the metrics of each model on split ``number``, from 0.

        These are ``test_...`` and, where the split has validation graphs, ``val_...``;
        or instead of them :data:`LEFT_OUT`, why the model cannot be fitted here.
        """
        tables: dict[str, dict[str, Any]] = {}
        molecules = self.network.data.texts is not None
        for name in BASELINES if molecules else BASELINES[:2]:
            try:
                kind = name.removeprefix("morgan-")
                if kind == name:
                    tables[name] = self._metrics(name, number)
                else:
                    counts = self._morgan_counts()
                    tables[name] = count_metrics(self.network, number, kind, counts)
            except (ValueError, RuntimeError, MemoryError, ImportError) as error:
                # a network that was trained for hours is worth more than its baseline
                tables[name] = {LEFT_OUT: str(error) or type(error).__name__}
        return tables

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
                outputs = training.evaluate(trained, number, part)
                metrics = outputs.metrics(trained.note)
                out |= {f"{part}_{key}": value for key, value in metrics.items()}
        return out

    def _morgan_counts(self) -> NDArray[np.uint32]:
        """Return the counts of every molecule, ``[G, 2048]``."""
        texts = self.network.data.texts or ()
        if len(texts) > _MOST_MOLECULES:
            raise GraphInputError(
                f"{len(texts):,} molecules are more than the {_MOST_MOLECULES:,} for "
                "which models of Morgan counts are fitted beside a network."
            )
        if self._counts is None:
            self._counts = np.array([morgan_counts(text) for text in texts])
        return self._counts


def count_metrics(
    training: Training, number: int, kind: str, counts: NDArray[Any]
) -> dict[str, float]:
    """Return the metrics of a model of counts, ``[G, P]``, on one split of a training.

    ``"ridge"`` is for classes a logistic regression; the validation graphs choose its
    penalty. ``"forest"`` has 100 trees that look at a third of the counts in every
    node.
    """
    goal, split = training.objective(number), training.splits[number]
    y, mask = training.data.targets()
    weights = [data[Y_WEIGHT] for data in training.data.graphs if Y_WEIGHT in data]
    graph = torch.arange(len(counts))
    every = Rows(
        graph,
        torch.zeros_like(graph),
        torch.from_numpy(counts.astype(np.float64)),
        y,
        mask,
        torch.cat(weights) if weights else torch.ones(len(graph)),
    )
    parts = {
        part: every.chosen(torch.from_numpy(np.sort(getattr(split, part))))
        for part in ("train", "val", "test")
        if getattr(split, part).size
    }
    train, width = parts.pop("train"), training.data.num_outputs
    if kind == "ridge":
        predict = _ridge(goal, width, train, parts.get("val"))
    else:
        predict = _forest(goal, width, train, training.config.seed)
    out: dict[str, float] = {}
    for part, rows in parts.items():
        metrics = goal.metrics(predict(rows.out), rows.y, rows.mask)
        out |= {f"{part}_{name}": value for name, value in metrics.items()}
    return out


def _ridge(
    goal: Objective, outputs: int, train: Rows, val: Rows | None
) -> Callable[[Tensor], Tensor]:
    matrix, bias = solve_linear(goal, outputs, train, val)
    return lambda x: goal.predictions(x @ matrix.t() + bias)


def _forest(
    goal: Objective, outputs: int, train: Rows, seed: int
) -> Callable[[Tensor], Tensor]:
    """Return what predicts ``[R, T]`` from ``[R, P]``: numbers, or probabilities.

    Trees of indicators predict shares. Classes have their trees in common, so that
    shares add up to 1; other targets have trees of their own.
    """
    from sklearn import ensemble  # takes a while

    weights = goal.weights(train.y, train.weight)
    if weights is not None:
        weights = weights.expand(len(weights), outputs)
    classes = train.y.dim() == 1
    y = F.one_hot(train.y, outputs) if classes else train.y
    grown = []
    for first in range(1 if classes else outputs):
        here = train.mask[:, first]
        wanted = y[here].double().numpy()
        trees = ensemble.RandomForestRegressor(
            100, max_features=1 / 3, random_state=seed, n_jobs=torch.get_num_threads()
        )
        trees.fit(
            train.out[here].float().numpy(),
            wanted if classes else wanted[:, first],
            None if weights is None else weights[here, first].double().numpy(),
        )
        grown.append(trees)

    def predict(x: Tensor) -> Tensor:
        columns = [trees.predict(x.float().numpy()) for trees in grown]
        return torch.from_numpy(np.column_stack(columns))

    return predict


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
    ``selected_on``, in words; ``left_out``, a reason per model that is missing. Empty
    if no baseline was asked for.
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
