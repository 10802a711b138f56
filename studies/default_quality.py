"""Are the defaults of ``sekgnn train`` better than what a chemist would try first?

``python -m studies.default_quality`` trains what is missing and writes the page. The
same command continues: trainings from their run folders, finished tasks from the
record.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sekgnn.cli.failures import describe, resumable, warnings_as_notes
from sekgnn.cli.printing import progress_stages
from sekgnn.datasets.qm9 import qm9_files
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.files import write_files
from sekgnn.graphs import from_pyg, pack
from sekgnn.graphs.extras import require
from sekgnn.graphs.molecules import parse_smiles
from sekgnn.graphs.table import data_rows
from sekgnn.paper.graph_kernels import KernelGraphs, SubtreeKernel
from sekgnn.provenance import package_versions, source_commit
from sekgnn.training import Training, train
from sekgnn.training.baseline import count_metrics
from sekgnn.training.config import RunConfig
from sekgnn.training.run import PACKAGES
from sekgnn.training.run_record import is_better_high

OUTPUT = Path(__file__).parents[1] / "results" / "defaults"
ERRORS = 2.0
"""Folds differ clearly beyond this many standard errors of the paired difference."""


@dataclass(frozen=True)
class Task:
    """What is learned.

    Attributes:
        title: In words, for the page.
        command: As a user would type it; all keys it does not name are the defaults.
        keys: The same for :func:`sekgnn.train`.
        molecules: How many molecules of QM9, drawn with seed 0; 0 for a TU set.
    """

    title: str
    command: str
    keys: dict[str, Any]
    molecules: int = 0


def _tu(name: str, preset: str | None = None) -> Task:
    command = f"sekgnn train {name} --protocol nested"
    keys = {"data": name, "protocol": "nested"}
    if preset is not None:
        keys, command = keys | {"preset": preset}, f"{command} --preset {preset}"
    title = f"{name}{'' if preset is None else f', preset {preset}'}"
    return Task(f"{title}, accuracy in per cent", command, keys)


TASKS = {
    "logp": Task(
        "Crippen's logP of 5,000 molecules of QM9, MAE",
        "sekgnn train logp.csv --target logp",
        {"target": "logp"},
        5_000,
    ),
    "gap": Task(
        "HOMO-LUMO gap of 10,000 molecules of QM9, MAE in Hartree",
        "sekgnn train gap.csv --target gap",
        {"target": "gap"},
        10_000,
    ),
    "MUTAG": _tu("MUTAG"),
    "MUTAG small": _tu("MUTAG", "small"),
    "PTC_MR": _tu("PTC_MR"),
    "PTC_MR small": _tu("PTC_MR", "small"),
}

NAMES = {
    "network": "SEK-GIN as `sekgnn train` makes it",
    "morgan-ridge": "ridge on Morgan counts",
    "morgan-forest": "random forest on Morgan counts",
    "subtree-ridge": "logistic regression on subtree counts",
    "subtree-forest": "random forest on subtree counts",
    "ridge": "ridge on pooled encodings",
    "forest": "forest on pooled encodings",
}
"""The models of a task, in the order of the page; the first is the one in question."""


@dataclass(frozen=True)
class Outcome:
    """How a task went.

    Attributes:
        task: A key of :data:`TASKS`.
        config: Every key of the training.
        metric: What is scored on the test graphs.
        sizes: Graphs for training, validation and test, of the first split.
        scores: Of every model, one per split.
        sentence: What the run itself says about its baselines.
        seconds: CPU time of everything.
    """

    task: str
    config: dict[str, Any]
    metric: str
    sizes: tuple[int, ...]
    scores: dict[str, list[float]]
    sentence: str
    seconds: float


def molecules(count: int) -> Iterator[tuple[str, float, float]]:
    """Yield SMILES, Crippen's logP and gap of molecules of QM9, drawn with seed 0."""
    crippen = require("rdkit.Chem.Crippen", "mol")
    columns = ["SMILES", "HOMO_LUMO_gap_au"]
    hint = "It should be a part of qm9pack 1.0.3."
    rows = [r.values for file in qm9_files() for r in data_rows(file, columns, hint)]
    for place in np.random.default_rng(0).permutation(len(rows))[:count]:
        smiles, gap = rows[place]
        yield smiles, round(crippen.MolLogP(parse_smiles(smiles)), 6), float(gap)


def subtree_counts(training: Training) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return how often graphs have each coloured subtree of radius 0 to 2, ``[G, C]``.

    Of labelled graphs these are what Morgan counts are of molecules, not hashed.
    """
    graphs = training.data.graphs
    x = torch.cat([data.x for data in graphs]).double().numpy()
    known = KernelGraphs(pack([from_pyg(data) for data in graphs]), x)
    rounds = SubtreeKernel((2,)).counts(known, None)
    return np.concatenate([table.toarray() for table, _ in rounds], axis=1)


def run_task(name: str, work: Path, data_root: Path | None, progress: Any) -> Outcome:
    """Train a task in the folder ``work``, or continue, and score what it is up to."""
    task, began = TASKS[name], time.process_time()
    keys = dict(task.keys)
    if task.molecules:
        file = work / f"{name}.csv"
        if not file.is_file():
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(["smiles", "logp", "gap"])
            writer.writerows(molecules(task.molecules))
            write_files(work, {file.name: text.getvalue().encode()})
        keys["data"] = str(file)
    record = train(
        keys.pop("data"),
        work / name.replace(" ", "-"),
        data_root=data_root,
        progress=progress,
        **keys,
    )
    metric = record.headline.metric
    scores = {"network": [fold.metrics[metric] for fold in record.folds]}
    for model in ("ridge", "forest", "morgan-ridge", "morgan-forest"):
        if model in record.folds[0].baseline:
            scores[model] = [fold.baseline[model][metric] for fold in record.folds]
    if not task.molecules:
        training = Training(RunConfig.from_dict(record.config), data_root=data_root)
        counts = subtree_counts(training)
        for kind in ("ridge", "forest"):
            scores[f"subtree-{kind}"] = [
                count_metrics(training, number, kind, counts)[metric]
                for number in range(len(record.folds))
            ]
    sizes = [len(part) for part in record.folds[0].split.values()]
    config = {**record.config, "data": Path(record.config["data"]).name}
    return Outcome(
        name,
        config,
        metric,
        tuple(sizes),
        scores,
        record.baseline_sentence() or "",
        round(time.process_time() - began, 1),
    )


def quality_page(record: dict[str, Any]) -> str:
    """Return the page in Markdown; every number is the record's."""
    parts = [INTRODUCTION]
    for outcome in (Outcome(**values) for values in record["outcomes"]):
        parts += [f"## {TASKS[outcome.task].title}", *_section(outcome)]
    seconds = sum(values["seconds"] for values in record["outcomes"])
    versions = ", ".join(f"{name} {v}" for name, v in record["versions"].items())
    parts.append(
        f"{seconds / 60:.0f} CPU minutes; {versions}; commit {record['commit']}. "
        "Configs and scores of every split are in defaults.json; `python -m "
        "studies.default_quality` makes both files."
    )
    return "\n\n".join(parts) + "\n"


def _section(outcome: Outcome) -> list[str]:
    """Return how the network stands beside the other models of a task."""
    high = is_better_high(outcome.metric)
    unit = 100 if high else 1
    own = unit * np.array(outcome.scores["network"])
    lines = [["model", outcome.metric, "network minus this"], ["---"] * 3]
    signs: dict[str, list[str]] = {"ahead of": [], "level with": [], "behind": []}
    for model in (m for m in NAMES if m in outcome.scores):
        scores = unit * np.array(outcome.scores[model])
        gain, folds = own - scores, len(own)
        mean = float(gain.mean())
        error = float(gain.std(ddof=1)) / np.sqrt(folds) if folds > 1 else 0.0
        cells = [f"{scores.mean():.1f}", f"{mean:+.1f} ± {error:.1f}"]
        if not high:
            cells = [f"{scores.mean():.4g}", f"{mean:+.2g}"]
        if model == "network":
            cells[1] = ""
        else:
            better = "ahead of" if (mean > 0) == high else "behind"
            kind = better if abs(mean) > ERRORS * error else "level with"
            signs[kind].append(NAMES[model])
        lines.append([NAMES[model], *cells])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    sizes = " / ".join(f"{size:,}" for size in outcome.sizes)
    parts = {3: "train, choose the epoch, test", 2: "train, test"}[len(outcome.sizes)]
    split = "one random split" if len(own) == 1 else f"{len(own)} folds"
    verdict = "; ".join(f"{kind} {', '.join(m)}" for kind, m in signs.items() if m)
    return [
        f"`{TASKS[outcome.task].command}`; {sizes} graphs {parts}; {split}.",
        table,
        f'The network is {verdict}. The run itself says: "{outcome.sentence}".',
    ]


INTRODUCTION = """# Are the defaults any good?

`sekgnn train` as it is, against what a chemist would try first, with the same training
molecules, validation molecules and test molecules: ridge regression (its penalty chosen
on the validation molecules) and a random forest (100 trees, a third of the columns in
every node) on counts of Morgan's substructures (rdkit, radius 2, 2,048 bins). A TU set
has no molecules but labelled graphs: there the counts are of the subtrees of
Weisfeiler-Lehman colours of radius 0, 1 and 2, which is the same idea, not hashed.
Beside them what every run reports anyway, ridge and forest on pooled encodings. ± is
the standard error of the paired difference over folds; differences below two of them
show nothing, and models are then called level."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, 2 for errors, 130 if interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.default_quality",
        description="Compare the defaults of training with models of counts. The same "
        "command continues; tasks that the record holds are not repeated.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=[*TASKS])
    parser.add_argument("--data-root", type=Path, help="folder of benchmark data")
    parser.add_argument("--work", type=Path, default=Path("runs") / "defaults")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for folder in (options.work, options.output):
        folder.mkdir(parents=True, exist_ok=True)
    file = options.output / "defaults.json"
    record: dict[str, Any] = {
        "versions": package_versions(PACKAGES),
        "commit": source_commit(),
        "outcomes": [],
    }
    try:
        if file.is_file():
            record = json.loads(file.read_text("utf-8"))
        with warnings_as_notes(), resumable(), progress_stages() as stage:
            for name in options.tasks:
                done = {values["task"]: values for values in record["outcomes"]}
                if name in done:
                    continue
                done[name] = asdict(
                    run_task(name, options.work, options.data_root, stage(name))
                )
                record["outcomes"] = [done[task] for task in TASKS if task in done]
                text = json.dumps(record, indent=1) + "\n"
                page = quality_page(record)
                files = {file.name: text.encode(), "defaults.md": page.encode()}
                write_files(options.output, files)
        write_files(options.output, {"defaults.md": quality_page(record).encode()})
    except KeyboardInterrupt as error:
        print(f"error: {error}", file=sys.stderr)
        return 130
    except (ConfigError, GraphInputError, OSError, ValueError) as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return 2
    print(f"wrote defaults.json and defaults.md to {options.output}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
