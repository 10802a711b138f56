"""One training: a model, graphs to learn from, graphs to watch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import LightningDataModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from numpy.typing import NDArray

from sekgnn.errors import ConfigError
from sekgnn.graphs.extras import require
from sekgnn.models import GraphModel
from sekgnn.parallel import Progress
from sekgnn.training.batches import BatchLoader, JoinedGraphs
from sekgnn.training.callbacks import EndWithParent, ProgressReport
from sekgnn.training.checkpoint_io import SafeCheckpointIO, read_checkpoint
from sekgnn.training.config import RunConfig
from sekgnn.training.curve_file import CurveFile
from sekgnn.training.history import EpochReport, History
from sekgnn.training.keep_best import KeepBest
from sekgnn.training.learner import GraphLearner
from sekgnn.training.objective import Objective, check_monitor
from sekgnn.training.plateau import Plateau
from sekgnn.training.surroundings import quiet, same_interrupts, same_torch

MODEL_FILE = "model.safetensors"
CHECKPOINT_FILE = "last.ckpt"
CURVES_FILE = "metrics.csv"


@dataclass(frozen=True, eq=False)
class Fit:
    """How a training went.

    Attributes:
        model: With the weights that were kept.
        curves: One value per epoch of everything that was measured.
        kept_epoch: The epoch, from 1, of these weights.
        seconds: Time spent training.
    """

    model: GraphModel
    curves: dict[str, list[float]]
    kept_epoch: int
    seconds: float


class LearningBatches(LightningDataModule):
    """Loaders for training and for the part that is watched.

    Args:
        joined: All graphs.
        train: Positions to learn from.
        watched: Positions to evaluate after every epoch.
        config: Batch size and workers.
        seed: Of the order.
    """

    def __init__(
        self,
        joined: JoinedGraphs,
        train: NDArray[np.int64],
        watched: NDArray[np.int64],
        config: RunConfig,
        seed: int,
    ) -> None:
        """Keep the parts."""
        super().__init__()
        self.joined, self.train, self.watched = joined, train, watched
        self.batch_size, self.num_workers = config.batch_size, config.num_workers
        self.seed = seed
        self.first_epoch = 0

    def train_dataloader(self) -> BatchLoader:
        """Return the loader of this process.

        Raises:
            ConfigError: If there are fewer graphs than processes.
        """
        trainer: Any = self.trainer
        if min(self.train.size, self.batch_size) < trainer.world_size:
            raise ConfigError(
                f"{trainer.world_size} processes cannot share batches of "
                f"{min(self.train.size, self.batch_size)} graphs; use fewer processes "
                "or a larger batch_size."
            )
        loader = self.joined.training_batches(
            self.train,
            self.batch_size,
            self.seed,
            rank=trainer.global_rank,
            world=trainer.world_size,
            num_workers=self.num_workers,
        )
        loader.order.set_epoch(self.first_epoch)
        return loader

    def val_dataloader(self) -> BatchLoader:
        """Return the loader of this process."""
        trainer: Any = self.trainer
        return self.joined.evaluation_batches(
            self.watched,
            max(self.batch_size, 256),
            rank=trainer.global_rank,
            world=trainer.world_size,
            num_workers=self.num_workers,
        )


def fit(
    model: GraphModel,
    objective: Objective,
    joined: JoinedGraphs,
    train: NDArray[np.int64],
    watched: NDArray[np.int64],
    config: RunConfig,
    *,
    folder: Path | None = None,
    about: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    report: EpochReport | None = None,
) -> Fit:
    """Train a model; continue a training that ``folder`` holds the beginning of.

    In protocols that select on validation graphs, these are ``watched``: the epoch with
    the best ``config.monitor`` is kept, and the learning rate follows their loss. In
    the others ``watched`` are test graphs: nothing is selected by them, the rate
    follows the training loss, and the last epoch is kept.

    Args:
        model: With its first weights.
        objective: Loss and metrics.
        joined: All graphs.
        train: Positions of the graphs to learn from.
        watched: Positions of the graphs to evaluate after every epoch.
        config: How to train.
        folder: For the checkpoint, the model and the curves; ``None`` writes nothing.
        about: What to write with the model.
        seed: Of order, samples and dropout.
        progress: Called with (done, total) batches.
        report: Called with (epoch, values) after every epoch.

    Raises:
        ConfigError: If ``config`` does not fit, or the loss is not finite
            (:class:`~sekgnn.training.learner.NotFiniteError`).
        ModelFileError: If the checkpoint in ``folder`` is damaged.
        OutputError: If a file cannot be written.
    """
    part = "val" if config.selects_on_validation else "test"
    monitor = check_monitor(objective.kind, config.monitor)
    history = History(
        None if folder is None else CurveFile(folder / CURVES_FILE), report
    )
    keep = KeepBest(
        history,
        f"val_{monitor}" if config.selects_on_validation else None,
        config.patience,
        None if folder is None else folder / MODEL_FILE,
        about,
    )
    loss = "val_loss" if config.selects_on_validation else "train_loss"
    callbacks: list[Any] = [
        EndWithParent(),  # before the others write: a new run may be at work there
        history,
        Plateau(history, loss, config.plateau_patience, config.plateau_factor,
                config.min_lr),
        keep,
    ]  # fmt: skip
    if progress is not None:
        callbacks.append(ProgressReport(progress))
    learner = GraphLearner(
        model,
        objective,
        lr=config.lr,
        weight_decay=config.weight_decay,
        seed=seed,
        watched=part,
    )
    model.train()
    batches = LearningBatches(joined, train, watched, config, seed)
    checkpoint = None
    if folder is not None:
        callbacks.append(
            ModelCheckpoint(
                dirpath=folder,
                filename=Path(CHECKPOINT_FILE).stem,
                every_n_epochs=config.checkpoint_every,
                save_on_train_epoch_end=True,
                enable_version_counter=False,
            )
        )
        if (folder / CHECKPOINT_FILE).exists():
            checkpoint = folder / CHECKPOINT_FILE
            batches.first_epoch = int(read_checkpoint(checkpoint)["epoch"]) + 1
    with quiet(), same_torch(), same_interrupts():
        trainer = _trainer(config, folder, callbacks)
        trainer.fit(learner, datamodule=batches, ckpt_path=checkpoint)
    model.cpu()
    model.load_state_dict(keep.weights)
    model.eval()
    return Fit(model, history.curves, keep.epoch, history.seconds)


def _trainer(config: RunConfig, folder: Path | None, callbacks: list[Any]) -> Trainer:
    """Return Lightning's trainer.

    Raises:
        ConfigError: If this machine has not what the config asks for.
    """
    logger = _logger(config, folder)
    try:
        return Trainer(
            accelerator=config.accelerator,
            devices=config.devices,
            num_nodes=config.num_machines,
            strategy=config.strategy,
            max_epochs=config.epochs,
            callbacks=callbacks,
            logger=logger,
            plugins=[SafeCheckpointIO()],
            deterministic="warn" if config.accelerator != "cpu" else True,
            gradient_clip_val=config.clip,
            enable_checkpointing=folder is not None,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
            log_every_n_steps=1,
            default_root_dir=folder,
        )
    except (MisconfigurationException, ValueError) as error:
        raise ConfigError(
            f"accelerator={config.accelerator!r}, devices={config.devices} and "
            f"strategy={config.strategy!r} cannot be had here: {error}"
        ) from error


def _logger(config: RunConfig, folder: Path | None) -> Any:
    """Return a TensorBoard logger, if one is asked for."""
    if not config.tensorboard or folder is None:
        return False
    require("tensorboard", "tensorboard")
    from lightning.pytorch.loggers import TensorBoardLogger

    return TensorBoardLogger(folder, name="", version="tensorboard")
