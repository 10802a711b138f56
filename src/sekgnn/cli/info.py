"""``sekgnn info``, ``models`` and ``warmup``: the installation and its models."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sekgnn.cli.options import JSON
from sekgnn.cli.printing import say, say_json

_PACKAGES = (
    "numpy", "scipy", "numba", "torch", "torch_geometric", "lightning-fabric",
    "pyarrow", "matplotlib", "rdkit", "optuna",
)  # fmt: skip
BENCHMARKS = ("brec", "counting", "csl", "exp", "graph_property", "sr25", "tu")
"""Folders that ``SEKGNN_DATA`` may hold."""


def info(json: bool = JSON) -> None:
    """Show versions, cores, the folder of compiled code and the data available."""
    facts = collect()
    say_json(facts) if json else say(_as_text(facts))


def collect() -> dict[str, Any]:
    """Return the facts as plain JSON values, without importing torch."""
    from sekgnn._version import __version__
    from sekgnn.kernel import kernel_folder
    from sekgnn.parallel import usable_cores
    from sekgnn.provenance import package_versions

    root = os.environ.get("SEKGNN_DATA") or None
    folder = Path(root or "")
    versions = package_versions(_PACKAGES)
    benchmarks = [name for name in BENCHMARKS if root and (folder / name).is_dir()]
    return {
        "versions": {
            "sekgnn": __version__,
            "python": versions["python"],
            **{name: versions.get(name) for name in _PACKAGES},
        },
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "compiled_code": str(kernel_folder()),
        "data": {
            "root": root,
            "exists": root is not None and folder.is_dir(),
            "benchmarks": benchmarks,
        },
    }


def _as_text(facts: dict[str, Any]) -> str:
    """Return the facts as aligned lines."""
    rows = [
        (name, version or "not installed")
        for name, version in facts["versions"].items()
    ]
    rows += [
        ("platform", facts["platform"]),
        ("cores", f"{facts['usable_cores']} usable of {facts['cores']}"),
        ("compiled code", f"{facts['compiled_code']} and folders beside it"),
    ]
    data = facts["data"]
    if data["root"] is None:
        rows.append(("data", "SEKGNN_DATA is not set"))
    elif not data["exists"]:
        rows.append(("data", f"{data['root']} does not exist (SEKGNN_DATA)"))
    else:
        names = ", ".join(data["benchmarks"]) or "no benchmarks"
        rows.append(("data", f"{data['root']}: {names}"))
    return "\n".join(f"{name:<16} {value}" for name, value in rows)


def models(json: bool = JSON) -> None:
    """List every model: what it computes and reads, its power and its cost."""
    from sekgnn.models.options import model_facts

    facts = model_facts()
    say_json(facts) if json else say(_models_text(facts))


def _models_text(facts: list[dict[str, Any]]) -> str:
    """Return a few lines per model."""
    lines = []
    for row in facts:
        read = [name.replace("_", " ") for name, there in row["reads"].items() if there]
        lines.append(f"{row['name']} ({row.get('family', 'your own')})")
        values = {
            "paper": row.get("paper"),
            "computes": row.get("equation"),
            "reads": ", ".join(["graph", "node features", *read]),
            "bounded by": row.get("bound") or "no test of graphs",
            "in tables": ", ".join(map(str, row.get("tables", ()))) or "none",
            "cost": _cost(row["cost"]),
        }
        lines += [f"  {key:<11} {value}" for key, value in values.items() if value]
    lines.append(
        "cost: an epoch on PROTEINS, relative to gin; bounded by: a test of sekgnn wl; "
        "tables: of the SEK-GNN paper"
    )
    return "\n".join(lines)


def _cost(cost: dict[str, float] | None) -> str:
    if cost is None:
        return "not measured"
    return f"{cost['seconds']:g} x the time, {cost['memory']:g} x the memory"


def warmup() -> None:
    """Compile all kernels now, so that no later command has to."""
    from sekgnn.kernel import compile_seconds, kernel_folder

    for compile in (_hops_and_walks, _encodings, _tests, _networks):
        compile()
    say(
        f"compiled for {compile_seconds():.1f} s; compiled code is in {kernel_folder()}"
    )


def _hops_and_walks() -> None:
    import numpy as np

    from sekgnn import graphs, hops, walks
    from sekgnn.walks.between import walks_between

    graph = graphs.cycle_graph(5)
    hops.hop_pairs(graph, 2)
    hops.hop_pairs(graph, 2, kernel="diffusion", max_neighbors=1)
    walks.landing_probabilities(graph, 2)
    walks.modular_landing(graph, 2)
    walks.return_probabilities(graph, 2)
    walks_between(graph, np.array([[0, 2]]))


def _encodings() -> None:
    """Encode a small graph by every backend, and exactly."""
    from sekgnn import encoding, graphs

    graph = graphs.cycle_graph(5)
    graphs.pack_edge_indices(graph.edge_index(), [0, 5], [0, 10])
    plain = encoding.WalkEncoding(num_shells=2, walk_length=2, first_step=0)
    everywhere = replace(plain, scope=("graph", "ego", "internal"), radius=2)
    for backend in ("dense", "spectral", "push"):
        encoding.encode(graph, plain, backend=backend)
    encoding.encode(graph, everywhere)
    encoding.encode(graph, plain, dtype="float32")
    encoding.encode(graph, replace(everywhere, aggregate="learned", first_step=1))
    encoding.encode_exact(graph, everywhere)
    encoding.encode_sampled(graph, plain, num_walks=2, seed=0)
    for kind in encoding.ENCODINGS.values():
        kind().encode(graphs.pack([graph]))


def _tests() -> None:
    """Run every Weisfeiler-Lehman test, with every exact encoding, and explain it."""
    from sekgnn import wl
    from sekgnn.errors import MissingExtraError
    from sekgnn.graphs import cycle_graph, path_graph

    for name in wl.TESTS:
        with suppress(MissingExtraError):
            wl.compare(cycle_graph(4), path_graph(4), name).explain()
    for name in wl.EXACT_ENCODINGS:
        wl.compare(cycle_graph(4), path_graph(4), "sek", encodings=(name,))


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
