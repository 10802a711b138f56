"""What a substructure encoding function is to the tests: a colour for every node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.parallel import PerThread, even_chunks, run_chunks
from sekgnn.wl.batch import Batch
from sekgnn.wl.digest import Colours


@dataclass(frozen=True)
class ExactEncoding(ABC):
    r"""A substructure encoding function f (paper, Definition 2), made exact.

    The value :math:`f(G_v, G)` is reduced to a colour: equal colours for equal values,
    and never equal ones by rounding. A new function is one small class: a frozen
    dataclass whose fields are its parameters, with :meth:`colours` and, for
    explanations, :meth:`words`; :func:`sekgnn.wl.register_encoding` makes it known by
    name.
    """

    name: ClassVar[str]
    beyond_words: ClassVar[str] = "but not the same value"
    """What is said of two different values with the same words."""

    @abstractmethod
    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Return the value of every node of the union, uint64 ``[N, 2]``."""

    def words(self, batch: Batch, node: int) -> str:
        """Say in words what the value of one node of the union is."""
        return f"a value of {self}"

    def difference(self, batch: Batch, node: int, other: int) -> str:
        """Say in words how the values of two nodes differ."""
        mine, theirs = self.words(batch, node), self.words(batch, other)
        if mine == theirs:
            return f"{mine} in both, {self.beyond_words}"
        return f"{mine} against {theirs}"

    def memory(self, sizes: Sequence[int]) -> int:
        """Return roughly how many bytes it needs beyond the colours."""
        return 0

    def to_dict(self) -> dict[str, Any]:
        """Return the name and every parameter as plain JSON values."""
        out: dict[str, Any] = {"encoding": self.name}
        for field in fields(self):
            value = getattr(self, field.name)
            out[field.name] = list(value) if isinstance(value, tuple) else value
        return out

    def __str__(self) -> str:
        """The name and the parameters, for people."""
        words = [f"{f.name}={getattr(self, f.name)}" for f in fields(self)]
        return f"{self.name}({', '.join(words)})"


def node_colours(
    batch: Batch,
    work: Callable[[int, int, NDArray[np.int32], Colours], None],
    threads: int | None,
    chunk: int = 256,
) -> Colours:
    """Return the colours that a kernel writes for every node, ``[N, 2]``.

    Args:
        batch: The graphs.
        work: Writes the colours of the nodes from the first number to before the
            second; the array of N times -1 is scratch for
            :func:`~sekgnn.walks.ball.local_ball`.
        threads: Threads.
        chunk: Nodes of one call.
    """
    n = batch.packed.num_nodes
    out = np.empty((n, 2), dtype=np.uint64)
    place = PerThread(lambda: np.full(n, -1, dtype=np.int32))
    run_chunks(
        lambda start, stop: work(start, stop, place.value, out),
        even_chunks(n, chunk),
        threads,
    )
    return out
