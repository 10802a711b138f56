"""Cost of an epoch of every network relative to GIN, within one run.

    python -m benchmarks.models --output results/benchmarks/models.json

trains every network for an epoch on PROTEINS (graphs of up to 100 nodes, since PPGN
takes gigabytes for others), width 32, 3 layers, 2 hops, batch 16, one thread, a process
each, and measures processor time (the least of three epochs, loading
and preparing of batches included, encodings not) and peak memory above that of the
loaded data. It writes the numbers with machine, versions and commit as JSON, a table
beside it, and the ratios that ``sekgnn models`` shows to ``costs.json`` beside the
models.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.measure import (
    KEEP,
    SETTINGS,
    command,
    new_report,
    peak_memory,
    write_report,
)

if __name__ == "__main__":  # one thread, and memory that is freed is given back
    os.environ.update({k: v for k, v in SETTINGS.items() if k not in KEEP})

PACKAGES = ("sekgnn", "numpy", "numba", "torch", "torch-geometric")
COMMON: dict[str, Any] = {"hidden_channels": 32, "num_layers": 3, "num_hops": 2}
BATCH, DATA, MOST_NODES = 16, "PROTEINS", 100
COSTS = Path(__file__).parents[1] / "src" / "sekgnn" / "models" / "costs.json"


def names() -> list[str]:
    """Return the networks that read what PROTEINS has."""
    from sekgnn.models.options import MODEL_KINDS

    return [
        name
        for name, kind in MODEL_KINDS.items()
        if kind.network and kind.about is not None and not kind.coordinates
    ]


def config_of(name: str) -> Any:
    """Return the config of a model, with the common options that it has."""
    from sekgnn.models.options import MODEL_KINDS
    from sekgnn.training import RunConfig

    options = MODEL_KINDS[name].options()
    common = {key: value for key, value in COMMON.items() if key in options}
    if name == "capsgnn":  # its width is that of one capsule
        common["hidden_channels"] = options["hidden_channels"]
    keys = {"data": DATA, "protocol": "xu2019", "batch_size": BATCH}
    return RunConfig.from_dict({**keys, "model": name, **common})


def measure(training: Any, repeats: int) -> dict[str, float]:
    """Return processor seconds and peak memory of an epoch, in this process."""
    import torch
    from benchmarks.training import resident

    from sekgnn.datasets.graph_task import Y_MASK

    torch.set_num_threads(1)
    joined, model = training.prepare(), training.model()
    objective, graphs = training.objective(), training.splits[0].train
    sizes = np.array([training.data[i].num_nodes for i in graphs])
    graphs = graphs[sizes <= MOST_NODES]
    model.fit_inputs(lambda: joined.batches(graphs[:BATCH], BATCH))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    model.train()

    def epoch(chosen: Any) -> float:
        began = time.process_time()
        for batch in joined.batches(chosen, BATCH, seed=0):
            optimizer.zero_grad()
            total, count = model.loss_sum(batch, batch.y, batch[Y_MASK], objective)
            (total / count).backward()
            optimizer.step()
        return time.process_time() - began

    epoch(graphs[:4])  # compiles
    before = resident()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    first = epoch(graphs)
    memory = max(peak_memory() - before, 1)
    seconds = min([first, *(epoch(graphs) for _ in range(repeats - 1))])
    return {"seconds": seconds, "memory": memory, "parameters": model.num_parameters}


def in_a_process(training: Any, repeats: int) -> dict[str, float]:
    """Measure in a fork of this process, with its own peak memory."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    work = context.Process(target=lambda: send.send(measure(training, repeats)))
    work.start()
    send.close()
    try:
        costs: dict[str, float] = receive.recv()
    except EOFError:
        raise SystemExit(f"{training.config.model} could not be measured.") from None
    finally:
        work.join()
    return costs


def ratios(rows: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the costs relative to GIN, to two digits."""
    base = rows["gin"]
    return {
        name: {
            key: float(f"{row[key] / base[key]:.2g}") for key in ("seconds", "memory")
        }
        for name, row in rows.items()
    }


def page(report: dict[str, Any]) -> str:
    """Return the numbers as Markdown."""
    about, rows = report["machine"], report["models"]
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    lines = [
        "# Cost of the models",
        "",
        "Written by `benchmarks/models.py`. One training epoch (load, prepare, "
        f"forward, backward, Adam) on the training graphs of a fold of {DATA} with up "
        f"to {MOST_NODES} nodes, width 32 (a capsule of capsgnn: 8), 3 "
        f"layers, 2 hops, batch {BATCH}, one thread, a process each; processor "
        "time, the least of the repeats; peak memory above what the process held "
        "before. Encodings are made before. Models that read coordinates are left out: "
        "this data has none.",
        "",
        f"{about['cpu']}, {about['cores']} cores (load {about['load_before']} before "
        f"the run; others may have used the machine); Python {about['python']}, "
        f"{versions}; commit {about['commit']}, {about['date']}.",
        "",
        "| model | parameters | s | against gin | MiB | against gin |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    against = ratios(rows)
    for name, row in rows.items():
        cost = against[name]
        lines.append(
            f"| {name} | {int(row['parameters']):,} | {row['seconds']:.2f} | "
            f"{cost['seconds']:g} | {row['memory'] / 2**20:.0f} | {cost['memory']:g} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    from sekgnn.training import Training

    args = command(__doc__, names(), 3).parse_args()
    report = new_report(args, PACKAGES)
    rows = report.setdefault("models", {})
    first = Training(config_of("gin"))
    for name in args.only or names():
        training = first.change(config_of(name))
        rows[name] = in_a_process(training, args.repeats)
        print(name, rows[name], flush=True)
    report["models"] = {name: rows[name] for name in names() if name in rows}
    write_report(args.output, report, page(report))
    if args.output:
        text = json.dumps(ratios(report["models"]), indent=1) + "\n"
        COSTS.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
