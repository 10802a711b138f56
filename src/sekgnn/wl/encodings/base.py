"""Substructure encoding functions for tests: a colour for every node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import Colours, colours_of
from sekgnn.encoding.ragged import RaggedEncoding, Values
from sekgnn.encoding.substructure import ENCODINGS, SubstructureEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.parallel import PerThread, even_chunks, run_chunks
from sekgnn.parameters import Named, Registry, make
from sekgnn.wl.refinement import Batch

T = TypeVar("T")
_SHOWN, _WIDTH = 3, 60


@dataclass(frozen=True)
class ExactEncoding(Named, ABC):
    r"""A substructure encoding function f (paper, Definition 2), made exact.

    The value :math:`f(G_v, G)` is reduced to a colour: equal colours for equal values,
    and never equal ones by rounding. A new function is one small class: a frozen
    dataclass whose fields are its parameters, with :meth:`colours` and, for
    explanations, :meth:`words`; :func:`sekgnn.wl.register_exact_encoding` makes it
    known by name. A function with integer values is easier written as a
    :class:`~sekgnn.encoding.SubstructureEncoding`, which networks take, too.
    """

    kind = "encoding"
    beyond_words: ClassVar[str] = "but not the same value"
    """Describes two different values with the same words."""

    @abstractmethod
    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        """Return the value of every node of the union, uint64 ``[N, 2]``."""

    def words(self, batch: Batch, node: int) -> str:
        """Describe the value of one node of the union."""
        return f"a value of {self}"

    def difference(self, batch: Batch, node: int, other: int) -> str:
        """Describe how the values of two nodes differ."""
        return self._compared(self.words(batch, node), self.words(batch, other))

    def _compared(self, mine: str, theirs: str) -> str:
        if mine == theirs:
            return f"{mine} in both, {self.beyond_words}"
        return f"{mine} against {theirs}"

    def memory(self, sizes: Sequence[int]) -> int:
        """Return a rough estimate of the bytes it needs beyond the colours."""
        return 0


EXACT_ENCODINGS: Registry[ExactEncoding] = Registry(
    "encoding",
    ExactEncoding,
    {
        "walks": "sekgnn.wl.encodings.walks",
        "inner_wl": "sekgnn.wl.encodings.ego_nets",
        "inner_fwl": "sekgnn.wl.encodings.ego_nets",
        "distances": "sekgnn.wl.encodings.ego_nets",
    },
    fallback=ENCODINGS,
)
"""All exact encodings by name; they take precedence over those of
:data:`sekgnn.encoding.ENCODINGS`."""

register_exact_encoding = EXACT_ENCODINGS.register
"""``@register_exact_encoding("name")`` makes an exact encoding of your own known."""


@dataclass(frozen=True)
class ExactValues(ExactEncoding):
    """The integers of a :class:`~sekgnn.encoding.SubstructureEncoding` as colours.

    Its ``exact()`` must give integers; equal ones of another ``use`` get other colours.
    """

    name = "values"

    f: SubstructureEncoding
    use: str = "exact values"

    def values(self, graphs: PackedGraphs, threads: int | None = None) -> Values:
        """Return the integers, or refuse floats."""
        values = self.f.exact(graphs, threads=threads)
        if values is None:
            raise ConfigError(
                f"encoding {self.f.name!r} gives floats, which a WL test does not "
                "compare: rounding would tell equal values apart. Return integers from "
                "encode_graph(), or give the class a method exact(graphs) that does."
            )
        return values

    def colours(self, batch: Batch, threads: int | None = None) -> Colours:
        if not batch.graphs:
            return np.empty((0, 2), dtype=np.uint64)
        values = self.values(batch.packed, threads)
        if not isinstance(values, RaggedEncoding):
            return colours_of(values, self.use)
        first = values.starts[:-1].T  # [3, G]
        members = values.members + np.repeat(first[2], np.diff(values.starts[:, 1]))
        nodes = np.diff(batch.node_ptr)
        rows = values.rows + np.repeat(first[0], nodes)[:, None]
        pairs = np.column_stack([values.vectors[members], values.counts])
        owner = np.repeat(np.arange(values.sizes.size), values.sizes)
        sums = np.zeros((values.sizes.size, 2), dtype=np.uint64)
        np.add.at(sums, owner, colours_of(pairs, "vector and count"))
        shape = values.num_nodes, 2 * self.f.num_channels
        return colours_of(sums[rows].reshape(shape), "multisets of vectors")

    def _channels(self, batch: Batch, node: int) -> dict[str, str]:
        """Return the text of each channel; none for residues and the like."""
        g, v = batch.locate(node)
        values = self.values(pack([batch.graphs[g]]))
        if isinstance(values, RaggedEncoding):
            texts = [
                "{" + ", ".join(f"{n} × {row.tolist()}" for n, row in multiset) + "}"
                for multiset in values.multisets(v)
            ]
        else:
            rows = values[v].tolist() if values.ndim == 3 else []
            texts = [str(row[0] if len(row) == 1 else row) for row in rows]
        return dict(zip(self.f.channels, texts, strict=False))

    def words(self, batch: Batch, node: int) -> str:
        return self._text(self._channels(batch, node))

    def difference(self, batch: Batch, node: int, other: int) -> str:
        mine, theirs = self._channels(batch, node), self._channels(batch, other)
        differ = [name for name, text in mine.items() if text != theirs[name]]
        sides = (
            {name: channels[name] for name in differ} for channels in (mine, theirs)
        )
        return self._compared(*map(self._text, sides))

    def _text(self, channels: dict[str, str]) -> str:
        if not channels:
            return f"a value of {self}"
        texts = [
            f"{name} {text if len(text) <= _WIDTH else text[: _WIDTH - 4] + ' ...'}"
            for name, text in channels.items()
        ]
        more = ", ..." if len(texts) > _SHOWN else ""
        return f"{self}: {', '.join(texts[:_SHOWN])}{more}"

    def memory(self, sizes: Sequence[int]) -> int:
        return 8 * self.f.num_features * sum(sizes)

    def to_dict(self) -> dict[str, Any]:
        return self.f.to_dict()

    def __str__(self) -> str:
        return str(self.f)


Encoding = ExactEncoding | SubstructureEncoding
"""The encodings of a test."""


def make_exact_encoding(
    encoding: str | Mapping[str, Any] | Encoding, **parameters: Any
) -> Encoding:
    """Return a substructure encoding by name, for a test that takes encodings.

    Accepted are a name of :data:`EXACT_ENCODINGS` or :data:`sekgnn.encoding.ENCODINGS`,
    ``package.module:Class`` of your own, a dictionary of ``to_dict``, which imports
    nothing, or an encoding, which is returned as it is.

    Raises:
        ConfigError: If the name or a parameter is unknown; the nearest is suggested.

    Example:
        >>> print(make_exact_encoding("walks", scope="internal", radius=1))
        internal[h=1](l=16)
    """
    made: Encoding = make(EXACT_ENCODINGS, encoding, Encoding, parameters)
    return made


def as_exact(f: Encoding) -> ExactEncoding:
    """Return an encoding in its exact form."""
    if isinstance(f, ExactEncoding):
        return f
    if isinstance(f, SubstructureEncoding):
        return ExactValues(f)
    raise ConfigError(
        "an encoding of a WL test must be an ExactEncoding or a SubstructureEncoding, "
        f"got {f!r}; names are for make_test()."
    )


def node_colours(
    batch: Batch,
    work: Callable[[int, int, NDArray[np.int32], Colours], None],
    threads: int | None,
    chunk: int | None = 256,
) -> Colours:
    """Return the colours that a kernel writes for every node, ``[N, 2]``.

    ``work(start, stop, position, out)`` writes those of nodes ``start..stop - 1``, at
    most ``chunk``, or for ``None`` all of one graph; ``position``, -1 everywhere, is
    scratch for :func:`~sekgnn.walks.ball.local_ball`.
    """
    n = batch.packed.num_nodes
    out = np.empty((n, 2), dtype=np.uint64)
    position = PerThread(lambda: np.full(n, -1, dtype=np.int32))
    run_chunks(
        lambda start, stop: work(start, stop, position.value, out),
        even_chunks(n, chunk) if chunk else list(pairwise(batch.node_ptr.tolist())),
        threads,
    )
    return out


def against(
    mine: Counter[T], theirs: Counter[T], text: Callable[[Counter[T]], str]
) -> str:
    """Describe two different multisets, whole if ``text`` shows the difference.

    Example:
        >>> show = lambda values: "".join(sorted(values.elements()))[:3]
        >>> against(Counter("ab"), Counter("ac"), show)
        'ab against ac'
        >>> against(Counter("aaab"), Counter("aaac"), show)
        'b against c, the rest being equal'
    """
    a, b = text(mine), text(theirs)
    if a != b:
        return f"{a} against {b}"
    return f"{text(mine - theirs)} against {text(theirs - mine)}, the rest being equal"
