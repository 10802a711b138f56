"""What epochs leave: curves, the learning rate of the next, the best so far."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from sekgnn.errors import ConfigError, OutputError
from sekgnn.training.config import RunConfig
from sekgnn.training.run_record import is_better_high


class History:
    """The curves of a training, one value of everything per epoch, and their file.

    Args:
        file: Where a line is written per epoch; ``None`` for none.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.curves: dict[str, list[float]] = {}
        self.seconds = 0.0

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return len(self.curves.get("train_loss", ()))

    def rows(self) -> Iterator[dict[str, float]]:
        """Yield the values of every epoch."""
        for row in zip(*self.curves.values(), strict=True):
            yield dict(zip(self.curves, row, strict=True))

    def add(self, values: dict[str, float], seconds: float) -> None:
        """Add the values of an epoch, and the time it took."""
        for name, value in values.items():
            self.curves.setdefault(name, []).append(value)
        self.seconds += seconds

    def write(self, first: int) -> None:
        """Write the epochs after the first so many, which are in the file.

        Raises:
            OutputError: If that is impossible.
        """
        if self.file is None:
            return
        rows = zip(
            range(first + 1, self.epochs + 1),
            *(curve[first:] for curve in self.curves.values()),
            strict=True,
        )
        mode = "a" if first else "w"
        try:
            with self.file.open(mode, encoding="utf-8", newline="") as lines:
                writer = csv.writer(lines, lineterminator="\n")
                if not first and self.curves:
                    writer.writerow(["epoch", *self.curves])
                writer.writerows(rows)
        except OSError as error:
            raise OutputError(f"cannot write {self.file}: {error.strerror}.") from error


class Rate:
    r"""Sets the learning rate of every epoch.

    It depends on the number of the epoch and on the curves before it alone, so that a
    continued training has the rates of one that was not interrupted. Epoch e of E,
    from 0, has the rate of the first times

    - *cosine:* :math:`s + (1 - s)(1 + \cos(\pi e / (E - 1))) / 2`, where s is
      ``final_lr``;
    - *step:* :math:`c^{\lfloor e / p \rfloor}`, where c is ``plateau_factor`` and p
      ``plateau_patience``;
    - *plateau:* c once more whenever the validation loss, or the training loss where
      none is watched, has not fallen for more than p epochs.

    L-BFGS has no rate, as it searches along lines.
    """

    def __init__(self, config: RunConfig, optimizer: torch.optim.Optimizer) -> None:
        self.config, self.optimizer = config, optimizer
        self.schedule = config.schedule if config.optimizer != "lbfgs" else "constant"
        self.loss = "val_loss" if config.watched == "val" else "train_loss"
        self.plateau: Any = None
        if self.schedule == "plateau" and config.plateau_factor < 1:
            self.plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
                optimizer,
                factor=config.plateau_factor,
                patience=config.plateau_patience,
                min_lr=config.min_lr,
            )

    def start_epoch(self, epoch: int) -> None:
        """Set the rate of an epoch, from 0, where its number decides."""
        config = self.config
        if self.schedule == "cosine":
            done = epoch / max(1, config.epochs - 1)
            cosine = (1 + math.cos(math.pi * done)) / 2
            self._set(config.final_lr + (1 - config.final_lr) * cosine)
        elif self.schedule == "step":
            self._set(
                config.plateau_factor ** (epoch // max(1, config.plateau_patience))
            )

    def _set(self, share: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.lr * share

    def end_epoch(self, values: dict[str, float]) -> None:
        """Reduce the rate, if what was measured in an epoch says so."""
        if self.plateau is not None:
            self.plateau.step(values[self.loss])


def best_epoch(curves: dict[str, list[float]], monitor: str | None) -> int:
    """Return the epoch, from 1, with the best value of a curve, the earliest.

    Without ``monitor`` it is the last.

    Raises:
        ConfigError: If the monitor is not defined.
    """
    if monitor is None:
        return len(curves["train_loss"])
    values = curves[monitor]
    if math.isnan(values[-1]):
        raise ConfigError(
            f"{monitor} is not defined on these validation graphs, so it cannot choose "
            "the epoch; use another monitor, or more graphs."
        )
    best = max if is_better_high(monitor) else min
    return 1 + values.index(best(values))
