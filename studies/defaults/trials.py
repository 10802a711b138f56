"""Train every recipe on every task; score it on validation graphs that select nothing.

Test graphs are not used. The validation graphs of a split are halved: one half selects
the epoch, if the recipe does so, the other is scored. A best value over epochs on the
graphs that selected it could not be compared with a last one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sekgnn.datasets import Split
from sekgnn.errors import ConfigError
from sekgnn.files import write_files
from sekgnn.parallel import Progress
from sekgnn.provenance import package_versions, source_commit
from sekgnn.training import RunConfig, Training, load_preset
from sekgnn.training.objective import METRICS
from sekgnn.training.predictor import Predictor
from sekgnn.training.run import PACKAGES

_VALUES = {"hidden_channels": 32, "num_hops": 2, "num_shells": 2, "walk_length": 6,
           "aggregate": "moments", "epochs": 20}  # fmt: skip
_CLASSES = {"protocol": "nested", "folds": 5, "val_fraction": 0.3,
            "hidden_channels": 16, "batch_size": 32, "epochs": 30}  # fmt: skip
_ALL = {"num_layers": 2, "lr": 2e-3}
TASKS: dict[str, dict[str, Any]] = {
    "triangle": {"data": "counting", "target": "triangle", **_VALUES, **_ALL},
    "cycle4": {"data": "counting", "target": "cycle4", **_VALUES, **_ALL},
    "spectral_radius": {
        "data": "graph_property", "target": "spectral_radius", **_VALUES, **_ALL,
    },
    "MUTAG": {"data": "MUTAG", **_CLASSES, **_ALL},
    "BZR": {"data": "BZR", **_CLASSES, **_ALL},
}  # fmt: skip
"""Data, encoding and size of the networks; all other keys are the defaults."""

CHANGES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "standardize none": {"standardize": "none"},
    "standardize rotate": {"standardize": "rotate"},
    "skip": {"skip": True},
    "head mlp": {"head": "mlp"},
    "schedule constant": {"schedule": "constant"},
    "schedule cosine, keep last": {"schedule": "cosine", "keep": "last"},
}
"""One change of the defaults each."""


def recipes(task: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the recipes of a task: single changes, and the preset for its kind."""
    if task.get("protocol") == "nested":
        small = load_preset("small")
        single = {**small, "ensemble": 1, "refit": False}
        return {**CHANGES, "preset small, one network": single, "preset small": small}
    lbfgs = {**load_preset("lbfgs"), "epochs": 15}
    adam = {**lbfgs, "optimizer": "adam", "epochs": 20, "batch_size": 64}
    return {**CHANGES, "preset lbfgs by adam": adam, "preset lbfgs": lbfgs}


@dataclass(frozen=True)
class Trial:
    """The scores of a recipe on a task.

    Attributes:
        task: Name of the task.
        recipe: Name of the recipe.
        config: All config keys, including the seed.
        metric: The first metric of the kind of task.
        scores: Score on the scored half of the validation graphs, one per split.
        kept_epochs: Epoch of the first network, one per split.
        seconds: CPU time of training.
    """

    task: str
    recipe: str
    config: dict[str, Any]
    metric: str
    scores: tuple[float, ...]
    kept_epochs: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class Defaults:
    """All trials, with versions and commit."""

    trials: tuple[Trial, ...]
    versions: dict[str, str]
    commit: str | None

    def to_json(self) -> str:
        """Return the record as JSON."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def read(cls, file: Path) -> Defaults:
        """Return the record in a file.

        Raises:
            ConfigError: If the file has other contents.
        """
        try:
            values = json.loads(file.read_text("utf-8"))
            trials = [_trial(trial) for trial in values.pop("trials")]
            return cls(tuple(trials), **values)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"{file} is no record of this study: {error}") from None


def _trial(values: dict[str, Any]) -> Trial:
    """Return a trial from JSON values."""
    lists = {name: tuple(values[name]) for name in ("scores", "kept_epochs")}
    return Trial(**{**values, **lists})


def halved(split: Split, seed: int, limit: int) -> Split:
    """Return a split without test graphs, with halved validation graphs.

    Args:
        split: A split of the task's protocol.
        seed: Seed of the halves and of the choice of training graphs.
        limit: Largest number of training graphs.

    Returns:
        A split whose ``test`` is the scored half.
    """
    rng = np.random.default_rng(seed)
    train, val = rng.permutation(split.train)[:limit], rng.permutation(split.val)
    return Split(np.sort(train), np.sort(val[::2]), np.sort(val[1::2]))


def run_trial(base: Training, task: str, recipe: str, config: RunConfig) -> Trial:
    """Train a recipe on every split of a task and score it."""
    training = base.change(config)
    if config.refit:
        training.splits = [
            Split(np.concatenate([s.train, s.val]), s.val[:0], s.test)
            for s in training.splits
        ]
    metric = METRICS[training.kind][0]
    training.prepare()
    began, scores, kept_epochs = time.process_time(), [], []
    for number in range(len(training.splits)):
        members = training.fit_members(number)
        outputs = [trained.evaluate() for trained in members]
        goal = members[0].note
        mean = torch.from_numpy(Predictor.of(members).join(o.out for o in outputs)[0])
        scores.append(goal.metrics(mean, outputs[0].y, outputs[0].mask)[metric])
        kept_epochs.append(members[0].kept_epoch)
    seconds = round(time.process_time() - began, 1)
    keys = config.to_dict()
    return Trial(task, recipe, keys, metric, tuple(scores), tuple(kept_epochs), seconds)


def configs(tasks: Sequence[str], seeds: int) -> Iterator[tuple[str, str, RunConfig]]:
    """Yield names of task and recipe, and the config, of every trial."""
    for seed in range(seeds):
        for task in tasks:
            for name, keys in recipes(TASKS[task]).items():
                values = {**TASKS[task], **keys, "seed": seed}
                yield task, name, RunConfig.from_dict(values)


def run_trials(
    file: Path,
    tasks: Sequence[str] = tuple(TASKS),
    seeds: int = 1,
    *,
    limit: int = 1500,
    data_root: str | Path | None = None,
    progress: Progress | None = None,
) -> Defaults:
    """Run the trials missing in ``file``, and write all to it.

    Args:
        file: JSON, written after every trial.
        tasks: Names of :data:`TASKS`.
        seeds: Number of seeds.
        limit: Largest number of training graphs.
        data_root: The data folder of benchmarks.
        progress: Called with (done, total) trials.
    """
    record = Defaults((), package_versions(PACKAGES), source_commit())
    if file.is_file():
        record = Defaults.read(file)
    done = {(t.task, t.recipe, t.config["seed"]): t.config for t in record.trials}
    trials = [*configs(tasks, seeds)]
    bases: dict[tuple[str, int], Training] = {}
    for count, (task, recipe, config) in enumerate(trials, start=1):
        if done.get((task, recipe, config.seed)) != config.to_dict():
            key = task, config.seed
            if key not in bases:
                plain = RunConfig.from_dict({**TASKS[task], "seed": config.seed})
                full = Training(plain, data_root=data_root)
                splits = [halved(s, config.seed, limit) for s in full.splits]
                bases = {key: Training(plain, full.data, splits=splits)}
            trial = run_trial(bases[key], task, recipe, config)
            others = [
                t
                for t in record.trials
                if (t.task, t.recipe, t.config["seed"]) != (task, recipe, config.seed)
            ]
            record = Defaults((*others, trial), record.versions, record.commit)
            write_files(file.parent, {file.name: record.to_json().encode()})
        if progress is not None:
            progress(count, len(trials))
    return record
