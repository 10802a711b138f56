"""Numbers that belong to whole graphs: columns of a table, descriptors of molecules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.targets import is_missing, not_a_number
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.fields import GRAPH_X
from sekgnn.graphs.molecules import descriptor_names, descriptors_of


def add_graph_features(
    task: GraphTask, columns: Sequence[str] = (), descriptors: str = "none"
) -> GraphTask:
    """Return a task whose graphs have features of their own, ``graph_x`` ``[1, D]``.

    They are ``columns`` of numbers, then with ``"rdkit"`` the descriptors of
    :func:`~sekgnn.graphs.molecules.descriptor_names`. Missing values are NaN; networks
    take the mean of the training graphs for them.

    Raises:
        ConfigError: If the task has no such column, or no SMILES.
        GraphInputError: If a value is not a number; names row and column.
    """
    import torch

    names = [*columns]
    parts = [_numbers(task, name) for name in columns]
    table = np.array(parts, dtype=np.float64).reshape(len(parts), len(task)).T
    if descriptors != "none":
        if task.texts is None:
            raise ConfigError(
                f"{task.name or 'the data'} holds no SMILES, of which descriptors are "
                "computed; leave descriptors out."
            )
        names += descriptor_names()
        rows = np.array([descriptors_of(text) for text in task.texts])
        table = np.concatenate([table, rows], axis=1)
    if not names:
        return task
    for data, row in zip(task.graphs, table, strict=True):
        data[GRAPH_X] = torch.from_numpy(row[None].copy())
    return replace(task, graph_feature_names=tuple(names))


def _numbers(task: GraphTask, name: str) -> list[float]:
    """Return a column as numbers."""
    out = []
    for value, place in zip(task.column(name), task.places, strict=True):
        out.append(_number(value, f"{task.name or 'graphs'}, {place}, column {name!r}"))
    return out


def _number(value: Any, place: str) -> float:
    if is_missing(value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise GraphInputError(
            f"{place}: {value!r} is not a number.{not_a_number(value)}"
        ) from None
