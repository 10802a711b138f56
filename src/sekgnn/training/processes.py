"""Where a training takes place: devices, and processes of its own."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import torch

from sekgnn.checks import require
from sekgnn.errors import ConfigError
from sekgnn.parameters import IMPORTED, import_named
from sekgnn.training.config import RunConfig

if TYPE_CHECKING:
    from lightning_fabric import Fabric

_POLL_SECONDS = 0.5


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


def run_processes(
    work: Callable[..., object],
    arguments: Sequence[tuple[Any, ...]],
    look: Callable[[], object],
    failed: Callable[[Exception], None] | None = None,
) -> None:
    """Call ``work`` in one new process per tuple of arguments, until all have ended.

    torch's threads are shared out among them. Whatever ends this function early ends
    the processes too. ``look`` is called now and then meanwhile, and ``failed`` with
    the error of a process; without it, the error is raised and ends all.
    """
    context = multiprocessing.get_context("spawn")
    threads = max(1, torch.get_num_threads() // max(1, len(arguments)))
    running: dict[Any, Any] = {}
    try:
        for given in arguments:
            receive, send = context.Pipe(duplex=False)
            process = context.Process(
                target=_enter, args=(work, given, threads, send, IMPORTED)
            )
            process.start()
            send.close()
            running[process] = receive
        while running:
            sentinels = [process.sentinel for process in running]
            multiprocessing.connection.wait(sentinels, timeout=_POLL_SECONDS)
            for process in [p for p in running if not p.is_alive()]:
                error = _failure(process, running.pop(process))
                if error is None:
                    continue
                if failed is None:
                    raise error
                failed(error)
            look()
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.join()


def _failure(process: Any, receive: Any) -> Exception | None:
    """Return what went wrong in a process that has ended, if something did."""
    process.join()
    if process.exitcode == 0:
        return None
    try:
        if receive.poll():
            error = receive.recv()
            if isinstance(error, Exception):
                return error
    except (EOFError, OSError):
        pass
    return ConfigError(
        f"a training process ended with code {process.exitcode}, perhaps for lack "
        "of memory; repeat the command to continue, with fewer jobs."
    )


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _enter(
    work: Callable[..., object],
    arguments: tuple[Any, ...],
    threads: int,
    send: Any,
    names: list[str],
) -> None:
    """Do the work in a new process, and send home what went wrong."""
    signal.signal(signal.SIGTERM, _end)  # so that work is given up, not left behind
    torch.set_num_threads(threads)
    try:
        for name in names:
            import_named(name)
        work(*arguments)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except (ValueError, OSError) as error:
        send.send(error)
        raise SystemExit(1) from None
