"""The weights that a training keeps, and when it stops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback
from torch import Tensor

from sekgnn.errors import ConfigError
from sekgnn.models import GraphModel, save_model
from sekgnn.training.history import History
from sekgnn.training.objective import is_better_high


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


def _copy(model: GraphModel) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in
            model.state_dict().items()}  # fmt: skip
