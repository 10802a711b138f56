"""Speed and memory of the exact tests, as ratios within one run.

    python -m benchmarks.wl --output results/benchmarks/wl.json

measures

1. all 400 pairs of BREC on two threads, for each test, medians of repeats (3-FWL once);
2. 1-WL on one random graph of a million nodes and five million edges, in a separate
   process, on one thread, with peak memory; networkx's
   ``weisfeiler_lehman_graph_hash`` and PyG's ``WLConv`` on the same graph for equally
   many rounds, once each, and on a smaller graph in turns.

It writes the numbers with machine, versions and commit as JSON, and a table beside it.
``--only brec large`` runs a part; ``--quick`` leaves out 3-FWL and the million.
"""

from __future__ import annotations

from benchmarks.measure import (
    command,
    interleaved,
    new_report,
    peak_memory,
    restart_with_settings,
    timed,
    write_report,
)

if __name__ == "__main__":
    restart_with_settings()

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

PACKAGES = ("sekgnn", "numpy", "numba", "networkx", "torch", "torch-geometric")
SECTIONS = ["brec", "large"]
TARGETS = {"1wl": 5, "khop4": 5, "full": 60, "2fwl": 15, "sek2fwl": 75}
"""Largest acceptable seconds on two cores, by row of the scoreboard."""
ROUNDS = 3
MILLION, SMALLER = 1_000_000, 50_000


def brec_rows(data_root: str, repeats: int, quick: bool) -> list[dict[str, Any]]:
    from sekgnn.brec.exact import score_exact
    from sekgnn.datasets import BREC
    from sekgnn.wl.ladder import BOARD

    pairs = BREC(data_root)
    small = BREC.of(pairs[i] for i in (0, 60, 110, 160, 260))
    rows = []
    for entry in BOARD:
        if entry.key not in (*TARGETS, "3fwl") or (quick and entry.key == "3fwl"):
            continue
        score_exact(entry.test, pairs=small, copies=0)  # compiles
        separated: list[int] = []

        def run(test: Any = entry.test, separated: list[int] = separated) -> None:
            score = score_exact(test, pairs=pairs, copies=0, threads=2)
            separated.append(score.separated)

        times = [timed(run) for _ in range(1 if entry.key == "3fwl" else repeats)]
        rows.append(
            {
                "key": entry.key,
                "label": entry.label,
                "separated": separated[0],
                "seconds": times,
                "median": statistics.median(times),
                "target": TARGETS.get(entry.key),
            }
        )
        print(json.dumps(rows[-1]), file=sys.stderr)
    return rows


def random_edges(n: int) -> Any:
    """Return a random graph with n nodes and about 5 n edges."""
    from sekgnn.graphs import random_graph

    return random_graph(n, 10 / (n - 1), np.random.default_rng(0))


def ours(graph: Any, rounds: int | None) -> Any:
    from sekgnn.wl import OneWL, refine
    from sekgnn.wl.refinement import Batch

    batch = Batch.of([graph])
    return refine(OneWL(), batch, max_rounds=rounds, keep_history=False, threads=1)


def networkx_rounds(graph: Any) -> Callable[[], object]:
    import networkx as nx

    built = graph.to_networkx()
    return lambda: nx.weisfeiler_lehman_graph_hash(built, iterations=ROUNDS)


def pyg_rounds(graph: Any) -> Callable[[], object]:
    import torch
    from torch_geometric.nn import WLConv

    torch.set_num_threads(1)
    edges = torch.from_numpy(graph.edge_index())

    def run() -> None:
        x = torch.zeros(graph.num_nodes, dtype=torch.long)
        conv = WLConv()
        for _ in range(ROUNDS):
            x = conv(x, edges)

    return run


def measure_million() -> dict[str, Any]:
    """Refine the large graph to stability; called in a separate process."""
    from sekgnn.graphs import path_graph

    ours(path_graph(3), None)  # compiles
    graph = random_edges(MILLION)
    before = peak_memory()
    run = ours(graph, None)
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "rounds": run.rounds,
        "classes": run.class_counts[-1],
        "seconds": run.seconds,
        "graph_gib": before / 2**30,
        "peak_gib": peak_memory() / 2**30,
    }


def large(repeats: int, quick: bool) -> dict[str, Any]:
    report: dict[str, Any] = {}
    graph = random_edges(SMALLER)
    works = {
        "sekgnn": lambda: ours(graph, ROUNDS),
        "networkx": networkx_rounds(graph),
        "WLConv": pyg_rounds(graph),
    }
    times = interleaved(works, min(repeats, 3))
    report["smaller"] = _ratios(graph, times)
    if quick:
        return report
    command = [sys.executable, "-m", "benchmarks.wl", "--million"]
    runs = [
        json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )
        for _ in range(3)
    ]
    report["million"] = sorted(runs, key=lambda run: run["seconds"])[1]
    graph = random_edges(MILLION)
    ours(graph, ROUNDS)
    once = {"sekgnn": [timed(lambda: ours(graph, ROUNDS)) for _ in range(3)]}
    once["WLConv"] = [timed(pyg_rounds(graph))]
    once["networkx"] = [timed(networkx_rounds(graph))]
    report["larger"] = _ratios(graph, once)
    return report


def _ratios(graph: Any, times: dict[str, list[float]]) -> dict[str, Any]:
    medians = {name: statistics.median(values) for name, values in times.items()}
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "rounds": ROUNDS,
        "seconds": times,
        "medians": medians,
        "ratio": {name: value / medians["sekgnn"] for name, value in medians.items()},
    }


def table(report: dict[str, Any]) -> str:
    facts = report["machine"]
    lines = [
        "# Speed of the exact tests",
        "",
        "Written by `make bench` (`benchmarks/wl.py`); medians of repeats.",
        "",
        f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, "
        + ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
        + f"; commit {facts['commit']}, {facts['date']}.",
    ]
    if "brec" in report:
        lines += [
            "",
            "## All 400 pairs of BREC, two threads",
            "",
            "| test | separated | seconds | asked |",
            "|---|---|---|---|",
        ]
        for row in report["brec"]:
            asked = "–" if row["target"] is None else f"< {row['target']}"
            lines.append(
                f"| {row['label']} | {row['separated']} | {row['median']:.2f} | "
                f"{asked} |"
            )
    if "large" in report:
        lines += ["", "## 1-WL on one large random graph, one thread", ""]
        lines += _large_lines(report["large"])
    return "\n".join(lines) + "\n"


def _large_lines(large: dict[str, Any]) -> list[str]:
    lines = []
    if "million" in large:
        r = large["million"]
        lines += [
            f"{r['nodes']:,} nodes, {r['edges']:,} edges, to stability ({r['rounds']} "
            f"rounds, {r['classes']:,} classes): {r['seconds']:.1f} s, peak memory of "
            f"the process {r['peak_gib']:.2f} GiB (asked: < 30 s, < 4 GiB).",
            "",
        ]
    lines += [
        f"{ROUNDS} rounds in the same run, each library from its own graph type:",
        "",
        "| nodes | edges | sekgnn | WLConv | networkx | WLConv / sekgnn | "
        "networkx / sekgnn |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in ("smaller", "larger"):
        if name in large:
            r = large[name]
            m, q = r["medians"], r["ratio"]
            lines.append(
                f"| {r['nodes']:,} | {r['edges']:,} | {m['sekgnn']:.3f} s | "
                f"{m['WLConv']:.1f} s | {m['networkx']:.1f} s | "
                f"{q['WLConv']:.0f} | {q['networkx']:.0f} |"
            )
    return lines


def main() -> None:
    parser = command(__doc__, SECTIONS, repeats=5)
    parser.add_argument("--million", action="store_true")
    args = parser.parse_args()
    if args.million:
        print(json.dumps(measure_million()))
        return
    sections = args.only or SECTIONS
    report = new_report(args, PACKAGES)
    data_root = os.environ.get("SEKGNN_DATA")
    if "brec" in sections and data_root:
        report["brec"] = brec_rows(data_root, args.repeats, args.quick)
    elif "brec" in sections:
        print("BREC skipped: SEKGNN_DATA is not set.")
    if "large" in sections:
        report["large"] = large(args.repeats, args.quick)
    print(table(report))
    write_report(args.output, report, table(report))


if __name__ == "__main__":
    main()
