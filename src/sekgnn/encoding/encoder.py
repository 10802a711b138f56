"""Encode graphs with any encoding; walks with the kernels that suit the graphs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import check_choice, check_memory
from sekgnn.encoding.channels import SQUARES, Output, Plan, with_shell_sizes
from sekgnn.encoding.costs import check_costs
from sekgnn.encoding.ego_scope import encode_ego_nets
from sekgnn.encoding.graph_scope import encode_dense, encode_one, encode_spectral
from sekgnn.encoding.half_walk import half_walk_nodes
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.encoding.substructure import SubstructureEncoding, make_encoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.convert import as_graph
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.graphs.twins import copy_to_twins, find_alike
from sekgnn.hops import shell_sizes
from sekgnn.parallel import PerThread, Progress, even_chunks, run_chunks, within
from sekgnn.walks.ball import with_degrees
from sekgnn.walks.returns import half_walk_returns

Backend = Literal["auto", "dense", "spectral", "push"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)

SMALL_GRAPH = 1024
"""Nodes up to which ``auto`` uses O(n²) memory in ``graph`` scope."""

MATRIX_LIMIT = 20_000
"""Nodes up to which an n x n matrix is made on request."""

SMALL_GRAPHS_CHUNK = 1024
"""Nodes of small graphs in a chunk."""

NODES_CHUNK = 256
"""Nodes of one large graph, or ego-nets, in a chunk."""

_QUICK = 1 << 22  # numbers that fit into any memory

Chunks = list[tuple[int, int]]
Task = tuple[Chunks, Callable[[int, int], None]]
"""Chunks that may run at the same time, and a function of each."""

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
    **parameters: Any,
) -> Any:
    r"""Return the substructure encoding f of every node (SEK paper, Definition 2).

    Args:
        graph: A :class:`~sekgnn.graphs.Graph`, or anything
            :func:`~sekgnn.graphs.as_graph` takes: PyG ``Data``, networkx, scipy, RDKit;
            or many graphs, joined by :func:`~sekgnn.graphs.pack`.
        encoding: An encoding or its name; ``WalkEncoding()`` by default.
        backend: How walks in ``graph`` scope are computed: ``"dense"`` (explicit
            powers), ``"spectral"`` (one eigendecomposition, no ``moments``), ``"push"``
            (half walks in memory proportional to a ball) or ``"auto"``, by size and
            cost. Ego-nets are always walked one by one, in memory proportional to each.
        dtype: float32 or float64, of the result; probabilities are computed in float64.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) units of work.
        **parameters: Parameters of a named or default encoding, such as
            ``walk_length``.

    Returns:
        ``[num_nodes, encoding.num_channels, encoding.length]``, or a
        :class:`~sekgnn.encoding.RaggedEncoding` if the encoding is ragged.

    Raises:
        ConfigError: If a parameter cannot work, or the encoding returns anything else.
        GraphInputError: If the graph is not usable, or too large for the backend.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> encode(cycle_graph(3), num_shells=1, walk_length=2)[0, 0].round(3).tolist()
        [0.333, 0.333]
    """
    packed = graph if isinstance(graph, PackedGraphs) else pack([as_graph(graph)])
    encoder = make_encoding(encoding, **parameters)
    float_type = _float_type(dtype)
    check_choice("backend", backend, BACKENDS)
    options: dict[str, Any] = {}
    if backend != "auto":
        if "backend" not in inspect.signature(encoder.encode).parameters:
            raise ConfigError(
                f"encoding {encoder.name!r} has no backends; leave out backend="
                f"{backend!r}."
            )
        options["backend"] = backend
    values = encoder.encode(
        packed, dtype=float_type, threads=threads, progress=progress, **options
    )
    return encoder.checked(values, packed.num_nodes, dtype=float_type, threads=threads)


def encode_many(
    graphs: Sequence[Any], encoding: Encoding | None = None, **options: Any
) -> list[Any]:
    """Return :func:`encode` of every graph, by one compiled call over all of them.

    Takes the arguments of :func:`encode`, and returns one ``[n_g, C, L]`` per graph,
    views of one array.

    Raises:
        GraphInputError: If there are no graphs, or one is not usable.
    """
    if len(graphs) == 0:
        raise GraphInputError("no graphs to encode: the dataset is empty.")
    packed = pack([as_graph(graph) for graph in graphs])
    out = encode(packed, encoding, **options)
    if isinstance(out, RaggedEncoding):
        starts = packed.node_ptr.tolist()
        return [out.graph(g, *starts[g : g + 2]) for g in range(len(graphs))]
    return np.split(out, packed.node_ptr[1:-1])


def encode_pairs(
    edges: NDArray[np.int64],
    num_nodes: int,
    encoding: SubstructureEncoding,
    dtype: DTypeLike,
) -> NDArray[Any] | None:
    """Return the encoding ``[n, C, L]`` of one small graph, by one compiled call.

    The numbers are those of :func:`encode`, without preparations that pay only for many
    graphs or a large one. ``None`` if these are needed: :func:`quick_plans` is empty,
    the graph is large, a pair of ``edges`` ``[2, E]`` breaks a rule, or a decomposition
    is faster.
    """
    shape = num_nodes, encoding.num_channels, encoding.length
    if not 0 < num_nodes <= SMALL_GRAPH or math.prod(shape) > _QUICK:
        return None
    ends = np.array([[0, num_nodes], [0, edges.shape[1]]])
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    indices = np.empty(edges.shape[1], dtype=np.int32)
    packed = PackedGraphs.over(ends[0], indptr, indices)  # filled by the kernel
    out = np.zeros(shape, dtype=dtype)
    edges, output = np.ascontiguousarray(edges), Output.of(out)
    for plan in quick_plans(encoding):
        if not encode_one(
            edges, ends[1], packed.node_ptr, packed.csr, indptr, indices, plan, output
        ):
            return None
    return out


def quick_plans(encoding: SubstructureEncoding) -> tuple[Plan, ...]:
    """Return the plans of an encoding of walks on whole graphs alone, or none."""
    if type(encoding) is not WalkEncoding or encoding.ragged or encoding.sized_shells:
        return ()
    return () if any(plan.radius for plan in encoding.plans) else encoding.plans


def encode_walks(
    packed: PackedGraphs,
    encoding: WalkEncoding,
    backend: Backend,
    dtype: DTypeLike,
    threads: int | None,
    progress: Progress | None,
    count: int | None = None,
    near: NDArray[np.bool_] | None = None,
) -> NDArray[Any]:
    """Return the walk encodings of packed graphs, or of the first nodes of one graph.

    ``count`` and ``near`` are as for :func:`encoding_tasks`.
    """
    if backend == "spectral" and encoding.aggregate == "moments":
        raise ConfigError(
            'the spectral form has no squares: use backend="dense" or "push" '
            'with aggregate="moments".'
        )
    n = packed.num_nodes
    count = n if count is None else count
    shape = count, len(encoding.walk_channels), encoding.walk_length
    check_memory(
        math.prod(shape) * np.dtype(dtype).itemsize,
        f"the encoding of {count:,} nodes by {shape[1]} x {shape[2]} numbers",
        "take fewer shells, scopes or steps, or float32",
        ConfigError,
    )
    out = np.zeros(shape, dtype=dtype)
    twin_of, alike = find_alike(packed, threads)
    check_costs(packed, encoding, backend, threads, alike, count)
    output, identity = Output.of(out), np.arange(n, dtype=np.int32)
    tasks: list[Task] = []
    for plan in encoding.plans:
        twins = twin_of if plan.loop else identity
        tasks += encoding_tasks(
            packed, plan, twins, alike, backend, output, count, near
        )
    sizes = [sum(stop - start for start, stop in chunks) for chunks, _ in tasks]
    total = sum(sizes) + count * bool(encoding.sized_shells)
    done = 0
    for (chunks, work), size in zip(tasks, sizes, strict=True):
        run_chunks(work, chunks, threads, within(progress, done, size, total))
        done += size
    rows = out.reshape(count, shape[1] * shape[2])
    run_chunks(
        lambda start, stop: copy_to_twins(alike, start, stop, rows),
        even_chunks(count, 1024),
        threads,
    )
    if not encoding.sized_shells:
        return out
    shells = shell_sizes(
        packed,
        encoding.sized_shells,
        nodes=(0, count),
        threads=threads,
        progress=within(progress, done, count, total),
    )
    return with_shell_sizes(encoding, out, shells)


def encoding_tasks(
    graphs: PackedGraphs,
    plan: Plan,
    twin_of: NDArray[np.int32],
    alike: NDArray[np.int32],
    backend: Backend,
    out: Output,
    count: int,
    near: NDArray[np.bool_] | None,
) -> list[Task]:
    """Return the tasks of one plan, to be run one after the other.

    ``twin_of`` is the smallest adjacent twin of each node, or without self-loops the
    node itself, and makes dense matrices smaller; ``alike`` is the smallest twin of
    either kind, and only these are computed. Values are added to ``out``. The first
    ``count`` nodes are encoded, with the backend ``"push"`` possibly a part of one
    graph; ``near`` marks nodes that may be in a shell of these, ``[N]``.

    Raises:
        GraphInputError: If a graph is too large for the backend.
    """
    if plan.radius:
        chunks = _node_chunks(0, count)
        return [_ego_task(graphs, plan, alike, False, chunks, out)]
    sizes = np.diff(graphs.node_ptr)
    limit = {"auto": SMALL_GRAPH, "push": -1}.get(backend, MATRIX_LIMIT)
    large = np.flatnonzero(sizes > limit)
    if large.size and backend in ("dense", "spectral"):
        n = int(sizes.max())
        raise GraphInputError(
            f"backend={backend!r} needs memory for {n} x {n} numbers "
            f'(several GiB); use backend="push" or "auto".'
        )
    squares = plan.offsets[SQUARES] >= 0

    def small(start: int, stop: int) -> None:
        common = graphs.node_ptr, graphs.csr, twin_of, start, stop, plan
        free = backend == "auto" and not squares
        chosen = np.full(stop - start if free else 0, False)
        if backend == "spectral":
            chosen = np.full(stop - start, True)
        else:
            encode_dense(*common, chosen, out)
        if chosen.any():
            encode_spectral(*common, chosen, out)

    tasks: list[Task] = [(_graph_chunks(sizes, limit), small)]
    starts = graphs.node_ptr.tolist()
    starts[-1] = count
    chunks = [c for g in large.tolist() for c in _node_chunks(*starts[g : g + 2])]
    if chunks and squares:
        reach = plan._replace(radius=plan.num_shells + out.double.shape[2] // 2)
        tasks.append(_ego_task(graphs, reach, alike, True, chunks, out))
    elif chunks:
        tasks += _half_walk_tasks(graphs, plan, alike, chunks, out, near)
    return tasks


def _half_walk_tasks(
    graphs: PackedGraphs,
    plan: Plan,
    alike: NDArray[np.int32],
    chunks: Chunks,
    out: Output,
    near: NDArray[np.bool_] | None,
) -> list[Task]:
    """First the returns of all nodes: every node needs those of its shells."""
    edges = with_degrees(graphs.csr, plan.loop)
    returns = np.empty((graphs.num_nodes, out.double.shape[2]))
    everywhere, needed = chunks, alike
    if near is not None:
        everywhere = _node_chunks(0, graphs.num_nodes)
        needed = np.where(near, alike, np.int32(-1))

    def walk_back(start: int, stop: int) -> None:
        half_walk_returns(edges, needed, start, stop, plan.loop, returns)

    def copy(start: int, stop: int) -> None:
        copy_to_twins(needed, start, stop, returns)

    def walk_out(start: int, stop: int) -> None:
        half_walk_nodes(edges, alike, start, stop, plan, returns, out)

    return [(everywhere, walk_back), (everywhere, copy), (chunks, walk_out)]


def _ego_task(
    graphs: PackedGraphs,
    plan: Plan,
    alike: NDArray[np.int32],
    global_degrees: bool,
    chunks: Chunks,
    out: Output,
) -> Task:
    position = PerThread(lambda: np.full(graphs.num_nodes, -1, dtype=np.int32))

    def work(start: int, stop: int) -> None:
        encode_ego_nets(
            graphs.csr, alike, start, stop, plan, global_degrees, position.value, out
        )

    return chunks, work


def _node_chunks(first: int, last: int) -> Chunks:
    return [(first + a, first + b) for a, b in even_chunks(last - first, NODES_CHUNK)]


def _graph_chunks(sizes: NDArray[np.int64], limit: int) -> Chunks:
    """Cut the graphs into chunks, at every large graph and where a chunk is full."""
    chunks: Chunks = []
    start, nodes = 0, 0
    for g, size in enumerate(sizes.tolist()):
        if size > limit:
            if g > start:
                chunks.append((start, g))
            start, nodes = g + 1, 0
            continue
        nodes += size
        if nodes >= SMALL_GRAPHS_CHUNK:
            chunks.append((start, g + 1))
            start, nodes = g + 1, 0
    if start < sizes.size:
        chunks.append((start, sizes.size))
    return chunks


def _float_type(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = None
    if kind is None or kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ConfigError(f"dtype must be float32 or float64, got {dtype!r}.")
    return kind
