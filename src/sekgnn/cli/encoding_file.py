"""Files of encodings, written piece by piece so that memory stays bounded."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.spec import WalkEncoding
from sekgnn.errors import ConfigError, OutputError
from sekgnn.graphs import Graph

Write = Callable[[NDArray[Any]], None]
"""Takes the encodings of the next nodes, ``[n, C, L]``."""

ROW_GROUP_NUMBERS = 1 << 22
"""Numbers in one row group of a Parquet file: 32 MB of float64."""


@dataclass(frozen=True)
class Contents:
    """What a file of encodings says about itself.

    Attributes:
        spec: How the encodings were computed.
        dtype: float32 or float64.
        node_ptr: Graph g owns nodes ``node_ptr[g]:node_ptr[g + 1]``, int64 ``[G + 1]``.
        rows: For tables of SMILES, the data row (from 1) of each graph, else None.
    """

    spec: WalkEncoding
    dtype: np.dtype[Any]
    node_ptr: NDArray[np.int64]
    rows: NDArray[np.int64] | None = None

    @staticmethod
    def of(
        graphs: Sequence[Graph],
        spec: WalkEncoding,
        dtype: str,
        rows: Sequence[int] | None = None,
    ) -> Contents:
        """Describe the encodings of ``graphs``."""
        sizes = [0, *(graph.num_nodes for graph in graphs)]
        node_ptr = np.cumsum(sizes, dtype=np.int64)
        kept = None if rows is None else np.asarray(rows, dtype=np.int64)
        return Contents(spec, np.dtype(dtype), node_ptr, kept)

    @property
    def shape(self) -> tuple[int, int, int]:
        """N, C and L."""
        return int(self.node_ptr[-1]), self.spec.num_channels, self.spec.walk_length


@contextmanager
def npz_writer(file: IO[bytes], contents: Contents) -> Iterator[Write]:
    """Write ``encoding``, ``node_ptr``, ``channels``, ``spec`` and maybe ``rows``.

    The archive is not compressed: walk probabilities hardly shrink, and an archive
    that is not can be written in pieces at the speed of the disk.
    """
    small = {
        "node_ptr": contents.node_ptr,
        "channels": np.array(contents.spec.channels, dtype=np.str_),
        "spec": np.array(json.dumps(contents.spec.to_dict())),
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
        with archive.open("encoding.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array_header_2_0(member, header)
            yield lambda block: _write_bytes(member, block)


@contextmanager
def parquet_writer(file: IO[bytes], contents: Contents) -> Iterator[Write]:
    """Write one row per node: ``graph``, ``node``, maybe ``row``, then the numbers.

    The number of channel c at step t is the column ``c/t``, t from 1; the spec is JSON
    under the key ``sekgnn.spec`` of the schema's metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    _, channels, steps = contents.shape
    number = pa.from_numpy_dtype(contents.dtype)
    fields = [("graph", pa.int64()), ("node", pa.int64())]
    if contents.rows is not None:
        fields.append(("row", pa.int64()))
    places = [name for name, _ in fields]
    fields += [
        (f"{c}/{t + 1}", number) for c in contents.spec.channels for t in range(steps)
    ]
    metadata = {"sekgnn.spec": json.dumps(contents.spec.to_dict())}
    schema = pa.schema(fields, metadata=metadata)
    height = max(1, ROW_GROUP_NUMBERS // (channels * steps))
    starts = contents.node_ptr
    written = 0
    with pq.ParquetWriter(
        file, schema, compression="zstd", use_dictionary=places
    ) as writer:

        def write(block: NDArray[Any]) -> None:
            nonlocal written
            for begin in range(0, len(block), height):
                part = block[begin : begin + height]
                node = np.arange(written, written + len(part))
                graph = np.searchsorted(starts, node, side="right") - 1
                columns = [graph, node - starts[graph]]
                if contents.rows is not None:
                    columns.append(contents.rows[graph])
                columns += list(np.ascontiguousarray(part.reshape(len(part), -1).T))
                arrays = [pa.array(column) for column in columns]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
                written += len(part)

        yield write


WRITERS: dict[str, Callable[[IO[bytes], Contents], AbstractContextManager[Write]]] = {
    ".npz": npz_writer,
    ".parquet": parquet_writer,
}
"""How to write, by suffix."""


def check_output(output: Path, source: Path | None = None) -> str:
    """Return the suffix of ``output`` if it can be written, before any work is done.

    Raises:
        ConfigError: If the suffix is unknown or the file would replace ``source``.
        OutputError: If the folder is missing or read-only.
    """
    suffix = output.suffix.lower()
    if suffix not in WRITERS:
        raise ConfigError(
            f"{output}: the suffix {suffix!r} tells no format; "
            f"known are {', '.join(WRITERS)}."
        )
    if output.is_dir():
        raise OutputError(f"cannot write {output}: it is a folder; name a file.")
    if not output.parent.is_dir():
        raise OutputError(
            f"cannot write {output}: the folder {output.parent} does not exist; "
            "create it first."
        )
    if not os.access(output.parent, os.W_OK):
        raise OutputError(
            f"cannot write {output}: the folder {output.parent} is read-only for you; "
            "choose another."
        )
    if source is not None and source.exists() and output.exists():
        if os.path.samefile(source, output):
            raise ConfigError(f"{output} is the input; choose another output.")
    return suffix


def _write_bytes(member: IO[bytes], block: NDArray[Any]) -> None:
    member.write(np.ascontiguousarray(block).data)
