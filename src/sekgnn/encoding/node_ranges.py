"""Walk encodings of one huge graph, a range of nodes at a time.

A walk of l steps between two nodes within K of v stays within K + ⌈l/2⌉ of v, and an
ego-net within its radius. So a range of nodes is encoded on its surroundings alone,
which are cut out of the mapped file with the range first: memory holds these, and the
encodings of the range. Every range is an array file of its own, so ranges may be made
in any order and any number of times; an existing file is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.array_file import (
    MANIFEST_FILE,
    Arrays,
    Content,
    DamagedFileError,
    Line,
    Manifest,
    begin_folder,
    complete_folder,
    make_listed_file,
    read_arrays,
    read_manifest,
)
from sekgnn.checks import check_choice
from sekgnn.encoding.channels import SQUARES
from sekgnn.encoding.costs import check_costs
from sekgnn.encoding.dask_engine import run_tasks
from sekgnn.encoding.encoder import encode_walks
from sekgnn.encoding.sampled import check_sampling, encode_sampled
from sekgnn.encoding.substructure import SubstructureEncoding, encoding_from_dict
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.cleaning import check_array
from sekgnn.graphs.graph import CsrGraph, Graph
from sekgnn.graphs.graph_file import GraphFile, read_graph_file
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress, even_chunks, within
from sekgnn.parsing import Size
from sekgnn.walks.ball import search_level

RANGE_NUMBERS = 1 << 24
"""Numbers in the encodings of one range: 128 MiB of float64."""

FORMAT = "sekgnn encodings of nodes"


def encode_nodes(
    graph: Graph,
    encoding: WalkEncoding,
    start: int,
    stop: int,
    dtype: DTypeLike = np.float64,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> NDArray[Any]:
    """Return the exact walk encodings of nodes ``start..stop - 1``, ``[., C, L]``.

    Up to rounding these are the rows of :func:`~sekgnn.encode`; the graph may be
    larger than memory.

    Raises:
        ConfigError: If the encoding is not made of walks, gives multisets, or would
            take hours.
        GraphInputError: If there are no such nodes.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> encoding = WalkEncoding(num_shells=1, walk_length=2)
        >>> encode_nodes(cycle_graph(9), encoding, 3, 5).shape
        (2, 4, 2)
    """
    check_ranges(encoding)
    if not 0 <= start <= stop <= graph.num_nodes:
        raise GraphInputError(
            f"nodes {start}..{stop - 1} are not in [0, {graph.num_nodes})."
        )
    steps, reach = encoding.walk_length, encoding.sized_shells
    for plan in encoding.plans:
        squares = plan.offsets[SQUARES] >= 0
        around = plan.num_shells + (steps // 2 if squares else (steps + 1) // 2)
        reach = max(reach, plan.radius or around)
    distance = np.full(graph.num_nodes, -1, dtype=np.int16)
    nodes = near_range(graph.csr, start, stop, reach + 1, distance)
    near = distance[nodes] <= encoding.num_shells
    position = np.empty(graph.num_nodes, dtype=np.int32)
    position[nodes] = np.arange(nodes.size)
    rows, columns = cut_rows(graph.csr, nodes, reach, distance, position)
    del position, distance
    ends = np.array([0, nodes.size])
    return encode_walks(
        PackedGraphs.over(ends, rows, columns),
        encoding,
        "push",
        dtype,
        threads,
        progress,
        stop - start,
        near,
    )


def check_ranges(encoding: SubstructureEncoding) -> None:
    """Refuse an encoding that cannot be computed by ranges of nodes.

    Raises:
        ConfigError: If so.
    """
    if not isinstance(encoding, WalkEncoding) or encoding.ragged:
        raise ConfigError(
            f"encoding {encoding.name!r} cannot be computed by ranges of nodes; use "
            'walks with an aggregate other than "learned", or encode the whole graph.'
        )


@kernel
def near_range(
    graph: CsrGraph, start: int, stop: int, reach: int, distance: NDArray[np.int16]
) -> NDArray[np.int32]:
    """Return the nodes within ``reach`` of a range, the range first, nearest first.

    ``distance`` is -1 everywhere on entry, and receives 0..reach for these nodes.
    """
    nodes = np.arange(start, stop, dtype=np.int32)
    distance[start:stop] = 0
    low, count = 0, stop - start
    for level in range(1, reach + 1):
        high = count
        nodes, count = search_level(graph, nodes, low, high, level, distance)
        low = high
    return nodes[:count].copy()


@kernel
def cut_rows(
    graph: CsrGraph,
    nodes: NDArray[np.int32],
    reach: int,
    distance: NDArray[np.int16],
    position: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the graph on some nodes; those beyond ``reach`` have empty rows.

    ``position`` is that of every node among them.
    """
    indptr, indices = graph
    rows = np.zeros(nodes.size + 1, dtype=np.int64)
    for i in range(nodes.size):
        v = nodes[i]
        size = indptr[v + 1] - indptr[v] if distance[v] <= reach else 0
        rows[i + 1] = rows[i] + size
    columns = np.empty(rows[nodes.size], dtype=np.int32)
    for i in range(nodes.size):
        first = indptr[nodes[i]]
        row = columns[rows[i] : rows[i + 1]]
        for e in range(row.size):
            row[e] = position[indices[first + e]]
        row.sort()
    return rows, columns


@dataclass(frozen=True)
class RangePlan:
    """The computation for a huge graph, the same for every range.

    Attributes:
        encoding: The walks.
        backend: ``"push"``, exact, or ``"sampled"``.
        dtype: float32 or float64.
        num_walks: Walks per starting set, if they are sampled.
        seed: Seed of these walks.
        range_numbers: Numbers in the encodings of a range, about.
    """

    encoding: WalkEncoding
    backend: str = "push"
    dtype: str = "float64"
    num_walks: int = 256
    seed: int = 0
    range_numbers: int = RANGE_NUMBERS

    def __post_init__(self) -> None:
        check_ranges(self.encoding)
        check_choice("backend", self.backend, ("push", "sampled"))
        check_choice("dtype", self.dtype, ("float32", "float64"))
        if self.backend == "sampled":
            check_sampling(self.encoding, self.num_walks, self.seed)

    @property
    def range_size(self) -> int:
        """Nodes in a range."""
        return max(1, self.range_numbers // self.encoding.num_features)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values of all that affects the numbers."""
        walks = {"num_walks": self.num_walks, "seed": self.seed}
        return {
            **self.encoding.identity(),
            "backend": self.backend,
            "dtype": self.dtype,
            "range_size": self.range_size,
            **(walks if self.backend == "sampled" else {}),
        }


def encode_graph_file(
    file: GraphFile,
    plan: RangePlan,
    folder: str | Path,
    *,
    threads: int | None = None,
    client: Any = None,
    progress: Progress | None = None,
) -> EncodedNodes:
    """Encode a whole graph range by range; finished ranges are kept.

    Args:
        file: The graph.
        plan: What to compute.
        folder: Folder for the shards, made if it is missing.
        threads: Threads, without a client; ``None`` for all usable cores.
        client: A ``distributed.Client`` whose workers, which see the same files, encode
            a range each; ``None`` encodes in this process.
        progress: Called with (done, total) nodes.

    Raises:
        ConfigError: If it would take hours, or the folder holds something else.
        OutputError: If a file cannot be written.
    """
    path = Path(folder)
    n = file.graph.num_nodes
    if plan.backend == "push" and not (path / MANIFEST_FILE).exists():
        check_costs(pack([file.graph]), plan.encoding, "push", threads)
    manifest = {
        "format": FORMAT,
        "parameters": {"graph": file.fingerprint, **plan.to_dict()},
        "nodes": n,
        "channels": list(plan.encoding.channels),
        "length": plan.encoding.length,
    }
    if client is None:
        job = partial(_write_range, file, plan, path, threads, progress)
    else:  # a worker has one thread, and reports no progress
        source = str(file.path.resolve())
        job = partial(_write_range, source, plan, path.resolve(), 1, None)
    done = 0

    def report(nodes: tuple[int, int], line: dict[str, Any]) -> None:
        nonlocal done
        done += nodes[1] - nodes[0]
        if progress is not None:
            progress(done, n)

    begin_folder(path, manifest, _Manifest)
    ranges = even_chunks(n, plan.range_size)
    lines = run_tasks(job, ranges, client, report=report)
    complete_folder(path, manifest, lines)
    return EncodedNodes(path)


def _write_range(
    source: str | GraphFile,
    plan: RangePlan,
    folder: Path,
    threads: int | None,
    progress: Progress | None,
    nodes: tuple[int, int],
) -> dict[str, Any]:
    """Encode a range, unless its file exists and is intact; return its line."""
    file = read_graph_file(source, check=False) if isinstance(source, str) else source
    graph, encoding = file.graph, plan.encoding
    shape = nodes[1] - nodes[0], len(encoding.channels), encoding.length
    share = within(progress, nodes[0], shape[0], graph.num_nodes)
    run: dict[str, Any] = {"threads": threads, "progress": share}

    def make() -> Content:
        if plan.backend == "sampled":
            sample = encode_sampled(
                graph,
                encoding,
                num_walks=plan.num_walks,
                seed=plan.seed,
                nodes=nodes,
                **run,
            )
            arrays = {"values": sample.values, "standard_error": sample.standard_error}
        else:
            arrays = {
                "values": encode_nodes(graph, encoding, *nodes, plan.dtype, **run)
            }
        return {}, {n: a.astype(plan.dtype, copy=False) for n, a in arrays.items()}

    return make_listed_file(
        folder,
        f"nodes-{nodes[0]:012d}-{nodes[1]:012d}",
        [file.fingerprint, plan.to_dict(), *nodes],
        make,
        lambda _, arrays: _check_values(arrays, np.dtype(plan.dtype), shape),
    )


def _check_values(
    arrays: Arrays, dtype: np.dtype[Any], shape: tuple[int, int, int]
) -> None:
    """Refuse arrays that are not the encodings of a range."""
    if "values" not in arrays:
        raise DamagedFileError("it holds no values")
    for name, array in arrays.items():
        check_array(name, array, dtype, *shape)


class _Parameters(TypedDict):
    encoding: dict[str, Any]
    dtype: Literal["float32", "float64"]
    range_size: Annotated[int, range(1, 2**62)]


class _Manifest(Manifest):
    parameters: _Parameters
    nodes: Size
    channels: list[str]
    length: Size
    files: list[Line]


class EncodedNodes:
    """The encodings of all nodes of a huge graph, mapped from the shards of a folder.

    Attributes:
        encoding: The encoding.
        shape: ``(n, C, L)``.
        dtype: float32 or float64.

    Raises:
        GraphInputError: If the folder holds no encodings, is not complete, or a shard
            is damaged.

    Example:
        >>> # encoded = EncodedNodes("encodings/")
        >>> # encoded[[3, 14, 159]].shape  # rows of some nodes, [3, C, L]
    """

    def __init__(self, folder: str | Path, *, check: bool = False) -> None:
        """Map every shard; ``check`` compares checksums, too."""
        self.folder = Path(folder)
        manifest = read_manifest(self.folder, FORMAT, _Manifest)
        if not manifest["complete"]:
            raise GraphInputError(
                f"{folder} is not complete; repeat the command that makes it."
            )
        parameters = manifest["parameters"]
        self.encoding = encoding_from_dict(parameters["encoding"])
        self.shape = manifest["nodes"], len(manifest["channels"]), manifest["length"]
        self.dtype = np.dtype(parameters["dtype"])
        self.range_size = parameters["range_size"]
        self._shards: list[Arrays] = []
        starts = range(0, len(self), self.range_size)
        if len(starts) != len(manifest["files"]):
            raise GraphInputError(f"{folder} lists too many files or too few.")
        for start, line in zip(starts, manifest["files"], strict=True):
            file = self.folder / line["file"]
            rows = min(self.range_size, len(self) - start)
            try:
                _, arrays = read_arrays(file, line, check=check)
                _check_values(arrays, self.dtype, (rows, *self.shape[1:]))
            except (OSError, DamagedFileError, GraphInputError) as error:
                raise GraphInputError(
                    f"{file} is missing or damaged ({error}); repeat the command that "
                    "made it."
                ) from None
            self._shards.append(arrays)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, nodes: Any) -> NDArray[Any]:
        """Return the rows of some nodes, int ``[m]``, as ``[m, C, L]``."""
        return self._take("values", nodes)

    def standard_error(self, nodes: Any) -> NDArray[Any] | None:
        """Return the standard errors of rows, or ``None`` if they are exact."""
        if any("standard_error" not in arrays for arrays in self._shards):
            return None
        return self._take("standard_error", nodes)

    def _take(self, name: str, nodes: Any) -> NDArray[Any]:
        chosen = np.asarray(nodes, dtype=np.int64)
        out = np.empty((chosen.size, *self.shape[1:]), dtype=self.dtype)
        which = chosen // self.range_size
        for shard in np.unique(which).tolist():
            rows = np.flatnonzero(which == shard)
            first = shard * self.range_size
            out[rows] = self._shards[shard][name][chosen[rows] - first]
        return out
