"""Datasets that ``data`` may name instead of a path: built-in ones, and your own.

Register a function that returns the task; its arguments come from the config::

    @register_dataset("mine")
    def mine(target, *, seed, generated, data_root):
        names = choose_targets("mine", target, ["size", "weight"])
        return numbers_task(my_pyg_graphs(names), names, name="mine", source="file")

``target`` holds the chosen names, ``seed`` and ``generated`` are the keys ``data_seed``
and ``generated``, and ``data_root`` is the folder of benchmarks. Graphs are PyG
``Data``; ``y`` is ``[1, T]``, or ``[n, T]`` for targets of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sekgnn.checks import check_choice
from sekgnn.datasets.graph_task import Y_MASK, GraphTask
from sekgnn.errors import ConfigError
from sekgnn.parameters import Registry

TU_NAMES = (
    "MUTAG",
    "PTC_MR",
    "PROTEINS",
    "ENZYMES",
    "BZR",
    "COX2",
    "IMDB-BINARY",
    "IMDB-MULTI",
)
"""TU datasets with a name."""
ATTRIBUTES = "_attributes"
ATTRIBUTED_NAMES = tuple(
    name + ATTRIBUTES for name in ("ENZYMES", "PROTEINS", "BZR", "COX2")
)
"""TU datasets with node attributes besides labels, read with the attributes."""
DATASETS: Registry[Any] = Registry(
    "dataset",
    None,
    {
        "counting": "sekgnn.paper.counting",
        "graph_property": "sekgnn.paper.graph_property",
        **dict.fromkeys((*TU_NAMES, *ATTRIBUTED_NAMES), "sekgnn.datasets.tu"),
        **dict.fromkeys(("QM9", "QM9_heavy"), "sekgnn.datasets.qm9"),
    },
)
"""Every dataset by name."""

register_dataset = DATASETS.register
"""``@register_dataset("name")`` registers a dataset of your own."""


def choose_targets(
    name: str, chosen: Sequence[str], available: Sequence[str]
) -> list[str]:
    """Return the chosen targets, checked to be available and distinct.

    Raises:
        ConfigError: If there are none, or one is unknown or named twice.
    """
    if not chosen:
        raise ConfigError(
            f"{name} has several targets; choose with target (--target) from "
            f"{', '.join(available)}."
        )
    if len(set(chosen)) != len(chosen):
        raise ConfigError(f"targets must be different, got {', '.join(chosen)}.")
    return [check_choice("target", target, available) for target in chosen]


def numbers_task(
    graphs: Sequence[Any], names: Sequence[str], **about: Any
) -> GraphTask:
    """Return a regression task without missing targets; ``about`` goes to the task."""
    import torch

    for data in graphs:
        data[Y_MASK] = torch.ones_like(data.y, dtype=torch.bool)
    return GraphTask(
        tuple(graphs),
        "regression",
        tuple(names),
        None,
        np.ones((len(graphs), len(names)), dtype=np.bool_),
        tuple(f"graph {i}" for i in range(len(graphs))),
        **about,
    )
