"""Cut the encoding of many graphs into chunks for the kernels that fit them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import SQUARES, Plan, Values
from sekgnn.encoding.ego_scope import encode_ego_nets
from sekgnn.encoding.graph_scope import encode_dense, encode_spectral
from sekgnn.encoding.half_walk import half_walk_nodes
from sekgnn.errors import GraphInputError
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.graphs.twins import copy_to_twins
from sekgnn.parallel import PerThread, even_chunks
from sekgnn.walks.ball import with_degrees
from sekgnn.walks.returns import half_walk_returns

Backend = Literal["auto", "dense", "spectral", "push"]
BACKENDS: tuple[Backend, ...] = ("auto", "dense", "spectral", "push")

SMALL_GRAPH = 1024
"""Nodes up to which ``auto`` uses O(n²) memory in ``graph`` scope."""

MATRIX_LIMIT = 20_000
"""Nodes up to which an n x n matrix is made when asked for."""

SMALL_GRAPHS_CHUNK = 1024
"""Nodes of small graphs that make a chunk."""

NODES_CHUNK = 256
"""Nodes of one large graph, or ego-nets, that make a chunk."""


@dataclass(frozen=True)
class Task:
    """Chunks that may run at the same time."""

    chunks: list[tuple[int, int]]
    work: Callable[[int, int], None]

    @property
    def size(self) -> int:
        """How much there is to do."""
        return sum(stop - start for start, stop in self.chunks)


def encoding_tasks(
    graphs: PackedGraphs,
    plan: Plan,
    twin_of: NDArray[np.int32],
    alike: NDArray[np.int32],
    backend: Backend,
    out: Values,
    count: int,
    near: NDArray[np.bool_] | None,
) -> list[Task]:
    """Return what has to be done, one task after the other, for one block.

    ``twin_of`` is the smallest adjacent twin of each node, with which dense matrices
    are made smaller, itself where the walk has no self-loops; ``alike`` its smallest
    twin: only these need be computed. ``out`` is zero, and added to. The first
    ``count`` nodes are encoded, and with the backend ``"push"`` these may be fewer than
    all of one graph; ``near`` says where a shell of one of them may be, ``[N]``.

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

    tasks = [Task(_graph_chunks(sizes, limit), small)]
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
    chunks: list[tuple[int, int]],
    out: Values,
    near: NDArray[np.bool_] | None,
) -> list[Task]:
    """First the returns of all nodes, which every node needs of its shells."""
    edges = with_degrees(graphs.csr, plan.loop)
    returns = np.empty((graphs.num_nodes, out.double.shape[2]))
    everywhere, asked = chunks, alike
    if near is not None:
        everywhere = _node_chunks(0, graphs.num_nodes)
        asked = np.where(near, alike, np.int32(-1))

    def walk_back(start: int, stop: int) -> None:
        half_walk_returns(edges, asked, start, stop, plan.loop, returns)

    def copy(start: int, stop: int) -> None:
        copy_to_twins(asked, start, stop, returns)

    def walk_out(start: int, stop: int) -> None:
        half_walk_nodes(edges, alike, start, stop, plan, returns, out)

    works = [(everywhere, walk_back), (everywhere, copy), (chunks, walk_out)]
    return [Task(where, work) for where, work in works]


def _ego_task(
    graphs: PackedGraphs,
    plan: Plan,
    alike: NDArray[np.int32],
    global_degrees: bool,
    chunks: list[tuple[int, int]],
    out: Values,
) -> Task:
    place = PerThread(lambda: np.full(graphs.num_nodes, -1, dtype=np.int32))

    def work(start: int, stop: int) -> None:
        encode_ego_nets(
            graphs.csr, alike, start, stop, plan, global_degrees, place.value, out
        )

    return Task(chunks, work)


def _node_chunks(first: int, last: int) -> list[tuple[int, int]]:
    return [(first + a, first + b) for a, b in even_chunks(last - first, NODES_CHUNK)]


def _graph_chunks(sizes: NDArray[np.int64], limit: int) -> list[tuple[int, int]]:
    """Cut the graphs at every large one, and when a chunk is full."""
    chunks: list[tuple[int, int]] = []
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
