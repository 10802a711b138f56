"""Encodings in which every node has multisets of vectors, of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.errors import ConfigError

PARTS = ("rows", "sizes", "members", "counts", "vectors", "tables")
"""The arrays of a :class:`RaggedEncoding`, as fields and files name them."""


@dataclass(frozen=True, eq=False)
class RaggedEncoding:
    """For every node and channel of G graphs a multiset of vectors.

    Equal multisets are kept once per graph: nodes point to multisets, and multisets to
    vectors with their counts. Both numberings begin again in every graph, channel by
    channel. So the arrays of several graphs are joined as they stand, also by PyG, and
    :attr:`tables` says where a graph begins.

    Attributes:
        rows: The multiset of every node and channel, int32 ``[N, C]``.
        sizes: Different vectors in each multiset, int32 ``[U]``.
        members: The vectors of all multisets, int32 ``[M]``, M the sum of ``sizes``.
        counts: How often each is in its multiset, int32 ``[M]``, at least 1.
        vectors: ``[T, L]``.
        tables: How many multisets and how many vectors each graph has in each channel,
            int64 ``[G, 2, C]``.

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
        for name, wanted in {
            "rows": [len(self.rows), width],
            "sizes": [multisets],
            "members": [total],
            "counts": [total],
            "vectors": [vectors, *self.vectors.shape[1:2]],
        }.items():
            shape = list(getattr(self, name).shape)
            if shape != wanted or (name == "vectors" and len(shape) != 2):
                raise ConfigError(
                    f"{name} of a ragged encoding must have the shape {wanted}, as "
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
        known = [empty]
        for c in range(num_channels):
            lists = [np.asarray(node[c], dtype).reshape(-1, length) for node in groups]
            vectors, number = np.unique(
                np.concatenate([empty, *lists]), axis=0, return_inverse=True
            )
            number = number.reshape(-1) + sum(map(len, known))
            parts = np.split(number, np.cumsum([len(part) for part in lists]))[:-1]
            counted = [
                tuple(zip(*map(np.ndarray.tolist, np.unique(part, return_counts=True)),
                          strict=True))
                for part in parts
            ]  # fmt: skip
            distinct = {one: i for i, one in enumerate(sorted(set(counted)))}
            rows[:, c] = [len(multisets) + distinct[one] for one in counted]
            multisets += distinct
            tables[0, :, c] = len(distinct), len(vectors)
            known.append(vectors)
        pairs = np.array([pair for one in multisets for pair in one], dtype=np.int32)
        members, counts = pairs.reshape(-1, 2).T
        sizes = np.array([len(one) for one in multisets], dtype=np.int32)
        return RaggedEncoding(
            rows, sizes, members, counts, np.concatenate(known), tables
        )

    @staticmethod
    def join(parts: Sequence[RaggedEncoding]) -> RaggedEncoding:
        """Return the encodings of several graphs as one; at least one part."""
        return RaggedEncoding(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in PARTS)
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
        """Return the part of one graph, of nodes ``start..stop - 1``, as views."""
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
        """Return (count, vector) of every member, by channel, in a single graph."""
        ends = np.cumsum(self.sizes)
        return [
            [
                (int(self.counts[m]), self.vectors[self.members[m]])
                for m in range(ends[row] - self.sizes[row], ends[row])
            ]
            for row in self.rows[node].tolist()
        ]

    def astype(self, dtype: DTypeLike, copy: bool = True) -> RaggedEncoding:
        """Return the same with vectors of that type."""
        return replace(self, vectors=self.vectors.astype(dtype, copy=copy))


Values = NDArray[Any] | RaggedEncoding
"""``[N, C, L]``, or the ragged form of it."""


def join_values(parts: list[Values]) -> Values:
    """Return the values of several graphs as one; at least one part."""
    ragged = [part for part in parts if isinstance(part, RaggedEncoding)]
    if ragged:
        return RaggedEncoding.join(ragged)
    return np.concatenate([np.asarray(part) for part in parts])
