"""Work in new processes of this machine: folds, networks of an ensemble, trials."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import signal
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn

import torch

from sekgnn.errors import ConfigError
from sekgnn.parameters import IMPORTED, import_named

_POLL_SECONDS = 0.5


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
