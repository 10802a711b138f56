"""Encodings in which every node has a multiset of vectors, of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.errors import ConfigError


@dataclass(frozen=True, eq=False)
class RaggedEncoding:
    """For every node and channel, a multiset of vectors: each with its count.

    Nodes own consecutive vectors, channel by channel, and the sizes are kept per node:
    nothing has to be shifted when graphs are joined, so a PyG ``Data`` carries the
    three arrays as they are.

    Attributes:
        sizes: Different vectors of each node and channel, int64 ``[N, C]``.
        vectors: All vectors, ``[M, L]``, M the sum of ``sizes``.
        counts: How often each occurs, int64 ``[M]``, at least 1.

    Raises:
        ConfigError: If the arrays do not fit together.

    Example:
        >>> lists = [[[1, 2], [1, 2], [3, 4]], []]  # two nodes, one channel
        >>> ragged = RaggedEncoding.of([[group] for group in lists], 1, 2)
        >>> ragged.sizes.tolist(), ragged.counts.tolist()
        ([[2], [0]], [2, 1])
    """

    sizes: NDArray[np.int64]
    vectors: NDArray[Any]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check the arrays."""
        total = int(self.sizes.sum())
        for name, array, ndim in (
            ("sizes", self.sizes, 2),
            ("vectors", self.vectors, 2),
            ("counts", self.counts, 1),
        ):
            if array.ndim != ndim or (name != "sizes" and len(array) != total):
                shape = {"sizes": "[N, C]", "counts": f"[{total}]"}.get(name)
                shape = shape or f"[{total}, L]"
                raise ConfigError(
                    f"{name} of a ragged encoding must have shape {shape}, got "
                    f"{list(array.shape)}; sizes add up to {total}."
                )
        if self.sizes.size and self.sizes.min() < 0:
            raise ConfigError("sizes of a ragged encoding must not be negative.")
        if total and self.counts.min() < 1:
            raise ConfigError("counts of a ragged encoding must be at least 1.")

    @staticmethod
    def of(
        groups: Sequence[Sequence[Any]],
        num_channels: int,
        length: int,
        dtype: DTypeLike = np.int64,
    ) -> RaggedEncoding:
        """Return the multisets of lists of vectors, ``groups[node][channel]``."""
        rows = [
            np.asarray(group, dtype=dtype).reshape(-1, length)
            for node in groups
            for group in node
        ]
        sizes = np.array([len(row) for row in rows], dtype=np.int64)
        vectors = np.concatenate([np.zeros((0, length), dtype), *rows])
        plain = RaggedEncoding(
            sizes.reshape(len(groups), num_channels),
            vectors,
            np.ones(len(vectors), dtype=np.int64),
        )
        return plain.canonical()

    @staticmethod
    def join(parts: Sequence[RaggedEncoding]) -> RaggedEncoding:
        """Return the encodings of several graphs as one; at least one part."""
        return RaggedEncoding(
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.vectors for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return len(self.sizes)

    @cached_property
    def ptr(self) -> NDArray[np.int64]:
        """Node v and channel c own vectors ``ptr[v C + c]:ptr[v C + c + 1]``."""
        ptr = np.zeros(self.sizes.size + 1, dtype=np.int64)
        np.cumsum(self.sizes.reshape(-1), out=ptr[1:])
        return ptr

    def nodes(self, start: int, stop: int) -> RaggedEncoding:
        """Return the part of nodes ``start..stop - 1``, views where possible."""
        width = self.sizes.shape[1]
        first, last = self.ptr[[start * width, stop * width]].tolist()
        return RaggedEncoding(
            self.sizes[start:stop], self.vectors[first:last], self.counts[first:last]
        )

    def astype(self, dtype: DTypeLike, copy: bool = True) -> RaggedEncoding:
        """Return the same with vectors of that type."""
        return RaggedEncoding(
            self.sizes, self.vectors.astype(dtype, copy=copy), self.counts
        )

    def canonical(self) -> RaggedEncoding:
        """Return the same multisets, each sorted and every vector in it once.

        Two encodings of exact values are equal exactly when these arrays are.
        """
        group = np.repeat(np.arange(self.sizes.size), self.sizes.reshape(-1))  # [M]
        order = np.lexsort((*self.vectors.T[::-1], group))
        group, vectors = group[order], self.vectors[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (group[1:] != group[:-1]) | (vectors[1:] != vectors[:-1]).any(axis=1)
        sizes = np.bincount(group[new], minlength=self.sizes.size)
        counts = (
            np.add.reduceat(self.counts[order], np.flatnonzero(new))
            if len(order)
            else self.counts
        )
        return RaggedEncoding(
            sizes.astype(np.int64).reshape(self.sizes.shape), vectors[new], counts
        )


Values = NDArray[Any] | RaggedEncoding
"""``[N, C, L]``, or the ragged form of it."""


def join_values(parts: list[Values]) -> Values:
    """Return the values of several graphs as one; at least one part."""
    ragged = [part for part in parts if isinstance(part, RaggedEncoding)]
    if ragged:
        return RaggedEncoding.join(ragged)
    return np.concatenate([np.asarray(part) for part in parts])
