"""Many graphs in shards: speed of one process and of Dask workers, and memory.

Graphs are like molecules: trees of 10 to 30 nodes whose branches have at most four
neighbours, with up to three further edges. They are generated as JSON lines, whose
reading is part of the measured work.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import (
    PACKAGES,
    command,
    new_report,
    peak_memory,
    restart_with_settings,
    timed,
    write_report,
)

SECTIONS = ["speed", "memory"]
SHARD_SIZE = 4096


def generate(path: Path, count: int) -> None:
    """Write molecule-like graphs; y is the number of nodes of degree 3 or more."""
    import numpy as np

    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for _ in range(count):
            n = int(rng.integers(10, 31))
            draws = rng.random(n + 6)
            degree = [0] * n
            edges = []
            for v in range(1, n):
                u = max(0, v - 1 - int(4 * draws[v] ** 3))
                while degree[u] > 3:
                    u += 1
                edges.append((u, v))
                degree[u] += 1
                degree[v] += 1
            for i in range(3):
                u, v = (int(x * n) for x in draws[n + 2 * i : n + 2 * i + 2])
                if abs(u - v) > 2 and max(degree[u], degree[v]) < 4:
                    edges.append((u, v))
                    degree[u] += 1
                    degree[v] += 1
            pairs = ",".join(f"[{u},{v}]" for u, v in edges)
            y = sum(d > 2 for d in degree)
            file.write(f'{{"num_nodes":{n},"edges":[{pairs}],"y":{y}}}\n')


def encoding_seconds(source: Path, output: Path, workers: int | None) -> float:
    """Return the time to write shards, without the start of the cluster."""
    from contextlib import ExitStack

    from sekgnn import WalkEncoding
    from sekgnn.encoding.dask_engine import open_client
    from sekgnn.encoding.sharded import encode_shards

    walks = WalkEncoding(num_shells=2, walk_length=8)

    def encode(path: Path, to: str, size: int) -> None:
        encode_shards(
            path,
            output / to,
            walks,
            targets=["y"],
            shard_size=size,
            dtype="float32",
            threads=1,
            client=client,
        )

    with ExitStack() as stack:
        client = None
        if workers is not None:
            client = stack.enter_context(open_client(workers=workers))
        with source.open() as lines, (output / "warm.jsonl").open("w") as warm:
            warm.writelines(next(lines) for _ in range(64))
        encode(output / "warm.jsonl", "warm", 4)  # every process loads its kernels
        return timed(lambda: encode(source, "shards", SHARD_SIZE))


def in_new_process(job: str, *args: object) -> dict[str, Any]:
    """Return the measurements of ``job`` in a separate process."""
    line = [sys.executable, "-m", "benchmarks.scale", "--measure", job, *map(str, args)]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def measure(job: str, source: Path, output: Path) -> dict[str, Any]:
    """Return time and peak memory of one job in this process."""
    if job == "train":
        from sekgnn.training.run import train

        seconds = timed(
            lambda: train(
                str(output / "shards"),
                output / "run",
                model="sek-gin",
                kind="regression",
                hidden_channels=16,
                num_layers=2,
                batch_size=256,
                epochs=1,
                baseline=False,
            )
        )
    else:
        workers = None if job == "serial" else int(job)
        seconds = encoding_seconds(source, output, workers)
    return {"seconds": seconds, "peak_bytes": peak_memory()}


def speed(folder: Path, count: int, repeats: int) -> dict[str, Any]:
    """Return graphs per second of one process, one worker and two, taking turns."""
    source = folder / "graphs.jsonl"
    generate(source, count)
    seconds: dict[str, list[float]] = {"serial": [], "1": [], "2": []}
    for _ in range(repeats):
        for job, times in seconds.items():
            output = folder / "out"
            output.mkdir()
            times.append(in_new_process(job, source, output)["seconds"])
            shutil.rmtree(output)
    best = {job: min(times) for job, times in seconds.items()}
    return {
        "graphs": count,
        "seconds": seconds,
        "graphs_per_second": {job: count / best[job] for job in best},
        "overhead_of_one_worker": best["1"] / best["serial"] - 1,
        "gain_of_two_workers": best["1"] / best["2"],
    }


def memory(folder: Path, count: int) -> dict[str, Any]:
    """Return time and memory of encoding and of an epoch of training."""
    source, output = folder / "many.jsonl", folder / "many"
    output.mkdir()
    generate(source, count)
    jobs = {job: in_new_process(job, source, output) for job in ("serial", "train")}
    files = list((output / "shards").iterdir())
    size = sum(file.stat().st_size for file in files)
    return {
        "graphs": count,
        "input_bytes": source.stat().st_size,
        "shards": len(files) - 1,
        "shard_bytes": size,
        **jobs,
    }


def table(report: dict[str, Any]) -> str:
    load = report["machine"]["load_before"]
    lines = [
        "# Many graphs",
        "",
        f"{report['machine']['cpu']}, {report['machine']['cores']} cores. Load before: "
        f"{load}"
        + (", **a busy machine: not a measurement of speed**." if load > 1 else "."),
    ]
    if "speed" in report:
        r = report["speed"]
        rates = r["graphs_per_second"]
        lines += [
            "",
            f"## Encoding {r['graphs']:,} graphs, JSON lines to shards of {SHARD_SIZE}",
            "",
            "| engine | graphs per second |",
            "|---|---|",
            f"| one process, one thread | {rates['serial']:,.0f} |",
            f"| Dask, 1 worker | {rates['1']:,.0f} |",
            f"| Dask, 2 workers | {rates['2']:,.0f} |",
            "",
            f"Overhead of one worker: {r['overhead_of_one_worker']:.0%}; two workers "
            f"give {r['gain_of_two_workers']:.2f} times one.",
        ]
    if "memory" in report:
        r = report["memory"]
        lines += [
            "",
            f"## {r['graphs']:,} graphs",
            "",
            f"{r['input_bytes'] / 2**20:,.0f} MiB of input, {r['shards']} shards of "
            f"{r['shard_bytes'] / 2**30:.2f} GiB together.",
            "",
            "| job | seconds | most memory |",
            "|---|---|---|",
        ]
        for job, name in (("serial", "encode"), ("train", "train, one epoch")):
            peak = r[job]["peak_bytes"] / 2**30
            lines.append(f"| {name} | {r[job]['seconds']:,.0f} | {peak:.2f} GiB |")
    return "\n".join(lines) + "\n"


def main() -> None:
    restart_with_settings()
    parser = command(__doc__, SECTIONS, repeats=3)
    parser.add_argument("--measure", nargs=3, metavar=("JOB", "SOURCE", "OUTPUT"))
    parser.add_argument("--graphs", type=int, default=1_000_000)
    args = parser.parse_args()
    if args.measure:
        job, source, output = args.measure
        print(json.dumps(measure(job, Path(source), Path(output))))
        return
    report = new_report(args, (*PACKAGES, "dask", "distributed"))
    sections = args.only or SECTIONS
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        if "speed" in sections:
            count = 4 * SHARD_SIZE if args.quick else 16 * SHARD_SIZE
            report["speed"] = speed(Path(folder), count, args.repeats)
        if "memory" in sections:
            report["memory"] = memory(Path(folder), args.graphs)
    write_report(args.output, report, table(report))
    print(table(report))


if __name__ == "__main__":
    main()
