"""Run tasks on the workers of a Dask cluster.

Dask schedules tasks and moves them off workers that die. This module adds the rest:
checks that workers have this version of the library, a limit on the tasks in flight,
encryption of local clusters, and errors of one line.
"""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sekgnn._version import __version__
from sekgnn.checks import check_positive, require
from sekgnn.errors import ConfigError
from sekgnn.parallel import usable_cores

ALLOWED_FAILURES = 20
"""Workers that may die on one task before it is given up; Dask's default is 3."""

_NO_PAGES: dict[str, list[str]] = {  # of logs and calls, which ask for no key
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
_NO_KEY = (TypeError, RuntimeError, AssertionError)  # of Dask at a tls:// address
_AHEAD = 3  # tasks handed out per thread, so that no worker waits for the next one
_SHOWN = 3  # unusable workers named in an error

T = TypeVar("T", bound=tuple[Any, ...])
V = TypeVar("V")


@contextmanager
def open_client(
    scheduler: str | None = None, workers: int | None = None
) -> Iterator[Any]:
    """Open a ``distributed.Client`` of a scheduler, or of new workers on this machine.

    Whoever can talk to a scheduler or a worker runs code as its user. A cluster started
    here listens on this machine alone, and only to holders of a new key that never
    leaves its processes.

    Args:
        scheduler: Address such as ``tls://host:8786``, or the path of a scheduler file;
            ``None`` starts a cluster here, which ends with the block. Certificates are
            those of Dask's configuration (``distributed.comm.tls``).
        workers: Processes of one thread each on this machine; ``None`` for one per
            usable core.

    Raises:
        MissingExtraError: If distributed is not installed.
        ConfigError: If there is no scheduler at that address.
    """
    distributed = require("distributed", "dask")
    # errors raised here replace Dask's messages about workers and connections
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        if scheduler is None:
            count = usable_cores() if workers is None else workers
            require("cryptography", "dask")
            with (
                require("dask", "dask").config.set(_NO_PAGES),
                distributed.LocalCluster(
                    n_workers=check_positive("workers", count),
                    threads_per_worker=1,
                    host="127.0.0.1",
                    security=distributed.Security.temporary(),
                    dashboard_address="127.0.0.1:0",  # any port: 8787 may be taken
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                ) as cluster,
                distributed.Client(cluster) as client,
            ):
                yield client
            return
        form = "scheduler_file" if scheduler.endswith(".json") else "address"
        try:
            client = distributed.Client(**{form: scheduler}, timeout=10)
        except (OSError, ValueError, *_NO_KEY) as error:
            cause = " ".join(str(error).split())
            raise ConfigError(
                f"no Dask scheduler answers at {scheduler} ({cause[:200]}); start one "
                "with 'dask scheduler', and workers with 'dask worker ADDRESS'. If it "
                "asks for a key, name certificates in Dask's configuration "
                "(docs/scale.md)."
            ) from error
        try:
            yield client
        finally:
            client.close(timeout=2)
    finally:
        logger.setLevel(level)


def is_open(client: Any) -> bool:
    """Return whether other machines may run code on the workers without a key."""
    address = client.scheduler.address
    if not address.startswith("tcp://"):
        return False
    host = require("distributed", "dask").comm.get_address_host(address)
    return not host.startswith(("127.", "::1", "localhost"))


def run_tasks(
    job: Callable[[T], V],
    tasks: Iterable[T],
    client: Any = None,
    packages: Sequence[tuple[str, str]] = (),
    report: Callable[[T, V], object] = lambda task, result: None,
) -> list[V]:
    """Return the results of ``job`` for all tasks, in the order of their numbers.

    A task begins with its number. Without a client tasks run here, one after the other.
    They are drawn as workers become free, so there may be millions, and move to another
    worker if theirs dies. A job makes a file unless an intact one exists, so it may run
    any number of times; it is pickled, so it must be an object of this library.
    ``packages`` are modules that workers need, each with the extra that installs it;
    ``report`` is called with every finished task and its result.

    Raises:
        ConfigError: If a worker lacks the library or a package, or has another version
            of the library; or a task has ended too many workers.
        ConnectionError: If the scheduler is gone.
        Exception: Any error of ``job``.
    """
    done: Iterable[tuple[T, V]] = ((task, job(task)) for task in tasks)
    if client is not None:
        done = _on_workers(job, tasks, client, packages)
    results: dict[int, V] = {}
    for task, result in done:
        results[task[0]] = result
        report(task, result)
    return [results[number] for number in sorted(results)]


def _on_workers(
    job: Callable[[T], Any],
    tasks: Iterable[T],
    client: Any,
    packages: Sequence[tuple[str, str]],
) -> Iterator[tuple[T, Any]]:
    """Yield every task with its result, in the order they finish."""
    distributed = require("distributed", "dask")
    problem, run = _by_value()

    def look(dask_worker: Any) -> str | None:
        return problem(__version__, list(packages), dask_worker.address)

    def patient(dask_scheduler: Any) -> None:
        dask_scheduler.allowed_failures = allowed

    allowed = ALLOWED_FAILURES
    content = pickle.dumps(job)
    arguments = (__version__, list(packages), content)
    waiting: dict[Any, T] = {}
    try:
        client.run_on_scheduler(patient)
        client.wait_for_workers(1)
        _refuse([text for text in client.run(look).values() if text is not None])
        finished = distributed.as_completed()
        source = iter(tasks)
        ended = False
        while True:
            room = max(8, _AHEAD * sum(client.nthreads().values()))
            while not ended and len(waiting) < room:
                try:
                    task = next(source)
                except StopIteration:
                    ended = True
                    break
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", "Sending large graph")
                    future = client.submit(run, *arguments, task, pure=False)
                waiting[future] = task
                finished.add(future)
            if not waiting:
                return
            future = next(finished)
            task = waiting.pop(future)
            if future.cancelled():
                raise ConnectionError("its tasks are cancelled")
            error = future.exception()
            if isinstance(error, distributed.KilledWorker):
                raise ConfigError(
                    f"{ALLOWED_FAILURES + 1} workers ended while they worked on "
                    f"{str(task)[:200]}, "
                    "perhaps for lack of memory; use smaller shards, or workers with "
                    "more memory, and repeat the command to continue."
                ) from error
            if error is not None:
                raise error
            answer = future.result()
            if isinstance(answer, str):
                _refuse([answer])
            yield task, answer[0]
    except ConfigError:
        raise
    except (OSError, TimeoutError) as error:
        # a client may not know yet that its connection is closed
        lost = isinstance(error, distributed.comm.CommClosedError)
        if _is_connected(client) and not lost:
            raise  # of the job
        cause = " ".join(str(error).split())
        raise ConnectionError(
            f"the Dask scheduler is gone ({cause[:200]}); finished files are kept. "
            "Start a scheduler, and repeat the command to continue."
        ) from error
    finally:
        if waiting and _is_connected(client):
            client.cancel(list(waiting))


def _is_connected(client: Any) -> bool:
    return client.status == "running"


def _refuse(problems: list[str]) -> None:
    if problems:
        more = len(problems) - _SHOWN
        tail = f"; and {more} more" if more > 0 else ""
        raise ConfigError(
            f"unusable workers: {'; '.join(sorted(problems)[:_SHOWN])}{tail}. Workers "
            "need the same version and extras as the client, here sekgnn "
            f"{__version__}."
        )


def _by_value() -> tuple[Callable[..., str | None], Callable[..., Any]]:
    """Return the functions that workers run, pickled by value.

    A worker without this library could not import them.
    """

    def problem(version: str, packages: list[Any], worker: str) -> str | None:
        import importlib

        try:
            installed = importlib.import_module("sekgnn._version").__version__
        except ImportError as error:
            return f"{worker} has no sekgnn ({error})"
        if installed != version:
            return f"{worker} has sekgnn {installed}"
        for module, extra in packages:
            try:
                importlib.import_module(module)
            except ImportError as error:
                return f"{worker} lacks the extra {extra!r} ({error})"
        return None

    def run(version: str, packages: list[Any], content: bytes, task: Any) -> Any:
        import pickle

        from distributed import get_worker

        text = problem(version, packages, get_worker().address)
        return text if text is not None else (pickle.loads(content)(task),)

    return problem, run
