"""Speed and memory of training, as ratios within one run.

    python -m benchmarks.training --output results/benchmarks/training.json

measures, on one thread, with the data below ``SEKGNN_DATA``:

1. an epoch (collate, forward, backward, Adam, batch 64) of SEK-GIN with 3 layers, 3
   hops and width 40 on PROTEINS against PyG's own GIN of the same depth and width, and
   against the same SEK-GIN by gather and scatter with PyG's loader, and with learned
   multisets as its encoding; medians of interleaved repeats;
2. peak memory of an epoch of SEK-GIN against a GNN of equal depth on the ego-nets of
   all nodes, a process each;
3. one sum over neighbours, in six ways;
4. time and memory of an epoch on one large graph, K = 2, 16 neighbours drawn per hop
   and epoch, against its size, a process each.

It writes the numbers with machine, versions and commit as JSON, and a table beside it.
``--only epoch sums memory growth`` runs a part; ``--quick`` leaves out the largest
graphs.
"""

from __future__ import annotations

import sys

from benchmarks.measure import (
    KEEP,
    command,
    interleaved,
    new_report,
    peak_memory,
    restart_with_settings,
    status,
    write_report,
)

if __name__ == "__main__" and "--measure" not in sys.argv:
    restart_with_settings()

import ctypes
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

PACKAGES = ("sekgnn", "numpy", "numba", "torch", "torch-geometric")
WIDTH, LAYERS, HOPS, BATCH = 40, 3, 3, 64
SECTIONS = ["epoch", "sums", "memory", "growth"]
SIZES = (10_000, 30_000, 100_000, 300_000)


# the data and the candidates


def proteins(data_root: Path) -> tuple[list[Any], Any]:
    """Return PROTEINS with encodings and hops on every graph, and the encoding."""
    from torch_geometric.datasets import TUDataset

    from sekgnn import AddKHopEdges, WalkEncoding, encode_dataset

    with tempfile.TemporaryDirectory() as root:
        shutil.copytree(
            data_root / "tu" / "PROTEINS" / "raw", Path(root) / "PROTEINS" / "raw"
        )
        dataset = TUDataset(root, "PROTEINS")
    encoding = WalkEncoding.paper()
    encoded = encode_dataset(dataset, encoding, threads=1)
    add = AddKHopEdges(HOPS)
    return [add(encoded[i]) for i in range(len(encoded))], encoding


def with_multisets(graphs: list[Any], radius: int) -> tuple[list[Any], Any]:
    """Return graphs with the multisets of their ego-nets instead of the encoding."""
    from sekgnn import WalkEncoding, encode_dataset

    encoding = WalkEncoding(
        num_shells=radius,
        walk_length=16,
        scope="internal",
        radius=radius,
        aggregate="learned",
    )
    encoded = encode_dataset(without(graphs, "sub_enc"), encoding, threads=1)
    return [encoded[i] for i in range(len(encoded))], encoding


def without(graphs: list[Any], *names: str) -> list[Any]:
    """Return the graphs without some fields."""
    out = [graph.clone() for graph in graphs]
    for graph in out:
        for name in names:
            del graph[name]
    return out


class PyGGIN(nn.Module):
    """PyG's own GIN with a sum and a linear head."""

    def __init__(self, norm: bool) -> None:
        from torch_geometric.nn import GIN

        super().__init__()
        self.gin = GIN(3, WIDTH, LAYERS, norm="batch_norm" if norm else None)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, batch: Any) -> Tensor:
        from torch_geometric.nn import global_add_pool

        h = self.gin(batch.x, batch.edge_index)
        out: Tensor = self.head(global_add_pool(h, batch.batch, batch.num_graphs))
        return out


class GatherScatter(nn.Module):
    """The layers and weights of a SEK-GIN, with one gather and scatter per hop."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> Tensor:
        sek, gin = self.model.branches
        index, order = batch.hop_edge_index, batch.hop_order
        f = sek.fusion(batch.sub_enc)
        z = sek.embedding(batch.x, batch.num_nodes) + f
        history: list[Tensor] = []
        for step, conv in enumerate(sek.convs):
            if step:
                z = z + f @ sek.injections[step - 1].t()
            history.append(z)
            weights = conv.combine.weights()
            total = (1 + conv.eps[0]) * z
            for k in range(1, HOPS + 1):
                source = history[max(len(history) - k, 0)]
                received = scattered(source, index[:, order == k], rectify=True)
                total = total + weights[k - 1] * received
            z = conv.mlp(total)
            z = sek.norms[step](z).relu() if step < LAYERS - 1 else z
        layers, z = [z], batch.x
        for step, conv in enumerate(gin.convs):
            received = scattered(z, batch.edge_index, rectify=False)
            z = conv.updates[0]((1 + conv.message.eps[0]) * z + received)
            z = gin.norms[step](z).relu() if step < LAYERS - 1 else z
        layers.append(z)
        pooled = []
        for h in layers:
            zeros = h.new_zeros(batch.num_graphs, WIDTH)
            pooled.append(zeros.index_add(0, batch.batch, h))
        out: Tensor = self.model.head(torch.cat(pooled, dim=1))
        return out


def scattered(x: Tensor, index: Tensor, *, rectify: bool) -> Tensor:
    """Return the sum over pairs by gather and scatter."""
    sent = x.index_select(0, index[0])
    sent = sent.relu() if rectify else sent
    return torch.zeros_like(x).index_add(0, index[1], sent)


class EgoGNN(nn.Module):
    """A 1-WL subgraph GNN: GIN on copies of all ego-nets."""

    def __init__(self) -> None:
        from torch_geometric.nn import GIN

        super().__init__()
        self.gin = GIN(3, WIDTH, LAYERS, norm="batch_norm")
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, batch: Any) -> Tensor:
        from torch_geometric.nn import global_add_pool

        copies = batch.x.index_select(0, batch.ego_node_index)
        h = self.gin(copies, batch.ego_edge_index)
        nodes = h.new_zeros(batch.num_nodes, WIDTH)
        nodes = nodes.index_add(0, batch.ego_root_index, h)
        out: Tensor = self.head(global_add_pool(nodes, batch.batch, batch.num_graphs))
        return out


def with_egos(graphs: list[Any]) -> list[Any]:
    """Return graphs with the ego-nets (radius K) of all nodes as one graph."""
    from torch_geometric.data import Data

    class EgoData(Data):
        def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
            if key == "ego_edge_index":
                return self.ego_node_index.numel()
            return super().__inc__(key, value, *args, **kwargs)

    out = []
    for graph in graphs:
        n = graph.num_nodes
        inside = torch.eye(n, dtype=torch.bool)
        inside[graph.hop_edge_index[1], graph.hop_edge_index[0]] = True
        root, node = inside.nonzero().t()  # copies, by root
        number = torch.full((n, n), -1)
        number[root, node] = torch.arange(root.numel())
        pairs = number[:, graph.edge_index]  # [n, 2, E]
        edges = pairs.permute(1, 0, 2).reshape(2, -1)
        edges = edges[:, (edges >= 0).all(0)]
        out.append(
            EgoData(
                x=graph.x,
                y=graph.y,
                num_nodes=n,
                ego_node_index=node,
                ego_root_index=root,
                ego_edge_index=edges,
            )
        )
    return out


def sek_gin(encoding: Any, norm: bool, fusion: str = "weighted") -> Any:
    from sekgnn.models import SEKGIN

    return SEKGIN(
        3,
        2,
        encoding,
        hidden_channels=WIDTH,
        num_layers=LAYERS,
        num_hops=HOPS,
        fusion=fusion,
        jump="last",  # as PyG's GIN
        norm="batch" if norm else "none",
    )


def trainer(model: nn.Module, loader: Any) -> Callable[[], None]:
    """Return a function that trains one epoch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    loss_of = nn.CrossEntropyLoss()

    def epoch() -> None:
        for batch in loader:
            optimizer.zero_grad()
            loss_of(model(batch), batch.y).backward()
            optimizer.step()

    return epoch


# 1. an epoch


def check_equal(encoding: Any, graphs: list[Any]) -> float:
    """Return the largest difference of two forms of SEK-GIN with equal weights."""
    from torch_geometric.data import Batch

    model = sek_gin(encoding, True).eval()
    batch = Batch.from_data_list(graphs[:BATCH])
    with torch.no_grad():
        return float((model(batch) - GatherScatter(model)(batch)).abs().max())


def epoch_times(data_root: Path, repeats: int) -> dict[str, Any]:
    from torch_geometric.loader import DataLoader

    from sekgnn.nn import HopLoader

    torch.set_num_threads(1)
    graphs, encoding = proteins(data_root)
    pairs = ("hop_edge_index", "hop_order")
    plain = without(graphs, "sub_enc", *pairs)
    sets = {f"SEK-GIN, multisets, h = {h}": with_multisets(graphs, h) for h in (1, 2)}
    report: dict[str, Any] = {
        "max_difference": check_equal(encoding, graphs),
        "rows": [],
    }
    for norm in (True, False):
        loaders = {
            "PyG GIN": DataLoader(plain, BATCH, shuffle=True),
            "SEK-GIN": HopLoader(graphs, BATCH, shuffle=True, num_hops=HOPS),
            "SEK-GIN, gather/scatter": DataLoader(graphs, BATCH, shuffle=True),
        } | {
            name: HopLoader(items, BATCH, shuffle=True, num_hops=HOPS)
            for name, (items, _) in sets.items()
        }
        models: dict[str, nn.Module] = {
            "PyG GIN": PyGGIN(norm),
            "SEK-GIN": sek_gin(encoding, norm),
            "SEK-GIN, gather/scatter": GatherScatter(sek_gin(encoding, norm)),
        }
        for name, (_, learned) in sets.items():
            models[name] = sek_gin(learned, norm, "concat")
        epochs = {name: trainer(models[name], loaders[name]) for name in models}
        times: dict[str, list[float]] = {name: [] for name in models}
        collate: dict[str, list[float]] = {name: [] for name in models}
        busy: dict[str, list[float]] = {name: [] for name in models}
        for turn in range(repeats + 2):
            for name, epoch in epochs.items():
                start, worked = time.perf_counter(), time.process_time()
                epoch()
                middle, worked = time.perf_counter(), time.process_time() - worked
                for _ in loaders[name]:
                    pass
                if turn >= 2:
                    times[name].append(middle - start)
                    busy[name].append(worked)
                    collate[name].append(time.perf_counter() - middle)
        for name in models:
            ratios = [
                t / base for t, base in zip(times[name], times["PyG GIN"], strict=True)
            ]
            row = {
                "model": name,
                "norm": "batch" if norm else "none",
                "seconds": times[name],
                "median_seconds": statistics.median(times[name]),
                "collate_seconds": statistics.median(collate[name]),
                "ratio_to_PyG_GIN": statistics.median(ratios),
                "ratio_range": [min(ratios), max(ratios)],
                "cpu_seconds": busy[name],
                "ratio_of_cpu_time": statistics.median(busy[name])
                / statistics.median(busy["PyG GIN"]),
            }
            report["rows"].append(row)
            print(
                f"{name:25} norm {row['norm']:5} {row['median_seconds']:.3f} s "
                f"(collate {row['collate_seconds']:.3f}) "
                f"{row['ratio_to_PyG_GIN']:.2f}x, of CPU time "
                f"{row['ratio_of_cpu_time']:.2f}x",
                flush=True,
            )
    return report


# 2. and 3. processes of their own


def measure_memory(name: str, data_root: Path) -> dict[str, Any]:
    from torch_geometric.loader import DataLoader

    from sekgnn.nn import HopLoader

    torch.set_num_threads(1)
    graphs, encoding = proteins(data_root)
    loader: Any
    model: nn.Module
    if name == "SEK-GIN":
        loader = HopLoader(graphs, BATCH, num_hops=HOPS)
        model = sek_gin(encoding, True)
    else:
        loader = DataLoader(with_egos(graphs), BATCH)
        model = EgoGNN()
    epoch = trainer(model, loader)
    small = next(iter(type(loader)(graphs[:2], **_loading(loader))))
    if name == "SEK-GIN":
        model(small).sum().backward()  # compiles
    before = resident()
    clear_peak()
    start = time.perf_counter()
    epoch()
    return {
        "what": name,
        "MiB": (peak_memory() - before) / 2**20,
        "seconds": time.perf_counter() - start,
    }


def _loading(loader: Any) -> dict[str, Any]:
    from sekgnn.nn import HopLoader

    return {"num_hops": HOPS} if isinstance(loader, HopLoader) else {}


def resident() -> int:
    """Return the resident bytes of this process, after releasing free memory."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return status("VmRSS")


def clear_peak() -> None:
    """Reset the peak memory."""
    Path("/proc/self/clear_refs").write_text("5")


def measure_growth(n: int, repeats: int) -> dict[str, Any]:
    import numpy as np
    from torch_geometric.data import Data

    from sekgnn import WalkEncoding, encode
    from sekgnn.graphs import random_regular_graph
    from sekgnn.models import SEKGIN
    from sekgnn.nn import HopLoader

    torch.set_num_threads(1)
    encoding = WalkEncoding(num_shells=1, walk_length=4)

    def make(size: int) -> Any:
        graph = random_regular_graph(size, 6, np.random.default_rng(size))
        values = encode(graph, encoding, dtype=np.float32, threads=1, backend="push")
        return Data(
            edge_index=torch.from_numpy(graph.edge_index().copy()),
            sub_enc=torch.from_numpy(values),
            num_nodes=size,
            y=torch.zeros(size, dtype=torch.long),
        )

    def build(data: Any) -> Callable[[], None]:
        loader = HopLoader([data], num_hops=2, max_neighbors=16)
        model = SEKGIN(
            0,
            2,
            encoding,
            hidden_channels=WIDTH,
            num_layers=LAYERS,
            num_hops=2,
            level="node",
        )
        return trainer(model, loader)

    build(make(500))()
    data = make(n)
    before = resident()
    clear_peak()
    epoch = build(data)
    epoch()
    seconds, busy = [], []
    for _ in range(repeats):
        start, worked = time.perf_counter(), time.process_time()
        epoch()
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - worked)
    return {
        "nodes": n,
        "seconds": seconds,
        "cpu_seconds": busy,
        "microseconds_per_node": 1e6 * min(busy) / n,
        "KiB_per_node": (peak_memory() - before) / 2**10 / n,
    }


def in_process(*args: str) -> dict[str, Any]:
    env = {**os.environ}
    if args[0] == "memory":  # freed memory must be returned for a true peak
        env = {k: v for k, v in env.items() if k not in KEEP}
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "benchmarks.training",
            "--measure",
            *args,
        ],
        check=True,
        capture_output=True,
        text=True,
        env=env,
    )
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(row), flush=True)
    return row


def memory() -> dict[str, Any]:
    ours, egos = in_process("memory", "SEK-GIN"), in_process("memory", "ego-net GNN")
    return {"rows": [ours, egos], "ratio": egos["MiB"] / ours["MiB"]}


def growth(quick: bool) -> list[dict[str, Any]]:
    sizes = SIZES[:2] if quick else SIZES
    rows = [in_process("growth", str(n)) for n in sizes]
    for row in rows:
        for name in ("microseconds_per_node", "KiB_per_node"):
            row[f"{name}_over_first"] = row[name] / rows[0][name]
    return rows


# the report


# ways to sum over neighbours


def sum_times(data_root: Path, repeats: int) -> dict[str, Any]:
    """Time one sum over hop 1 of a batch, in the ways that were to choose from."""
    import scipy.sparse as sp
    from torch_geometric.data import Batch

    from sekgnn.nn import csr_sum, hop_csr

    graphs, _ = proteins(data_root)
    batch = Batch.from_data_list(graphs[:BATCH])
    edges = batch.edge_index
    n = int(batch.num_nodes)
    hops = hop_csr(edges, torch.ones_like(edges[0]), n, 1)
    csr = hops.hop(1)
    x = torch.rand(n, WIDTH)
    sender, receiver = edges[0], edges[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = torch.sparse_csr_tensor(
            csr.indptr, csr.indices, torch.ones(csr.indices.numel()), (n, n)
        )
    ones = matrix.values().numpy()
    scipy_matrix = sp.csr_array((ones, csr.indices.numpy(), csr.indptr.numpy()), (n, n))
    wide = receiver[:, None].expand(-1, WIDTH)
    gathered = csr.indices.long()
    lengths = csr.row_sizes().long()
    zeros = torch.zeros_like(x)
    works: dict[str, Callable[[], object]] = {
        "compiled loop": lambda: csr_sum(x, csr),
        "torch.sparse CSR": lambda: matrix @ x,
        "scipy": lambda: scipy_matrix @ x.numpy(),
        "index_add": lambda: zeros.index_add(0, receiver, x[sender]),
        "scatter_add": lambda: zeros.scatter_add(0, wide, x[sender]),
        "segment_reduce": lambda: torch.segment_reduce(
            x[gathered], "sum", lengths=lengths, axis=0, unsafe=True
        ),
    }
    expected = works["index_add"]()
    for name, work in works.items():
        found = torch.as_tensor(work())
        assert torch.allclose(found, torch.as_tensor(expected), atol=1e-4), name
    times = interleaved(works, 20 * repeats)
    return {
        "nodes": n,
        "pairs": edges.size(1),
        "width": WIDTH,
        "microseconds": {k: 1e6 * statistics.median(v) for k, v in times.items()},
    }


def table(report: dict[str, Any]) -> str:
    """Return the numbers as Markdown."""
    m = report["machine"]
    lines = [
        "# Training benchmark",
        "",
        "Written by `benchmarks/training.py`. One thread; the allocator keeps memory "
        "between steps, for every candidate, except where memory is measured.",
        "",
        f"{m['cpu']}, {m['cores']} cores (load {m['load_before']} before the run; "
        f"others may have used the machine); Python {m['python']}, "
        + ", ".join(f"{k} {v}" for k, v in m["versions"].items())
        + f"; commit {m['commit']}, {m['date']}.",
        *(["", report["note"]] if "note" in report else []),
    ]
    if "epoch" in report:
        rows = report["epoch"]["rows"]
        lines += [
            "",
            f"## An epoch on PROTEINS, {LAYERS} layers, {HOPS} hops, width {WIDTH}, "
            f"batch {BATCH}",
            "",
            "Collate, forward, backward, Adam; SEK-GIN with the paper's encoding "
            "(`WalkEncoding.paper()`, weighted) and the last layer alone read out, as "
            "PyG's GIN, or with learned multisets (internal, l = 16) as "
            "the encoding; fused Adam for all. Times are medians of interleaved "
            "repeats, the ratio the median of ratios within a repeat (least to "
            "greatest); last the ratio of processor times, which leaves out "
            "what other processes took.",
            "",
            "| model | norm | s | collate s | against PyG GIN | processor time |",
            "|---|---|---:|---:|---:|---:|",
        ]
        for r in rows:
            low, high = r["ratio_range"]
            lines.append(
                f"| {r['model']} | {r['norm']} | {r['median_seconds']:.3f} | "
                f"{r['collate_seconds']:.3f} | {r['ratio_to_PyG_GIN']:.2f} "
                f"({low:.2f} to {high:.2f}) | {r['ratio_of_cpu_time']:.2f} |"
            )
        by = {(r["model"], r["norm"]): r["median_seconds"] for r in rows}
        gains = [
            by["SEK-GIN, gather/scatter", norm] / by["SEK-GIN", norm]
            for norm in ("batch", "none")
        ]
        lines += [
            "",
            f"Gather/scatter takes {gains[0]:.2f} times (batch) and {gains[1]:.2f} "
            "times (none) as long as SEK-GIN. Both forms share weights; their outputs "
            f"differ by at most {report['epoch']['max_difference']:.1e}.",
            "",
            "What limits SEK-GIN: it has two branches of three layers where GIN has "
            "one, 39 products with matrices of about 40 x 40 in a step instead of 18. "
            "They run at 200 GFlop/s, twice what BLAS reaches here, and take an eighth "
            "of the step, sums over hops a twelfth, norms with ReLU a twenty-fifth; a "
            "quarter is spent in Python and PyTorch before a kernel begins, however "
            "small the graphs are, and the rest mostly passes over activations. "
            "Multisets, h = 2: a batch of 2,600 nodes has 110,000 vectors of 16 "
            "numbers, 430 MFlop in a step against about 320 of all "
            "other layers.",
        ]
    if "memory" in report:
        lines += [
            "",
            "## Peak memory of an epoch on PROTEINS",
            "",
            "Above what the process held before the epoch; the ego-net GNN is a "
            f"GIN of {LAYERS} layers on copies of every node's ego-net of radius "
            f"{HOPS}.",
            "",
            "| model | MiB |",
            "|---|---:|",
        ]
        lines += [f"| {r['what']} | {r['MiB']:.0f} |" for r in report["memory"]["rows"]]
        lines += ["", f"{report['memory']['ratio']:.1f} times less."]
    if "sums" in report:
        r = report["sums"]
        names = list(r["microseconds"])
        lines += [
            "",
            "## One sum over neighbours",
            "",
            f"A batch of PROTEINS, {r['nodes']:,} nodes, {r['pairs']:,} pairs, width "
            f"{r['width']}; medians in µs.",
            "",
            f"| {' | '.join(names)} |",
            "|" + "---:|" * len(names),
            f"| {' | '.join(f'{t:.0f}' for t in r['microseconds'].values())} |",
        ]
    if "growth" in report:
        lines += [
            "",
            "## One large graph, K = 2, 16 neighbours per hop drawn again every epoch",
            "",
            "6-regular random graph, SEK-GIN for nodes. The numbering is random, so "
            "larger graphs fall out of the caches. Least processor time of three "
            "epochs.",
            "",
            "| nodes | s | µs/node | over 10k | KiB/node | over 10k |",
            "|---:|---:|---:|---:|---:|---:|",
        ]
        for r in report["growth"]:
            lines.append(
                f"| {r['nodes']:,} | {min(r['cpu_seconds']):.2f} | "
                f"{r['microseconds_per_node']:.1f} | "
                f"{r['microseconds_per_node_over_first']:.2f} | "
                f"{r['KiB_per_node']:.2f} | {r['KiB_per_node_over_first']:.2f} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = command(__doc__, SECTIONS, repeats=9)
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "WHICH"))
    args = parser.parse_args()
    root = os.environ.get("SEKGNN_DATA")
    if args.measure:
        what, which = args.measure
        row = (
            measure_growth(int(which), 3)
            if what == "growth"
            else measure_memory(which, Path(root or ""))
        )
        print(json.dumps(row))
        return
    sections = args.only or SECTIONS
    report = new_report(args, PACKAGES)
    if not root:
        print("PROTEINS is skipped: SEKGNN_DATA is not set.")
    if "epoch" in sections and root:
        report["epoch"] = epoch_times(Path(root), args.repeats)
    if "sums" in sections and root:
        report["sums"] = sum_times(Path(root), args.repeats)
    if "memory" in sections and root:
        report["memory"] = memory()
    if "growth" in sections:
        report["growth"] = growth(args.quick)
    write_report(args.output, report, table(report))


if __name__ == "__main__":
    main()
