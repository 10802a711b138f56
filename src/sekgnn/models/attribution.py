r"""Which nodes an output rests on: exact for linear layers, else integrated gradients.

An output is :math:`o = g(u) + s(r)` with the network g, the inputs u of its nodes (x, f
and the edges' features), the linear layer s beside it (``skip``) and the rows r that it
pools.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.graph_model import GraphModel

STEPS = 32
"""Points of the integral; networks are smooth enough that more change nothing."""


def contributions(
    model: GraphModel, data: Any, *, steps: int = STEPS
) -> tuple[Tensor, Tensor]:
    r"""Return what every node contributes to the outputs of its graph.

    For the inputs :math:`u_v` of node v, which are taken from 0 to their values on a
    straight line (integrated gradients, Sundararajan et al. 2017),

    .. math:: c_v = u_v \cdot \int_0^1 \nabla_{u_v} g(\alpha u)\, d\alpha

    by Gauss-Legendre's rule; half of an edge's share goes to each of its ends. The
    linear layer beside the network adds the terms of its sum over nodes, exactly.
    Multisets of an encoding stay as they are: what only they say belongs to no node.

    Args:
        model: Of graphs, trained in epochs or in closed form.
        data: A graph or batch that it can read.
        steps: Number of points of the integral.

    Returns:
        Contributions float64 ``[N, O]``, and what no node contributes to, ``[G, O]``:
        the output less the sum of its graph's contributions.

    Raises:
        ConfigError: If the model has no gradients, as trees, or is not of graphs.
    """
    check_positive("steps", steps)
    if model.level != "graph" or not (model.learns or model.skip is not None):
        raise ConfigError(
            f"model {model.name!r} cannot say what nodes contribute; use a network or "
            "ridge for targets of graphs."
        )
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            inputs = model.prepare(data)
            whole = model.compute(inputs)  # [G, O]
        out = whole.new_zeros(inputs.num_nodes, whole.size(1), dtype=torch.float64)
        for column in range(whole.size(1)):
            if model.branches:
                out[:, column] += _integrated(_network(model, column), inputs, steps)
            if model.skip is not None:
                out[:, column] += _linear(model, inputs, column, steps)
    finally:
        model.train(was_training)
    sums = whole.new_zeros(whole.shape, dtype=torch.float64)
    sums.index_add_(0, _graph_of_nodes(inputs), out)
    return out, whole.double() - sums


def _graph_of_nodes(inputs: GraphInputs) -> Tensor:
    return torch.repeat_interleave(inputs.graphs.row_sizes())  # [N]


def _network(model: GraphModel, column: int) -> Callable[[GraphInputs], Tensor]:
    """Return one output of the network alone, summed over graphs, which never meet."""
    return lambda inputs: model.head(model.represent(inputs))[:, column].sum()


def _integrated(
    compute: Callable[[GraphInputs], Tensor], inputs: GraphInputs, steps: int
) -> Tensor:
    """Return the integrated gradients of a sum over graphs, ``[N]``."""
    edges = inputs.edges
    known = [inputs.x, inputs.encoding, None if edges is None else edges.attr]

    def scaled(values: Sequence[Tensor | None]) -> Tensor:
        x, encoding, attr = values
        given = inputs._replace(x=x, encoding=encoding)
        if edges is not None and attr is not None:
            given = given._replace(edges=edges._replace(attr=attr))
        return compute(given)

    x, encoding, attr = _path(scaled, known, steps)
    out = torch.zeros(inputs.num_nodes, dtype=torch.float64)
    for part in (x, encoding):
        if part is not None:
            out += part.flatten(1).sum(1).cpu()
    if attr is not None and edges is not None:
        half = attr.sum(1).cpu() / 2  # [M_1]
        receiver = torch.repeat_interleave(edges.receivers.row_sizes()).cpu()
        out.index_add_(0, receiver, half[edges.receivers.indices.cpu().long()])
        out.index_add_(0, edges.sender.cpu(), half)
    return out


def _linear(model: GraphModel, inputs: GraphInputs, column: int, steps: int) -> Tensor:
    """Return the terms of the linear layer's sum over nodes, ``[N]``."""
    skip = model.skip
    assert skip is not None
    pools = skip.features.pools

    def compute(values: Sequence[Tensor | None]) -> Tensor:
        (rows,) = values
        assert rows is not None
        return skip.of_pooled(skip.features.pool(rows, inputs))[:, column].sum()

    points = steps if set(pools) - {"sum", "mean"} else 1  # the gradient is constant
    (part,) = _path(compute, [skip.features.rows(inputs)], points)
    assert part is not None
    return part.sum(1).cpu()


def _path(
    compute: Callable[[Sequence[Tensor | None]], Tensor],
    values: Sequence[Tensor | None],
    steps: int,
) -> list[Tensor | None]:
    """Return each tensor times the mean gradient on the way to it from 0, float64."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    totals = [
        torch.zeros_like(torch.empty(0) if value is None else value).double()
        for value in values
    ]
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        leaves = [
            None if v is None else (v.detach() * float(point)).requires_grad_()
            for v in values
        ]
        asked = [leaf for leaf in leaves if leaf is not None and leaf.numel()]
        if not asked:
            break
        try:
            found = torch.autograd.grad(compute(leaves), asked, allow_unused=True)
        except NotImplementedError as error:  # of torch: an operation without gradient
            raise ConfigError(
                f"the model cannot say what nodes contribute: {error}."
            ) from error
        slopes = iter(found)
        for i, leaf in enumerate(leaves):
            if leaf is None or not leaf.numel():
                continue
            slope = next(slopes)
            if slope is not None:
                totals[i] += float(weight) * slope.double()
    return [
        None if value is None else mean * value.double()
        for mean, value in zip(totals, values, strict=True)
    ]
