"""The K-hop neighbourhoods of all nodes as one compressed table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError


@dataclass(frozen=True, eq=False)
class HopTable:
    r"""The sets :math:`N_k(v)` of every node v, for k = 1..K, in one CSR table.

    Hops stand one after the other: row ``(k - 1) n + v`` holds :math:`N_k(v)`, sorted.
    The arrays cannot be written to, so that one compiled version of a kernel serves
    all.

    Attributes:
        indptr: Row starts, int64 ``[K n + 1]``.
        indices: The nodes u of every row, int32 ``[M]``.
        num_hops: Number of hops K; trailing hops may be empty.

    Raises:
        ConfigError: If the row starts do not fit K hops or the nodes.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    num_hops: int

    def __post_init__(self) -> None:
        """Check the outline and lock the arrays."""
        rows = self.indptr.size - 1
        if rows % check_positive("num_hops", self.num_hops) or (
            self.indptr[-1] != self.indices.size
        ):
            raise ConfigError(
                f"{rows} rows that end at {self.indptr[-1]} do not hold "
                f"{self.num_hops} hops with {self.indices.size} nodes."
            )
        for name in ("indptr", "indices"):
            locked = np.ascontiguousarray(getattr(self, name)).view()
            locked.flags.writeable = False
            object.__setattr__(self, name, locked)

    @property
    def num_nodes(self) -> int:
        """Number of nodes n."""
        return (self.indptr.size - 1) // self.num_hops

    @property
    def num_pairs(self) -> int:
        """Number of pairs (v, u) M over all hops."""
        return self.indices.size

    @property
    def row(self) -> NDArray[np.int64]:
        """The node v of every pair, int64 ``[M]``, made when asked for."""
        nodes = np.tile(np.arange(self.num_nodes), self.num_hops)
        return np.repeat(nodes, np.diff(self.indptr))

    @property
    def col(self) -> NDArray[np.int64]:
        """The node u of every pair, int64 ``[M]``, made when asked for."""
        return self.indices.astype(np.int64)

    @property
    def hop(self) -> NDArray[np.int64]:
        """The hop of every pair, int64 ``[M]``, values 1..K, made when asked for."""
        ends = self.indptr[:: self.num_nodes] if self.num_nodes else np.zeros(1)
        return np.repeat(np.arange(1, ends.size), np.diff(ends).astype(np.int64))

    def csr(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return hop ``k`` in compressed sparse rows.

        Returns:
            ``indptr`` int64 ``[n + 1]`` and ``indices`` int32 ``[M_k]``: the k-hop
            neighbours of v are ``indices[indptr[v]:indptr[v + 1]]``, sorted.

        Raises:
            ConfigError: If ``k`` is not in 1..K.
        """
        if check_positive("k", k) > self.num_hops:
            raise ConfigError(f"k must be at most num_hops={self.num_hops}, got {k}.")
        n = self.num_nodes
        indptr = self.indptr[(k - 1) * n : k * n + 1]
        return indptr - indptr[0], self.indices[indptr[0] : indptr[-1]]

    def members(self, k: int, v: int) -> NDArray[np.int64]:
        """Return :math:`N_k(v)`, int64, sorted."""
        row = (k - 1) * self.num_nodes + v
        return self.indices[self.indptr[row] : self.indptr[row + 1]].astype(np.int64)

    def counts(self) -> NDArray[np.int64]:
        """Return the number of pairs of every node and hop, int64 ``[n, K]``.

        Entry ``[v, k - 1]`` is ``|N_k(v)|``, or the size of the sample.
        """
        return np.diff(self.indptr).reshape(self.num_hops, self.num_nodes).T

    def __repr__(self) -> str:
        """Sizes only."""
        return (
            f"HopTable(num_nodes={self.num_nodes}, num_hops={self.num_hops}, "
            f"num_pairs={self.num_pairs})"
        )
