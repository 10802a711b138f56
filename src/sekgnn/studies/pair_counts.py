"""How many pairs of nodes share a label: counted by class, never pair by pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
"""One number per node; nodes are alike if their numbers are equal, ``[N]``."""


def together(*columns: Labels) -> Labels:
    """Return labels that are equal where all of ``columns`` are, numbered from 0.

    Example:
        >>> together(np.array([5, 5, 7]), np.array([0, 1, 1])).tolist()
        [0, 1, 2]
    """
    label = np.zeros(columns[0].size, dtype=np.int64)
    for column in columns:
        _, place = np.unique(column, return_inverse=True)
        label = label * (place.max(initial=0) + 1) + place
        _, label = np.unique(label, return_inverse=True)
    return label.astype(np.int64)


def prefix_labels(residues: NDArray[np.int64]) -> NDArray[np.int64]:
    """Label nodes by their first t returns, for every t.

    Args:
        residues: From :func:`~sekgnn.studies.return_residues.return_residues`,
            ``[N, L, 2]``.

    Returns:
        int64 ``[L, N]``; row t - 1 is equal where all returns up to step t are.
    """
    labels = np.zeros((residues.shape[1], residues.shape[0]), dtype=np.int64)
    before = np.zeros(residues.shape[0], dtype=np.int64)
    for t in range(residues.shape[1]):
        before = together(before, residues[:, t, 0], residues[:, t, 1])
        labels[t] = before
    return labels


def pairs_within(label: Labels) -> int:
    """Return the number of unordered pairs of nodes with equal labels.

    Example:
        >>> pairs_within(np.array([1, 1, 1, 2]))
        3
    """
    _, sizes = np.unique(label, return_counts=True)
    return int((sizes * (sizes - 1) // 2).sum())


def pairs_across(label: Labels, graph: Labels) -> int:
    """Return the number of pairs with equal labels whose nodes' graphs differ.

    Args:
        label: One per node.
        graph: The graph of each node.

    Example:
        >>> pairs_across(np.array([1, 1, 1, 2]), np.array([0, 0, 1, 1]))
        2
    """
    return pairs_within(label) - pairs_within(together(label, graph))
