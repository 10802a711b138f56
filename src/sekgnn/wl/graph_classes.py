"""Classes of graphs under a test, or under isomorphism, and hashes of graphs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import require
from sekgnn.digest import Colours, count_colours
from sekgnn.errors import ConfigError
from sekgnn.graphs.graph import Graph
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress
from sekgnn.wl.refinement import Batch, Colouring, WLTest, refine, register_test
from sekgnn.wl.verdict import make_test


@register_test("isomorphism")
@dataclass(frozen=True)
class Isomorphism(WLTest):
    """Isomorphism of labelled graphs, through the canonical form of igraph (bliss).

    The one "colour" of a graph is the digest of its canonical form. An edge with a
    label becomes a node, coloured by the label. The canonical form is igraph's, and may
    change with its version.
    """

    objects = "graphs"
    complete = True

    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        return CanonicalColouring(batch)

    def memory(self, sizes: Sequence[int]) -> int:
        return 64 * sum(sizes)


class CanonicalColouring(Colouring):
    """Whole graphs as objects, coloured by their canonical forms."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.ptr = np.arange(len(batch.graphs) + 1, dtype=np.int64)
        digests = [canonical_digest(item) for item in batch.graphs]
        words = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
        self.first = words.reshape(-1, 2)

    def step(self, colours: Colours) -> Colours:
        return colours  # nothing is left to refine

    def locate(self, item: int) -> tuple[int, list[int]]:
        return item, [*range(self.batch.sizes[item])]

    def node_items(self, graph: int) -> NDArray[np.int64]:
        return np.full(self.batch.sizes[graph], graph, dtype=np.int64)

    def first_words(self, item: int) -> list[str]:
        graph = self.batch.graphs[item]
        nodes = "node" if graph.num_nodes == 1 else "nodes"
        edges = "edge" if graph.num_edges == 1 else "edges"
        return [f"a graph of {graph.num_nodes} {nodes} and {graph.num_edges} {edges}"]

    def first_difference(self, item: int, other: int) -> list[str]:
        return ["no renaming of the nodes makes one graph the other"]


def canonical_digest(item: Graph) -> bytes:
    """Return 16 bytes that two labelled graphs share exactly when isomorphic."""
    n = item.num_nodes
    row, col = item.edge_index()
    upper = row < col
    ends = np.stack([row[upper], col[upper]], axis=1)
    labels = [(0, 0)] * n
    if item.node_labels is not None:
        labels = [(1, label) for label in item.node_labels.tolist()]
    if item.edge_labels is not None:
        middle = n + np.arange(len(ends))
        labels += [(2, label) for label in item.edge_labels[upper].tolist()]
        halves = [np.stack([ends[:, side], middle], axis=1) for side in (0, 1)]
        ends = np.concatenate(halves)
    ranks = {label: i for i, label in enumerate(sorted(set(labels)))}
    colours = np.array([ranks[label] for label in labels], dtype=np.int32)
    content = repr([*ranks]).encode() + canonical_form(colours, ends)
    return hashlib.blake2b(content, digest_size=16).digest()


def canonical_form(colours: NDArray[np.int32], edges: NDArray[Any]) -> bytes:
    """Return bytes that are equal exactly for isomorphic graphs with coloured nodes.

    ``edges`` are pairs of nodes, each once, ``[m, 2]``.

    Raises:
        MissingExtraError: If igraph is not installed.

    Example:
        >>> plain = np.zeros(3, dtype=np.int32)
        >>> one, other = np.array([[0, 1]]), np.array([[1, 2]])
        >>> canonical_form(plain, one) == canonical_form(plain, other)
        True
    """
    graph: Any = require("igraph", "iso").Graph(len(colours), edges.tolist())
    graph.vs["colour"] = colours.tolist()
    # igraph 0.11 and 1.0 number permutations in opposite ways, but each of them
    # consistently in what it returns and takes
    order = graph.canonical_permutation(color=graph.vs["colour"])
    canonical = graph.permute_vertices(order)
    ends = np.sort(np.array(canonical.get_edgelist(), np.int32).reshape(-1, 2), axis=1)
    moved = np.array(canonical.vs["colour"], np.int32)
    size = np.int64(len(colours))
    return b"".join(x.tobytes() for x in (size, moved, ends[np.lexsort(ends.T)]))


def partition(
    graphs: Sequence[Any],
    test: str | WLTest = "sek",
    *,
    node_labels: Any = None,
    edge_labels: Any = None,
    threads: int | None = None,
    **parameters: Any,
) -> NDArray[np.int64]:
    """Sort graphs into the classes that a test cannot tell apart.

    Graphs and all arguments are those of :func:`~sekgnn.wl.verdict.compare`.

    Returns:
        The class of every graph, int64 ``[G]``, numbered from 0 in order of appearance.

    Example:
        >>> from sekgnn.graphs import cycle_graph, path_graph
        >>> graphs = [cycle_graph(6), path_graph(6), cycle_graph(6)]
        >>> partition(graphs, "1wl").tolist()
        [0, 1, 0]
    """
    chosen = make_test(test, **parameters)
    batch = Batch.of(graphs, node_labels=node_labels, edge_labels=edge_labels)
    class_of: dict[bytes, int] = {}
    keys = graph_keys(chosen, batch.graphs, threads=threads)
    numbers = [class_of.setdefault(key.tobytes(), len(class_of)) for key in keys]
    return np.array(numbers, dtype=np.int64)


def wl_hash(
    graph: Any,
    test: str | WLTest = "1wl",
    *,
    node_labels: Any = None,
    edge_labels: Any = None,
    threads: int | None = None,
    **parameters: Any,
) -> str:
    """Return a hash that two graphs share exactly when the test cannot separate them.

    It does not depend on the order of nodes, the process, the machine or the version
    of this library (a change would get a new prefix than ``wl1:``). Hashes of
    different tests, or of other parameters, are never equal.

    The hash is that of the round that confirms the graph's stable colouring: two graphs
    that agree there would always agree if refined together.

    Arguments are those of :func:`~sekgnn.wl.verdict.compare`; the test must not be
    ``"isomorphism"``, whose canonical form is igraph's.

    Raises:
        ConfigError: If the test is unknown, or is isomorphism.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> renamed = cycle_graph(6).relabel([3, 1, 2, 0, 5, 4])
        >>> wl_hash(renamed) == wl_hash(cycle_graph(6))
        True
    """
    chosen = make_test(test, **parameters)
    if isinstance(chosen, Isomorphism):
        raise ConfigError(
            "the canonical form of isomorphism may change with igraph's version; hash "
            "with another test, or compare with isomorphism."
        )
    batch = Batch.of([graph], node_labels=node_labels, edge_labels=edge_labels)
    ((end, *words),) = graph_keys(chosen, batch.graphs, threads=threads)
    content = json.dumps(chosen.to_dict(), sort_keys=True)
    digest = hashlib.sha256(content.encode())
    digest.update(f"|{end - 1}|{batch.has_node_labels}|".encode())
    digest.update(str(batch.has_edge_labels).encode())
    digest.update(np.array(words, dtype="<u8").tobytes())
    return f"wl1:{digest.hexdigest()[:32]}"


@kernel
def graph_counts(colours: Colours, ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of distinct colours of each graph, ``[G]``."""
    out = np.empty(ptr.size - 1, dtype=np.int64)
    for g in range(ptr.size - 1):
        out[g] = count_colours(colours[ptr[g] : ptr[g + 1]])
    return out


def graph_keys(
    test: WLTest,
    graphs: Sequence[Graph],
    *,
    max_rounds: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.uint64]:
    """Return a key that two graphs share exactly when the test cannot separate them.

    As :func:`wl_hash`, for whole datasets: graphs are refined in portions, and the
    key of each is that of the round that confirms its stable colouring, or of
    ``max_rounds``, so it does not depend on the others. All graphs have labels, or
    none. ``progress`` may raise to stop.

    Returns:
        Round and digest, uint64 ``[G, 3]``.

    Raises:
        GraphInputError: If a graph is too large for the test.
    """
    out = np.zeros((len(graphs), 3), dtype=np.uint64)
    for low, high in _portions(test, graphs):
        batch = Batch.of(graphs[low:high])
        run = refine(test, batch, max_rounds=max_rounds, threads=threads)
        ptr = run.colouring.ptr
        counts = np.stack([graph_counts(colours, ptr) for colours in run.history])
        ends = np.full(high - low, len(counts) - 1)
        for round in range(len(counts) - 1, 0, -1):
            ends[counts[round] == counts[round - 1]] = round
        out[low:high, 0] = ends
        out[low:high, 1:] = run.digests[ends, np.arange(high - low)]
        if progress is not None:
            progress(high, len(graphs))
    return out


def _portions(test: WLTest, graphs: Sequence[Graph]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of portions of graphs that fit into little memory."""
    low, sizes = 0, [item.num_nodes for item in graphs]
    for high in range(1, len(sizes) + 1):
        portion = sizes[low:high]
        if high == len(sizes) or len(portion) >= 512 or test.memory(portion) > 1 << 27:
            yield low, high
            low = high
