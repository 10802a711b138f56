r"""Substructure counting: random regular graphs and the counts of patterns in them.

With adjacency A, degrees d and common neighbours :math:`(A^2)_{uv}`, a count of
subgraphs (not necessarily induced) is a sum over walks minus the degenerate ones.
Three-node sums need :math:`t_{ace}`, the number of nodes adjacent to a, c and e.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_positive, check_seed
from sekgnn.datasets.by_name import choose_targets, numbers_task, register_dataset
from sekgnn.datasets.graph_task import GraphTask, Split, as_data
from sekgnn.datasets.root import (
    Collection,
    check_statistics,
    find_data_root,
    has_data_file,
    read_data_graphs,
)
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph, random_regular_graph
from sekgnn.paper.stacks import same_size_stacks

if TYPE_CHECKING:
    from torch_geometric.data import Data

PATTERNS = (
    "triangle",
    "tailed_triangle",
    "star3",
    "cycle4",
    "custom",
    "cycle5",
    "cycle6",
    "diamond",
    "diamond_induced",
    "tailed_triangle_induced",
    "k4",
)
"""The targets, in the order of the columns."""

Stack = NDArray[np.float64]

NUM_GRAPHS = 5000
SHAPES = ((10, 6), (15, 6), (20, 5), (30, 5))
"""Nodes and degree of the regular graphs, each with probability 1/4."""
_MATRICES = "counting/randomgraph.mat"
_ENOUGH = 500  # graphs for a comparison of statistics


class CountingDataset(Collection[Graph]):
    """The random regular graphs of Chen et al. 2020, with eleven targets.

    A graph is regular with (nodes, degree) from ``SHAPES``, minus as many random edges
    as it has nodes. A file is read if it exists, ours or the ``randomgraph.mat`` of
    GNN-AK and KP-GNN; otherwise graphs of the same distribution are generated;
    :attr:`source` and the repr say which.

    The paper's tasks are ``triangle``, ``tailed_triangle``, ``star3`` and ``cycle4``.
    Results in the literature are for ``targets / scale`` (GNN-AK, KP-GNN: MAE) or for
    ``(targets - mean) / scale`` (SEK-GNN's SEK-GIN script: MSE, though called MAE); the
    two must not be mixed.

    Args:
        data_root: The data folder, which must then hold the file; by default
            ``SEKGNN_DATA``, and without that the graphs are generated.
        seed: Seed of generated graphs; unused with the file.

    Attributes:
        targets: Raw counts, float64 ``[G, 11]``, columns named by ``target_names``.
        split: Positions for training (1500), validation (1000) and test (2500).
        source: ``"file"`` or ``"generated"``.

    Raises:
        DataNotFoundError: If ``data_root`` or ``SEKGNN_DATA`` is missing.
        GraphInputError: If the file has other contents.

    Example:
        >>> CountingDataset.generated(seed=1, num_graphs=10)
        CountingDataset(10, generated)
    """

    target_names = PATTERNS
    targets: NDArray[np.float64]
    split: Split
    source: str

    def __init__(
        self, data_root: str | os.PathLike[str] | None = None, *, seed: int = 0
    ) -> None:
        if not has_data_file("counting", data_root, _MATRICES):
            self._generate(seed, NUM_GRAPHS)
            return
        file = find_data_root(data_root) / _MATRICES
        if file.is_file() and not (file.parent / "counting.npz").is_file():
            graphs, split = _read_matrices(file)
            self._fill(graphs, pattern_counts(graphs), split, "file")
            return
        graphs, arrays = read_data_graphs("counting", data_root)
        split = Split(*(arrays[f"{p}_idx"] for p in ("train", "val", "test")))
        self._fill(graphs, arrays["y"], split, "file")

    @classmethod
    def generated(cls, seed: int = 0, num_graphs: int = NUM_GRAPHS) -> CountingDataset:
        """Return graphs generated from a seed, split 30 : 20 : 50; needs no file.

        Raises:
            ConfigError: If a number is too small.
        """
        dataset = cls.__new__(cls)
        dataset._generate(seed, num_graphs)
        return dataset

    def _generate(self, seed: int, num_graphs: int) -> None:
        """Generate graphs and split from a seed."""
        check_positive("num_graphs", num_graphs, 10)
        rng = np.random.default_rng(check_seed(seed))
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
        """Set all attributes and compare them with the paper's table."""
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


def pattern_counts(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    r"""Return the count of each of ``PATTERNS`` in each graph.

    Subgraphs need not be induced unless the name says so; counts are exact below
    :math:`2^{53}`. ``star3`` is the star with three leaves, ``tailed_triangle`` the
    triangle with a pendant edge, ``diamond`` the four-cycle with a chord. ``custom`` is
    the fifth target of the benchmark, not a count:
    :math:`\sum A\,\mathrm{diag}(\exp(-A^2\mathbf{1}))\,A`.

    Takes :math:`O(n^4)` time and :math:`O(n^2)` memory per graph.

    Shapes:
        - **output:** float64 :math:`(G, 11)`

    Example:
        >>> from sekgnn.graphs import complete_graph
        >>> counts = pattern_counts([complete_graph(4)])[0].round(6).tolist()
        >>> dict(zip(PATTERNS, counts, strict=True))["cycle4"]
        3.0
    """
    counts = np.zeros((len(graphs), len(PATTERNS)))
    for indices, adjacency in same_size_stacks(graphs):
        counts[indices] = _stack_counts(adjacency)
    return counts


def _stack_counts(a: Stack) -> Stack:
    """Return the targets of a stack of matrices ``[B, n, n]``, as ``[B, 11]``."""
    d = a.sum(axis=2)  # [B, n]
    a2 = a @ a  # common neighbours
    a3 = a2 @ a
    closed3 = np.diagonal(a3, axis1=1, axis2=2)  # [B, n], twice the triangles there
    triangle = closed3.sum(1) / 6
    tailed = (closed3 / 2 * (d - 2)).sum(1)
    closed4 = (a2 * a2).sum((1, 2))  # tr A^4, for A^2 is symmetric
    closed5 = (a2 * a3).sum((1, 2))
    diamond = (a * a2 * (a2 - 1)).sum((1, 2)) / 4
    cycle6, k4 = _three_centres(a, a2)
    diamond_induced = diamond - 6 * k4
    columns = {
        "triangle": triangle,
        "tailed_triangle": tailed,
        "star3": (d * (d - 1) * (d - 2)).sum(1) / 6,
        "cycle4": (closed4 + d.sum(1) - 2 * a2.sum((1, 2))) / 8,
        "custom": (d * d * np.exp(-(a @ d[:, :, None])[:, :, 0])).sum(1),
        "cycle5": (closed5 - 30 * triangle - 10 * tailed) / 10,
        "cycle6": cycle6,
        "diamond": diamond,
        "diamond_induced": diamond_induced,
        # a diamond holds 4 tailed triangles, a four-clique 12
        "tailed_triangle_induced": tailed - 4 * diamond_induced - 12 * k4,
        "k4": k4,
    }
    return np.stack([columns[name] for name in PATTERNS], axis=1)


def _three_centres(a: Stack, a2: Stack) -> tuple[Stack, Stack]:
    """Return the numbers of six-cycles and four-cliques, each ``[B]``.

    A six-cycle a b c d e f has alternate nodes a, c, e and between them b, d, f: each a
    common neighbour of two, different from the third and from each other. From the
    x y z choices those with b = d (then adjacent to all three: t z of them), d = f and
    f = b are subtracted; b = d = f, subtracted thrice, is added back twice.
    """
    n = a.shape[1]
    six = np.zeros(a.shape[0])
    four = np.zeros(a.shape[0])
    others = 1 - np.eye(n)
    for node in range(n):
        near = a[:, node]  # [B, n]
        t = (near[:, None, :] * a) @ a  # [B, c, e]
        triangle = near[:, :, None] * a * near[:, None, :]  # a, c, e all adjacent
        four += (triangle * t).sum((1, 2))
        x = a2[:, node, :, None] - near[:, None, :] * a  # between a and c, without e
        z = a2[:, node, None, :] - near[:, :, None] * a  # between a and e, without c
        y = a2 - near[:, :, None] * near[:, None, :]  # between c and e, without a
        choices = x * y * z - t * (x + y + z) + 2 * t
        different = others.copy()  # a, c, e are three nodes
        different[node] = different[:, node] = 0
        six += (choices * different).sum((1, 2))
    return six / 12, four / 24


def _read_matrices(path: Path) -> tuple[list[Graph], Split]:
    """Read adjacency matrices and split of the benchmark's MATLAB file."""
    from scipy.io import loadmat
    from scipy.sparse import coo_array

    try:
        contents = loadmat(path)
        graphs = [
            Graph.from_edge_index(
                np.stack(coo_array(matrix).nonzero()), matrix.shape[0]
            )
            for matrix in contents["A"].reshape(-1)
        ]
        names = ("train_idx", "val_idx", "test_idx")
        splits = [contents[name].reshape(-1).astype(np.int64) for name in names]
    except Exception as error:  # a damaged file may raise anything
        raise GraphInputError(f"{path} is not randomgraph.mat: {error}.") from None
    if sorted(np.concatenate(splits).tolist()) != list(range(len(graphs))):
        raise GraphInputError(f"{path}: train, val and test are no split of A.")
    return graphs, Split(*splits)


def _thinned(n: int, degree: int, rng: np.random.Generator) -> Graph:
    """Return a random regular graph minus ``n`` random edges."""
    graph = random_regular_graph(n, degree, rng)
    row, col = graph.edge_index()
    edges = np.stack([row, col])[:, row < col]
    remaining = rng.permutation(edges.shape[1])[n:]
    return Graph.from_edge_index(edges[:, remaining], n, undirected="add")


@register_dataset("counting")
def counting_task(
    target: Sequence[str],
    *,
    seed: int = 0,
    generated: bool = False,
    data_root: str | os.PathLike[str] | None = None,
) -> GraphTask:
    """Return the counting task, generated or from a file.

    Raises:
        ConfigError: If no target is given, or there is no such pattern.
    """
    if generated:
        return counting_data(CountingDataset.generated(seed), target)
    return counting_data(CountingDataset(data_root, seed=seed), target)


def counting_data(dataset: CountingDataset, targets: Sequence[str]) -> GraphTask:
    """Return the counting task, in units of the standard deviation of each target.

    Raises:
        ConfigError: If no target is given, or there is no such pattern.
    """
    import torch

    names = choose_targets("counting", targets, PATTERNS)
    graphs = dataset.to_pyg(names)
    columns = [PATTERNS.index(name) for name in names]
    scale = torch.tensor(dataset.scale[columns], dtype=torch.float32)
    for data in graphs:
        data.y = data.y / scale
    return numbers_task(
        graphs,
        names,
        name="counting",
        source=dataset.source,
        units="counts divided by their standard deviation over all graphs",
        split=dataset.split,
    )
