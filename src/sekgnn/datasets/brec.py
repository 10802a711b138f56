"""BREC: 400 pairs of graphs that 1-WL cannot tell apart."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.datasets.root import Collection, check_content, find_data_root, not_found
from sekgnn.errors import DataNotFoundError, GraphInputError
from sekgnn.graphs import Graph, from_graph6
from sekgnn.graphs.table import read_bytes

CATEGORIES = {
    "basic": "basic",
    "simple_regular": "simple regular",
    "strongly_regular": "strongly regular",
    "four_vertex": "4-vertex condition",
    "distance_regular": "distance-regular",
    "extension": "extension",
    "cfi": "CFI",
}
"""The categories in the order in which tables show them, and how they are written."""

_TEXT, _COPIES = "brec.g6.txt", "brec_v3.npy"
_RAW = {
    "basic.npy": ("Basic", "basic", 60),
    "regular.npy": ("Regular", "simple_regular", 50),
    "str.npy": ("Str", "strongly_regular", 50),
    "extension.npy": ("Extension", "extension", 100),
    "cfi.npy": ("CFI", "cfi", 100),
    "4vtx.npy": ("4-Vertex_Condition", "four_vertex", 20),
    "dr.npy": ("Distance_Regular", "distance_regular", 20),
}
"""Upstream's files in the order of BREC: its name of the category, ours, and pairs."""
_FOLDERS = (".", "brec", "raw", "brec/raw", "Data/raw", "customize/Data/raw")
"""Where in a folder the files may be: ours, upstream's, and parts of a clone."""
_PER_PAIR = 64  # graphs of a pair in brec_v3.npy: 32 of each in turn, the given first


@dataclass(frozen=True)
class BRECPair:
    """Two graphs that are not isomorphic, though 1-WL cannot tell.

    Attributes:
        index: Number of the pair in BREC, 0..399.
        category: A key of ``CATEGORIES``.
        first: One graph.
        second: The other; as many nodes and edges, and the same degrees.
    """

    index: int
    category: str
    first: Graph
    second: Graph


class BREC(Collection[BRECPair]):
    """The pairs of BREC (Wang and Zhang, ICML 2024), in its own order.

    ================  =====  =======  =====
    category          pairs  index    nodes
    ================  =====  =======  =====
    basic             60     0-59     10
    simple_regular    50     60-109   7-10
    strongly_regular  50     110-159  16-35
    extension         100    160-259  10-19
    cfi               100    260-359  18-198
    four_vertex       20     360-379  63
    distance_regular  20     380-399  30-63
    ================  =====  =======  =====

    The paper's category "Regular" (140 pairs) is split into its four parts here. The
    relabelled copies of upstream's file are left out: :mod:`sekgnn.brec` makes them
    from a seed.

    Args:
        data_root: The data folder, by default what ``SEKGNN_DATA`` names; or a folder
            with upstream's seven raw files ``*.npy``; or a file, ``brec.g6.txt`` or
            upstream's ``brec_v3.npy``. Nothing is unpickled, and all of them hold the
            same graphs, which is checked.

    Raises:
        DataNotFoundError: If there is none of these files; says where to get them.
        GraphInputError: If a file holds something else.
    """

    def __init__(self, data_root: str | os.PathLike[str] | None = None) -> None:
        path = _find(data_root)
        text = check_content("brec", _read(path), path)
        rows = (line.split("\t") for line in text.decode("ascii").splitlines())
        ours = {theirs: category for theirs, category, _ in _RAW.values()}
        super().__init__(
            BRECPair(int(index), ours[category], from_graph6(a), from_graph6(b))
            for category, index, a, b in rows
        )

    @classmethod
    def of(cls, pairs: Iterable[BRECPair]) -> BREC:
        """Return a collection of given pairs, which keep their numbers."""
        made = cls.__new__(cls)
        made.extend(pairs)
        return made

    def select(self, *categories: str) -> BREC:
        """Return the pairs of some categories, in the order of BREC.

        Raises:
            ConfigError: If there is no such category.
        """
        wanted = {check_choice("category", name, CATEGORIES) for name in categories}
        return BREC.of(pair for pair in self if pair.category in wanted)


def _find(data_root: str | os.PathLike[str] | None) -> Path:
    """Return the file to read, or the folder of the seven, or say where to get them."""
    try:
        if data_root is not None and Path(data_root).is_file():
            return Path(data_root)
        root = find_data_root(data_root)
        for folder in (root / name for name in _FOLDERS):
            for file in (folder / _TEXT, folder / _COPIES):
                if file.is_file():
                    return file
            missing = [name for name in _RAW if not (folder / name).is_file()]
            if not missing:
                return folder
            if len(missing) < len(_RAW):
                raise DataNotFoundError(
                    f"{folder} holds files of BREC, but not {', '.join(missing)}."
                )
        raise DataNotFoundError(f"{root} holds no files of BREC.")
    except DataNotFoundError as error:
        raise not_found("brec", error) from None


def _read(path: Path) -> bytes:
    """Return the text of ``brec.g6.txt``, made of upstream's arrays if need be."""
    theirs, _, counts = zip(*_RAW.values(), strict=True)
    if path.is_dir():
        files = zip(_RAW, counts, strict=True)
        arrays = [_array(path / name, 2 * pairs) for name, pairs in files]
    elif path.suffix == ".npy":
        pairs = sum(counts)
        copies = _array(path, 2 * _PER_PAIR * pairs)  # the second half: of one graph
        arrays = [copies[: copies.size // 2].reshape(pairs, _PER_PAIR)[:, :2]]
    else:
        return read_bytes(path)
    names = np.repeat(theirs, counts).tolist()
    graphs = [text for array in arrays for text in array.reshape(-1).tolist()]
    graphs = [t.decode("latin-1") if isinstance(t, bytes) else t for t in graphs]
    rows = zip(names, graphs[::2], graphs[1::2], strict=True)
    lines = [f"{name}\t{i}\t{a}\t{b}\n" for i, (name, a, b) in enumerate(rows)]
    return "".join(lines).encode()


def _array(path: Path, count: int) -> NDArray[Any]:
    """Return the graph6 strings of a file; nothing is unpickled."""
    try:  # mapped: a header that promises more than the file holds is an error
        texts: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise GraphInputError(
            f"{path} is no array of strings: it is damaged, or holds objects, which "
            "are not unpickled."
        ) from None
    if texts.dtype.kind not in "SU" or texts.size != count:
        raise GraphInputError(
            f"{path} holds {texts.size} values of type {texts.dtype}, expected {count} "
            "graph6 strings."
        )
    return texts
