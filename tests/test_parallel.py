"""Chunks cover the work once, progress says so, and errors reach the caller."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.errors import ConfigError
from sekgnn.parallel import even_chunks, run_chunks

WORKERS = (1, 2, 5)


@given(total=st.integers(0, 40), size=st.integers(1, 50))
def test_even_chunks_cover_the_range_once(total: int, size: int) -> None:
    chunks = even_chunks(total, size)
    covered = [i for start, stop in chunks for i in range(start, stop)]
    assert covered == list(range(total))
    assert all(0 < stop - start <= size for start, stop in chunks)


@pytest.mark.parametrize("threads", WORKERS)
def test_progress_counts_finished_units_from_the_calling_thread(threads: int) -> None:
    """Every chunk runs once; units are counted, not chunks, and after their work."""
    chunks = [(0, 3), (3, 4), (10, 30)]
    finished: list[tuple[int, int]] = []
    seen: list[tuple[int, int]] = []
    caller = threading.get_ident()

    def progress(done: int, total: int) -> None:
        assert threading.get_ident() == caller
        assert done <= sum(stop - start for start, stop in finished)
        seen.append((done, total))

    run_chunks(lambda *chunk: finished.append(chunk), chunks, threads, progress)
    assert sorted(finished) == chunks
    finished.clear()
    run_chunks(lambda *chunk: finished.append(chunk), chunks, threads)
    assert sorted(finished) == chunks
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert {total for _, total in seen} == {24}
    assert seen[-1] == (24, 24)
    assert threads > 1 or [done for done, _ in seen] == [3, 4, 24]  # after each


@pytest.mark.parametrize("threads", WORKERS)
def test_an_error_reaches_the_caller_and_stops_the_rest(threads: int) -> None:
    """Chunks that nobody has begun are not begun after a failure."""
    begun: list[int] = []
    failed = threading.Event()

    def work(start: int, stop: int) -> None:
        begun.append(start)
        if start == 0:
            failed.set()
            raise ZeroDivisionError("chunk 0")
        failed.wait(5)
        threading.Event().wait(0.01)

    with pytest.raises(ZeroDivisionError, match="chunk 0"):
        run_chunks(work, even_chunks(400, 1), threads)
    assert len(begun) < 200


@pytest.mark.parametrize("threads", WORKERS)
def test_an_error_in_progress_stops_the_work(threads: int) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    begun: list[int] = []

    def work(start: int, _: int) -> None:
        begun.append(start)
        threading.Event().wait(0.005)

    with pytest.raises(KeyboardInterrupt):
        run_chunks(work, even_chunks(400, 1), threads, stop)
    assert len(begun) < 200


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_threads_than_asked_for(threads: int) -> None:
    names: set[int] = set()

    def work(start: int, stop: int) -> None:
        names.add(threading.get_ident())
        threading.Event().wait(0.002)

    run_chunks(work, even_chunks(30, 1), threads)
    assert len(names) == threads


def test_nothing_to_do_is_not_an_error() -> None:
    seen: list[object] = []
    run_chunks(lambda *chunk: seen.append(chunk), [], 3, lambda *at: seen.append(at))
    assert seen == []


def test_workers_are_checked_even_without_work() -> None:
    with pytest.raises(ConfigError, match="threads must be at least 1"):
        run_chunks(lambda start, stop: None, [], 0)
