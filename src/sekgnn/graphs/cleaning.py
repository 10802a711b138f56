"""The rules of a simple undirected graph: pairs are cleaned, rows are checked.

Kernels do not check indices: a neighbour that does not exist is a read out of bounds.
So all arrays from outside, of a file or a user, pass :func:`check_rows` first.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import check_choice, check_claim, check_memory
from sekgnn.digest import scramble
from sekgnn.errors import GraphInputError, GraphInputWarning
from sekgnn.kernel import kernel
from sekgnn.parallel import even_chunks, run_chunks

Undirected = Literal["error", "add"]
"""What to do with edges that are listed in one direction only."""
SelfLoops = Literal["drop", "error"]
"""What to do with edges from a node to itself."""
NodeDescriber = Callable[[int], tuple[str, str]]
"""Maps a node to the user's name for it and its location: ``("3", " of graph 7")``."""

_CHUNK = 1 << 17  # nodes that are checked together

_FAULTS = {
    1: "the row of node {} does not lie in the indices; indptr must rise from 0 to "
    "their number",
    2: "node {} has a neighbour that is not a node of its graph",
    3: "node {} is its own neighbour; graphs here have no self-loops",
    4: "the neighbours of node {} are not sorted, or one is repeated",
}

_SOUND: set[tuple[int, ...]] = set()  # stamps of files that have passed


@contextmanager
def located(location: object) -> Iterator[None]:
    """Put ``location`` before the message of a :class:`GraphInputError`."""
    try:
        yield
    except GraphInputError as error:
        raise GraphInputError(f"{location}: {error}") from None


def check_rules(undirected: str, loops: str) -> None:
    """Refuse unknown values of the two rules."""
    check_choice("undirected", undirected, ("error", "add"))
    check_choice("loops", loops, ("drop", "error"))


def without_torch(values: Any) -> Any:
    """Return a torch tensor as a numpy array, anything else as it is."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def edge_array(edge_index: Any) -> NDArray[np.int64]:
    """Return ``edge_index`` (numpy, torch or nested lists) as int64 ``[2, E]``."""
    try:
        edges = np.asarray(without_torch(edge_index))
    except ValueError as error:
        raise GraphInputError(
            "edge_index must have shape [2, E]; its rows differ in length."
        ) from error
    if edges.size == 0 and edges.ndim <= 2:
        edges = np.zeros((2, 0), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[0] != 2:
        hint = " For one edge per row, pass edge_index.T."
        raise GraphInputError(
            f"edge_index must have shape [2, E], got {list(edges.shape)}."
            + hint * (edges.shape[1:] == (2,))
        )
    if not np.issubdtype(edges.dtype, np.integer):
        raise GraphInputError(f"edge_index must hold integers, got {edges.dtype}.")
    if edges.dtype == np.uint64 and edges.size and int(edges.max()) >= 2**63:
        raise GraphInputError(
            f"edge_index holds node {edges.max()}; that is too large."
        )
    return edges.astype(np.int64, order="C")


def check_num_nodes(num_nodes: Any) -> int:
    """Return ``num_nodes`` as an int in ``[0, 2^31)``, or raise."""
    if num_nodes is None:
        raise GraphInputError(
            "num_nodes is not set; isolated nodes would be lost. Pass num_nodes."
        )
    try:
        number = int(num_nodes)
        fits = not isinstance(num_nodes, bool | str) and 0 <= number == num_nodes
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise GraphInputError(
            f"num_nodes must be an integer of at least 0, got {num_nodes!r}."
        )
    if num_nodes >= 2**31:
        raise GraphInputError(f"num_nodes must be below 2^31, got {num_nodes}.")
    return number


def check_size(num_nodes: int, num_pairs: int) -> None:
    """Refuse more nodes than the pairs support, or than memory has room for."""
    check_claim(num_nodes, "nodes", num_pairs, "edges")
    check_memory(8 * num_nodes + 64 * num_pairs, f"a graph of {num_nodes:,} nodes")


def clean_edges(
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    num_nodes: int,
    *,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
    describe: NodeDescriber = lambda node: (str(node), ""),
    stacklevel: int = 3,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Drop loops, merge duplicates, insist on symmetry, and return CSR arrays.

    Pairs, ``[E]`` each, are within range. ``describe`` names a node in messages,
    ``stacklevel`` counts the frames between the warning and the user's line.

    Returns:
        ``indptr`` int64 ``[num_nodes + 1]`` and ``indices`` int32, sorted in each row.
    """
    check_rules(undirected, loops)
    check_size(num_nodes, row.size)
    looped = row == col
    if looped.any():
        nodes = row[looped]
        first = "".join(describe(int(nodes[0])))
        report_loops(np.unique(nodes).size, first, loops, stacklevel + 1)
        row, col = row[~looped], col[~looped]
    key = row * num_nodes + col
    if not (key[1:] > key[:-1]).all():
        key = _sorted_distinct(key)
        row, col = np.divmod(key, num_nodes)
    reverse = col * num_nodes + row
    reverse.sort()
    if not np.array_equal(key, reverse):
        if undirected == "error":
            missing = np.setdiff1d(reverse, key, assume_unique=True)
            (u, location), (v, _) = map(describe, divmod(int(missing[0]), num_nodes))
            raise one_way_error(missing.size, v, u, location)
        key = _sorted_distinct(np.concatenate([key, reverse]))
        row, col = np.divmod(key, num_nodes)
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=num_nodes), out=indptr[1:])
    return indptr, col.astype(np.int32)


def note_weights(what: str) -> None:
    """Warn that weights are not used."""
    warnings.warn(
        f"{what} are not used: walks take every edge with the same probability, and "
        "every value other than 0 is an edge. Drop edges that should not count.",
        GraphInputWarning,
        stacklevel=4,
    )


def _sorted_distinct(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort and remove duplicates; ``np.unique`` hashes integers and is far slower."""
    key = np.sort(key)
    return key[np.diff(key, prepend=-1) != 0]


def check_ids(low: int, high: int, num_nodes: int) -> None:
    """Refuse node ids ``low..high`` that are not all in the graph."""
    if not 0 <= low <= high < num_nodes:
        raise GraphInputError(
            f"the edges hold nodes {low}..{high}, but num_nodes={num_nodes}; node ids "
            f"must lie in [0, {num_nodes})."
        )


def report_loops(count: int, first: str, loops: SelfLoops, stacklevel: int) -> None:
    """Raise for, or warn of, self-loops; ``first`` names the node of the first."""
    text = f"{count} self-loop{'s' * (count > 1)}"
    if loops == "error":
        raise GraphInputError(
            f'{text} found (first at node {first}); remove them, or pass loops="drop".'
        )
    warnings.warn(
        f"{text} dropped (first at node {first}); graphs here are simple (walks add "
        "their own loops).",
        GraphInputWarning,
        stacklevel=stacklevel,
    )


def one_way_error(count: object, v: str, u: str, location: str = "") -> GraphInputError:
    """Return the error of edges that lack their reverse, such as ``v -> u``."""
    return GraphInputError(
        f"{count} edges have one direction only, e.g. {v} -> {u} without {u} -> "
        f"{v}{location}; list both directions, or build the graph with "
        'undirected="add" (Graph.from_edge_index, as_graph; on the command line '
        "--undirected add)."
    )


def check_rows(
    node_ptr: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    threads: int | None = None,
) -> None:
    """Check, in one pass, that arrays are those of simple undirected graphs.

    The pass reads them in order, so they may be mapped and larger than memory. Edges
    without their reverse are detected by a sum over all entries of a hash of the edge,
    with a secret key, positive for u < v and negative for v, u. They go unnoticed with
    a probability of about :math:`2^{-64}`.

    Args:
        node_ptr: As in :class:`~sekgnn.graphs.packed.PackedGraphs`.
        indptr: Likewise.
        indices: Likewise.
        threads: Threads; ``None`` for all usable cores.

    Raises:
        GraphInputError: If they are not; names a node of the union.
    """
    check_array("indices", indices, np.int32, None)
    check_starts("indptr", indptr, indices.size, rising=False)  # checked in the pass
    check_starts("node_ptr", node_ptr, check_num_nodes(indptr.size - 1))
    views = [np.ascontiguousarray(a).view() for a in (node_ptr, indptr, indices)]
    for view in views:  # one compiled version serves all
        view.flags.writeable = False
    nodes, rows, entries = views
    key = np.uint64(secrets.randbits(64)), np.uint64(secrets.randbits(64) | 1)
    faults: list[tuple[int, int]] = []
    sums: list[int] = []

    def work(start: int, stop: int) -> None:
        graph = int(np.searchsorted(nodes, start, side="right")) - 1
        total, fault, node = examine_rows(
            nodes, rows, entries, graph, start, stop, *key
        )
        sums.append(int(total))
        if fault:
            faults.append((node, fault))

    run_chunks(work, even_chunks(rows.size - 1, _CHUNK), threads)
    if faults:
        node, fault = min(faults)
        raise GraphInputError(f"{_FAULTS[fault].format(node)}.")
    if sum(sums) % 2**64:
        raise GraphInputError("an edge is listed in one direction only; list both.")


@kernel
def examine_rows(
    node_ptr: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    graph: int,
    start: int,
    stop: int,
    shift: np.uint64,
    factor: np.uint64,
) -> tuple[np.uint64, int, int]:
    """Check the rows of nodes ``start..stop - 1``; ``graph`` is that of the first.

    Returns:
        The sum over their entries, and the first fault with its node; 0 if there is
        none.
    """
    total, half = np.uint64(0), np.uint64(32)
    for v in range(start, stop):
        while v >= node_ptr[graph + 1]:
            graph += 1
        first, last = node_ptr[graph], node_ptr[graph + 1]
        low, high = indptr[v], indptr[v + 1]
        if low < 0 or low > high or high > indices.size:
            return total, 1, v
        before = first - 1
        for e in range(low, high):
            u = np.int64(indices[e])
            if u < first or u >= last:
                return total, 2, v
            if u == v:
                return total, 3, v
            if u <= before:
                return total, 4, v
            before = u
            if u > v:
                pair = (np.uint64(v) << half) | np.uint64(u)
                total += scramble((pair + shift) * factor)
            else:
                pair = (np.uint64(u) << half) | np.uint64(v)
                total -= scramble((pair + shift) * factor)
    return total, 0, 0


def checked_once(path: Path, check: Callable[[], object]) -> None:
    """Call ``check``, unless it has passed in this process for the same file.

    A file that changes while it is mapped is beyond help, so its time and size are
    enough to identify it.
    """
    status = path.stat()
    stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if stamp not in _SOUND:
        check()
        _SOUND.add(stamp)


def check_array(
    name: str, array: NDArray[Any], dtype: DTypeLike, *shape: int | None
) -> None:
    """Check the type of an array, and its sizes where they are not ``None``.

    Raises:
        GraphInputError: If it has another type or shape; ``np.floating`` and the like
            stand for all their subtypes.
    """
    if array.ndim == len(shape) and array.dtype.isnative:
        sizes = zip(shape, array.shape, strict=True)
        if all(size is None or size == length for size, length in sizes):
            if np.issubdtype(array.dtype, dtype):
                return
    expected = ", ".join("?" if size is None else str(size) for size in shape)
    kind = dtype.__name__ if isinstance(dtype, type) else dtype
    raise GraphInputError(
        f"{name} must be {kind} [{expected}], got {array.dtype} {list(array.shape)}."
    )


def check_starts(
    name: str, starts: NDArray[Any], end: int, *, rising: bool = True
) -> None:
    """Check that row starts go from 0 to ``end``, and with ``rising`` never decrease.

    Raises:
        GraphInputError: If not.
    """
    check_array(name, starts, np.int64, None)
    if not starts.size or starts[0] != 0 or starts[-1] != end:
        raise GraphInputError(f"{name} must start at 0 and end at {end}.")
    falls = np.flatnonzero(starts[1:] < starts[:-1])
    if rising and falls.size:
        raise GraphInputError(
            f"{name} must not decrease, but entry {falls[0] + 1} is below entry "
            f"{falls[0]}."
        )
