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

from sekgnn.datasets import GraphTask, NodeTask, Split
from sekgnn.datasets.graph_task import set_weights
from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.files import make_folder
from sekgnn.kernel import clock
from sekgnn.models import Forest, GraphModel
from sekgnn.models.graph_model import check_pairs
from sekgnn.models.hop_encoder import HopEncoder
from sekgnn.nn.batch_loader import BatchLoader, BatchSource
from sekgnn.parallel import Progress
from sekgnn.training.build import freeze, make_model, start_from
from sekgnn.training.closed_form import (
    aim_at_the_rest,
    grow_forest,
    solve_head,
    solve_skip,
)
from sekgnn.training.config import TREES_READ, RunConfig
from sekgnn.training.data import (
    encoding_cache,
    load_data,
    model_reads,
    sampled,
    task_source,
)
from sekgnn.training.epochs import History, check_checkpoint, read_checkpoint
from sekgnn.training.loop import EpochReport, Loop, Status
from sekgnn.training.objective import Objective, save_trained
from sekgnn.training.predictions import Rows, predict_batches
from sekgnn.training.run_folder import CHECKPOINT_FILE, CURVES_FILE, member_folders
from sekgnn.training.splits import make_splits, with_calibration

_ABSURD = 100.0  # times the loss of saying the same of all training graphs
_KEPT = 4  # sets of hops and encodings in memory; each may be as large as the data


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted model, with the weights that were kept, in evaluation mode.

    Attributes:
        training: What fitted it.
        number: Of the split it was fitted to, from 0.
        note: What its outputs mean.
        curves: One value per epoch of everything that was measured.
        kept_epoch: The epoch, from 1, of these weights.
        seconds: Time spent training.
    """

    training: Training
    number: int
    model: GraphModel
    note: Objective
    curves: dict[str, list[float]]
    kept_epoch: int
    seconds: float

    def evaluate(self, part: str = "test") -> Rows:
        """Return what the model says of a part: train, val, calibration or test."""
        return predict_batches(self.model, self.training.batches(self.number, part))


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
        >>> trained.evaluate().metrics(trained.note).keys()
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
        self.splits = with_calibration(config, self.data, splits)
        self.cache = cache
        self._sources: dict[Any, BatchSource] = {}
        self._kept: dict[Any, Any] = {}
        self._set(config)

    def _set(self, config: RunConfig) -> None:
        self.config = config
        model = self._new_model(0)
        self._first: GraphModel | None = model
        self.model_config = model.to_config()
        self.num_parameters = model.num_parameters * config.ensemble
        if isinstance(self.data, NodeTask):
            check_seeds(model, config)
        self._reads = model_reads(model, self.data)
        sizes = np.sort(self.data.sizes)[-config.batch_size :].tolist()
        check_pairs(model, sizes, self.data.name)
        goal = self.objective(0)
        model.check_task(goal.link, len(self.data))
        if type(model).check_graph is not GraphModel.check_graph:
            self.data.check(model.check_graph)
        if config.start_from is not None:  # what does not fit shows now
            start_from(self._new_model(0), goal, config.start_from)
        for trees in config.blend:  # what they cannot read shows before training
            make_model(self.tree_config(trees), self.data, 0)
        for point in config.points if config.grid else ():
            self.change(config.at(point))  # likewise

    def tree_config(self, trees: str) -> RunConfig:
        """Return the config of trees beside the networks, on the same splits.

        Of molecules they read descriptors and counts (``rdkit+morgan``) in place of
        encodings, of other graphs what the networks read.
        """
        if self.data.texts is None:
            edges = bool(self.model_config.get("edge_channels"))
            return replace(self.config.without_network(trees), edge_features=edges)
        config = self.config.without_network(trees, TREES_READ)
        if trees == "forest" and self.kind == "regression":
            config = replace(config, model_options=(("max_features", 1 / 3),))
        return config

    def on(self, data: GraphTask) -> Training:
        """Return the same training on the same graphs with other features."""
        other = copy.copy(self)
        other.data, other._sources, other._kept = data, {}, {}
        other._set(replace(self.config, descriptors=TREES_READ))
        return other

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
        train = self.data.subset(self.splits[number].train)
        return Objective.of(self.config, self.data, train)

    def prepare(self, progress: Progress | None = None) -> BatchSource:
        """Return the graphs with hops and encodings, found when first asked for.

        Args:
            progress: Called with (done, total) while encodings are computed.

        Raises:
            GraphInputError: If a graph cannot be used.
        """
        limit, seed = sampled(self.data, self.config.max_neighbors), self.config.seed
        key = (self._reads, limit, None if limit is None else seed)
        source = self._sources.pop(key, None)
        if source is None:
            while len(self._sources) >= _KEPT:
                self._sources.pop(next(iter(self._sources)))
            source = task_source(
                self.data,
                self._reads,
                max_neighbors=limit,
                seed=seed,
                cache_dir=encoding_cache() if self.cache else None,
                progress=progress,
            )
        self._sources[key] = source  # now the last to be dropped
        return source

    def batches(self, number: int, part: str) -> BatchLoader:
        """Return the batches of train, val, calibration or test of a split, or all."""
        if part == "all":
            chosen = np.arange(len(self.data))
        else:
            chosen = getattr(self.splits[number], part)
        return self.prepare().batches(chosen, max(self.config.batch_size, 256))

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
            output: Folder for checkpoint, model and curves; ``None`` writes nothing.
            progress: Called with (done, total) batches.
            report: Called with (epoch, values) after every epoch.

        Raises:
            ConfigError: If ``config`` does not fit, or the loss is not finite
                (:class:`~sekgnn.training.loop.NotFiniteError`).
            ModelFileError: If the checkpoint in ``output`` is damaged.
            OutputError: If a file cannot be written.
        """
        if output is not None:
            make_folder(output)
        model, note = self.model(number, member), self.objective(number)
        told = (output, progress, report)
        fitted = self._descend if model.learns else self._solve
        trained = fitted(model, note, number, member, *told)
        if output is not None:
            save_trained(model, trained.note, output)
        self._compare(trained.curves, trained.note, number)
        return trained

    def fit_members(
        self,
        number: int = 0,
        output: Path | None = None,
        *,
        progress: Progress | None = None,
        report: EpochReport | None = None,
        status: Status | None = None,
    ) -> list[Trained]:
        """Fit the networks of one split, then the trees to blend them with.

        Takes and raises what :meth:`fit` does; ``status`` is told which is begun.
        """
        count = self.config.ensemble
        begin: Status = status or (lambda text: None)
        folders: list[Any] = [None] * count
        if output is not None:
            folders = member_folders(output, count)
        members = []
        for member, folder in enumerate(folders):
            begin(f"network {member + 1} of {count}" if count > 1 else "network")
            share = share_of(progress, member, count)
            members.append(
                self.fit(number, member, output=folder, progress=share, report=report)
            )
        for trees in self.config.blend:
            begin(trees)
            folder = None if output is None else output / trees
            beside = self.change(self.tree_config(trees))
            members.append(beside.fit(number, output=folder))
        return members

    def _descend(
        self,
        model: GraphModel,
        note: Objective,
        number: int,
        member: int,
        output: Path | None,
        progress: Progress | None,
        report: EpochReport | None,
    ) -> Trained:
        """Train a network by epochs, and solve the layers that are to be solved."""
        config, split = self.config, self.splits[number]
        train, val = (self.batches(number, part) for part in ("train", "val"))
        saved = None
        if output is not None and (output / CHECKPOINT_FILE).exists():
            path = output / CHECKPOINT_FILE
            saved = read_checkpoint(path)
            note = check_checkpoint(saved, model, note, path)
        elif config.start_from is not None:
            start_from(model, note, config.start_from, member)
        else:
            model.fit_inputs(lambda: train)
            if config.closed_form in ("before", "both"):
                solve_skip(model, note, train, val)
                note = aim_at_the_rest(model, note, train)
        loop = Loop(
            model,
            note,
            self.prepare(),
            split.train,
            getattr(split, config.watched) if config.watched else split.val[:0],
            config,
            fold_seeds(config.seed, number, member)[1],
            output,
        )
        loop.run(saved, progress, report)
        if config.closed_form in ("after", "both"):
            solve_head(model, note, train, val)
        curves, seconds = loop.history.curves, loop.history.seconds
        return Trained(self, number, model, note, curves, loop.best_epoch, seconds)

    def _solve(
        self,
        model: GraphModel,
        note: Objective,
        number: int,
        member: int,
        output: Path | None,
        progress: Progress | None,
        report: EpochReport | None,
    ) -> Trained:
        """Fit a model without epochs; its curves have one value each."""
        train, val = (self.batches(number, part) for part in ("train", "val"))
        began = clock()
        model.fit_inputs(lambda: train)
        if isinstance(model, Forest):
            seed, _ = fold_seeds(self.config.seed, number, member)
            grow_forest(model, note, train, seed)
        elif model.fits_itself:
            model.fit_at_once(note, train, val, self.batches(number, "all"), self._kept)
        else:
            solve_skip(model, note, train, val)
        trained = Trained(self, number, model.eval(), note, {}, 1, clock() - began)
        row = {"train_loss": trained.evaluate("train").loss(note)}
        watched = self.config.watched
        if watched is not None:
            rows = trained.evaluate(watched)
            row[f"{watched}_loss"] = rows.loss(note)
            for name, value in rows.metrics(note).items():
                row[f"{watched}_{name}"] = value
        history = History(None if output is None else output / CURVES_FILE)
        history.add(row, trained.seconds)
        history.write(0)
        if report is not None:
            report(1, row)
        return replace(trained, curves=history.curves)

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


def share_of(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return the progress of one of several equal fits, from 0, as that of all."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, count * total)


def check_seeds(model: GraphModel, config: RunConfig) -> None:
    """Raise ConfigError for what cannot be trained on seeds of one huge graph."""
    plain = all(isinstance(branch, HopEncoder) for branch in model.branches)
    if not (model.learns and (plain or model.takes_seeds)):
        raise ConfigError(
            f"model {model.name!r} is not trained on sampled neighbourhoods of one "
            "graph; use sek-gin, sek-gnn, k-gin, gin or graphsage."
        )
    if config.optimizer == "lbfgs" or config.blend:
        raise ConfigError(
            "optimizer lbfgs and blend need all of the data at once; leave them "
            "out for a packed graph."
        )


def fold_seeds(seed: int, number: int, member: int = 0) -> tuple[int, int]:
    """Return the seeds of weights and of order for training ``number``, from 0.

    Further members of an ensemble have seeds of their own; the first has those of a
    network alone.
    """
    key = (member,) if member else ()
    state = np.random.SeedSequence([seed, number], spawn_key=key).generate_state(2)
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
