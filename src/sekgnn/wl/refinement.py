r"""The one refinement loop that every test runs through.

.. math:: \chi^0 \to \chi^1 \to \dots \to \chi^T, \qquad
          |\{\chi^T\}| = |\{\chi^{T-1}\}|

All graphs are refined together until a step makes no new classes: then none ever will,
because a colour contains the colour before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.digest import Colours, count_distinct, multiset_digests
from sekgnn.kernel import clock
from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import Colouring, WLTest


@dataclass(frozen=True, eq=False)
class Refinement:
    """The colours of a list of graphs, round by round.

    Attributes:
        test: The test.
        colouring: The test at work.
        history: Colours of each round, uint64 ``[N, 2]``; only the last round where
            the history was not kept.
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

    def graph_classes(self) -> NDArray[np.int64]:
        """Return a class number for every graph, from 0 in order of appearance."""
        rows = np.moveaxis(self.digests, 1, 0)
        seen: dict[bytes, int] = {}
        numbers = [seen.setdefault(graph.tobytes(), len(seen)) for graph in rows]
        return np.array(numbers, dtype=np.int64)


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
        if stop_when_apart and _all_apart(digests):
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


def _all_apart(digests: list[NDArray[np.uint64]]) -> bool:
    """Tell whether every graph already differs from every other in some round."""
    rows = np.moveaxis(np.stack(digests), 1, 0)
    return len({graph.tobytes() for graph in rows}) == len(rows)
