"""Encode graphs piece by piece, in bounded memory, and write them, all or nothing."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.encoding.encoder import BACKENDS, encode
from sekgnn.encoding.sampled import check_sampling, encode_sampled
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.errors import ConfigError
from sekgnn.files import atomic_path, check_target
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.packed import pack
from sekgnn.kernel import clock
from sekgnn.parallel import Progress, within

if TYPE_CHECKING:
    from sekgnn.encoding.walk_encoding import WalkEncoding

SAMPLED = "sampled"
"""Backend of estimates with standard errors."""

PIECE_NUMBERS = 1 << 24
"""Numbers encoded before they are written: 128 MB of float64."""

ROW_GROUP_NUMBERS = 1 << 22
"""Numbers in one row group of a Parquet file: 32 MB of float64."""

Write = Callable[[NDArray[Any]], object]
"""A function that writes the encodings of the next nodes, ``[n, C, L]``."""


@dataclass
class EncodingFile:
    """The contents of a file of encodings, and the time to make it.

    Attributes:
        node_ptr: Graph g owns nodes ``node_ptr[g]:node_ptr[g + 1]``, int64 ``[G + 1]``.
        rows: For tables of SMILES, the data row (from 1) of each graph, else None.
        sampled: Whether every channel has another one with its standard errors.
        seconds: Time spent encoding, kernels already loaded.
        total_seconds: The same, with loading kernels and writing, but never compiling.
    """

    path: Path
    encoding: SubstructureEncoding
    dtype: np.dtype[Any]
    node_ptr: NDArray[np.int64]
    num_edges: int
    rows: NDArray[np.int64] | None = None
    sampled: bool = False
    seconds: float = 0.0
    total_seconds: float = 0.0

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return self.node_ptr.size - 1

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the C channels in the file."""
        names = self.encoding.channels
        errors = (f"{name} standard error" for name in names if self.sampled)
        return (*names, *errors)

    @property
    def shape(self) -> tuple[int, int, int]:
        """N, C and L."""
        return int(self.node_ptr[-1]), len(self.channels), self.encoding.length

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {
            "graphs": self.num_graphs,
            "nodes": self.shape[0],
            "edges": self.num_edges,
            "channels": list(self.channels),
            "length": self.encoding.length,
            "shape": list(self.shape),
            "dtype": str(self.dtype),
            "encoding": self.encoding.to_dict(),
            "seconds": self.seconds,
            "total_seconds": self.total_seconds,
            "graphs_per_second": self.num_graphs / max(self.seconds, 1e-9),
            "output": str(self.path),
        }

    def sentence(self) -> str:
        """Return a short summary for people."""
        nodes, channels, length = self.shape
        graphs = "1 graph" if self.num_graphs == 1 else f"{self.num_graphs} graphs"
        rates = [count / max(self.seconds, 1e-9) for count in (self.num_graphs, nodes)]
        shown = [f"{rate:,.0f}" if rate >= 100 else f"{rate:.2g}" for rate in rates]
        return (
            f"encoded {graphs} ({nodes} nodes, {self.num_edges} edges) in "
            f"{self.seconds:.2f} s\n"
            f"{shown[0]} graphs per second, {shown[1]} nodes per second\n"
            f"{channels} channels x {length} steps per node, {self.dtype}\n"
            f"wrote {self.path}"
        )


def check_backend(
    backend: str, encoding: SubstructureEncoding, num_walks: int = 256, seed: int = 0
) -> None:
    """Raise ConfigError, before any work, if a backend cannot compute ``encoding``."""
    check_choice("--backend", backend, (*BACKENDS, SAMPLED))
    if backend == SAMPLED:
        check_sampling(encoding, num_walks, seed)
    if backend == "spectral" and getattr(encoding, "aggregate", None) == "moments":
        raise ConfigError("--backend spectral has no moments; use dense or push.")
    if encoding.ragged:
        raise ConfigError(
            f"encoding {encoding.name!r} is ragged and cannot be written to a file; "
            "call sekgnn.encode in Python."
        )


def write_encodings(
    graphs: Sequence[Graph],
    encoding: SubstructureEncoding,
    output: Path,
    *,
    rows: Sequence[int] | None = None,
    backend: str = "auto",
    dtype: str = "float64",
    num_walks: int = 256,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> EncodingFile:
    """Encode graphs and write the file; a failure leaves an existing file untouched.

    Memory is that of the graphs and of about ``PIECE_NUMBERS`` numbers, or of the
    encoding of the largest graph. ``rows`` are as in :class:`EncodingFile`; ``backend``
    is that of :func:`~sekgnn.encoding.encoder.encode`, or ``"sampled"``; ``progress``
    is called with (done, total) nodes.

    Raises:
        ConfigError: If a parameter cannot work.
        OSError: If the file cannot be written.
    """
    started = clock()
    suffix = check_output(output)
    options: dict[str, Any] = {"backend": backend, "dtype": dtype}
    sizes = [0, *(graph.num_nodes for graph in graphs)]
    node_ptr = np.cumsum(sizes, dtype=np.int64)
    contents = EncodingFile(
        output,
        encoding,
        np.dtype(dtype),
        node_ptr,
        sum(graph.num_edges for graph in graphs),
        None if rows is None else np.array(rows, dtype=np.int64),
        backend == SAMPLED,
    )
    total = contents.shape[0]

    def compute(
        piece: Sequence[Graph], threads: int | None, progress: Progress | None = None
    ) -> NDArray[Any]:
        if not contents.sampled:
            values: NDArray[Any] = encode(
                pack(piece), encoding, threads=threads, progress=progress, **options
            )
            return values
        walks: dict[str, Any] = {"num_walks": num_walks, "seed": seed}
        blocks = []
        for graph in piece:
            sample = encode_sampled(
                graph, cast("WalkEncoding", encoding), threads=threads, **walks
            )
            pair = sample.values, sample.standard_error
            blocks.append(np.concatenate(pair, axis=1))
        return np.concatenate(blocks).astype(dtype, copy=False)

    # load compiled kernels first, so that the rate is that of the work
    compute([Graph.from_edge_index([[0, 1], [1, 0]], 2)], 1)
    with (
        atomic_path(output) as draft,
        draft.open("wb") as file,
        WRITERS[suffix](file, contents) as write,
    ):
        for first, last in _pieces(contents):
            begin, end = node_ptr[[first, last]].tolist()
            piece_progress = within(progress, begin, end - begin, total)
            piece_started = clock()
            block = compute(graphs[first:last], threads, piece_progress)
            contents.seconds += clock() - piece_started
            write(block)
    contents.total_seconds = clock() - started
    return contents


def _pieces(contents: EncodingFile) -> list[tuple[int, int]]:
    """Cut the graphs into pieces of about ``PIECE_NUMBERS`` numbers."""
    _, channels, length = contents.shape
    most = max(1, PIECE_NUMBERS // max(1, channels * length))
    starts, pieces, first = contents.node_ptr, list[tuple[int, int]](), 0
    while first < contents.num_graphs:
        fits = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        pieces.append((first, max(fits, first + 1)))
        first = pieces[-1][1]
    return pieces


@contextmanager
def npz_writer(file: IO[bytes], contents: EncodingFile) -> Iterator[Write]:
    """Write ``values``, ``node_ptr``, ``channels``, ``encoding`` and maybe ``rows``.

    The archive is not compressed: walk probabilities hardly shrink, and uncompressed
    pieces are written at the speed of the disk.
    """
    small = {
        "node_ptr": contents.node_ptr,
        "channels": np.array(contents.channels, dtype=np.str_),
        "encoding": np.array(json.dumps(contents.encoding.to_dict())),
    }
    if contents.rows is not None:
        small["rows"] = contents.rows
    header = {
        "descr": np.lib.format.dtype_to_descr(contents.dtype),
        "fortran_order": False,
        "shape": contents.shape,
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in small.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        with archive.open("values.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array_header_2_0(member, header)
            yield lambda block: member.write(np.ascontiguousarray(block).data)


@contextmanager
def parquet_writer(file: IO[bytes], contents: EncodingFile) -> Iterator[Write]:
    """Write one row per node: ``graph``, ``node``, maybe ``row``, then the numbers.

    The number of channel c at step t is the column ``c/t``, t from 1, or from the first
    step of walks; the encoding is JSON under the key ``sekgnn.encoding`` of the
    metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    _, channels, length = contents.shape
    number = pa.from_numpy_dtype(contents.dtype)
    fields = [("graph", pa.int64()), ("node", pa.int64())]
    if contents.rows is not None:
        fields.append(("row", pa.int64()))
    index_columns = [name for name, _ in fields]
    first = getattr(contents.encoding, "first_step", 1)
    fields += [
        (f"{c}/{t + first}", number) for c in contents.channels for t in range(length)
    ]
    metadata = {"sekgnn.encoding": json.dumps(contents.encoding.to_dict())}
    schema = pa.schema(fields, metadata=metadata)
    height = max(1, ROW_GROUP_NUMBERS // max(1, channels * length))
    starts = contents.node_ptr
    written = 0
    with pq.ParquetWriter(
        file, schema, compression="zstd", use_dictionary=index_columns
    ) as writer:

        def write(block: NDArray[Any]) -> None:
            nonlocal written
            node = np.arange(written, written + len(block))
            graph = np.searchsorted(starts, node, side="right") - 1
            columns = [graph, node - starts[graph]]
            if contents.rows is not None:
                columns.append(contents.rows[graph])
            columns += list(np.ascontiguousarray(block.reshape(len(block), -1).T))
            table = pa.Table.from_arrays(list(map(pa.array, columns)), schema=schema)
            writer.write_table(table, row_group_size=height)
            written += len(block)

        yield write


WRITERS: dict[
    str, Callable[[IO[bytes], EncodingFile], AbstractContextManager[Write]]
] = {
    ".npz": npz_writer,
    ".parquet": parquet_writer,
}
"""Writers by suffix."""


def check_output(output: Path, source: Path | None = None) -> str:
    """Check, before any work, that ``output`` can be written; return its suffix.

    Raises:
        ConfigError: If the suffix is unknown or the file would replace ``source``.
        OutputError: If the folder is missing or read-only.
    """
    suffix = output.suffix.lower()
    if suffix not in WRITERS:
        raise ConfigError(
            f"{output}: no format can be inferred from the suffix {suffix!r}; "
            f"use {' or '.join(WRITERS)}."
        )
    check_target(output)
    if source is not None and source.exists() and output.exists():
        if os.path.samefile(source, output):
            raise ConfigError(f"{output} is the input; choose another output.")
    return suffix
