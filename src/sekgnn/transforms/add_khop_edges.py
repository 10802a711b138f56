"""K-hop neighbourhoods as a PyG transform."""

from __future__ import annotations

from typing import cast, get_args

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from sekgnn import fields
from sekgnn.checks import check_choice, check_memory, check_positive, check_seed
from sekgnn.graphs import SelfLoops, Undirected, from_pyg
from sekgnn.graphs.cleaning import check_rules
from sekgnn.hops import HopKernel, hop_pairs
from sekgnn.parallel import resolve_threads
from sekgnn.transforms.pyg_data import check_data, device_of


@functional_transform("add_khop_edges")
class AddKHopEdges(BaseTransform):
    r"""Write all pairs :math:`u \in N_k(v)`, k = 1..K, as edges with their hop.

    ``data.hop_edge_index[0]`` is the neighbour u, which sends, and ``[1]`` the node v,
    which receives, as in PyG's flow ``source_to_target``; ``data.hop_order`` is k. The
    pairs are sorted by (k, v, u). A graph without pairs gets the same fields, empty.

    Args:
        num_hops: K, at least 1.
        kernel: ``"shortest_path"``, the nodes at distance k, or ``"diffusion"``, those
            that a walk of exactly k steps can reach (then v may be its own neighbour).
        max_neighbors: Keep at most this many nodes of each :math:`N_k(v)`, drawn
            uniformly; ``None`` keeps all. A sample is not symmetric, and depends on the
            numbering of the nodes.
        seed: Seed of the samples; the same for every graph, so that the transform is a
            function of the graph alone.
        undirected: ``"error"`` or ``"add"`` when an edge lacks its reverse;
            ``edge_index`` itself is unchanged.
        loops: Edges from a node to itself: ``"drop"`` (with a warning; in
            ``edge_index`` they stay) or ``"error"``.
        threads: Threads for one graph; ``None`` for all usable cores. Never changes the
            result, so it is not in the repr.

    Shapes:
        - **input:** a ``Data`` with ``edge_index`` :math:`(2, E)` and a known number of
          nodes (``x`` or ``num_nodes``)
        - **output:** ``hop_edge_index`` :math:`(2, M)` and ``hop_order`` :math:`(M)`,
          both int64

    Raises:
        ConfigError: If a parameter cannot work.
        GraphInputError: When called on a ``HeteroData`` or an unusable graph.

    Example:
        >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> data = AddKHopEdges(2)(Data(edge_index=edge_index, num_nodes=3))
        >>> data.hop_edge_index[:, data.hop_order == 2].tolist()
        [[2, 0], [0, 2]]
    """

    def __init__(
        self,
        num_hops: int,
        *,
        kernel: HopKernel = "shortest_path",
        max_neighbors: int | None = None,
        seed: int = 0,
        undirected: Undirected = "error",
        loops: SelfLoops = "drop",
        threads: int | None = 1,
    ) -> None:
        self.num_hops = check_positive("num_hops", num_hops)
        self.kernel = cast(
            HopKernel, check_choice("kernel", kernel, get_args(HopKernel))
        )
        self.max_neighbors = (
            None
            if max_neighbors is None
            else check_positive("max_neighbors", max_neighbors)
        )
        self.seed = check_seed(seed)
        check_rules(undirected, loops)
        self.undirected, self.loops = undirected, loops
        self.threads = None if threads is None else resolve_threads(threads)

    def forward(self, data: Data) -> Data:
        """Write the pairs on ``data``."""
        graph = from_pyg(check_data(data), undirected=self.undirected, loops=self.loops)
        hops = hop_pairs(
            graph,
            self.num_hops,
            kernel=self.kernel,
            max_neighbors=self.max_neighbors,
            seed=self.seed,
            threads=self.threads,
        )
        check_memory(
            24 * hops.num_pairs,
            f"the list of {hops.num_pairs:,} pairs of nodes",
            "sample the hops with max_neighbors, or take fewer hops",
        )
        edges = torch.from_numpy(np.stack([hops.col, hops.row]))  # [2, M]
        order = torch.from_numpy(hops.hop)  # [M]
        device = device_of(data)
        data[fields.HOP_EDGE_INDEX] = edges.to(device)
        data[fields.HOP_ORDER] = order.to(device)
        return data

    def __repr__(self) -> str:
        """Every parameter that changes the result; PyG detects stale caches by it."""
        keys = ("num_hops", "kernel", "max_neighbors", "seed", "undirected", "loops")
        args = ", ".join(f"{key}={getattr(self, key)!r}" for key in keys)
        return f"{type(self).__name__}({args})"
