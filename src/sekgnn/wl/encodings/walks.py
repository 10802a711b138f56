r"""f from random walks: multisets of step vectors over shells, or their sums.

Multisets are what a test may see, sums what a network with sum pooling sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from sekgnn.checks import check_choice, check_positive
from sekgnn.encoding.exact import encode_exact
from sekgnn.encoding.spec import SCOPES, Scope, WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.parallel import even_chunks, run_chunks
from sekgnn.wl.batch import Batch
from sekgnn.wl.digest import Colours, colours_of
from sekgnn.wl.encodings.base import ExactEncoding
from sekgnn.wl.encodings.ego_walks import ego_walk_colours
from sekgnn.wl.encodings.graph_walks import graph_walk_colours
from sekgnn.wl.encodings.step_vectors import MAX_STEPS
from sekgnn.wl.encodings.walk_words import first_differing_step, return_words

Part = Literal["f1", "f2", "f3"]
Pairs = Literal["same", "all"]
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class Walks(ExactEncoding):
    r"""Random-walk encoding f1, f2, f3 (paper, Eq. 1), in exact arithmetic.

    For a node v and the walk H of its scope, the value holds the step vectors
    :math:`(H_{ij}^{(t)})_{t=1}^l` of

    * f1: (v, v);
    * f2: (v, i), one multiset per shell :math:`i \in N_k(v)`;
    * f3: (i, j), one multiset per pair of shells, i = j apart from the rest.

    In scope ``"internal"`` v is not there, and f3 is all there is. Labels of nodes are
    part of the pairs' values.

    Args:
        scope: ``"graph"``, ``"ego"`` or ``"internal"``; where the walk lives.
        radius: h of the scopes ``"ego"`` and ``"internal"``; must not be given for
            ``"graph"``.
        num_shells: K, shells of scope ``"graph"``; ego-nets have ``radius`` shells.
        walk_length: l.
        parts: Which of f1, f2, f3.
        pairs: f3 within each shell (``"same"``, the paper), or between any two shells
            (``"all"``).
        multisets: Keep multisets; or sum over each shell, as
            :func:`~sekgnn.encoding.exact.encode_exact` does.
        self_loops: Walk on A + I (the paper) or on A.
    """

    name = "walks"

    scope: Scope = "graph"
    radius: int | None = None
    num_shells: int = 4
    walk_length: int = 16
    parts: tuple[Part, ...] = PARTS
    pairs: Pairs = "same"
    multisets: bool = True
    self_loops: bool = True

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_choice("scope", self.scope, SCOPES)
        check_choice("pairs", self.pairs, get_args(Pairs))
        check_positive("num_shells", self.num_shells)
        if check_positive("walk_length", self.walk_length) > MAX_STEPS:
            raise ConfigError(
                f"walk_length must be at most {MAX_STEPS}, got {self.walk_length}."
            )
        if self.scope == "graph" and self.radius is not None:
            raise ConfigError('radius has no meaning in scope "graph"; leave it out.')
        if self.scope != "graph":
            check_positive("radius", 0 if self.radius is None else self.radius)
        for part in self.parts:
            check_choice("parts", part, PARTS)
        present = set(self.parts) & ({"f3"} if self.scope == "internal" else set(PARTS))
        if not present:
            raise ConfigError(
                'parts leaves nothing: scope "internal" has no centre, only f3.'
                if self.parts
                else "parts must not be empty."
            )
        if not self.multisets and (
            set(self.parts) != set(PARTS) or self.pairs != "same"
        ):
            raise ConfigError("sums keep every part and the pairs of each shell.")

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Return the digest of every node's value."""
        out = np.empty((batch.packed.num_nodes, 2), dtype=np.uint64)
        if not self.multisets:
            self._sums(batch, threads, out)
            return out
        wanted = np.array([part in self.parts for part in PARTS])
        loop, every = int(self.self_loops), self.pairs == "all"
        if self.scope == "graph":

            def one_graph(start: int, stop: int) -> None:
                for g in range(start, stop):
                    graph_walk_colours(
                        batch,
                        g,
                        self.num_shells,
                        self.walk_length,
                        loop,
                        wanted,
                        every,
                        out,
                    )

            run_chunks(one_graph, even_chunks(len(batch.graphs), 1), threads)
            return out
        assert self.radius is not None
        ego_walk_colours(
            batch, self.radius, self.walk_length, loop, self.scope == "ego", wanted,
            every, threads, out,
        )  # fmt: skip
        return out

    def _sums(self, batch: Batch, threads: int | None, out: Colours) -> None:
        spec = WalkEncoding(
            num_shells=self.num_shells if self.radius is None else self.radius,
            walk_length=self.walk_length,
            scope=self.scope,
            radius=self.radius,
            self_loops=self.self_loops,
        )
        for g, item in enumerate(batch.graphs):
            low, high = batch.node_ptr[g : g + 2]
            values = encode_exact(item.graph, spec, threads=threads)
            out[low:high] = colours_of(values, "sums of step vectors")

    def words(self, batch: Batch, node: int) -> str:
        """Say the returns of the first steps, as fractions."""
        g, v = batch.locate(node)
        graph = batch.graphs[g].graph
        return f"{self.place()}: {return_words(graph, v, self)}"

    def difference(self, batch: Batch, node: int, other: int) -> str:
        """Say in which pairs, and after how many steps, the walks first differ."""
        (g, v), (h, w) = batch.locate(node), batch.locate(other)
        found = first_differing_step(
            batch.graphs[g].graph, v, batch.graphs[h].graph, w, self
        )
        return f"{self.place()}: {found}"

    def place(self) -> str:
        """Say where the walk lives."""
        if self.scope == "graph":
            return "walks on the whole graph"
        centre = "" if self.scope == "ego" else " without its centre"
        return f"walks in the ego-net of radius {self.radius}{centre}"

    def memory(self, sizes: Sequence[int]) -> int:
        """Return the bytes of residues and digests of all pairs of one graph."""
        return 48 * max(sizes, default=0) ** 2 if self.scope == "graph" else 0

    def __str__(self) -> str:
        """What differs from the default, for people."""
        where = self.scope if self.radius is None else f"{self.scope}[h={self.radius}]"
        parts = "" if set(self.parts) == set(PARTS) else ":" + ",".join(self.parts)
        pairs = ",all pairs" if self.pairs == "all" else ""
        kind = "" if self.multisets else ",sums"
        loops = "" if self.self_loops else ",no loops"
        return f"{where}{parts}(l={self.walk_length}{pairs}{kind}{loops})"
