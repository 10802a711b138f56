"""Edge lists: text files with one edge per line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import SelfLoops, Undirected, check_num_nodes, located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.table import open_binary
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress

_BLOCK = 1 << 24  # bytes of a long file read at a time
_NODES_LINE = re.compile(r"[#%]\s*nodes\s*:\s*(\d{1,18})\s*", re.IGNORECASE)


def read_edge_list(
    path: str | Path,
    *,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
) -> Graph:
    """Read one graph from a text file with one edge per line.

    A line holds two node ids (integers from 0), separated by spaces or a comma, and
    maybe a weight; weight 0 means no edge, other weights are ignored. ``#`` and
    ``%`` start comments. The node count comes from a line ``# nodes: 7``, or else is
    the largest id plus one, and isolated nodes after that are lost: the text holds no
    more information.

    Raises:
        GraphInputError: If the file cannot be read or a line is malformed, which the
            message names.
    """
    chunks = EdgeChunks(path)
    pairs = [np.zeros((0, 2), np.int32), *chunks]
    n = count_nodes(path, [chunks.num_nodes], chunks.largest)
    edges = np.concatenate(pairs).T
    with located(path):
        return Graph.from_edge_index(edges, n, undirected=undirected, loops=loops)


def count_nodes(source: str | Path, counts: Iterable[int | None], largest: int) -> int:
    """Return the number of nodes of ``counts``, or else the largest id plus one.

    Raises:
        GraphInputError: If stated numbers differ, or there is neither one nor an edge.
    """
    with located(source):
        numbers = {check_num_nodes(count) for count in counts if count is not None}
    if not numbers and largest < 0:
        raise GraphInputError(
            f"{source} holds no edges; if that is intended, give the node count with a "
            "line '# nodes: N' or num_nodes=N (--num-nodes)."
        )
    if len(numbers) > 1:
        raise GraphInputError(
            f"{source}: different numbers of nodes are stated, "
            f"{' and '.join(map(str, sorted(numbers)))} (by the list, num_nodes or the "
            "rows of arrays); these must agree."
        )
    n = numbers.pop() if numbers else largest + 1
    if largest >= n:
        raise GraphInputError(
            f"{source}: node {largest} occurs, but the node count is {n}; ids must lie "
            f"in [0, {n})."
        )
    return n


class EdgeChunks:
    """The node pairs of an edge list of any length, a few million at a time.

    Lines of two integers, the bulk of a long file, are read by a compiled loop, other
    lines of :func:`read_edge_list` one by one.

    Attributes:
        num_nodes: The number in a line ``# nodes: N``, or ``None``.
        largest: The largest id so far, also of pairs with weight 0; -1 at first.

    Raises:
        GraphInputError: If the file cannot be read; while iterating, if a line is
            malformed.
    """

    def __init__(self, path: str | Path, progress: Progress | None = None) -> None:
        self.path, self.progress = path, progress
        self.num_nodes: int | None = None
        self.largest = -1
        open_binary(path).close()  # raises at once if the file is missing

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        """Yield pairs, int32 ``[E, 2]``."""
        rest, number, done = b"", 0, 0
        total = Path(self.path).stat().st_size
        with open_binary(self.path) as file:
            while block := file.read(_BLOCK):
                done += len(block)
                end = block.rfind(b"\n") + 1
                text = rest + block[:end] if end else b""
                rest = block[end:] if end else rest + block
                number += yield from self._pairs(text, number)
                if len(rest) > _BLOCK:
                    raise GraphInputError(
                        f"{self.path}, line {number + 1}: more than {_BLOCK:,} "
                        "characters; an edge list has one edge per line."
                    )
                if self.progress is not None:
                    self.progress(done, total)
        if rest:
            yield from self._pairs(rest, number)

    def _pairs(self, text: bytes, lines_before: int) -> Any:
        """Yield the pairs of whole lines; return the number of lines."""
        buffer = np.frombuffer(text, np.uint8)
        pairs = np.empty((len(text) // 4 + 1, 2), np.int32)
        at = count = lines = 0
        while at < len(text):
            at, count, lines = parse_pairs(buffer, at, pairs, count, lines)
            if at < len(text):  # a line that is not two integers
                end = text.find(b"\n", at) % (len(text) + 1)
                lines += 1
                pair = self._unusual_line(
                    text[at:end], f"{self.path}, line {lines_before + lines}"
                )
                if pair is not None:
                    pairs[count] = pair
                    count += 1
                at = end + 1
        if count:
            self.largest = max(self.largest, int(pairs[:count].max()))
            yield pairs[:count]
        return lines

    def _unusual_line(self, raw: bytes, location: str) -> tuple[int, int] | None:
        """Return the pair of an unusual line, if it is an edge."""
        try:
            line = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise GraphInputError(f"{location} is not UTF-8 text.") from None
        directive = _NODES_LINE.fullmatch(line.strip())
        if directive:
            count = int(directive[1])
            if self.num_nodes not in (None, count):
                raise GraphInputError(
                    f"{location}: node count {count} contradicts {self.num_nodes}."
                )
            self.num_nodes = count
            return None
        content = line.partition("#")[0].partition("%")[0].strip()
        if not content:
            return None
        with located(location):
            u, v, is_edge = _parse_line(content)
        self.largest = max(self.largest, u, v)
        return (u, v) if is_edge else None


@kernel
def parse_pairs(
    text: NDArray[np.uint8], at: int, pairs: NDArray[np.int32], count: int, lines: int
) -> tuple[int, int, int]:
    """Read lines of two integers up to the first other line.

    Args:
        text: Whole lines.
        at: Position of the first line to read.
        pairs: Receives the integers, ``[E, 2]``.
        count: Number of pairs in it so far.
        lines: Number of lines read so far.

    Returns:
        Position of the other line (or the end), and both numbers, updated.
    """
    size = text.size
    while at < size:
        p = at
        for end in range(2):
            while p < size and (text[p] == 32 or text[p] == 9):
                p += 1
            if end == 1 and p < size and text[p] == 44:  # one comma
                p += 1
                while p < size and (text[p] == 32 or text[p] == 9):
                    p += 1
            elif end == 1 and text[p - 1] != 32 and text[p - 1] != 9:
                return at, count, lines
            first, value = p, np.int64(0)
            while p < size and 48 <= text[p] <= 57 and p - first < 10:
                value = 10 * value + np.int64(text[p]) - 48
                p += 1
            if p == first or value >= 2147483647:
                return at, count, lines
            pairs[count, end] = value
        while p < size and (text[p] == 32 or text[p] == 9 or text[p] == 13):
            p += 1
        if p < size and text[p] != 10:
            return at, count, lines
        at = p + 1 if p < size else p
        count += 1
        lines += 1
    return at, count, lines


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
    if not (field.isascii() and field.isdigit()):
        raise GraphInputError(
            f"node ids must be integers from 0, got {field!r}; renumber the nodes, or "
            "start a header with '#'."
        )
    if len(field) > 10 or int(field) >= 2**31 - 1:
        raise GraphInputError(f"node id {field} is too large; renumber the nodes.")
    return int(field)


def _parse_weight(field: str) -> float:
    try:
        weight = float(field)
    except ValueError:
        raise GraphInputError(f"the weight must be a number, got {field!r}.") from None
    if not math.isfinite(weight):
        raise GraphInputError(
            f"the weight must be finite, got {field!r}; remove the line or the column."
        )
    return weight
