"""The walk encoding: one immutable object that every backend and cache key reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from sekgnn.checks import MOST_LEVELS, check_positive
from sekgnn.encoding.substructure import SubstructureEncoding, register_encoding
from sekgnn.errors import ConfigError
from sekgnn.parameters import check_fields, parameter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from sekgnn.encoding.channels import Plan
    from sekgnn.encoding.encoder import Backend
    from sekgnn.encoding.ragged import Values
    from sekgnn.graphs.packed import PackedGraphs
    from sekgnn.parallel import Progress

Scope = Literal["graph", "ego", "internal"]
Aggregate = Literal["sum", "mean", "landing", "moments", "learned"]
Merge = Literal["concat", "parts", "mean"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)
MERGES: tuple[Merge, ...] = get_args(Merge)

SHELL_SIZES = "shell_sizes"
"""Prefix of the names of channels of shell sizes; the distances follow."""


Block = tuple[Scope, int, int]
"""A scope, its radius h (0 for ``"graph"``), and the number of shells."""


@register_encoding("walks")
@dataclass(frozen=True)
class WalkEncoding(SubstructureEncoding):
    r"""The substructure encoding f of the paper, made of walks.

    For the definition, read :mod:`sekgnn.encoding.reference` first. For every node v,
    walk lengths t = 1..l and shells :math:`N_k(v)`, with :math:`H^{(t)} = P^t` the
    landing probabilities of a walk that lives in ``scope``:

    * f1, *self-return*: :math:`H_{vv}`;
    * f2, *centre to shell*: :math:`H_{vi}` aggregated over :math:`i \in N_k(v)`;
    * f3, *across the shell*: :math:`H_{ij}` aggregated over :math:`i, j \in N_k(v)`,
      the diagonal i = j and the rest apart; in ``internal`` scope also between
      :math:`N_k(v)` and :math:`N_{k+1}(v)`, both ways.

    Args:
        num_shells: K, the number of shells to summarise.
        walk_length: l, the number of steps.
        scope: ``"graph"`` (the walk sees all of G), ``"ego"`` (the subgraph induced on
            the nodes within ``radius`` of v) or ``"internal"`` (the same without v,
            where f1 and f2 do not exist), or a tuple of them, concatenated.
        radius: h, the ego radius, or several; K by default. Shells beyond h do not
            exist in the ego-net, so ``min(K, h)`` shells are summarised there.
        aggregate: ``"sum"``; ``"mean"`` over nodes or ordered pairs; ``"landing"``:
            mean over starting nodes, sum over landing nodes (as in the paper's released
            code); ``"moments"``: sum and sum of squares; ``"learned"``: the multisets
            themselves, which a network learns to sum
            (:class:`~sekgnn.nn.MultisetFusion`); the encoding is then ragged.
        merge: ``"concat"`` keeps every channel; ``"parts"`` averages each of f1, f2,
            f3 over the K hops (absent hops count as zero), the input of a learned
            weighting; ``"mean"`` is the mean of those parts.
        self_loops: Walk on A + I (the paper) or on A, where walks from isolated nodes
            vanish; or a tuple of both, whose channels are concatenated.
        first_step: 1, or 0 to begin with t = 0, where H = I: a return is 1, the
            diagonal of a shell its size, all else 0.
        shell_sizes: D. Channels of :math:`|N_1(v)|, ..., |N_D(v)|` follow those of the
            walks, padded with zeros; ``merge`` leaves them alone.

    Raises:
        ConfigError: If a value cannot work.

    Example:
        >>> encoding = WalkEncoding(num_shells=2, walk_length=8, scope="internal")
        >>> encoding.num_channels
        6
    """

    num_shells: int = parameter(
        3, "K, number of shells around a node to summarise", low=1, high=MOST_LEVELS
    )
    walk_length: int = parameter(
        16, "l, number of steps of a walk", low=1, high=MOST_LEVELS
    )
    scope: Scope | tuple[Scope, ...] = parameter(
        "graph", "where the walks live", choices=SCOPES
    )
    radius: tuple[int, ...] | int | None = parameter(
        None, "h, radius of ego-nets in scopes ego and internal", shown="K"
    )
    aggregate: Aggregate = parameter(
        "sum", "AGG, how a shell is summarised", choices=AGGREGATES
    )
    merge: Merge = parameter("concat", "how f1, f2 and f3 are joined", choices=MERGES)
    self_loops: bool | tuple[bool, ...] = parameter(
        True, "walk on A + I, on A, or (both flags) on both"
    )
    first_step: int = parameter(
        1, "first step of the walks: 1, or 0, where H = I", low=0, high=1
    )
    shell_sizes: int = parameter(
        0, "add the numbers of nodes at distances 1 to D", low=0, high=MOST_LEVELS
    )

    def __post_init__(self) -> None:
        """Check every value; scope and radius become tuples, one loop value a bool."""
        object.__setattr__(self, "scope", _as_tuple("scope", self.scope))
        _as_tuple("self_loops", self.self_loops)
        if self.radius is not None:
            radii = (
                check_positive("radius", radius, 1, MOST_LEVELS)
                for radius in _as_tuple("radius", self.radius)
            )
            object.__setattr__(self, "radius", tuple(radii))
        check_fields(self)
        if self.aggregate == "moments" and self.merge != "concat":
            raise ConfigError(
                'aggregate="moments" keeps two numbers per hop; averaging them '
                'mixes sums and squares. Use merge="concat".'
            )
        if self.aggregate == "learned":
            self._check_learned()
        if self.scope != ("graph",):
            radius = (self.num_shells,) if self.radius is None else self.radius
            object.__setattr__(self, "radius", radius)
        elif self.radius is not None:
            raise ConfigError(
                'radius has no meaning in scope "graph"; add scope "ego" or '
                '"internal", or leave radius out.'
            )

    def _check_learned(self) -> None:
        from sekgnn.walks.modular import MAX_STEPS

        if self.merge != "concat":
            raise ConfigError(
                'aggregate="learned" keeps multisets, which are not averaged. Use '
                'merge="concat".'
            )
        if self.walk_length > MAX_STEPS:
            raise ConfigError(
                f'aggregate="learned" walks at most {MAX_STEPS} steps, got '
                f"walk_length={self.walk_length}."
            )
        if self.shell_sizes or not self.first_step:
            raise ConfigError(
                'aggregate="learned" counts the pairs of every shell already; leave '
                "out shell_sizes and first_step."
            )

    @classmethod
    def paper(cls) -> WalkEncoding:
        """Return the encoding of the paper's released code, without its bugs.

        Whole graph, K = 5, l = 32; f2 is summed over the shell, f3 summed over shell
        pairs and divided by the shell's size, each averaged over the K hops.
        """
        return cls(num_shells=5, walk_length=32, aggregate="landing", merge="parts")

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The scopes and radii, in order."""
        out: list[Block] = []
        for scope in cast("tuple[Scope, ...]", self.scope):
            if scope == "graph":
                out.append(("graph", 0, self.num_shells))
                continue
            for radius in cast("tuple[int, ...]", self.radius):
                out.append((scope, radius, min(self.num_shells, radius)))
        return tuple(out)

    @cached_property
    def _planned(self) -> tuple[tuple[Plan, ...], tuple[str, ...]]:
        from sekgnn.encoding.channels import make_plans

        return make_plans(self)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """A plan of steps 1..l for each block of each walk."""
        return self._planned[0]

    @property
    def walk_channels(self) -> tuple[str, ...]:
        """Names of the channels of walks, which come first."""
        return self._planned[1]

    @property
    def sized_shells(self) -> int:
        """Shells k = 1, 2, ... whose sizes the encoding needs besides the walks."""
        return max(self.shell_sizes, 0 if self.first_step else self.num_shells)

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """Names of the output channels, each a vector of ``length`` numbers."""
        names = list(self.walk_channels)
        last = self.shell_sizes
        for k in range(1, last + 1, self.length):
            names.append(f"{SHELL_SIZES}/{k}-{min(k + self.length - 1, last)}")
        return tuple(names)

    @property
    def ragged(self) -> bool:
        """Whether it gives multisets instead of an array."""
        return self.aggregate == "learned"

    @property
    def length(self) -> int:
        """Numbers per channel: ``walk_length``, and one more with step 0."""
        return self.walk_length + 1 - self.first_step

    def encode(
        self,
        graphs: PackedGraphs,
        *,
        dtype: DTypeLike = "float64",
        threads: int | None = None,
        progress: Progress | None = None,
        backend: Backend = "auto",
    ) -> Values:
        """Return ``[N, C, L]``; ``backend`` as for :func:`sekgnn.encode`."""
        from sekgnn.encoding.encoder import encode_walks
        from sekgnn.encoding.multisets import encode_multisets

        if self.ragged:
            if backend != "auto":
                raise ConfigError(
                    f'aggregate="learned" has no backends; leave out {backend!r}.'
                )
            return encode_multisets(graphs, self, dtype, threads, progress)
        return encode_walks(graphs, self, backend, dtype, threads, progress)

    def exact(
        self, graphs: PackedGraphs, *, threads: int | None = None
    ) -> NDArray[np.int64]:
        """Return residues modulo two primes, int64 ``[N, C, L, 2]``.

        With ``aggregate="learned"`` digests of the multisets, ``[N, C, 2]``.
        """
        from sekgnn.encoding.exact import encode_exact
        from sekgnn.encoding.multisets import exact_multisets

        if self.ragged:
            return exact_multisets(graphs, self, threads)
        return encode_exact(graphs, self, threads=threads)


def _as_tuple(name: str, value: Any) -> tuple[Any, ...]:
    items = (
        tuple(value)
        if isinstance(value, Iterable) and not isinstance(value, str)
        else (value,)
    )
    if not items:
        raise ConfigError(f"{name} must not be empty.")
    if len(set(items)) != len(items):
        raise ConfigError(f"{name} must not repeat, got {items!r}.")
    return items
