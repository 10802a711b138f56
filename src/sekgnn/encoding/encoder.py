"""Encode graphs, one or many, with any encoding."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.checks import check_choice, check_memory
from sekgnn.encoding.channels import Plan, Values, plans, with_shell_sizes
from sekgnn.encoding.costs import check_costs
from sekgnn.encoding.graph_scope import encode_one
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.encoding.substructure import SubstructureEncoding, make_encoding
from sekgnn.encoding.tasks import BACKENDS, SMALL_GRAPH, Backend, encoding_tasks
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.convert import as_graph
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.graphs.twins import copy_to_twins, find_alike
from sekgnn.hops import shell_sizes
from sekgnn.parallel import Progress, even_chunks, run_chunks, within

_QUICK = 1 << 22  # numbers that fit into any memory

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
            or many graphs as :func:`~sekgnn.graphs.pack` joins them.
        encoding: What to compute, an object or a name; ``WalkEncoding()`` by default.
        backend: How walks in ``graph`` scope are computed: ``"dense"`` (explicit
            powers), ``"spectral"`` (one eigendecomposition, no ``moments``), ``"push"``
            (half walks in memory proportional to a ball) or ``"auto"``, by size and
            cost. Ego-nets are always walked one by one in memory proportional to each.
        dtype: float32 or float64, of the result; probabilities are float64 until then.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) units of work.
        **parameters: Of the encoding, where ``encoding`` is a name or left out, such
            as ``walk_length``.

    Returns:
        ``[num_nodes, encoding.num_channels, encoding.length]``, or a
        :class:`~sekgnn.encoding.RaggedEncoding` if the encoding is ragged.

    Raises:
        ConfigError: If a parameter cannot work, or the encoding returns anything but
            such numbers.
        GraphInputError: If the graph is not usable, or too large for the backend.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> encode(cycle_graph(3), num_shells=1, walk_length=2)[0, 0].round(3).tolist()
        [0.333, 0.333]
    """
    packed = graph if isinstance(graph, PackedGraphs) else pack([as_graph(graph)])
    made = make_encoding(encoding, **parameters)
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
    return made.checked(values, packed.num_nodes, dtype=kind, threads=threads)


def encode_many(
    graphs: Sequence[Any], encoding: Encoding | None = None, **options: Any
) -> list[Any]:
    """Return :func:`encode` of every graph, by one compiled call over all of them.

    Takes what :func:`encode` does, and returns one ``[n_g, C, L]`` per graph, views of
    one array.

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

    The numbers are those of :func:`encode`, without the preparations that only pay for
    many graphs or a large one. ``None`` where these are needed: :func:`quick_plans` is
    empty, the graph is large, a pair of ``edges`` ``[2, E]`` breaks a rule, or one
    decomposition is faster.
    """
    shape = num_nodes, encoding.num_channels, encoding.length
    if not 0 < num_nodes <= SMALL_GRAPH or math.prod(shape) > _QUICK:
        return None
    ends = np.array([[0, num_nodes], [0, edges.shape[1]]])
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    indices = np.empty(edges.shape[1], dtype=np.int32)
    packed = PackedGraphs.over(ends[0], indptr, indices)  # filled by the kernel
    out = np.zeros(shape, dtype=dtype)
    edges, values = np.ascontiguousarray(edges), Values.of(out)
    for plan in quick_plans(encoding):
        if not encode_one(
            edges, ends[1], packed.node_ptr, packed.csr, indptr, indices, plan, values
        ):
            return None
    return out


def quick_plans(encoding: SubstructureEncoding) -> list[Plan]:
    """Return the plans of an encoding made of walks on whole graphs alone, or none."""
    if type(encoding) is not WalkEncoding or encoding.ragged or encoding.sized_shells:
        return []
    blocks = [plan for plan, _ in plans(encoding)]
    return [] if any(plan.radius for plan in blocks) else blocks


def encode_walks(
    packed: PackedGraphs,
    encoding: WalkEncoding,
    backend: str,
    dtype: DTypeLike,
    threads: int | None,
    progress: Progress | None,
    count: int | None = None,
    near: NDArray[np.bool_] | None = None,
) -> NDArray[Any]:
    """Return the walk encodings of packed graphs, or of the first nodes of one graph.

    ``count`` and ``near`` are as for :func:`~sekgnn.encoding.tasks.encoding_tasks`.
    """
    if backend == "spectral" and encoding.aggregate == "moments":
        raise ConfigError(
            'the spectral form has no squares: use backend="dense" or "push" '
            'with aggregate="moments".'
        )
    n, blocks = packed.num_nodes, plans(encoding)
    count = n if count is None else count
    width = sum(len(names) for _, names in blocks)
    size = count * width * encoding.walk_length * np.dtype(dtype).itemsize
    check_memory(
        size,
        f"the encoding of {count:,} nodes by {width} x {encoding.walk_length} numbers",
        "take fewer shells, scopes or steps, or float32",
        ConfigError,
    )
    out = np.zeros((count, width, encoding.walk_length), dtype=dtype)
    twin_of, alike = find_alike(packed, threads)
    check_costs(packed, encoding, backend, threads, alike, count)
    tasks = [
        task
        for plan, _ in blocks
        for task in encoding_tasks(
            packed,
            plan,
            twin_of if plan.loop else np.arange(n, dtype=np.int32),
            alike,
            cast("Backend", backend),
            Values.of(out),
            count,
            near,
        )
    ]
    total = sum(task.size for task in tasks) + count * bool(encoding.sized_shells)
    done = 0
    for task in tasks:
        share = within(progress, done, task.size, total)
        run_chunks(task.work, task.chunks, threads, share)
        done += task.size
    rows = out.reshape(count, width * encoding.walk_length)
    run_chunks(
        lambda start, stop: copy_to_twins(alike, start, stop, rows),
        even_chunks(count, 1024),
        threads,
    )
    if not encoding.sized_shells:
        return out
    share = within(progress, done, count, total)
    sizes = shell_sizes(
        packed,
        encoding.sized_shells,
        nodes=(0, count),
        threads=threads,
        progress=share,
    )
    return with_shell_sizes(encoding, out, sizes)


def _float_type(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = None
    if kind is None or kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ConfigError(f"dtype must be float32 or float64, got {dtype!r}.")
    return kind
