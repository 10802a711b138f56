r"""What follows from shell sizes alone, whatever computed the walks.

At t = 0 a walk is where it starts, :math:`H^{(0)} = I`: a return is 1, the diagonal of
a shell (and of its squares) is :math:`|N_k(v)|`, every other sum is 0. AGG and COMBINE
are then those of all steps. The sizes themselves can be channels of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import (
    DIAGONAL,
    RETURN,
    SQUARES,
    Plan,
    divisor_value,
    plans,
)
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.kernel import kernel
from sekgnn.walks.modular import inverse


@kernel
def write_first_step(
    sizes: NDArray[np.int64], plan: Plan, prime: int, out: NDArray[Any]
) -> None:
    """Add t = 0 of one block to ``out[:, :, 0]``.

    Args:
        sizes: Shell sizes, ``[N, >= num_shells]``.
        plan: Of the block.
        prime: Compute modulo this number; 0 for floats.
        out: ``[N, C, L]``.
    """
    offsets, terms = plan.offsets, plan.terms
    diagonal = offsets[DIAGONAL]
    for i in range(terms.shape[0]):
        source, target, hop = terms[i, 0], terms[i, 1], terms[i, 3]
        back = source == offsets[RETURN]
        if offsets[SQUARES] >= 0 and source >= offsets[SQUARES]:
            source -= offsets[SQUARES]
        if not (back or diagonal <= source < diagonal + plan.num_shells):
            continue
        for v in range(sizes.shape[0]):
            whole = divisor_value(terms[i, 2], hop, sizes[v]) * terms[i, 4]
            if whole == 0:
                continue
            value = 1 if back else sizes[v, hop - 1]
            if prime == 0:
                out[v, target, 0] += value / whole
            else:
                part = value * inverse(whole, prime) % prime
                out[v, target, 0] = (out[v, target, 0] + part) % prime


def with_shell_sizes(
    encoding: WalkEncoding,
    walks: NDArray[Any],
    sizes: NDArray[np.int64] | None,
    prime: int = 0,
) -> NDArray[Any]:
    """Return the whole encoding: step 0 and channels of shell sizes as asked for.

    Args:
        encoding: What is computed.
        walks: Steps 1..l of all walks, ``[N, C_walks, l]``.
        sizes: :func:`~sekgnn.hops.shell_sizes` of every node, up to
            ``encoding.sized_shells``; ``None`` to leave their places zero.
        prime: Compute modulo this number; 0 for floats.

    Returns:
        ``[N, C, L]``; ``walks`` itself if there is nothing to add.
    """
    if not encoding.sized_shells:
        return walks
    num_nodes, channels, _ = walks.shape
    shape = num_nodes, encoding.num_channels, encoding.length
    out = np.zeros(shape, dtype=walks.dtype)
    out[:, :channels, 1 - encoding.first_step :] = walks
    if sizes is None:
        return out
    if encoding.first_step == 0:
        for plan, _ in plans(encoding):
            write_first_step(sizes, plan, prime, out)
    first = channels * encoding.length
    numbers = out.reshape(num_nodes, encoding.num_features)  # a view
    numbers[:, first : first + encoding.shell_sizes] = sizes[:, : encoding.shell_sizes]
    return out
