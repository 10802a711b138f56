"""The answer of the hop kernels: pairs of nodes and the hop each belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class HopPairs:
    r"""All pairs :math:`(v, u)` with :math:`u \in N_k(v)`, for k = 1..K.

    The pairs are sorted by (hop, row, col), so every hop is a contiguous block in CSR
    order. The arrays cannot be written to; :meth:`select` and :meth:`csr` return views.

    Attributes:
        row: The node v, int64 ``[M]``.
        col: The node u, int64 ``[M]``.
        hop: The hop k, int64 ``[M]``, values 1..K.
        num_nodes: Number of nodes n.
        num_hops: Number of hops K; trailing hops may be empty.

    Raises:
        ConfigError: If the three arrays do not have the same length.
    """

    row: NDArray[np.int64]
    col: NDArray[np.int64]
    hop: NDArray[np.int64]
    num_nodes: int
    num_hops: int

    def __post_init__(self) -> None:
        """Check the outline and lock the arrays."""
        if not self.row.shape == self.col.shape == self.hop.shape == (self.row.size,):
            raise ConfigError(
                "row, col and hop must be vectors of one length, got shapes "
                f"{self.row.shape}, {self.col.shape}, {self.hop.shape}."
            )
        for name in ("row", "col", "hop"):
            locked = getattr(self, name).view()
            locked.flags.writeable = False
            object.__setattr__(self, name, locked)

    @property
    def num_pairs(self) -> int:
        """Number of pairs M over all hops."""
        return self.row.size

    def select(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs of hop ``k`` as ``(row, col)``, each int64 ``[M_k]``.

        Raises:
            ConfigError: If ``k`` is not in 1..K.
        """
        start, stop = self._block(k)
        return self.row[start:stop], self.col[start:stop]

    def csr(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return hop ``k`` in compressed sparse rows.

        Returns:
            ``indptr`` int64 ``[n + 1]`` and ``indices`` int64 ``[M_k]``: the k-hop
            neighbours of v are ``indices[indptr[v]:indptr[v + 1]]``, sorted.

        Raises:
            ConfigError: If ``k`` is not in 1..K.
        """
        row, col = self.select(k)
        indptr = np.zeros(self.num_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=self.num_nodes), out=indptr[1:])
        return indptr, col

    def to_scipy(self, k: int) -> sp.csr_array:
        """Return the 0/1 matrix B_k of hop ``k``, int8 ``csr_array`` ``[n, n]``.

        Raises:
            ConfigError: If ``k`` is not in 1..K.
        """
        import scipy.sparse as sp

        indptr, indices = self.csr(k)
        ones = np.ones(indices.size, dtype=np.int8)
        shape = (self.num_nodes, self.num_nodes)
        return sp.csr_array((ones, indices.copy(), indptr), shape)

    def counts(self) -> NDArray[np.int64]:
        """Return the number of pairs of every node and hop, int64 ``[n, K]``.

        Entry ``[v, k - 1]`` is ``|N_k(v)|``, or the size of the sample.
        """
        sizes = np.zeros((self.num_nodes, self.num_hops), dtype=np.int64)
        present = int(self.hop[-1]) if self.hop.size else 0
        for k in range(1, present + 1):
            row, _ = self.select(k)
            sizes[:, k - 1] = np.bincount(row, minlength=self.num_nodes)
        return sizes

    def _block(self, k: int) -> tuple[int, int]:
        """Return where hop ``k`` starts and stops."""
        if check_positive("k", k) > self.num_hops:
            raise ConfigError(f"k must be at most num_hops={self.num_hops}, got {k}.")
        start, stop = np.searchsorted(self.hop, [k, k + 1])
        return int(start), int(stop)

    def __repr__(self) -> str:
        """Sizes only."""
        return (
            f"HopPairs(num_nodes={self.num_nodes}, num_hops={self.num_hops}, "
            f"num_pairs={self.num_pairs})"
        )
