"""f from 1-WL inside the ego-net."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sekgnn.checks import check_positive
from sekgnn.walks.ball import local_ball
from sekgnn.wl.batch import Batch
from sekgnn.wl.digest import Colours
from sekgnn.wl.encodings.base import ExactEncoding
from sekgnn.wl.inner_refinement import ego_net_colours


@dataclass(frozen=True)
class InnerWL(ExactEncoding):
    """The multiset of stable 1-WL colours of a node's ego-net.

    Args:
        radius: h.
        marked: Let every node know its distance to the centre.
        internal: Leave the centre out: its edges tell nothing that distances do not.
    """

    name = "inner_wl"
    beyond_words = "but joined or labelled in different ways"

    radius: int = 3
    marked: bool = True
    internal: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_positive("radius", self.radius)

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Return the digest of every node's refined ego-net."""
        return ego_net_colours(
            batch,
            batch.label_colours,
            self.radius,
            with_centre=not self.internal,
            marked=self.marked,
            threads=threads,
        )

    def words(self, batch: Batch, node: int) -> str:
        """Say the ego-net's size, and the degrees inside it."""
        place = np.full(batch.packed.num_nodes, -1, dtype=np.int32)
        nodes, _, rows, _ = local_ball(
            batch.packed.indptr, batch.packed.indices, node, self.radius,
            not self.internal, 0, place,
        )  # fmt: skip
        first = int(self.internal)
        degrees = np.sort(np.diff(rows)[first:])[::-1].tolist()
        centre = " without its centre" if self.internal else ""
        return (
            f"inner 1-WL on the ego-net of radius {self.radius}{centre}, "
            f"{nodes.size - first} nodes with degrees {degrees}"
        )
