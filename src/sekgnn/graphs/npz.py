"""Datasets of graphs in one ``.npz`` file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.graphs.cleaning import SelfLoops, Undirected, located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.packed import pack_edge_indices, unpack
from sekgnn.graphs.table import read_bytes
from sekgnn.memory import check_memory, gib

_KEYS = ("edge_index", "edge_ptr", "node_ptr")
_MOST_UNPACKED = 1 << 28  # bytes that may be compressed as far as possible
_MOST_TIMES = 200  # edges of real graphs shrink much less
_TIMES_WORK = 6  # memory beside the arrays, to sort and check them


def read_npz(
    path: str | Path,
    *,
    undirected: Undirected = "error",
    loops: SelfLoops = "drop",
) -> list[Graph]:
    """Read the graphs of an ``.npz`` file.

    The arrays are those of :func:`~sekgnn.graphs.pack_edge_indices`: ``edge_index``,
    ``edge_ptr`` and ``node_ptr``. Others are not looked at.

    Raises:
        GraphInputError: If the file is damaged, or an array missing or malformed.
    """
    arrays = _load(path)
    with located(path):
        packed = pack_edge_indices(
            arrays["edge_index"],
            arrays["node_ptr"],
            arrays["edge_ptr"],
            undirected=undirected,
            loops=loops,
        )
    return unpack(packed)


def _load(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return the three arrays."""
    content = io.BytesIO(read_bytes(path))
    try:
        file = np.load(content, allow_pickle=False)
        names = list(getattr(file, "files", ()))  # none in a plain array
        if all(key in names for key in _KEYS):
            _check_sizes(file)
            return {key: file[key] for key in _KEYS}
    except GraphInputError as error:
        raise GraphInputError(f"{path}: {error}") from None
    except Exception as error:  # whatever numpy and zipfile make of damaged bytes
        raise GraphInputError(
            f"{path} is not a readable .npz file ({error}); it may be cut short."
        ) from error
    missing = ", ".join(key for key in _KEYS if key not in names)
    raise GraphInputError(
        f"{path} lacks {missing}; it holds {', '.join(names) or 'no named arrays'}."
    )


def _check_sizes(file: Any) -> None:
    """Refuse arrays that would fill the memory, before they are unpacked."""
    members = [file.zip.getinfo(f"{key}.npy") for key in _KEYS]
    unpacked = sum(member.file_size for member in members)
    stored = sum(member.compress_size for member in members)
    if unpacked > _MOST_UNPACKED and unpacked > _MOST_TIMES * stored:
        raise GraphInputError(
            f"its arrays take {gib(unpacked)} unpacked, {unpacked // max(1, stored)} "
            "times as much as in the file; if that is meant, save them with "
            "numpy.savez, which does not compress."
        )
    check_memory(_TIMES_WORK * unpacked, "reading its arrays")
