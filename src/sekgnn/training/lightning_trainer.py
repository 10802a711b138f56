"""Lightning as we use it: safe checkpoints, nothing printed, nothing left changed."""

from __future__ import annotations

import io
import logging
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import Trainer
from lightning.pytorch.plugins.io import CheckpointIO

from sekgnn.errors import ConfigError, ModelFileError
from sekgnn.files import write_atomically
from sekgnn.graphs.extras import require
from sekgnn.training.config import RunConfig

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
    """Return Lightning's trainer.

    Args:
        config: Epochs, machine, clipping, logs.
        output: For checkpoints and logs; ``None`` writes nothing.
        callbacks: What happens after every epoch.

    Raises:
        ConfigError: If this machine lacks what the config asks for.
    """
    logger = _logger(config, output)
    place = available_device(config.accelerator, config.dtype)
    try:
        return Trainer(
            accelerator=place,
            devices=config.devices,
            num_nodes=config.num_machines,
            strategy=config.strategy,
            max_epochs=config.epochs,
            callbacks=callbacks,
            logger=logger,
            plugins=[SafeCheckpointIO()],
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
    except (MisconfigurationException, ValueError) as error:
        raise ConfigError(
            f"accelerator={config.accelerator!r}, devices={config.devices} and "
            f"strategy={config.strategy!r} are not available here: {error}"
        ) from error


def available_device(accelerator: str, dtype: str | None = None) -> str:
    """Return the kind of device behind the name of an accelerator, such as ``"cuda"``.

    Args:
        accelerator: ``auto`` takes a GPU where there is one, else the CPU; ``gpu``
            takes NVIDIA's or Apple's.
        dtype: Precision; Apple's GPUs have no float64.

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
        """Write a checkpoint.

        Raises:
            OutputError: If it cannot be written; an older file is then unchanged.
        """
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
        """Return a checkpoint.

        Raises:
            ModelFileError: If it is missing, cut short, or not one of ours.
        """
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
    if not isinstance(found, dict) or "state_dict" not in found:
        raise ModelFileError(
            f"{path} is not a checkpoint of a run; remove it to start the run again."
        )
    return found
