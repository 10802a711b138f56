"""Splits, and the paper's table of statistics: does loaded data agree with it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError

STANDARD_ERRORS = 6.0
"""How far the mean of a random sample may lie from the published one."""


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


@dataclass(frozen=True)
class Statistics:
    """One line of the paper's appendix table "Datasets Statistics".

    Attributes:
        tasks: Classes of a classification set, else number of targets.
        graphs: Number of graphs, or of those in train, validation and test.
        nodes: Mean number of nodes; of the training graphs where there is a split.
        edges: Mean number of edges.
        directed: Every edge counts twice in ``edges``.
        tolerance: How far a mean may be off: the last digit that is printed.
    """

    tasks: int
    graphs: tuple[int, ...]
    nodes: float
    edges: float
    directed: bool = False
    tolerance: float = 0.01


PAPER_STATISTICS = {
    "graph_property": Statistics(3, (5120, 640, 1280), 19.5, 101.1, True, 0.1),
    "counting": Statistics(4, (1500, 1000, 2500), 18.8, 62.6, True, 0.1),
    "MUTAG": Statistics(2, (188,), 17.93, 19.79),
    "PTC_MR": Statistics(2, (344,), 14.29, 14.69),
    "PROTEINS": Statistics(2, (1113,), 39.06, 72.82),
    "ENZYMES": Statistics(6, (600,), 32.63, 62.14),
    "BZR": Statistics(2, (405,), 35.75, 38.36),
    "COX2": Statistics(2, (467,), 41.22, 43.45),
    "IMDB-BINARY": Statistics(2, (1000,), 19.77, 96.53),
    "IMDB-MULTI": Statistics(3, (1500,), 13.0, 65.94),
    "QM9": Statistics(12, (129433,), 18.0, 18.6, tolerance=0.1),
}
"""The table, by dataset. Of QM9 it counts 129,433 molecules; qm9pack and PyG hold
130,831, so the number of its graphs is not compared."""


def check_statistics(
    name: str,
    num_nodes: Any,
    num_edges: Any,
    *,
    graphs: tuple[int, ...] | None = None,
    tasks: int | None = None,
    sampled: bool = False,
) -> None:
    """Compare a loaded dataset with the paper's table.

    Nodes and undirected edges are those of every graph, ``[G]``; the number of graphs
    (or of those in each split) and of tasks are not compared if left out. If the graphs
    are a random sample of the published distribution, a mean may be off by
    ``STANDARD_ERRORS`` standard errors.

    Raises:
        GraphInputError: If they disagree; the message holds both numbers.

    Example:
        >>> check_statistics("MUTAG", [17.93] * 188, [19.79] * 188, graphs=(188,))
    """
    paper = PAPER_STATISTICS[name]
    edges = np.asarray(num_edges, dtype=np.float64) * (2 if paper.directed else 1)
    checks: list[tuple[str, object, object, bool]] = [
        ("graphs", graphs, paper.graphs, graphs in (None, paper.graphs)),
        ("classes or targets", tasks, paper.tasks, tasks in (None, paper.tasks)),
    ]
    for what, values, expected in (
        ("mean number of nodes", np.asarray(num_nodes, np.float64), paper.nodes),
        ("mean number of edges", edges, paper.edges),
    ):
        mean = float(values.mean()) if values.size else float("nan")
        slack = paper.tolerance
        if sampled:
            slack += STANDARD_ERRORS * float(values.std()) / max(values.size, 1) ** 0.5
        checks.append((what, round(mean, 4), expected, abs(mean - expected) <= slack))
    wrong = [
        f"{what} {got} (paper: {want})" for what, got, want, ok in checks if not ok
    ]
    if wrong:
        raise GraphInputError(
            f"{name} is not the dataset of the paper: {', '.join(wrong)}. Another "
            "version of it, or files cut short? Replace them."
        )
