"""Which graphs of a dataset are for training, validation and test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint lists of positions in a dataset.

    Attributes:
        train: For training, int64.
        val: For choosing among models, int64.
        test: For the number that is reported, int64.

    Example:
        >>> Split.contiguous(2, 1, 3).test.tolist()
        [3, 4, 5]
    """

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]

    @classmethod
    def of(cls, order: NDArray[np.int64], num_train: int, num_val: int) -> Split:
        """Cut ``order`` into three parts; what is left is for test."""
        cuts = [num_train, num_train + num_val]
        return cls(*np.split(np.asarray(order, dtype=np.int64), cuts))

    @classmethod
    def contiguous(cls, train: int, val: int, test: int) -> Split:
        """Return three parts of given sizes, one after the other."""
        return cls.of(np.arange(train + val + test), train, val)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of graphs in each part."""
        return self.train.size, self.val.size, self.test.size
