"""CSL: circular skip link graphs, ten classes of relabelled copies."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.datasets.collection import Collection
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.root import read_data_file
from sekgnn.graphs import Graph, csl_graph, from_graph6

if TYPE_CHECKING:
    from torch_geometric.data import Data

NUM_NODES = 41
SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
COPIES = 15


class CSL(Collection[Graph]):
    """The 150 graphs of Murphy et al. 2019, "Relational Pooling".

    Class c holds 15 relabelled copies of the cycle of 41 nodes with further links of
    length ``SKIPS[c]``. All are 4-regular, so 1-WL sees one class.

    Args:
        root: The data folder; by default what ``SEKGNN_DATA`` names.

    Attributes:
        labels: Class of every graph, int64 ``[150]``.

    Raises:
        DataNotFoundError: If the file is missing; :meth:`generated` needs none.
        GraphInputError: If its SHA-256 is wrong.
    """

    labels: NDArray[np.int64]

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        """Read the original graphs."""
        text = read_data_file("csl", root).decode("ascii")
        rows = [line.split("\t") for line in text.splitlines()]
        self._fill((from_graph6(row[2]) for row in rows), [int(row[0]) for row in rows])

    @classmethod
    def generated(cls, seed: int = 0, copies: int = COPIES) -> CSL:
        """Return the same classes in the same order, made here; needs no file.

        Args:
            seed: Of the relabellings.
            copies: Graphs per class.

        Example:
            >>> CSL.generated(copies=2).labels.tolist()[:4]
            [0, 0, 1, 1]
        """
        check_positive("copies", copies)
        rng = np.random.default_rng(check_positive("seed", seed, 0))
        made = cls.__new__(cls)
        made._fill(
            (
                csl_graph(NUM_NODES, skip).relabel(rng.permutation(NUM_NODES))
                for skip in SKIPS
                for _ in range(copies)
            ),
            [label for label in range(len(SKIPS)) for _ in range(copies)],
        )
        return made

    def _fill(self, graphs: Iterable[Graph], labels: list[int]) -> None:
        """Keep graphs and labels."""
        super().__init__(graphs)
        self.labels = np.array(labels, dtype=np.int64)
        self.labels.flags.writeable = False

    @property
    def skips(self) -> NDArray[np.int64]:
        """Skip length of every graph, int64 ``[150]``."""
        return np.array(SKIPS, dtype=np.int64)[self.labels]

    def to_pyg(self) -> list[Data]:
        """Return the graphs as PyG data; ``y`` is the class, ``x`` a column of ones."""
        labels = self.labels.tolist()
        return [as_data(g, y=label) for g, label in zip(self, labels, strict=True)]
