"""The curves of a training: one value of everything per epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from lightning.pytorch import Callback

from sekgnn.kernel import clock
from sekgnn.training.curve_file import CurveFile

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
        self._since = clock()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock; write the epochs of an earlier part of the run."""
        self._since = clock()
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
        now = clock()
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
