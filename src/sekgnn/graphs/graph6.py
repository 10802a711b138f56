"""graph6, the one-line text form of small graphs (McKay's nauty), read and written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import clean_edges, located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.table import Part, text_lines

HEADER = ">>graph6<<"
"""Optional prefix of the first graph."""
_LOW, _HIGH = 63, 126  # a byte b carries the six bits of b - 63
_OTHER_FORMATS = {
    b":": "sparse6",
    b">>sparse6<<": "sparse6",
    b";": "incremental sparse6",
    b"&": "digraph6",
    b">>digraph6<<": "digraph6",
}


def from_graph6(text: str | bytes) -> Graph:
    """Read one graph from its graph6 string, with or without ``>>graph6<<``.

    The node count takes 1, 4 or 8 bytes (up to 62, 258047, 2^36 - 1 nodes); then
    follow the bits of the upper triangle, column by column, six to a byte.

    Raises:
        GraphInputError: If a character is illegal, or the string too short or too long.

    Example:
        >>> from_graph6("Bw")
        Graph(num_nodes=3, num_edges=3)
    """
    sixes = _sixes(text)
    n, start = _read_size(sixes)
    num_bits = n * (n - 1) // 2
    expected = start + (num_bits + 5) // 6
    if sixes.size != expected:
        length = "too short" if sixes.size < expected else "too long"
        raise GraphInputError(
            f"graph6 string is {length}: a graph of {n} nodes takes {expected} "
            f"characters, got {sixes.size}."
        )
    bits = np.unpackbits(sixes[start:, None], axis=1)[:, 2:].reshape(-1)
    if bits[num_bits:].any():
        raise GraphInputError(
            "graph6 string has bits set after the last node pair; it is damaged."
        )
    i, j = pair_unrank(np.flatnonzero(bits))
    return Graph.over(*clean_edges(i, j, n, undirected="add"))


def to_graph6(graph: Graph) -> str:
    """Return the graph6 string of ``graph``, without header or line end.

    Example:
        >>> to_graph6(Graph.from_edge_index([[0, 1], [1, 0]], 3))
        'B_'
    """
    n = graph.num_nodes
    row, col = graph.edge_index()
    upper = row < col
    bits = np.zeros((n * (n - 1) // 2 + 5) // 6 * 6, dtype=np.uint8)
    i, j = row[upper], col[upper]
    bits[j * (j - 1) // 2 + i] = 1
    sixes = np.packbits(bits.reshape(-1, 6), axis=1).reshape(-1) >> 2
    return (_write_size(n) + (sixes + _LOW).astype(np.uint8).tobytes()).decode("ascii")


def graph6_lines(path: str | Path, part: Part | None = None) -> Iterator[Graph]:
    """Yield the graphs of a file, or of a part of it, with one graph6 string per line.

    Blank lines are skipped; errors name the line.
    """
    lines = text_lines(path, "\n", part)
    before = 0 if part is None else part.line
    for number, line in enumerate(lines, start=before + 1):
        text = line.strip()
        if text and text != HEADER:
            with located(f"{path}, line {number}"):
                yield from_graph6(text)


def pair_unrank(rank: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    r"""Return the pairs :math:`i < j` at positions :math:`j (j - 1) / 2 + i` of graph6.

    Exact for ranks below 2^61: the square root is only a first guess.

    Example:
        >>> i, j = pair_unrank(np.array([0, 1, 2]))
        >>> i.tolist(), j.tolist()
        ([0, 0, 1], [1, 2, 2])
    """
    j = ((1 + np.sqrt(8.0 * rank + 1)) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > rank
    j += j * (j + 1) // 2 <= rank
    return rank - j * (j - 1) // 2, j


def _sixes(text: str | bytes) -> NDArray[np.uint8]:
    """Return the six-bit values of the characters, without header and white space."""
    raw = (text.encode("utf-8") if isinstance(text, str) else text).strip()
    for start, name in _OTHER_FORMATS.items():
        if raw.startswith(start):
            raise GraphInputError(
                f"this is {name}, which is not supported; convert it to graph6 "
                "(for example with nauty's copyg -g)."
            )
    values = np.frombuffer(raw.removeprefix(HEADER.encode()), dtype=np.uint8)
    bad = np.flatnonzero((values < _LOW) | (values > _HIGH))
    if bad.size:
        raise GraphInputError(
            f"illegal graph6 character {chr(values[bad[0]])!r} at position "
            f"{bad[0] + 1}; only '?' to '~' may occur."
        )
    return values - np.uint8(_LOW)


def _read_size(sixes: NDArray[np.uint8]) -> tuple[int, int]:
    """Return the node count and the number of its characters."""
    if sixes.size == 0:
        raise GraphInputError("graph6 string is empty.")
    marks = 0
    while marks < 2 and marks < sixes.size and sixes[marks] == 63:
        marks += 1
    begin, end = ((0, 1), (1, 4), (2, 8))[marks]
    if sixes.size < end:
        raise GraphInputError("graph6 string ends within the node count.")
    n = 0
    for six in sixes[begin:end].tolist():
        n = n * 64 + six
    return n, end


def _write_size(n: int) -> bytes:
    """Return the shortest form of the node count."""
    if n <= 62:
        return bytes([n + _LOW])
    marks, length = (b"~", 3) if n <= 258_047 else (b"~~", 6)
    shifts = range(6 * (length - 1), -1, -6)
    return marks + bytes([(n >> shift & 63) + _LOW for shift in shifts])
