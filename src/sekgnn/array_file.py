"""Named arrays in one file, mapped and checked against its digest; folders of these.

All arrays on disk are in such files: packed graphs, shards, encodings of ranges of
nodes, caches.

Layout: a magic text (16 bytes), the SHA-256 of the header (32), the length of the
header (8, little-endian), the header (JSON), the arrays (little-endian, C order, by
name); the header and every array are padded to a multiple of 64 bytes. The header
holds metadata, the type and shape of each array, and the SHA-256 of the arrays. With
a single file, there is no state in which half of a pair is missing.

A folder is filled file by file. Its manifest (JSON) describes the files and, in a
complete folder, lists the name and SHA-256 of each. It is written at the beginning, so
that the same command can continue after an interruption and another one is refused, and
again at the end, marked as complete.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sekgnn.errors import CacheWarning, ConfigError, GraphInputError, OutputError
from sekgnn.files import make_folder, visible_names, write_atomically, write_files
from sekgnn.parsing import Size, parse_as

SUFFIX = ".arrays"
"""The suffix of files with generated names."""

MAGIC = b"sekgnn arrays 1\n"
"""The beginning of every file; raise the number when the layout changes."""

Header = dict[str, Any]
"""The metadata of a file, with types, shapes and digest of its arrays."""

Arrays = dict[str, NDArray[Any]]
Content = tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]
"""JSON values for the header, and arrays."""

T = TypeVar("T")

_ALIGN = 64
_BEFORE = len(MAGIC) + 32 + 8  # bytes before the header
_ROOM = 1 << 16  # bytes for the header if the sizes of arrays are not known yet
_LAST_CHARACTER = 0x10FFFF

MANIFEST_FILE = "manifest.json"
FORMAT_VERSION = 2
"""Raise it when the layout of manifests changes."""


class _Array(TypedDict):
    dtype: str
    shape: list[Size]


class _Header(TypedDict):
    arrays: dict[str, _Array]
    sha256: str


class DamagedFileError(Exception):
    """The content of the file has changed."""


_FAULTS = (DamagedFileError, GraphInputError, ConfigError)  # errors of a bad file


class ArrayWriter:
    """Writes arrays piece by piece, in the order of their names, and then the header.

    The file is empty; ``room`` bytes are reserved for the header and the bytes before.
    """

    def __init__(self, file: BinaryIO, room: int = _ROOM) -> None:
        self._file, self._room = file, room
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

    def finish(self, about: Mapping[str, Any]) -> Header:
        """Write the header, and return it.

        Raises:
            ValueError: If the header does not fit into the reserved bytes.
        """
        header = {**about, "arrays": self._arrays, "sha256": self._digest.hexdigest()}
        text = _as_json(header)
        text += b" " * (self._room - _BEFORE - len(text))
        if _BEFORE + len(text) != self._room:
            raise ValueError("the header of the file is too long")
        self._file.seek(0)
        self._file.write(MAGIC + hashlib.sha256(text).digest())
        self._file.write(len(text).to_bytes(8, "little") + text)
        return header

    def _write(self, content: Any) -> None:
        self._digest.update(content)
        self._file.write(content)


def dump_arrays(
    file: BinaryIO, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> Header:
    """Write arrays to an empty file, and return its header."""
    shapes = {
        name: {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape)}
        for name, array in arrays.items()
    }
    header = {**about, "arrays": shapes, "sha256": "0" * 64}
    length = _BEFORE + len(_as_json(header))
    writer = ArrayWriter(file, length + -length % _ALIGN)
    for name, array in sorted(arrays.items()):
        writer.add(name, array.dtype, [array], array.shape[1:])
    return writer.finish(about)


def write_arrays(
    path: str | os.PathLike[str],
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write arrays, and JSON values ``about`` them, all or nothing.

    Raises:
        OutputError: If the file cannot be written.
    """
    write_atomically(path, lambda file: dump_arrays(file, about, arrays))


def read_arrays(
    path: str | os.PathLike[str],
    about: Mapping[str, Any] | None = None,
    *,
    check: bool = True,
) -> tuple[Header, Arrays]:
    """Return the header of a file, and its arrays, mapped.

    Changes to the arrays stay in memory (the map is copy-on-write). With ``check`` the
    content is compared with its digest, which reads all of it.

    Raises:
        FileNotFoundError: If there is none.
        DamagedFileError: If its content has changed, its metadata differs from
            ``about``, or it cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_arrays(f"{folder}/a", {"by": "me"}, {"x": np.arange(3)})
        ...     header, arrays = read_arrays(f"{folder}/a", {"by": "me"})
        >>> arrays["x"].tolist()
        [0, 1, 2]
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            header, offset = _read_header(file, size)
            content: NDArray[np.uint8] = (
                np.memmap(file, np.uint8, "c", offset)
                if size > offset
                else np.zeros(0, np.uint8)
            )
        if any(header.get(name) != value for name, value in (about or {}).items()):
            raise DamagedFileError(
                "it holds something else, of other data or other parameters"
            )
        arrays, end = {}, 0
        for name, form in header["arrays"].items():
            arrays[name], end = _array_at(end, form, content)
        if end != content.size:
            raise DamagedFileError("its length is wrong")
    except NotADirectoryError as error:
        raise FileNotFoundError(str(error)) from error
    except FileNotFoundError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise DamagedFileError(str(error)) from error
    if check and hashlib.sha256(content.data).hexdigest() != header["sha256"]:
        raise DamagedFileError("its numbers have changed")
    return header, arrays


def make_file(
    path: str | os.PathLike[str],
    about: Mapping[str, Any],
    make: Callable[[], Content],
    use: Callable[[Header, Arrays], T],
) -> T:
    """Return the content of a file, and make the file unless an intact one exists.

    Any number of processes may do this at a time.

    Args:
        path: The file.
        about: Metadata that identifies the right file.
        make: Returns further values for its header, and its arrays.
        use: Makes the result from header and arrays; raises if they do not fit.

    Raises:
        OutputError: If it cannot be written.
        Exception: Any error of ``make``.
    """
    with suppress(FileNotFoundError, *_FAULTS):
        return use(*read_arrays(path, about))
    more, arrays = make()
    write_arrays(path, {**about, **more}, arrays)
    return use(*read_arrays(path, about, check=False))


def cached(
    path: Path,
    about: Mapping[str, Any],
    make: Callable[[], Content],
    use: Callable[[Header, Arrays], T],
) -> tuple[T, Path | None, bool]:
    """Return the result of :func:`make_file`, the file, and whether it existed.

    If no file can be written (``None``), the next call just takes longer.

    Warns:
        CacheWarning: If the file is damaged, or cannot be written.
    """
    try:
        return use(*read_arrays(path, about)), path, True
    except FileNotFoundError:
        pass
    except _FAULTS as error:
        text = f"the cache {path} is not used, {error}; it is made again."
        warnings.warn(text, CacheWarning, stacklevel=2)
    more, arrays = make()
    try:
        write_arrays(path, {**about, **more}, arrays)
    except OutputError as error:
        text = f"the result is right, but not cached: {error}"
        warnings.warn(text, CacheWarning, stacklevel=2)
        return use({}, dict(arrays)), None, False
    return use(*read_arrays(path, about, check=False)), path, False


def _array_at(
    start: int, form: _Array, content: NDArray[np.uint8]
) -> tuple[NDArray[Any], int]:
    """Return an array of a mapped file, and the start of the next one."""
    kind = np.dtype(form["dtype"])
    if kind.kind not in "biufcU":
        raise DamagedFileError(f"it holds an array of {kind}")
    length = kind.itemsize * math.prod(form["shape"])
    end = start + length + -length % _ALIGN
    if end > content.size:
        raise DamagedFileError("its length is wrong")
    numbers = content[start : start + length]
    if kind.kind == "U" and (numbers.view("<u4") > _LAST_CHARACTER).any():
        raise DamagedFileError("its text is not Unicode")
    array: NDArray[Any] = np.asarray(numbers).view(kind).reshape(form["shape"])
    return array.astype(kind.newbyteorder("="), copy=False), end


def _read_header(file: BinaryIO, size: int) -> tuple[Header, int]:
    """Return the header and the offset of the arrays."""
    head = file.read(_BEFORE)
    if not head.startswith(MAGIC):
        older = head.startswith((b"sekgnn ", b"PK"))
        hint = ", or of an earlier version" if older else ""
        raise DamagedFileError(f"it is not a sekgnn array file{hint}")
    length = int.from_bytes(head[-8:], "little")
    if len(head) < _BEFORE or length > size - _BEFORE:
        raise DamagedFileError("it is cut short")
    if (_BEFORE + length) % _ALIGN:
        raise DamagedFileError("its arrays begin at a wrong offset")
    text = file.read(length)
    if hashlib.sha256(text).digest() != head[len(MAGIC) : -8]:
        raise DamagedFileError("its header has changed")
    return dict(parse_as(_Header, text)), _BEFORE + length


def _as_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Line(TypedDict):
    """The entry of a file in a manifest."""

    file: str
    sha256: str
    key: str


class Manifest(TypedDict):
    """The keys of every manifest besides ``parameters`` and the lines of ``files``."""

    format: str
    format_version: int
    complete: bool


def line_of(header: Header) -> dict[str, Any]:
    """Return the line of a file: its header without the keys that only readers need."""
    return {k: v for k, v in header.items() if k not in ("arrays", "columns")}


def make_listed_file(
    folder: Path,
    stem: str,
    identity: Any,
    make: Callable[[], Content],
    check: Callable[[Header, Arrays], object],
) -> dict[str, Any]:
    """Make a file of a folder unless an intact one exists, and return its line.

    ``identity``, JSON values, is all that its content depends on; the name ends with
    its digest, so that no file replaces another. ``make`` and ``check`` are the
    ``make`` and ``use`` of :func:`~sekgnn.array_file.make_file`.
    """
    text = json.dumps(identity, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    name = f"{stem}-{key[:8]}{SUFFIX}"

    def use(header: Header, arrays: Arrays) -> dict[str, Any]:
        check(header, arrays)
        return line_of(header)

    return make_file(folder / name, {"file": name, "key": key}, make, use)


def read_manifest(
    folder: Path, format: str, form: Any, complete: Any = None
) -> dict[str, Any]:
    """Return the manifest of a folder, of the ``TypedDict`` ``form``.

    A complete manifest must be of the form ``complete``, if given.

    Raises:
        GraphInputError: If it is missing, damaged or of another format.
    """
    file = folder / MANIFEST_FILE
    try:
        text = file.read_text(encoding="utf-8")
        head = parse_as(Manifest, text)
        version = head["format"], head["format_version"]
        if version == (format, FORMAT_VERSION):
            chosen = complete if head["complete"] and complete is not None else form
            return dict(parse_as(chosen, text))
        reason = f"it is {version[0]!r}, version {version[1]}"
    except (OSError, ValueError) as error:
        reason = str(error)
    raise GraphInputError(
        f"{file} cannot be read: {reason}; name a folder of {format!r}, version "
        f"{FORMAT_VERSION}, or encode again into a new one."
    )


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest, one file per line."""
    head = {"format_version": FORMAT_VERSION, **manifest}
    rows = ",\n  ".join(json.dumps(line, sort_keys=True) for line in head["files"])
    text = json.dumps({**head, "files": []}, indent=1, sort_keys=True)
    text = text.replace('"files": []', f'"files": [\n  {rows}\n ]')
    write_files(folder, {MANIFEST_FILE: f"{text}\n".encode()})


def complete_folder(
    folder: Path, manifest: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]
) -> None:
    """Write the manifest of a complete folder; remove files that it does not list."""
    write_manifest(folder, {**manifest, "complete": True, "files": lines})
    listed = {line["file"] for line in lines}
    for file in folder.glob(f"*{SUFFIX}"):
        if file.name not in listed:
            file.unlink()


def begin_folder(folder: Path, manifest: Mapping[str, Any], form: Any) -> None:
    """Make a folder, or check that it holds earlier work with the same parameters.

    A complete folder is left unchanged; ``form`` is a ``TypedDict`` of the manifest.

    Raises:
        ConfigError: If it holds something else.
        OutputError: If it cannot be made.
    """
    held = visible_names(make_folder(folder))
    if MANIFEST_FILE in held:
        before = read_manifest(folder, manifest["format"], form)
        for name, value in manifest["parameters"].items():
            old = before["parameters"].get(name)
            if old != value:
                raise ConfigError(
                    f"{folder} was made with other {name} ({old!r}, not {value!r}); "
                    "choose another output, or remove it."
                )
        if before["complete"]:
            return
    elif held:
        raise ConfigError(
            f"{folder} is not empty and holds no {MANIFEST_FILE}; choose another "
            "output."
        )
    write_manifest(folder, {**manifest, "complete": False, "files": []})
