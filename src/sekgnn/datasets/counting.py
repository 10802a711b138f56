"""Substructure counting: random regular graphs and how often patterns occur in them."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_positive
from sekgnn.datasets.collection import Collection
from sekgnn.datasets.pattern_targets import PATTERNS, pattern_counts
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.root import has_data_file, read_data_file
from sekgnn.datasets.split import Split
from sekgnn.datasets.statistics import check_statistics
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph, pack_edge_indices, random_regular_graph, unpack

if TYPE_CHECKING:
    from torch_geometric.data import Data

NUM_GRAPHS = 5000
SHAPES = ((10, 6), (15, 6), (20, 5), (30, 5))
"""Nodes and degree of the regular graphs, each with probability 1/4."""
_ENOUGH = 500  # a smaller sample says little about the distribution it is from


class CountingDataset(Collection[Graph]):
    """The random regular graphs of Chen et al. 2020, with eleven targets.

    A graph is regular with (nodes, degree) from ``SHAPES``, less as many random edges
    as it has nodes. The files are read if they are there, otherwise graphs of the same
    distribution are made here; :attr:`source` and the repr say which.

    The paper's tasks are ``triangle``, ``tailed_triangle``, ``star3`` and ``cycle4``.
    Results in the literature are of ``targets / scale`` (GNN-AK, KP-GNN: MAE) or of
    ``(targets - mean) / scale`` (SEK-GNN's SEK-GIN script: MSE, though it is called
    MAE); the two must not be mixed.

    Args:
        root: The data folder, which must then hold the file; by default what
            ``SEKGNN_DATA`` names, and without one the graphs are generated.
        seed: Of generated graphs; not used with the file.

    Attributes:
        targets: Raw counts, float64 ``[G, 11]``, columns named by ``target_names``.
        split: Positions for training (1500), validation (1000) and test (2500).
        source: ``"file"`` or ``"generated"``.

    Raises:
        DataNotFoundError: If ``root``, or the folder ``SEKGNN_DATA`` names, is missing.
        GraphInputError: If the file is another one.

    Example:
        >>> CountingDataset.generated(seed=1, num_graphs=10)
        CountingDataset(10, generated)
    """

    target_names = PATTERNS
    targets: NDArray[np.float64]
    split: Split
    source: str

    def __init__(
        self, root: str | os.PathLike[str] | None = None, *, seed: int = 0
    ) -> None:
        """Read the file, or generate."""
        if not has_data_file("counting", root):
            self._generate(seed, NUM_GRAPHS)
            return
        content = io.BytesIO(read_data_file("counting", root))
        with np.load(content, allow_pickle=False) as arrays:
            packed = pack_edge_indices(
                arrays["edge_index"], arrays["node_ptr"], arrays["edge_ptr"]
            )
            split = Split(*(arrays[f"{p}_idx"] for p in ("train", "val", "test")))
            self._fill(unpack(packed), arrays["y"], split, "file")

    @classmethod
    def generated(cls, seed: int = 0, num_graphs: int = NUM_GRAPHS) -> CountingDataset:
        """Return graphs made here, split 30 : 20 : 50 at random; needs no file.

        Args:
            seed: Fixes graphs and split.
            num_graphs: How many; the published dataset has 5000.

        Raises:
            ConfigError: If a number is too small.
        """
        made = cls.__new__(cls)
        made._generate(seed, num_graphs)
        return made

    def _generate(self, seed: int, num_graphs: int) -> None:
        """Make graphs and split from a seed."""
        check_positive("num_graphs", num_graphs, 10)
        rng = np.random.default_rng(check_positive("seed", seed, 0))
        shapes = rng.integers(len(SHAPES), size=num_graphs).tolist()
        graphs = [_thinned(*SHAPES[shape], rng) for shape in shapes]
        order = rng.permutation(num_graphs)
        split = Split.of(order, num_graphs * 3 // 10, num_graphs * 2 // 10)
        self._fill(graphs, pattern_counts(graphs), split, "generated")

    def _fill(
        self,
        graphs: Iterable[Graph],
        targets: NDArray[np.float64],
        split: Split,
        source: str,
    ) -> None:
        """Keep everything, after comparing it with the paper's table."""
        super().__init__(graphs)
        self.targets, self.split, self.source = targets, split, source
        self.targets.flags.writeable = False
        generated = source == "generated"
        if generated and len(self) < _ENOUGH:
            return
        check_statistics(
            "counting",
            [g.num_nodes for g in self],
            [g.num_edges for g in self],
            graphs=None if generated else split.sizes,
            sampled=generated,
        )

    @property
    def scale(self) -> NDArray[np.float64]:
        """Standard deviation (ddof 1) of every target over all graphs, ``[11]``."""
        return self.targets.std(axis=0, ddof=1)

    def to_pyg(self, targets: Sequence[str] | str = PATTERNS) -> list[Data]:
        """Return the graphs as PyG data; ``x`` is a column of ones.

        Args:
            targets: Which, in this order; ``y`` is float32 ``[1, T]``, raw counts.

        Raises:
            ConfigError: If there is no such target.
        """
        names = [targets] if isinstance(targets, str) else targets
        if not names:
            raise GraphInputError("no target is named; choose some of target_names.")
        columns = [PATTERNS.index(check_choice("target", n, PATTERNS)) for n in names]
        values = self.targets[:, columns].astype(np.float32)
        return [as_data(g, y=y[None, :]) for g, y in zip(self, values, strict=True)]

    def __repr__(self) -> str:
        """Name, size and source."""
        return f"{type(self).__name__}({len(self)}, {self.source})"


def _thinned(n: int, degree: int, rng: np.random.Generator) -> Graph:
    """Return a random regular graph less ``n`` random edges."""
    graph = random_regular_graph(n, degree, rng)
    row, col = graph.edge_index()
    edges = np.stack([row, col])[:, row < col]
    kept = rng.permutation(edges.shape[1])[n:]
    return Graph.from_edge_index(edges[:, kept], n, undirected="add")
