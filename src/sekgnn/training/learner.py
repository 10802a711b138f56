"""The Lightning module: a model, its objective, and an optimiser."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.datasets.graph_task import Y_MASK, row_weights
from sekgnn.errors import ConfigError
from sekgnn.graphs.extras import require
from sekgnn.models import GraphModel
from sekgnn.nn.batch_loader import BatchLoader, BatchSource
from sekgnn.training.config import RunConfig
from sekgnn.training.objective import Objective
from sekgnn.training.predictions import PredictionCollector, shortened

SCALE = "target_scale"
"""Key of a checkpoint: the scale of the objective."""
_ITERATIONS = 5  # of L-BFGS per epoch
_HELD = 2**30  # bytes of batches that L-BFGS keeps in memory


class NotFiniteError(ConfigError):
    """The loss became NaN or infinite."""


class GraphLearner(LightningModule):
    """Trains a :class:`~sekgnn.models.GraphModel`.

    Adam, AdamW and SOAP take a step per batch. L-BFGS takes a few iterations on the
    loss of all training graphs per epoch, plus half of ``weight_decay`` times the sum
    of the squared weights; batches only bound the memory it needs. They are kept from
    one evaluation of the loss to the next while they fit, and cut anew for each where
    they do not. Epoch e draws order, samples and dropout from (seed, e) alone.
    ``train`` and ``watched``, which is evaluated after every epoch and may be empty,
    are positions in ``joined``; a continued training goes on at ``first_epoch``.
    """

    def __init__(
        self,
        model: GraphModel,
        objective: Objective,
        joined: BatchSource,
        train: NDArray[np.int64],
        watched: NDArray[np.int64],
        config: RunConfig,
        seed: int = 0,
        first_epoch: int = 0,
    ) -> None:
        super().__init__()
        self.model, self.objective, self.config = model, objective, config
        self.joined, self.train_graphs, self.watched = joined, train, watched
        self.seed, self.first_epoch = seed, first_epoch
        self.collector = PredictionCollector()
        self.measured: dict[str, float] = {}
        self.loss_total = 0.0
        self.loss_count = 0
        self.automatic_optimization = config.optimizer != "lbfgs"
        self.held: list[Any] | None = []
        self.held_bytes = self.held_targets = 0
        self.begun = False

    def train_dataloader(self) -> BatchLoader:
        """Return the training batches of this process; each must get some graphs."""
        world = self.trainer.world_size
        most = min(self.train_graphs.size, self.config.batch_size)
        if most < world:
            raise ConfigError(
                f"{world} processes cannot share batches of {most} graphs; use fewer "
                "processes or a larger batch_size."
            )
        loader = self._batches(self.train_graphs, self.config.batch_size, self.seed)
        loader.order.set_epoch(self.first_epoch)
        return loader

    def val_dataloader(self) -> BatchLoader:
        """Return the batches of this process that are evaluated after every epoch."""
        return self._batches(self.watched, max(self.config.batch_size, 256), None)

    def _batches(
        self, chosen: NDArray[np.int64], size: int, seed: int | None
    ) -> BatchLoader:
        return self.joined.batches(
            chosen,
            size,
            seed,
            rank=self.trainer.global_rank,
            world=self.trainer.world_size,
            num_workers=self.config.num_workers,
        )

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Return a batch on a device."""
        batch = shortened(batch, device)
        return super().transfer_batch_to_device(batch, device, dataloader_idx)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return the optimiser."""
        config = self.config
        parameters = [p for p in self.model.parameters() if p.requires_grad]
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
            found: torch.optim.Optimizer = package.SOAP(parameters, **more)
            return found
        adam = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.optimizer]
        # fused: one pass over all parameters, on the CPU too
        return adam(parameters, **more, fused=True)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Write the units of the outputs, too: those of what a closed form left."""
        checkpoint[SCALE] = [*self.objective.scale]

    def on_train_epoch_start(self) -> None:
        """Let what is frozen stay as it is, statistics of normalisation included."""
        if self.config.freeze:
            self.model.branches.eval()

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Seed dropout at the start of an epoch, so that a run can be continued."""
        if batch_idx == 0:
            self.loss_total, self.loss_count = 0.0, 0
            state = np.random.SeedSequence([self.seed, self.current_epoch, 2])
            torch.manual_seed(int(state.generate_state(1, np.uint64)[0] >> 1))

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        """Return the mean loss of a batch, over all processes, if it is finite."""
        if not self.automatic_optimization:
            return self._descend(batch, batch_idx)
        total, count = self._loss_sum(batch)
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

    def _loss_sum(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the losses of a batch, the number of targets."""
        weight = row_weights(batch, self.model.level)
        goal = self.objective
        return self.model.loss_sum(batch, batch.y, batch[Y_MASK], goal, weight)

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Evaluate the last batch of an epoch again, where nothing is watched.

        Raises:
            NotFiniteError: If the last step ruined the weights, before they are kept.
        """
        self.begun = True
        if self.trainer.is_last_batch and self.config.watched is None:
            self.model.eval()
            with torch.no_grad():
                total, _ = self._loss_sum(batch)
            self.model.train()
            self._check_finite(float(total), self.global_step)

    def _descend(self, batch: Any, batch_idx: int) -> Tensor:
        """Look at all batches of an epoch; after the last one search along lines."""
        if batch_idx == 0:
            self.held, self.held_bytes, self.held_targets = [], 0, 0
        tensors = filter(torch.is_tensor, batch.to_dict().values())
        self.held_bytes += sum(tensor.nbytes for tensor in tensors)
        self.held_targets += int(batch[Y_MASK].sum())
        if self.held_bytes > _HELD:
            self.held = None
        if self.held is not None:
            self.held.append(batch)
        total, count = torch.zeros(()), self.held_targets
        decay = self.config.weight_decay
        if batch_idx + 1 < self.trainer.num_training_batches:
            return total

        def closure() -> Tensor:
            descent.zero_grad()
            whole = torch.zeros((), dtype=torch.float64)
            for part in self._epoch_batches():
                loss = self._loss_sum(part)[0] / count
                self.manual_backward(loss)
                whole += loss.detach().double()
            if not self.loss_count:  # the first is that of the weights as they were
                self._check_finite(float(whole), self.global_step + 1)
                self.loss_total, self.loss_count = float(whole) * count, count
            if not decay:
                return whole
            squares = [weight.square().sum() for weight in self.model.parameters()]
            penalty = 0.5 * decay * torch.stack(squares).sum()
            self.manual_backward(penalty)
            return whole + penalty.detach().double()

        descent: Any = self.optimizers()
        descent.step(closure)
        self.held = []
        return total

    def _epoch_batches(self) -> Iterable[Any]:
        """Return the training batches of the epoch again, in the same order."""
        if self.held is not None:
            return self.held
        loader: Any = self.trainer.train_dataloader
        return (self.transfer_batch_to_device(part, self.device, 0) for part in loader)

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Collect the outputs for a batch."""
        self.collector.update(self.model, batch)

    def on_validation_epoch_end(self) -> None:
        """Measure what was collected.

        Raises:
            NotFiniteError: If the last steps ruined the weights, before they are kept.
        """
        found = self.collector.gather()
        self.collector.reset()
        loss = found.loss(self.objective)
        self._check_finite(loss, self.global_step)
        metrics = {"loss": loss, **found.metrics(self.objective)}
        self.measured = {f"{self.config.watched}_{k}": v for k, v in metrics.items()}

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
