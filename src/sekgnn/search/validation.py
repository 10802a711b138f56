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
from sekgnn.training.training import Training

Report = Callable[[int, float], None]
"""Called with the number of epochs, over all folds, and the value so far."""


def selected_on(config: RunConfig, folds: int) -> str:
    """Return what trials are compared by, in words."""
    best = f"the best {config.monitor} over the epochs"
    value = best if config.keeps_best else f"the last {config.monitor}"
    if config.protocol == "holdout":
        return f"{value}, of the validation graphs"
    return (
        f"the mean over {folds} folds of {value}, of the validation part of each "
        "fold's training graphs"
    )


class Outcome(NamedTuple):
    """How a config did: the value of the kept epoch, and kept epochs of all folds."""

    value: float
    epochs: tuple[int, ...]
    num_parameters: int
    seconds: float


def _check_config(config: RunConfig) -> None:
    """Raise if there are no validation graphs, or several processes for a model."""
    if config.watched == "test":
        raise ConfigError(
            f"protocol {config.protocol!r} selects on the test folds, so a search "
            "would choose the config that fits the test graphs best; search with "
            "protocol holdout or nested, and use the others for the config it finds."
        )
    if config.watched is None:
        raise ConfigError(
            "a search needs validation graphs, and with protocol fixed or refit there "
            "are none; search with protocol holdout or nested and without refit, and "
            "use these for the config it finds."
        )
    if config.grid:
        raise ConfigError("grid is a search of its own; leave it out.")
    if config.averages:
        raise ConfigError(
            "a search compares single networks; leave ensemble at 1 and with_forest "
            "out, and use them for the config that the search finds."
        )
    if config.devices > 1 or config.num_machines > 1:
        raise ConfigError(
            "a search trains each model in one process; leave devices and num_machines "
            "at 1, and start several jobs."
        )


class Validation:
    """Data and splits of a search, loaded once; what trials have in common is shared.

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
        self.training = Training(config, data, data_root=data_root)
        self.data, self.splits = self.training.data, self.training.splits
        self.progress = progress

    def fingerprint(self) -> str:
        """Return a SHA-256 of what a search may look at: all but the test targets."""
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
        value so far: of this fold and of those before, averaged. What it raises ends
        the training and comes out here.

        Raises:
            ConfigError: If ``config`` cannot work, or the loss is not finite
                (:class:`~sekgnn.training.learner.NotFiniteError`).
            MemoryError: If there is not enough memory, on whatever device.
        """
        try:
            return self._value(config, report)
        except RuntimeError as error:
            lacking = "allocate memory" in str(error)  # of torch, on the CPU
            if lacking or isinstance(error, torch.cuda.OutOfMemoryError):
                raise MemoryError("not enough memory") from error
            raise

    def _value(self, config: RunConfig, report: Report | None) -> Outcome:
        training = self.training.change(config)
        training.prepare(self.progress)
        monitor = f"val_{config.monitor}"
        better = max if is_better_high(monitor) else min
        best = config.keeps_best
        bests: list[float] = []
        kept: list[int] = []
        seconds = 0.0
        for number in range(len(self.splits)):
            seen: list[float] = []

            def tell(
                epoch: int,
                values: dict[str, float],
                seen: list[float] = seen,
                before: int = number * config.epochs,
            ) -> None:
                if not math.isnan(values[monitor]):
                    seen.append(values[monitor])
                if report is not None and seen:
                    so_far = [*bests, better(seen) if best else seen[-1]]
                    report(before + epoch, sum(so_far) / len(so_far))

            done = training.fit(number, report=tell)
            bests.append(done.curves[monitor][done.kept_epoch - 1])
            kept.append(done.kept_epoch)
            seconds += done.seconds
        value = sum(bests) / len(bests)
        return Outcome(value, tuple(kept), training.num_parameters, seconds)
