"""Around the epochs of a training: optimizer and its rate, curves, checkpoints.

A checkpoint is written whole, and read without running code from it.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from sekgnn.checks import require
from sekgnn.errors import ConfigError, ModelFileError, OutputError
from sekgnn.files import write_atomically
from sekgnn.kernel import clock
from sekgnn.models import GraphModel
from sekgnn.training.config import RunConfig
from sekgnn.training.objective import Objective
from sekgnn.training.run_record import is_better_high

_ITERATIONS = 5  # of L-BFGS per epoch
_LEAST_RATE = 1e-6
_WRITING = 0.05  # of the time
_CHECKPOINT_KEYS = {"model", "optimizer", "best", "curves", "seconds", "scale"}


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


def make_optimizer(model: GraphModel, config: RunConfig) -> torch.optim.Optimizer:
    """Return the optimizer of what a model learns.

    Raises:
        MissingExtraError: If its package is not installed.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    if config.optimizer == "lbfgs":
        return torch.optim.LBFGS(
            parameters,
            lr=1.0,  # the line search finds the step
            max_iter=_ITERATIONS,
            max_eval=25 * _ITERATIONS,
            history_size=50,
            tolerance_grad=0.0,
            tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )
    more: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    if config.optimizer == "soap":
        package = require("pytorch_optimizer", "soap")
        soap: torch.optim.Optimizer = package.SOAP(parameters, **more)
        return soap
    adam = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.optimizer]
    # fused: one pass over all parameters, on the CPU too
    return adam(parameters, **more, fused=True)


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
                min_lr=_LEAST_RATE,
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


class Pace:
    """Says when to write again, so that writing takes at most 5 % of the time."""

    def __init__(self) -> None:
        """Let the first be written."""
        self._due = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time."""
        return clock() >= self._due

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Measure how long writing takes, which says when it is due again."""
        began = clock()
        yield
        now = clock()
        self._due = now + (now - began) * (1 / _WRITING - 1)


def write_checkpoint(content: dict[str, Any], path: Path) -> None:
    """Write a checkpoint; if that fails, an older file is unchanged.

    Args:
        content: ``model``, the weights; ``optimizer``, its state; ``best``, the weights
            to keep; ``curves`` and ``seconds`` so far; ``scale`` of the objective.
        path: Where to.

    Raises:
        OutputError: If it cannot be written.
    """
    draft = io.BytesIO()  # torch hides why a disk refuses what it writes
    torch.save(content, draft)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(draft.getbuffer()))


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a checkpoint without running code from it.

    Python's pickle, in which such files are written, can run any code when it is read;
    torch's restricted reader refuses everything but tensors and plain values.

    Raises:
        ModelFileError: If it is missing, cut short, of another version, or holds
            anything but tensors and plain values.
    """
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise ModelFileError(f"there is no checkpoint {path}.") from error
    except Exception as error:  # whatever torch makes of foreign bytes
        # torch's own words advise to load it unsafely
        raise ModelFileError(
            f"the checkpoint {path} is damaged, or holds more than tensors and plain "
            "values and was not written by sekgnn; remove it to start the run again."
        ) from error
    if not isinstance(saved, dict) or saved.keys() != _CHECKPOINT_KEYS:
        raise ModelFileError(
            f"{path} is not a checkpoint of a run, or one of an earlier version; "
            "remove it to start the run again."
        )
    return saved


def check_checkpoint(
    saved: dict[str, Any],
    model: GraphModel,
    objective: Objective,
    path: str | os.PathLike[str],
) -> Objective:
    """Return the objective that a checkpoint goes on with, if it is of this model.

    Torch lets some pass that are not: curves must be of one length, and the weights to
    keep and the means of gradients (which fused optimisers read unchecked) of the
    weights' shapes.

    Raises:
        ModelFileError: If it is of another.
    """
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    learned = [value.shape for value in model.parameters() if value.requires_grad]
    try:
        lengths = {len(curve) for curve in saved["curves"].values()}
        fits = len(lengths) == 1 and {"lr", "train_loss"} <= saved["curves"].keys()
        for weights in (saved["model"], saved["best"]):
            fits &= {name: v.shape for name, v in weights.items()} == shapes
        for number, values in saved["optimizer"]["state"].items():
            means = [values[k] for k in ("exp_avg", "exp_avg_sq") if k in values]
            fits &= all(mean.shape == learned[number] for mean in means)
        scale = tuple(saved["scale"])
        fits &= len(scale) == len(objective.scale)
        fits &= all(isinstance(s, float) and 0 < s < math.inf for s in scale)
    except (KeyError, TypeError, AttributeError, IndexError):
        fits = False
    if not fits:
        raise ModelFileError(
            f"the checkpoint {path} is not of this run; remove it to start the run "
            "again."
        )
    return replace(objective, scale=scale)
