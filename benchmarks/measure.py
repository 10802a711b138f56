"""What every benchmark needs: fixed settings, the machine, and fair timing."""

from __future__ import annotations

import os
import platform
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
# fresh memory costs between nothing and more than the work that is measured.
KEEP = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "-1"}
SETTINGS |= KEEP

PACKAGES = ("sekgnn", "numpy", "scipy", "numba", "torch", "torch-geometric")


def restart_with_settings() -> None:
    """Start the same command again with :data:`SETTINGS`, unless it has them."""
    if any(os.environ.get(name) != value for name, value in SETTINGS.items()):
        os.execve(sys.executable, sys.orig_argv, {**os.environ, **SETTINGS})


def machine(packages: tuple[str, ...] = PACKAGES) -> dict[str, Any]:
    """Return what the numbers were measured on and with, and how busy it was."""
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
    """Return the seconds that ``work`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(
    works: dict[str, Callable[[], object]], repeats: int
) -> dict[str, list[float]]:
    """Time each piece of work ``repeats`` times, taking turns."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(timed(work))
    return times
