"""Datasets that ``data`` may name besides a path: those of this library, and your own.

A dataset is a registered function, called with the keys of a config::

    @register_dataset("mine")
    def mine(target, *, seed, generated, data_root):
        names = choose_targets("mine", target, ["size", "weight"])
        return numbers_task(my_pyg_graphs(names), names, name="mine", source="file")

``target`` are the names asked for, ``seed`` and ``generated`` the keys ``data_seed``
and ``generated``, ``data_root`` the folder of benchmarks. The graphs are PyG's; ``y``
is ``[1, T]``, or ``[n, T]`` for targets of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sekgnn.checks import check_choice
from sekgnn.datasets.graph_task import Y_MASK, GraphTask
from sekgnn.errors import ConfigError
from sekgnn.registry import Registry


class _Datasets(Registry[Any]):
    """Functions by name that make data to learn from."""

    def takes(self, value: object) -> bool:
        """Return whether something can be registered here."""
        return callable(value)


DATASETS = _Datasets(
    "dataset",
    object,
    {
        "counting": "sekgnn.paper.counting",
        "graph_property": "sekgnn.paper.graph_property",
    },
)
"""Every dataset by name."""

register_dataset = DATASETS.register
"""``@register_dataset("name")`` makes a dataset of your own known."""


def choose_targets(name: str, given: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the targets that are asked for, each once and known.

    Raises:
        ConfigError: If none is, or one is unknown or named twice.
    """
    if not given:
        raise ConfigError(
            f"{name} has several targets; choose with target (--target) from "
            f"{', '.join(known)}."
        )
    if len(set(given)) != len(given):
        raise ConfigError(f"targets must be different, got {', '.join(given)}.")
    return [check_choice("target", target, known) for target in given]


def numbers_task(
    graphs: Sequence[Any], names: Sequence[str], **about: Any
) -> GraphTask:
    """Return a task of numbers, none missing, with what is known about it."""
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
