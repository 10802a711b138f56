"""A file per encoded dataset, named by its content and checked whenever it is read.

Layout: a magic text (16 bytes), the SHA-256 of the header (32), the length of the
header (8, little-endian), the header (JSON), the arrays (little-endian, C order); the
header and every array are filled up to a multiple of 64 bytes. The header holds the
key, every parameter, type and shape of each array, and the SHA-256 of what follows. All
is one file, written at once, so there is no state in which half of a pair is there.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.ragged import PARTS, RaggedEncoding, Values
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.errors import CacheWarning, ConfigError, OutputError
from sekgnn.files import write_atomically
from sekgnn.graphs import PackedGraphs
from sekgnn.parsing import parse_json

FORMAT_VERSION = 2
"""Raise it when the layout of the file changes."""

SUFFIX = ".sekenc"
_MAGIC = b"sekgnn encoding\n"
_DIGEST = 32
_ALIGN = 64


class DamagedCacheError(Exception):
    """The file is not what was written, or not what was asked for."""


def cached_encoding(
    folder: Path,
    packed: PackedGraphs,
    encoding: SubstructureEncoding,
    dtype: np.dtype[Any],
    compute: Callable[[], Values],
) -> tuple[Values, Path | None, bool]:
    """Return the encodings, their file if there is one, and whether it was there.

    They are mapped from the file, also from a new one: they may be large.

    Warns:
        CacheWarning: If the file is damaged, or cannot be written.
    """
    found = cache_key(packed, encoding, dtype)
    if found is None:
        _warn(
            f"the encodings are not cached: the source of {type(encoding).__name__} is "
            "not available, so changes to it would go unnoticed; define it in a file."
        )
        return compute(), None, False
    key, parameters = found
    file = folder / f"{key}{SUFFIX}"

    def lookup() -> Values | None:
        try:
            values = read_cache(file, key, parameters)
            if values is None:
                return None
            return encoding.checked(values, packed.num_nodes)
        except (DamagedCacheError, ConfigError) as error:
            _warn(f"the cache {file} is not used, {error}; it is rebuilt.", 5)
            return None

    values = lookup()
    if values is not None:
        return values, file, True
    values = compute()
    try:
        write_cache(file, key, parameters, values)
    except OutputError as error:
        _warn(f"the encodings are returned but not cached: {error}")
        return values, None, False
    mapped = lookup()
    return values if mapped is None else mapped, file, False


def cache_key(
    packed: PackedGraphs, encoding: SubstructureEncoding, dtype: np.dtype[Any]
) -> tuple[str, dict[str, Any]] | None:
    """Return a name for the encoding of these graphs, and the parameters in it.

    The name is the SHA-256 of versions, parameters, the source of a class that is not
    ours, and the graphs themselves: whatever changes the result changes the name.
    ``None`` if there is no source to read.
    """
    sources = hashlib.sha256()
    for cls in type(encoding).__mro__:
        if cls.__module__.split(".")[0] not in ("sekgnn", "abc", "builtins"):
            try:
                sources.update(inspect.getsource(cls).encode())
            except (OSError, TypeError):
                return None
    parameters = {
        "format_version": FORMAT_VERSION,
        "encoding": encoding.to_dict(),
        "class": f"{type(encoding).__module__}:{type(encoding).__qualname__}",
        "version": encoding.version,
        "source": sources.hexdigest(),
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
    path: Path, key: str, parameters: dict[str, Any], values: Values
) -> None:
    """Write ``values``, all or nothing.

    Raises:
        OutputError: If the file cannot be written.
    """
    if isinstance(values, RaggedEncoding):
        arrays = {name: getattr(values, name) for name in PARTS}
    else:
        arrays = {"values": values}
    digest = hashlib.sha256()
    told: dict[str, Any] = {}
    pieces: list[Any] = []
    for name, array in sorted(arrays.items()):  # as they stand in the header
        kind = array.dtype.newbyteorder("<")
        told[name] = {"dtype": kind.str, "shape": list(array.shape)}
        piece = np.ascontiguousarray(array, kind).reshape(-1).view(np.uint8)
        pieces += [piece.data, bytes(-piece.size % _ALIGN)]
    for piece in pieces:
        digest.update(piece)
    said = {"key": key, "parameters": parameters, "arrays": told}
    header = _json({**said, "sha256": digest.hexdigest()})
    before = len(_MAGIC) + _DIGEST + 8
    header += b" " * (-(before + len(header)) % _ALIGN)

    def writer(file: BinaryIO) -> None:
        file.write(_MAGIC)
        file.write(hashlib.sha256(header).digest())
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for piece in pieces:
            file.write(piece)

    write_atomically(path, writer)


def read_cache(path: Path, key: str, parameters: dict[str, Any]) -> Values | None:
    """Return the numbers mapped from the file, or ``None`` if there is no file.

    Changes of the arrays stay in memory (the map is copy-on-write).

    Args:
        path: The file.
        key: The name that it must carry.
        parameters: What it must have been made with.

    Raises:
        DamagedCacheError: If anything in it differs from that, or it cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header, offset = _read_header(file, size)
            if header.get("key") != key or header.get("parameters") != parameters:
                raise DamagedCacheError("it belongs to other graphs or parameters")
            content: NDArray[np.uint8] = (
                np.memmap(file, np.uint8, "c", offset)
                if size > offset
                else np.zeros(0, np.uint8)
            )
        arrays, end = {}, 0
        for name, told in header["arrays"].items():
            kind = np.dtype(told["dtype"])
            start, length = end, kind.itemsize * math.prod(told["shape"])
            end = start + length + -length % _ALIGN
            if end > content.size:
                raise DamagedCacheError("its length is wrong")
            part = content[start : start + length].view(kind)
            arrays[name] = part.reshape(told["shape"]).astype(
                kind.newbyteorder("="), copy=False
            )
        if end != content.size:
            raise DamagedCacheError("its length is wrong")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCacheError(str(error)) from error
    if hashlib.sha256(content.data).hexdigest() != header.get("sha256"):
        raise DamagedCacheError("its numbers have changed")
    if set(arrays) == set(PARTS):
        return RaggedEncoding(*(arrays[name] for name in PARTS))
    return arrays.get("values")


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
    header: dict[str, Any] = parse_json(text)
    return header, start + length


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _warn(message: str, stacklevel: int = 4) -> None:
    warnings.warn(message, CacheWarning, stacklevel=stacklevel)
