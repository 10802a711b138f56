"""Long tables of SMILES, read by as many processes as there are cores.

rdkit and the loops over atoms hold the interpreter's lock, so threads would not help.
The processes run this file alone: no script of the user is imported again, and nothing
is inherited. The first molecules, which are all of a short table, need none.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any, TypeVar

from numpy.typing import NDArray

from sekgnn.graphs.molecules import from_rdkit, molecule_features, parse_smiles
from sekgnn.parallel import usable_cores

T = TypeVar("T")

FIRST = 2_000
"""Molecules that are read before processes start, which takes about a second."""
BLOCK = 256
"""Molecules that a process reads at a time."""
_AHEAD = 2  # blocks per process that are asked for before they are needed
_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from sekgnn.graphs.molecule_pool import serve; serve()"
)

How = tuple[bool, bool, bool]
"""With features, with hydrogens as nodes, with stereochemistry."""
Molecule = tuple[NDArray[Any], ...]
"""``indptr`` and ``indices`` of the graph; with features also ``x``, ``edge_attr``."""


def read_molecule(value: Any, how: How) -> Molecule | None:
    """Return the arrays of a molecule; ``None`` if rdkit cannot read it."""
    features, add_hydrogens, stereo = how
    mol = parse_smiles(value, add_hydrogens, stereo and features)
    if mol is None:
        return None
    if not features:
        graph = from_rdkit(mol)
        return graph.indptr, graph.indices
    graph, x, edge_attr = molecule_features(mol)
    return graph.indptr, graph.indices, x, edge_attr


def read_in_order(
    items: Iterable[tuple[T, Any]], how: How, *, alone: bool = False
) -> Iterator[tuple[T, Molecule | None]]:
    """Yield items, each with the arrays of its SMILES, in their order.

    Args:
        items: Whatever belongs to a molecule, and its SMILES.
        how: To read them.
        alone: Start no processes, whatever the number of molecules.

    Raises:
        What reading the items raises, after those before it are yielded.
    """
    waiting = iter(items)
    processes = usable_cores()
    short = None if alone or processes < 2 else FIRST
    for item, value in islice(waiting, short):
        yield item, read_molecule(value, how)
    if short is None:
        return
    ahead = list(islice(waiting, BLOCK))
    if len(ahead) < BLOCK:  # not worth it
        for item, value in ahead:
            yield item, read_molecule(value, how)
        return
    with _helpers(processes, how) as ask:
        yield from _in_order(_blocks(ahead, waiting), ask, _AHEAD * processes)


def _blocks(
    first: list[tuple[T, Any]], waiting: Iterator[tuple[T, Any]]
) -> Iterator[list[tuple[T, Any]]]:
    block = first
    while block:
        yield block
        block = []
        try:
            for pair in islice(waiting, BLOCK):
                block.append(pair)
        except Exception:
            if block:
                yield block
            raise


def _in_order(
    blocks: Iterator[list[tuple[T, Any]]], ask: Any, most: int
) -> Iterator[tuple[T, Molecule | None]]:
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
def _helpers(count: int, how: How) -> Iterator[Any]:
    """Give a function that lets one of ``count`` processes read SMILES, as a future.

    What a process that ends early was asked for is read here.
    """
    program = [sys.executable, "-c", _PROGRAM.format(path=sys.path)]
    idle: SimpleQueue[subprocess.Popen[bytes] | None] = SimpleQueue()

    def read(values: Sequence[Any]) -> list[Molecule | None]:
        process = idle.get()
        try:
            if process is not None:
                assert process.stdin is not None and process.stdout is not None
                pickle.dump((list(values), how), process.stdin)
                process.stdin.flush()
                found: list[Molecule | None] = pickle.load(process.stdout)
                return found
        except (OSError, EOFError, pickle.PickleError):
            process = None
        finally:
            idle.put(process)
        return [read_molecule(value, how) for value in values]

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
        yield lambda values: threads.submit(read, values)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def serve() -> None:
    """Read SMILES that come from another process until that closes the pipe."""
    while True:
        try:
            values, how = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        found = [read_molecule(value, how) for value in values]
        pickle.dump(found, sys.stdout.buffer, protocol=pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()
