r"""What follows from shell sizes alone, whatever computed the walks.

At t = 0 a walk is where it starts, :math:`H^{(0)} = I`: a return is 1, the diagonal of
a shell (and of its squares) is :math:`|N_k(v)|`, every other sum is 0. AGG and COMBINE
are then those of all steps. The sizes themselves can be channels of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.encoding.channels import (
    DIAGONAL,
    RETURN,
    SQUARES,
    RawLayout,
    divisor_value,
    output_map,
)
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.kernel import kernel
from sekgnn.walks.modular import inverse


@kernel
def write_first_step(
    sizes: NDArray[np.int64],
    num_shells: int,
    offsets: NDArray[np.int64],
    terms: NDArray[np.int64],
    prime: int,
    out: NDArray[Any],
) -> None:
    """Add t = 0 of one block to ``out[:, :, 0]``.

    Args:
        sizes: Shell sizes, ``[N, >= num_shells]``.
        num_shells: S, of the block.
        offsets: Of the :class:`~sekgnn.encoding.channels.RawLayout`.
        terms: Of the :class:`~sekgnn.encoding.channels.OutputMap`.
        prime: Compute modulo this number; 0 for floats.
        out: ``[N, C, L]``.
    """
    for i in range(terms.shape[0]):
        source, target, hop = terms[i, 0], terms[i, 1], terms[i, 3]
        back = source == offsets[RETURN]
        if offsets[SQUARES] >= 0 and source >= offsets[SQUARES]:
            source -= offsets[SQUARES]
        if not (back or offsets[DIAGONAL] <= source < offsets[DIAGONAL] + num_shells):
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


def laid_out(spec: WalkEncoding, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the walks of ``spec.walks`` in their places of the whole encoding.

    Args:
        spec: What is computed.
        parts: Channels of the walks, in order, ``[N, C_i, l]`` each.

    Returns:
        ``[N, C, L]``, zero where :func:`add_shell_sizes` writes.
    """
    if len(parts) == 1 and parts[0].shape[1:] == (spec.num_channels, spec.length):
        return parts[0]
    shape = len(parts[0]), spec.num_channels, spec.length
    out = np.zeros(shape, dtype=parts[0].dtype)
    end = 0
    for part in parts:
        begin, end = end, end + part.shape[1]
        out[:, begin:end, 1 - spec.first_step :] = part
    return out


def add_shell_sizes(
    spec: WalkEncoding, sizes: NDArray[np.int64], out: NDArray[Any], prime: int = 0
) -> None:
    """Add step 0 and the channels of shell sizes to ``out``, as far as asked for.

    Args:
        spec: What is computed.
        sizes: :func:`~sekgnn.hops.shell_sizes` of every node, up to
            ``spec.sized_shells``.
        out: From :func:`laid_out`, ``[N, C, L]``.
        prime: Compute modulo this number; 0 for floats.
    """
    channel = 0
    for part in spec.walks.values():
        for block in part.blocks:
            mapping = output_map(part, block)
            if spec.first_step == 0:
                offsets = RawLayout.of(block, part.aggregate == "moments").offsets
                terms = mapping.arrays()
                terms[:, 1] += channel
                write_first_step(sizes, block.num_shells, offsets, terms, prime, out)
            channel += len(mapping.names)
    first = channel * spec.length
    numbers = out.reshape(len(out), spec.num_features)  # a view
    numbers[:, first : first + spec.shell_sizes] = sizes[:, : spec.shell_sizes]
