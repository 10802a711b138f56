"""The one way from graphs and a config to fitted models."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sekgnn.datasets import GraphTask, NodeTask, Split
from sekgnn.datasets.graph_task import set_weights
from sekgnn.datasets.shard_task import ShardTask
from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.files import write_files
from sekgnn.kernel import clock
from sekgnn.models import Forest, GraphModel, save_model
from sekgnn.models.graph_model import check_pairs
from sekgnn.models.hop_encoder import HopEncoder
from sekgnn.nn.batch_loader import BatchLoader, BatchSource
from sekgnn.parallel import Progress
from sekgnn.training.batches import (
    ShardSource,
    encoding_cache,
    graph_source,
    seed_source,
)
from sekgnn.training.build import freeze, make_model, start_from
from sekgnn.training.checkpoint import check_checkpoint, read_checkpoint
from sekgnn.training.closed_form import (
    aim_at_the_rest,
    grow_forest,
    solve_head,
    solve_skip,
)
from sekgnn.training.config import RunConfig
from sekgnn.training.loop import EpochReport, Loop
from sekgnn.training.objective import Objective, make_objective
from sekgnn.training.predictions import Predictions, predict_batches, to_csv
from sekgnn.training.run_folder import CHECKPOINT_FILE, CURVES_FILE, MODEL_FILE
from sekgnn.training.sources import load_data
from sekgnn.training.splits import calibration_parts, make_splits
from sekgnn.training.task_note import TaskNote

_SEED_NEIGHBORS = 10
_ABSURD = 100.0  # times the loss of saying the same of all training graphs
_KEPT = 4  # sets of hops and encodings in memory; each may be as large as the data


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted model, with the weights that were kept, in evaluation mode.

    Attributes:
        training: What fitted it, and can evaluate it.
        note: What its outputs mean.
        curves: One value per epoch of everything that was measured.
        kept_epoch: The epoch, from 1, of these weights.
        seconds: Time spent training.
    """

    training: Training
    model: GraphModel
    note: TaskNote
    curves: dict[str, list[float]]
    kept_epoch: int
    seconds: float


class Training:
    """Graphs and a config, prepared once: what runs, searches and estimators fit with.

    Whatever is wrong with the config or the data shows here or in :meth:`prepare`,
    before anything is written.

    Args:
        config: What to train, and how.
        data: Graphs and targets; what ``config`` names if ``None``.
        data_root: The data folder of benchmarks; by default what ``SEKGNN_DATA`` names.
        splits: One per training; those of the config's protocol if ``None``.
        cache: Keep encodings in the user's cache folder.

    Attributes:
        data: The graphs that have a target.
        kind: The kind of task.
        splits: Positions of graphs among them, one split per training.
        calibrating: Positions of the graphs that calibrate intervals, of each.

    Raises:
        ConfigError: If a key cannot work.
        GraphInputError: If the data is wrong, or cannot be split so.
        DataNotFoundError: If benchmark data is missing and not available.

    Example:
        >>> from sekgnn.datasets import networkx_task
        >>> import networkx as nx
        >>> graphs = [nx.path_graph(n) for n in range(3, 23)]
        >>> config = RunConfig(model="gin", hidden_channels=4, epochs=2)
        >>> training = Training(config, networkx_task(graphs, list(range(20))))
        >>> trained = training.fit()
        >>> training.evaluate(trained).metrics(trained.note.objective).keys()
        dict_keys(['mae', 'mse', 'rmse', 'log10_mse', 'r2'])
    """

    def __init__(
        self,
        config: RunConfig,
        data: GraphTask | None = None,
        *,
        data_root: str | Path | None = None,
        splits: Sequence[Split] | None = None,
        cache: bool = True,
    ) -> None:
        if data is None:
            data = load_data(config, data_root)
        elif not data.name:
            data = replace(data, name=config.data or "graphs")
        self.data = _with_targets(config, data)
        if config.sample_weight is not None:
            name = config.sample_weight
            set_weights(self.data, self.data.column(name), f"column {name!r}")
        assert self.data.kind is not None  # as there are targets
        self.kind = self.data.kind
        if splits is None:
            splits = make_splits(config, self.data, data_root)
        self.splits, self.calibrating = calibration_parts(config, self.data, splits)
        self.cache = cache
        self._joined: dict[Any, BatchSource] = {}
        self._kept: dict[Any, Any] = {}
        self._set(config)

    def _set(self, config: RunConfig) -> None:
        self.config = config
        self._first: GraphModel | None = self._new_model(0)
        self.model_config = self._first.to_config()
        self.num_parameters = self._first.num_parameters * config.ensemble
        self._reads = (
            self._first.num_hops,
            self._first.encoding,
            self._first.precision,
        )
        if isinstance(self.data, NodeTask):
            check_seeds(self._first, config)
            self._num_layers = self._first.options.num_layers
        sizes = np.sort(self.data.sizes)[-config.batch_size :].tolist()
        check_pairs(self._first, sizes, self.data.name)
        goal = self.objective(0)
        self._first.check_task(goal.link, len(self.data))
        if type(self._first).check_graph is not GraphModel.check_graph:
            self.data.check(self._first.check_graph)
        if config.start_from is not None:  # what does not fit shows now
            note = TaskNote.of(self.data, goal)
            start_from(self._new_model(0), note, config.start_from)
        if config.with_forest:  # what it cannot read shows before anything is trained
            make_model(config.without_network("forest"), self.data, 0)
        for point in config.points if config.grid else ():
            self.change(config.at(point))  # likewise

    def change(self, config: RunConfig) -> Training:
        """Return the training of another config on the same graphs and splits.

        Hops and encodings are shared among all that need the same; the last few that
        were used are kept.

        Raises:
            ConfigError: If a key cannot work.
        """
        other = copy.copy(self)
        other._set(config)
        return other

    def _new_model(self, number: int, member: int = 0) -> GraphModel:
        seed, _ = fold_seeds(self.config.seed, number, member)
        model = make_model(self.config, self.data, seed)
        if self.config.freeze:
            freeze(model)
        if self.config.closed_form in ("before", "both") and model.skip is not None:
            model.skip.requires_grad_(False)  # solved: the network learns the rest
        return model

    def model(self, number: int = 0, member: int = 0) -> GraphModel:
        """Return the model of training ``number``, from 0, with its first weights."""
        first, self._first = self._first, None
        if number or member or first is None:
            return self._new_model(number, member)
        return first

    def objective(self, number: int = 0) -> Objective:
        """Return loss and metrics, with mean and scale of the training targets.

        Raises:
            ConfigError: If loss or monitor do not fit the kind of task.
        """
        y, mask = self.data.subset(self.splits[number].train).targets()
        config, comparable = self.config, self.data.has_one_unit
        goal = make_objective(
            self.kind,
            config.loss,
            config.normalize,
            y,
            mask,
            comparable,
            config.class_weight,
        )
        goal.check_monitor(config.monitor)
        return goal

    def _note(self, objective: Objective) -> TaskNote:
        """Return what outputs mean, and how neighbours are sampled."""
        limit = self.config.max_neighbors
        if isinstance(self.data, NodeTask):
            limit = seed_neighbors(limit)
        return TaskNote.of(self.data, objective, limit, self.config.seed)

    def prepare(self, progress: Progress | None = None) -> BatchSource:
        """Return the graphs with hops and encodings, found when first asked for.

        Args:
            progress: Called with (done, total) while encodings are computed.

        Raises:
            GraphInputError: If a graph cannot be used.
        """
        config, (num_hops, encoding, dtype) = self.config, self._reads
        seed = None if config.max_neighbors is None else config.seed
        key: Any = (num_hops, encoding, dtype, config.max_neighbors, seed)
        if isinstance(self.data, NodeTask):
            key = (*key, self._num_layers)
        found = self._joined.pop(key, None)
        if found is None:
            while len(self._joined) >= _KEPT:
                self._joined.pop(next(iter(self._joined)))
            cached = encoding_cache() if self.cache else None
            if isinstance(self.data, ShardTask):
                found = ShardSource(self.data, *key)
            elif isinstance(self.data, NodeTask):
                found = seed_source(
                    self.data,
                    num_hops,
                    self._num_layers,
                    encoding,
                    max_neighbors=seed_neighbors(config.max_neighbors),
                    seed=config.seed,
                    dtype=dtype,
                    cache_dir=cached,
                    progress=progress,
                )
            else:
                found = graph_source(
                    self.data.graphs,
                    num_hops,
                    encoding,
                    max_neighbors=config.max_neighbors,
                    seed=config.seed,
                    dtype=dtype,
                    cache_dir=cached,
                    progress=progress,
                )
        self._joined[key] = found  # now the last to be dropped
        return found

    def fit(
        self,
        number: int = 0,
        member: int = 0,
        *,
        output: Path | None = None,
        progress: Progress | None = None,
        report: EpochReport | None = None,
    ) -> Trained:
        """Fit the model of one split, or continue where ``output`` left off.

        A model without epochs is fitted at once.

        The epoch with the best ``config.monitor`` on validation graphs is kept where
        the config selects so, else the last one; test graphs are at most watched.

        Args:
            number: Of the split, from 0.
            member: Of the ensemble, from 0; each has seeds of its own.
            output: For checkpoint, model and curves; ``None`` writes nothing.
            progress: Called with (done, total) batches.
            report: Called with (epoch, values) after every epoch.

        Raises:
            ConfigError: If ``config`` does not fit, or the loss is not finite
                (:class:`~sekgnn.training.loop.NotFiniteError`).
            ModelFileError: If the checkpoint in ``output`` is damaged.
            OutputError: If a file cannot be written.
        """
        config, split = self.config, self.splits[number]
        objective, joined = self.objective(number), self.prepare()
        model = self.model(number, member)
        watched = getattr(split, config.watched) if config.watched else split.val[:0]

        def batches(part: NDArray[np.int64]) -> BatchLoader:
            return joined.batches(part, max(config.batch_size, 256))

        def parts() -> tuple[BatchLoader, BatchLoader]:
            return batches(split.train), batches(split.val)

        if not model.learns:
            return self._fit_at_once(model, number, member, output, report)
        saved = None
        if output is not None and (output / CHECKPOINT_FILE).exists():
            path = output / CHECKPOINT_FILE
            saved = read_checkpoint(path)
            objective = check_checkpoint(saved, model, objective, path)
        elif config.start_from is None:
            model.fit_inputs(lambda: batches(split.train))
            if config.closed_form in ("before", "both"):
                solve_skip(model, objective, *parts())
                objective = aim_at_the_rest(model, objective, batches(split.train))
        note = self._note(objective)
        if saved is None and config.start_from is not None:
            start_from(model, note, config.start_from, member)
        loop = Loop(
            model,
            objective,
            joined,
            split.train,
            watched,
            config,
            fold_seeds(config.seed, number, member)[1],
            output,
            {"task": note.to_dict()},
        )
        loop.run(saved, progress, report)
        curves, kept = loop.history.curves, loop.best_epoch
        if config.closed_form in ("after", "both"):
            solve_head(model, objective, *parts())
        if output is not None:
            save_model(model, output / MODEL_FILE, {"task": note.to_dict()})
        self._compare(curves, objective, number)
        return Trained(self, model, note, curves, kept, loop.history.seconds)

    def _fit_at_once(
        self,
        model: GraphModel,
        number: int,
        member: int,
        output: Path | None,
        report: EpochReport | None,
    ) -> Trained:
        """Fit a model without epochs; its curves have one value each."""
        objective, joined, began = self.objective(number), self.prepare(), clock()
        config, note = self.config, self._note(objective)
        split, size = self.splits[number], max(self.config.batch_size, 256)
        train, val = (joined.batches(part, size) for part in (split.train, split.val))
        model.fit_inputs(lambda: train)
        if isinstance(model, Forest):
            seed, _ = fold_seeds(self.config.seed, number, member)
            grow_forest(model, objective, train, seed)
        elif model.fits_itself:
            every = joined.batches(np.arange(len(self.data)), size)
            model.fit_at_once(objective, train, val, every, self._kept)
        else:
            solve_skip(model, objective, train, val)
        trained = Trained(self, model.eval(), note, {}, 1, clock() - began)
        row = {"train_loss": self.evaluate(trained, number, "train").loss(objective)}
        watched = config.watched
        if watched is not None:
            found = self.evaluate(trained, number, watched)
            row[f"{watched}_loss"] = found.loss(objective)
            for name, value in found.metrics(objective).items():
                row[f"{watched}_{name}"] = value
        if output is not None:
            table = to_csv(["epoch", *row], [[1, *row.values()]])
            write_files(output, {CURVES_FILE: table})
            save_model(model, output / MODEL_FILE, {"task": note.to_dict()})
        if report is not None:
            report(1, row)
        curves = {name: [value] for name, value in row.items()}
        self._compare(curves, objective, number)
        return replace(trained, curves=curves)

    def _compare(
        self, curves: dict[str, list[float]], objective: Objective, number: int
    ) -> None:
        """Warn of validation graphs that a model says absurd things of."""
        if "val_loss" not in curves:
            return
        y, mask = self.data.subset(self.splits[number].train).targets()
        nothing = torch.zeros(len(y), self.data.num_outputs, dtype=torch.float64)
        total, count = objective.loss_sum(nothing, y, mask)
        usual = max(float(total) / max(int(count), 1), *curves["train_loss"])
        last = curves["val_loss"][-1]
        if last > _ABSURD * usual:
            text = (
                f"{self.data.name}: the validation loss ended at {last:.2g}, and that "
                f"of training was {usual:.2g} at most: some validation graphs are "
                "unlike all training graphs, in degrees, sizes or targets. Leave them "
                'out, bring such graphs into training, or try norm "layer" or a '
                "smaller lr."
            )
            warnings.warn(text, GraphInputWarning, stacklevel=3)

    def evaluate(
        self, trained: Trained, number: int = 0, part: str = "test"
    ) -> Predictions:
        """Return what a model says of a part: train, val, calibration or test."""
        if part == "calibration":
            chosen = self.calibrating[number]
        else:
            chosen = getattr(self.splits[number], part)
        batches = self.prepare().batches(chosen, max(self.config.batch_size, 256))
        return predict_batches(trained.model, batches)


def seed_neighbors(given: int | None) -> int:
    """Return how many nodes of a hop are sampled in one huge graph."""
    return _SEED_NEIGHBORS if given is None else given


def check_seeds(model: GraphModel, config: RunConfig) -> None:
    """Raise ConfigError for what cannot be trained on seeds of one huge graph."""
    plain = all(isinstance(branch, HopEncoder) for branch in model.branches)
    if not (model.learns and (plain or model.takes_seeds)):
        raise ConfigError(
            f"model {model.name!r} is not trained on sampled neighbourhoods of one "
            "graph; use sek-gin, sek-gnn, k-gin, gin or graphsage."
        )
    if config.optimizer == "lbfgs" or config.with_forest:
        raise ConfigError(
            "optimizer lbfgs and with_forest need all of the data at once; leave them "
            "out for a packed graph."
        )


def fold_seeds(seed: int, number: int, member: int = 0) -> tuple[int, int]:
    """Return the seeds of weights and of order for training ``number``, from 0.

    Further members of an ensemble have seeds of their own; the first has those of a
    network alone.
    """
    own = (member,) if member else ()
    state = np.random.SeedSequence([seed, number], spawn_key=own).generate_state(2)
    return int(state[0]), int(state[1])


def _with_targets(config: RunConfig, data: GraphTask) -> GraphTask:
    """Return the graphs that have a target, and say how many have none."""
    kept = data.with_targets()
    left_out = len(data) - len(kept)
    if left_out and config.split is not None:
        raise GraphInputError(
            f"{data.name}: {left_out} graphs without a target are left out, so "
            "positions in split would mean other graphs; remove them from the data."
        )
    if left_out:
        text = f"{data.name}: {data.without_targets()} are left out."
        warnings.warn(text, GraphInputWarning, stacklevel=3)
        reasons = {**data.left_out, "graphs without a target": left_out}
        kept = replace(kept, left_out=reasons)
    return kept
