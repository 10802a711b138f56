"""EXP and CEXP: propositional formulas as graphs, satisfiable or not."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_choice
from sekgnn.datasets.collection import Collection
from sekgnn.datasets.pyg import as_data
from sekgnn.datasets.root import read_data_file
from sekgnn.graphs import LabelledGraph, pack_edge_indices, unpack

if TYPE_CHECKING:
    from torch_geometric.data import Data

NUM_NODE_LABELS = 2


class EXP(Collection[LabelledGraph]):
    """The 1200 graphs of EXP (Abboud et al. 2021), in 600 pairs.

    Graphs 2k and 2k + 1 are a pair: one formula is satisfiable and the other not, and
    1-WL on the labelled graphs cannot tell them apart. Node labels are 0 and 1.

    The usual protocol is accuracy over ten contiguous folds of 120, in this order.

    Args:
        root: The data folder; by default what ``SEKGNN_DATA`` names.

    Attributes:
        labels: Class 0 or 1 of every graph, opposite within a pair; int64 ``[1200]``.

    Raises:
        DataNotFoundError: If the file is missing.
        GraphInputError: If its SHA-256 is wrong.
    """

    _file = "exp"
    labels: NDArray[np.int64]

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        """Read the file."""
        content = io.BytesIO(read_data_file(self._file, root))
        with np.load(content, allow_pickle=False) as arrays:
            packed = pack_edge_indices(
                arrays["edge_index"], arrays["node_ptr"], arrays["edge_ptr"]
            )
            node_labels = np.split(arrays["x"], packed.node_ptr[1:-1])
            self.labels = arrays["y"].astype(np.int64)
        self.labels.flags.writeable = False
        super().__init__(
            LabelledGraph(graph, labels)
            for graph, labels in zip(unpack(packed), node_labels, strict=True)
        )

    def pairs(self) -> list[tuple[LabelledGraph, LabelledGraph]]:
        """Return the pairs (2k, 2k + 1)."""
        return list(zip(self[0::2], self[1::2], strict=True))

    def to_pyg(self) -> list[Data]:
        """Return the graphs as PyG data: ``x`` the one-hot label, ``y`` the class."""
        one_hot = np.eye(NUM_NODE_LABELS, dtype=np.float32)
        return [
            as_data(item.graph, x=one_hot[item.node_labels], y=label)
            for item, label in zip(self, self.labels.tolist(), strict=True)
        ]


class CEXP(EXP):
    """The 1200 graphs of CEXP: EXP of which 1-WL can solve one half.

    1-WL tells apart the pairs (2k, 2k + 1) with even k ("learn") and none of those with
    odd k ("exp").

    Args:
        root: The data folder; by default what ``SEKGNN_DATA`` names.

    Attributes:
        labels: Class 0 or 1 of every graph, opposite within a pair; int64 ``[1200]``.

    Raises:
        DataNotFoundError: If the file is missing.
        GraphInputError: If its SHA-256 is wrong.
    """

    _file = "cexp"

    def pairs(
        self, part: Literal["all", "learn", "exp"] = "all"
    ) -> list[tuple[LabelledGraph, LabelledGraph]]:
        """Return the pairs (2k, 2k + 1): all, or those 1-WL solves, or the others.

        Raises:
            ConfigError: If there is no such part.
        """
        parts = {
            "all": slice(None),
            "learn": slice(0, None, 2),
            "exp": slice(1, None, 2),
        }
        return super().pairs()[parts[check_choice("part", part, parts)]]
