"""Encode graphs: one, several, or packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import check_choice
from sekgnn.encoding.spec import WalkEncoding
from sekgnn.encoding.tasks import BACKENDS, Backend, encoding_tasks, read_only
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.convert import as_graph
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.graphs.twins import find_twins
from sekgnn.parallel import Progress, run_chunks


def encode(
    graph: Any,
    spec: WalkEncoding | None = None,
    *,
    backend: Backend = "auto",
    dtype: DTypeLike = np.float64,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[Any]:
    r"""Return the substructure encoding f of every node (SEK paper, Eq. 1).

    Args:
        graph: A :class:`~sekgnn.graphs.Graph`, or anything
            :func:`~sekgnn.graphs.as_graph` takes: PyG ``Data``, networkx, scipy, RDKit.
        spec: What to compute; defaults to ``WalkEncoding()``.
        backend: How ``graph`` scope is computed: ``"dense"`` (explicit powers),
            ``"spectral"`` (one eigendecomposition, no ``moments``), ``"push"`` (half
            walks in memory proportional to a ball) or ``"auto"``, by size and cost.
            Ego-nets are always walked one by one in memory proportional to each.
        dtype: float32 or float64, of the result; probabilities are float64 until then.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) units of work.

    Returns:
        ``[num_nodes, spec.num_channels, spec.walk_length]``.

    Raises:
        ConfigError: If a parameter cannot work.
        GraphInputError: If the graph is not usable, or too large for the backend.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> spec = WalkEncoding(num_shells=1, walk_length=2)
        >>> encode(cycle_graph(3), spec)[0, 0].round(3).tolist()
        [0.333, 0.333]
    """
    packed = pack([as_graph(graph)])
    return encode_packed(
        packed, spec, backend=backend, dtype=dtype, threads=threads, progress=progress
    )


def encode_many(
    graphs: Sequence[Any],
    spec: WalkEncoding | None = None,
    *,
    backend: Backend = "auto",
    dtype: DTypeLike = np.float64,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[NDArray[Any]]:
    """Return :func:`encode` of every graph, by one compiled call over all of them.

    Args:
        graphs: At least one graph, each as for :func:`encode`.
        spec: As for :func:`encode`.
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
        packed, spec, backend=backend, dtype=dtype, threads=threads, progress=progress
    )
    return np.split(out, packed.node_ptr[1:-1])


def encode_packed(
    packed: PackedGraphs,
    spec: WalkEncoding | None = None,
    *,
    backend: Backend = "auto",
    dtype: DTypeLike = np.float64,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """Return the encodings of packed graphs, ``[N, C, L]``; see :func:`encode`."""
    spec = WalkEncoding() if spec is None else spec
    check_choice("backend", backend, BACKENDS)
    kind = _float_type(dtype)
    if backend == "spectral" and spec.aggregate == "moments":
        raise ConfigError(
            'the spectral form has no squares: use backend="dense" or "push" '
            'with aggregate="moments".'
        )
    n = packed.num_nodes
    twin_of = np.arange(n, dtype=np.int32)
    if spec.self_loops:
        indptr, indices = read_only(packed.indptr), read_only(packed.indices)
        find_twins(indptr, indices, 0, n, twin_of)
    out = np.zeros((n, spec.num_channels, spec.walk_length), dtype=kind)
    tasks = encoding_tasks(packed, spec, twin_of, backend, out)
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
