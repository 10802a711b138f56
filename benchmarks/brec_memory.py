"""Memory of each test of the scoreboard for BREC's largest pair.

``python -m benchmarks.brec_memory`` adds its numbers to the record and page of ``sekgnn
brec --all``. Every verdict runs in a separate process, after compilation on a small
pair. Needs Linux.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import status

from sekgnn.brec.record import from_json, to_json
from sekgnn.datasets.wl_benchmarks import BREC
from sekgnn.files import write_files
from sekgnn.graphs import Graph, complete_graph
from sekgnn.graphs.families import cfi_pair
from sekgnn.graphs.graph6 import from_graph6, to_graph6
from sekgnn.reports.brec_page import brec_page
from sekgnn.wl.ladder import BOARD
from sekgnn.wl.refinement import Batch, WLTest, refine


def peak_memory(key: str, first: Graph, second: Graph) -> int:
    """Return the bytes that a verdict of one row of the scoreboard adds to a process.

    A row with several tests counts as its largest.
    """
    done = subprocess.run(
        (sys.executable, "-m", "benchmarks.brec_memory", "--measure", key),
        input="\n".join(to_graph6(graph) for graph in (first, second)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(done.stdout)


def measure(key: str, *graphs: Graph) -> int:
    """Run the tests of a row in this process and return the growth of its memory."""
    rung = next(rung for rung in BOARD if rung.key == key)
    grown = []
    for test in (*rung.after, rung.test):
        run(test, *cfi_pair(complete_graph(3)))
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        before = status("VmRSS")
        run(test, *graphs)
        grown.append(status("VmHWM") - before)  # the kernel counts pages in batches
    return max(0, *grown)


def run(test: WLTest, *graphs: Graph) -> None:
    batch = Batch.of(graphs)
    refine(test, batch, keep_history=False, stop_when_apart=True, threads=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--results", type=Path, default=Path("results/brec"), help="folder"
    )
    parser.add_argument("--measure", metavar="KEY", help="one row, on two graphs")
    options = parser.parse_args()
    if options.measure:
        print(measure(options.measure, *map(from_graph6, sys.stdin.read().split())))
        return
    pair = max(BREC(), key=lambda pair: pair.first.num_nodes)
    scores = []
    for score in from_json((options.results / "exact.json").read_text("utf-8")):
        peak = peak_memory(score.name, pair.first, pair.second)
        scores.append(replace(score, peak=peak))
        print(f"{peak / 2**20:>8.1f} MB  {score.label}", flush=True)
    pages = {"exact.md": brec_page(scores), "exact.json": to_json(scores)}
    write_files(options.results, {k: text.encode() for k, text in pages.items()})


if __name__ == "__main__":
    main()
