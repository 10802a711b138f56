"""The general substructure encoding f (SEK paper, Definition 2), open to your own."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sekgnn.errors import ConfigError
from sekgnn.parameters import Named, Registry, make

if TYPE_CHECKING:  # configs and help texts read parameters only: be quick to import
    from numpy.typing import DTypeLike

    from sekgnn.encoding.ragged import Values
    from sekgnn.graphs.graph import Graph
    from sekgnn.graphs.packed import PackedGraphs
    from sekgnn.parallel import Progress


@dataclass(frozen=True)
class SubstructureEncoding(Named, ABC):
    """A function f of every node: C channels of L numbers (SEK paper, Definition 2).

    Yours is a frozen dataclass whose fields are its parameters, with
    ``channels``, ``length`` and :meth:`encode_graph`. Decorated with
    ``@register_encoding("name")`` it works wherever walks do: transforms, caches,
    models, training, files, predictions, WL tests. It must not depend on the numbering
    of the nodes.

    Attributes:
        name: Its name in files and on the command line, set when it is registered.
        channels: Names of the C channels; a class variable or a property.
        length: L, numbers per channel; a class variable, field or property.
        ragged: Whether it gives a
            :class:`~sekgnn.encoding.ragged.RaggedEncoding` instead of an array.
        version: Raise it when the same parameters give other numbers, so that caches
            are made again.

    Example:
        >>> import numpy as np
        >>> @dataclass(frozen=True)
        ... class DegreePowers(SubstructureEncoding):
        ...     channels = ("degree",)
        ...     length: int = 3
        ...
        ...     def encode_graph(self, graph):
        ...         powers = np.arange(1, self.length + 1)
        ...         return graph.degrees[:, None, None] ** powers  # [n, 1, L]
        >>> from sekgnn.graphs import path_graph
        >>> DegreePowers().encode_graph(path_graph(3))[1].tolist()
        [[2, 4, 8]]
    """

    kind = "encoding"
    version: ClassVar[int] = 1

    if TYPE_CHECKING:  # for type checkers only: a dataclass would take them as defaults

        @property
        def channels(self) -> tuple[str, ...]: ...  # noqa: D102
        @property
        def length(self) -> int: ...  # noqa: D102
        @property
        def ragged(self) -> bool: ...  # noqa: D102

    else:
        ragged = False

    @property
    def num_channels(self) -> int:
        """Number of channels C."""
        return len(self.channels)

    @property
    def num_features(self) -> int:
        """Numbers per node, C · L."""
        return self.num_channels * self.length

    def encode_graph(self, graph: Graph) -> Values:
        """Return f of every node of one graph, ``[n, C, L]``.

        Integers are exact: WL tests can then compare them as they are.
        """
        raise NotImplementedError(f"{type(self).__name__} needs encode_graph().")

    def encode(
        self,
        graphs: PackedGraphs,
        *,
        dtype: DTypeLike = "float64",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Values:
        """Return f of every node of all graphs, ``[N, C, L]``.

        By default :meth:`encode_graph` of one graph after the other; override it where
        one compiled call for all is faster. Users call :func:`sekgnn.encode`, which
        checks the result.

        Args:
            graphs: The graphs.
            dtype: Type to which the result will be cast.
            threads: Threads; ``None`` for all usable cores.
            progress: Called with (done, total) units of work.
        """
        from sekgnn.encoding.ragged import join_values
        from sekgnn.graphs.packed import unpack

        by_graph = []
        starts = graphs.node_ptr.tolist()
        for i, graph in enumerate(unpack(graphs)):
            values = self.encode_graph(graph)
            by_graph.append(self.checked(values, graph.num_nodes, f"graph {i}: "))
            if progress is not None:
                progress(starts[i + 1], starts[-1])
        return join_values(by_graph)

    def exact(
        self, graphs: PackedGraphs, *, threads: int | None = None
    ) -> Values | None:
        """Return integers ``[N, ...]`` that are equal exactly when f is, or ``None``.

        By default the encoding itself if its numbers are integers. A WL test does not
        compare floats: rounding would fake differences.
        """
        import numpy as np

        from sekgnn.encoding.ragged import RaggedEncoding

        values = self.checked(self.encode(graphs, threads=threads), graphs.num_nodes)
        if isinstance(values, RaggedEncoding):
            exact = np.issubdtype(values.vectors.dtype, np.integer)
            return values if exact else None
        return values if np.issubdtype(values.dtype, np.integer) else None

    def checked(
        self,
        values: Any,
        num_nodes: int,
        where: str = "",
        dtype: DTypeLike | None = None,
        threads: int | None = 1,
    ) -> Values:
        """Check values of an ``encode``, and return them in their type or ``dtype``.

        Raises:
            ConfigError: If shape or type are wrong, or a number is not finite.
        """
        import numpy as np

        from sekgnn.encoding.ragged import RaggedEncoding
        from sekgnn.parallel import even_chunks, run_chunks

        name = f"{where}encoding {self.name!r}"
        if isinstance(values, RaggedEncoding) != self.ragged:
            expected = "a RaggedEncoding" if self.ragged else "an array"
            raise ConfigError(
                f"{name} must return {expected}, got {type(values).__name__}; its "
                "attribute ragged says which."
            )
        shape = [num_nodes, self.num_channels, self.length]
        if isinstance(values, RaggedEncoding):
            got = [*values.rows.shape, values.vectors.shape[1]]
            numbers = values.vectors
        else:
            empty = num_nodes == 0 and isinstance(values, list) and not values
            values = np.zeros(shape, np.int64) if empty else np.asarray(values)
            got, numbers = list(values.shape), values
        if got != shape:
            raise ConfigError(
                f"{name} must return the shape {shape} (nodes, channels, length), "
                f"got {got}."
            )
        if numbers.dtype.kind not in "biuf":
            raise ConfigError(
                f"{name} must return numbers, integers or floats, got {numbers.dtype}."
            )
        if numbers.dtype.kind == "b":
            values = values.astype(np.int64)
        if dtype is not None:
            with np.errstate(over="ignore"):
                values = values.astype(dtype, copy=False)
        numbers = values.vectors if isinstance(values, RaggedEncoding) else values

        def check_finite(start: int, stop: int) -> None:
            rows = numbers[start:stop]
            # mostly one pass; a sum may overflow though every number is finite
            if not math.isfinite(rows.sum()) and not np.isfinite(rows).all():
                raise ConfigError(
                    f"{name} must return finite numbers, got NaN or infinity"
                    + ("." if dtype is None else f" in {np.dtype(dtype)}; scale them.")
                )

        run_chunks(check_finite, even_chunks(len(numbers), 2048), threads)
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the name and every parameter as plain JSON values.

        Raises:
            ConfigError: If files could not be read back: the class is not registered,
                or a parameter is not made of numbers, strings, booleans, lists and
                ``None``.
        """
        cls = type(self)
        if ENCODINGS.get(cls.name) is not cls:
            raise ConfigError(
                f"{cls.__qualname__} is not registered, so a file that names it "
                "could not be read back; write "
                '@register_encoding("...") above the class, with a name of its own.'
            )
        values = super().to_dict()
        try:
            json.dumps(values, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"the parameters of encoding {cls.name!r} must be numbers, strings, "
                f"booleans, None or tuples of them, got {self!r} ({error})."
            ) from error
        return values

    def identity(self) -> dict[str, Any]:
        """Return all that affects the numbers of a graph, as plain JSON values.

        ``source`` is a digest of the code of classes outside sekgnn, or ``None`` if it
        cannot be read.
        """
        code = hashlib.sha256()
        source: str | None = ""
        for cls in type(self).__mro__:
            if cls.__module__.split(".")[0] not in ("sekgnn", "abc", "builtins"):
                try:
                    code.update(inspect.getsource(cls).encode())
                    source = code.hexdigest()
                except (OSError, TypeError):
                    source = None
                    break
        return {
            "encoding": self.to_dict(),
            "class": f"{type(self).__module__}:{type(self).__qualname__}",
            "version": self.version,
            "source": source,
        }


ENCODINGS = Registry(
    "encoding",
    SubstructureEncoding,
    {
        "walks": "sekgnn.encoding.walk_encoding",
        "walk_counts": "sekgnn.encoding.walk_counts",
        "patterns": "sekgnn.encoding.patterns",
        "peripheral": "sekgnn.encoding.patterns",
    },
)
"""Every known encoding by name."""

register_encoding = ENCODINGS.register
"""``@register_encoding("name")`` makes an encoding of your own known."""


def make_encoding(
    encoding: str | Mapping[str, Any] | SubstructureEncoding | None = None,
    **parameters: Any,
) -> SubstructureEncoding:
    """Return an encoding by name, walks by default.

    Also accepted are ``package.module:Class`` of your own, a mapping as returned by
    :meth:`SubstructureEncoding.to_dict`, which imports nothing, or an encoding, which
    is returned as it is.

    Raises:
        ConfigError: If a name or a value cannot work.

    Example:
        >>> make_encoding("walks", walk_length=8).num_features
        80
    """
    if encoding is None:
        encoding = "walks"
    made: SubstructureEncoding = make(
        ENCODINGS, encoding, SubstructureEncoding, parameters
    )
    return made


def encoding_from_dict(values: Mapping[str, Any]) -> SubstructureEncoding:
    """Return the encoding of a :meth:`SubstructureEncoding.to_dict`.

    Imports nothing: an encoding of your own must be registered before.

    Raises:
        ConfigError: If a name or a value cannot work.
    """
    ENCODINGS.known(values.get("encoding"))
    return make_encoding(values)
