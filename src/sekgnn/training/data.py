"""The data that a config names, and the source of a model's batches of them.

Sources are of three kinds: graphs in memory, seeds of one huge graph, shards.
"""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.datasets import (
    DATASETS,
    GraphTask,
    NodeTask,
    link_task,
    node_task,
    read_task,
)
from sekgnn.datasets.graph_task import Y_MASK, add_graph_features
from sekgnn.datasets.molecule_notes import bound_notes, molecule_notes, unit_notes
from sekgnn.datasets.node_task import FEATURES
from sekgnn.datasets.read_task import task_format
from sekgnn.datasets.shard_task import ShardTask, shard_task
from sekgnn.datasets.targets import unit_of
from sekgnn.encoding.encoder import encode
from sekgnn.encoding.node_ranges import RangePlan, check_ranges, encode_graph_file
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import (
    CacheWarning,
    ConfigError,
    GraphInputError,
    GraphInputWarning,
)
from sekgnn.fields import GRAPH_NUMBER, SUB_ENC
from sekgnn.files import cache_folder, make_private
from sekgnn.graphs.graph_file import SUFFIX
from sekgnn.graphs.read_options import MOLECULE_OPTIONS
from sekgnn.models import GraphModel
from sekgnn.nn.batch_loader import BatchSource
from sekgnn.nn.hop_loader import GraphSource, GraphStore
from sekgnn.nn.neighbor_loader import SeedSource
from sekgnn.parallel import Progress
from sekgnn.training.config import RunConfig
from sekgnn.transforms.encode_dataset import encode_cached

_SEED_NEIGHBORS = 10
Reads = tuple[int, SubstructureEncoding | None, str, int]
"""K, the encoding and its precision; and of a packed graph the number of layers."""


def load_data(config: RunConfig, data_root: str | Path | None = None) -> GraphTask:
    """Return the data that a config names.

    Args:
        config: Its keys ``data``, ``target``, ``kind``, ...
        data_root: The data folder of benchmarks; by default what ``SEKGNN_DATA`` names.

    Raises:
        ConfigError: If there is no such dataset, file or target.
        GraphInputError: If a file is wrong.
        DataNotFoundError: If benchmark data is missing and not available.
    """
    name = config.data
    if not name:
        raise ConfigError(
            "no data is named; give a dataset "
            f"({', '.join(DATASETS)}) or a file of your own."
        )
    described = config.descriptors != "none"
    for wanted in DATASETS:
        if name.lower() in (wanted.lower(), wanted.replace("_", "-").lower()):
            asked = [*config.columns, *([config.descriptors] * described)]
            if asked:
                raise ConfigError(
                    f"{wanted} is a benchmark, without column or descriptors "
                    f"{asked[0]!r}; those are for files of your own."
                )
            task: GraphTask = DATASETS[wanted](
                config.target,
                seed=config.data_seed,
                generated=config.generated,
                data_root=data_root,
            )
            return task if task.name else replace(task, name=wanted)
    if not Path(name).exists():
        try:
            check_choice("data", name, DATASETS)
        except ConfigError as error:
            raise ConfigError(f"there is no file {name}, and {error}") from None
    return _own(config)


def _own(config: RunConfig) -> GraphTask:
    path = Path(config.data)
    if path.suffix.lower() == SUFFIX:
        return _one_graph(config)
    form = task_format(path)
    if form == "shards":
        return _shards(config)
    if form != "tu" and not config.target:
        raise ConfigError(
            f"say what to predict: name a {'column' if form == 'smiles' else 'key'} "
            f"of {path} with target (--target)."
        )
    kind: Any = config.kind  # checked by the reader
    left_out: list[Any] = []
    task = read_task(
        path,
        config.target,
        kind=kind,
        columns=config.columns,
        on_invalid=left_out.append,
        smiles=config.smiles,
        skip_invalid=config.skip_invalid,
        add_hydrogens=config.add_hydrogens,
        stereo=config.stereo,
    )
    if task.kind is None:
        raise GraphInputError(f"{path} holds no targets to learn.")
    reasons = {"SMILES that rdkit cannot read": len(left_out)} if left_out else {}
    if left_out:
        count = len(left_out) + len(task)
        text = f"{len(left_out)} of {count} SMILES in {path} are left out."
        warnings.warn(text, GraphInputWarning, stacklevel=2)
    reader: dict[str, Any] = {"format": form}
    if form == "smiles":
        kept = ("smiles", *MOLECULE_OPTIONS)
        reader |= {name: getattr(config, name) for name in kept}
    notes = molecule_notes(task, config.stereo) if form == "smiles" else []
    if form == "smiles" and path.suffix.lower() != ".smi":
        notes += unit_notes(path)
    notes += bound_notes(task)
    task = replace(
        task, name=path.name, source="file", left_out=reasons, notes=tuple(notes)
    )
    descriptors = config.carried if form == "smiles" else config.descriptors
    if config.features or descriptors != "none":
        reader |= {"features": config.features, "descriptors": descriptors}
        task = add_graph_features(task, config.features, descriptors)
    units = tuple(unit_of(name) for name in task.target_names)
    if task.kind != "regression" or not any(units):
        units = ()
    return replace(task, reader=reader, target_units=units)


def _one_graph(config: RunConfig) -> NodeTask:
    """Return nodes or links of a graph file."""
    for name in ("features", "sample_weight"):
        if getattr(config, name):
            raise ConfigError(f"{name} is for tables; a graph file has arrays.")
    if config.level == "link":
        if config.target:
            raise ConfigError("level link has one target, the link; leave target out.")
        return link_task(config.data, config.data_seed)
    if len(config.target) > 1:
        raise ConfigError("name one array of the graph file as target.")
    kind: Any = config.kind
    (target,) = config.target or ("y",)
    return node_task(config.data, target, kind)


def _shards(config: RunConfig) -> GraphTask:
    """Return the graphs of a folder of shards, which are read as they are needed."""
    asked = config.columns or ("rdkit",) * (config.descriptors != "none")
    if asked:
        raise ConfigError(
            f"{config.data} is a folder of shards, without column or descriptors "
            f"{asked[0]!r}; train on the table itself, or leave it out."
        )
    kind: Any = config.kind
    task = shard_task(config.data, config.target, kind=kind)
    return replace(task, notes=tuple(bound_notes(task)))


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
    max_neighbors: int | None = None,
    seed: int = 0,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> BatchSource:
    """Return the source of the batches of a task, or of graphs alone.

    Encodings are computed once, kept in ``cache_dir`` and mapped from the file there,
    so that batches read the rows they need and memory holds one copy for all processes.

    Args:
        data: With targets, or without.
        reads: What :func:`model_reads` returns.
        max_neighbors: Sample at most this many nodes per hop and node.
        seed: Of the sample of evaluation; training draws again every epoch.
        cache_dir: Folder for encodings, which must exist; ``None`` for none.
        progress: Called with (done, total) while encodings are computed.

    Raises:
        GraphInputError: If a graph cannot be used.
    """
    num_hops, encoding, dtype, _ = reads
    if isinstance(data, ShardTask):
        return ShardSource(data, num_hops, encoding, dtype, max_neighbors, seed)
    if isinstance(data, NodeTask):
        return _seed_source(data, reads, max_neighbors, seed, cache_dir, progress)
    store = GraphStore(data.graphs if isinstance(data, GraphTask) else data)
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
    bytes of each. Arguments are those of :func:`task_source`.

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
