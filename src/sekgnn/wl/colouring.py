"""What a test is: where colours start, and one step of refinement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import Colours
from sekgnn.errors import GraphInputError
from sekgnn.registry import Named
from sekgnn.wl.batch import Batch

MEMORY_LIMIT = 8 * 2**30
"""Bytes that one run of a test may need; :meth:`WLTest.check_memory`."""
UNKNOWN_DIFFERENCE = "their first colours differ"
"""What is said of first colours of which nothing more is known."""


@dataclass(frozen=True, eq=False)
class Source:
    """One multiset that a step of refinement reads.

    Attributes:
        phrase: What its members are, such as ``"neighbours"``.
        members: Objects of the batch, int64 ``[m, arity]``: each member of the multiset
            is the tuple of the colours of one row.
        marks: A word before each member, such as an edge label; empty for none.
    """

    phrase: str
    members: NDArray[np.int64]
    marks: Sequence[str] = ()


class Colouring(ABC):
    """A test at work on one batch: its objects, their first colours, and the step.

    The objects are nodes, or tuples of nodes: those of graph g are ``ptr[g]`` to
    ``ptr[g + 1] - 1``.

    Attributes:
        batch: The graphs.
        ptr: int64 ``[G + 1]``.
        first: The colours before the first step, uint64 ``[N, 2]``.
        beyond_sources: What tells objects apart whose :meth:`sources` agree.
    """

    beyond_sources: ClassVar[str] = "a step reads more than these"

    batch: Batch
    ptr: NDArray[np.int64]
    first: Colours

    @abstractmethod
    def step(self, colours: Colours) -> Colours:
        """Return the refined colours; an object's own colour is part of each."""

    @abstractmethod
    def nodes_of(self, item: int) -> tuple[int, ...]:
        """Return the nodes of the batch's union that make up an object."""

    @abstractmethod
    def node_items(self, graph: int) -> NDArray[np.int64]:
        """Return the object that stands for each node of a graph, for drawing."""

    def sources(self, item: int) -> list[Source]:
        """Return the multisets whose colours a step reads for one object.

        None by default: then explanations only say that colours differ.
        """
        return []

    def first_words(self, item: int) -> list[str]:
        """Say what an object's first colour stands for, one fact per entry.

        Objects of which nothing is known have no entries.
        """
        return []

    def first_difference(self, item: int, other: int) -> list[str]:
        """Say in which facts the first colours of two objects differ."""
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
    :class:`~sekgnn.wl.hop_wl.HopColouring` of own first colours;
    ``@register_test("name")`` makes it known by name.
    """

    kind = "test"
    objects: ClassVar[str] = "nodes"
    """What it colours."""
    complete: ClassVar[bool] = False
    """Whether graphs that it does not separate are isomorphic."""

    @abstractmethod
    def start(self, batch: Batch, threads: int | None = None) -> Colouring:
        """Return the test at work on ``batch``, on ``threads`` threads."""

    def memory(self, sizes: Sequence[int]) -> int:
        """Return roughly how many bytes a run on graphs of these sizes needs.

        By default those of some rounds of node colours.
        """
        return 16 * 8 * sum(sizes)

    def check_memory(self, sizes: Sequence[int]) -> None:
        """Refuse graphs that need more than :data:`MEMORY_LIMIT`.

        Raises:
            GraphInputError: With the memory it would take.
        """
        needed = self.memory(sizes)
        if needed > MEMORY_LIMIT:
            raise GraphInputError(
                f"{self} on graphs of {max(sizes)} nodes would need about "
                f"{needed / 2**30:,.1f} GiB; the limit is {MEMORY_LIMIT / 2**30:.0f} "
                "GiB (sekgnn.wl.colouring.MEMORY_LIMIT). Use a test with less memory, "
                "such as 1wl, khop or sek with ego scopes, or smaller graphs."
            )
