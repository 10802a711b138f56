"""Exact isomorphism, the ceiling of every test."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import require
from sekgnn.digest import Colours
from sekgnn.graphs.graph import Graph
from sekgnn.wl.refinement import Batch, Colouring, WLTest, register_test


@register_test("isomorphism")
@dataclass(frozen=True)
class Isomorphism(WLTest):
    """Isomorphism of labelled graphs, through the canonical form of igraph (bliss).

    The one "colour" of a graph is the digest of its canonical form. An edge with a
    label becomes a node of its own, coloured by the label. The canonical form is
    igraph's, and may change with its version.
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
    # igraph 0.11 and 1.0 number permutations in opposite ways, but each its own both
    # in what it returns and in what it takes
    order = graph.canonical_permutation(color=graph.vs["colour"])
    canonical = graph.permute_vertices(order)
    ends = np.sort(np.array(canonical.get_edgelist(), np.int32).reshape(-1, 2), axis=1)
    moved = np.array(canonical.vs["colour"], np.int32)
    size = np.int64(len(colours))
    return b"".join(x.tobytes() for x in (size, moved, ends[np.lexsort(ends.T)]))
