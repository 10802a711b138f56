"""What happens after an epoch: curves, learning rate, best weights, an early end."""

from __future__ import annotations

import copy
import csv
import math
import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor

from sekgnn.errors import ConfigError, OutputError
from sekgnn.files import write_atomically
from sekgnn.kernel import clock
from sekgnn.models import GraphModel, save_model
from sekgnn.parallel import Progress
from sekgnn.training.predictions import to_csv
from sekgnn.training.run_record import is_better_high

EpochReport = Callable[[int, dict[str, float]], None]
"""Called with the number of finished epochs and the values of the last."""


class Pace:
    """Says when to write again, so that writing takes at most a share of the time.

    Args:
        share: Of the time; 1 writes always.
    """

    def __init__(self, share: float = 0.05) -> None:
        """Let the first be written."""
        self.share, self._due = share, 0.0

    @property
    def due(self) -> bool:
        """Whether it is time."""
        return clock() >= self._due

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Take the time that it takes."""
        began = clock()
        yield
        now = clock()
        self._due = now + (now - began) * (1 / self.share - 1)


class History(Callback):
    """Collects the curves, one value of everything per epoch.

    They are written to ``file``, a line per epoch while it runs, and told ``report``.
    """

    def __init__(
        self, file: Path | None = None, report: EpochReport | None = None
    ) -> None:
        self.curves: dict[str, list[float]] = {}
        self.seconds = 0.0
        self.file, self.report = file, report
        self._since = clock()

    @property
    def epochs(self) -> int:
        """Number of finished epochs."""
        return len(self.curves.get("lr", ()))

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock; write the epochs of an earlier part of the run."""
        self._since = clock()
        if self.file is not None and trainer.is_global_zero:
            rows = zip(range(1, self.epochs + 1), *self.curves.values(), strict=True)
            content = to_csv(["epoch", *self.curves], rows) if self.curves else b""
            write_atomically(self.file, lambda draft: draft.write(content))

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Add the values of the epoch."""
        values = {
            "lr": float(trainer.optimizers[0].param_groups[0]["lr"]),
            "train_loss": pl_module.train_loss(),
            **pl_module.measured,
        }
        for name, value in values.items():
            self.curves.setdefault(name, []).append(value)
        for logger in trainer.loggers:
            logger.log_metrics(values, self.epochs)
        now = clock()
        self.seconds += now - self._since
        self._since = now
        if trainer.is_global_zero:
            if self.file is not None:
                self._append(self.file, values)
            if self.report is not None:
                self.report(self.epochs, values)

    def _append(self, file: Path, values: dict[str, float]) -> None:
        try:
            with file.open("a", encoding="utf-8", newline="") as lines:
                writer = csv.writer(lines, lineterminator="\n")
                if self.epochs == 1:
                    writer.writerow(["epoch", *values])
                writer.writerow([self.epochs, *values.values()])
        except OSError as error:
            raise OutputError(f"cannot write {file}: {error.strerror}.") from error

    def state_dict(self) -> dict[str, Any]:
        """Return the curves so far."""
        return {"curves": self.curves, "seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from there."""
        self.curves = {k: list(v) for k, v in state_dict["curves"].items()}
        self.seconds = state_dict["seconds"]


class Plateau(Callback):
    """Reduces the learning rate when a curve of ``history`` improves no longer.

    Lightning steps such a scheduler after it has written the checkpoint of the epoch,
    so that a continued run would miss a step; this one does it before. A factor of 1
    does nothing.
    """

    def __init__(
        self, history: History, loss: str, patience: int, factor: float, min_lr: float
    ) -> None:
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
        plain = (int, float, str, list, type(None))
        state = self.scheduler.state_dict()
        return copy.deepcopy({k: v for k, v in state.items() if isinstance(v, plain)})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from there."""
        self._state = state_dict or None


class RateByEpoch(Callback):
    """Sets the learning rate to its first value times ``share(epoch)``, from epoch 0.

    It depends on the epoch alone, so that a continued run has the same rates.
    """

    def __init__(self, share: Callable[[int], float]) -> None:
        self.share = share

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Set the rate of the epoch."""
        share = self.share(trainer.current_epoch)
        for group in trainer.optimizers[0].param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * share


def cosine(epoch: int, epochs: int, final: float) -> float:
    r"""Return half a cosine, 1 in the first of E epochs and s in the last.

    :math:`s + (1 - s)(1 + \cos(\pi e / (E - 1))) / 2` in epoch e.
    """
    done = epoch / max(1, epochs - 1)
    return final + (1 - final) * (1 + math.cos(math.pi * done)) / 2


class KeepBest(Callback):
    """Keeps the weights of the epoch with the best value of a curve, the earliest.

    Args:
        history: Whose curve to look at.
        monitor: Its name; ``None`` keeps the last epoch.
        patience: Stop after this many epochs without gain; ``None`` never stops.
        until_stalled: Stop when the training loss is exactly what it was.
        file: Where to write the model that is the best so far, as :class:`Pace` lets
            it; the best of all is written by whoever trains.
        about: What to write with it.
    """

    def __init__(
        self,
        history: History,
        monitor: str | None,
        patience: int | None = None,
        file: Path | None = None,
        about: Mapping[str, Any] | None = None,
        until_stalled: bool = False,
    ) -> None:
        self.history, self.monitor = history, monitor
        self.until_stalled = until_stalled
        self.patience, self.file, self.about = patience, file, about
        self.epoch = 0
        self.value = math.nan
        self.weights: dict[str, Tensor] = {}
        self.pace = Pace()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Stop at once if the part of the run before this one had decided so."""
        self._stop(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Keep the weights if they are the best; the monitor must be defined."""
        value = math.nan
        if self.monitor is not None:
            value = self.history.curves[self.monitor][-1]
            if math.isnan(value):
                raise ConfigError(
                    f"{self.monitor} is not defined on these validation graphs, so it "
                    "cannot choose the epoch; use another monitor, or more graphs."
                )
            value = -value if is_better_high(self.monitor) else value
        if self.monitor is None or self.epoch == 0 or value < self.value:
            self.epoch, self.value = self.history.epochs, value
            model: GraphModel = pl_module.model
            self.weights = {
                name: tensor.detach().cpu().clone()
                for name, tensor in model.state_dict().items()
            }
            if self.file is not None and trainer.is_global_zero and self.pace.due:
                with self.pace.writing():
                    save_model(model, self.file, self.about)
        self._stop(trainer)

    def _stop(self, trainer: Any) -> None:
        waited = self.history.epochs - self.epoch
        if self.patience is not None and self.epoch and waited >= self.patience:
            trainer.should_stop = True
        losses = self.history.curves.get("train_loss", [])[-2:]
        if self.until_stalled and len(losses) == 2 and losses[0] == losses[1]:
            trainer.should_stop = True

    def state_dict(self) -> dict[str, Any]:
        """Return what is kept."""
        return {"epoch": self.epoch, "value": self.value, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from there."""
        self.epoch, self.value = state_dict["epoch"], state_dict["value"]
        self.weights = dict(state_dict["weights"])


class Checkpoint(ModelCheckpoint):
    """Writes where a run continues from: the last epoch, and as :class:`Pace` lets it.

    Args:
        file: Where to write it.
    """

    def __init__(self, file: Path) -> None:
        """Begin with the first epoch."""
        super().__init__(
            file.parent,
            file.stem,
            save_on_train_epoch_end=True,
            enable_version_counter=False,
        )
        self.pace = Pace()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Write the checkpoint, if it is time to; all processes do or none."""
        last = trainer.should_stop or trainer.current_epoch + 1 >= trainer.max_epochs
        if trainer.strategy.broadcast(last or self.pace.due):
            with self.pace.writing():
                super().on_train_epoch_end(trainer, pl_module)


class ProgressReport(Callback):
    """Tells ``progress`` how many batches of the whole run are done."""

    def __init__(self, progress: Progress) -> None:
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
        parent: Any = multiprocessing.parent_process()
        # joblib's workers know their parent, but not how to watch it
        if parent and parent.sentinel is not None and not parent.is_alive():
            raise SystemExit(1)
