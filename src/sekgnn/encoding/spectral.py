r"""Raw sums in ``graph`` scope for small graphs, from one eigendecomposition.

On the quotient by twins, with class sizes μ and degrees d, the matrix
:math:`S_{cc'} = \sqrt{\mu_c \mu_{c'}}\,\tilde A_{cc'} / \sqrt{d_c d_{c'}}` is
symmetric, :math:`S = U \Lambda U^\top`. With :math:`Q = (\mu d)^{-1/2}\,U` the landing
probabilities are :math:`H^{(t)}_{ij} = \sum_r Q_{ir} \lambda_r^t Q_{jr} d_j`, so every
sum over pairs of two node sets is
:math:`\sum_r (\sum_i Q_{ir})(\sum_j d_j Q_{jr}) \lambda_r^t`: one :math:`O(q^3)` step
for all t. Squares of probabilities have no such form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import DIAGONAL, OFF_DIAGONAL, RETURN, TO_SHELL
from sekgnn.kernel import kernel
from sekgnn.walks.vector import add_rows


@kernel
def eigenvectors(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    sizes: NDArray[np.float64],
    degrees: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the eigenvalues of S, ``[q]``, and Q, ``[q, q]``."""
    q = sizes.size
    matrix = np.zeros((q, q))
    for c in range(q):
        for e in range(rows[c], rows[c + 1]):
            u = columns[e]
            matrix[c, u] = np.sqrt(sizes[c] * sizes[u] / (degrees[c] * degrees[u]))
    values, vectors = np.linalg.eigh(matrix)
    scaled = np.zeros((q, q))
    for c in range(q):
        if degrees[c] > 0:
            factor = 1.0 / np.sqrt(sizes[c] * degrees[c])
            for r in range(q):
                scaled[c, r] = factor * vectors[c, r]
    return values, scaled


@kernel
def spectral_sums(
    rows: NDArray[np.int64],
    columns: NDArray[np.int32],
    sizes: NDArray[np.float64],
    degrees: NDArray[np.float64],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    offsets: NDArray[np.int64],
    num_raw: int,
    steps: int,
    flat: NDArray[np.float64],
) -> None:
    """Write the raw sums of one graph, a row per twin class.

    Args:
        rows: Row starts of :func:`~sekgnn.graphs.twins.quotient`.
        columns: Its neighbours.
        sizes: Nodes in each class, ``[q]``.
        degrees: Degrees the walk sees, ``[W]`` with W the padded q, zero from q on.
        members: From :func:`~sekgnn.hops.levels.class_shells`.
        bounds: Likewise.
        offsets: Of the :class:`~sekgnn.encoding.channels.RawLayout`; no squares.
        num_raw: C_raw.
        steps: L, the walk length padded.
        flat: Written, zero before, flat ``[q, C_raw, L]``.
    """
    q = sizes.size
    raw = flat.reshape((q, num_raw, steps))
    width = degrees.size
    values, scaled = eigenvectors(rows, columns, sizes, degrees)
    powers = np.ones((q, steps))
    for r in range(q):
        power = 1.0
        for t in range(steps):
            power *= values[r]
            powers[r, t] = power
    table = np.zeros((q, width))
    table[:, :q] = scaled
    flat_table = table.reshape(-1)
    returns = np.dot(scaled * scaled, powers)
    for v in range(q):
        for t in range(steps):
            returns[v, t] *= degrees[v]
            raw[v, offsets[RETURN], t] = returns[v, t]
    starts, ends = np.zeros(q * width), np.zeros(q * width)
    for k in range(bounds.shape[1] - 1):
        present = False
        for v in range(q):
            low, high = bounds[v, k], bounds[v, k + 1]
            present = present or low < high
            sizes[v] -= 1  # v itself is in none of its shells
            add_rows(
                starts, v * width, 0.0, 1.0,
                flat_table, 0, width, width, sizes, members, low, high,
            )  # fmt: skip
            weights = sizes * degrees[:q]
            add_rows(
                ends, v * width, 0.0, 1.0,
                flat_table, 0, width, width, weights, members, low, high,
            )  # fmt: skip
            for a in range(low, high):
                u = members[a]
                for t in range(steps):
                    raw[v, offsets[DIAGONAL] + k, t] += sizes[u] * returns[u, t]
            sizes[v] += 1
        if not present:
            break
        from_shell = starts.reshape(q, width)[:, :q]
        to_shell = ends.reshape(q, width)[:, :q]
        landing = np.dot(scaled * to_shell, powers)
        total = np.dot(from_shell * to_shell, powers)
        for v in range(q):
            if bounds[v, k + 1] == bounds[v, k]:
                continue
            alone = bounds[v, k + 1] - bounds[v, k] == 1
            u = members[bounds[v, k]]
            alone = alone and sizes[u] - (u == v) == 1
            for t in range(steps):
                raw[v, offsets[TO_SHELL] + k, t] = landing[v, t]
                if not alone:  # one node has no pairs: exactly zero, not a rounding
                    raw[v, offsets[OFF_DIAGONAL] + k, t] = (
                        total[v, t] - raw[v, offsets[DIAGONAL] + k, t]
                    )
