"""Where a training takes place: devices and processes, and torch left as it was."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.loggers.tensorboard import TensorBoardLogger
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.utilities.exceptions import MisconfigurationException

from sekgnn.errors import ConfigError
from sekgnn.graphs.extras import require
from sekgnn.training.config import RunConfig


def available_device(accelerator: str, dtype: str | None = None) -> str:
    """Return the kind of device behind the name of an accelerator, such as ``"cuda"``.

    ``auto`` takes a GPU where there is one, else the CPU; ``gpu`` takes NVIDIA's or
    Apple's, which have no float64.

    Raises:
        ConfigError: If there is no such device.
    """
    mps = torch.backends.mps.is_available()
    present = {"cuda": torch.cuda.is_available(), "mps": mps}
    wanted = {"auto": ("cuda", "mps"), "gpu": ("cuda", "mps"), "mps": ("mps",)}
    if accelerator not in wanted:
        return accelerator
    for device in wanted[accelerator]:
        if present[device] and not (device == "mps" and dtype == "float64"):
            return device
    if accelerator == "auto":
        return "cpu"
    why = " for float64" if mps else ""
    raise ConfigError(
        f"accelerator={accelerator!r} is not available here{why}: torch sees no such "
        "device; use cpu or auto."
    )


def launch(config: RunConfig, output: Path | None) -> Fabric:
    """Start the processes that a config asks for, and return this one's view of them.

    Raises:
        ConfigError: If this machine lacks what the config asks for.
    """
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
    strict = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    logger = logging.getLogger("lightning_fabric")
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
