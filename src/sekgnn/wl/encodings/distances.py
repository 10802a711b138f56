"""f from distances: how the nodes of each shell are joined."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.digest import Colours, key_of, spread
from sekgnn.graphs.graph import CsrGraph
from sekgnn.kernel import kernel
from sekgnn.registry import parameter
from sekgnn.walks.ball import local_ball
from sekgnn.wl.batch import Batch
from sekgnn.wl.encodings.base import ExactEncoding, node_colours

KEY_PROFILE = key_of("distance profile")


@kernel
def shell_degrees(
    bounds: NDArray[np.int64], rows: NDArray[np.int64], columns: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return each node's edges inwards, within its shell and outwards, ``[s, 3]``."""
    s = rows.size - 1
    shell = np.empty(s, dtype=np.int64)
    for k in range(bounds.size - 1):
        shell[bounds[k] : bounds[k + 1]] = k
    out = np.zeros((s, 3), dtype=np.int64)
    for i in range(s):
        for e in range(rows[i], rows[i + 1]):
            out[i, shell[columns[e]] - shell[i] + 1] += 1
    return out


@kernel
def profiles(
    graph: CsrGraph,
    labels: Colours,
    start: int,
    stop: int,
    num_shells: int,
    place: NDArray[np.int32],
    out: Colours,
) -> None:
    """Write the digest of the profiles of nodes ``start..stop - 1``."""
    for v in range(start, stop):
        nodes, bounds, rows, columns = local_ball(graph, v, num_shells, True, 0, place)
        degrees = shell_degrees(bounds, rows, columns)
        s0, s1 = KEY_PROFILE, np.uint64(0)
        for k in range(1, num_shells + 1):
            t0, t1 = np.uint64(0), np.uint64(0)
            for i in range(bounds[k], bounds[k + 1]):
                m0, m1 = labels[nodes[i], 0], labels[nodes[i], 1]
                for side in range(3):
                    m0, m1 = spread(m0 + np.uint64(degrees[i, side]), m1, KEY_PROFILE)
                t0 += m0
                t1 += m1
            s0, s1 = spread(s0 + t0, s1 + t1, KEY_PROFILE)
        out[v, 0], out[v, 1] = s0, s1


@dataclass(frozen=True)
class DistanceProfile(ExactEncoding):
    """For each shell, the multiset of its nodes' edges inwards, within and outwards.

    The edges within a shell are the peripheral edges of KP-GNN (Feng et al. 2022).

    Args:
        num_shells: K, the shells; edges that leave the last one are not seen.
    """

    name = "distances"
    beyond_words = "but joined or labelled in different ways"

    num_shells: int = parameter(4, "number of shells that an encoding summarises")

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_positive("num_shells", self.num_shells)

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Return the digest of every node's profile."""
        return node_colours(
            batch,
            lambda start, stop, place, out: profiles(
                batch.packed.csr, batch.label_colours, start, stop, self.num_shells,
                place, out,
            ),
            threads,
        )  # fmt: skip

    def words(self, batch: Batch, node: int) -> str:
        """Say the profile of every shell that has nodes."""
        place = np.full(batch.packed.num_nodes, -1, dtype=np.int32)
        _, bounds, rows, columns = local_ball(
            batch.packed.csr, node, self.num_shells, True, 0, place
        )
        degrees = shell_degrees(bounds, rows, columns)
        said = []
        for k in range(1, self.num_shells + 1):
            part = degrees[bounds[k] : bounds[k + 1]].tolist()
            counts = sorted(Counter(map(tuple, part)).items())
            if counts:
                text = ", ".join(f"{n} × {inside}" for inside, n in counts)
                said.append(f"distance {k}: {text}")
        profile = "; ".join(said) or "no other nodes"
        return f"edges (inwards, within, outwards) at {profile}"
