r"""Numbering of the node pairs :math:`i < j`, column by column, as graph6 does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def pair_rank(i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.int64]:
    r"""Return :math:`j (j - 1) / 2 + i`, the position of the pair :math:`i < j`.

    Example:
        >>> pair_rank(np.array([0, 0, 1]), np.array([1, 2, 2])).tolist()
        [0, 1, 2]
    """
    return j * (j - 1) // 2 + i


def pair_unrank(rank: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs ``(i, j)`` at positions ``rank``, the inverse of pair_rank.

    Exact for ranks below 2^61: the square root is only a first guess.

    Example:
        >>> i, j = pair_unrank(np.array([0, 1, 2]))
        >>> i.tolist(), j.tolist()
        ([0, 0, 1], [1, 2, 2])
    """
    j = ((1 + np.sqrt(8.0 * rank + 1)) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > rank
    j += j * (j + 1) // 2 <= rank
    return rank - j * (j - 1) // 2, j
