r"""The least error that any predictor can have which sees colours only.

Such a predictor gives all objects of a colour the same answer. The best one answers
with the commonest class, for the mean absolute error with the median, and for the mean
squared error with the mean of the targets in each class of equal colour.

Colours are those of a ladder of tests, which run by rising cost, exactly, over the
whole dataset. A graph is done once it shares its colour with no graph of another
target; a costlier test sees only one of several isomorphic graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.targets import TaskKind
from sekgnn.errors import GraphInputError, MissingExtraError
from sekgnn.fields import GRAPH_X
from sekgnn.graphs import Graph, LabelledGraph
from sekgnn.graphs.graph import as_labels
from sekgnn.graphs.packed import PackedGraphs, unpack
from sekgnn.kernel import clock
from sekgnn.parallel import Progress
from sekgnn.transforms.pyg_data import pack_dataset
from sekgnn.wl.graph_classes import canonical_digest, graph_keys
from sekgnn.wl.ladder import Rung
from sekgnn.wl.refinement import Batch, refine

SECONDS = 300.0
"""Time limit of one test; a slower one is left out."""
ISOMORPHISM = "isomorphism"
"""Name of the finding that no test can improve on."""
_FORMS = 50_000  # canonical forms that are looked for
Classes = NDArray[np.int64]
"""The class of every object, graph or node, ``[R]``."""


def joined(*partitions: NDArray[Any]) -> Classes:
    """Return the classes of objects that are alike in all of some arrays.

    Each is ``[R]`` or ``[R, W]``, and there is at least one.

    Example:
        >>> joined(np.array([0, 0, 1]), np.array([5, 6, 6])).tolist()
        [0, 1, 2]
    """
    out = np.zeros(len(partitions[0]), dtype=np.int64)
    for partition in partitions:
        for column in np.atleast_2d(partition.T):
            _, numbers = np.unique(column, return_inverse=True)
            _, out = np.unique(
                out * (numbers.max(initial=0) + 1) + numbers, return_inverse=True
            )
    return out


def in_conflict(
    classes: Classes, y: NDArray[Any], mask: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which objects share their class with one of another target, bool ``[R]``.

    Targets are ``[R, T]``, as is where they are present.
    """
    out = np.zeros(len(classes), dtype=np.bool_)
    for values, present in zip(y.T, mask.T, strict=True):
        rows = np.flatnonzero(present)
        order, starts = _groups(classes[rows], values[rows])
        sizes = np.diff([*starts, rows.size])
        ends = starts + sizes - 1
        sorted_values = values[rows][order]
        differ = sorted_values[starts] != sorted_values[ends]
        out[rows[order]] |= np.repeat(differ, sizes)
    return out


def floors(
    kind: TaskKind, classes: Classes, y: NDArray[Any], mask: NDArray[np.bool_]
) -> list[dict[str, float]]:
    """Return, for each target, the best that any function of the classes can reach.

    ``accuracy``; or ``mae`` and ``rmse``, in the units of the target. NaN of a target
    that no object has. Targets are class numbers or numbers, ``[R, T]``, as is where
    they are present.

    Example:
        >>> one, ones = np.array([[0.0], [1.0], [5.0]]), np.ones((3, 1), dtype=bool)
        >>> found = floors("regression", np.array([0, 0, 1]), one, ones)[0]
        >>> round(found["rmse"] ** 2, 6)
        0.166667
    """
    out = []
    for values, present in zip(y.T, mask.T, strict=True):
        known, numbers = classes[present], values[present].astype(np.float64)
        if not known.size:
            nothing = ("mae", "rmse") if kind == "regression" else ("accuracy",)
            out.append(dict.fromkeys(nothing, np.nan))
            continue
        order, starts = _groups(known, numbers)
        sizes = np.diff([*starts, known.size])
        numbers = numbers[order]
        if kind == "regression":
            rank = np.arange(known.size) - np.repeat(starts, sizes)
            side = np.sign(2 * rank - np.repeat(sizes - 1, sizes))  # of the median
            apart = numbers - np.repeat(numbers[starts], sizes)  # equal ones: exactly 0
            means = np.add.reduceat(apart, starts) / sizes
            squares = (apart - np.repeat(means, sizes)) ** 2
            mae = float((side * apart).mean())
            out.append({"mae": mae, "rmse": float(np.sqrt(squares.mean()))})
            continue
        pairs = joined(known[order], numbers)
        counts = np.bincount(pairs)
        best = np.maximum.reduceat(counts[pairs], starts)
        out.append({"accuracy": float(best.sum() / known.size)})
    return out


def _groups(
    classes: Classes, values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order by class, then value, and where each class begins in it."""
    order = np.lexsort((values, classes))
    ordered = classes[order]
    return order, np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))


@dataclass(frozen=True)
class Finding:
    """What a test leaves together.

    Attributes:
        collisions: Graphs, or nodes, that share a colour with one of another target.
        floors: Best possible ``accuracy``, or ``mae`` and ``rmse``, of a model of the
            class, for each target.
        tested: Graphs that the test looked at.
        encode_seconds: Estimated time to encode all graphs for a network of the class.
        encode_bytes: Estimated size of hops and encodings.
        left_out: Why the test gave no answer; collisions and floors are then empty.
    """

    name: str
    title: str
    collisions: int | None
    floors: list[dict[str, float]]
    tested: int
    seconds: float
    encode_seconds: float = 0.0
    encode_bytes: int = 0
    left_out: str = ""


def labelled_graphs(task: GraphTask) -> tuple[list[Graph], PackedGraphs, bool]:
    """Return the graphs with their features as labels, the same graphs packed, a flag.

    Features that are the same on all nodes, or on all edges, are no labels. The flag is
    true if edge features are left out because the two directions of an edge differ.
    """
    packed = pack_dataset(task.graphs, "error", "drop")
    nodes = _labels("x", [data.x.numpy() for data in task.graphs])
    edges, one_way = None, False
    if task.edge_channels:
        index = [data.edge_index.numpy() for data in task.graphs]
        sizes = [edge_index.shape[1] for edge_index in index]
        shift = np.repeat(packed.node_ptr[:-1], sizes)
        row, col = np.concatenate(index, axis=1) + shift
        labels = _labels("edge_attr", [data.edge_attr.numpy() for data in task.graphs])
        if labels is not None:
            no_loop, n = row != col, packed.num_nodes
            labels = labels[no_loop]
            keys, first, number = np.unique(
                (row * n + col)[no_loop], return_index=True, return_inverse=True
            )  # of rows in order, as in the packed graphs
            edges = labels[first]
            reverse = np.argsort(keys % n * n + keys // n)
            if (labels != edges[number]).any() or (edges != edges[reverse]).any():
                edges, one_way = None, True
    items: list[Graph] = []
    for g, graph in enumerate(unpack(packed)):
        low, high = packed.node_ptr[g : g + 2]
        edges_of_graph = slice(packed.indptr[low], packed.indptr[high])
        items.append(
            LabelledGraph(
                graph,
                None if nodes is None else nodes[low:high],
                None if edges is None else edges[edges_of_graph],
            )
        )
    return items, packed, one_way


def _labels(name: str, features: Sequence[NDArray[Any]]) -> NDArray[np.int64] | None:
    """Return a label for every row of features; ``None`` if all rows are equal."""
    rows = np.concatenate([f if f.ndim == 2 else f[:, None] for f in features])
    if not rows.size or (rows == rows[0]).all():
        return None
    rows = np.ascontiguousarray(rows + 0.0)
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    _, first, numbers = np.unique(whole, return_index=True, return_inverse=True)
    return as_labels(name, rows[first])[numbers.reshape(-1)]


class _Slow(Exception):
    """A test exceeded its time limit."""


class Ladder:
    """Partitions of graphs, or nodes, by the tests of the ladder.

    Each test may take ``seconds``; compiled kernels use ``threads``.
    """

    def __init__(
        self,
        task: GraphTask,
        seconds: float = SECONDS,
        threads: int | None = None,
    ) -> None:
        self.task, self.seconds, self.threads = task, seconds, threads
        self.items, self.packed, self.one_way = labelled_graphs(task)
        self.bare = [LabelledGraph(i, i.node_labels) for i in self.items]
        y, mask = task.targets()
        self.mask = mask.numpy().reshape(len(y), -1)
        self.y = y.numpy().reshape(self.mask.shape)
        sizes = [item.num_nodes for item in self.items]
        self.on_nodes = task.level == "node"
        numbers = np.arange(len(self.items))
        self.owner = np.repeat(numbers, sizes) if self.on_nodes else numbers
        known = [data.get(GRAPH_X) for data in task.graphs]
        self.start: Classes = np.zeros(len(self.owner), dtype=np.int64)
        if known[0] is not None:
            rows = np.concatenate([vector.numpy().reshape(1, -1) for vector in known])
            self.start = joined(rows)[self.owner]
        self.known: dict[str, Classes] = {}
        self.forms: NDArray[np.int64] | None = None

    def climb(self, rung: Rung, progress: Progress | None = None) -> Finding:
        """Run a test where it can matter, and return what it leaves together."""
        weaker = [self.known[name] for name in rung.refines if name in self.known]
        before = joined(self.start, *weaker)
        open_ = in_conflict(before, self.y, self.mask)
        graphs = np.unique(self.owner[open_])
        tested = self._worth_it(graphs, before)

        def refined() -> Classes:
            if not tested.size:
                return before
            return self._refined(rung, before, graphs, tested, progress)

        return self._finding(rung.key, rung.label, tested.size, refined)

    def _finding(
        self, name: str, title: str, tested: int, classes: Callable[[], Classes]
    ) -> Finding:
        """Return collisions and floors of a partition, or why there is none."""
        assert self.task.kind is not None
        began = clock()
        try:
            self.known[name] = classes()
        except (_Slow, GraphInputError, MissingExtraError, MemoryError) as error:
            reason, took = str(error) or type(error).__name__, clock() - began
            return Finding(name, title, None, [], tested, took, left_out=reason)
        collisions = int(in_conflict(self.known[name], self.y, self.mask).sum())
        bounds = floors(self.task.kind, self.known[name], self.y, self.mask)
        return Finding(name, title, collisions, bounds, tested, clock() - began)

    def _worth_it(
        self, graphs: NDArray[np.int64], before: Classes
    ) -> NDArray[np.int64]:
        """Return a graph per isomorphism class that shares its colour with another."""
        if self.forms is None or self.on_nodes:
            return graphs
        colours, forms = before[graphs], self.forms[graphs]
        _, first = np.unique(joined(colours, forms), return_index=True)
        _, numbers, sizes = np.unique(
            colours[first], return_inverse=True, return_counts=True
        )
        return graphs[np.sort(first[sizes[numbers] > 1])]

    def _refined(
        self,
        rung: Rung,
        before: Classes,
        graphs: NDArray[np.int64],
        tested: NDArray[np.int64],
        progress: Progress | None,
    ) -> Classes:
        """Return the earlier classes, split by the colours of a test."""
        items = self.items if rung.edges else self.bare
        chosen = [items[g] for g in tested.tolist()]
        limit = clock() + self.seconds

        def move(done: int, total: int) -> None:
            if progress is not None:
                progress(done, total)
            if clock() > limit and done < total:
                raise _Slow(f"it takes more than {self.seconds:g} s")

        if self.on_nodes:
            batch = Batch.of(chosen)
            run = refine(rung.test, batch, max_rounds=rung.rounds, keep_history=False,
                         threads=self.threads)  # fmt: skip
            nodes = [run.colouring.node_items(g) for g in range(len(chosen))]
            colours = run.history[-1][np.concatenate(nodes)]
            extra = np.zeros((len(before), 2), dtype=np.uint64)
            extra[np.isin(self.owner, tested)] = colours
            return joined(before, extra)
        keys = graph_keys(rung.test, chosen, max_rounds=rung.rounds,
                          threads=self.threads, progress=move)  # fmt: skip
        extra = np.zeros((len(before), 3), dtype=np.uint64)
        extra[tested] = keys
        if self.forms is not None:  # isomorphic graphs have equal keys
            key_of = dict(zip(self.forms[tested].tolist(), keys, strict=True))
            for g, form in zip(graphs, self.forms[graphs].tolist(), strict=True):
                extra[g] = key_of.get(form, extra[g])
        return joined(before, extra)

    def find_forms(self, progress: Progress | None = None) -> Finding:
        """Find isomorphic graphs, or nodes in one orbit, where 1-WL leaves conflicts.

        Nothing can tell isomorphic graphs with different targets apart.
        """
        before = joined(self.start, self.known.get("1wl", self.start))
        open_ = np.flatnonzero(in_conflict(before, self.y, self.mask))

        def by_form() -> Classes:
            self.forms = self._forms(open_, progress)
            return joined(before, self.forms)

        return self._finding(ISOMORPHISM, ISOMORPHISM, open_.size, by_form)

    def _forms(
        self, open_: NDArray[np.int64], progress: Progress | None
    ) -> NDArray[np.int64]:
        """Return the number of the canonical form of every open object; others -1."""
        if open_.size > _FORMS:
            raise _Slow(f"{open_.size:,} canonical forms would take too long")
        forms = np.full(len(self.owner), -1, dtype=np.int64)
        table: dict[bytes, int] = {}
        limit = clock() + self.seconds
        for done, number in enumerate(open_.tolist(), start=1):
            digest = canonical_digest(self._marked(number))
            forms[number] = table.setdefault(digest, len(table))
            if progress is not None and not done % 256:
                progress(done, open_.size)
            if clock() > limit:
                raise _Slow(f"it takes more than {self.seconds:g} s")
        return forms

    def _marked(self, number: int) -> Graph:
        """Return a graph; for a node, its graph with the node marked."""
        item = self.items[int(self.owner[number])]
        if not self.on_nodes:
            return item
        node = number - int(np.searchsorted(self.owner, self.owner[number]))
        labels = item.node_labels
        marks = np.zeros(item.num_nodes, np.int64) if labels is None else labels
        marked = np.arange(item.num_nodes) == node
        rows = np.unique(np.column_stack([marks, marked]), axis=0, return_inverse=True)
        texts = [f"{a} {b}" for a, b in rows[0].tolist()]
        return LabelledGraph(
            item, [texts[i] for i in rows[1].reshape(-1)], item.edge_labels
        )
