"""Do conformal intervals have their nominal coverage?

``python -m studies.coverage`` fits a ridge on encodings to many random splits of three
datasets, calibrates it in two ways, measures the coverage of test graphs, and writes
record and page. ``--page`` writes only the page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch

from sekgnn.checks import require
from sekgnn.datasets import GraphTask, Split, networkx_task, read_task, tu_task
from sekgnn.files import write_files
from sekgnn.provenance import package_versions, source_commit
from sekgnn.training import Training
from sekgnn.training.calibration import Calibration
from sekgnn.training.config import RunConfig
from sekgnn.training.run import PACKAGES

OUTPUT = Path(__file__).parents[1] / "results" / "coverage"
CONFIDENCE = 0.9
TRAIN, VALIDATION = 60, 40


@dataclass(frozen=True)
class Measured:
    """Coverage on one data set.

    Attributes:
        title: Name of the data.
        graphs: Number of graphs; all but training and validation graphs are tested.
        apart: Coverage of the test graphs per split, calibrated on a half of the
            validation graphs that selects nothing, as in a run.
        shared: The same, calibrated on the graphs that select the penalty.
        sizes_apart: Mean width of intervals, or number of classes, per split.
        sizes_shared: The same for ``shared``.
    """

    title: str
    graphs: int
    apart: list[float]
    shared: list[float]
    sizes_apart: list[float]
    sizes_shared: list[float]


def triangles() -> GraphTask:
    """Return random graphs and their numbers of triangles."""
    nx = require("networkx", None)
    graphs = [nx.gnp_random_graph(10 + i % 9, 0.3, seed=i) for i in range(800)]
    counts = [sum(nx.triangles(graph).values()) // 3 for graph in graphs]
    return networkx_task(graphs, counts, kind="regression")


def molecules() -> GraphTask:
    """Return the molecules of ``sekgnn example`` and their gaps."""
    table = Path(str(files("sekgnn.datasets").joinpath("molecules.csv")))
    return read_task(table, "gap")


def mutag() -> GraphTask:
    """Return MUTAG and its classes."""
    return tu_task("MUTAG")


DATA: dict[str, Callable[[], GraphTask]] = {
    "triangles of 800 random graphs": triangles,
    "gap of the 999 molecules of `sekgnn example`": molecules,
    "MUTAG, sets of classes": mutag,
}


def random_splits(graphs: int, count: int) -> list[Split]:
    """Return independent random splits."""
    out = []
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(graphs)
        arrays = np.split(order, [TRAIN, TRAIN + VALIDATION])
        out.append(Split(*(np.sort(array) for array in arrays)))
    return out


def covered(training: Training, split: str) -> tuple[list[float], list[float]]:
    """Return coverage, and mean size of intervals or sets, of every split."""
    shares: list[float] = []
    sizes: list[float] = []
    for number in range(len(training.splits)):
        trained = training.fit(number)
        goal = trained.note
        cal, tested = (trained.evaluate(name) for name in (split, "test"))
        calibration = Calibration.fit(
            goal, CONFIDENCE, goal.predictions(cal.out), cal.y, cal.mask
        )
        metrics = calibration.metrics(
            training.kind, ["y"], goal.predictions(tested.out), tested.y, tested.mask
        )
        shares.append(metrics.pop("coverage"))
        sizes.append(*metrics.values())
    return shares, sizes


def measure(title: str, data: GraphTask, count: int) -> Measured:
    """Return the coverage on random splits of ``data``."""
    splits = random_splits(len(data), count)
    config = RunConfig(model="ridge", confidence=CONFIDENCE)
    apart = Training(config, data, splits=splits)
    shared = Training(RunConfig(model="ridge"), data, splits=splits)
    share, size = covered(apart, "calibration")
    shared_share, shared_size = covered(shared, "val")
    return Measured(title, len(data), share, shared_share, size, shared_size)


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean."""
    return float(np.std(values, ddof=1)) / len(values) ** 0.5


def page(results: Sequence[Measured]) -> str:
    """Return the page in Markdown."""

    def cell(values: Sequence[float]) -> str:
        return f"{np.mean(values):.3f} ± {standard_error(values):.3f}"

    half = VALIDATION // 2
    rows = [
        f"| {result.title} | {len(result.apart)} | {cell(result.apart)} "
        f"| {np.mean(result.sizes_apart):.3g} | {cell(result.shared)} "
        f"| {np.mean(result.sizes_shared):.3g} |"
        for result in results
    ]
    return "\n".join([
        "# Do intervals hold the truth as often as they say?",
        "",
        f"A ridge on encodings (`--model ridge --confidence {CONFIDENCE}`), {TRAIN} "
        f"training graphs, {VALIDATION} validation graphs, all others test; random "
        "splits. *Apart* is what runs do: one half of the validation graphs chooses "
        f"the penalty, the other {half} calibrate. *Shared*: all of them do both. ± is "
        "the standard error over splits. Split conformal prediction promises "
        f"{CONFIDENCE} or a little more, ⌈(n + 1) · {CONFIDENCE}⌉ / (n + 1), if the "
        "graphs that calibrate did nothing else.",
        "",
        "| data | splits | coverage, apart | width or classes | coverage, shared | "
        "width or classes |",
        "| --- | --- | --- | --- | --- | --- |",
        *rows,
        "",
        "Made by `python -m studies.coverage`.",
        "",
    ])  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write record and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument(
        "--page", action="store_true", help="of the record that is there"
    )
    options = parser.parse_args(arguments)
    record = options.output / "coverage.json"
    if options.page:
        values = json.loads(record.read_text(encoding="utf-8"))
        results = [Measured(**result) for result in values["data"]]
    else:
        torch.set_num_threads(1)
        results = []
        for title, data in DATA.items():
            results.append(measure(title, data(), options.splits))
            print(page(results[-1:]).splitlines()[-3], flush=True)
    text = {"coverage.md": page(results).encode()}
    if not options.page:
        versions = package_versions(PACKAGES)
        values = {
            "confidence": CONFIDENCE,
            "versions": versions,
            "commit": source_commit(),
            "data": [asdict(result) for result in results],
        }
        text["coverage.json"] = (json.dumps(values, indent=1) + "\n").encode()
    options.output.mkdir(parents=True, exist_ok=True)
    write_files(options.output, text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
