"""Targets of the nodes or links of one huge graph."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.datasets.graph_task import GraphTask, Split
from sekgnn.datasets.targets import TASK_KINDS, Label, TaskKind
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.files import cache_folder, make_private
from sekgnn.graphs.graph_file import GraphFile, pack_pairs, read_graph_file

FORMAT = "csr"
FEATURES = "x"
MASKS = ("train_mask", "val_mask", "test_mask")
LINK = "link"

HELD_OUT = 0.2
"""Share of edges removed from the graph, to train and test on."""
MOST_LINKS = 1 << 20
"""Largest number of edges held out."""

_ROWS = 1 << 20  # nodes per read
_TURNS = 64  # attempts to pair the ends of edges


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeTask(GraphTask):
    """One graph with targets of its nodes or pairs of nodes.

    Where a :class:`GraphTask` has graphs, this has items: nodes with a target, or
    pairs. The graph is not loaded into memory.

    Attributes:
        file: The graph for message passing, its features and other arrays.
        items: Nodes, int64 ``[I]``, or pairs of nodes, int64 ``[I, 2]``.
        content: SHA-256 of file and targets.
    """

    file: GraphFile
    items: NDArray[np.int64]
    y: NDArray[Any]
    content: str = ""

    _per_item = ("items", "mask", "y")

    def __len__(self) -> int:
        return len(self.items)

    @property
    def num_features(self) -> int:
        """Width of ``x``; 0 if there is none."""
        x = self.file.nodes.get(FEATURES)
        return 0 if x is None else int(x.shape[1])

    def names(self, positions: Sequence[int]) -> dict[str, list[int]]:
        """Return the columns that identify rows in a table of predictions."""
        items = self.items[np.asarray(positions, dtype=np.int64)]
        if items.ndim == 1:
            return {"node": items.tolist()}
        return {"node": items[:, 0].tolist(), "other": items[:, 1].tolist()}

    def fingerprint(self) -> str:
        """Return a SHA-256 of the graph, its features and all targets."""
        return self.content

    def describe(self) -> dict[str, Any]:
        """Return the description of the data in the record of a run."""
        return {
            **super().describe(),
            "graphs": 1,
            "nodes": self.file.graph.num_nodes,
            "edges": self.file.graph.num_edges,
            "items": len(self),
        }


def node_task(
    path: str | Path | GraphFile,
    target: str = "y",
    kind: TaskKind | None = None,
) -> NodeTask:
    """Return a target of the nodes of a graph file.

    Args:
        path: The file.
        target: One of its arrays: integers are classes, negative if missing; floats
            are numbers, NaN if missing; booleans ``[n, T]`` are labels.
        kind: The kind of task; inferred from the type by default.

    Raises:
        GraphInputError: If the file is damaged, features are not finite, or masks
            overlap.
        ConfigError: If there is no such array, or the kind does not fit it.
    """
    file = path if isinstance(path, GraphFile) else read_graph_file(path)
    name = file.path.name
    content = _checked_features(file)
    arrays = [key for key in file.nodes if key not in (FEATURES, *MASKS)]
    if target not in arrays:
        raise ConfigError(
            f"{name} has no array {target!r} to predict; it has "
            f"{', '.join(arrays) or 'none'}. Pack it with --arrays {target}=FILE.npy."
        )
    values = file.nodes[target]
    inferred, y, mask, classes = _targets(values, kind, f"{name}, array {target!r}")
    items = np.flatnonzero(mask.any(axis=1))
    if not items.size:
        raise GraphInputError(f"{name}: no node has a target {target!r}.")
    several = values.ndim > 1 and values.shape[1] > 1
    width = values.shape[1] if values.ndim > 1 else 1
    names = tuple(f"{target} {i}" for i in range(width)) if several else (target,)
    digest = hashlib.sha256(f"{content} {target} {inferred}".encode()).hexdigest()
    return NodeTask(
        (), inferred, names, classes, mask[items], (),
        name=name, source="file", level="node", reader={"format": FORMAT},
        split=_split(file, items), file=file, items=items, y=y[items],
        content=digest,
    )  # fmt: skip


def link_task(path: str | Path | GraphFile, seed: int = 0) -> NodeTask:
    """Return the task to tell edges of a graph file from non-edges.

    A fifth of the edges (at most a million) is removed from the graph; the items are
    these edges and as many non-edges between their ends, for training, validation and
    test. Messages and encodings never see them, and every node has as many items of one
    class as of the other. The remaining graph is written to the cache folder.

    Args:
        path: The file.
        seed: Determines edges and non-edges.

    Raises:
        GraphInputError: If the file is damaged, or there are too few edges.
        OutputError: If the cache cannot be written.
    """
    file = path if isinstance(path, GraphFile) else read_graph_file(path)
    content = _checked_features(file)
    graph, name = file.graph, file.path.name
    if graph.num_edges < 20:
        raise GraphInputError(f"{name} has {graph.num_edges} edges, too few to learn.")
    share = min(HELD_OUT, MOST_LINKS / graph.num_edges)
    held = [pairs[_is_held(pairs, share, seed)] for pairs in _edges(file)]
    edges = np.concatenate(held)
    rng = np.random.default_rng(seed)
    others = _no_edges(file, edges, rng)
    digest = hashlib.sha256(f"{content} {LINK} {share!r} {seed}".encode()).hexdigest()
    folder = cache_folder() / "graphs"
    make_private(folder)
    rest_path = folder / f"{digest[:32]}.csr"
    try:
        remaining = read_graph_file(rest_path)
    except GraphInputError:
        remaining = pack_pairs(
            (pairs[~_is_held(pairs, share, seed)] for pairs in _edges(file)),
            graph.num_nodes,
            rest_path,
            arrays={FEATURES: file.nodes[FEATURES]} if FEATURES in file.nodes else {},
            undirected="add",
        )
    items = np.concatenate([edges, others])
    y = np.repeat([1, 0], [len(edges), len(others)]).astype(np.int64)
    return NodeTask(
        (), "binary", (LINK,), (0, 1), np.ones((len(y), 1), np.bool_), (),
        name=name, source="file", level="link", reader={"format": FORMAT},
        file=remaining, items=items, y=y, content=digest,
    )  # fmt: skip


def _checked_features(file: GraphFile) -> str:
    """Return the digest of a file, after a check of its features."""
    x = file.nodes.get(FEATURES)
    if x is not None and (x.ndim != 2 or x.dtype.kind != "f"):
        raise GraphInputError(
            f"{file.path}: x must be floats [nodes, features], got {x.dtype} "
            f"{list(x.shape)}."
        )
    for low in range(0, 0 if x is None else len(x), _ROWS):
        assert x is not None
        if not np.isfinite(x[low : low + _ROWS]).all():
            bad = np.argwhere(~np.isfinite(x[low : low + _ROWS]))[0]
            raise GraphInputError(
                f"{file.path}: feature {bad[1]} of node {low + bad[0]} is not finite."
            )
    return file.fingerprint


def _targets(
    values: NDArray[Any], kind: TaskKind | None, where: str
) -> tuple[TaskKind, NDArray[Any], NDArray[np.bool_], tuple[Label, ...] | None]:
    """Return kind, targets, mask and classes."""
    if kind is not None:
        check_choice("kind", kind, TASK_KINDS)
    table = values.reshape(len(values), -1)
    classes = values.dtype.kind in "iu" and table.shape[1] == 1
    if kind in ("binary", "multiclass") or (kind is None and classes):
        if not classes:
            raise ConfigError(f"{where}: classes are integers, one per node.")
        ids = table[:, 0].astype(np.int64)
        labels = np.unique(ids[ids >= 0])
        if labels.size < 2 or (kind == "binary" and labels.size != 2):
            raise GraphInputError(f"{where} has {labels.size} classes.")
        y = np.searchsorted(labels, np.maximum(ids, labels[0]))
        inferred: TaskKind = "binary" if labels.size == 2 else "multiclass"
        return inferred, y, (ids >= 0)[:, None], tuple(labels.tolist())
    if kind == "multilabel" or (kind is None and values.dtype.kind == "b"):
        if not np.isin(np.unique(table), (0, 1)).all():
            raise GraphInputError(f"{where}: labels are 0 or 1.")
        return "multilabel", table.astype("f4"), np.ones(table.shape, np.bool_), None
    mask = np.isfinite(table)
    numbers = np.where(mask, table, 0).astype(np.float64)
    return "regression", numbers, mask, None


def _split(file: GraphFile, items: NDArray[np.int64]) -> Split | None:
    """Return the split given by the masks of a file, as positions of items."""
    masks = [file.nodes.get(name) for name in MASKS]
    if all(mask is None for mask in masks):
        return None
    splits = []
    for name, mask in zip(MASKS, masks, strict=True):
        if mask is None or mask.ndim != 1 or mask.dtype.kind not in "biu":
            raise GraphInputError(
                f"{file.path}: {name} is missing or not bool [nodes]; a split needs "
                f"{', '.join(MASKS)}."
            )
        splits.append(np.flatnonzero(mask[items]))
    members = np.concatenate(splits)
    if np.unique(members).size < members.size:
        raise GraphInputError(f"{file.path}: a node is in two of {', '.join(MASKS)}.")
    return Split(*splits)


def _edges(file: GraphFile) -> Iterator[NDArray[np.int64]]:
    """Yield every edge once, ``[E, 2]``, some nodes at a time."""
    indptr, indices = file.graph.csr
    for low in range(0, file.graph.num_nodes, _ROWS):
        rows = indptr[low : low + _ROWS + 1]
        u = low + np.repeat(np.arange(rows.size - 1), np.diff(rows))
        v = indices[rows[0] : rows[-1]].astype(np.int64)
        yield np.stack([u, v], axis=1)[u < v]


def _is_held(edges: NDArray[np.int64], share: float, seed: int) -> NDArray[np.bool_]:
    """Return the mask of held-out edges, a function of seed and edge alone."""
    with np.errstate(over="ignore"):
        word = edges[:, 0].astype(np.uint64) << np.uint64(32)
        word = (word | edges[:, 1].astype(np.uint64)) + np.uint64(seed + 1)
        for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15):
            word = (word ^ (word >> np.uint64(31))) * np.uint64(factor)
    held: NDArray[np.bool_] = (word >> np.uint64(11)) < np.uint64(int(share * 2**53))
    return held


def _no_edges(
    file: GraphFile, edges: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return as many distinct non-edges as ``edges``, ``[E, 2]``.

    The ends of the edges are paired at random, so a node is in as many non-edges as
    edges, and no property of a single node, such as a degree lowered by held-out edges,
    separates the two. Ends that cannot be paired so, such as leaves of a star, are
    replaced by uniform draws.
    """
    graph, count = file.graph, len(edges)
    n = graph.num_nodes
    if n * (n - 1) // 2 - graph.num_edges < count:
        raise GraphInputError(f"{file.path}: almost all pairs of nodes are edges.")
    chosen, ends = np.empty(0, np.int64), edges.reshape(-1)
    for turn in itertools.count():
        if turn >= _TURNS:
            ends = rng.integers(0, n, size=ends.size)
        pairs = np.sort(rng.permutation(ends).reshape(-1, 2), axis=1)
        fits = pairs[:, 0] < pairs[:, 1]
        fits[fits] = [not _has(graph.neighbors(u), v) for u, v in pairs[fits].tolist()]
        keys = pairs @ np.array([n, 1])
        first = np.zeros(len(keys), np.bool_)
        first[np.unique(keys, return_index=True)[1]] = True
        fits &= first & ~np.isin(keys, chosen)
        chosen = rng.permutation(np.concatenate([chosen, keys[fits]]))
        if fits.all():
            return np.stack(np.divmod(chosen, n), axis=1)
        unpaired = pairs[~fits]
        if turn < _TURNS:  # mix with accepted ones: the last two may never fit alone
            back, chosen = chosen[: len(unpaired)], chosen[len(unpaired) :]
            unpaired = np.concatenate([unpaired, np.stack(np.divmod(back, n), axis=1)])
        ends = unpaired.reshape(-1)
    raise AssertionError  # unreachable


def _has(row: NDArray[np.int32], node: int) -> bool:
    index = int(np.searchsorted(row, node))
    return index < row.size and int(row[index]) == node
