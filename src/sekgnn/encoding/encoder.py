"""Encode graphs: choose the backend, cut the work into chunks, run the kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import check_choice
from sekgnn.encoding.channels import SQUARES, RawLayout, output_map
from sekgnn.encoding.ego_scope import encode_ego_nets
from sekgnn.encoding.graph_scope import CHEAPER, DENSE, SPECTRAL, encode_small_graphs
from sekgnn.encoding.half_walk import half_walk_nodes
from sekgnn.encoding.spec import Block, EncodingSpec
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.convert import as_graph
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.graphs.twins import find_twins
from sekgnn.parallel import Progress, even_chunks, run_chunks
from sekgnn.walks.ball import walk_degrees
from sekgnn.walks.returns import all_returns

Backend = Literal["auto", "dense", "spectral", "push"]
BACKENDS: tuple[Backend, ...] = ("auto", "dense", "spectral", "push")

SMALL_GRAPH = 1024
"""Nodes up to which ``auto`` uses O(n²) memory in ``graph`` scope."""

MATRIX_LIMIT = 20_000
"""Nodes up to which an n x n matrix is made when asked for."""

CHUNK_NODES = 1024
NODE_CHUNK = 256


def encode(
    graph: Any,
    spec: EncodingSpec | None = None,
    *,
    backend: Backend = "auto",
    dtype: DTypeLike = np.float64,
    workers: int | None = None,
    progress: Progress | None = None,
) -> NDArray[Any]:
    r"""Return the substructure encoding f of every node (SEK paper, Eq. 1).

    Args:
        graph: A :class:`~sekgnn.graphs.Graph`, or anything
            :func:`~sekgnn.graphs.as_graph` takes: PyG ``Data``, networkx, scipy, RDKit.
        spec: What to compute; defaults to ``EncodingSpec()``.
        backend: How ``graph`` scope is computed: ``"dense"`` (explicit powers),
            ``"spectral"`` (one eigendecomposition, no ``moments``), ``"push"`` (half
            walks in memory proportional to a ball) or ``"auto"``, by size and cost.
            Ego-nets are always walked one by one in memory proportional to each.
        dtype: float32 or float64; computed in float64 either way.
        workers: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) units of work.

    Returns:
        ``[num_nodes, spec.num_channels, spec.walk_length]``.

    Raises:
        ConfigError: If a parameter cannot work.
        GraphInputError: If the graph is not usable, or too large for the backend.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> spec = EncodingSpec(num_hops=1, walk_length=2)
        >>> encode(cycle_graph(3), spec)[0, 0].round(3).tolist()
        [0.333, 0.333]
    """
    packed = pack([as_graph(graph)])
    return encode_packed(
        packed, spec, backend=backend, dtype=dtype, workers=workers, progress=progress
    )


def encode_many(
    graphs: Sequence[Any],
    spec: EncodingSpec | None = None,
    *,
    backend: Backend = "auto",
    dtype: DTypeLike = np.float64,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[NDArray[Any]]:
    """Return :func:`encode` of every graph, by one compiled call over all of them.

    Args:
        graphs: At least one graph, each as for :func:`encode`.
        spec: As for :func:`encode`.
        backend: As for :func:`encode`.
        dtype: As for :func:`encode`.
        workers: As for :func:`encode`.
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
        packed, spec, backend=backend, dtype=dtype, workers=workers, progress=progress
    )
    return np.split(out, packed.node_ptr[1:-1])


def encode_packed(
    packed: PackedGraphs,
    spec: EncodingSpec | None = None,
    *,
    backend: Backend = "auto",
    dtype: DTypeLike = np.float64,
    workers: int | None = None,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """Return the encodings of packed graphs, ``[N, C, L]``; see :func:`encode`."""
    spec = EncodingSpec() if spec is None else spec
    check_choice("backend", backend, BACKENDS)
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ConfigError(f"dtype must be float32 or float64, got {kind}.")
    if backend == "spectral" and spec.aggregate == "moments":
        raise ConfigError(
            'the spectral form has no squares: use backend="dense" or "push" '
            'with aggregate="moments".'
        )
    n = packed.num_nodes
    graphs = PackedGraphs(
        *(_read_only(a) for a in (packed.node_ptr, packed.indptr, packed.indices))
    )
    twin_of = np.arange(n, dtype=np.int32)
    if spec.self_loops:
        find_twins(graphs.indptr, graphs.indices, 0, n, twin_of)
    out = np.zeros((n, spec.num_channels, spec.walk_length), dtype=kind)
    tasks: list[_Task] = []
    first_channel = 0
    for block in spec.blocks:
        plan = _Plan.of(spec, block, first_channel)
        first_channel += plan.num_channels
        if block.scope == "graph":
            tasks += _graph_tasks(graphs, plan, twin_of, backend, workers, out)
        else:
            centre = block.scope == "ego"
            radius = block.radius
            tasks.append(
                _ego_task(graphs, plan, twin_of, radius, centre, False, (0, n), out)
            )
    total = sum(stop - start for task in tasks for start, stop in task.chunks)
    done = 0
    for task in tasks:
        run_chunks(task.work, task.chunks, workers, _shifted(progress, done, total))
        done += sum(stop - start for start, stop in task.chunks)
    twins = np.flatnonzero(twin_of != np.arange(n))
    out[twins] = out[twin_of[twins]]
    return out


@dataclass(frozen=True)
class _Task:
    """Chunks that may run at the same time."""

    chunks: list[tuple[int, int]]
    work: Callable[[int, int], None]


@dataclass(frozen=True)
class _Plan:
    """What the kernels need to know of one block."""

    block: Block
    loop: int
    steps: int
    layout: RawLayout
    terms: NDArray[np.int64]
    num_channels: int

    @staticmethod
    def of(spec: EncodingSpec, block: Block, first_channel: int) -> _Plan:
        mapping = output_map(spec, block)
        terms = mapping.arrays()
        terms[:, 1] += first_channel
        layout = RawLayout.of(block, spec.aggregate == "moments")
        loop, steps = int(spec.self_loops), spec.walk_length
        return _Plan(block, loop, steps, layout, terms, len(mapping.names))


class _Scratch(threading.local):
    """One array of places per thread, -1 everywhere between uses."""

    place: NDArray[np.int32] | None = None

    def of_size(self, n: int) -> NDArray[np.int32]:
        if self.place is None:
            self.place = np.full(n, -1, dtype=np.int32)
        return self.place


def _graph_tasks(
    graphs: PackedGraphs,
    plan: _Plan,
    twin_of: NDArray[np.int32],
    backend: Backend,
    workers: int | None,
    out: NDArray[Any],
) -> list[_Task]:
    """Small graphs together, graph by graph; large ones alone, node by node."""
    sizes = np.diff(graphs.node_ptr)
    limit = {"auto": SMALL_GRAPH, "push": -1}.get(backend, MATRIX_LIMIT)
    large = np.flatnonzero(sizes > limit)
    if large.size and backend in ("dense", "spectral"):
        n = int(sizes.max())
        raise GraphInputError(
            f"backend={backend!r} needs matrices of {n} x {n} numbers "
            f'({8 * n * n / 2**30:.0f} GiB each); use backend="push" or "auto".'
        )
    method = {"dense": DENSE, "spectral": SPECTRAL}.get(backend, CHEAPER)

    def small(start: int, stop: int) -> None:
        encode_small_graphs(
            graphs.node_ptr,
            graphs.indptr,
            graphs.indices,
            twin_of,
            start,
            stop,
            plan.loop,
            plan.block.num_shells,
            plan.layout.offsets,
            plan.layout.num_channels,
            plan.terms,
            method,
            out,
        )

    tasks = [_Task(_graph_chunks(sizes, limit), small)]
    for g in large.tolist():
        nodes = int(graphs.node_ptr[g]), int(graphs.node_ptr[g + 1])
        if plan.layout.offsets[SQUARES] >= 0:
            reach = plan.block.num_shells + plan.steps // 2
            tasks.append(
                _ego_task(graphs, plan, twin_of, reach, True, True, nodes, out)
            )
        else:
            tasks.append(_half_walk_task(graphs, plan, nodes, workers, out))
    return tasks


def _half_walk_task(
    graphs: PackedGraphs,
    plan: _Plan,
    nodes: tuple[int, int],
    workers: int | None,
    out: NDArray[Any],
) -> _Task:
    first, last = nodes
    # one graph, counted from zero, so that memory does not depend on the others
    indptr = _read_only(graphs.indptr[first : last + 1] - graphs.indptr[first])
    indices = graphs.indices[graphs.indptr[first] : graphs.indptr[last]]
    indices = _read_only(indices - np.int32(first))
    loops = bool(plan.loop)
    degree_of = walk_degrees(indptr, loops)
    returns: list[NDArray[np.float64]] = []
    lock = threading.Lock()

    def work(start: int, stop: int) -> None:
        with lock:
            if not returns:
                returns.append(all_returns(indptr, indices, plan.steps, loops, workers))
        half_walk_nodes(
            indptr,
            indices,
            degree_of,
            start - first,
            stop - first,
            plan.loop,
            plan.block.num_shells,
            returns[0],
            plan.layout.offsets,
            plan.layout.num_channels,
            plan.terms,
            out[first:last],
        )

    return _Task(_node_chunks(first, last), work)


def _ego_task(
    graphs: PackedGraphs,
    plan: _Plan,
    twin_of: NDArray[np.int32],
    radius: int,
    with_centre: bool,
    global_degrees: bool,
    nodes: tuple[int, int],
    out: NDArray[Any],
) -> _Task:
    scratch = _Scratch()

    def work(start: int, stop: int) -> None:
        encode_ego_nets(
            graphs.indptr,
            graphs.indices,
            twin_of,
            start,
            stop,
            plan.loop,
            radius,
            plan.block.num_shells,
            with_centre,
            global_degrees,
            plan.layout.offsets,
            plan.layout.num_channels,
            plan.terms,
            scratch.of_size(graphs.num_nodes),
            out,
        )

    return _Task(_node_chunks(*nodes), work)


def _node_chunks(first: int, last: int) -> list[tuple[int, int]]:
    return [(first + a, first + b) for a, b in even_chunks(last - first, NODE_CHUNK)]


def _graph_chunks(sizes: NDArray[np.int64], limit: int) -> list[tuple[int, int]]:
    """Cut the graphs at every large one and after about ``CHUNK_NODES`` nodes."""
    chunks: list[tuple[int, int]] = []
    start, nodes = 0, 0
    for g, size in enumerate(sizes.tolist()):
        if size > limit:
            if g > start:
                chunks.append((start, g))
            start, nodes = g + 1, 0
            continue
        nodes += size
        if nodes >= CHUNK_NODES:
            chunks.append((start, g + 1))
            start, nodes = g + 1, 0
    if start < sizes.size:
        chunks.append((start, sizes.size))
    return chunks


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that numba compiles one kernel for, whatever came in."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
