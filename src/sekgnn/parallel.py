"""Threads over chunks of work.

The compiled kernels release the GIL, so plain threads use every core. Unlike numba's
own parallel loops this works inside a PyG ``DataLoader`` worker and reports progress.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from sekgnn.checks import check_positive

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Called with (done, total) units of work after each chunk."""


def usable_cores() -> int:
    """Return the number of cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_threads(threads: int | None) -> int:
    """Return ``threads``, or the number of usable cores for ``None``."""
    return usable_cores() if threads is None else check_positive("threads", threads)


def run_chunks(
    work: Callable[[int, int], object],
    bounds: Iterable[tuple[int, int]],
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Call ``work(start, stop)`` for every chunk, on ``threads`` threads.

    The calling thread is one of them, and the one that reports progress. Each takes the
    next chunk when it is done with one, which costs a microsecond per chunk.
    """
    pending = deque(bounds)
    others = min(resolve_threads(threads), len(pending)) - 1
    if others < 1 and progress is None:
        for start, stop in pending:
            work(start, stop)
        return
    total = sum(stop - start for start, stop in pending)
    finished: deque[int] = deque()  # sizes of chunks that are not reported yet
    done = 0

    def run(progress: Progress | None = None) -> None:
        nonlocal done
        while pending:
            try:
                start, stop = pending.popleft()
            except IndexError:  # another thread was quicker
                return
            try:
                work(start, stop)
                finished.append(stop - start)
                if progress is not None:
                    while finished:
                        done += finished.popleft()
                    progress(done, total)
            except BaseException:
                pending.clear()
                raise

    if others < 1:
        run(progress)
        return
    with ThreadPoolExecutor(others) as pool:
        futures = [pool.submit(run) for _ in range(others)]
        run(progress)
        for future in futures:
            future.result()
    if progress is not None and done < total:
        progress(total, total)


def within(
    progress: Progress | None, before: int, units: int, total: int
) -> Progress | None:
    """Turn the progress of one piece of work into ``units`` of the whole."""
    if progress is None:
        return None
    return lambda done, of: progress(before + units * done // max(of, 1), total)


class PerThread(threading.local, Generic[T]):
    """Scratch memory, ``value``, which every thread makes on first use."""

    def __init__(self, make: Callable[[], T]) -> None:
        """Run in every thread that uses the object, as ``threading.local`` does."""
        self.value = make()


def even_chunks(total: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(total)`` into chunks of at most ``size``.

    Example:
        >>> even_chunks(5, 2)
        [(0, 2), (2, 4), (4, 5)]
    """
    return [(start, min(start + size, total)) for start in range(0, total, size)]
