"""What a search optimises: the validation value of a config. No test graph is read."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from sekgnn.datasets.graph_task import GraphTask
from sekgnn.errors import ConfigError
from sekgnn.parallel import Progress
from sekgnn.training.config import RunConfig
from sekgnn.training.run_record import is_better_high
from sekgnn.training.training import Trained, Training

Report = Callable[[int, float], None]
"""Called with the number of epochs, over all folds, and the value so far."""


class Outcome(NamedTuple):
    """The result of a config: the value at the kept epochs, one epoch per fold."""

    value: float
    epochs: tuple[int, ...]
    num_parameters: int
    seconds: float


class Validation:
    """Data and splits of a search, loaded once and shared by its trials.

    Raises:
        ConfigError: If the protocol selects on test graphs, or a key cannot work.
        GraphInputError: If the data is wrong, or cannot be split so.
    """

    def __init__(
        self,
        config: RunConfig,
        data_root: str | Path | None = None,
        *,
        data: GraphTask | None = None,
        progress: Progress | None = None,
    ) -> None:
        _check_config(config)
        self.config = config
        self.training = Training(config, data, data_root=data_root)
        self.data, self.splits = self.training.data, self.training.splits
        self.progress = progress

    @property
    def selected_on(self) -> str:
        """The value that trials are compared by, in words."""
        config = self.config
        value = f"the last {config.monitor}"
        if config.keeps_best:
            value = f"the best {config.monitor} over the epochs"
        if config.protocol == "holdout":
            return f"{value}, of the validation graphs"
        return (
            f"the mean over {len(self.splits)} folds of {value}, of the validation "
            "part of each fold's training graphs"
        )

    def fingerprint(self) -> str:
        """Return a SHA-256 of all that a search may look at, so of no test target."""
        digest = hashlib.sha256()
        parts = [part for split in self.splits for part in (split.train, split.val)]
        for part in parts:
            digest.update(np.sort(part).tobytes() + b"|")
        seen = np.unique(np.concatenate(parts))
        digest.update(self.data.subset(seen).fingerprint().encode())
        return digest.hexdigest()

    def check(self, config: RunConfig) -> None:
        """Raise ConfigError if a config cannot be trained on this data."""
        self.training.change(config)

    def value(self, config: RunConfig, report: Report | None = None) -> Outcome:
        """Train a config, as ``sekgnn train`` would, and return its validation value.

        ``report`` is called after every epoch with the number of epochs so far and the
        value so far: of this fold and of those before, averaged. An error that it
        raises ends the training and comes out here.

        Raises:
            ConfigError: If ``config`` cannot work, or the loss is not finite
                (:class:`~sekgnn.training.loop.NotFiniteError`).
            MemoryError: If there is not enough memory, on whatever device.
        """
        monitor = f"val_{config.monitor}"
        values: list[float] = []
        fits: list[Trained] = []
        try:
            training = self.training.change(config)
            training.prepare(self.progress)
            for number in range(len(self.splits)):
                tell = _reporter(config, values.copy(), report)
                fits.append(training.fit(number, report=tell))
                values.append(fits[-1].curves[monitor][fits[-1].kept_epoch - 1])
        except RuntimeError as error:
            lacking = "allocate memory" in str(error)  # torch's error on the CPU
            if lacking or isinstance(error, torch.cuda.OutOfMemoryError):
                raise MemoryError("not enough memory") from error
            raise
        return Outcome(
            sum(values) / len(values),
            tuple(fit.kept_epoch for fit in fits),
            training.num_parameters,
            sum(fit.seconds for fit in fits),
        )


def _reporter(
    config: RunConfig, before: list[float], report: Report | None
) -> Callable[[int, dict[str, float]], None]:
    """Return the callback of one fold; ``before`` are the values of earlier folds."""
    monitor = f"val_{config.monitor}"
    best = max if is_better_high(monitor) else min
    seen: list[float] = []

    def tell(epoch: int, measured: dict[str, float]) -> None:
        if not math.isnan(measured[monitor]):
            seen.append(measured[monitor])
        if report is not None and seen:
            so_far = [*before, best(seen) if config.keeps_best else seen[-1]]
            report(len(before) * config.epochs + epoch, sum(so_far) / len(so_far))

    return tell


def _check_config(config: RunConfig) -> None:
    """Raise if there are no validation graphs, or several processes for a model."""
    if config.watched != "val":
        raise ConfigError(
            "a search compares trials on validation graphs, and with protocol "
            f"{config.protocol!r}{' and refit' * config.refit} there are none; search "
            "with protocol holdout or nested and without refit, and use these for the "
            "config it finds."
        )
    if config.grid:
        raise ConfigError("grid is a search of its own; leave it out.")
    if config.averages or config.devices * config.num_machines > 1:
        raise ConfigError(
            "a search compares single networks, each trained in one process; leave "
            "ensemble, devices and num_machines at 1 and blend out, use them for "
            "the config that the search finds, and start several jobs."
        )
