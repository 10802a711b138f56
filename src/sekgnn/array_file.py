"""Named arrays in one file that is mapped, not read, and checked against its digest.

Layout: a magic text (16 bytes), the SHA-256 of the header (32), the length of the
header (8, little-endian), the header (JSON), the arrays (little-endian, C order, by
name); the header and every array are filled up to a multiple of 64 bytes. The header
holds what the file says about itself, type and shape of each array, and the SHA-256 of
what follows. All is one file, so there is no state in which half of a pair is there.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypedDict

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.files import write_atomically
from sekgnn.parsing import Size, parse_as

_ALIGN = 64
_BEFORE = 16 + 32 + 8  # bytes before the header
_ROOM = 1 << 16  # bytes for the header of a file whose sizes are not known yet


class _Array(TypedDict):
    dtype: str
    shape: list[Size]


class _Header(TypedDict):
    arrays: dict[str, _Array]
    sha256: str


class DamagedFileError(Exception):
    """The file is not what was written."""


class ArrayWriter:
    """Writes arrays piece by piece, in the order of their names, and then the header.

    The file is empty; ``magic``, 16 bytes, names its kind, and ``room`` bytes are left
    for the header and what is before it.
    """

    def __init__(self, file: BinaryIO, magic: bytes, room: int = _ROOM) -> None:
        self._file, self._magic, self._room = file, magic, room
        self._digest = hashlib.sha256()
        self._arrays: dict[str, Any] = {}
        file.write(bytes(room))

    def add(
        self,
        name: str,
        dtype: DTypeLike,
        pieces: Iterable[NDArray[Any]],
        tail: tuple[int, ...] = (),
    ) -> None:
        """Write the rows of the next array, each of shape ``tail``."""
        kind, rows, size = np.dtype(dtype).newbyteorder("<"), 0, 0
        for piece in pieces:
            flat = np.ascontiguousarray(piece, kind).reshape(-1).view(np.uint8)
            self._write(flat.data)
            rows, size = rows + len(piece), size + flat.size
        self._write(bytes(-size % _ALIGN))
        self._arrays[name] = {"dtype": kind.str, "shape": [rows, *tail]}

    def finish(self, about: Mapping[str, Any]) -> None:
        """Write the header.

        Raises:
            ValueError: If there is no room for what the file says about itself.
        """
        header = _header(about, self._arrays, self._digest.hexdigest())
        header += b" " * (self._room - _BEFORE - len(header))
        if _BEFORE + len(header) != self._room:
            raise ValueError("the header of the file is too long")
        self._file.seek(0)
        self._file.write(self._magic + hashlib.sha256(header).digest())
        self._file.write(len(header).to_bytes(8, "little") + header)

    def _write(self, content: Any) -> None:
        self._digest.update(content)
        self._file.write(content)


def write_arrays(
    path: str | os.PathLike[str],
    magic: bytes,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write arrays that are at hand, and JSON values ``about`` them, all or nothing.

    Raises:
        OutputError: If the file cannot be written.
    """
    told = {
        name: {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape)}
        for name, array in arrays.items()
    }
    length = _BEFORE + len(_header(about, told, "0" * 64))

    def write(file: BinaryIO) -> None:
        writer = ArrayWriter(file, magic, length + -length % _ALIGN)
        for name, array in sorted(arrays.items()):
            writer.add(name, array.dtype, [array], array.shape[1:])
        writer.finish(about)

    write_atomically(path, write)


def read_arrays(
    path: Path, magic: bytes, *, check: bool = True
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header of a file, and its arrays, mapped.

    Changes of the arrays stay in memory (the map is copy-on-write). With ``check`` the
    content is compared with its digest, which reads all of it.

    Raises:
        FileNotFoundError: If there is none.
        DamagedFileError: If it is not what was written, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            header, offset = _read_header(file, size, magic)
            content: NDArray[np.uint8] = (
                np.memmap(file, np.uint8, "c", offset)
                if size > offset
                else np.zeros(0, np.uint8)
            )
        arrays, end = {}, 0
        for name, told in header["arrays"].items():
            kind, shape = np.dtype(told["dtype"]), told["shape"]
            if kind.kind not in "biufc" or any(type(n) is not int for n in shape):
                raise DamagedFileError(f"its array {name!r} is of no known form")
            if min(shape, default=0) < 0:
                raise DamagedFileError("its length is wrong")
            start, length = end, kind.itemsize * math.prod(shape)
            end = start + length + -length % _ALIGN
            if end > content.size:
                raise DamagedFileError("its length is wrong")
            part = np.asarray(content[start : start + length]).view(kind)
            arrays[name] = part.reshape(shape).astype(
                kind.newbyteorder("="), copy=False
            )
        if end != content.size:
            raise DamagedFileError("its length is wrong")
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise DamagedFileError(str(error)) from error
    if check and hashlib.sha256(content.data).hexdigest() != header["sha256"]:
        raise DamagedFileError("its numbers have changed")
    return header, arrays


def _read_header(file: BinaryIO, size: int, magic: bytes) -> tuple[dict[str, Any], int]:
    """Return the header and where the numbers begin."""
    head = file.read(_BEFORE)
    if len(head) < _BEFORE or not head.startswith(magic):
        raise DamagedFileError(f"it is not a {magic.decode().strip()} file")
    length = int.from_bytes(head[-8:], "little")
    if length > size - _BEFORE:
        raise DamagedFileError("it is cut short")
    if (_BEFORE + length) % _ALIGN:
        raise DamagedFileError("its arrays begin at a wrong place")
    text = file.read(length)
    if hashlib.sha256(text).digest() != head[len(magic) : -8]:
        raise DamagedFileError("its header has changed")
    return dict(parse_as(_Header, text)), _BEFORE + length


def _header(about: Mapping[str, Any], arrays: Mapping[str, Any], digest: str) -> bytes:
    said = {**about, "arrays": arrays, "sha256": digest}
    return json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
