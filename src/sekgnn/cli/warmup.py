"""``sekgnn warmup``: compile everything now, for images and continuous integration."""

from __future__ import annotations

from contextlib import suppress

from sekgnn.cli.printing import say


def warmup() -> None:
    """Compile all kernels now, so that no later command has to."""
    from sekgnn.kernel import compile_seconds, kernel_folder

    for compile in (_hops_and_walks, _encodings, _tests, _networks):
        compile()
    say(
        f"compiled for {compile_seconds():.1f} s; compiled code is in {kernel_folder()}"
    )


def _hops_and_walks() -> None:
    """Search both kinds of hops, sampled or not, and walk from every node."""
    import numpy as np

    from sekgnn.graphs import cycle_graph
    from sekgnn.hops import hop_pairs
    from sekgnn.walks import (
        landing_probabilities,
        modular_landing,
        return_probabilities,
    )
    from sekgnn.walks.between import walks_between

    graph = cycle_graph(5)
    hop_pairs(graph, 2)
    hop_pairs(graph, 2, kernel="diffusion", max_neighbors=1)
    landing_probabilities(graph, 2)
    modular_landing(graph, 2)
    return_probabilities(graph, 2)
    walks_between(graph, np.array([[0, 2]]))


def _encodings() -> None:
    """Encode a small graph by every backend, and exactly."""
    from dataclasses import replace

    from sekgnn.encoding import (
        ENCODINGS,
        WalkEncoding,
        encode,
        encode_exact,
        encode_sampled,
    )
    from sekgnn.graphs import cycle_graph, pack, pack_edge_indices

    graph = cycle_graph(5)
    pack_edge_indices(graph.edge_index(), [0, 5], [0, 10])
    plain = WalkEncoding(num_shells=2, walk_length=2, first_step=0)
    everywhere = replace(plain, scope=("graph", "ego", "internal"), radius=2)
    for backend in ("dense", "spectral", "push"):
        encode(graph, plain, backend=backend)
    encode(graph, everywhere)
    encode(graph, plain, dtype="float32")
    encode(graph, replace(everywhere, aggregate="learned", first_step=1))
    encode_exact(graph, everywhere)
    encode_sampled(graph, plain, num_walks=2, seed=0)
    for name in ENCODINGS:
        encoding = ENCODINGS[name]()
        encoding.encode(pack([graph]))


def _tests() -> None:
    """Run every Weisfeiler-Lehman test, with every exact encoding, and explain it."""
    from sekgnn.errors import MissingExtraError
    from sekgnn.graphs import cycle_graph, path_graph
    from sekgnn.wl import compare
    from sekgnn.wl.by_name import EXACT_ENCODINGS, TESTS

    for name in TESTS:
        with suppress(MissingExtraError):
            compare(cycle_graph(4), path_graph(4), name).explain()
    for name in EXACT_ENCODINGS:
        compare(cycle_graph(4), path_graph(4), "sek", encodings=(name,))


def _networks() -> None:
    """Pass messages over hops, forwards and backwards, in both precisions."""
    import numpy as np
    import torch
    from torch_geometric.data import Data

    from sekgnn.graphs import cycle_graph, pack
    from sekgnn.hops import hop_pairs
    from sekgnn.models.forest import DecisionTrees
    from sekgnn.nn import HopLoader
    from sekgnn.nn.hop_matrices import hop_csr
    from sekgnn.nn.sparse_sum import Csr, csr_sum, hop_mix
    from sekgnn.paper.graph_kernels import KernelGraphs, TangentKernel
    from sekgnn.paper.overlaps import overlap_weights

    DecisionTrees(1, 1)(torch.ones(1, 1))
    TangentKernel((1,)).between(KernelGraphs(pack([cycle_graph(5)]), np.ones((5, 1))))
    table = hop_pairs(cycle_graph(5), 2)
    edges = torch.from_numpy(np.stack([table.col, table.row]))
    order = torch.from_numpy(table.hop)
    plain = Data(edge_index=edges[:, order == 1], num_nodes=5)
    next(iter(HopLoader([plain], num_hops=2)))
    hops = hop_csr(edges, order, 5, 2)
    overlap_weights(hops)
    rows = Csr(hops.indptr[:6], hops.indices, hops.t_indptr[:6], hops.t_indices)
    for kind in (torch.float32, torch.float64):
        x = torch.ones(5, 4, dtype=kind, requires_grad=True)
        weights = torch.ones(3, 4, dtype=kind, requires_grad=True)
        mixed = hop_mix([x], [0, 0, 0], weights, hops, rectify=True)
        ones = torch.ones(len(rows.indices), dtype=kind)
        weighted = csr_sum(x, rows._replace(weights=ones, t_weights=ones))
        sums = [mixed.sum(), csr_sum(x, rows).sum(), weighted.sum()]
        torch.autograd.grad(sums, [x, weights])
