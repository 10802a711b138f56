"""Does a default for molecules explode in evaluation, and which norm would not?

``python -m studies.norms`` trains one network of the defaults for molecules with each
kind of normalisation on part of two public tables, split at random and by scaffold,
compares validation and training loss epoch by epoch, and writes record and page. The
same command continues.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sekgnn.datasets import Split, read_task
from sekgnn.errors import DataNotFoundError
from sekgnn.files import write_files
from sekgnn.provenance import package_versions, source_commit
from sekgnn.training import Training
from sekgnn.training.config import RunConfig
from sekgnn.training.run import PACKAGES
from sekgnn.training.settings import NETWORK

OUTPUT = Path(__file__).parents[1] / "results" / "defaults"
TABLES = {"esol": "log_solubility", "bbbp": "penetrates"}
SPLITS = ("random_0", "scaffold_0")
NORMS = ("none", "layer", "batch")
MOLECULES = 600


@dataclass(frozen=True)
class Trial:
    """One network.

    Attributes:
        kept_epoch: The epoch whose weights are kept, from 1.
        train: Training loss then, of batches while they trained, with dropout.
        val: Validation loss then.
        last_train: Training loss of the last epoch.
        last_val: Validation loss after the last epoch.
        highest: The largest validation loss of all epochs.
        metric: MAE or AUROC of the test molecules.
        seconds: Of training.
    """

    table: str
    split: str
    norm: str
    kept_epoch: int
    train: float
    val: float
    last_train: float
    last_val: float
    highest: float
    metric: float
    seconds: float


def run(path: Path, table: str, split: str, norm: str, epochs: int | None) -> Trial:
    """Train on ``MOLECULES`` of a table, drawn with one seed for all trials."""
    data = read_task(path, TABLES[table], columns=[split])
    order = np.random.default_rng(0).permutation(len(data))[:MOLECULES]
    data = data.subset(np.sort(order))
    part = np.array(data.columns[split])
    parts = (np.flatnonzero(part == name) for name in ("train", "val", "test"))
    keys = {**NETWORK, **({} if epochs is None else {"epochs": epochs})}
    config = RunConfig.from_dict({**keys, "norm": norm})
    began = time.process_time()
    trained = Training(config, data, splits=[Split(*parts)], cache=False).fit()
    seconds = time.process_time() - began
    train, val = (np.array(trained.curves[f"{p}_loss"]) for p in ("train", "val"))
    metrics = trained.evaluate().metrics(trained.note)
    kept = trained.kept_epoch - 1
    return Trial(
        table,
        split,
        norm,
        trained.kept_epoch,
        float(train[kept]),
        float(val[kept]),
        float(train[-1]),
        float(val[-1]),
        float(val.max()),
        metrics["mae" if data.kind == "regression" else "auroc"],
        round(seconds, 1),
    )


def page(record: dict[str, Any]) -> str:
    """Return the page in Markdown; every number is the record's."""
    trials = [Trial(**values) for values in record["trials"]]
    ratio = max(trial.val / trial.train for trial in trials)
    highest = max(trial.highest for trial in trials)
    head = [
        "table", "split", "norm", "kept epoch", "train", "val", "val / train",
        "last train", "last val", "highest val", "test",
    ]  # fmt: skip
    lines = [head, ["---"] * 3 + ["---:"] * 8]
    for trial in trials:
        metric = "MAE" if trial.table == "esol" else "AUROC"
        numbers = (
            trial.train, trial.val, trial.val / trial.train, trial.last_train,
            trial.last_val, trial.highest,
        )  # fmt: skip
        lines.append(
            [
                trial.table,
                trial.split.replace("_", " "),
                trial.norm,
                str(trial.kept_epoch),
                *(f"{number:.3g}" for number in numbers),
                f"{trial.metric:.3f} {metric}",
            ]
        )
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    versions = ", ".join(f"{k} {v}" for k, v in record["versions"].items())
    return (
        f"{INTRODUCTION}\n\n{table}\n\nNo network explodes: at the epoch that is kept "
        f"the validation loss is at most {ratio:.1f} times that of training,\n"
        f"and it is nowhere above {highest:.1f}. {FOUND}\n\n"
        f"{versions}; commit {record['commit']}. "
        "`python -m studies.norms` makes this page and norms.json.\n"
    )


INTRODUCTION = f"""# Norms of the defaults for molecules

One network of the defaults (mean readout, AdamW, cosine, 60 epochs, dropout 0.1) on
{MOLECULES} molecules of each table. Losses are those of the epoch that is kept, by the
validation loss, of the last epoch, and the highest of any epoch; training losses are of
batches while they trained. To say the same of all molecules has a loss of about 1 on
ESOL and 0.5 on BBBP: a validation loss orders of magnitude above that would be an
explosion in evaluation, one that is moderate while the training loss goes to 0 is
memory of the training molecules."""


FOUND = """Batch normalisation learns its molecules by heart soonest;
the choice of the epoch by validation loss stops that in time. No norm is best on both
tables, so that the default, batch, stays. The last validation loss is mostly lower with
`--norm layer`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.norms", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data-root", type=Path, default=os.environ.get("SEKGNN_DATA"))
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--epochs", type=int, help="fewer, to try the study")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    options = parser.parse_args(arguments)
    file = options.output / "norms.json"
    record: dict[str, Any] = {"trials": []}
    if file.is_file():
        record = json.loads(file.read_text("utf-8"))
    if options.data_root is None and not options.page:
        raise DataNotFoundError("set SEKGNN_DATA to the folder of benchmark data.")
    torch.set_num_threads(1)
    done = {(t["table"], t["split"], t["norm"]) for t in record["trials"]}
    trials = [(t, s, n) for t in TABLES for s in SPLITS for n in NORMS]
    for trial in [] if options.page else trials:
        if trial in done:
            continue
        path = Path(options.data_root) / "molecules" / f"{trial[0]}.csv"
        measured = run(path, *trial, options.epochs)
        print(measured, flush=True)
        record["trials"].append(asdict(measured))
        record["versions"] = package_versions(PACKAGES)
        record["commit"] = source_commit()
        text = json.dumps(record, indent=1) + "\n"
        files = {file.name: text.encode(), "norms.md": page(record).encode()}
        options.output.mkdir(parents=True, exist_ok=True)
        write_files(options.output, files)
    if record["trials"]:
        write_files(options.output, {"norms.md": page(record).encode()})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
