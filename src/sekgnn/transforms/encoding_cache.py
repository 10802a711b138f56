"""A file per encoded dataset, named by its content and checked whenever it is read."""

from __future__ import annotations

import hashlib
import inspect
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.array_file import SUFFIX, Arrays, Content, DamagedFileError, Header, cached
from sekgnn.encoding.ragged import PARTS, RaggedEncoding, Values
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.errors import CacheWarning
from sekgnn.graphs import PackedGraphs


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
    about = cache_header(packed, encoding, dtype)
    if about is None:
        warnings.warn(
            f"the encodings are not cached: the source of {type(encoding).__name__} is "
            "not available, so changes to it would go unnoticed; define it in a file.",
            CacheWarning,
            stacklevel=3,
        )
        return compute(), None, False

    def make() -> Content:
        values = compute()
        if isinstance(values, RaggedEncoding):
            return {}, {name: getattr(values, name) for name in PARTS}
        return {}, {"values": values}

    def use(header: Header, arrays: Arrays) -> Values:
        return encoding.checked(values_of(arrays), packed.num_nodes)

    return cached(cache_path(folder, about), about, make, use, stacklevel=5)


def cache_path(folder: Path, about: Header) -> Path:
    """Return where the encodings with a header are kept."""
    return folder / f"{about['key']}{SUFFIX}"


def values_of(arrays: Arrays) -> Values:
    """Return the encodings in a file."""
    if set(arrays) == set(PARTS):
        return RaggedEncoding(*(arrays[name] for name in PARTS))
    if "values" not in arrays:
        raise DamagedFileError("it holds no encodings")
    return arrays["values"]


def cache_header(
    packed: PackedGraphs, encoding: SubstructureEncoding, dtype: np.dtype[Any]
) -> Header | None:
    """Return what the file of the encodings of these graphs says about itself.

    Its ``key`` is the SHA-256 of versions, parameters, the source of a class that is
    not ours, and the graphs themselves: whatever changes the result changes the key.
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
    return {"key": digest.hexdigest(), "parameters": parameters}
