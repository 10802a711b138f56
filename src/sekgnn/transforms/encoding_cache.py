"""A file per encoded dataset, named by its content and checked whenever it is read.

Beside the numbers it holds the key and every parameter (:mod:`sekgnn.array_file`).
"""

from __future__ import annotations

import hashlib
import inspect
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.array_file import DamagedFileError, read_arrays, write_arrays
from sekgnn.encoding.ragged import PARTS, RaggedEncoding, Values
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.errors import CacheWarning, ConfigError, OutputError
from sekgnn.graphs import PackedGraphs

FORMAT_VERSION = 2
"""Raise it when the layout of the file changes."""

SUFFIX = ".sekenc"
_MAGIC = b"sekgnn encoding\n"


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
        except (DamagedFileError, ConfigError) as error:
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
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode())
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
    """Write ``values``, all or nothing."""
    if isinstance(values, RaggedEncoding):
        arrays = {name: getattr(values, name) for name in PARTS}
    else:
        arrays = {"values": values}
    write_arrays(path, _MAGIC, {"key": key, "parameters": parameters}, arrays)


def read_cache(path: Path, key: str, parameters: dict[str, Any]) -> Values | None:
    """Return the numbers mapped from the file, or ``None`` if there is no file.

    Changes of the arrays stay in memory (the map is copy-on-write).

    Raises:
        DamagedFileError: If it carries another key or other parameters, or cannot be
            read.
    """
    try:
        header, arrays = read_arrays(path, _MAGIC)
    except FileNotFoundError:
        return None
    if header.get("key") != key or header.get("parameters") != parameters:
        raise DamagedFileError("it belongs to other graphs or parameters")
    if set(arrays) == set(PARTS):
        return RaggedEncoding(*(arrays[name] for name in PARTS))
    return arrays.get("values")


def _warn(message: str, stacklevel: int = 4) -> None:
    warnings.warn(message, CacheWarning, stacklevel=stacklevel)
