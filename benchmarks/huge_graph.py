"""One huge graph: packing, predicted costs, and node classification by samples.

    python -m benchmarks.huge_graph --output results/benchmarks/huge_graph.json

1. pack: an edge list becomes a graph file; lines per second and peak memory;
2. costs: predicted against measured time of encodings;
3. nodes: a stochastic block model of 100,000 nodes, ours and PyG's GraphSAGE with the
   same number of sampled neighbours per node and layer; accuracy, time, peak memory;
4. links: held-out edges of 5,000 nodes, with heuristics and, where known, the best
   possible predictor.

``--quick`` makes everything ten times smaller; growth is in ``benchmarks.encoding``.
"""

from __future__ import annotations

from benchmarks.measure import (
    command,
    new_report,
    peak_memory,
    restart_with_settings,
    write_report,
)

if __name__ == "__main__":
    restart_with_settings()

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SECTIONS = ["pack", "costs", "nodes", "links"]
BLOCKS, INSIDE, OUTSIDE, NOISE = 5, 8.0, 4.0, 2.0
EPOCHS, BATCH, WIDTH, LAYERS, RATE, FINAL = 10, 256, 64, 2, 5e-3, 0.02
WALKS = {"scope": "internal", "radius": 1, "num_shells": 1, "walk_length": 4}
NETWORKS: dict[str, dict[str, Any]] = {
    "PyG GraphSAGE": {"num_hops": 1, "max_neighbors": 10},
    "graphsage": {"model": "graphsage", "max_neighbors": 10},
    "gin": {"model": "gin", "max_neighbors": 10},
    "sek-gin, K = 1": {
        "model": "sek-gin", "num_hops": 1, "max_neighbors": 10, **WALKS
    },
    "k-gin, K = 2": {"model": "k-gin", "num_hops": 2, "max_neighbors": 5},
    "sek-gin, K = 2": {
        "model": "sek-gin", "num_hops": 2, "max_neighbors": 5, **WALKS
    },
}  # fmt: skip
"""K and c such that every network reads ten sampled nodes per node and layer."""


# 1. packing


def write_edges(path: Path, lines: int, num_nodes: int) -> None:
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for start in range(0, lines, 1_000_000):
            size = min(1_000_000, lines - start)
            pairs = rng.integers(0, num_nodes, size=(size, 2)).tolist()
            file.write("".join(f"{u} {v}\n" for u, v in pairs))


def packing(lines: int) -> dict[str, Any]:
    from sekgnn.graphs import pack_edge_list

    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "edges.txt", Path(folder) / "graph.csr"
        write_edges(source, lines, lines // 10)
        before = peak_memory()
        start = time.perf_counter()
        graph = pack_edge_list(source, output, undirected="add").graph
        seconds = time.perf_counter() - start
        return {
            "lines": lines,
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "seconds": seconds,
            "lines_per_second": lines / seconds,
            "peak_GiB": peak_memory() / 2**30,
            "peak_before_GiB": before / 2**30,
        }


# 2. predicted costs


def processor(work: Callable[[], object]) -> float:
    """Return the processor seconds of ``work``."""
    start = time.process_time()
    work()
    return time.process_time() - start


FITTED = (
    ("regular", 20_000, {"num_shells": 2, "walk_length": 4}),
    ("regular", 4_000, {"num_shells": 3, "walk_length": 6}),
    ("regular", 20_000, {"num_shells": 2, "walk_length": 8, "scope": "internal"}),
    ("regular", 20_000, {"num_shells": 2, "walk_length": 8, "scope": "ego"}),
    ("regular", 4_000, {"num_shells": 3, "walk_length": 6, "scope": "ego"}),
    ("power-law", 5_000, {"num_shells": 2, "walk_length": 4}),
    ("power-law", 5_000, {"num_shells": 1, "walk_length": 8, "scope": "internal"}),
    ("power-law", 5_000, {"num_shells": 1, "walk_length": 6}),
    ("random, degree 9", 3_000, {"num_shells": 3, "walk_length": 6, "scope": "ego"}),
)
HELD_OUT = (
    ("4-regular", 10_000, {"num_shells": 3, "walk_length": 5}),
    ("random, degree 9", 4_000, {"num_shells": 1, "walk_length": 6}),
    ("4-regular", 5_000, {"num_shells": 4, "walk_length": 4, "scope": "internal"}),
    ("power-law, m = 5", 3_000, {"num_shells": 2, "walk_length": 3}),
)
"""Graphs, K, l and scopes on which the constants of ``costs`` were not fitted."""


def cost_graph(family: str, n: int) -> Any:
    from benchmarks.encoding import make_graph

    from sekgnn.graphs import barabasi_albert_graph, random_graph, random_regular_graph

    rng = np.random.default_rng(n)
    if family == "4-regular":
        return random_regular_graph(n, 4, rng)
    if family == "random, degree 9":
        return random_graph(n, 9 / n, rng)
    if family == "power-law, m = 5":
        return barabasi_albert_graph(n, 5, rng)
    return make_graph(family, n)


def predicted_costs(scale: int) -> list[dict[str, Any]]:
    from sekgnn import WalkEncoding, encode, encode_sampled
    from sekgnn.encoding.costs import predicted_seconds
    from sekgnn.graphs import pack

    rows: list[dict[str, Any]] = []
    settings: dict[str, Any]
    for case in FITTED + HELD_OUT:
        family, n, options = case
        graph, encoding = cost_graph(family, n // scale), WalkEncoding(**options)
        packed = pack([graph])
        exact, sampled = predicted_seconds(
            packed, encoding, backend="push", num_walks=64, threads=1
        )
        small = cost_graph("regular", 2_000)
        for job in ("exact", "sampled"):
            if job == "exact":
                predicted = exact
                encode(small, encoding, backend="push", threads=1)
                settings = {"backend": "push", "threads": 1}
                seconds = processor(partial(encode, packed, encoding, **settings))
            elif encoding.scope == ("graph",):
                predicted = sampled
                encode_sampled(small, encoding, num_walks=4, threads=1)
                settings = {"num_walks": 64, "threads": 1}
                seconds = processor(
                    partial(encode_sampled, graph, encoding, **settings)
                )
            else:
                continue
            rows.append(
                {
                    "family": family, "nodes": graph.num_nodes, "job": job, **options,
                    "held_out": case in HELD_OUT,
                    "predicted": predicted, "seconds": seconds,
                    "ratio": predicted / seconds,
                }
            )  # fmt: skip
            print(json.dumps(rows[-1]), flush=True)
    return rows


# 3. node classification


def block_model(n: int, path: Path, noise: float = NOISE) -> Any:
    """Write nodes of 5 classes, edges mostly within classes, and noisy features."""
    from sekgnn.graphs import pack_pairs

    rng = np.random.default_rng(0)
    y = rng.integers(0, BLOCKS, n)
    order = np.argsort(y, kind="stable")
    ends = np.searchsorted(y[order], np.arange(BLOCKS + 1))
    u = rng.integers(0, n, int(n * INSIDE / 2))
    low, high = ends[y[u]], ends[y[u] + 1]
    v = order[(low + rng.random(u.size) * (high - low)).astype(np.int64)]
    others = rng.integers(0, n, (int(n * OUTSIDE / 2), 2))
    pairs = np.concatenate([np.stack([u, v], axis=1), others])
    x = np.eye(BLOCKS)[y] + noise * rng.standard_normal((n, BLOCKS))
    subsets = np.split(rng.permutation(n), [n // 10, n // 5])
    arrays: dict[str, Any] = {"x": x.astype(np.float32), "y": y}
    for name, nodes in zip(
        ("train_mask", "val_mask", "test_mask"), subsets, strict=True
    ):
        arrays[name] = np.isin(np.arange(n), nodes)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pack_pairs([pairs], n, path, arrays=arrays, undirected="add")


def train_pyg(path: Path) -> tuple[float, float]:
    """Return test accuracy and seconds of training of PyG's GraphSAGE.

    PyG's own NeighborLoader needs pyg-lib or torch-sparse; the sampler here is ours.
    """
    import torch
    from torch.nn.functional import cross_entropy
    from torch.optim.lr_scheduler import CosineAnnealingLR
    from torch_geometric.nn import GraphSAGE

    from sekgnn.graphs import read_graph_file
    from sekgnn.nn import HopNeighborLoader

    torch.manual_seed(0)
    file = read_graph_file(path)
    y = torch.from_numpy(file.nodes["y"].copy())
    net = GraphSAGE(BLOCKS, WIDTH, LAYERS, BLOCKS)
    adam = torch.optim.Adam(net.parameters(), lr=RATE)
    cosine = CosineAnnealingLR(adam, EPOCHS - 1, FINAL * RATE)

    def batches(mask: str, size: int, shuffle: bool) -> Any:
        items = np.flatnonzero(file.nodes[mask])
        more = NETWORKS["PyG GraphSAGE"]
        return HopNeighborLoader(
            file.graph, items, size, shuffle, num_layers=LAYERS, x=file.nodes["x"],
            y=y[items], **more,
        )  # fmt: skip

    def outputs(batch: Any) -> Any:
        receiver, sender = batch.hops.pairs(1)
        edges = torch.stack([sender, receiver])
        return net(batch.x, edges)[batch.seeds]

    start = time.perf_counter()
    loader = batches("train_mask", BATCH, True)
    for _ in range(EPOCHS):
        for batch in loader:
            loss = cross_entropy(outputs(batch), batch.y)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
        cosine.step()
    seconds = time.perf_counter() - start
    right = total = 0
    with torch.no_grad():
        for batch in batches("test_mask", 1024, False):
            right += int((outputs(batch).argmax(1) == batch.y).sum())
            total += len(batch.y)
    return right / total, seconds


def train_own(path: Path, options: dict[str, Any]) -> tuple[float, float]:
    """Return test accuracy and seconds of training, validation included."""
    from sekgnn import train

    with tempfile.TemporaryDirectory() as folder:
        record = train(
            str(path), folder, epochs=EPOCHS, batch_size=BATCH, num_layers=LAYERS,
            hidden_channels=WIDTH, lr=RATE, keep="last", schedule="cosine",
            final_lr=FINAL, **options,
        )  # fmt: skip
    return record.result("test_accuracy").value, record.seconds


def measure_network(name: str, path: Path) -> dict[str, Any]:
    """Measure one network; run in a separate process for its peak memory."""
    import torch

    torch.set_num_threads(1)
    start = time.perf_counter()
    pyg = name == "PyG GraphSAGE"
    accuracy, seconds = train_pyg(path) if pyg else train_own(path, NETWORKS[name])
    return {
        "network": name,
        "test_accuracy": accuracy,
        "training_seconds": seconds,
        "total_seconds": time.perf_counter() - start,
        "peak_GiB": peak_memory() / 2**30,
    }


def node_classification(n: int) -> dict[str, Any]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blocks.csr"
        graph = block_model(n, path).graph
        for name in NETWORKS:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.huge_graph",
                 "--network", name, str(path)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            rows.append(json.loads(done.stdout.splitlines()[-1]))
            print(json.dumps(rows[-1]), flush=True)
    return {"nodes": graph.num_nodes, "edges": graph.num_edges, "networks": rows}


# 4. links


def ring(n: int, path: Path) -> Any:
    """Write a small world: each node joined to the next five, a tenth rewired."""
    from sekgnn.graphs import pack_pairs

    rng, node = np.random.default_rng(0), np.arange(n)
    pairs = np.concatenate([np.stack([node, (node + j) % n], 1) for j in range(1, 6)])
    moved = rng.random(len(pairs)) < 0.1
    pairs[moved, 1] = rng.integers(0, n, moved.sum())
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pack_pairs([pairs], n, path, undirected="add")


def geometric(n: int, path: Path) -> Any:
    """Write points of the unit square, joined to near ones, 12 on average."""
    from scipy.spatial import KDTree

    from sekgnn.graphs import pack_pairs

    tree = KDTree(np.random.default_rng(0).random((n, 2)))
    pairs = tree.query_pairs((12 / (n * np.pi)) ** 0.5, output_type="ndarray")
    return pack_pairs([pairs], n, path, undirected="add")


LINK_GRAPHS: dict[str, Callable[[int, Path], Any]] = {
    "blocks, noisy features": partial(block_model, noise=1.0),
    "ring, a tenth moved": ring,
    "points of a square": geometric,
}
LINK_NETWORKS = ("graphsage", "gin", "k-gin, K = 2", "sek-gin, K = 2")


def heuristics(file: Any, task: Any) -> dict[str, float]:
    """Return the AUROC of heuristics, over all pairs of a task."""
    from sklearn.metrics import roc_auc_score

    graph, x = task.file.graph, task.file.nodes.get("x")
    degrees, (u, v) = graph.degrees, task.items.T
    shared = [
        np.intersect1d(graph.neighbors(a), graph.neighbors(b)) for a, b in task.items
    ]
    scores = {
        "degrees": degrees[u] * degrees[v],
        "common neighbours": [len(common) for common in shared],
        "Adamic-Adar": [(1 / np.log(degrees[common])).sum() for common in shared],
    }
    if x is not None:
        scores["product of features"] = (x[u] * x[v]).sum(axis=1)
    if "y" in file.nodes:
        y = np.asarray(file.nodes["y"])
        scores["blocks known (best)"] = y[u] == y[v]
    return {name: float(roc_auc_score(task.y, score)) for name, score in scores.items()}


def link_prediction(n: int) -> list[dict[str, Any]]:
    from sekgnn import train
    from sekgnn.datasets import link_task

    rows = []
    for name, make in LINK_GRAPHS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "links.csr"
            file = make(n, path)
            task = link_task(file)
            aurocs = heuristics(file, task)
            for network in LINK_NETWORKS:
                record = train(
                    str(path), Path(folder) / network, level="link", epochs=20,
                    batch_size=BATCH, num_layers=LAYERS, hidden_channels=32, lr=RATE,
                    schedule="cosine", keep="last", **NETWORKS[network],
                )  # fmt: skip
                aurocs[network] = record.result("test_auroc").value
        rows.append({"graph": name, "nodes": n, "pairs": len(task), "auroc": aurocs})
        print(json.dumps(rows[-1]), flush=True)
    return rows


# the report


def table(report: dict[str, Any]) -> str:
    """Return the numbers as Markdown."""
    m = report["machine"]
    lines = [
        "# One huge graph",
        "",
        "Written by `python -m benchmarks.huge_graph`. One thread each; load of the "
        f"machine when it began: {m['load_before']}.",
        "",
        f"{m['cpu']}, {m['cores']} cores; Python {m['python']}, "
        + ", ".join(f"{k} {v}" for k, v in m["versions"].items())
        + f"; commit {m['commit']}, {m['date']}.",
    ]
    if "pack" in report:
        r = report["pack"]
        lines += [
            "",
            "## Packing",
            "",
            f"{r['lines']:,} lines, {r['nodes']:,} nodes: {r['seconds']:.1f} s "
            f"({r['lines_per_second']:,.0f} lines per second), peak memory "
            f"{r['peak_GiB']:.2f} GiB.",
        ]
    if "costs" in report:
        lines += [
            "",
            "## Predicted costs",
            "",
            "In seconds of one core; the ratio is predicted / taken. The constants of "
            "the prediction were fitted on the first cases, and never on those held "
            "out.",
            "",
            "| graph | nodes | K | l | scope | job | held out | predicted | taken "
            "| ratio |",
            "|---|---:|---:|---:|---|---|---|---:|---:|---:|",
        ]
        lines += [
            f"| {r['family']} | {r['nodes']:,} | {r['num_shells']} | "
            f"{r['walk_length']} | {r.get('scope', 'graph')} | {r['job']} | "
            f"{'yes' if r['held_out'] else ''} | {r['predicted']:.2f} | "
            f"{r['seconds']:.2f} | {r['ratio']:.2f} |"
            for r in report["costs"]
        ]
    if "nodes" in report:
        r = report["nodes"]
        lines += [
            "",
            "## Node classification by sampled neighbourhoods",
            "",
            f"Stochastic block model, {r['nodes']:,} nodes, {r['edges']:,} edges, "
            f"{BLOCKS} classes, {EPOCHS} epochs in batches of {BATCH} seeds, "
            f"{LAYERS} layers of width {WIDTH}, ten sampled nodes per node and layer. "
            "A tenth of the nodes trains, eight tenths test. Our times include "
            "validation after every epoch. A node at distance 2 tells less of the "
            "class here than a neighbour, and takes its place in the sample.",
            "",
            "| network | test accuracy | training, s | all, s | peak GiB |",
            "|---|---:|---:|---:|---:|",
        ]
        lines += [
            f"| {n['network']} | {n['test_accuracy']:.4f} | "
            f"{n['training_seconds']:.1f} | {n['total_seconds']:.1f} | "
            f"{n['peak_GiB']:.2f} |"
            for n in r["networks"]
        ]
    if "links" in report:
        rows = report["links"]
        names = list(dict.fromkeys(name for r in rows for name in r["auroc"]))
        lines += [
            "",
            "## Links that were held out",
            "",
            f"AUROC, graphs of {rows[0]['nodes']:,} nodes: networks of 20 epochs on "
            "the test pairs, rules on all pairs. Who knows all places on the ring, "
            "and nothing else, reaches 0.95: a tenth of its edges was moved.",
            "",
            "| | " + " | ".join(r["graph"] for r in rows) + " |",
            "|---|" + "---:|" * len(rows),
        ]
        for name in names:
            cells = [f"{r['auroc'][name]:.3f}" if name in r["auroc"] else ""
                     for r in rows]  # fmt: skip
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = command(__doc__, SECTIONS, repeats=1)
    parser.add_argument("--network", nargs=2, metavar=("NAME", "FILE"))
    args = parser.parse_args()
    if args.network:
        name, path = args.network
        print(json.dumps(measure_network(name, Path(path))))
        return
    sections, scale = args.only or SECTIONS, 10 if args.quick else 1
    report = new_report(args)
    if "pack" in sections:
        report["pack"] = packing(20_000_000 // scale)
    if "costs" in sections:
        report["costs"] = predicted_costs(2 if args.quick else 1)
    if "nodes" in sections:
        report["nodes"] = node_classification(100_000 // scale)
    if "links" in sections:
        report["links"] = link_prediction(5_000 // scale)
    write_report(args.output, report, table(report))


if __name__ == "__main__":
    main()
