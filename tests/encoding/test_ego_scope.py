"""Ego-nets with more nodes than a block of columns, against matrices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sekgnn.encoding import WalkEncoding, encode, encode_exact
from sekgnn.encoding.walk_encoding import Scope
from sekgnn.graphs import Graph, barabasi_albert_graph, path_graph
from sekgnn.walks import PRIMES


def ego_by_matrices(g: Graph, v: int, encoding: WalkEncoding) -> np.ndarray:
    """Sums of f1, f2, f3 and of their squares around ``v``, by dense matrices."""
    (block,) = encoding.blocks
    scope, radius = block.scope, block.radius
    adjacency = g.adjacency()
    reach, levels = np.arange(g.num_nodes) == v, []
    for _ in range(radius):
        wider = reach | adjacency[reach].any(0)
        levels.append(wider & ~reach)
        reach = wider
    a = adjacency[np.ix_(reach, reach)] + np.eye(reach.sum())
    shells = [level[reach] for level in levels[: block.num_shells]]
    v = int(reach[:v].sum())
    if scope == "internal":
        a[v], a[:, v] = 0, 0
    degrees = a.sum(1, keepdims=True)
    p = np.divide(a, degrees, out=np.zeros_like(a), where=degrees > 0)
    out, h = [], np.eye(len(a))
    for _ in range(encoding.walk_length):
        h = h @ p
        sums = [h[v, v]] if scope == "ego" else []
        for x in (h, h**2)[: 1 + (encoding.aggregate == "moments")]:
            diagonal = [x.diagonal()[n].sum() for n in shells]
            pairs = list(pairwise(shells))
            if scope == "ego":
                sums += [x[v, n].sum() for n in shells]
            sums += diagonal
            sums += [
                x[np.ix_(n, n)].sum() - own
                for n, own in zip(shells, diagonal, strict=True)
            ]
            if scope == "internal":
                sums += [x[np.ix_(n, m)].sum() for n, m in pairs]
                sums += [x[np.ix_(m, n)].sum() for n, m in pairs]
        out.append(sums)
    return np.array(out).T


@pytest.mark.parametrize("scope", ["ego", "internal"])
@pytest.mark.parametrize("radius", [2, 3])
def test_ego_nets_larger_than_a_block(scope: Scope, radius: int) -> None:
    """Ego-nets large and small in turn: nothing of one is left in the next."""
    g = barabasi_albert_graph(130, 2, np.random.default_rng(5))
    g = g.disjoint_union(path_graph(9))
    perm = np.random.default_rng(6).permutation(g.num_nodes)
    g = g.relabel(perm)
    encoding = WalkEncoding(
        num_shells=3, walk_length=4, scope=scope, radius=radius, aggregate="moments"
    )
    got = encode(g, encoding)
    for v in range(g.num_nodes):
        np.testing.assert_allclose(
            got[v], ego_by_matrices(g, v, encoding), rtol=1e-10, atol=1e-12
        )


def test_exact_sums_stay_residues_in_large_shells() -> None:
    """A hub's shell of 60 nodes: sums of thousands of residues, none beyond p.

    Every row of P sums to 1, so from any node of a complete shell the walk lands in
    the ball with certainty: the sums over all pairs are whole numbers.
    """
    n = 61
    g = Graph.from_edge_index(np.array(np.nonzero(1 - np.eye(n))), n)
    encoding = WalkEncoding(num_shells=1, walk_length=3, scope=("graph", "internal"))
    got = encode_exact(g, encoding)
    assert (got >= 0).all()
    assert (got < np.array(PRIMES)).all()
    names = list(encoding.channels)
    inside = got[:, names.index("internal1/across_diagonal/1")]
    inside = inside + got[:, names.index("internal1/across_off_diagonal/1")]
    np.testing.assert_array_equal(inside % np.array(PRIMES), n - 1)
