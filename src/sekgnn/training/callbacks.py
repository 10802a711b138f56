"""What happens at the end of an epoch; all of it continues from a checkpoint."""

from __future__ import annotations

import copy
import math
import multiprocessing
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback
from torch import Tensor

from sekgnn.errors import ConfigError
from sekgnn.models import GraphModel, save_model
from sekgnn.parallel import Progress
from sekgnn.training.curve_file import CurveFile
from sekgnn.training.objective import is_better_high

EpochReport = Callable[[int, dict[str, float]], None]
"""Called with the number of finished epochs and the values of the last."""


class History(Callback):
    """Collects the curves: one value of everything per epoch.

    Args:
        file: Where to write them as CSV too.
        report: Told about every epoch.
    """

    def __init__(
        self, file: CurveFile | None = None, report: EpochReport | None = None
    ) -> None:
        """Start empty."""
        self.curves: dict[str, list[float]] = {}
        self.seconds = 0.0
        self.file, self.report = file, report
        self._since = time.perf_counter()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock; write the epochs of an earlier part of the run."""
        self._since = time.perf_counter()
        if self.file is not None and trainer.is_global_zero:
            self.file.start(self.curves)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Add the values of the epoch."""
        values = {
            "lr": float(trainer.optimizers[0].param_groups[0]["lr"]),
            "train_loss": pl_module.train_loss(),
            **pl_module.measured,
        }
        for name, value in values.items():
            self.curves.setdefault(name, []).append(value)
        pl_module.log_dict(
            {name: torch.tensor(value) for name, value in values.items()}
        )
        now = time.perf_counter()
        self.seconds += now - self._since
        self._since = now
        if trainer.is_global_zero:
            if self.file is not None:
                self.file.append(values)
            if self.report is not None:
                self.report(len(self.curves["lr"]), values)

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return len(self.curves.get("lr", ()))

    def state_dict(self) -> dict[str, Any]:
        """Return the curves so far."""
        return {"curves": self.curves, "seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from there."""
        self.curves = {k: list(v) for k, v in state_dict["curves"].items()}
        self.seconds = state_dict["seconds"]


class Plateau(Callback):
    """Reduces the learning rate when a loss no longer improves.

    Lightning steps such a scheduler after it has written the checkpoint of the epoch,
    so that a continued run would miss a step; this one does it before.

    Args:
        history: Whose curve to look at.
        loss: Its name.
        patience: Epochs without gain until the rate is reduced.
        factor: By which it is multiplied; 1 does nothing.
        min_lr: Least rate.
    """

    def __init__(
        self, history: History, loss: str, patience: int, factor: float, min_lr: float
    ) -> None:
        """Keep the parts; the scheduler itself needs the optimiser."""
        self.history, self.loss = history, loss
        self.patience, self.factor, self.min_lr = patience, factor, min_lr
        self.scheduler: Any = None
        self._state: dict[str, Any] | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Make the scheduler."""
        if self.factor >= 1:
            return
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            trainer.optimizers[0],
            factor=self.factor,
            patience=self.patience,
            min_lr=self.min_lr,
        )
        if self._state is not None:
            self.scheduler.load_state_dict(self._state)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Look at the last value."""
        if self.scheduler is not None:
            self.scheduler.step(self.history.curves[self.loss][-1])

    def state_dict(self) -> dict[str, Any]:
        """Return the scheduler's state."""
        if self.scheduler is None:
            return {}
        state: dict[str, Any] = copy.deepcopy(
            {
                name: value
                for name, value in self.scheduler.state_dict().items()
                if isinstance(value, int | float | str | list) or value is None
            }
        )
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from there."""
        self._state = state_dict or None


class KeepBest(Callback):
    """Keeps the weights of the epoch with the best value of a curve, the earliest.

    Args:
        history: Whose curve to look at.
        monitor: Its name; ``None`` keeps the last epoch.
        patience: Stop after so many epochs without gain; ``None`` never stops.
        file: Where to write the model whenever it is the best so far.
        about: What to write with it.
    """

    def __init__(
        self,
        history: History,
        monitor: str | None,
        patience: int | None = None,
        file: Path | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Nothing is kept yet."""
        self.history, self.monitor = history, monitor
        self.patience, self.file, self.about = patience, file, about
        self.epoch = 0
        self.value = math.nan
        self.weights: dict[str, Tensor] = {}

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Stop at once if the part of the run before this one had decided so."""
        self._stop(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Keep the weights if they are the best."""
        epoch = self.history.epochs
        value = math.nan
        if self.monitor is not None:
            value = self.history.curves[self.monitor][-1]
            if math.isnan(value):
                raise ConfigError(
                    f"{self.monitor} is not defined on these validation graphs, so it "
                    "cannot choose the epoch; use another monitor, or more graphs."
                )
            value = -value if is_better_high(self.monitor) else value
        better = self.epoch == 0 or value < self.value
        if self.monitor is None or better:
            self.epoch, self.value = epoch, value
            self.weights = _copy(pl_module.model)
            if self.file is not None and trainer.is_global_zero:
                save_model(pl_module.model, self.file, self.about)
        self._stop(trainer)

    def _stop(self, trainer: Any) -> None:
        waited = self.history.epochs - self.epoch
        if self.patience is not None and self.epoch and waited >= self.patience:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        """Return what is kept."""
        return {"epoch": self.epoch, "value": self.value, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from there."""
        self.epoch, self.value = state_dict["epoch"], state_dict["value"]
        self.weights = dict(state_dict["weights"])


class ProgressReport(Callback):
    """Tells how many batches of the whole run are done.

    Args:
        progress: Called with (done, total).
    """

    def __init__(self, progress: Progress) -> None:
        """Keep it."""
        self.progress = progress

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *rest: Any) -> None:
        """Report a batch."""
        size = trainer.num_training_batches
        done = trainer.current_epoch * size + rest[-1] + 1
        self.progress(int(done), int(size * trainer.max_epochs))


class EndWithParent(Callback):
    """Ends a training whose parent process is gone, as after a kill -9."""

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Look for the parent."""
        parent = multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():
            raise SystemExit(1)


def _copy(model: GraphModel) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in
            model.state_dict().items()}  # fmt: skip
