r"""A graph as one fixed vector, and the linear layer from it to the output.

Sums over nodes of encodings, alone and times the degree, determine many properties of a
graph linearly. A network that has them beside it need not learn that part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.errors import ConfigError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.nn.choices import POOLS
from sekgnn.nn.pooling import pool_names, pool_nodes
from sekgnn.nn.sparse_sum import csr_sum
from sekgnn.nn.standardizer import Standardizer


class PooledFeatures:
    r"""Everything known of a graph before anything is learned, as one vector.

    A node has :math:`u_v = [1 \,\|\, f_v \,\|\, x_v \,\|\, \sum_u e_{uv}]`, the vector
    of a graph is the concatenation of :math:`\mathrm{pool}_v(d_v^p u_v)` over powers
    p = 0..``powers`` of the degree and over the pools. For targets of nodes it is
    :math:`d_v^p u_v` itself.

    Args:
        encoding: What f is, or ``None``.
        in_channels: Width of x.
        edge_channels: Width of e.
        powers: Largest power of the degree.
        pools: One or several of sum, mean, std, max and min, joined by ``+``.
        level: ``"graph"`` or ``"node"``.
        graph_channels: Width of the features of graphs, which are appended.

    Attributes:
        num_features: P, the length of the vector.

    Raises:
        ConfigError: If a pool is unknown, or the encoding is ragged.
    """

    def __init__(
        self,
        encoding: SubstructureEncoding | None,
        in_channels: int,
        edge_channels: int,
        *,
        powers: int = 2,
        pools: str = "sum",
        level: str = "graph",
        graph_channels: int = 0,
    ) -> None:
        if encoding is not None and encoding.ragged:
            raise ConfigError(
                f"encoding {encoding.name!r} is ragged: it gives multisets, which a "
                "network alone can learn to sum. Ridge, forest and skip pool numbers; "
                "use another encoding, such as walks with aggregate moments, or a "
                "network without skip."
            )
        self.pools = pool_names("readout", pools, POOLS) if level == "graph" else ()
        self.powers = powers
        width = 1 + in_channels + edge_channels
        width += 0 if encoding is None else encoding.num_features
        self.num_features = width * (powers + 1) * max(len(self.pools), 1)
        self.num_features += graph_channels

    def __call__(self, inputs: GraphInputs) -> Tensor:
        """Return ``[G, P]``, or ``[N, P]`` for nodes."""
        return self.pool(self.rows(inputs), inputs)

    def rows(self, inputs: GraphInputs) -> Tensor:
        """Return :math:`d_v^p u_v` of all powers, ``[N, F]``."""
        degrees = inputs.hops.sizes(1).unsqueeze(1)  # [N, 1]
        known = [inputs.x, inputs.encoding]
        kind = next((part.dtype for part in known if part is not None), torch.float32)
        parts = [torch.ones_like(degrees, dtype=kind)]
        parts += [part.flatten(start_dim=1) for part in known if part is not None]
        if inputs.edges is not None:
            parts.append(csr_sum(inputs.edges.attr, inputs.edges.receivers))
        rows = torch.cat(parts, dim=1)
        return torch.cat([rows * degrees**p for p in range(self.powers + 1)], dim=1)

    def pool(self, rows: Tensor, inputs: GraphInputs) -> Tensor:
        """Return the pooled :meth:`rows` with the features of graphs, ``[G, P]``."""
        if not self.pools:
            return rows
        pooled = [pool_nodes(rows, inputs.graphs, pool) for pool in self.pools]
        if inputs.graph_x is not None:
            pooled.append(inputs.graph_x.to(rows.dtype))
        return torch.cat(pooled, dim=1)


class LinearSkip(nn.Module):
    r"""Linear layer from the fixed vector of a graph to the output.

    .. math:: o = W \operatorname{diag}(1/\sqrt{w})\, z

    with z the vector rotated to its principal axes (:class:`~sekgnn.nn.Standardizer`)
    and w their variances: uncorrelated inputs of one size, which gradient descent
    learns from at once. W starts at zero, so that nothing is added before it is
    learned or solved.

    Args:
        features: The fixed vector.
        out_channels: Width of the output.
    """

    def __init__(self, features: PooledFeatures, out_channels: int) -> None:
        super().__init__()
        self.features = features
        self.standardizer = Standardizer(features.num_features, "rotate")
        self.weight = nn.Parameter(torch.zeros(out_channels, features.num_features))

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.weight)

    def fit_inputs(self, inputs: Callable[[], Iterator[GraphInputs]]) -> None:
        """Fit the axes to graphs, given in pieces."""
        self.standardizer.fit(lambda: (self.features(part) for part in inputs()))

    def rotated(self, inputs: GraphInputs) -> Tensor:
        """Return z, ``[G, P]``."""
        z: Tensor = self.standardizer(self.features(inputs))
        return z

    def set_solution(self, weight: Tensor) -> None:
        """Take the weights that were solved for z itself, ``[out_channels, P]``."""
        gain = self.standardizer.whitening().double()
        solved = torch.where(gain > 0, weight.to(gain) / gain, 0.0)
        with torch.no_grad():
            self.weight.copy_(solved)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[G, out_channels]``."""
        return self.of_pooled(self.features(inputs))

    def of_pooled(self, pooled: Tensor) -> Tensor:
        """Return ``[G, out_channels]`` from the fixed vectors, ``[G, P]``."""
        z: Tensor = self.standardizer(pooled)
        return F.linear(z * self.standardizer.whitening(), self.weight)
