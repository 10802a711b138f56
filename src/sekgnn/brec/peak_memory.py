"""How much memory a test takes for one pair, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from sekgnn.graphs.cfi import cfi_pair
from sekgnn.graphs.families import complete_graph
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph6 import from_graph6, to_graph6
from sekgnn.graphs.labelled import LabelledGraph
from sekgnn.wl.batch import Batch
from sekgnn.wl.colouring import WLTest
from sekgnn.wl.refinement import refine
from sekgnn.wl.registry import make_test

_STATUS = Path("/proc/self/status")


def peak_memory(test: WLTest, first: Graph, second: Graph) -> int | None:
    """Return the bytes that one verdict adds to those of a process that is ready.

    The process has compiled everything before, on a small pair. ``None`` where it
    cannot be measured: only Linux tells, not in every container, and only the tests of
    this package are known to a new process.
    """
    if not _STATUS.exists():
        return None
    task = {
        "test": test.to_dict(),
        "graphs": [to_graph6(graph) for graph in (first, second)],
    }
    done = subprocess.run(
        (sys.executable, "-m", "sekgnn.brec.peak_memory"),
        input=json.dumps(task),
        capture_output=True,
        text=True,
    )
    return int(done.stdout) if done.returncode == 0 else None


def _measure(task: dict[str, object]) -> int:
    """Run the pair in this process and return how much its memory grew."""
    parameters = dict(task["test"])  # type: ignore[call-overload]
    test = make_test(parameters.pop("test"), **parameters)
    _run(test, *cfi_pair(complete_graph(3)))
    graphs = [from_graph6(text) for text in task["graphs"]]  # type: ignore[attr-defined]
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _read("VmRSS")
    _run(test, *graphs)
    return max(0, _read("VmHWM") - before)  # the kernel counts pages in batches


def _run(test: WLTest, *graphs: Graph) -> None:
    batch = Batch.of(LabelledGraph(graph) for graph in graphs)
    refine(test, batch, keep_history=False, stop_when_apart=True, threads=1)


def _read(field: str) -> int:
    """Return a field of the process's status in bytes."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no field {field}.")


if __name__ == "__main__":
    print(_measure(json.load(sys.stdin)))
