"""Both kernels against their definitions, and the laws they obey."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small_graphs import empty_graph, star

from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, path_graph
from sekgnn.graphs.packed import pack
from sekgnn.hops import HopKernel, HopTable, hop_pairs, shell_sizes
from sekgnn.parallel import even_chunks
from sekgnn.testing.strategies import graphs

Triples = list[tuple[int, int, int]]
KERNELS: tuple[HopKernel, ...] = ("shortest_path", "diffusion")


def triples(pairs: HopTable, shift: int = 0) -> Triples:
    """(hop, row, col) in stored order."""
    row, col = pairs.row + shift, pairs.col + shift
    return list(zip(pairs.hop.tolist(), row.tolist(), col.tolist(), strict=True))


def by_distance(g: Graph, num_hops: int) -> Triples:
    lengths = nx.all_pairs_shortest_path_length(g.to_networkx())
    return sorted(
        (d, v, u) for v, ds in lengths for u, d in ds.items() if 1 <= d <= num_hops
    )


def by_matrix_power(g: Graph, num_hops: int) -> Triples:
    adjacency, power = g.adjacency(), np.eye(g.num_nodes, dtype=np.int64)
    triples: Triples = []
    for k in range(1, num_hops + 1):
        power = power @ adjacency
        triples += [(k, int(v), int(u)) for v, u in np.argwhere(power > 0)]
    return triples


ORACLES: dict[HopKernel, Callable[[Graph, int], Triples]] = {
    "shortest_path": by_distance,
    "diffusion": by_matrix_power,
}


@pytest.mark.parametrize("kernel", KERNELS)
@given(g=graphs(max_nodes=8), num_hops=st.integers(1, 10))
def test_hop_pairs_match_the_definition(
    kernel: HopKernel, g: Graph, num_hops: int
) -> None:
    """Order included: sorted by (hop, row, col), every pair once."""
    pairs = hop_pairs(g, num_hops, kernel=kernel)
    assert triples(pairs) == ORACLES[kernel](g, num_hops)
    assert (pairs.num_nodes, pairs.num_hops) == (g.num_nodes, num_hops)
    assert pairs.row.dtype == pairs.col.dtype == pairs.hop.dtype == np.int64


@pytest.mark.parametrize("kernel", KERNELS)
def test_larger_graphs_match_the_definition(kernel: HopKernel) -> None:
    """Levels long enough for the general sort as well."""
    for g_nx in (nx.gnp_random_graph(120, 0.05, seed=1), nx.grid_2d_graph(9, 9)):
        relabelled = nx.convert_node_labels_to_integers(g_nx)
        g = Graph.from_edge_index(
            np.array(relabelled.edges).T, relabelled.number_of_nodes(), undirected="add"
        )
        assert triples(hop_pairs(g, 5, kernel=kernel)) == ORACLES[kernel](g, 5)


def test_shortest_path_by_hand() -> None:
    pairs = hop_pairs(path_graph(4), 3)
    assert triples(pairs) == [
        *[(1, 0, 1), (1, 1, 0), (1, 1, 2), (1, 2, 1), (1, 2, 3), (1, 3, 2)],
        *[(2, 0, 2), (2, 1, 3), (2, 2, 0), (2, 3, 1)],
        *[(3, 0, 3), (3, 3, 0)],
    ]


def test_diffusion_by_hand() -> None:
    """On an edge the walk goes to and fro; a triangle reaches all from hop 2 on."""
    assert triples(hop_pairs(path_graph(2), 3, kernel="diffusion")) == [
        *[(1, 0, 1), (1, 1, 0), (2, 0, 0), (2, 1, 1), (3, 0, 1), (3, 1, 0)],
    ]
    triangle = Graph.from_edge_index([[0, 1, 2], [1, 2, 0]], 3, undirected="add")
    counts = hop_pairs(triangle, 4, kernel="diffusion").counts()
    assert counts.tolist() == [[2, 3, 3, 3]] * 3


@pytest.mark.parametrize("kernel", KERNELS)
@given(g=graphs(max_nodes=8), rng=st.randoms())
def test_relabelling_the_graph_relabels_the_pairs(
    kernel: HopKernel, g: Graph, rng: random.Random
) -> None:
    perm = np.array(rng.sample(range(g.num_nodes), g.num_nodes), dtype=np.int64)
    before = triples(hop_pairs(g, 4, kernel=kernel))
    after = triples(hop_pairs(g.relabel(perm), 4, kernel=kernel))
    assert sorted((k, int(perm[v]), int(perm[u])) for k, v, u in before) == after


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cap", [None, 1, 2])
@given(a=graphs(max_nodes=7), b=graphs(max_nodes=7))
def test_disjoint_union_is_the_union_of_the_pairs(
    kernel: HopKernel, cap: int | None, a: Graph, b: Graph
) -> None:
    """The first part keeps its node numbers, hence even its samples."""
    union = triples(hop_pairs(a.disjoint_union(b), 3, kernel=kernel, max_neighbors=cap))
    of_a = triples(hop_pairs(a, 3, kernel=kernel, max_neighbors=cap))
    assert [t for t in union if t[1] < a.num_nodes] == of_a
    if cap is None:
        of_b = triples(hop_pairs(b, 3, kernel=kernel), shift=a.num_nodes)
        assert [t for t in union if t[1] >= a.num_nodes] == of_b


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cap", [None, 1, 2])
@given(many=st.lists(graphs(max_nodes=6), max_size=5))
def test_packed_equals_one_by_one(
    kernel: HopKernel, cap: int | None, many: list[Graph]
) -> None:
    packed = pack(many)
    together = hop_pairs(packed, 3, kernel=kernel, max_neighbors=cap, seed=7)
    expected: Triples = []
    for g, first in zip(many, packed.node_ptr.tolist(), strict=False):
        one = hop_pairs(g, 3, kernel=kernel, max_neighbors=cap, seed=7)
        expected += triples(one, shift=first)
    assert triples(together) == sorted(expected)
    assert together.num_nodes == packed.num_nodes


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cap", [None, 2])
@given(many=st.lists(graphs(max_nodes=7), max_size=4), size=st.integers(1, 9))
def test_neither_threads_nor_chunks_change_the_answer(
    kernel: HopKernel, cap: int | None, many: list[Graph], size: int
) -> None:
    """Also checks that a search leaves no marks behind for the next source."""
    packed = pack(many)
    alone = hop_pairs(packed, 3, kernel=kernel, max_neighbors=cap, threads=1)
    module = import_module("sekgnn.hops.hop_pairs")
    with patch.object(module, "_chunks", lambda n, _: even_chunks(n, size)):
        shared = hop_pairs(packed, 3, kernel=kernel, max_neighbors=cap, threads=2)
    assert triples(alone) == triples(shared)


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_edges_no_pairs(kernel: HopKernel, n: int) -> None:
    pairs = hop_pairs(empty_graph(n), 3, kernel=kernel, max_neighbors=2)
    assert pairs.num_pairs == 0
    assert pairs.counts().shape == (n, 3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_graphs_no_pairs(kernel: HopKernel) -> None:
    assert hop_pairs(pack([]), 2, kernel=kernel).num_pairs == 0


def test_a_hop_with_no_pairs_gains_no_phantom_pair_between_nodes_0_and_1() -> None:
    """The released SEK code adds (0, 1) to every empty hop."""
    for g in (
        empty_graph(4),
        path_graph(2),
        path_graph(4).disjoint_union(empty_graph(2)),
    ):
        pairs = hop_pairs(g, 6)
        for k in (4, 5, 6):
            assert pairs.csr(k)[1].size == 0


def test_hop_lists_are_not_cut_at_the_first_40_nodes() -> None:
    """The released SEK code keeps 40 nodes of a hop, by position."""
    for kernel, expected in (("shortest_path", 99), ("diffusion", 100)):
        counts = hop_pairs(star(100), 2, kernel=kernel).counts()  # type: ignore[arg-type]
        assert counts[0, 0] == 100
        assert (counts[1:, 0] == 1).all()
        assert (counts[1:, 1] == expected).all()


@given(st.lists(graphs(max_nodes=8), max_size=3), st.integers(0, 9))
def test_shell_sizes_count_the_pairs(many: list[Graph], num_shells: int) -> None:
    """Of all graphs at once; beyond the diameter there is nothing."""
    sizes = shell_sizes(pack(many), num_shells)
    expected = [
        np.bincount(
            [d - 1 for d, u, _ in by_distance(g, num_shells) if u == v],
            minlength=num_shells,
        )
        for g in many
        for v in range(g.num_nodes)
    ]
    assert sizes.dtype == np.int64
    assert sizes.tolist() == [row.tolist() for row in expected]


@pytest.mark.parametrize(
    "bad",
    [
        {"num_hops": 0},
        {"num_hops": 1.5},
        {"max_neighbors": 0},
        {"kernel": "shortest_pth"},
        {"seed": -1},
        {"seed": 2**64},
        {"threads": 0},
    ],
    ids=str,
)
def test_bad_parameters_are_named(bad: dict[str, object]) -> None:
    arguments: dict[str, object] = {"num_hops": 2, **bad}
    with pytest.raises(ConfigError, match=next(iter(bad))):
        hop_pairs(path_graph(3), **arguments)  # type: ignore[arg-type]


def test_unknown_kernel_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'diffusion'"):
        hop_pairs(path_graph(3), 2, kernel="difusion")  # type: ignore[arg-type]
