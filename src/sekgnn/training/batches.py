"""The sources of a run's batches: graphs in memory, seeds of one graph, shards."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from sekgnn.datasets.graph_task import Y_MASK, GraphTask
from sekgnn.datasets.node_task import FEATURES, NodeTask
from sekgnn.datasets.shard_task import ShardTask
from sekgnn.encoding.encoder import encode
from sekgnn.encoding.node_ranges import RangePlan, check_ranges, encode_graph_file
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import CacheWarning, GraphInputWarning
from sekgnn.fields import GRAPH_NUMBER, SUB_ENC
from sekgnn.files import cache_folder, make_private
from sekgnn.models import GraphModel
from sekgnn.nn.batch_loader import BatchSource
from sekgnn.nn.hop_loader import GraphSource, GraphStore
from sekgnn.nn.neighbor_loader import SeedSource
from sekgnn.parallel import Progress
from sekgnn.transforms.encode_dataset import encode_cached

_SEED_NEIGHBORS = 10
Reads = tuple[int, SubstructureEncoding | None, str, int]
"""K, the encoding and its precision; and of a packed graph the number of layers."""


def model_reads(model: GraphModel, data: Any) -> Reads:
    """Return what batches of ``data`` must hold for a model."""
    layers = model.options.num_layers if isinstance(data, NodeTask) else 0
    return model.num_hops, model.encoding, model.precision, layers


def sampled(data: Any, max_neighbors: int | None) -> int | None:
    """Return how many nodes of a hop are sampled; of a packed graph never all."""
    if max_neighbors is None and isinstance(data, NodeTask):
        return _SEED_NEIGHBORS
    return max_neighbors


def task_source(
    data: GraphTask | Sequence[Any],
    reads: Reads,
    *,
    max_neighbors: int | None,
    seed: int,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> BatchSource:
    """Return the source of the batches of a task, or of graphs alone.

    Arguments are those of :func:`graph_source`, and what :func:`model_reads` returns.

    Raises:
        GraphInputError: If a graph cannot be used.
    """
    num_hops, encoding, dtype, _ = reads
    if isinstance(data, ShardTask):
        return ShardSource(data, num_hops, encoding, dtype, max_neighbors, seed)
    if isinstance(data, NodeTask):
        return _seed_source(data, reads, max_neighbors, seed, cache_dir, progress)
    return graph_source(
        data.graphs if isinstance(data, GraphTask) else data,
        num_hops,
        encoding,
        max_neighbors=max_neighbors,
        seed=seed,
        dtype=dtype,
        cache_dir=cache_dir,
        progress=progress,
    )


def graph_source(
    graphs: Sequence[Any],
    num_hops: int,
    encoding: SubstructureEncoding | None = None,
    *,
    max_neighbors: int | None = None,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> GraphSource:
    """Return the graphs of a run with their hops and encodings.

    Encodings are computed once, kept in ``cache_dir`` and mapped from the file there,
    so that batches read the rows they need and memory holds one copy for all processes.

    Args:
        graphs: With targets on them, or without.
        num_hops: K of the model.
        encoding: What the model reads, or ``None``.
        max_neighbors: Sample at most this many nodes per hop and node.
        seed: Of the sample of evaluation; training draws again every epoch.
        dtype: Of the encodings.
        cache_dir: Folder for encodings, which must exist; ``None`` for none.
        progress: Called with (done, total) while encodings are computed.

    Raises:
        GraphInputError: If a graph cannot be used.
    """
    store = GraphStore(graphs)
    encodings: torch.Tensor | RaggedEncoding | None = None
    if encoding is not None:
        encodings, _, _ = encode_cached(
            store.packed(), encoding, cache_dir, dtype=dtype, progress=progress
        )
    return GraphSource(store, num_hops, max_neighbors, seed=seed, encodings=encodings)


def _seed_source(
    data: NodeTask,
    reads: Reads,
    max_neighbors: int | None,
    seed: int,
    cache_dir: Path | None,
    progress: Progress | None,
) -> SeedSource:
    """Return nodes, or pairs, of one graph, of which memory holds what a batch needs.

    Encodings are computed by ranges of nodes, once, and mapped from ``cache_dir``; at
    most ``max_neighbors`` nodes are sampled per hop, node and layer.

    Raises:
        ConfigError: If the encoding is not computed by ranges of nodes, or would take
            hours.
    """
    num_hops, encoding, dtype, num_layers = reads
    rows: dict[str, Any] = {}
    if data.num_features:
        rows["x"] = data.file.nodes[FEATURES]
    temporary: Path | None = None
    if encoding is not None:
        check_ranges(encoding)
        plan = RangePlan(cast("WalkEncoding", encoding), dtype=dtype)
        key = json.dumps([data.file.fingerprint, plan.to_dict()], sort_keys=True)
        if cache_dir is None:
            cache_dir = temporary = Path(tempfile.mkdtemp(prefix="sekgnn-"))
        path = cache_dir / hashlib.sha256(key.encode()).hexdigest()
        rows[SUB_ENC] = encode_graph_file(data.file, plan, path, progress=progress)
    fields = zip(("y", Y_MASK), data.targets(), strict=True)
    source = SeedSource(
        data.file.graph,
        data.items,
        num_hops,
        num_layers,
        max_neighbors,
        rows,
        dict(fields) if len(data.y) else {},
        seed,
    )
    if temporary is not None:
        weakref.finalize(source, shutil.rmtree, temporary, True)
    return source


class ShardSource(BatchSource):
    """Graphs in shards, of which a batch reads what it needs.

    Encodings are read if the shards hold them, else computed for every batch; hops are
    found for every batch. Memory does not depend on the number of graphs, but for a few
    bytes of each. Arguments are those of :func:`graph_source`.

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
        seed: int = 0,
    ) -> None:
        self.data, self.num_hops, self.encoding = data, num_hops, encoding
        self.dtype, self.max_neighbors, self.seed = dtype, max_neighbors, seed
        kept = data.shards.manifest["parameters"]["dtype"]
        self.stored = encoding == data.encoding and np.can_cast(dtype, kept)
        if encoding is not None and encoding != data.encoding:
            text = (
                f"{data.name} holds other encodings than the model reads, which are "
                "computed for every batch; encode with the same parameters."
            )
            warnings.warn(text, GraphInputWarning, stacklevel=2)

    @property
    def num_items(self) -> int:
        """Number of graphs."""
        return len(self.data)

    def blocks(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the shard of every graph."""
        return self.data.shard_numbers[chosen]

    def draw(self, seed: int) -> ShardSource:
        """Return the same with the samples of ``seed``."""
        drawn = copy.copy(self)
        drawn.seed = seed
        return drawn

    def batch(self, numbers: Sequence[int]) -> Any:
        """Return the batch of some graphs, in rising order."""
        chosen = np.array(numbers, dtype=np.int64)
        names = ["values"] if self.encoding is not None and self.stored else []
        packed, arrays = self.data.read(chosen, ["x", *names], ["edge_attr"])
        values = arrays.pop("values", None)
        edges = {"edge_attr": arrays.pop("edge_attr")} if "edge_attr" in arrays else {}
        store = GraphStore.from_packed(
            packed,
            {name: torch.from_numpy(array) for name, array in arrays.items()},
            {name: torch.from_numpy(array) for name, array in edges.items()},
            self.data.target_fields(chosen),
        )
        encodings: Any = None
        if values is not None:
            encodings = torch.from_numpy(values.astype(self.dtype, copy=False))
        elif self.encoding is not None:
            made = encode(packed, self.encoding, dtype=self.dtype, threads=1)
            ragged = isinstance(made, RaggedEncoding)
            encodings = made if ragged else torch.from_numpy(made)
        source = GraphSource(
            store,
            self.num_hops,
            self.max_neighbors,
            seed=self.seed,
            encodings=encodings,
        )
        batch = source.batch(range(chosen.size))
        batch[GRAPH_NUMBER] = torch.from_numpy(chosen)
        return batch


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
