"""Encodings that give every node multisets of vectors, of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.errors import ConfigError

PARTS = ("rows", "sizes", "members", "counts", "vectors", "tables")
"""The arrays of a :class:`RaggedEncoding`, as fields and files name them."""


@dataclass(frozen=True, eq=False)
class RaggedEncoding:
    """A multiset of vectors for every node and channel of G graphs.

    Equal multisets are stored once per graph: nodes point to multisets, and multisets
    to vectors with their counts. Both are numbered within a graph, channel by channel,
    so the arrays of several graphs are concatenated as they are, also by PyG;
    :attr:`tables` tells them apart.

    Attributes:
        rows: The multiset of every node and channel, int32 ``[N, C]``.
        sizes: Different vectors in each multiset, int32 ``[U]``.
        members: The vectors of all multisets, int32 ``[M]``, M the sum of ``sizes``.
        counts: Multiplicity of each in its multiset, int32 ``[M]``, at least 1.
        vectors: ``[T, L]``.
        tables: Numbers of multisets and of vectors of each graph in each channel, int64
            ``[G, 2, C]``.

    Raises:
        ConfigError: If the arrays do not fit together.

    Example:
        >>> lists = [[[1, 2], [1, 2], [3, 4]], [], []]  # three nodes, one channel
        >>> ragged = RaggedEncoding.of([[group] for group in lists], 1, 2)
        >>> ragged.rows.tolist(), ragged.sizes.tolist(), ragged.counts.tolist()
        ([[1], [0], [0]], [0, 2], [2, 1])
    """

    rows: NDArray[np.int32]
    sizes: NDArray[np.int32]
    members: NDArray[np.int32]
    counts: NDArray[np.int32]
    vectors: NDArray[Any]
    tables: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.tables.ndim != 3 or self.tables.shape[1] != 2:
            shape = list(self.tables.shape)
            raise ConfigError(f"tables must have the shape [G, 2, C], got {shape}.")
        width = self.tables.shape[2]
        multisets, vectors = self.tables.sum(axis=(0, 2)).tolist()
        total = int(self.sizes.sum())
        for name, expected in {
            "rows": [len(self.rows), width],
            "sizes": [multisets],
            "members": [total],
            "counts": [total],
            "vectors": [vectors, *self.vectors.shape[1:2]],
        }.items():
            shape = list(getattr(self, name).shape)
            if shape != expected or (name == "vectors" and len(shape) != 2):
                raise ConfigError(
                    f"{name} of a ragged encoding must have the shape {expected}, as "
                    f"its tables and sizes say, got {shape}."
                )
        for name, least, most in (
            ("rows", 0, multisets),
            ("sizes", 0, vectors + 1),
            ("members", 0, vectors),
            ("counts", 1, 2**31),
        ):
            array = getattr(self, name)
            if array.size and not least <= array.min() <= array.max() < most:
                raise ConfigError(
                    f"{name} of a ragged encoding must lie in [{least}, {most}), got "
                    f"{array.min()}..{array.max()}."
                )

    @staticmethod
    def of(
        groups: Sequence[Sequence[Any]],
        num_channels: int,
        length: int,
        dtype: DTypeLike = np.int64,
    ) -> RaggedEncoding:
        """Return the multisets of one graph from lists, ``groups[node][channel]``."""
        rows = np.zeros((len(groups), num_channels), dtype=np.int32)
        tables = np.zeros((1, 2, num_channels), dtype=np.int64)
        multisets: list[tuple[tuple[int, int], ...]] = []
        empty = np.zeros((0, length), dtype=dtype)
        vector_lists = [empty]
        for c in range(num_channels):
            lists = [np.asarray(node[c], dtype).reshape(-1, length) for node in groups]
            vectors, number = np.unique(
                np.concatenate([empty, *lists]), axis=0, return_inverse=True
            )
            number = number.reshape(-1) + sum(map(len, vector_lists))
            counted = []
            for numbers in np.split(number, np.cumsum([len(x) for x in lists]))[:-1]:
                unique, times = np.unique(numbers, return_counts=True)
                counted.append(tuple(zip(unique.tolist(), times.tolist(), strict=True)))
            distinct = {multiset: i for i, multiset in enumerate(sorted(set(counted)))}
            rows[:, c] = [len(multisets) + distinct[multiset] for multiset in counted]
            multisets += distinct
            tables[0, :, c] = len(distinct), len(vectors)
            vector_lists.append(vectors)
        pairs = np.array(list(chain.from_iterable(multisets)), dtype=np.int32)
        members, counts = pairs.reshape(-1, 2).T
        sizes = np.array(list(map(len, multisets)), dtype=np.int32)
        return RaggedEncoding(
            rows, sizes, members, counts, np.concatenate(vector_lists), tables
        )

    @staticmethod
    def join(encodings: Sequence[RaggedEncoding]) -> RaggedEncoding:
        """Return the encodings of several graphs, at least one, as one."""
        return RaggedEncoding(
            *(
                np.concatenate([getattr(encoding, name) for encoding in encodings])
                for name in PARTS
            )
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes N."""
        return len(self.rows)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First multiset, member and vector of every graph, int64 ``[G + 1, 3]``."""
        out = np.zeros((len(self.tables) + 1, 3), dtype=np.int64)
        np.cumsum(self.tables.sum(axis=2), axis=0, out=out[1:, ::2])
        before = np.zeros(len(self.sizes) + 1, dtype=np.int64)
        np.cumsum(self.sizes, out=before[1:])
        out[:, 1] = before[out[:, 0]]
        return out

    def graph(self, number: int, start: int, stop: int) -> RaggedEncoding:
        """Return the encoding of one graph, of nodes ``start..stop - 1``, as views."""
        (u, m, t), (v, n, w) = self.starts[number : number + 2].tolist()
        return RaggedEncoding(
            self.rows[start:stop],
            self.sizes[u:v],
            self.members[m:n],
            self.counts[m:n],
            self.vectors[t:w],
            self.tables[number : number + 1],
        )

    def multisets(self, node: int) -> list[list[tuple[int, Any]]]:
        """Return (count, vector) of every member, by channel, of a single graph."""
        ends = np.cumsum(self.sizes)
        return [
            [
                (int(self.counts[m]), self.vectors[self.members[m]])
                for m in range(ends[row] - self.sizes[row], ends[row])
            ]
            for row in self.rows[node].tolist()
        ]

    def astype(self, dtype: DTypeLike, copy: bool = True) -> RaggedEncoding:
        """Return a copy with vectors of another type."""
        return replace(self, vectors=self.vectors.astype(dtype, copy=copy))


Values = NDArray[Any] | RaggedEncoding
"""``[N, C, L]``, or the ragged form of it."""


def join_values(arrays: list[Values]) -> Values:
    """Return the values of several graphs, at least one, as one."""
    ragged = [array for array in arrays if isinstance(array, RaggedEncoding)]
    if ragged:
        return RaggedEncoding.join(ragged)
    return np.concatenate([np.asarray(array) for array in arrays])
