"""Where data comes from: a benchmark by name, or a file of your own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sekgnn.checks import check_choice
from sekgnn.datasets import (
    DATASETS,
    QM9_TARGETS,
    TU_NAMES,
    GraphTask,
    NodeTask,
    QM9Dataset,
    link_task,
    node_task,
    pyg_task,
    read_task,
    register_dataset,
    tu_dataset,
)
from sekgnn.datasets.by_name import choose_targets, numbers_task
from sekgnn.datasets.graph_task import add_graph_features
from sekgnn.datasets.read_task import task_format
from sekgnn.datasets.shard_task import shard_task
from sekgnn.datasets.targets import TaskKind, unit_of
from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.graphs.graph_file import SUFFIX
from sekgnn.training.config import RunConfig


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


def _tu(
    name: str, target: Sequence[str], *, data_root: str | Path | None, **unused: Any
) -> GraphTask:
    if target:
        raise ConfigError(f"{name} has one target, its class; leave target out.")
    attributes = name.endswith(_ATTRIBUTES)
    dataset = tu_dataset(
        name.removesuffix(_ATTRIBUTES), data_root, use_node_attr=attributes
    )
    if attributes:  # from lengths of 800 to shares of 1: compared with the whole set
        x = dataset._data.x
        dataset._data.x = (x - x.mean(0)) / x.std(0).clamp(min=1e-6)
    kind: TaskKind = "binary" if dataset.num_classes == 2 else "multiclass"
    return replace(
        pyg_task(dataset, kind=kind),
        name=name,
        source="TU collection",
        reader={"format": "benchmark"},
    )


def _qm9(name: str, target: Sequence[str], **unused: Any) -> GraphTask:
    names = choose_targets("QM9", target, [each.name for each in QM9_TARGETS])
    dataset = QM9Dataset(hydrogens=name == "QM9")
    columns = [dataset.target_names.index(name) for name in names]
    graphs = dataset.to_pyg()
    for data in graphs:
        data.y = data.y[:, columns].contiguous()
    units = ", ".join(f"{QM9_TARGETS[c].name} in {QM9_TARGETS[c].unit}"
                      for c in columns)  # fmt: skip
    return numbers_task(
        graphs,
        names,
        name=name,
        source="qm9pack",
        units=units,
        target_units=tuple(QM9_TARGETS[c].unit for c in columns),
    )


_ATTRIBUTES = "_attributes"
_ATTRIBUTED = ("ENZYMES", "PROTEINS", "BZR", "COX2")
"""TU sets whose nodes have numbers beside a label; read where the name says so."""
for _name in (*TU_NAMES, *(name + _ATTRIBUTES for name in _ATTRIBUTED)):
    register_dataset(_name)(partial(_tu, _name))
for _name in ("QM9", "QM9_heavy"):
    register_dataset(_name)(partial(_qm9, _name))


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
        reader |= {"add_hydrogens": config.add_hydrogens, "smiles": config.smiles}
    task = replace(task, name=path.name, source="file", left_out=reasons)
    if config.features or config.descriptors != "none":
        reader |= {"features": config.features, "descriptors": config.descriptors}
        task = add_graph_features(task, config.features, config.descriptors)
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
    return shard_task(config.data, config.target, kind=kind)
