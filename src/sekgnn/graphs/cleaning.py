"""The rules that turn node pairs into a simple undirected graph, written once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.errors import GraphInputError, GraphInputWarning
from sekgnn.memory import check_claim, check_memory

Undirected = Literal["error", "add"]
"""What to do with edges that are listed in one direction only."""
SelfLoops = Literal["drop", "error"]
"""What to do with edges from a node to itself."""
NodeDescriber = Callable[[int], tuple[str, str]]
"""Maps a node to what the user calls it and where it is: ``("3", " of graph 7")``."""


@contextmanager
def located(place: object) -> Iterator[None]:
    """Put ``place`` before the message of whatever is wrong with the input."""
    try:
        yield
    except GraphInputError as error:
        raise GraphInputError(f"{place}: {error}") from None


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
        hint = " If you have one edge per row, pass edge_index.T."
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

    Pairs, ``[E]`` each, are within range. ``describe`` is how messages call a node,
    ``stacklevel`` the frames between the warning and the user's line.

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
            (u, place), (v, _) = map(describe, divmod(int(missing[0]), num_nodes))
            raise one_way_error(missing.size, v, u, place)
        key = _sorted_distinct(np.concatenate([key, reverse]))
        row, col = np.divmod(key, num_nodes)
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=num_nodes), out=indptr[1:])
    return indptr, col.astype(np.int32)


def note_weights(what: str) -> None:
    """Warn that weights are not used."""
    warnings.warn(
        f"{what} are not used: walks here take every edge alike, and what is not 0 is "
        "an edge. Drop edges that should not count.",
        GraphInputWarning,
        stacklevel=4,
    )


def _sorted_distinct(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort and remove repeats; ``np.unique`` hashes integers and is far slower."""
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


def one_way_error(count: object, v: str, u: str, place: str = "") -> GraphInputError:
    """Return the error of edges that lack their reverse, such as ``v -> u``."""
    return GraphInputError(
        f"{count} edges have one direction only, e.g. {v} -> {u} without {u} -> "
        f'{v}{place}; list both directions, or build the graph with undirected="add" '
        "(Graph.from_edge_index, as_graph; on the command line --undirected add)."
    )
