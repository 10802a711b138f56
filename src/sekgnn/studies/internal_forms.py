r"""Which internal substructures are isomorphic (paper, Definition 1).

The internal substructure of :math:`G_v^K` is the graph formed by its edges that do not
touch v. It has no root and forgets which nodes v was joined to: two rooted ego-nets may
differ and yet have isomorphic internal substructures (in a cubic graph with K = 2, a
6-cycle belongs to a node on a triangle as well as to a node of the cube). Nodes with
isomorphic rooted ego-nets always have isomorphic internal substructures.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from sekgnn.graphs.packed import PackedGraphs
from sekgnn.studies.ego_forms import canonical_form
from sekgnn.studies.pair_counts import Labels, together
from sekgnn.walks.ball import local_ball

_ROUNDS = 8


@nb.njit(cache=True, nogil=True)
def _mix(x: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@nb.njit(cache=True, nogil=True)
def internal_invariant(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    centre: int,
    radius: int,
    place: NDArray[np.int32],
) -> int:
    """Return a number that is equal for isomorphic internal substructures.

    A few rounds of colour refinement, hashed; different substructures may share it.
    """
    nodes, _, rows, columns = local_ball(
        indptr, indices, centre, radius, False, 0, place
    )
    before = np.ones(nodes.size, dtype=np.uint64)
    after = np.empty_like(before)
    for _ in range(_ROUNDS):
        for a in range(nodes.size):
            total = np.uint64(0)
            for e in range(rows[a], rows[a + 1]):
                total += _mix(before[columns[e]])
            after[a] = _mix(before[a] + np.uint64(3) * total)
        before, after = after, before
    total = np.uint64(0)
    for a in range(nodes.size):
        if rows[a + 1] > rows[a]:  # nodes without edges are not part of it
            total += _mix(before[a])
    return int(total >> np.uint64(1))


def internal_labels(
    packed: PackedGraphs, hops: int, rooted: Labels, candidates: Labels
) -> Labels:
    """Label nodes by the isomorphism type of their internal substructure.

    Args:
        packed: Any graphs.
        hops: K.
        rooted: From :func:`~sekgnn.studies.ego_forms.rooted_labels`, or any labels that
            are equal only for isomorphic internal substructures.
        candidates: Labels of which only equal ones are in question.

    Returns:
        Labels, ``[N]``: equal exactly where the candidates are equal and the internal
        substructures isomorphic.
    """
    place = np.full(packed.num_nodes, -1, dtype=np.int32)
    both = together(candidates, rooted)
    _, first, where = np.unique(both, return_index=True, return_inverse=True)
    group = candidates[first]
    kind = np.zeros(first.size, dtype=np.int64)
    for i in np.flatnonzero(_shared(group)).tolist():
        kind[i] = internal_invariant(
            packed.indptr, packed.indices, int(first[i]), hops, place
        )
    group = together(group, kind)
    forms: dict[bytes, int] = {}
    form = np.zeros(first.size, dtype=np.int64)
    for i in np.flatnonzero(_shared(group)).tolist():
        key = _internal_form(packed, hops, int(first[i]), place)
        form[i] = forms.setdefault(key, len(forms))
    return together(group, form)[where]


def _shared(label: Labels) -> NDArray[np.bool_]:
    """Say of every label whether it occurs more than once."""
    _, where, counts = np.unique(label, return_inverse=True, return_counts=True)
    return counts[where] > 1


def _internal_form(
    packed: PackedGraphs, hops: int, node: int, place: NDArray[np.int32]
) -> bytes:
    """Return the canonical form of one internal substructure."""
    _, _, rows, columns = local_ball(
        packed.indptr, packed.indices, node, hops, False, 0, place
    )
    row = np.repeat(np.arange(rows.size - 1, dtype=np.int32), np.diff(rows))
    edges = np.stack([row, columns], axis=1)[row < columns]
    used, ends = np.unique(edges, return_inverse=True)
    colours = np.zeros(used.size, dtype=np.int32)
    return canonical_form(colours, ends.reshape(-1, 2).astype(np.int32))
