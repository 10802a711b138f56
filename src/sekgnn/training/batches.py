"""The data of a run joined once, and loaders that cut batches out of it."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch.utils.data import DataLoader

from sekgnn.datasets.graph_task import Y_MASK
from sekgnn.datasets.node_task import FEATURES, NodeTask
from sekgnn.datasets.shard_task import ShardTask
from sekgnn.encoding.encoder import encode
from sekgnn.encoding.node_ranges import RangePlan, check_ranges, encode_graph_file
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import CacheWarning, GraphInputWarning
from sekgnn.fields import SUB_ENC
from sekgnn.files import cache_folder, make_private
from sekgnn.nn.graph_store import GraphStore
from sekgnn.nn.hop_loader import HopBatcher, HopStore
from sekgnn.nn.neighbor_loader import SeedBatcher
from sekgnn.parallel import Progress
from sekgnn.transforms.encode_dataset import encode_cached

WINDOW = 8
"""Shards whose graphs are mixed in training; fewer than are mapped at a time."""

GRAPH_NUMBER = "graph_number"
"""Where on a batch the position of every graph in the dataset is, int64 ``[G]``."""


class JoinedGraphs:
    """All graphs of a run with their hops and encodings.

    Encodings are computed once, kept in ``cache_dir`` and mapped from the file there,
    so that batches read the rows they need and memory holds one copy for all processes.

    Args:
        graphs: With targets on them, or without.
        num_hops: K of the model.
        encoding: What the model reads, or ``None``.
        max_neighbors: Sample at most this many nodes per hop and node; training draws
            again every epoch, evaluation uses one sample.
        seed: Of that sample.
        dtype: Of the encodings.
        cache_dir: Folder for encodings, which must exist; ``None`` for none.
        progress: Called with (done, total) while encodings are computed.

    Raises:
        GraphInputError: If a graph cannot be used.
    """

    def __init__(
        self,
        graphs: Sequence[Any],
        num_hops: int,
        encoding: SubstructureEncoding | None = None,
        *,
        max_neighbors: int | None = None,
        seed: int = 0,
        dtype: DTypeLike = np.float32,
        cache_dir: Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        store = GraphStore(graphs)
        self.num_graphs = store.num_graphs
        encodings: torch.Tensor | RaggedEncoding | None = None
        if encoding is not None:
            encodings, _, _ = encode_cached(
                store.packed(), encoding, cache_dir, dtype=dtype, progress=progress
            )
        fixed = HopStore(store, num_hops, max_neighbors)
        fixed.draw(seed)
        self.evaluation = HopBatcher(store, fixed, encodings)
        self.training = self.evaluation
        if max_neighbors is not None:
            drawn = HopStore(store, num_hops, max_neighbors)
            self.training = HopBatcher(store, drawn, encodings)

    evaluation: HopBatcher | SeedBatcher | ShardBatcher
    training: HopBatcher | SeedBatcher | ShardBatcher

    def batches(
        self,
        chosen: NDArray[np.int64],
        batch_size: int,
        seed: int | None = None,
        *,
        rank: int = 0,
        world: int = 1,
        num_workers: int = 0,
    ) -> BatchLoader:
        """Return a loader of the graphs at positions ``chosen``.

        With a ``seed``, of the order and the sample of every epoch, it is for training;
        without, order and sample stay, for evaluation. ``batch_size`` is that of all
        ``world`` processes together, of which this is number ``rank``.
        """
        blocks = self.blocks(chosen)
        order = EpochBatches(chosen, batch_size, seed, rank, world, blocks)
        batcher = self.evaluation if seed is None else self.training
        return BatchLoader(batcher, order, self.num_graphs, num_workers)

    def blocks(self, chosen: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return which graphs lie together and are to be read together, if any do."""
        return None


class JoinedSeeds(JoinedGraphs):
    """The items of a :class:`~sekgnn.datasets.NodeTask`, with the graph around them.

    Takes the place of :class:`JoinedGraphs`; what is in memory is what a batch needs.
    Encodings are computed by ranges of nodes, once, and mapped from ``cache_dir``. With
    ``max_neighbors``, at most so many nodes are sampled per hop, node and layer.

    Raises:
        ConfigError: If the encoding is not computed by ranges of nodes, or would take
            hours.
    """

    def __init__(
        self,
        data: NodeTask,
        num_hops: int,
        num_layers: int,
        encoding: SubstructureEncoding | None = None,
        *,
        max_neighbors: int | None = None,
        seed: int = 0,
        dtype: str = "float32",
        cache_dir: Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.num_graphs = len(data)
        rows: dict[str, Any] = {}
        if data.num_features:
            rows["x"] = data.file.nodes[FEATURES]
        if encoding is not None:
            check_ranges(encoding)
            plan = RangePlan(cast("WalkEncoding", encoding), dtype=dtype)
            key = json.dumps([data.file.fingerprint, plan.to_dict()], sort_keys=True)
            folder = cache_dir or Path(tempfile.mkdtemp(prefix="sekgnn-"))
            if cache_dir is None:
                self._kept = weakref.finalize(self, shutil.rmtree, folder, True)
            place = folder / hashlib.sha256(key.encode()).hexdigest()
            rows[SUB_ENC] = encode_graph_file(data.file, plan, place, progress=progress)
        known = zip(("y", Y_MASK), data.targets(), strict=True)
        own = dict(known) if len(data.y) else {}
        graph = data.file.graph, data.items
        self.evaluation, self.training = (
            SeedBatcher(*graph, num_hops, num_layers, max_neighbors, rows, own)
            for _ in range(2)
        )
        self.evaluation.draw(seed)


class StreamedGraphs(JoinedGraphs):
    """Graphs in shards, of which a batch reads what it needs.

    Takes the place of :class:`JoinedGraphs`, whose arguments it has. Encodings are read
    if the shards hold them, else computed for every batch; hops are found for every
    batch. Memory does not depend on the number of graphs, but for a few bytes of each.

    Warns:
        GraphInputWarning: If encodings are computed for every batch.
    """

    def __init__(
        self,
        data: ShardTask,
        num_hops: int,
        encoding: SubstructureEncoding | None = None,
        dtype: str = "float32",
        max_neighbors: int | None = None,
        seed: int | None = 0,
    ) -> None:
        self.data, self.num_graphs = data, len(data)
        kept = data.shards.manifest["parameters"]["dtype"]
        stored = encoding == data.encoding and np.can_cast(dtype, kept)
        if encoding is not None and encoding != data.encoding:
            text = (
                f"{data.name} holds other encodings than the model reads, which are "
                "computed for every batch; encode with the same parameters."
            )
            warnings.warn(text, GraphInputWarning, stacklevel=2)
        made = data, num_hops, encoding, stored, dtype, max_neighbors
        self.evaluation, self.training = ShardBatcher(*made), ShardBatcher(*made)
        self.evaluation.draw(seed or 0)

    def blocks(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shard of every graph."""
        return self.data.shard_numbers[chosen]


@dataclass(eq=False)
class ShardBatcher:
    """Makes batches of graphs in shards by number, in rising order.

    Arguments are those of :class:`StreamedGraphs`, and whether encodings are stored.
    """

    data: ShardTask
    num_hops: int
    encoding: SubstructureEncoding | None
    stored: bool
    dtype: str
    max_neighbors: int | None
    seed: int = 0

    def draw(self, seed: int) -> None:
        """Sample hops, where they are sampled, with ``seed`` from now on."""
        self.seed = seed

    def __call__(self, chosen: Sequence[int]) -> Any:
        """Return the batch of graphs ``chosen``, with one CSR per hop."""
        numbers = np.asarray(chosen, dtype=np.int64)
        names = ["values"] if self.encoding is not None and self.stored else []
        packed, arrays = self.data.read(numbers, ["x", *names], ["edge_attr"])
        values = arrays.pop("values", None)
        edges = {"edge_attr": arrays.pop("edge_attr")} if "edge_attr" in arrays else {}
        store = GraphStore.from_packed(
            packed,
            {name: torch.from_numpy(array) for name, array in arrays.items()},
            {name: torch.from_numpy(array) for name, array in edges.items()},
            self.data.target_fields(numbers),
        )
        hops = HopStore(store, self.num_hops, self.max_neighbors)
        hops.draw(self.seed)
        encodings: Any = None
        if values is not None:
            encodings = torch.from_numpy(values.astype(self.dtype, copy=False))
        elif self.encoding is not None:
            made = encode(packed, self.encoding, dtype=self.dtype, threads=1)
            ragged = isinstance(made, RaggedEncoding)
            encodings = made if ragged else torch.from_numpy(made)
        return HopBatcher(store, hops, encodings)(range(numbers.size))


def encoding_cache() -> Path | None:
    """Return the folder for encodings; ``None``, with a warning, if there is none."""
    folder = cache_folder() / "encodings"
    try:
        make_private(folder)
    except OSError as error:
        text = (
            f"encodings are not cached: {folder} cannot be made ({error.strerror}); "
            "name another folder in SEKGNN_CACHE."
        )
        warnings.warn(text, CacheWarning, stacklevel=2)
        return None
    return folder


class EpochBatches:
    """Which graphs are in which batch; epoch e depends on (seed, e) alone.

    Every batch is shared out among all processes, so that the batches of an epoch, and
    with them the gradients, are the same however many processes there are. What is left
    over for a last batch joins the one before if it is too small to share out.
    Arguments are those of :meth:`JoinedGraphs.batches`. With ``blocks``, the shard of
    every chosen graph, blocks are put in random order and graphs are mixed within
    ``WINDOW`` of them at a time, so that few shards are read at a time.
    """

    def __init__(
        self,
        chosen: NDArray[np.int64],
        batch_size: int,
        seed: int | None,
        rank: int = 0,
        world: int = 1,
        blocks: NDArray[np.int64] | None = None,
    ) -> None:
        self.chosen = np.asarray(chosen, dtype=np.int64)
        self.batch_size = batch_size
        self.seed, self.rank, self.world = seed, rank, world
        self.blocks = blocks
        self.epoch = 0
        count = self.chosen.size
        self.starts = list(range(0, count, batch_size))
        if len(self.starts) > 1 and count - self.starts[-1] < max(world, 2):
            self.starts.pop()

    @property
    def sampler(self) -> EpochBatches:
        """Itself: Lightning looks here for ``set_epoch``."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Make ``epoch`` the next one."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield this process's part of every batch."""
        order = self.chosen
        if self.seed is not None:
            state = np.random.SeedSequence([self.seed, self.epoch])
            rng = np.random.default_rng(state)
            order = rng.permutation(order) if self.blocks is None else self._mixed(rng)
        for start, stop in itertools.pairwise([*self.starts, order.size]):
            own = order[start:stop][self.rank :: self.world]
            if self.blocks is not None:
                own = np.sort(own)  # a shard after the other
            # fewer graphs than processes: some evaluate one twice, see Predictions
            yield own.tolist() if own.size else order[start : start + 1].tolist()

    def _mixed(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the chosen graphs, window after window of blocks."""
        assert self.blocks is not None
        turn = rng.permutation(int(self.blocks.max(initial=0)) + 1)
        window = turn[self.blocks] // WINDOW
        order: NDArray[np.int64] = self.chosen[
            np.lexsort((rng.random(window.size), window))
        ]
        return order


class BatchLoader(DataLoader[Any]):
    """Cuts the batches of an epoch out of the joined graphs."""

    def __init__(
        self,
        batcher: HopBatcher | SeedBatcher | ShardBatcher,
        order: EpochBatches,
        num_graphs: int,
        num_workers: int,
    ) -> None:
        self.batcher = batcher
        self.order = order
        super().__init__(
            cast("Any", range(num_graphs)),
            batch_sampler=cast("Any", order),
            collate_fn=self._cut,
            num_workers=num_workers,
            generator=torch.Generator(),  # else every epoch would draw from torch's
        )

    def __iter__(self) -> Any:
        """Start an epoch, with its own sample of neighbours."""
        if self.order.seed is not None:
            state = np.random.SeedSequence([self.order.seed, self.order.epoch, 1])
            self.batcher.draw(int(state.generate_state(1, np.uint64)[0]))
        return super().__iter__()

    def _cut(self, numbers: Sequence[int]) -> Any:
        batch = self.batcher(numbers)
        batch[GRAPH_NUMBER] = torch.tensor(numbers)
        return batch
