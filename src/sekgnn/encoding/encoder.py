"""Encode graphs, with any encoding: one, several, or packed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import check_choice
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.encoding.size_steps import add_shell_sizes, laid_out
from sekgnn.encoding.substructure import SubstructureEncoding, make_encoding
from sekgnn.encoding.tasks import BACKENDS, Backend, encoding_tasks
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.convert import as_graph
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.graphs.twins import find_twins
from sekgnn.hops import shell_sizes
from sekgnn.parallel import Progress, run_chunks, within

Encoding = str | Mapping[str, Any] | SubstructureEncoding
"""What :func:`~sekgnn.encoding.make_encoding` takes."""


def encode(
    graph: Any,
    encoding: Encoding | None = None,
    *,
    backend: Backend = "auto",
    dtype: DTypeLike = np.float64,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    r"""Return the substructure encoding f of every node (SEK paper, Definition 2).

    Args:
        graph: A :class:`~sekgnn.graphs.Graph`, or anything
            :func:`~sekgnn.graphs.as_graph` takes: PyG ``Data``, networkx, scipy, RDKit.
        encoding: What to compute, an object or a name; ``WalkEncoding()`` by default.
        backend: How walks in ``graph`` scope are computed: ``"dense"`` (explicit
            powers), ``"spectral"`` (one eigendecomposition, no ``moments``), ``"push"``
            (half walks in memory proportional to a ball) or ``"auto"``, by size and
            cost. Ego-nets are always walked one by one in memory proportional to each.
        dtype: float32 or float64, of the result; probabilities are float64 until then.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) units of work.

    Returns:
        ``[num_nodes, encoding.num_channels, encoding.length]``, or a
        :class:`~sekgnn.encoding.RaggedEncoding` if the encoding is ragged.

    Raises:
        ConfigError: If a parameter cannot work, or the encoding returns anything but
            such numbers.
        GraphInputError: If the graph is not usable, or too large for the backend.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> encoding = WalkEncoding(num_shells=1, walk_length=2)
        >>> encode(cycle_graph(3), encoding)[0, 0].round(3).tolist()
        [0.333, 0.333]
    """
    packed = pack([as_graph(graph)])
    return encode_packed(
        packed,
        encoding,
        backend=backend,
        dtype=dtype,
        threads=threads,
        progress=progress,
    )


def encode_many(
    graphs: Sequence[Any],
    encoding: Encoding | None = None,
    *,
    backend: Backend = "auto",
    dtype: DTypeLike = np.float64,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Any]:
    """Return :func:`encode` of every graph, by one compiled call over all of them.

    Args:
        graphs: At least one graph, each as for :func:`encode`.
        encoding: As for :func:`encode`.
        backend: As for :func:`encode`.
        dtype: As for :func:`encode`.
        threads: As for :func:`encode`.
        progress: As for :func:`encode`.

    Returns:
        One ``[n_g, C, L]`` per graph, views of one array.

    Raises:
        GraphInputError: If there are no graphs, or one is not usable.
    """
    if len(graphs) == 0:
        raise GraphInputError("no graphs to encode: the dataset is empty.")
    packed = pack([as_graph(graph) for graph in graphs])
    out = encode_packed(
        packed,
        encoding,
        backend=backend,
        dtype=dtype,
        threads=threads,
        progress=progress,
    )
    if isinstance(out, RaggedEncoding):
        starts = packed.node_ptr.tolist()
        return [out.graph(g, *starts[g : g + 2]) for g in range(len(graphs))]
    return np.split(out, packed.node_ptr[1:-1])


def encode_packed(
    packed: PackedGraphs,
    encoding: Encoding | None = None,
    *,
    backend: Backend = "auto",
    dtype: DTypeLike = np.float64,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """Return the encodings of packed graphs, ``[N, C, L]``; see :func:`encode`."""
    made = make_encoding(encoding)
    kind = _float_type(dtype)
    check_choice("backend", backend, BACKENDS)
    options: dict[str, Any] = {}
    if backend != "auto":
        if "backend" not in inspect.signature(made.encode).parameters:
            raise ConfigError(
                f"encoding {made.name!r} has no backends; leave out backend="
                f"{backend!r}."
            )
        options["backend"] = backend
    values = made.encode(
        packed, dtype=kind, threads=threads, progress=progress, **options
    )
    return made.checked(values, packed.num_nodes, dtype=kind)


def encode_walks(
    packed: PackedGraphs,
    encoding: WalkEncoding,
    backend: str,
    dtype: DTypeLike,
    threads: int | None,
    progress: Progress | None,
) -> NDArray[Any]:
    """Return the walk encodings of packed graphs; see :func:`encode`."""
    if backend == "spectral" and encoding.aggregate == "moments":
        raise ConfigError(
            'the spectral form has no squares: use backend="dense" or "push" '
            'with aggregate="moments".'
        )
    n, walks = packed.num_nodes, encoding.walks.values()
    rounds = len(walks) + (encoding.sized_shells > 0)
    shares = [within(progress, i * n, n, rounds * n) for i in range(rounds)]
    out = laid_out(
        encoding,
        [
            _later_steps(packed, part, backend, np.dtype(dtype), threads, share)
            for part, share in zip(walks, shares, strict=False)
        ],
    )
    if encoding.sized_shells:
        sizes = shell_sizes(
            packed, encoding.sized_shells, threads=threads, progress=shares[-1]
        )
        add_shell_sizes(encoding, sizes, out)
    return out


def _later_steps(
    packed: PackedGraphs,
    encoding: WalkEncoding,
    backend: str,
    kind: np.dtype[Any],
    threads: int | None,
    progress: Progress | None,
) -> NDArray[Any]:
    """Return steps t = 1..l of walks with or without self-loops, ``[N, C, l]``."""
    n = packed.num_nodes
    twin_of = np.arange(n, dtype=np.int32)
    if encoding.self_loops:
        indptr, indices = packed.indptr, packed.indices
        find_twins(indptr, indices, 0, n, twin_of)
    out = np.zeros((n, encoding.num_channels, encoding.length), dtype=kind)
    tasks = encoding_tasks(packed, encoding, twin_of, cast("Backend", backend), out)
    total = sum(stop - start for task in tasks for start, stop in task.chunks)
    done = 0
    for task in tasks:
        run_chunks(task.work, task.chunks, threads, _shifted(progress, done, total))
        done += sum(stop - start for start, stop in task.chunks)
    twins = np.flatnonzero(twin_of != np.arange(n))
    out[twins] = out[twin_of[twins]]
    return out


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)


def _float_type(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = None
    if kind is None or kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ConfigError(f"dtype must be float32 or float64, got {dtype!r}.")
    return kind
