"""Work on many SMILES, shared by as many processes as there are cores.

rdkit and the loops over atoms hold the interpreter's lock, so threads would not help.
The processes run this file alone: no script of the user is imported again, and nothing
is inherited. The first molecules, which are all of a short table, are done here.
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
"""Molecules that are read before processes start, which takes about a second."""
FIRST_SLOW = 200
"""The same for what takes milliseconds, such as descriptors."""
BLOCK = 256
"""Molecules that a process is given at a time, at most."""
_AHEAD = 2  # blocks per process that are asked for before they are needed
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
    """Yield items, each with what a function makes of its SMILES, in their order.

    Args:
        work: A function of a module, or a partial one, which other processes import.
        items: Whatever belongs to a molecule, and its SMILES.
        first: Molecules that are done before processes start; ``FIRST`` by default.
        alone: Start no processes, whatever the number of molecules.

    Raises:
        What the function or the items raise, after what stands before is yielded.
    """
    waiting = iter(items)
    processes, enough = usable_cores(), FIRST if first is None else first
    size = min(BLOCK, max(enough // processes, 1))
    for item, value in waiting if alone or processes < 2 else islice(waiting, enough):
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
    """Yield the answers to blocks, of which some are asked for ahead."""
    asked: deque[tuple[list[tuple[T, Any]], Future[Any]]] = deque()
    fault: Exception | None = None
    while True:
        while fault is None and len(asked) < most:
            try:
                block = next(blocks, None)
            except Exception as error:  # of the table: what came before it is good
                fault = error
                break
            if block is None:
                break
            asked.append((block, ask([value for _, value in block])))
        if not asked:
            break
        block, future = asked.popleft()
        for (item, _), found in zip(block, future.result(), strict=True):
            yield item, found
    if fault is not None:
        raise fault


@contextmanager
def _helpers(count: int, work: Callable[[Any], Any]) -> Iterator[Any]:
    """Give a function that lets one of ``count`` processes do SMILES, as a future.

    What a process fails at, or that ends early, is done here: its error is raised here.
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
                found: list[Any] | None = pickle.load(process.stdout)
                if found is not None:
                    return found
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
    """Do what another process asks for, until that closes the pipe."""
    while True:
        try:
            work, values = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            found = [work(value) for value in values]
        except Exception:  # whoever asked meets it, too
            found = None
        pickle.dump(found, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()
