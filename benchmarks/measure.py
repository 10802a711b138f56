"""Shared by all benchmarks: fixed settings, the machine, and fair timing."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

SETTINGS = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
# Let the allocator keep memory between repeats: on a virtual machine the first use of
# fresh memory can cost more than the measured work.
KEEP = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "-1"}
SETTINGS |= KEEP

PACKAGES = ("sekgnn", "numpy", "scipy", "numba", "torch", "torch-geometric")


def restart_with_settings() -> None:
    """Start the same command again with :data:`SETTINGS`, unless it has them."""
    if any(os.environ.get(name) != value for name, value in SETTINGS.items()):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **SETTINGS})


def machine(packages: tuple[str, ...] = PACKAGES) -> dict[str, Any]:
    """Return machine, versions and load."""
    cpu = platform.processor() or "unknown"
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            x for x in info.read_text().splitlines() if x.startswith("model name")
        ]
        cpu = models[0].split(":", 1)[1].strip() if models else cpu
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
        "commit": commit,
        "date": time.strftime("%Y-%m-%d"),
        "load_before": round(os.getloadavg()[0], 2),
    }


def timed(work: Callable[[], object]) -> float:
    """Return the time of ``work`` in seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(
    works: dict[str, Callable[[], object]], repeats: int
) -> dict[str, list[float]]:
    """Time every work ``repeats`` times, taking turns."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(timed(work))
    return times


def status(field: str) -> int:
    """Return a field of this process's status in bytes, on Linux."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no field {field}.")


def peak_memory() -> int:
    """Return the peak memory of this process in bytes.

    On Linux from /proc, since ``ru_maxrss`` includes the parent process.
    """
    if Path("/proc/self/status").exists():
        return status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def command(
    description: str | None, sections: list[str], repeats: int
) -> argparse.ArgumentParser:
    """Return the parser of a benchmark with these sections."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--only", nargs="+", choices=sections)
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--quick", action="store_true")
    return parser


def new_report(
    args: argparse.Namespace, packages: tuple[str, ...] = PACKAGES
) -> dict[str, Any]:
    """Return a report without parts, or with those that ``--only`` leaves alone."""
    report: dict[str, Any] = {"machine": machine(packages)}
    if args.output and args.output.exists() and args.only:
        report = {**json.loads(args.output.read_text()), **report}
    return report


def write_report(output: Path | None, report: dict[str, Any], page: str) -> None:
    """Write the numbers as JSON, and the page beside them."""
    from sekgnn.files import write_files

    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        texts = {
            output.name: json.dumps(report, indent=1) + "\n",
            output.with_suffix(".md").name: page,
        }
        write_files(output.parent, {k: text.encode() for k, text in texts.items()})
