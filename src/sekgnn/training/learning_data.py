"""The data of a run: graphs, targets, and what is known about them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sekgnn.datasets import GraphTask, Split
from sekgnn.datasets.graph_task import Y_MASK
from sekgnn.datasets.targets import TaskKind
from sekgnn.errors import GraphInputError
from sekgnn.models.options import Level


@dataclass(frozen=True, eq=False)
class LearningData:
    """Graphs, targets, and what is known about them.

    Attributes:
        name: Of the dataset, or the path.
        task: Graphs and targets.
        source: Where they are from: ``"file"``, ``"generated"``, ...
        level: Whether targets are of graphs or of nodes.
        units: What the targets are measured in, in words.
        split: The published split, if there is one.
        reader: What is needed to read further graphs to predict on: ``format`` and the
            options of its reader.
    """

    name: str
    task: GraphTask
    source: str = "file"
    level: Level = "graph"
    units: str = "as given"
    split: Split | None = None
    reader: dict[str, Any] | None = None

    @property
    def kind(self) -> TaskKind:
        """Kind of the task."""
        assert self.task.kind is not None
        return self.task.kind

    @property
    def edge_channels(self) -> int:
        """Width of ``edge_attr``; 0 if some graph has none."""
        widths = {edge_width(data) for data in self.task.graphs}
        return widths.pop() if len(widths) == 1 else 0

    @property
    def classes(self) -> NDArray[np.int64] | None:
        """The class number of every graph, ``[G]``, where folds can be stratified."""
        if self.kind not in ("binary", "multiclass") or self.level == "node":
            return None
        return np.array([int(data.y) for data in self.task.graphs], dtype=np.int64)

    def fingerprint(self) -> str:
        """Return a SHA-256 of all graphs, features and targets."""
        digest = hashlib.sha256()
        for data in self.task.graphs:
            digest.update(int(data.num_nodes).to_bytes(8, "little"))
            for name in ("edge_index", "x", "edge_attr", "y", Y_MASK):
                value = data.get(name)
                if isinstance(value, torch.Tensor):
                    digest.update(f"{name}{list(value.shape)}".encode())
                    digest.update(np.ascontiguousarray(value.numpy()).tobytes())
        return digest.hexdigest()

    def targets(self) -> tuple[Tensor, Tensor]:
        """Return ``y`` of all graphs, ``[G]`` or ``[G, T]``, and where it is present.

        Rows are nodes where targets are of nodes.
        """
        graphs = self.task.graphs
        y = torch.cat([graph.y for graph in graphs])
        return y, torch.cat([graph[Y_MASK] for graph in graphs])

    def subset(self, chosen: NDArray[np.int64]) -> LearningData:
        """Return the data of the graphs at some positions, without their split."""
        return replace(self, task=self.task.subset(chosen), split=None)

    def describe(self) -> dict[str, Any]:
        """Return what a record says about the data."""
        classes = self.task.classes
        return {
            "name": self.name,
            "source": self.source,
            "fingerprint": self.fingerprint(),
            "graphs": len(self.task),
            "kind": self.kind,
            "level": self.level,
            "targets": list(self.task.target_names),
            "classes": None if classes is None else [str(label) for label in classes],
            "units": self.units,
        }


def edge_width(data: Any) -> int:
    """Return the width of a graph's ``edge_attr``; 0 if it has none."""
    attr = data.get("edge_attr")
    if attr is None:
        return 0
    return int(attr.size(1)) if attr.dim() > 1 else 1


def without_masked(data: LearningData) -> LearningData:
    """Return the data without graphs that have no target at all.

    Raises:
        GraphInputError: If none is left.
    """
    keep = np.flatnonzero(data.task.mask.any(axis=1))
    if keep.size == len(data.task):
        return data
    if not keep.size:
        raise GraphInputError(f"{data.name}: no graph has a target.")
    return data.subset(keep)
