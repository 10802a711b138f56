"""A learning rate that falls when the loss does not."""

from __future__ import annotations

import copy
from typing import Any

import torch
from lightning.pytorch import Callback

from sekgnn.training.callbacks import History


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
