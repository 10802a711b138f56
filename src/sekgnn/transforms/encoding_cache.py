"""A file per encoded dataset, named by its content and checked whenever it is read.

Layout: a magic text (16 bytes), the SHA-256 of the header (32), the length of the
header (8, little-endian), the header (JSON, filled up with spaces so that the numbers
start at a multiple of 64), the numbers (little-endian, C order). The header holds the
key, every parameter, the shape, and the SHA-256 of the numbers. All is one file,
written at once, so there is no state in which half of a pair is there.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.spec import WalkEncoding
from sekgnn.files import write_atomically
from sekgnn.graphs import PackedGraphs

FORMAT_VERSION = 1
"""Raise it when the layout of the file changes."""

ENCODING_VERSION = 1
"""Raise it when the encoding of a graph under the same spec changes its meaning."""

SUFFIX = ".sekenc"
_MAGIC = b"sekgnn encoding\n"
_DIGEST = 32
_ALIGN = 64


class DamagedCacheError(Exception):
    """The file is not what was written, or not what was asked for."""


def cache_key(
    packed: PackedGraphs, spec: WalkEncoding, dtype: np.dtype[Any]
) -> tuple[str, dict[str, Any]]:
    """Return a name for the encoding of these graphs, and the parameters in it.

    The name is the SHA-256 of the versions, all parameters and the graphs themselves:
    whatever changes the result changes the name.
    """
    parameters = {
        "format_version": FORMAT_VERSION,
        "encoding_version": ENCODING_VERSION,
        "spec": spec.to_dict(),
        "dtype": dtype.name,
    }
    digest = hashlib.sha256(_json(parameters))
    for array, kind in (
        (packed.node_ptr, "<i8"),
        (packed.indptr, "<i8"),
        (packed.indices, "<i4"),
    ):
        digest.update(array.size.to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(array, dtype=kind).data)
    return digest.hexdigest(), parameters


def write_cache(
    path: Path, key: str, parameters: dict[str, Any], encodings: NDArray[Any]
) -> None:
    """Write ``encodings`` ``[N, C, L]``, all or nothing.

    Raises:
        OutputError: If the file cannot be written.
    """
    numbers = np.ascontiguousarray(encodings, _stored(parameters["dtype"]))
    header = _json(
        {
            "key": key,
            "parameters": parameters,
            "shape": list(numbers.shape),
            "sha256": _sha256(numbers),
        }
    )
    before = len(_MAGIC) + _DIGEST + 8
    header += b" " * (-(before + len(header)) % _ALIGN)

    def writer(file: BinaryIO) -> None:
        file.write(_MAGIC)
        file.write(hashlib.sha256(header).digest())
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        file.write(_bytes(numbers))

    write_atomically(path, writer)


def read_cache(
    path: Path, key: str, parameters: dict[str, Any], shape: tuple[int, ...]
) -> NDArray[Any] | None:
    """Return the numbers mapped from the file, or ``None`` if there is no file.

    Changes of the array stay in memory (the map is copy-on-write).

    Args:
        path: The file.
        key: The name that it must carry.
        parameters: What it must have been made with.
        shape: What it must hold.

    Raises:
        DamagedCacheError: If anything in it differs from that, or it cannot be read.
    """
    kind = _stored(parameters["dtype"])
    wanted = {"key": key, "parameters": parameters, "shape": list(shape)}
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header, offset = _read_header(file, size)
            if any(header.get(name) != value for name, value in wanted.items()):
                raise DamagedCacheError("it belongs to other graphs or parameters")
            if size != offset + kind.itemsize * math.prod(shape):
                raise DamagedCacheError("its length is wrong")
            numbers: NDArray[Any] = (
                np.memmap(file, kind, "c", offset, shape)
                if size > offset
                else np.zeros(shape, kind)
            )
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DamagedCacheError(str(error)) from error
    if _sha256(numbers) != header.get("sha256"):
        raise DamagedCacheError("its numbers have changed")
    return numbers


def _read_header(file: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    """Return the header and where the numbers begin."""
    start = len(_MAGIC) + _DIGEST + 8
    head = file.read(start)
    if len(head) < start or not head.startswith(_MAGIC):
        raise DamagedCacheError("it is not a cache of encodings")
    length = int.from_bytes(head[-8:], "little")
    if length > size - start:
        raise DamagedCacheError("it is cut short")
    text = file.read(length)
    if hashlib.sha256(text).digest() != head[len(_MAGIC) : -8]:
        raise DamagedCacheError("its header has changed")
    header: dict[str, Any] = json.loads(text)
    return header, start + length


def _stored(dtype: str) -> np.dtype[Any]:
    """Return the type in the file, little-endian on every machine."""
    return np.dtype(dtype).newbyteorder("<")


def _sha256(numbers: NDArray[Any]) -> str:
    return hashlib.sha256(_bytes(numbers)).hexdigest()


def _bytes(numbers: NDArray[Any]) -> memoryview:
    """Return the bytes without a copy."""
    return numbers.reshape(-1).view(np.uint8).data


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
