r"""Hotelling's T²: do paired vectors differ by more than their scatter?

For pairs :math:`(x_i, y_i)`, i = 1..q, of d-dimensional vectors, with
:math:`D_i = x_i - y_i`, mean :math:`\bar D` and covariance S (divisor q - 1),

.. math:: T^2 = q\, \bar D^\top S^{-1} \bar D .

If the differences are normal with mean zero, T² follows
:math:`\frac{(q - 1)\, d}{q - d} F_{d,\, q - d}`. Its 95 % point for q = 32 and d = 16
is 72.34, the threshold of BREC.

BREC's released code omits the factor q, inverts S by a pseudoinverse in the model's
precision, and compares with the same 72.34. That is :func:`released_t2`, with two
consequences that :func:`hotelling_t2` avoids:

* Without q its 95 % point is 2.26, not 72.34: a model whose outputs are noise passes
  the reliability check practically always instead of 19 times in 20.
* S is singular when outputs do not vary among copies. The pseudoinverse then drops the
  directions without variance: two graphs with constant but *different* outputs get 0
  ("not separated"), and directions with only rounding errors are amplified.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError

EPSILON = {"float32": 1e-6, "float64": 1e-10}
"""Differences below this fraction of the outputs' size count as rounding errors."""


def epsilon_for(*outputs: ArrayLike) -> float:
    """Return the relative size of rounding errors of arrays in their precision.

    Example:
        >>> epsilon_for(np.ones(2, np.float32)), epsilon_for([1.0])
        (1e-06, 1e-10)
    """
    return EPSILON[_precision(*outputs).name]


def hotelling_t2(
    first: ArrayLike, second: ArrayLike, *, epsilon: float | None = None
) -> float:
    r"""Return :math:`q\, \bar D^\top (S + \rho^2 I)^{-1} \bar D`, in float64.

    :math:`\rho = \epsilon \cdot s`, where s is the root mean square of all entries of
    both arrays. ρ does not affect outputs with real scatter. Without scatter it stands
    for rounding errors (about 1e-7 s in float32): equal outputs give 0, differences of
    rounding size about 0, and a constant difference δ gives
    :math:`q\, |\delta|^2 / \rho^2`. T² does not depend on the scale of the outputs.

    Args:
        first: Outputs for one graph, ``[q, d]``.
        second: Outputs for the other, ``[q, d]``.
        epsilon: Relative size of rounding errors, above 0; by default that of the
            arrays' precision, :data:`EPSILON`.

    Raises:
        ConfigError: If the shapes differ, there are fewer than two pairs, an entry is
            not finite, or ``epsilon`` is not positive.

    Example:
        >>> round(hotelling_t2([[1.0], [3.0]], [[0.0], [0.0]]), 9)  # mean 2, variance 2
        4.0
        >>> hotelling_t2([[5.0], [5.0]], [[5.0], [5.0]])
        0.0
    """
    if epsilon is None:
        epsilon = epsilon_for(first, second)
    if not epsilon > 0:
        raise ConfigError(f"epsilon must be above 0, got {epsilon}.")
    x, y = _checked(first, second, np.dtype(np.float64))
    scale = float(np.abs([x, y]).max())
    if scale == 0:
        return 0.0
    x, y = x / scale, y / scale
    mean, covariance = _moments(x - y)
    variance, axes = np.linalg.eigh(covariance)  # [d], [d, d]
    floor = epsilon**2 * np.mean([x**2, y**2])
    along = axes.T @ mean  # [d]
    return float(len(x) * np.sum(along**2 / (np.maximum(variance, 0) + floor)))


def released_t2(first: ArrayLike, second: ArrayLike) -> float:
    r"""Return :math:`\bar D^\top S^+ \bar D`, as BREC's released code does.

    For comparison with published scores, in the precision of the arrays. The head of
    this module says how it differs from :func:`hotelling_t2`.

    Args:
        first: Outputs for one graph, ``[q, d]``.
        second: Outputs for the other, ``[q, d]``.

    Raises:
        ConfigError: If the shapes differ, there are fewer than two pairs, or an entry
            is not finite.

    Example:
        >>> released_t2([[1.0], [3.0]], [[0.0], [0.0]])
        2.0
    """
    kind = _precision(first, second)
    x, y = _checked(first, second, kind)
    mean, covariance = _moments(x - y)
    cutoff = x.shape[1] * float(np.finfo(kind).eps)
    return float(mean @ np.linalg.pinv(covariance, rcond=cutoff) @ mean)


def relative_spread(outputs: ArrayLike) -> float:
    r"""Return the scatter of outputs that should be equal, relative to their size.

    .. math:: \sqrt{\textstyle\sum_i |z_i - \bar z|^2 \,/\, \sum_i |z_i|^2}

    T² only tests whether two *means* agree, so pure noise passes it 19 times in 20.
    This number reveals it: about 1e-7 for an invariant model in float32, near 1 for
    noise.

    Args:
        outputs: Outputs for copies of one graph, ``[k, d]``.

    Example:
        >>> relative_spread([[3.0, 4.0], [3.0, 4.0]])
        0.0
        >>> relative_spread([[1.0], [-1.0]])
        1.0
    """
    z = np.asarray(outputs, np.float64)
    largest = np.abs(z).max(initial=0.0)
    if largest == 0:
        return 0.0
    z = z / largest
    return float(np.sqrt(np.sum((z - z.mean(axis=0)) ** 2) / np.sum(z**2)))


def critical_t2(num_pairs: int, dim: int) -> float:
    r"""Return the 95 % point of T² for q pairs of d dimensions, d below q.

    .. math:: \frac{(q - 1)\, d}{q - d}\, F^{-1}_{d,\, q - d}(0.95)

    Raises:
        ConfigError: If ``dim`` is not below ``num_pairs``.

    Example:
        >>> round(critical_t2(32, 16), 2)
        72.34
    """
    from scipy.special import fdtri

    q, d = check_positive("num_pairs", num_pairs, 2), check_positive("dim", dim)
    if d >= q:
        raise ConfigError(
            f"outputs of {d} dimensions need more than {d} copies of each graph, got "
            f"{q}; raise copies or let the model return fewer (BREC: 32 and 16)."
        )
    return float((q - 1) * d / (q - d) * fdtri(d, q - d, 0.95))


def _moments(difference: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return mean ``[d]`` and covariance ``[d, d]`` of ``[q, d]``, in its type."""
    mean = difference.mean(axis=0)
    scatter = difference - mean
    return mean, scatter.T @ scatter / difference.dtype.type(len(difference) - 1)


def _precision(*arrays: ArrayLike) -> np.dtype[Any]:
    """Return float32 if all arrays are floats of at most that size, else float64."""
    kind = np.result_type(*(np.asarray(array).dtype for array in arrays))
    small = kind.kind == "f" and kind.itemsize <= 4
    return np.dtype(np.float32 if small else np.float64)


def _checked(
    first: ArrayLike, second: ArrayLike, kind: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both as ``[q, d]`` of the given type."""
    x, y = np.asarray(first, kind), np.asarray(second, kind)
    if x.ndim != 2 or x.shape != y.shape or len(x) < 2:
        raise ConfigError(
            f"expected two arrays [q, d] of equal shape with q at least 2, got "
            f"{list(x.shape)} and {list(y.shape)}."
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ConfigError("T² needs finite numbers, but there is NaN or infinity.")
    return x, y
