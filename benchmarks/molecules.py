"""Molecules against chemprop: reading SMILES, an epoch, predicting, as ratios.

    python -m benchmarks.molecules --output results/benchmarks/molecules.json

measures, on one thread, systems taking turns, a process per number:

1. ``read``: 41,000 SMILES from a table to the input of the first epoch: features of
   atoms and bonds, and for ours encodings and hops;
2. ``epoch``: an epoch on 80 % of the molecules with validation: a quarter of the
   difference of ``train`` with six epochs and with two;
3. ``predict``: the command from a table of 100,000 SMILES to a table of predictions.

Both have their defaults: sekgnn one network, as for tables of this size, and as many
processes that read SMILES as there are cores; chemprop reads with one. The SMILES are
those of Lipo (below ``SEKGNN_DATA``, else the molecules of QM9 in the package), drawn
with replacement. Chemprop is installed into a separate environment
(``--environment``). Numbers are medians of seconds of a process and its children.
"""

from __future__ import annotations

import sys

from benchmarks.measure import command, new_report, restart_with_settings, write_report

if __name__ == "__main__" and "--measure" not in sys.argv:
    restart_with_settings()

import csv
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SECTIONS = ["read", "epoch", "predict"]
PACKAGES = ("sekgnn", "numpy", "torch", "torch-geometric", "rdkit")
SYSTEMS = ("sekgnn", "chemprop")
FEW, MANY = 2, 6
"""Epochs of the two trainings whose difference is measured."""


# in a process of its own, chemprop's in another environment


def read_sekgnn(path: Path) -> None:
    from sekgnn import WalkEncoding
    from sekgnn.datasets import read_task
    from sekgnn.training.data import task_source

    encoding = WalkEncoding(scope=("graph", "internal"))
    reads = (3, encoding, "float32", 0)  # hops, encoding, type; of the default network
    task_source(read_task(path, "y"), reads, max_neighbors=None, seed=0)


def read_chemprop(path: Path) -> None:
    from chemprop.data import (  # type: ignore[import-not-found]
        MoleculeDatapoint,
        MoleculeDataset,
    )

    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    points = [
        MoleculeDatapoint.from_smi(row["smiles"], [float(row["y"])]) for row in rows
    ]
    MoleculeDataset(points).cache = True  # makes all graphs now


def measure_reading(system: str, path: Path, warm_up: Path) -> dict[str, float]:
    """Return the seconds to read a table, after import and compilation."""
    read = {"sekgnn": read_sekgnn, "chemprop": read_chemprop}[system]
    read(warm_up)
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    read(path)
    return {"wall": time.perf_counter() - wall, "cpu": sum(os.times()[:4]) - cpu}


# the commands


def python_of(system: str, environment: Path) -> Path:
    return Path(sys.executable) if system == "sekgnn" else environment / "bin/python"


def train_words(system: str, environment: Path, epochs: int, run: str) -> list[Any]:
    if system == "sekgnn":
        return [
            Path(sys.executable).with_name("sekgnn"), "train", "data.csv", "--target",
            "y", "--preset", "plain", "--readout", "mean", "--dropout", "0.1",
            "--optimizer", "adamw", "--schedule", "cosine", "--no-baseline", "--quiet",
            "--epochs", epochs, "--output", run,
        ]  # fmt: skip
    return [
        environment / "bin/chemprop", "train", "--data-path", "data.csv",
        "--smiles-columns", "smiles", "--target-columns", "y", "--task-type",
        "regression", "--accelerator", "cpu", "--epochs", epochs, "--warmup-epochs", 1,
        "--output-dir", run,
    ]  # fmt: skip


def predict_words(system: str, environment: Path, run: str) -> list[Any]:
    if system == "sekgnn":
        program = Path(sys.executable).with_name("sekgnn")
        return [program, "predict", run, "many.csv", "--output", "out.csv", "--quiet"]
    return [
        environment / "bin/chemprop", "predict", "--test-path", "many.csv",
        "--smiles-columns", "smiles", "--model-paths", run, "--accelerator", "cpu",
        "--preds-path", "out_chemprop.csv",
    ]  # fmt: skip


def seconds_of(words: Sequence[Any], folder: Path) -> dict[str, float]:
    """Return the seconds of a command and its children."""
    began = time.perf_counter()
    before = os.times()
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    after = os.times()
    if done.returncode:
        raise RuntimeError(f"{words[0]} {words[1]}: {done.stdout[-2000:]}")
    cpu = after.children_user - before.children_user
    cpu += after.children_system - before.children_system
    return {"wall": time.perf_counter() - began, "cpu": cpu}


def read_seconds(system: str, environment: Path, folder: Path) -> dict[str, float]:
    module = [python_of(system, environment), "-m", "benchmarks.molecules"]
    files = [folder / "data.csv", folder / "few.csv"]
    done = subprocess.run(
        [str(word) for word in (*module, "--measure", system, *files)],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def epoch_seconds(system: str, environment: Path, folder: Path) -> dict[str, float]:
    trainings = []
    for epochs in (FEW, MANY):
        with tempfile.TemporaryDirectory(dir=folder) as run:
            words = train_words(system, environment, epochs, f"{run}/run")
            trainings.append(seconds_of(words, folder))
    few, many = trainings
    return {kind: (many[kind] - few[kind]) / (MANY - FEW) for kind in few}


def predict_seconds(system: str, environment: Path, folder: Path) -> dict[str, float]:
    return seconds_of(predict_words(system, environment, f"run-{system}"), folder)


MEASURES = {"read": read_seconds, "epoch": epoch_seconds, "predict": predict_seconds}


# the molecules


def known_smiles() -> list[str]:
    import sekgnn.datasets

    path = Path(sekgnn.datasets.__file__).with_name("molecules.csv")
    root = os.environ.get("SEKGNN_DATA")
    if root and (Path(root) / "molecules" / "lipo.csv").is_file():
        path = Path(root) / "molecules" / "lipo.csv"
    with path.open(newline="", encoding="utf-8") as file:
        return [row["smiles"] for row in csv.DictReader(file)]


def write_table(path: Path, count: int, seed: int) -> None:
    """Write molecules drawn with replacement; y is easy to learn."""
    draw = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["smiles", "y"])
        for smiles in draw.choices(known_smiles(), k=count):
            lines.writerow([smiles, smiles.upper().count("C") + draw.gauss(0, 1)])


def measured(args: Any, environment: Path) -> dict[str, Any]:
    """Return the seconds of every measure and system."""
    from studies.peers import Chemprop

    systems = [*SYSTEMS]
    try:
        Chemprop(environment).install()
    except (OSError, RuntimeError) as error:
        print(f"chemprop is left out: {str(error).splitlines()[-1]}")
        systems.remove("chemprop")
    times: dict[str, dict[str, list[dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        write_table(folder / "data.csv", args.molecules, seed=0)
        write_table(folder / "many.csv", args.predicted, seed=1)
        write_table(folder / "few.csv", 100, seed=2)
        for system in systems:  # for predictions; encodings are cached, too
            words = train_words(system, environment, FEW, f"run-{system}")
            seconds_of(words, folder)
        for repeat in range(args.repeats):
            for measure in args.only or SECTIONS:
                for system in systems:
                    found = MEASURES[measure](system, environment, folder)
                    times.setdefault(measure, {}).setdefault(system, []).append(found)
                    print(measure, system, repeat, json.dumps(found), file=sys.stderr)
    return times


def summary(times: dict[str, Any]) -> dict[str, Any]:
    """Return medians of wall and processor seconds, and ratios to chemprop's."""
    out: dict[str, Any] = {}
    for measure, systems in times.items():
        medians = {
            name: {
                k: statistics.median(turn[k] for turn in turns) for k in ("wall", "cpu")
            }
            for name, turns in systems.items()
        }
        row: dict[str, Any] = {"seconds": medians, "each": systems}
        if "chemprop" in medians:
            ours, theirs = medians["sekgnn"], medians["chemprop"]
            row["ratio"] = {kind: theirs[kind] / ours[kind] for kind in ours}
        out[measure] = row
    return out


def table(report: dict[str, Any]) -> str:
    about = report["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in about["versions"].items())
    lines = [
        "# Molecules beside chemprop",
        "",
        "Written by `benchmarks/molecules.py`, which says how: "
        f"{report['molecules']:,} molecules to read and train on, "
        f"{report['predicted']:,} to predict, one thread; medians of "
        f"{report['repeats']} turns. A ratio of 2 means that sekgnn is twice as fast; "
        "cpu is processor time.",
        "",
        f"{about['cpu']}, {about['cores']} cores (load {about['load_before']} before "
        f"the run); Python {about['python']}, {versions}; commit {about['commit']}, "
        f"{about['date']}.",
        "",
        "| | sekgnn, s | cpu, s | chemprop, s | cpu, s | ratio | ratio of cpu |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for measure in SECTIONS:
        row = report["parts"].get(measure)
        if row is None:
            continue
        cells = [measure]
        for system in SYSTEMS:
            system_seconds = row["seconds"].get(system)
            cells += [
                f"{system_seconds[k]:.1f}" if system_seconds else "–"
                for k in ("wall", "cpu")
            ]
        ratio = row.get("ratio")
        cells += [f"{ratio[k]:.2f}" if ratio else "–" for k in ("wall", "cpu")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = command(__doc__, SECTIONS, repeats=3)
    parser.add_argument("--molecules", type=int, default=41_000)
    parser.add_argument("--predicted", type=int, default=100_000)
    parser.add_argument("--environment", type=Path, default=Path("build/chemprop"))
    parser.add_argument("--measure", nargs=3, metavar=("SYSTEM", "TABLE", "WARM_UP"))
    args = parser.parse_args()
    if args.measure:
        system, path, warm_up = args.measure
        print(json.dumps(measure_reading(system, Path(path), Path(warm_up))))
        return
    if args.quick:
        args.molecules, args.predicted, args.repeats = 2_000, 5_000, 1
    report = new_report(args, PACKAGES)
    times = measured(args, args.environment.absolute())
    report |= {
        "molecules": args.molecules,
        "predicted": args.predicted,
        "repeats": args.repeats,
        "parts": {**report.get("parts", {}), **summary(times)},
    }
    write_report(args.output, report, table(report))
    print(table(report))


if __name__ == "__main__":
    main()
