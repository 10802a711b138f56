"""Edge lists: text files with one edge per line."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import SelfLoops, Undirected, check_num_nodes, located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.table import read_text

_NODES_LINE = re.compile(r"[#%]\s*nodes\s*:\s*(\d{1,18})\s*", re.IGNORECASE)


def read_edge_list(path: str | Path, **options: Any) -> Graph:
    """Read one graph from an edge list file.

    Args:
        path: The file.
        **options: ``undirected``, ``loops`` and ``num_nodes`` of
            :func:`parse_edge_list`.

    Raises:
        GraphInputError: If the file cannot be read or a line is malformed.
    """
    return parse_edge_list(read_text(path), source=str(path), **options)


def parse_edge_list(
    text: str,
    *,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
    num_nodes: int | None = None,
    source: str = "edge list",
) -> Graph:
    r"""Read one graph from text with one edge per line.

    A line holds two node ids (integers from 0), separated by spaces or a comma, and
    maybe a weight; weight 0 means no edge, other weights are ignored. ``#`` and
    ``%`` start comments. The node count is ``num_nodes``, or comes from a line
    ``# nodes: 7``; if neither is given it is the largest id plus one, and isolated
    nodes after that are lost: the text holds no more information.

    Args:
        text: The edge list.
        undirected: ``"error"``, or ``"add"`` the reverse of edges listed once.
        loops: ``"drop"`` (with a warning) or ``"error"``.
        num_nodes: Number of nodes.
        source: What error messages call the text, for example its file.

    Raises:
        GraphInputError: If a line is malformed; the message names it.

    Example:
        >>> parse_edge_list("# nodes: 4\n0 1\n1 2", undirected="add")
        Graph(num_nodes=4, num_edges=2)
    """
    ends: list[int] = []  # u0, v0, u1, v1, ...
    largest = -1
    declared: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        directive = _NODES_LINE.fullmatch(line.strip())
        if directive:
            declared = _agree(declared, int(directive[1]), f"{source}, line {number}")
            continue
        content = line.partition("#")[0].partition("%")[0].strip()
        if not content:
            continue
        try:
            u, v, is_edge = _parse_line(content)
        except GraphInputError as error:
            raise GraphInputError(f"{source}, line {number}: {error}") from None
        largest = max(largest, u, v)
        if is_edge:
            ends += (u, v)
    if num_nodes is not None:
        declared = _agree(declared, check_num_nodes(num_nodes), source)
    if declared is None and largest < 0:
        raise GraphInputError(
            f"{source} holds no edges; if that is intended, give the node count with a "
            "line '# nodes: N' or num_nodes=N."
        )
    n = largest + 1 if declared is None else declared
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    if largest >= n:
        raise GraphInputError(
            f"{source}: node {largest} occurs, but the node count is {n}; ids must lie "
            f"in [0, {n})."
        )
    with located(source):
        return Graph.from_edge_index(edges, n, undirected=undirected, loops=loops)


def _parse_line(content: str) -> tuple[int, int, bool]:
    """Return both ends and whether the pair is an edge (weight not 0)."""
    fields = content.split("," if "," in content else None)
    if len(fields) not in (2, 3):
        raise GraphInputError(
            f"expected 'node node' or 'node node weight', got {content!r}."
        )
    u, v, *weights = map(str.strip, fields)
    is_edge = all(_parse_weight(weight) != 0 for weight in weights)
    return _parse_id(u), _parse_id(v), is_edge


def _parse_id(field: str) -> int:
    """Return a node id."""
    if not (field.isascii() and field.isdigit()):
        raise GraphInputError(
            f"node ids must be integers from 0, got {field!r}; renumber the nodes, or "
            "start a header with '#'."
        )
    if len(field) > 10 or int(field) >= 2**31 - 1:
        raise GraphInputError(f"node id {field} is too large; renumber the nodes.")
    return int(field)


def _parse_weight(field: str) -> float:
    """Return a finite weight."""
    try:
        weight = float(field)
    except ValueError:
        raise GraphInputError(f"the weight must be a number, got {field!r}.") from None
    if not math.isfinite(weight):
        raise GraphInputError(
            f"the weight must be finite, got {field!r}; remove the line or the column."
        )
    return weight


def _agree(known: int | None, new: int, source: str) -> int:
    """Return ``new`` unless another node count is known already."""
    if known is not None and known != new:
        raise GraphInputError(f"{source}: node count {new} contradicts {known}.")
    return new
