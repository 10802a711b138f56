"""Work on many SMILES, shared by as many processes as there are cores.

rdkit and the loops over atoms hold the interpreter's lock, so threads would not help.
The processes run this file alone: no script of the user is imported again, and nothing
is inherited. The first molecules, so all of a short table, are read in this process.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.molecules import (
    JOINT,
    component_columns,
    from_rdkit,
    molecule_features,
    parse_smiles,
)
from sekgnn.parallel import usable_cores

T = TypeVar("T")
R = TypeVar("R")

FIRST = 2_000
"""Molecules read before processes start, which takes about a second."""
FIRST_SLOW = 200
"""The same for slow work, such as descriptors, which takes milliseconds."""
BLOCK = 256
"""Most molecules sent to a process at a time."""
_AHEAD = 2  # blocks per process in flight
_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from sekgnn.graphs.molecule_pool import serve; serve()"
)

Molecule = tuple[NDArray[Any], ...]
"""``indptr`` and ``indices`` of the graph; with features also ``x``, ``edge_attr``."""


def read_molecule(
    value: Any, features: bool = True, add_hydrogens: bool = False, stereo: bool = True
) -> Molecule | None:
    """Return the arrays of a molecule; ``None`` if rdkit cannot read it.

    Of SMILES of several columns, ``x`` ends with a column for each of these.
    """
    mol = parse_smiles(value, add_hydrogens, stereo and features)
    if mol is None:
        return None
    components = component_columns(value, mol) if JOINT in value else None
    if components is None and JOINT in value:
        return None
    if not features:
        graph = from_rdkit(mol)
        return graph.indptr, graph.indices
    graph, x, edge_attr = molecule_features(mol)
    if components is not None:
        x = np.hstack([x, components])
    return graph.indptr, graph.indices, x, edge_attr


def in_order(
    work: Callable[[Any], R],
    items: Iterable[tuple[T, Any]],
    *,
    first: int | None = None,
    alone: bool = False,
) -> Iterator[tuple[T, R]]:
    """Yield every item with the result of ``work`` for its SMILES, in order.

    Args:
        work: A function of a module, or a partial one, which other processes import.
        items: Pairs of any object and a SMILES.
        first: Molecules read before processes start; ``FIRST`` by default.
        alone: Start no processes, whatever the number of molecules.

    Raises:
        Any error of the function or the items, after the results before it.
    """
    waiting = iter(items)
    processes, num_first = usable_cores(), FIRST if first is None else first
    size = min(BLOCK, max(num_first // processes, 1))
    for item, value in (
        waiting if alone or processes < 2 else islice(waiting, num_first)
    ):
        yield item, work(value)
    ahead = list(islice(waiting, size))
    if len(ahead) < size:  # not worth it
        for item, value in ahead:
            yield item, work(value)
        return
    with _helpers(processes, work) as ask:
        yield from _answers(_blocks(ahead, waiting, size), ask, _AHEAD * processes)


def _blocks(
    first: list[tuple[T, Any]], waiting: Iterator[tuple[T, Any]], size: int
) -> Iterator[list[tuple[T, Any]]]:
    block = first
    while block:
        yield block
        block = []
        try:
            for pair in islice(waiting, size):
                block.append(pair)
        except Exception:
            if block:
                yield block
            raise


def _answers(
    blocks: Iterator[list[tuple[T, Any]]], ask: Any, most: int
) -> Iterator[tuple[T, Any]]:
    """Yield the answers to blocks, of which up to ``most`` are in flight."""
    pending: deque[tuple[list[tuple[T, Any]], Future[Any]]] = deque()
    fault: Exception | None = None
    while True:
        while fault is None and len(pending) < most:
            try:
                block = next(blocks, None)
            except Exception as error:  # of the table; the rows before it are good
                fault = error
                break
            if block is None:
                break
            pending.append((block, ask([value for _, value in block])))
        if not pending:
            break
        block, future = pending.popleft()
        for (item, _), answer in zip(block, future.result(), strict=True):
            yield item, answer
    if fault is not None:
        raise fault


@contextmanager
def _helpers(count: int, work: Callable[[Any], Any]) -> Iterator[Any]:
    """Start ``count`` processes; give a function that sends one SMILES, for a future.

    If a process fails or ends early, its SMILES are done here, and raise their error.
    """
    program = [sys.executable, "-c", _PROGRAM.format(path=sys.path)]
    idle: SimpleQueue[subprocess.Popen[bytes] | None] = SimpleQueue()

    def done(values: Sequence[Any]) -> list[Any]:
        process = idle.get()
        try:
            if process is not None:
                assert process.stdin is not None and process.stdout is not None
                pickle.dump((work, list(values)), process.stdin)
                process.stdin.flush()
                answers: list[Any] | None = pickle.load(process.stdout)
                if answers is not None:
                    return answers
        except (OSError, EOFError, pickle.PickleError):
            process = None
        finally:
            idle.put(process)
        return [work(value) for value in values]

    with ExitStack() as stack:
        for _ in range(count):
            process = subprocess.Popen(
                program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for this process alone
            )
            stack.callback(_end, process)
            idle.put(process)
        threads = stack.enter_context(ThreadPoolExecutor(count))
        stack.callback(threads.shutdown, wait=False, cancel_futures=True)
        yield lambda values: threads.submit(done, values)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def serve() -> None:
    """Answer requests of the parent process until it closes the pipe."""
    while True:
        try:
            work, values = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answers = [work(value) for value in values]
        except Exception:  # the parent meets it, too
            answers = None
        pickle.dump(answers, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()
