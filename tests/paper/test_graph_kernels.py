"""Kernels of graphs against their definitions, written the slow, obvious way."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.small_graphs import empty_graph

from sekgnn.graphs import Graph, cycle_graph, path_graph, petersen_graph
from sekgnn.graphs.packed import pack
from sekgnn.paper.graph_kernels import (
    FusedDistance,
    GraphKernel,
    KernelGraphs,
    ReturnDistance,
    SubtreeKernel,
    TangentKernel,
    WassersteinDistance,
)
from sekgnn.walks import landing_probabilities

Matrix = NDArray[np.float64]
ROUNDS = (0, 1, 3)
KERNELS: dict[str, GraphKernel] = {
    "wl": SubtreeKernel(ROUNDS),
    "wwl": WassersteinDistance(ROUNDS),
    "retgk": ReturnDistance((6,), 0.25),
    "gntk": TangentKernel((1, 2), degree_scale=False),
}


def labelled(graphs: list[Graph], seed: int = 0, kinds: int = 2) -> KernelGraphs:
    """Return graphs whose nodes have one of few features each."""
    draw = np.random.default_rng(seed)
    packed = pack(graphs)
    return KernelGraphs(packed, np.eye(3)[draw.integers(kinds, size=packed.num_nodes)])


def some_graphs(count: int = 7, seed: int = 0) -> list[Graph]:
    draw = np.random.default_rng(seed)
    graphs = [path_graph(1), empty_graph(3), cycle_graph(4)]
    while len(graphs) < count:
        n = int(draw.integers(3, 8))
        row, col = np.nonzero(np.triu(draw.random((n, n)) < 0.4, 1))
        graphs.append(Graph.from_edge_index([row, col], n, undirected="add"))
    return graphs


def matrices_of(graphs: KernelGraphs) -> list[tuple[Matrix, Matrix]]:
    """Return adjacency and features of every graph."""
    ptr = graphs.packed.node_ptr
    dense = np.zeros((ptr[-1], ptr[-1]))
    rows = np.repeat(np.arange(ptr[-1]), np.diff(graphs.packed.indptr))
    dense[rows, graphs.packed.indices] = 1
    cuts = [slice(a, b) for a, b in pairwise(ptr)]
    return [(dense[cut, cut], graphs.x[cut]) for cut in cuts]


def unfolded(adjacency: Matrix, x: Matrix, rounds: int) -> list[list[Any]]:
    """Return the colours of all nodes per round, as nested tuples."""
    history = [[tuple(row) for row in x]]
    for _ in range(rounds):
        old = history[-1]
        history.append(
            [
                (old[v], tuple(sorted(old[u] for u in np.flatnonzero(adjacency[v]))))
                for v in range(len(x))
            ]
        )
    return history


def subtree(left: Any, right: Any, rounds: int) -> float:
    def count(pair: tuple[Any, Any]) -> float:
        a, b = (unfolded(g[0], g[1], rounds) for g in pair)
        return sum(
            float(Counter(mine)[c] * Counter(other)[c])
            for mine, other in zip(a, b, strict=True)
            for c in set(mine)
        )

    size = np.sqrt(count((left, left)) * count((right, right)))
    return float(count((left, right)) / size)


def hamming(left: Any, right: Any, rounds: int) -> Matrix:
    a, b = (unfolded(g[0], g[1], rounds) for g in (left, right))
    return np.array(
        [
            [
                np.mean([a[r][u] != b[r][w] for r in range(rounds + 1)])
                for w in range(len(b[0]))
            ]
            for u in range(len(a[0]))
        ]
    )


def transport(left: Any, right: Any, rounds: int) -> float:
    ot = pytest.importorskip("ot")
    return float(ot.emd2([], [], hamming(left, right, rounds)))


def returns(left: Any, right: Any, length: int) -> float:
    def walk(graph: Any) -> Matrix:
        edges = np.nonzero(graph[0])
        simple = Graph.from_edge_index(np.stack(edges), len(graph[0]))
        probabilities = landing_probabilities(simple, length, self_loops=False)
        return np.array(
            [[step[v, v] for step in probabilities] for v in range(len(graph[0]))]
        )

    def mean(a: Any, b: Any) -> float:
        r, s = walk(a), walk(b)
        values = [
            np.exp(-np.sum((r[u] - s[w]) ** 2) / (2 * 0.25**2))
            * (a[1][u] == b[1][w]).all()
            for u in range(len(r))
            for w in range(len(s))
        ]
        return float(np.mean(values))

    gap = mean(left, left) + mean(right, right) - 2 * mean(left, right)
    return float(np.sqrt(max(gap, 0)))


def tangent(left: Any, right: Any, blocks: int, *, degree: bool = False) -> float:
    """The recursion with whole matrices, of all nodes of both graphs at once."""
    size = len(left[0])
    adjacency = np.block(
        [
            [left[0], np.zeros((size, len(right[0])))],
            [np.zeros((len(right[0]), size)), right[0]],
        ]
    ) + np.eye(size + len(right[0]))
    c = 1 / adjacency.sum(1) if degree else np.ones(len(adjacency))
    gather = c[:, None] * adjacency
    x = np.concatenate([left[1], right[1]])
    sigma = theta = x @ x.T
    sums = sigma.copy()
    for _ in range(blocks):
        sigma, theta = gather @ sigma @ gather.T, gather @ theta @ gather.T
        for _ in range(2):
            scale = np.sqrt(np.outer(np.diag(sigma), np.diag(sigma)))
            s = np.clip(sigma / scale, -1, 1)
            angle = np.arccos(s)
            sigma = (s * (np.pi - angle) + np.sqrt(1 - s**2)) / np.pi * scale
            theta = theta * (np.pi - angle) / np.pi + sigma
        sums += theta
    total = [
        [block.sum() for block in np.split(rows, [size], axis=1)]
        for rows in np.split(sums, [size])
    ]
    return float(total[0][1])


DEFINITIONS = {"wl": subtree, "wwl": transport, "retgk": returns, "gntk": tangent}


@pytest.mark.parametrize("name", KERNELS)
def test_every_value_is_the_definition(name: str) -> None:
    graphs, kernel = labelled(some_graphs()), KERNELS[name]
    values = kernel.between(graphs)
    slow = [
        [
            [DEFINITIONS[name](a, b, level) for b in matrices_of(graphs)]
            for a in matrices_of(graphs)
        ]
        for level in kernel.levels
    ]
    # a distance is the root of a difference: equal numbers leave half of the digits
    np.testing.assert_allclose(values, slow, atol=1e-7 if name == "retgk" else 1e-10)


def test_the_tangent_kernel_divides_by_degrees_and_ends_with_the_last_block() -> None:
    graphs = labelled(some_graphs())
    values = TangentKernel((2,)).between(graphs)[0]
    slow = [[tangent(a, b, 2, degree=True) for b in matrices_of(graphs)]
            for a in matrices_of(graphs)]  # fmt: skip
    np.testing.assert_allclose(values, slow, atol=1e-10)
    plain = KernelGraphs(graphs.packed, np.zeros((len(graphs.x), 0)))
    degrees = np.eye(9)[np.diff(graphs.packed.indptr)]
    kernel = TangentKernel((1,), mlp_layers=1, all_blocks=False)
    values, last = (
        kernel.between(g) for g in (plain, KernelGraphs(plain.packed, degrees))
    )
    np.testing.assert_allclose(values, last)
    two = KernelGraphs(pack([path_graph(2), path_graph(1)]), np.ones((3, 1)))
    # an edge: Σ = 1 after averaging, so Θ = 1 + 1 at each of 4 pairs, of 2, of 1
    np.testing.assert_allclose(kernel.between(two)[0], [[8, 4], [4, 2]])


def test_colours_of_a_triangle_and_a_path_by_hand() -> None:
    """Round 0 has one colour, round 1 has (2 neighbours) and (1 neighbour)."""
    graphs = KernelGraphs(pack([cycle_graph(3), path_graph(3)]), np.zeros((6, 0)))
    (kernel,) = SubtreeKernel((1,)).between(graphs)
    assert kernel[0, 1] == pytest.approx((9 + 3) / np.sqrt(18 * (9 + 1 + 4)))
    (distance,) = WassersteinDistance((1,)).between(graphs)
    assert distance[0, 1] == pytest.approx((0 + 2 / 3) / 2)


def test_the_subtree_kernel_is_that_of_grakel() -> None:
    grakel = pytest.importorskip("grakel")
    graphs = labelled(some_graphs(9)[2:], kinds=3)  # it refuses graphs without edges
    theirs = grakel.WeisfeilerLehman(n_iter=3, normalize=True).fit_transform(
        [
            grakel.Graph(a.astype(int), dict(enumerate(x.argmax(1).tolist())))
            for a, x in matrices_of(graphs)
        ]
    )
    np.testing.assert_allclose(SubtreeKernel((3,)).between(graphs)[0], theirs)


@pytest.mark.parametrize("name", KERNELS)
def test_matrices_are_symmetric_semidefinite_and_blind_to_names(name: str) -> None:
    kernel = KERNELS[name]
    graphs = labelled([*some_graphs(12, seed=3), petersen_graph()])
    values = kernel.between(graphs)
    np.testing.assert_array_equal(values, np.swapaxes(values, 1, 2))
    for matrix in np.exp(-3 * values) if kernel.is_distance else values:
        sizes = np.linalg.eigvalsh(matrix)
        assert sizes.min() > -1e-9 * sizes.max()
    draw = np.random.default_rng(5)
    moved = []
    for adjacency, x in matrices_of(graphs):
        perm = draw.permutation(len(x))
        edges = np.stack(np.nonzero(adjacency))
        graph = Graph.from_edge_index(edges, len(x)).relabel(perm)
        moved.append(KernelGraphs(pack([graph]), x[np.argsort(perm)]))
    other = KernelGraphs.join(moved)
    near = 1e-7 if name == "retgk" else 1e-12
    np.testing.assert_allclose(kernel.between(other), values, atol=near)
    rows = graphs.subset([4, 0, 7])
    subset = kernel.between(rows, other)
    np.testing.assert_allclose(subset, values[:, [4, 0, 7]], atol=near)


def test_fused_distances_of_small_graphs_by_hand() -> None:
    pytest.importorskip("ot")
    nodes = [KernelGraphs(pack([path_graph(1)]), np.eye(2)[[i]]) for i in (0, 1)]
    edge = KernelGraphs(pack([path_graph(2)]), np.eye(2)[[0, 0]])
    graphs = KernelGraphs.join([*nodes, edge, KernelGraphs(pack([]), np.zeros((0, 2)))])
    (distances,) = FusedDistance((0,), alpha=0.25).between(graphs)
    # an edge against a node: half of the pairs are 1 apart, and 0 there
    expected = [[0, 0.75, 0.125], [0.75, 0, 0.875], [0.125, 0.875, 0]]
    np.testing.assert_allclose(distances, expected, atol=1e-9)
    rows = FusedDistance((0,), alpha=0.25).between(graphs.subset([2]), graphs)
    np.testing.assert_allclose(rows[0], distances[2:3], atol=1e-9)


def test_fused_distances_without_structure_are_transport() -> None:
    """With little weight on structure, the other half is WWL's distance."""
    pytest.importorskip("ot")
    graphs = labelled(some_graphs(6)[1:])
    (fused,) = FusedDistance((1,), alpha=1e-9).between(graphs)
    (plain,) = WassersteinDistance((1,)).between(graphs)
    np.testing.assert_allclose(fused, plain, atol=1e-6)


def test_no_nodes_and_no_graphs() -> None:
    nothing = KernelGraphs(pack([empty_graph(0), path_graph(2)]), np.zeros((2, 0)))
    for kernel in KERNELS.values():
        values = kernel.between(nothing)
        assert np.isfinite(values).all()
        assert kernel.between(nothing.subset([1]), nothing).shape[1:] == (1, 2)


def test_the_scale_of_returns_is_a_power_of_two_near_the_median() -> None:
    graphs = labelled(some_graphs(10))
    fitted: Any = ReturnDistance((6,)).fitted(graphs)
    assert np.log2(fitted.scale) == round(np.log2(fitted.scale))
    assert 0.05 < fitted.scale < 2
    assert ReturnDistance((6,)).fitted(graphs, 0.7) == ReturnDistance((6,), 0.7)
