"""Lightning as we use it: safe checkpoints, nothing printed, nothing left changed."""

from __future__ import annotations

import io
import logging
import math
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import Trainer
from lightning.pytorch.plugins.io import CheckpointIO

from sekgnn.errors import ConfigError, GraphInputError, ModelFileError
from sekgnn.files import write_atomically
from sekgnn.graphs.extras import require
from sekgnn.models import GraphModel
from sekgnn.training.config import RunConfig
from sekgnn.training.learner import SCALE, GraphLearner
from sekgnn.training.objective import Objective

_NOISE = (
    ".*does not have many workers.*",
    ".*number of training batches.*",
    ".*Checkpoint directory .* exists and is not empty.*",
    ".*isinstance\\(treespec, LeafSpec\\).*",
    ".*`trainer.init_module.*",
    ".*sync_dist=True.*",  # what is logged is of all processes already
)
"""What Lightning says about things that are as they should be here."""


def make_trainer(
    config: RunConfig, output: Path | None, callbacks: list[Any]
) -> Trainer:
    """Return Lightning's trainer; without ``output`` it writes nothing.

    Raises:
        ConfigError: If this machine lacks what the config asks for.
    """
    logger = _logger(config, output)
    place = available_device(config.accelerator, config.dtype)
    plugins: list[Any] = [SafeCheckpointIO()]
    if config.devices * config.num_machines == 1:
        # whatever a batch system says of tasks that have nothing to do with this one
        plugins.append(LightningEnvironment())
    try:
        return Trainer(
            accelerator=place,
            devices=config.devices,
            num_nodes=config.num_machines,
            strategy=config.strategy,
            max_epochs=config.epochs,
            callbacks=callbacks,
            logger=logger,
            plugins=plugins,
            deterministic="warn" if place != "cpu" else True,
            gradient_clip_val=config.clip,
            limit_val_batches=0 if config.watched is None else None,
            enable_checkpointing=output is not None,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
            log_every_n_steps=1,
            default_root_dir=output,
        )
    except (MisconfigurationException, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"accelerator={config.accelerator!r}, devices={config.devices} and "
            f"strategy={config.strategy!r} are not available here: {error}"
        ) from error


@contextmanager
def explained(learner: GraphLearner, checkpoint: Path | None) -> Iterator[None]:
    """Say of what goes wrong in a fit what to do, if that is known.

    Raises:
        ConfigError: If another process of the run is gone.
        ModelFileError: If the checkpoint it continues from is of something else:
            whatever fails before the first step is done, fails on what was restored.
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
                "another process of this run has ended, perhaps for lack of memory; "
                f"repeat the command to continue ({cause[:200]})."
            ) from error
        if checkpoint is not None and not learner.begun:
            raise ModelFileError(
                f"the checkpoint {checkpoint} is not of this run ({cause[:300]}); "
                "remove it to start the run again."
            ) from error
        raise


def available_device(accelerator: str, dtype: str | None = None) -> str:
    """Return the kind of device behind the name of an accelerator, such as ``"cuda"``.

    ``auto`` takes a GPU where there is one, else the CPU; ``gpu`` takes NVIDIA's or
    Apple's, which have no float64.

    Raises:
        ConfigError: If there is no such device.
    """
    mps = torch.backends.mps.is_available()
    found = {"cuda": torch.cuda.is_available(), "mps": mps}
    wanted = {"auto": ("cuda", "mps"), "gpu": ("cuda", "mps"), "mps": ("mps",)}
    if accelerator not in wanted:
        return accelerator
    for place in wanted[accelerator]:
        if found[place] and not (place == "mps" and dtype == "float64"):
            return place
    if accelerator == "auto":
        return "cpu"
    why = " for float64" if mps else ""
    raise ConfigError(
        f"accelerator={accelerator!r} is not available here{why}: torch sees no such "
        "device; use cpu or auto."
    )


def _logger(config: RunConfig, output: Path | None) -> Any:
    """Return a TensorBoard logger, if one is asked for."""
    if not config.tensorboard or output is None:
        return False
    require("tensorboard", "tensorboard")
    from lightning.pytorch.loggers import TensorBoardLogger

    return TensorBoardLogger(output, name="", version="tensorboard")


@contextmanager
def undisturbed() -> Iterator[None]:
    """Run Lightning without a trace: no hints, and torch and Ctrl-C as they were."""
    with _quiet(), _same_torch(), _same_interrupts():
        yield


@contextmanager
def _same_torch() -> Iterator[None]:
    """Leave torch's random state and its choice of algorithms as they were."""
    strict = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.use_deterministic_algorithms(strict, warn_only=warn_only)


@contextmanager
def _same_interrupts() -> Iterator[None]:
    """Let Ctrl-C interrupt; Lightning ends the process and ignores all later ones."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as error:
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        signal.signal(signal.SIGINT, handler)
        raise KeyboardInterrupt from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Lightning's greetings and hints to itself."""
    loggers = [logging.getLogger(f"lightning.{part}") for part in ("pytorch", "fabric")]
    levels = [logger.level for logger in loggers]
    before = os.environ.get("POSSIBLE_USER_WARNINGS")
    os.environ["POSSIBLE_USER_WARNINGS"] = "off"
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            for text in _NOISE:
                warnings.filterwarnings("ignore", text)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        del os.environ["POSSIBLE_USER_WARNINGS"]
        if before is not None:
            os.environ["POSSIBLE_USER_WARNINGS"] = before


class SafeCheckpointIO(CheckpointIO):
    """Writes to a draft that is renamed when complete; reads tensors and plain values.

    Python's pickle, in which such files are written, can run any code when it is read;
    torch's restricted reader refuses everything but tensors and plain values.
    """

    def save_checkpoint(
        self,
        checkpoint: dict[str, Any],
        path: str | os.PathLike[str],
        storage_options: Any = None,
    ) -> None:
        """Write a checkpoint; if that fails, an older file is unchanged."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()  # torch hides why a disk refuses what it writes
        torch.save(checkpoint, content)
        write_atomically(path, lambda file: file.write(content.getbuffer()))

    def load_checkpoint(
        self,
        path: str | os.PathLike[str],
        map_location: Any = "cpu",
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """Return what :func:`read_checkpoint` does."""
        return read_checkpoint(path, map_location)

    def remove_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Remove a checkpoint, if it is there."""
        Path(path).unlink(missing_ok=True)


def read_checkpoint(
    path: str | os.PathLike[str], map_location: Any = "cpu"
) -> dict[str, Any]:
    """Return a checkpoint without running code from it.

    Raises:
        ModelFileError: If it is missing, cut short, or holds anything but tensors and
            plain values.
    """
    try:
        found = torch.load(path, map_location=map_location, weights_only=True)
    except FileNotFoundError as error:
        raise ModelFileError(f"there is no checkpoint {path}.") from error
    except Exception as error:  # whatever torch makes of foreign bytes
        # torch's own words advise to load it unsafely
        raise ModelFileError(
            f"the checkpoint {path} is damaged, or holds more than tensors and plain "
            "values and was not written by sekgnn; remove it to start the run again."
        ) from error
    known = isinstance(found, dict) and "state_dict" in found
    if not known or not isinstance(found.get("epoch"), int):
        raise ModelFileError(
            f"{path} is not a checkpoint of a run; remove it to start the run again."
        )
    return found


def check_checkpoint(
    found: dict[str, Any],
    model: GraphModel,
    objective: Objective,
    path: str | os.PathLike[str],
) -> Objective:
    """Return the objective that a checkpoint goes on with, if it is of this model.

    Torch and Lightning let some pass that are not: curves must be as long as the epochs
    that are done, and kept weights and the means of gradients (which fused optimisers
    read unchecked) of the weights' shapes.

    Raises:
        ModelFileError: If it is of another.
    """
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    learned = [value.shape for value in model.parameters() if value.requires_grad]
    try:
        history, keep = (found["callbacks"][own] for own in ("History", "KeepBest"))
        fits = len(history["curves"]["lr"]) == found["epoch"] + 1
        fits &= {name: v.shape for name, v in keep["weights"].items()} == shapes
        for state in found["optimizer_states"]:
            for number, values in state["state"].items():
                means = [values[k] for k in ("exp_avg", "exp_avg_sq") if k in values]
                fits &= all(mean.shape == learned[number] for mean in means)
        scale = tuple(found[SCALE])
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
