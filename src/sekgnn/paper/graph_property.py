"""Graph properties: connectedness, diameter and spectral radius.

Generated graphs follow the PNA benchmark (Corso et al. 2020, "Principal Neighbourhood
Aggregation for Graph Nets"): ten families, slightly rewired, with the parameters of its
published generator. The distribution is the same; the random numbers, and so the
graphs, are not.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice, check_positive, check_seed
from sekgnn.datasets.by_name import choose_targets, numbers_task, register_dataset
from sekgnn.datasets.graph_task import GraphTask, Split, as_data
from sekgnn.datasets.root import (
    Collection,
    check_statistics,
    has_data_file,
    read_data_graphs,
)
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph, barabasi_albert_graph
from sekgnn.paper.stacks import same_size_stacks

if TYPE_CHECKING:
    from torch_geometric.data import Data

GRAPH_PROPERTIES = ("is_connected", "diameter", "spectral_radius")
NODE_PROPERTIES = ("sssp", "eccentricity", "laplacian_features")

Stack = NDArray[np.float64]
Matrix = NDArray[np.bool_]
Rng = np.random.Generator

SPLITS = ("train", "val", "test")
VERSIONS = {"1234": "graph_property", "12345": "graph_property/seed12345"}
"""Seeds of the published generator, and the files they made."""
PER_SIZE = 512
_KEEP = 0.9  # of the edges, when a graph is rewired
_ENOUGH = 64  # graphs per size for a comparison of statistics


class GraphPropertyDataset(Collection[Graph]):
    """The multi-task benchmark of PNA (Corso et al. 2020): 5120, 640 and 1280 graphs.

    Training graphs have 15 to 24 nodes; those for validation and test 15 to 19, as the
    published generator makes them. The files are read if they exist, otherwise graphs
    of the same distribution are generated; :attr:`source` says which.

    Targets are divided by their maximum over the training graphs, nothing is
    subtracted; raw values are ``targets * scale``. ``is_connected`` means connected
    **and not bipartite**, see :func:`graph_properties`. The usual metric is log10 of
    the test MSE, one model per target.

    Args:
        data_root: The data folder, which must then hold the files; by default
            ``SEKGNN_DATA``, and without that the graphs are generated.
        version: Version of the files: ``"1234"`` (PNA, GNN-AK; the mean of 101.1 edges
            in the paper's table) or ``"12345"`` (the seed in SEK-GNN's code; mean
            99.6).
        seed: Seed of generated graphs; unused with the files.

    Attributes:
        targets: Scaled graph targets, float32 ``[G, 3]``; columns ``target_names``.
        scale: Their divisors ``[3]``.
        node_targets: Scaled node targets of all graphs, float32 ``[N, 3]``; columns
            ``node_target_names``.
        node_scale: Their divisors ``[3]``.
        features: Per node, whether it is the source of ``sssp``, and a value from
            U[0, 1]; float32 ``[N, 2]``.
        split: Positions for training, validation and test.
        source: ``"file"`` or ``"generated"``.

    Raises:
        DataNotFoundError: If ``data_root`` or ``SEKGNN_DATA`` is missing.
        GraphInputError: If a file has other contents.

    Example:
        >>> GraphPropertyDataset.generated(per_size=4)
        GraphPropertyDataset(55, generated)
    """

    target_names = GRAPH_PROPERTIES
    node_target_names = NODE_PROPERTIES
    targets: NDArray[np.float32]
    scale: NDArray[np.float32]
    node_targets: NDArray[np.float32]
    node_scale: NDArray[np.float32]
    features: NDArray[np.float32]
    split: Split
    source: str

    def __init__(
        self,
        data_root: str | os.PathLike[str] | None = None,
        *,
        version: Literal["1234", "12345"] = "1234",
        seed: int = 0,
    ) -> None:
        stem = VERSIONS[check_choice("version", version, VERSIONS)]
        names = [f"{stem}/{part}" for part in SPLITS]
        if not all(has_data_file(name, data_root) for name in names):
            self._generate(seed, PER_SIZE)
            return
        read = [read_data_graphs(name, data_root) for name in names]
        graphs = [graph for part, _ in read for graph in part]
        x, self.targets, self.node_targets = (
            np.concatenate([arrays[key] for _, arrays in read])
            for key in ("x", "y", "node_y")
        )
        self._fill(graphs, [len(part) for part, _ in read], x, "file")
        self.scale, self.node_scale = (
            read[0][1][key] for key in ("y_scale", "node_y_scale")
        )
        if version == "1234":
            self._check(graphs=self.split.sizes)

    @classmethod
    def generated(cls, seed: int = 0, per_size: int = PER_SIZE) -> GraphPropertyDataset:
        """Return graphs generated from a seed; needs no file.

        There are ``per_size`` training graphs of each size, a quarter as many for
        validation and half as many for test.

        Raises:
            ConfigError: If a number is too small.
        """
        dataset = cls.__new__(cls)
        dataset._generate(seed, per_size)
        return dataset

    def _generate(self, seed: int, per_size: int) -> None:
        """Generate graphs, features and targets from a seed."""
        check_positive("per_size", per_size, 4)
        rng = np.random.default_rng(check_seed(seed))
        counts = (per_size, per_size // 4, per_size // 2)
        ends = (25, 20, 20)
        sizes = [np.repeat(range(15, e), c) for e, c in zip(ends, counts, strict=True)]
        lengths = [part.size for part in sizes]
        graphs: list[Graph] = []
        features = []
        for n in np.concatenate(sizes).tolist():
            matrix = benchmark_graph(n, rng)
            graphs.append(Graph.from_edge_index(np.stack(np.nonzero(matrix)), n))
            source = np.arange(n) == rng.integers(n)
            features.append(np.stack([source, rng.random(n)], axis=1))
        x = np.concatenate(features).astype(np.float32)
        self._fill(graphs, lengths, x, "generated")
        y, node_y = graph_properties(graphs), node_properties(graphs, x)
        train_nodes = sum(g.num_nodes for g in graphs[: lengths[0]])
        self.scale = y[: lengths[0]].max(axis=0).astype(np.float32)
        self.node_scale = node_y[:train_nodes].max(axis=0).astype(np.float32)
        self.targets = (y / self.scale).astype(np.float32)
        self.node_targets = (node_y / self.node_scale).astype(np.float32)
        if per_size >= _ENOUGH:
            self._check(sampled=True)

    def _fill(
        self, graphs: list[Graph], lengths: list[int], x: Any, source: str
    ) -> None:
        """Set the graphs, their features, split and source."""
        super().__init__(graphs)
        self.features, self.source = x, source
        self.split = Split.contiguous(*lengths)

    def _check(self, **expected: Any) -> None:
        """Compare the training graphs with the paper's table."""
        train = self[: self.split.sizes[0]]
        nodes, edges = [g.num_nodes for g in train], [g.num_edges for g in train]
        check_statistics("graph_property", nodes, edges, **expected)

    def to_pyg(self, targets: Sequence[str] | str = GRAPH_PROPERTIES) -> list[Data]:
        """Return the graphs as PyG data; ``x`` is ``features``.

        Args:
            targets: Graph targets (``y`` float32 ``[1, T]``) or node targets (``y``
                float32 ``[n, T]``), scaled.

        Raises:
            ConfigError: If there is no such target.
            GraphInputError: If graph and node targets are mixed, or none is given.
        """
        names = [targets] if isinstance(targets, str) else list(targets)
        available = (*GRAPH_PROPERTIES, *NODE_PROPERTIES)
        columns = [
            available.index(check_choice("target", name, available)) for name in names
        ]
        of_nodes = [column >= len(GRAPH_PROPERTIES) for column in columns]
        if not names or any(of_nodes) != all(of_nodes):
            raise GraphInputError(
                f"targets must be some of {GRAPH_PROPERTIES} or some of "
                f"{NODE_PROPERTIES}, got {names}."
            )
        cuts = np.cumsum([g.num_nodes for g in self])[:-1]
        x = np.split(self.features, cuts)
        if of_nodes[0]:
            chosen = [column - len(GRAPH_PROPERTIES) for column in columns]
            y = np.split(self.node_targets[:, chosen], cuts)
        else:
            y = list(self.targets[:, None, columns])
        return [as_data(g, x=a, y=b) for g, a, b in zip(self, x, y, strict=True)]


def graph_properties(graphs: Sequence[Graph]) -> NDArray[np.float64]:
    r"""Return ``GRAPH_PROPERTIES`` of every graph.

    - ``is_connected``: 1 if the graph is connected **and not bipartite**. The benchmark
      tests :math:`\min A^{2^k} > 0`, which fails on every bipartite graph, connected or
      not; it is kept for comparability.
    - ``diameter``: the largest finite distance.
    - ``spectral_radius``: the largest eigenvalue of the adjacency matrix.

    Shapes:
        - **output:** float64 :math:`(G, 3)`

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> graph_properties([cycle_graph(5), cycle_graph(6)]).round(9).tolist()
        [[1.0, 2.0, 2.0], [0.0, 3.0, 2.0]]
    """
    out = np.zeros((len(graphs), 3))
    for indices, a in same_size_stacks(graphs):
        if a.shape[1] == 0:
            continue
        distance = _distances(a)
        connected = np.isfinite(distance).all((1, 2))
        start = distance[:, 0]  # an edge within one layer closes an odd cycle
        odd = ((start[:, :, None] == start[:, None, :]) & (a > 0)).any((1, 2))
        out[indices, 0] = connected & odd
        out[indices, 1] = _finite(distance).max((1, 2))
        out[indices, 2] = np.linalg.eigvalsh(a)[:, -1]
    return out


def node_properties(
    graphs: Sequence[Graph], features: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Return ``NODE_PROPERTIES`` of every node, graph by graph.

    - ``sssp``: distance to the source, 0 where it cannot be reached.
    - ``eccentricity``: the largest finite distance to another node.
    - ``laplacian_features``: (D - A) times the node's value.

    Args:
        graphs: The graphs.
        features: Per node, whether it is the source, and its value; ``[N, 2]``.

    Shapes:
        - **output:** float64 :math:`(N, 3)`

    Raises:
        GraphInputError: If ``features`` has another shape.
    """
    ptr = np.cumsum([0, *(g.num_nodes for g in graphs)])
    if features.shape != (ptr[-1], 2):
        raise GraphInputError(
            f"features must have shape [{ptr[-1]}, 2], got {list(features.shape)}."
        )
    out = np.zeros((int(ptr[-1]), 3))
    for indices, a in same_size_stacks(graphs):
        if a.shape[1] == 0:
            continue
        rows = ptr[indices][:, None] + np.arange(a.shape[1])  # [B, n]
        source, value = np.moveaxis(features[rows].astype(np.float64), 2, 0)
        distance = _finite(_distances(a))
        at_source = distance[np.arange(len(a)), source.argmax(1)]
        neighbours = (a @ value[:, :, None])[:, :, 0]
        laplacian = a.sum(2) * value - neighbours
        out[rows] = np.stack([at_source, distance.max(2), laplacian], axis=2)
    return out


def _distances(a: Stack) -> Stack:
    """Return all shortest-path lengths of a stack, infinite where there is no path."""
    from scipy.sparse.csgraph import shortest_path

    return np.stack([shortest_path(matrix, unweighted=True) for matrix in a])


def _finite(distance: Stack) -> Stack:
    """Return distances with infinity replaced by 0."""
    return np.where(np.isfinite(distance), distance, 0.0)


def benchmark_graph(n: int, rng: Rng) -> Matrix:
    """Return the matrix of a random graph on ``n >= 3`` nodes, none of them isolated.

    A family is drawn from ``FAMILIES``, then graphs from it until one has no isolated
    node after rewiring. Nodes are shuffled.
    """
    names = list(FAMILIES)
    weights = [FAMILIES[name][0] for name in names]
    family = FAMILIES[names[int(rng.choice(len(names), p=weights))]][1]
    while True:
        perm = rng.permutation(n)
        matrix = _rewired(family(n, rng)[np.ix_(perm, perm)], rng)
        if matrix.any(axis=0).all():
            return matrix


def _rewired(matrix: Matrix, rng: Rng) -> Matrix:
    """Drop some edges and add some others.

    The generator compares the sum s of two numbers from U[0, 1/2] with p = 0.9 for an
    edge and with p = 0.1 e / r for a non-edge (e edges, r non-edges, if e <= r). Its
    comments give p as the probability, but s is not uniform: P(s < p) is 2 p² below 1/2
    and 1 - 2 (1 - p)² above, so 2% of the edges go.
    """
    n = matrix.shape[0]
    edges = matrix.sum() / 2
    others = n * (n - 1) / 2 - edges
    if edges <= others:
        stay, appear = _KEEP, (1 - _KEEP) * edges / others
    else:
        stay, appear = _KEEP + (1 - _KEEP) * (edges - others) / edges, 1 - _KEEP
    chance = np.where(matrix, 1 - 2 * (1 - stay) ** 2, 2 * appear**2)
    upper = np.triu(rng.random((n, n)) < chance, k=1)
    return upper | upper.T


def _of_edges(n: int, u: NDArray[Any], v: NDArray[Any]) -> Matrix:
    matrix = np.zeros((n, n), dtype=np.bool_)
    matrix[u.astype(np.int64), v.astype(np.int64)] = True
    return matrix | matrix.T


def _near_square(n: int) -> tuple[int, int]:
    """Return the closest pair of factors of ``n``, the smaller first."""
    small = max(i for i in range(1, math.isqrt(n) + 1) if n % i == 0)
    return small, n // small


def _erdos_renyi(n: int, rng: Rng) -> Matrix:
    upper = np.triu(rng.random((n, n)) < rng.random(), k=1)
    return upper | upper.T


def _barabasi_albert(n: int, rng: Rng) -> Matrix:
    graph = barabasi_albert_graph(n, int(rng.integers(1, n)), rng)
    return graph.adjacency().astype(np.bool_)


def _grid(n: int, rng: Rng) -> Matrix:
    _, width = _near_square(n)
    right = np.array([v for v in range(n - 1) if (v + 1) % width], dtype=np.int64)
    down = np.arange(n - width)
    ends = np.concatenate([right + 1, down + width])
    return _of_edges(n, np.concatenate([right, down]), ends)


def _caveman(n: int, rng: Rng) -> Matrix:
    _, size = _near_square(n)
    cave = np.arange(n) // size
    return (cave[:, None] == cave) & ~np.eye(n, dtype=np.bool_)


def _power_law_tree(n: int, rng: Rng) -> Matrix:
    """Return a path with leaves; degrees follow a power law with exponent 3.

    Degrees are replaced at random until they sum to 2 n - 2.
    """

    def draw(count: int) -> NDArray[np.int64]:
        power = (1.0 - rng.random(count)) ** -0.5
        return np.minimum(np.rint(power), n).astype(np.int64)

    degrees = draw(n)
    while degrees.sum() != 2 * n - 2:
        degrees[rng.integers(n)] = draw(1)[0]
    inner = np.sort(degrees[degrees > 1])
    spine = np.arange(inner.size + 1)
    leaves = np.repeat(np.arange(1, inner.size + 1), inner - 2)
    ends = np.arange(inner.size + 2, n)
    return _of_edges(n, np.concatenate([spine, leaves]), np.append(spine + 1, ends))


def _ladder(n: int, rng: Rng) -> Matrix:
    half = n // 2
    side = np.arange(half - 1)
    u = np.concatenate([side, side + half, np.arange(half), [0] * (n % 2)])
    v = np.concatenate([side + 1, side + half + 1, np.arange(half) + half])
    return _of_edges(n, u, np.append(v, [n - 1] * (n % 2)))


def _line(n: int, rng: Rng) -> Matrix:
    return _of_edges(n, np.arange(n - 1), np.arange(1, n))


def _star(n: int, rng: Rng) -> Matrix:
    return _of_edges(n, np.zeros(n - 1, dtype=np.int64), np.arange(1, n))


def _caterpillar(n: int, rng: Rng) -> Matrix:
    return _legs(n, int(rng.integers(1, n)), n, rng)


def _lobster(n: int, rng: Rng) -> Matrix:
    spine = int(rng.integers(1, n))
    return _legs(n, spine, int(rng.integers(spine + 1, n + 1)), rng)


def _legs(n: int, spine: int, inner: int, rng: Rng) -> Matrix:
    """Attach nodes up to ``inner`` to a path of ``spine``, the rest to those."""
    first = rng.integers(spine, size=inner - spine)
    second = rng.integers(spine, inner, size=n - inner)
    parents = np.concatenate([np.arange(spine - 1), first, second])
    return _of_edges(n, parents, np.arange(1, n))


FAMILIES: dict[str, tuple[float, Callable[[int, Rng], Matrix]]] = {
    "erdos_renyi": (0.2, _erdos_renyi),
    "barabasi_albert": (0.2, _barabasi_albert),
    "grid": (0.05, _grid),
    "caveman": (0.05, _caveman),
    "tree": (0.15, _power_law_tree),
    "ladder": (0.05, _ladder),
    "line": (0.05, _line),
    "star": (0.05, _star),
    "caterpillar": (0.1, _caterpillar),
    "lobster": (0.1, _lobster),
}
"""Probability of each family, and its generator before rewiring."""


@register_dataset("graph_property")
def graph_property_task(
    target: Sequence[str],
    *,
    seed: int = 0,
    generated: bool = False,
    data_root: str | os.PathLike[str] | None = None,
) -> GraphTask:
    """Return properties of graphs or nodes, generated or from files.

    Raises:
        ConfigError: If no target is given, or there is no such property.
    """
    if generated:
        dataset = GraphPropertyDataset.generated(seed)
    else:
        dataset = GraphPropertyDataset(data_root, seed=seed)
    available = (*GRAPH_PROPERTIES, *NODE_PROPERTIES)
    names = choose_targets("graph_property", target, available)
    return numbers_task(
        dataset.to_pyg(names),
        names,
        name="graph_property",
        source=dataset.source,
        level="node" if names[0] in NODE_PROPERTIES else "graph",
        units="values divided by their maximum over the training graphs",
        split=dataset.split,
    )
