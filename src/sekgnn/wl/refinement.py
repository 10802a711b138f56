r"""Tests, their batches and colourings, and the one refinement loop of all tests.

.. math:: \chi^0 \to \chi^1 \to \dots \to \chi^T, \qquad
          |\{\chi^T\}| = |\{\chi^{T-1}\}|

All graphs are refined together until a step makes no new classes: then no later step
does, because a colour contains the previous one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.digest import (
    KEY_LABEL,
    Colours,
    count_distinct,
    digest_words,
    multiset_digests,
)
from sekgnn.errors import GraphInputError
from sekgnn.graphs.convert import as_labelled
from sekgnn.graphs.graph import Graph, join_labels
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.kernel import clock
from sekgnn.parameters import Named, Registry

MEMORY_LIMIT = 8 * 2**30
"""Most bytes for one run of a test; :meth:`WLTest.check_memory`."""
UNKNOWN_DIFFERENCE = "their first colours differ"
"""Describes first colours when nothing more is known of them."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Graphs that are coloured together, and their disjoint union.

    Attributes:
        graphs: The graphs, G of them.
        packed: Their union, N nodes; graph g owns nodes ``node_ptr[g]`` to
            ``node_ptr[g + 1] - 1``.
        node_labels: int64 ``[N]``; 0 everywhere when there are none.
        edge_labels: int64 ``[2 M]`` in the order of ``packed.indices``; empty when
            there are none.
    """

    graphs: tuple[Graph, ...]
    packed: PackedGraphs
    node_labels: NDArray[np.int64]
    edge_labels: NDArray[np.int64]

    @classmethod
    def of(
        cls, graphs: Iterable[Any], *, node_labels: Any = None, edge_labels: Any = None
    ) -> Batch:
        """Pack graphs, with the labels that the named attributes hold.

        Each argument is as for :func:`~sekgnn.graphs.convert.as_labelled`.

        Raises:
            GraphInputError: If some graphs carry labels and others do not.
        """
        items = tuple(
            as_labelled(graph, node_labels=node_labels, edge_labels=edge_labels)
            for graph in graphs
        )
        packed = pack(items)
        nodes = join_labels("node", [item.node_labels for item in items])
        edges = join_labels("edge", [item.edge_labels for item in items])
        return cls(
            items,
            packed,
            np.zeros(packed.num_nodes, np.int64) if nodes is None else nodes,
            np.zeros(0, np.int64) if edges is None else edges,
        )

    @property
    def node_ptr(self) -> NDArray[np.int64]:
        """The first node of each graph, int64 ``[G + 1]``."""
        return self.packed.node_ptr

    @property
    def sizes(self) -> list[int]:
        """Number of nodes of each graph."""
        return [item.num_nodes for item in self.graphs]

    @property
    def has_node_labels(self) -> bool:
        """Whether the nodes carry labels."""
        return bool(self.graphs) and self.graphs[0].node_labels is not None

    @property
    def has_edge_labels(self) -> bool:
        """Whether the edges carry labels."""
        return bool(self.graphs) and self.graphs[0].edge_labels is not None

    @cached_property
    def label_colours(self) -> Colours:
        """The colour of each node's label, uint64 ``[N, 2]``."""
        out = np.empty((self.node_labels.size, 2), dtype=np.uint64)
        digest_words(self.node_labels[:, None], KEY_LABEL, out)
        out.flags.writeable = False
        return out

    def locate(self, node: int) -> tuple[int, int]:
        """Return the graph that owns ``node`` of the union, and its number there."""
        graph = int(np.searchsorted(self.node_ptr, node, side="right")) - 1
        return graph, node - int(self.node_ptr[graph])


@dataclass(frozen=True, eq=False)
class Source:
    """One multiset that a step of refinement reads.

    Attributes:
        phrase: A name of its members, such as ``"neighbours"``.
        members: Objects of the batch, int64 ``[m, arity]``: each member of the multiset
            is the tuple of the colours of one row.
        marks: A word before each member, such as an edge label; empty for none.
    """

    phrase: str
    members: NDArray[np.int64]
    marks: Sequence[str] = ()


class Colouring(ABC):
    """A test on one batch: its objects, their first colours, and the step.

    The objects are nodes, or tuples of nodes: those of graph g are ``ptr[g]`` to
    ``ptr[g + 1] - 1``.

    Attributes:
        batch: The graphs.
        ptr: int64 ``[G + 1]``.
        first: The colours before the first step, uint64 ``[N, 2]``.
        beyond_sources: A phrase for the difference of objects whose :meth:`sources`
            agree.
    """

    beyond_sources: ClassVar[str] = "a step reads more than these"

    batch: Batch
    ptr: NDArray[np.int64]
    first: Colours

    @abstractmethod
    def step(self, colours: Colours) -> Colours:
        """Return the refined colours; an object's own colour is part of each."""

    @abstractmethod
    def locate(self, item: int) -> tuple[int, list[int]]:
        """Return the graph of an object, and its nodes by their numbers there."""

    @abstractmethod
    def node_items(self, graph: int) -> NDArray[np.int64]:
        """Return the object that represents each node of a graph in drawings."""

    def sources(self, item: int) -> list[Source]:
        """Return the multisets whose colours a step reads for one object.

        By default none: explanations then only state that colours differ.
        """
        return []

    def first_words(self, item: int) -> list[str]:
        """Describe an object's first colour, one fact per entry; empty if unknown."""
        return []

    def first_difference(self, item: int, other: int) -> list[str]:
        """Describe the facts in which the first colours of two objects differ."""
        mine, theirs = self.first_words(item), self.first_words(other)
        if len(mine) != len(theirs):
            a, b = ("; ".join(words) or "nothing known" for words in (mine, theirs))
            return [f"{a} against {b}"]
        out = [f"{a} against {b}" for a, b in zip(mine, theirs, strict=True) if a != b]
        if not out and (self.first[item] != self.first[other]).any():
            return [UNKNOWN_DIFFERENCE]
        return out


@dataclass(frozen=True)
class WLTest(Named, ABC):
    """A test of the Weisfeiler-Lehman family, with its parameters.

    A new test is one small class: a frozen dataclass whose fields are its parameters
    and whose :meth:`start` returns a :class:`Colouring`, such as a
    :class:`~sekgnn.wl.hop_wl.HopColouring` with first colours of yours;
    ``@register_test("name")`` makes it known by name.
    """

    kind = "test"
    objects: ClassVar[str] = "nodes"
    """The objects that it colours."""
    complete: ClassVar[bool] = False
    """Whether graphs that it does not separate are isomorphic."""

    @abstractmethod
    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Return the colouring of ``batch``, on ``threads`` threads."""

    def memory(self, sizes: Sequence[int]) -> int:
        """Return a rough estimate of the bytes for graphs of these sizes.

        By default those of some rounds of node colours.
        """
        return 16 * 8 * sum(sizes)

    def check_memory(self, sizes: Sequence[int]) -> None:
        """Refuse graphs that need more than :data:`MEMORY_LIMIT`.

        Raises:
            GraphInputError: If so; names the memory.
        """
        needed = self.memory(sizes)
        if needed > MEMORY_LIMIT:
            raise GraphInputError(
                f"{self} on graphs of {max(sizes)} nodes would need about "
                f"{needed / 2**30:,.1f} GiB; the limit is {MEMORY_LIMIT / 2**30:.0f} "
                "GiB (sekgnn.wl.refinement.MEMORY_LIMIT). Use a test with less memory, "
                "such as 1wl, khop or sek with ego scopes, or smaller graphs."
            )


TESTS: Registry[WLTest] = Registry(
    "test",
    WLTest,
    {
        "1wl": "sekgnn.wl.hop_wl",
        "khop": "sekgnn.wl.hop_wl",
        "subgraph": "sekgnn.wl.sek",
        "sek": "sekgnn.wl.sek",
        "2fwl": "sekgnn.wl.fwl",
        "sek2fwl": "sekgnn.wl.sek",
        "3fwl": "sekgnn.wl.fwl",
        "isomorphism": "sekgnn.wl.graph_classes",
    },
)
"""All tests by name, those of the library from weaker to stronger."""

register_test = TESTS.register
"""``@register_test("name")`` makes a test of your own known."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """The colours of a list of graphs, round by round.

    Attributes:
        test: The test.
        colouring: The test on these graphs.
        history: Colours of each round, uint64 ``[N, 2]``; only of the last round if the
            history was not kept.
        digests: Digest of each graph's multiset of colours, uint64 ``[R + 1, G, 2]``:
            two graphs have the same colours in a round exactly when these are equal.
        class_counts: Number of distinct colours of all graphs together, per round.
        stable: Whether the last round made no new classes.
        seconds: Time taken.
    """

    test: WLTest
    colouring: Colouring
    history: tuple[Colours, ...]
    digests: NDArray[np.uint64]
    class_counts: tuple[int, ...]
    stable: bool
    seconds: float

    @property
    def batch(self) -> Batch:
        """The graphs."""
        return self.colouring.batch

    @property
    def rounds(self) -> int:
        """Rounds that made new classes: the colouring of this round is stable."""
        return len(self.class_counts) - (2 if self.stable else 1)

    def separated_at(self, first: int, second: int) -> int | None:
        """Return the first round in which two graphs' colours differ, if any."""
        differ = (self.digests[:, first] != self.digests[:, second]).any(axis=1)
        return int(differ.argmax()) if differ.any() else None


def refine(
    test: WLTest,
    batch: Batch,
    *,
    max_rounds: int | None = None,
    keep_history: bool = True,
    stop_when_apart: bool = False,
    threads: int | None = None,
) -> Refinement:
    """Refine the colours of all graphs of ``batch`` together.

    Args:
        test: The test.
        batch: The graphs.
        max_rounds: Stop after N rounds even if not stable; ``None`` for never.
        keep_history: Keep the colours of every round, which explanations need.
        stop_when_apart: Stop as soon as no two graphs have the same colours.
        threads: Threads; ``None`` for all usable cores.

    Raises:
        GraphInputError: If the graphs are too large for the test.
    """
    if max_rounds is not None:
        check_positive("max_rounds", max_rounds, 0)
    begin = clock()
    test.check_memory(batch.sizes)
    colouring = test.start(batch, threads)
    colours = colouring.first
    history, digests = [colours], [multiset_digests(colours, colouring.ptr)]
    counts = [count_distinct(colours)]
    stable = False
    while max_rounds is None or len(counts) <= max_rounds:
        if stop_when_apart:
            graphs = np.moveaxis(np.stack(digests), 1, 0)
            if len({graph.tobytes() for graph in graphs}) == len(graphs):
                break
        colours = colouring.step(colours)
        history = [*history, colours] if keep_history else [colours]
        digests.append(multiset_digests(colours, colouring.ptr))
        counts.append(count_distinct(colours))
        if counts[-1] == counts[-2]:
            stable = True
            break
    rounds = tuple(history), np.stack(digests), tuple(counts)
    return Refinement(test, colouring, *rounds, stable, clock() - begin)
