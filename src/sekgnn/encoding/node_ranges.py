"""Walk encodings of one huge graph, a range of nodes at a time.

A walk of l steps between two nodes within K of v stays within K + ⌈l/2⌉ of v, and an
ego-net within its radius. So a range of nodes is encoded on its surroundings alone,
which are cut out of the mapped file with the range first: memory holds these, and the
encodings of the range. Every range is a file of its own, named by its nodes and checked
against its digest, so that any engine may make them in any order and any number of
times; what is there is not made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from sekgnn.array_file import DamagedFileError, read_arrays, write_arrays
from sekgnn.checks import check_choice
from sekgnn.encoding import costs
from sekgnn.encoding.channels import SQUARES, plans
from sekgnn.encoding.dask_engine import run_tasks
from sekgnn.encoding.encoder import encode_walks
from sekgnn.encoding.sampled import check_sampling, encode_sampled
from sekgnn.encoding.substructure import SubstructureEncoding, encoding_from_dict
from sekgnn.encoding.tasks import Wanted
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.files import make_folder, visible_names, write_files
from sekgnn.graphs.graph import CsrGraph, Graph
from sekgnn.graphs.graph_file import GraphFile, read_graph_file
from sekgnn.graphs.packed import PackedGraphs, pack
from sekgnn.graphs.row_check import check_array
from sekgnn.kernel import kernel
from sekgnn.parallel import Progress, even_chunks, within
from sekgnn.parsing import Size, parse_as
from sekgnn.walks.ball import search_level

RANGE_NUMBERS = 1 << 24
"""Numbers in the encodings of one range: 128 MiB of float64."""

RANGE_BACKENDS = ("push", "sampled")
MANIFEST_FILE = "encoding.json"
_MAGIC = b"sekgnn shard\n   "


def encode_nodes(
    graph: Graph,
    encoding: WalkEncoding,
    start: int,
    stop: int,
    *,
    dtype: Any = np.float64,
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
    for plan, _ in plans(encoding):
        squares = plan.offsets[SQUARES] >= 0
        around = plan.num_shells + (steps // 2 if squares else (steps + 1) // 2)
        reach = max(reach, plan.radius or around)
    distance = np.full(graph.num_nodes, -1, dtype=np.int16)
    nodes = near_range(graph.csr, start, stop, reach + 1, distance)
    near = distance[nodes] <= encoding.num_shells
    place = np.empty(graph.num_nodes, dtype=np.int32)
    place[nodes] = np.arange(nodes.size)
    rows, columns = cut_rows(graph.csr, nodes, reach, distance, place)
    del place, distance
    ends = np.array([0, nodes.size])
    return encode_walks(
        PackedGraphs.over(ends, rows, columns),
        encoding,
        "push",
        dtype,
        threads,
        progress,
        Wanted(stop - start, near),
    )


def check_ranges(encoding: SubstructureEncoding) -> None:
    """Refuse an encoding that is not computed range by range.

    Raises:
        ConfigError: If so.
    """
    if not isinstance(encoding, WalkEncoding) or encoding.ragged:
        raise ConfigError(
            f"encoding {encoding.name!r} is not computed by ranges of nodes; use walks "
            'with another aggregate than "learned", or encode the whole graph.'
        )


@kernel
def near_range(
    graph: CsrGraph, start: int, stop: int, reach: int, distance: NDArray[np.int16]
) -> NDArray[np.int32]:
    """Return the nodes within ``reach`` of a range, the range first, nearest first.

    ``distance`` is -1 everywhere, and of the nodes found then 0..reach.
    """
    nodes = np.arange(start, stop, dtype=np.int32)
    distance[start:stop] = 0
    low, found = 0, stop - start
    for level in range(1, reach + 1):
        high = found
        nodes, found = search_level(graph, nodes, low, high, level, distance)
        low = high
    return nodes[:found].copy()


@kernel
def cut_rows(
    graph: CsrGraph,
    nodes: NDArray[np.int32],
    reach: int,
    distance: NDArray[np.int16],
    place: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the graph on some nodes; those beyond ``reach`` have empty rows.

    ``place`` is the position of every node among them.
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
            row[e] = place[indices[first + e]]
        row.sort()
    return rows, columns


@dataclass(frozen=True)
class RangePlan:
    """What is computed of a huge graph, the same for every range.

    Attributes:
        encoding: The walks.
        backend: ``"push"``, exact, or ``"sampled"``.
        dtype: float32 or float64.
        num_walks: Walks per starting set, if they are sampled.
        seed: Of these.
        range_numbers: About how many numbers a range has.
    """

    encoding: WalkEncoding
    backend: str = "push"
    dtype: str = "float64"
    num_walks: int = 256
    seed: int = 0
    range_numbers: int = field(default_factory=lambda: RANGE_NUMBERS)

    def __post_init__(self) -> None:
        """Check what can be checked without a graph."""
        check_ranges(self.encoding)
        check_choice("backend", self.backend, RANGE_BACKENDS)
        check_choice("dtype", self.dtype, ("float32", "float64"))
        if self.backend == "sampled":
            check_sampling(self.encoding, self.num_walks, self.seed)

    def ranges(self, num_nodes: int) -> list[tuple[int, int]]:
        """Return the ranges of nodes, of about ``range_numbers`` numbers each."""
        return even_chunks(num_nodes, self.range_size)

    @property
    def range_size(self) -> int:
        """Nodes in a range."""
        return max(1, self.range_numbers // self.encoding.num_features)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, without what has no influence."""
        walks = {"num_walks": self.num_walks, "seed": self.seed}
        return {
            "encoding": self.encoding.to_dict(),
            "version": self.encoding.version,
            "backend": self.backend,
            "dtype": self.dtype,
            "range_size": self.range_size,
            **(walks if self.backend == "sampled" else {}),
        }


def encode_range(
    file: str | Path | GraphFile,
    start: int,
    stop: int,
    plan: RangePlan,
    folder: str | Path,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """Encode one range of nodes of a graph file into its shard of a folder.

    A shard that is there already, whole and of the same graph and plan, is left as it
    is. Ranges may be done in any order, by any number of processes at a time.

    Args:
        file: The graph.
        start: First node.
        stop: The one after the last.
        plan: What to compute.
        folder: Where to write; it must exist.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) units of work.

    Returns:
        The shard.

    Raises:
        ConfigError: If it would take hours.
        GraphInputError: If there are no such nodes, or the file is damaged.
        OutputError: If the shard cannot be written.
    """
    known = file if isinstance(file, GraphFile) else read_graph_file(file, check=False)
    path = _shard_path(folder, start, stop)
    about = {"graph": known.fingerprint, "plan": plan.to_dict()}
    try:
        _read_shard(path, about, check=True)
        return path
    except (FileNotFoundError, DamagedFileError):
        pass
    if plan.backend == "sampled":
        found = encode_sampled(
            known.graph,
            plan.encoding,
            num_walks=plan.num_walks,
            seed=plan.seed,
            nodes=(start, stop),
            threads=threads,
            progress=progress,
        )
        arrays = {"values": found.values, "standard_error": found.standard_error}
    else:
        values = encode_nodes(
            known.graph,
            plan.encoding,
            start,
            stop,
            dtype=plan.dtype,
            threads=threads,
            progress=progress,
        )
        arrays = {"values": values}
    kept = {
        name: array.astype(plan.dtype, copy=False) for name, array in arrays.items()
    }
    write_arrays(path, _MAGIC, {**about, "name": path.name}, kept)
    return path


def _shard_path(folder: str | Path, start: int, stop: int) -> Path:
    return Path(folder) / f"nodes-{start:012d}-{stop:012d}.shard"


def _read_shard(
    path: Path, about: Mapping[str, Any], check: bool
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a shard, if it says ``about`` itself what it should."""
    header, arrays = read_arrays(path, _MAGIC, check=check)
    wanted = {**about, "name": path.name}
    if any(header.get(name) != value for name, value in wanted.items()):
        raise DamagedFileError("it is of other nodes, another graph or other options")
    return arrays


def encode_graph_file(
    file: GraphFile,
    plan: RangePlan,
    folder: str | Path,
    *,
    threads: int | None = None,
    client: Any = None,
    progress: Progress | None = None,
) -> EncodedNodes:
    """Encode a whole graph range by range; what is done already is not done again.

    Args:
        file: The graph.
        plan: What to compute.
        folder: For the shards, made if it is missing.
        threads: Threads, without a client; ``None`` for all usable cores.
        client: A ``distributed.Client`` whose workers, which see the same files, encode
            a range each; ``None`` does it here.
        progress: Called with (done, total) nodes.

    Raises:
        ConfigError: If it would take hours, or the folder holds something else.
        OutputError: If a file cannot be written.
    """
    place = Path(folder)
    n = file.graph.num_nodes
    if plan.backend == "push" and not (place / MANIFEST_FILE).exists():
        packed, own = pack([file.graph]), plan.encoding
        seconds = costs.exact_seconds(packed, own, backend="push", threads=threads)
        sampled = partial(costs.sampled_seconds, packed, own, threads=threads)
        costs.refuse_long(seconds, n, sampled)
    prepare_folder(file, plan, place)
    if client is None:

        def here(nodes: tuple[int, int]) -> None:
            share = within(progress, nodes[0], nodes[1] - nodes[0], n)
            encode_range(file, *nodes, plan, place, threads=threads, progress=share)

        job: Callable[[tuple[int, int]], None] = here
    else:
        job = partial(_encode_there, str(file.path.resolve()), plan, place.resolve())
    done = 0
    for (start, stop), _ in run_tasks(job, plan.ranges(n), client):
        done += stop - start
        if progress is not None:
            progress(done, n)
    write_manifest(file, plan, place, complete=True)
    return EncodedNodes(place)


def _encode_there(
    graph: str, plan: RangePlan, folder: Path, nodes: tuple[int, int]
) -> None:
    """Encode a range on a worker."""
    encode_range(graph, *nodes, plan, folder, threads=1)


def prepare_folder(file: GraphFile, plan: RangePlan, folder: Path) -> None:
    """Make a folder for shards, or see that it is that of the same encodings.

    Raises:
        ConfigError: If it holds something else.
        OutputError: If it cannot be made.
    """
    held = visible_names(make_folder(folder))
    if MANIFEST_FILE not in held:
        if held:
            raise ConfigError(
                f"{folder} holds other files; name a new folder for the encodings."
            )
        write_manifest(file, plan, folder)
    found = _read_manifest(folder)
    if (found["graph"], found["plan"]) != (file.fingerprint, plan.to_dict()):
        raise ConfigError(
            f"{folder} holds encodings of another graph or with other options; name a "
            "new folder."
        )


def write_manifest(
    file: GraphFile, plan: RangePlan, folder: Path, *, complete: bool = False
) -> None:
    """Write what the shards of a folder are, and whether all are there."""
    said = {
        "format": "sekgnn encodings",
        "graph": file.fingerprint,
        "nodes": file.graph.num_nodes,
        "channels": list(plan.encoding.channels),
        "length": plan.encoding.length,
        "plan": plan.to_dict(),
        "complete": complete,
    }
    write_files(folder, {MANIFEST_FILE: (json.dumps(said, indent=1) + "\n").encode()})


class _Plan(TypedDict):
    encoding: dict[str, Any]
    dtype: Literal["float32", "float64"]
    range_size: Annotated[int, range(1, 2**62)]


class _Manifest(TypedDict):
    format: str
    graph: str
    nodes: Size
    channels: list[str]
    length: Size
    plan: _Plan
    complete: bool


def _read_manifest(folder: Path) -> _Manifest:
    try:
        text = (folder / MANIFEST_FILE).read_text(encoding="utf-8")
        found = parse_as(_Manifest, text)
        if found["format"] == "sekgnn encodings":
            return found
        cause = "it is something else"
    except (OSError, ValueError) as error:
        cause = str(error)
    raise GraphInputError(f"{folder} holds no readable {MANIFEST_FILE}: {cause}.")


class EncodedNodes:
    """The encodings of all nodes of a huge graph, mapped from the shards of a folder.

    Attributes:
        encoding: What they are.
        shape: ``(n, C, L)``.
        dtype: float32 or float64.

    Raises:
        GraphInputError: If the folder is not one, is not complete, or a shard is
            damaged.

    Example:
        >>> # encoded = EncodedNodes("encodings/")
        >>> # encoded[[3, 14, 159]].shape  # rows of some nodes, [3, C, L]
    """

    def __init__(self, folder: str | Path, *, check: bool = False) -> None:
        """Map every shard."""
        self.folder = Path(folder)
        said = _read_manifest(self.folder)
        if not said["complete"]:
            raise GraphInputError(
                f"{folder} is not complete; repeat the command that makes it."
            )
        self.encoding = encoding_from_dict(said["plan"]["encoding"])
        self.shape = said["nodes"], len(said["channels"]), said["length"]
        self.dtype = np.dtype(said["plan"]["dtype"])
        self.range_size = said["plan"]["range_size"]
        about = {"graph": said["graph"], "plan": said["plan"]}
        self._values: list[NDArray[Any]] = []
        self._errors: list[NDArray[Any] | None] = []
        for start in range(0, len(self), self.range_size):
            stop = min(start + self.range_size, len(self))
            file = _shard_path(folder, start, stop)
            try:
                arrays = _read_shard(file, about, check)
                for name in {"values", *arrays}:
                    check_array(
                        name, arrays[name], self.dtype, stop - start, *self.shape[1:]
                    )
            except (OSError, DamagedFileError, GraphInputError, KeyError) as error:
                raise GraphInputError(
                    f"{file} is missing or damaged ({error}); repeat the command that "
                    "made it."
                ) from None
            self._values.append(arrays["values"])
            self._errors.append(arrays.get("standard_error"))

    def __len__(self) -> int:
        """Number of nodes."""
        return int(self.shape[0])

    def __getitem__(self, nodes: Any) -> NDArray[Any]:
        """Return the rows of some nodes, int ``[m]``, as ``[m, C, L]``."""
        return self._take(self._values, nodes)

    def standard_error(self, nodes: Any) -> NDArray[Any] | None:
        """Return the standard errors of rows, or ``None`` if they are exact."""
        if any(part is None for part in self._errors):
            return None
        return self._take(self._errors, nodes)

    def blocks(self) -> Sequence[NDArray[Any]]:
        """Return the rows of all nodes, in pieces."""
        return tuple(self._values)

    def _take(self, parts: Sequence[Any], nodes: Any) -> NDArray[Any]:
        chosen = np.asarray(nodes, dtype=np.int64)
        out = np.empty((chosen.size, *self.shape[1:]), dtype=self.dtype)
        which = chosen // self.range_size
        for shard in np.unique(which).tolist():
            rows = np.flatnonzero(which == shard)
            out[rows] = parts[shard][chosen[rows] - shard * self.range_size]
        return out
