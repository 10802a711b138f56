"""How do the defaults on molecules compare with chemprop, a forest and boosting?

``python -m studies.peers`` scores every system on four public tables, split at random
and by scaffold, two seeds each, and writes record and page. All systems have the same
training, validation and test molecules, from the columns of the table. Chemprop is
installed into a separate environment; if that fails, a sentence replaces its rows. The
same command continues.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import ensemble
from sklearn.metrics import roc_auc_score

from sekgnn.errors import DataNotFoundError
from sekgnn.files import write_files
from sekgnn.graphs.molecules import descriptors_of, morgan_counts
from sekgnn.provenance import package_versions, source_commit
from sekgnn.training.run import PACKAGES

OUTPUT = Path(__file__).parents[1] / "results" / "defaults"
CHEMPROP = ("torch==2.13.0", "chemprop==2.2.4")
SPLITS = ("random_0", "scaffold_0", "random_1", "scaffold_1")
FLOAT_LIMIT = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Table:
    """A table of molecules with columns that define splits.

    Attributes:
        classes: Whether targets are 0 or 1, scored by the mean AUROC instead of MAE.
        targets: Columns to predict.
    """

    classes: bool
    targets: tuple[str, ...]


TABLES = {
    "esol": Table(False, ("log_solubility",)),
    "bbbp": Table(True, ("penetrates",)),
    "lipo": Table(False, ("logd",)),
    "tox21": Table(
        True,
        (
            "NR-AR", "NR-AR-LBD", "NR-AhR", "NR-Aromatase", "NR-ER", "NR-ER-LBD",
            "NR-PPAR-gamma", "SR-ARE", "SR-ATAD5", "SR-HSE", "SR-MMP", "SR-p53",
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Score:
    """One system on one split.

    Attributes:
        value: MAE, or mean AUROC over the targets, of the test molecules.
        seconds: Processor time of everything: reading, features, training, prediction.
        command: The command, as a user would type it.
    """

    table: str
    split: str
    system: str
    metric: str
    value: float
    seconds: float
    command: str


class Rows:
    """The molecules of a table, their targets, and the subset of each in a split."""

    def __init__(self, path: Path, table: Table, split: str) -> None:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.table, self.path, self.split = table, path, split
        self.smiles = [row["smiles"] for row in rows]
        self.subset = np.array([row[split] for row in rows])
        self.y = np.array(
            [[float(row[name] or "nan") for name in table.targets] for row in rows]
        )  # [G, T]

    def write(self, path: Path) -> None:
        """Write SMILES, targets and subsets."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["smiles", *self.table.targets, "part"])
            for smiles, y, subset in zip(self.smiles, self.y, self.subset, strict=True):
                cells = ["" if np.isnan(v) else f"{v:g}" for v in y]
                writer.writerow([smiles, *cells, subset])

    def score(self, predicted: NDArray[np.float64]) -> tuple[str, float]:
        """Return name and value of the metric on the test molecules."""
        y = self.y[self.subset == "test"]
        if not self.table.classes:
            return "mae", float(np.nanmean(np.abs(predicted - y)))
        values = []
        for truth, p in zip(y.T, predicted.T, strict=True):
            present = ~np.isnan(truth)
            if len(np.unique(truth[present])) == 2:
                values.append(roc_auc_score(truth[present], p[present]))
        return "auroc", float(np.mean(values))


def _used() -> float:
    """Return the processor seconds of this process and its finished children."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    usage = [resource.getrusage(kind) for kind in kinds]
    return sum(u.ru_utime + u.ru_stime for u in usage)


def _run(command: Sequence[str | Path], folder: Path) -> None:
    """Run a command with one thread; raise its output if it fails."""
    single_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **single_thread},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:])


def _read(path: Path, columns: Sequence[str]) -> NDArray[np.float64]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return np.array([[float(row[name]) for name in columns] for row in rows])


class Chemprop:
    """Chemprop, in a separate environment."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder, self.flags = folder, flags

    def install(self) -> Path:
        """Return the program, after installing it if necessary."""
        program = self.folder / "bin" / "chemprop"
        if not program.is_file():
            venv.create(self.folder, with_pip=True)
            python = self.folder / "bin" / "python"
            _run([python, "-m", "pip", "install", "-q", *CHEMPROP], self.folder)
        return program

    def __call__(self, rows: Rows, work: Path) -> tuple[NDArray[np.float64], str]:
        """Return predictions of the test molecules, and the command in words."""
        rows.write(work / "data.csv")
        words: list[str] = [
            "--data-path", "data.csv", "--smiles-columns", "smiles",
            "--target-columns", *rows.table.targets, "--splits-column", "part",
            "--task-type", "classification" if rows.table.classes else "regression",
            *self.flags,
        ]  # fmt: skip
        hidden = ["--accelerator", "cpu", "--output-dir", "out", "--pytorch-seed", "0"]
        _run([self.install(), "train", *words, *hidden], work)
        predictions = [
            _read(path, rows.table.targets)
            for path in sorted(work.glob("out/**/test_predictions.csv"))
        ]
        return np.mean(predictions, axis=0), f"chemprop train {' '.join(words)}"


class Trees:
    """Trees on Morgan counts and RDKit's descriptors, one model per target."""

    def __init__(self, boosted: bool) -> None:
        self.boosted = boosted

    def __call__(self, rows: Rows, work: Path) -> tuple[NDArray[np.float64], str]:
        """Return predictions of the test molecules, and the command in words."""
        counts = np.array([morgan_counts(smiles) for smiles in rows.smiles])
        descriptors = np.array([descriptors_of(smiles) for smiles in rows.smiles])
        descriptors = np.nan_to_num(descriptors).clip(-FLOAT_LIMIT, FLOAT_LIMIT)
        x = np.hstack([counts, descriptors]).astype(np.float32)  # [G, 2048 + D]
        test, columns = rows.subset == "test", []
        for y in rows.y.T:
            train = (rows.subset != "test") & ~np.isnan(y)
            if self.boosted:
                train &= rows.subset == "train"
            model = self._model(rows.table.classes).fit(x[train], y[train])
            if rows.table.classes:
                columns.append(model.predict_proba(x[test])[:, 1])
            else:
                columns.append(model.predict(x[test]))
        name = type(self._model(rows.table.classes)).__name__
        fitted_on = "training" if self.boosted else "training and validation"
        words = f"{name} on Morgan counts and descriptors of {fitted_on} molecules"
        return np.column_stack(columns), words

    def _model(self, classes: bool) -> Any:
        if self.boosted:
            kind = "Classifier" if classes else "Regressor"
            return getattr(ensemble, f"HistGradientBoosting{kind}")(random_state=0)
        if classes:
            return ensemble.RandomForestClassifier(500, random_state=0)
        return ensemble.RandomForestRegressor(500, max_features=1 / 3, random_state=0)


class Ours:
    """``sekgnn train`` with some flags."""

    def __init__(self, *flags: str) -> None:
        self.flags = flags

    def __call__(self, rows: Rows, work: Path) -> tuple[NDArray[np.float64], str]:
        """Return predictions of the test molecules, and the command in words."""
        rows.write(work / "data.csv")
        names = ("train", "val", "test")
        split = {name: np.flatnonzero(rows.subset == name).tolist() for name in names}
        (work / "split.json").write_text(json.dumps(split))
        words = ["train", "data.csv", "--target", *rows.table.targets, *self.flags]
        words += ["--split", "split.json"]
        hidden = ["--output", "out", "--no-baseline", "--quiet"]
        _run([Path(sys.executable).with_name("sekgnn"), *words, *hidden], work)
        predicted = _ours(work / "out" / "predictions.csv", rows)
        return predicted, f"sekgnn {' '.join(words)}"


def _ours(path: Path, rows: Rows) -> NDArray[np.float64]:
    """Return predictions of the test molecules in the order of the table."""
    with path.open(newline="", encoding="utf-8") as file:
        lines = {int(line["graph"]): line for line in csv.DictReader(file)}
    names = [f"predicted {target}" for target in rows.table.targets]
    if rows.table.classes and len(names) == 1:
        names = ["probability 1"]
    test = np.flatnonzero(rows.subset == "test")
    return np.array([[float(lines[int(i)][n]) for n in names] for i in test])


def systems(environment: Path) -> dict[str, Any]:
    """Return the systems by name; ours is run without flags."""
    return {
        "forest": Trees(False),
        "boosting": Trees(True),
        "chemprop": Chemprop(environment),
        "sekgnn": Ours(),
        "chemprop, descriptors x 5": Chemprop(
            environment, "--molecule-featurizers", "rdkit_2d", "--ensemble-size", "5"
        ),
    }


def ranks(scores: Sequence[Score]) -> dict[str, list[int]]:
    """Return the ranks of every system on the splits that all systems have."""
    names = list(dict.fromkeys(score.system for score in scores))
    out: dict[str, list[int]] = {name: [] for name in names}
    cells = {(s.table, s.split, s.system): s for s in scores}
    for table in TABLES:
        for split in SPLITS:
            keys = [(table, split, name) for name in names]
            if not cells.keys() >= {*keys}:
                continue
            row = [cells[key] for key in keys]
            sign = -1 if row[0].metric == "auroc" else 1
            order = np.argsort([sign * score.value for score in row], kind="stable")
            for rank, index in enumerate(order, start=1):
                out[names[index]].append(rank)
    return out


def page(record: dict[str, Any]) -> str:
    """Return the page of a record in Markdown."""
    scores = [Score(**values) for values in record["scores"]]
    names = list(dict.fromkeys(score.system for score in scores))
    cells = {(s.table, s.split, s.system): s for s in scores}
    lines = [["table, metric", "split", *names], ["---", "---", *["---:"] * len(names)]]
    for table, about in TABLES.items():
        for split in SPLITS:
            if not any((table, split, name) in cells for name in names):
                continue
            metric = "AUROC" if about.classes else "MAE"
            row = [f"{table}, {metric}", split.replace("_", " ")]
            for name in names:
                score = cells.get((table, split, name))
                row.append("–" if score is None else f"{score.value:.3f}")
            lines.append(row)
    ranked = ranks(scores)
    means = [f"{np.mean(ranked[name]):.1f}" if ranked[name] else "–" for name in names]
    splits_of = [{(s.table, s.split) for s in scores if s.system == n} for n in names]
    shared = set.intersection(*splits_of)
    used = [
        sum(s.seconds for s in scores if s.system == n and (s.table, s.split) in shared)
        for n in names
    ]
    lines.append(["mean rank *", "", *means])
    lines.append(["processor seconds *", "", *(f"{seconds:,.0f}" for seconds in used)])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    commands = {s.system: s.command for s in scores if s.table == "esol"}
    listed = "\n".join(f"- {name}: `{text}`" for name, text in commands.items())
    versions = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    notes = "".join(f"{sentence}\n\n" for sentence in record.get("left_out", []))
    return (
        f"{INTRODUCTION}\n\n{table}\n\n{notes}On ESOL, in full:\n\n{listed}\n\n"
        f"{', '.join(CHEMPROP)}; {versions}; commit {record['commit']}. "
        "`python -m studies.peers` makes this page and peers.json.\n"
    )


INTRODUCTION = """# Beside chemprop, a forest and boosting

Four public tables of molecules, split 80/10/10 at random and by Bemis-Murcko scaffold,
two seeds each. All systems have the same training, validation and test molecules and
one thread. Seconds are processor time of everything, from the table to predictions.
– is not run; rows with * count the splits that all systems have."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.peers", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=[*TABLES])
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=[*SPLITS])
    parser.add_argument("--systems", nargs="+")
    parser.add_argument("--data-root", type=Path, default=os.environ.get("SEKGNN_DATA"))
    parser.add_argument("--environment", type=Path, default=Path("build/chemprop"))
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--page", action="store_true", help="write the page alone")
    options = parser.parse_args(arguments)
    file = options.output / "peers.json"
    options.output.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {"scores": []}
    if file.is_file():
        record = json.loads(file.read_text("utf-8"))
    available = systems(options.environment.absolute())
    for table in [] if options.page else options.tables:
        if options.data_root is None:
            raise DataNotFoundError("set SEKGNN_DATA to the folder of benchmark data.")
        path = Path(options.data_root) / "molecules" / f"{table}.csv"
        for split in options.splits:
            for name in options.systems or available:
                done = {(s["table"], s["split"], s["system"]) for s in record["scores"]}
                if (table, split, name) in done:
                    continue
                rows = Rows(path, TABLES[table], split)
                began, wall = _used(), time.time()
                try:
                    with tempfile.TemporaryDirectory() as work:
                        predicted, command = available[name](rows, Path(work))
                except RuntimeError as error:
                    sentence = f"{name} on {table}, {split}: {error}"
                    print(sentence, file=sys.stderr)
                    record.setdefault("left_out", []).append(sentence.splitlines()[-1])
                    continue
                metric, value = rows.score(predicted)
                seconds = round(_used() - began, 1)
                score = Score(table, split, name, metric, value, seconds, command)
                record["scores"].append(asdict(score))
                record["versions"] = package_versions(PACKAGES)
                record["commit"] = source_commit()
                print(
                    f"{table} {split} {name}: {metric} {value:.4f}, {seconds} s"
                    f" ({time.time() - wall:.0f} s)",
                    flush=True,
                )
                text = json.dumps(record, indent=1) + "\n"
                files = {file.name: text.encode(), "peers.md": page(record).encode()}
                write_files(options.output, files)
    if record["scores"]:
        write_files(options.output, {"peers.md": page(record).encode()})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
