"""Read graphs, encode them piece by piece, write the result all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.cli.encoding_file import WRITERS, Contents, check_output
from sekgnn.encoding.encoder import encode_packed
from sekgnn.encoding.spec import WalkEncoding
from sekgnn.encoding.tasks import BACKENDS, Backend
from sekgnn.errors import ConfigError
from sekgnn.files import atomic_path
from sekgnn.graphs import (
    Graph,
    ReadOptions,
    SelfLoops,
    Undirected,
    pack,
    path_graph,
)
from sekgnn.graphs.records import graph_format, read_all
from sekgnn.graphs.table import TableRow
from sekgnn.kernel import clock
from sekgnn.parallel import Progress

PIECE_NUMBERS = 1 << 24
"""Numbers encoded before they are written: 128 MB of float64."""


@dataclass(frozen=True)
class Input:
    """Graphs, and for a table of SMILES where they come from.

    Attributes:
        graphs: The graphs.
        rows: The data row (from 1) of each, or None.
        skipped: Rows that were left out.
    """

    graphs: Sequence[Graph]
    rows: tuple[int, ...] | None = None
    skipped: tuple[TableRow, ...] = ()


@dataclass(frozen=True)
class JobResult:
    """What was encoded, and how fast.

    Attributes:
        num_graphs: G.
        num_nodes: N, of all graphs together.
        num_edges: Of all graphs together.
        contents: What the file says about itself.
        seconds: Time spent encoding, kernels already loaded.
        total_seconds: The same with loading of kernels and writing; never compiling.
        output: The file.
        skipped: Rows of the input that were left out.
    """

    num_graphs: int
    num_nodes: int
    num_edges: int
    contents: Contents
    seconds: float
    total_seconds: float
    output: Path
    skipped: tuple[TableRow, ...]

    @property
    def graphs_per_second(self) -> float:
        """Graphs encoded per second of encoding."""
        return self.num_graphs / max(self.seconds, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        spec = self.contents.spec
        return {
            "graphs": self.num_graphs,
            "nodes": self.num_nodes,
            "edges": self.num_edges,
            "channels": list(spec.channels),
            "walk_length": spec.walk_length,
            "shape": list(self.contents.shape),
            "dtype": str(self.contents.dtype),
            "spec": spec.to_dict(),
            "seconds": self.seconds,
            "total_seconds": self.total_seconds,
            "graphs_per_second": self.graphs_per_second,
            "output": str(self.output),
            "skipped": [
                {"row": row.row, "line": row.line, "smiles": row.values[0]}
                for row in self.skipped
            ],
        }

    def sentence(self) -> str:
        """Return a short summary for people."""
        _, channels, steps = self.contents.shape
        graphs = "1 graph" if self.num_graphs == 1 else f"{self.num_graphs} graphs"
        per_second = self.num_nodes / max(self.seconds, 1e-9)
        return (
            f"encoded {graphs} ({self.num_nodes} nodes, {self.num_edges} edges) in "
            f"{self.seconds:.2f} s\n"
            f"{_rounded(self.graphs_per_second)} graphs per second, "
            f"{_rounded(per_second)} nodes per second\n"
            f"{channels} channels x {steps} steps per node, {self.contents.dtype}\n"
            f"wrote {self.output}"
        )


def _rounded(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.2g}"


def read_input(
    path: Path,
    *,
    format: str | None,
    undirected: str,
    loops: str,
    smiles: str,
    skip_invalid: bool,
) -> Input:
    """Read graphs of any format; see :func:`~sekgnn.graphs.read_graphs`."""
    check_choice("--undirected", undirected, ("error", "add"))
    check_choice("--loops", loops, ("drop", "error"))
    options = ReadOptions(
        format=format,
        undirected=cast("Undirected", undirected),
        loops=cast("SelfLoops", loops),
        smiles=smiles,
        skip_invalid=skip_invalid,
    )
    records, skipped = read_all(path, options, features=False)
    graphs = [record.graph for record in records]
    table = graph_format(path, format) == "smiles"
    rows = tuple(record.row for record in records) if table else None
    return Input(graphs, rows, tuple(skipped))


def check_backend(backend: str, spec: WalkEncoding) -> Backend:
    """Return ``backend`` if it is known and can compute ``spec``.

    Raises:
        ConfigError: If not.
    """
    check_choice("--backend", backend, BACKENDS)
    if backend == "spectral" and spec.aggregate == "moments":
        raise ConfigError("--backend spectral has no moments; use dense or push.")
    return cast("Backend", backend)


def run_job(
    source: Input,
    spec: WalkEncoding,
    output: Path,
    *,
    backend: str = "auto",
    dtype: str = "float64",
    threads: int | None = None,
    progress: Progress | None = None,
) -> JobResult:
    """Encode graphs and write the file; a failure leaves what was there before.

    Memory is that of the graphs and of about ``PIECE_NUMBERS`` numbers, or of the
    encoding of the largest graph.

    Args:
        source: The graphs.
        spec: What to compute.
        output: ``.npz`` or ``.parquet``.
        backend: As for :func:`~sekgnn.encoding.encoder.encode`.
        dtype: ``"float32"`` or ``"float64"``.
        threads: Threads; None for all usable cores.
        progress: Called with (done, total) nodes.

    Raises:
        ConfigError: If a parameter cannot work.
        OSError: If the file cannot be written.
    """
    started = clock()
    suffix = check_output(output)
    kind = check_backend(backend, spec)
    graphs = source.graphs
    contents = Contents.of(graphs, spec, dtype, source.rows)
    total = contents.shape[0]
    # load what was compiled before, so that the rate is that of the work
    _encode_piece([path_graph(2)], spec, kind, dtype, 1, None)
    seconds = 0.0
    with (
        atomic_path(output) as draft,
        draft.open("wb") as file,
        WRITERS[suffix](file, contents) as write,
    ):
        for first, last in _pieces(contents):
            begin, end = contents.node_ptr[[first, last]].tolist()
            moved = _within(progress, begin, end - begin, total)
            begun = clock()
            block = _encode_piece(graphs[first:last], spec, kind, dtype, threads, moved)
            seconds += clock() - begun
            write(block)
    return JobResult(
        num_graphs=len(graphs),
        num_nodes=total,
        num_edges=sum(graph.num_edges for graph in graphs),
        contents=contents,
        seconds=seconds,
        total_seconds=clock() - started,
        output=output,
        skipped=source.skipped,
    )


def _encode_piece(
    graphs: Sequence[Graph],
    spec: WalkEncoding,
    backend: Backend,
    dtype: str,
    threads: int | None,
    progress: Progress | None,
) -> NDArray[Any]:
    """Return ``[N, C, L]``; the one place that calls a backend."""
    return encode_packed(
        pack(graphs),
        spec,
        backend=backend,
        dtype=dtype,
        threads=threads,
        progress=progress,
    )


def _pieces(contents: Contents) -> list[tuple[int, int]]:
    """Cut the graphs into pieces of about ``PIECE_NUMBERS`` numbers."""
    _, channels, steps = contents.shape
    most = max(1, PIECE_NUMBERS // (channels * steps))
    starts = contents.node_ptr.tolist()
    pieces: list[tuple[int, int]] = []
    first = 0
    for g in range(1, len(starts)):
        if g + 1 == len(starts) or starts[g + 1] - starts[first] > most:
            pieces.append((first, g))
            first = g
    return pieces


def _within(
    progress: Progress | None, before: int, nodes: int, total: int
) -> Progress | None:
    """Turn the progress of one piece into nodes of the whole."""
    if progress is None:
        return None
    return lambda done, of: progress(before + nodes * done // max(of, 1), total)
