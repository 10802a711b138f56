"""The Lightning module: a model, its objective, and an optimiser."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule
from torch import Tensor

from sekgnn.datasets.graph_task import Y_MASK
from sekgnn.errors import ConfigError
from sekgnn.models import GraphModel
from sekgnn.training.objective import Objective
from sekgnn.training.predictions import PredictionCollector, Predictions


class NotFiniteError(ConfigError):
    """The loss became NaN or infinite."""


class GraphLearner(LightningModule):
    """Trains a :class:`~sekgnn.models.GraphModel` with Adam.

    Args:
        model: The network.
        objective: Loss and metrics.
        lr: Learning rate.
        weight_decay: L2 penalty, added to the gradient.
        seed: Epoch e draws its dropout from (seed, e) alone.
        watched: Name of the part that is evaluated after every epoch: ``"val"``, or
            ``"test"`` in protocols that look at the test fold.
    """

    def __init__(
        self,
        model: GraphModel,
        objective: Objective,
        *,
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        seed: int = 0,
        watched: str = "val",
    ) -> None:
        """Keep the parts."""
        super().__init__()
        self.model = model
        self.objective = objective
        self.lr, self.weight_decay = lr, weight_decay
        self.seed, self.watched = seed, watched
        self.collector = PredictionCollector()
        self.measured: dict[str, float] = {}
        self.loss_total = 0.0
        self.loss_count = 0

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return Adam."""
        return torch.optim.Adam(
            self.model.parameters(),
            lr=self.lr,
            weight_decay=self.weight_decay,
            fused=True,  # one pass over all parameters, on the CPU too
        )

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Seed dropout at the start of an epoch, so that a run can be continued."""
        if batch_idx == 0:
            self.loss_total, self.loss_count = 0.0, 0
            torch.manual_seed(_epoch_seed(self.seed, self.current_epoch))

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the mean loss of a batch, over all processes.

        Raises:
            NotFiniteError: If it is NaN or infinite.
        """
        out = self.model(batch)
        total, count = self.objective.loss_sum(out, batch.y, batch[Y_MASK])
        value = float(total.detach())
        everywhere, present = value, int(count)
        if self.trainer.world_size > 1:  # all see the same, and stop together
            both = torch.stack([total.detach(), count.to(total.dtype)])
            both = self.trainer.strategy.reduce(both, reduce_op="sum")
            everywhere, present = float(both[0]), int(both[1])
        self._check_finite(everywhere, self.global_step + 1)
        # gradients are averaged over processes: weigh by each one's targets
        loss = total * self.trainer.world_size / max(present, 1)
        self.loss_total += value
        self.loss_count += int(count)
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Collect the outputs for a batch."""
        self.collector.update(self.model, batch)

    def on_validation_epoch_end(self) -> None:
        """Measure what was collected.

        Raises:
            NotFiniteError: If the last steps of the epoch ruined the weights, before
                they are kept or written.
        """
        found: Predictions = self.collector.gather()
        self.collector.reset()
        loss = found.loss(self.objective)
        self._check_finite(loss, self.global_step)
        metrics = {"loss": loss, **found.metrics(self.objective)}
        self.measured = {f"{self.watched}_{k}": v for k, v in metrics.items()}

    def _check_finite(self, loss: float, step: int) -> None:
        if not math.isfinite(loss):
            raise NotFiniteError(
                f"the loss is {loss} in epoch {self.current_epoch + 1}, step {step}; "
                "use a smaller lr, or clip, and look for extreme targets."
            )

    def train_loss(self) -> float:
        """Return the mean loss of the epoch so far, over all processes."""
        sums = torch.tensor([self.loss_total, self.loss_count], dtype=torch.float64)
        if self.trainer.world_size > 1:
            sums = self.trainer.strategy.reduce(sums.to(self.device), reduce_op="sum")
        return float(sums[0] / sums[1].clamp(min=1))


def _epoch_seed(seed: int, epoch: int) -> int:
    state = np.random.SeedSequence([seed, epoch, 2])
    return int(state.generate_state(1, np.uint64)[0] >> 1)
