"""The training loop: steps, epochs, and an end that an interruption does not change."""

from __future__ import annotations

import logging
import math
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.checks import require
from sekgnn.datasets.graph_task import Y_MASK, row_weights
from sekgnn.errors import ConfigError, GraphInputError, ModelFileError
from sekgnn.fields import Y_BOUND
from sekgnn.kernel import clock
from sekgnn.models import GraphModel
from sekgnn.nn.batch_loader import BatchLoader, BatchSource
from sekgnn.parallel import Progress
from sekgnn.training.config import RunConfig
from sekgnn.training.epochs import (
    History,
    Pace,
    Rate,
    best_epoch,
    make_optimizer,
    write_checkpoint,
)
from sekgnn.training.objective import Objective, save_trained
from sekgnn.training.predictions import available_device, predict_batches, shortened
from sekgnn.training.run_folder import CHECKPOINT_FILE, CURVES_FILE

if TYPE_CHECKING:
    from lightning_fabric import Fabric

EpochReport = Callable[[int, dict[str, float]], None]
"""Called with the number of finished epochs and the values of the last."""

Status = Callable[[str], object]
"""Called with what is begun, in words, such as ``"network 2 of 3"`` or ``"forest"``."""

_HELD = 2**30  # bytes of batches that L-BFGS keeps in memory


class NotFiniteError(ConfigError):
    """The loss became NaN or infinite."""


class Loop:
    """Trains a model by epochs: :meth:`run`.

    Adam, AdamW and SOAP take a step per batch. L-BFGS takes a few iterations on the
    loss of all training graphs per epoch, plus half of ``weight_decay`` times the sum
    of the squared weights; batches only bound the memory it needs. They are kept from
    one evaluation of the loss to the next while they fit, and cut anew for each where
    they do not. Epoch e draws order, samples and dropout from (seed, e) alone.

    Args:
        model: The model, which :meth:`run` leaves with the weights of the best epoch.
        objective: Its loss and metrics.
        joined: The graphs.
        train: Positions among them of those to train on.
        watched: Of those that are evaluated after every epoch; may be empty.
        config: How to train.
        seed: Of order, samples and dropout.
        output: For curves, checkpoint and the best model; ``None`` writes nothing.

    Attributes:
        history: The curves.
        best_epoch: The epoch, from 1, whose weights are kept.
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
        output: Path | None = None,
    ) -> None:
        self.model, self.objective, self.config = model, objective, config
        self.joined, self.train, self.watched = joined, train, watched
        self.seed, self.output = seed, output
        self.history = History(None if output is None else output / CURVES_FILE)
        self.monitor = f"val_{config.monitor}" if config.keeps_best else None
        self.best_epoch = 0
        self.best_weights: dict[str, Tensor] = {}
        self.begun, self.steps = False, 0
        self.loss_total, self.loss_count = 0.0, 0

    def run(
        self,
        saved: dict[str, Any] | None = None,
        progress: Progress | None = None,
        report: EpochReport | None = None,
    ) -> None:
        """Train up to the last epoch, from the first or from a checkpoint.

        Args:
            saved: The checkpoint.
            progress: Called with (done, total) batches.
            report: Called with (epoch, values) after every epoch.

        Raises:
            ConfigError: If the machine lacks what the config asks for, another process
                is gone, or the loss is not finite (:class:`NotFiniteError`).
            ModelFileError: If the checkpoint is not of this training.
            OutputError: If a file cannot be written.
        """
        with undisturbed(), self._explained():
            fabric = self.fabric = launch(self.config, self.output)
            self.module: Any = fabric.setup_module(self.model.train())
            self.module.mark_forward_method("loss_sum")
            self.optimizer = make_optimizer(self.model, self.config)
            self.rate = Rate(self.config, self.optimizer)
            training, watched = self._loaders()
            if saved is not None:
                self._restore(saved, len(training))
            if fabric.is_global_zero:
                self.history.write(0)
            paces = Pace(), Pace()
            since = clock()
            for epoch in range(self.history.epochs, self.config.epochs):
                if self._is_over():
                    break
                self._train_epoch(epoch, training, progress)
                values = {
                    "lr": float(self.optimizer.param_groups[0]["lr"]),
                    "train_loss": self.train_loss(),
                    **self.measure(watched),
                }
                end_with_parent()  # before this writes: a new run may be at work there
                now = clock()
                self.history.add(values, now - since)
                since = now
                fabric.log_dict(values, epoch + 1)
                if fabric.is_global_zero:
                    self.history.write(epoch)
                    if report is not None:
                        report(epoch + 1, values)
                self.rate.end_epoch(values)
                self._keep(*paces)
            for logger in fabric.loggers:
                logger.finalize("success")
        self.model.cpu()
        self.model.load_state_dict(self.best_weights)
        self.model.eval()

    def _loaders(self) -> tuple[BatchLoader, BatchLoader | None]:
        """Return the batches of this process; each process must get some graphs."""
        config, world = self.config, self.fabric.world_size
        most = min(self.train.size, config.batch_size)
        if most < world:
            raise ConfigError(
                f"{world} processes cannot share batches of {most} graphs; use fewer "
                "processes or a larger batch_size."
            )
        shared: dict[str, Any] = {
            "rank": self.fabric.global_rank,
            "world": world,
            "num_workers": config.num_workers,
        }
        join = self.joined.batches
        training = join(self.train, config.batch_size, self.seed, **shared)
        if not self.watched.size:
            return training, None
        return training, join(self.watched, max(config.batch_size, 256), **shared)

    def _restore(self, saved: dict[str, Any], batches: int) -> None:
        """Go on where a checkpoint was written."""
        self.history.curves = {name: [*c] for name, c in saved["curves"].items()}
        self.history.seconds = float(saved["seconds"])
        for values in self.history.rows():
            self.rate.end_epoch(values)
        self.best_epoch = best_epoch(self.history.curves, self.monitor)
        self.best_weights = dict(saved["best"])
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        per_epoch = 1 if self.config.optimizer == "lbfgs" else batches
        self.steps = self.history.epochs * per_epoch

    def _is_over(self) -> bool:
        """Tell whether patience has ended, or L-BFGS finds nothing better."""
        config, history = self.config, self.history
        patience = config.epochs if config.patience is None else config.patience
        if self.best_epoch and history.epochs - self.best_epoch >= patience:
            return True
        if config.optimizer != "lbfgs" or config.watched == "test":
            return False  # curves of folds that share an epoch have one length
        losses = history.curves.get("train_loss", [])[-2:]
        return len(losses) == 2 and losses[0] == losses[1]

    def _train_epoch(
        self, epoch: int, batches: BatchLoader, progress: Progress | None
    ) -> None:
        """Take the steps of an epoch, from 0."""
        self.rate.start_epoch(epoch)
        self.module.train()
        if self.config.freeze:  # statistics of normalisation included
            self.model.branches.eval()
        batches.order.set_epoch(epoch)
        state = np.random.SeedSequence([self.seed, epoch, 2])
        torch.manual_seed(int(state.generate_state(1, np.uint64)[0] >> 1))
        self.loss_total, self.loss_count = 0.0, 0
        told = self._told(batches, epoch, progress)
        if self.config.optimizer == "lbfgs":
            batch = self._descend(batches, told)
        else:
            for batch in told:
                self._step(batch)
        if not self.watched.size:  # did the last step ruin the weights?
            self.module.eval()
            with torch.no_grad():
                total, _ = self._loss_sum(self.model, batch)
            self._check_finite(float(total), self.steps)

    def _told(
        self, batches: BatchLoader, epoch: int, progress: Progress | None
    ) -> Iterator[Any]:
        """Yield the batches of an epoch, and tell ``progress`` after each."""
        for number, batch in enumerate(self._moved(batches), start=1):
            yield batch
            if progress is not None:
                done = epoch * len(batches) + number
                progress(done, self.config.epochs * len(batches))

    def _moved(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield batches on the device."""
        for batch in batches:
            yield shortened(batch, self.fabric.device).to(self.fabric.device)

    def _loss_sum(self, model: Any, batch: Any) -> tuple[Tensor, Tensor]:
        """Return the weighted sum of the losses of a batch, the number of targets."""
        weight = row_weights(batch, self.model.level)
        return model.loss_sum(batch, batch.y, batch[Y_MASK], self.objective, weight)

    def _step(self, batch: Any) -> None:
        """Take a step on the mean loss of a batch, over all processes, if finite."""
        world = self.fabric.world_size
        total, count = self._loss_sum(self.module, batch)
        value, present = float(total.detach()), int(count)
        self.loss_total += value
        self.loss_count += present
        everywhere, targets = self._summed(value, present)
        self._check_finite(everywhere, self.steps + 1)
        self.optimizer.zero_grad()
        # gradients are averaged over processes: weigh by each one's targets
        self.fabric.backward(total * world / max(int(targets), 1))
        if self.config.clip is not None:
            self.fabric.clip_gradients(
                self.module,
                self.optimizer,
                max_norm=self.config.clip,
                error_if_nonfinite=False,
            )
        self.optimizer.step()
        self.begun, self.steps = True, self.steps + 1

    def _descend(self, batches: BatchLoader, told: Iterable[Any]) -> Any:
        """Take iterations of L-BFGS on all batches of an epoch; return the last."""
        held: list[Any] = []
        size = count = 0
        for batch in told:
            tensors = filter(torch.is_tensor, batch.to_dict().values())
            size += sum(tensor.nbytes for tensor in tensors)
            count += _num_targets(batch)
            held.append(batch)
            if size > _HELD:
                held.clear()
        decay = self.config.weight_decay

        def closure() -> Tensor:
            self.optimizer.zero_grad()
            whole = torch.zeros((), dtype=torch.float64)
            for part in held or self._moved(batches):
                loss = self._loss_sum(self.module, part)[0] / count
                self.fabric.backward(loss)
                whole += loss.detach().double()
            if not self.loss_count:  # the first is that of the weights as they were
                self._check_finite(float(whole), self.steps + 1)
                self.loss_total, self.loss_count = float(whole) * count, count
            if not decay:
                return whole
            squares = [weight.square().sum() for weight in self.model.parameters()]
            penalty = 0.5 * decay * torch.stack(squares).sum()
            self.fabric.backward(penalty)
            return whole + penalty.detach().double()

        self.optimizer.step(closure)  # type: ignore[arg-type]
        self.begun, self.steps = True, self.steps + 1
        return batch

    def train_loss(self) -> float:
        """Return the mean loss of the epoch so far, over all processes."""
        total, count = self._summed(self.loss_total, self.loss_count)
        return total / max(count, 1)

    def _summed(self, *values: float) -> list[float]:
        """Return the sum of every value over all processes."""
        if self.fabric.world_size == 1:
            return [*values]
        sums = torch.tensor(values, dtype=torch.float64, device=self.fabric.device)
        everywhere: Any = self.fabric.all_reduce(sums, reduce_op="sum")
        return [*everywhere.tolist()]

    def measure(self, batches: BatchLoader | None) -> dict[str, float]:
        """Return loss and metrics of the graphs that are watched.

        Raises:
            NotFiniteError: If the last steps ruined the weights, before they are kept.
        """
        if batches is None:
            return {}
        predicted = predict_batches(self.module, batches, everywhere=True)
        loss = predicted.loss(self.objective)
        self._check_finite(loss, self.steps)
        metrics = {"loss": loss, **predicted.metrics(self.objective)}
        return {f"{self.config.watched}_{k}": v for k, v in metrics.items()}

    def _check_finite(self, loss: float, step: int) -> None:
        if not math.isfinite(loss):
            raise NotFiniteError(
                f"the loss is {loss} in epoch {self.history.epochs + 1}, step {step}; "
                "use a smaller lr, or clip, and look for extreme targets."
            )

    def _keep(self, models: Pace, checkpoints: Pace) -> None:
        """Keep the weights if they are the best; write them, and all, as it is time."""
        history = self.history
        self.best_epoch = best_epoch(history.curves, self.monitor)
        is_best = self.best_epoch == history.epochs
        if is_best:
            self.best_weights = {
                name: tensor.detach().cpu().clone()
                for name, tensor in self.model.state_dict().items()
            }
        if self.output is None or not self.fabric.is_global_zero:
            return
        if is_best and models.due:
            with models.writing():
                save_trained(self.model, self.objective, self.output)
        if history.epochs == self.config.epochs or self._is_over() or checkpoints.due:
            content = {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "best": self.best_weights,
                "curves": history.curves,
                "seconds": history.seconds,
                "scale": [*self.objective.scale],
            }
            with checkpoints.writing():
                write_checkpoint(content, self.output / CHECKPOINT_FILE)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of libraries into those that name a cure, if it is known.

        Whatever fails before the first step is done, fails on what was restored.
        """
        try:
            yield
        except (ConfigError, GraphInputError, ModelFileError, OSError, MemoryError):
            raise  # these say it themselves
        except torch.OutOfMemoryError:
            raise
        except Exception as error:
            cause = " ".join(f"{type(error).__name__}: {error}".split())
            if isinstance(error, torch.distributed.DistError) or "gloo" in cause:
                raise ConfigError(
                    "another process of this run has ended, perhaps for lack of "
                    f"memory; repeat the command to continue ({cause[:200]})."
                ) from error
            restored = self.history.epochs > 0
            if self.output is not None and restored and not self.begun:
                raise ModelFileError(
                    f"the checkpoint {self.output / CHECKPOINT_FILE} is not of this "
                    f"run ({cause[:300]}); remove it to start the run again."
                ) from error
            raise


def _num_targets(batch: Any) -> int:
    """Return how many numbers, classes and bounds there are to learn in a batch."""
    present = batch[Y_MASK]
    if Y_BOUND in batch:
        present = present | (batch[Y_BOUND] != 0)
    return int(present.sum())


def launch(config: RunConfig, output: Path | None) -> Fabric:
    """Start the processes that a config asks for, and return this one's view of them.

    Raises:
        ConfigError: If this machine lacks what the config asks for.
    """
    from lightning_fabric import Fabric
    from lightning_fabric.loggers.tensorboard import TensorBoardLogger
    from lightning_fabric.plugins.environments.lightning import LightningEnvironment
    from lightning_fabric.utilities.exceptions import MisconfigurationException

    loggers: list[Any] = []
    if config.tensorboard and output is not None:
        require("tensorboard", "tensorboard")
        loggers.append(TensorBoardLogger(output, name="", version="tensorboard"))
    device = available_device(config.accelerator, config.dtype)
    plugins: list[Any] = []
    if config.devices * config.num_machines == 1:
        # whatever a batch system says of tasks that have nothing to do with this one
        plugins.append(LightningEnvironment())
    try:
        fabric = Fabric(
            accelerator=device,
            devices=config.devices,
            num_nodes=config.num_machines,
            strategy=config.strategy,
            plugins=plugins,
            loggers=loggers,
        )
    except (MisconfigurationException, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"accelerator={config.accelerator!r}, devices={config.devices} and "
            f"strategy={config.strategy!r} are not available here: {error}"
        ) from error
    torch.use_deterministic_algorithms(True, warn_only=device != "cpu")
    fabric.launch()
    return fabric


@contextmanager
def undisturbed() -> Iterator[None]:
    """Leave torch's random state and choice of algorithms as they were; say nothing."""
    import lightning_fabric  # takes a while, and sets the level of its logger

    strict = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    logger = logging.getLogger(lightning_fabric.__name__)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        logger.setLevel(level)
        torch.use_deterministic_algorithms(strict, warn_only=warn_only)


def end_with_parent() -> None:
    """End this process if its parent is gone, as after a kill -9."""
    parent: Any = multiprocessing.parent_process()
    # joblib's workers know their parent, but not how to watch it
    if parent and parent.sentinel is not None and not parent.is_alive():
        raise SystemExit(1)
