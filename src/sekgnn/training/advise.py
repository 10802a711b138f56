"""Advice on models: which tests tell apart graphs with different targets."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.checks import gib
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.encoding.encoder import encode
from sekgnn.encoding.ragged import RaggedEncoding
from sekgnn.fields import POSITIONS
from sekgnn.graphs.molecules import shown_smiles
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.hops import hop_pairs
from sekgnn.kernel import clock
from sekgnn.parallel import Progress
from sekgnn.training.baseline import Baseline
from sekgnn.training.build import make_encoding_of
from sekgnn.training.config import RunConfig
from sekgnn.training.data import load_data
from sekgnn.training.floors import (
    ISOMORPHISM,
    SECONDS,
    Finding,
    Ladder,
    in_conflict,
)
from sekgnn.training.run_folder import json_yaml
from sekgnn.training.run_record import LEFT_OUT, is_better_high, plain_json
from sekgnn.training.training import Training
from sekgnn.wl.ladder import Rung, advised

_SAMPLE = 256  # graphs whose encoding is timed
_SHOWN = 3  # graphs that collide, and sets of them, that are named
_BASELINE = 5000  # graphs that ridge and forest are validated on
_SCORES = ("accuracy", "balanced_accuracy", "auroc", "mae", "rmse", "r2")
Stage = Callable[[str], "Progress | None"]


@dataclass(frozen=True)
class Advice:
    """Advice on a dataset.

    Attributes:
        data: Facts about the data (``GraphTask.describe``).
        objects: ``"graphs"`` or ``"nodes"``.
        count: Number of those with a target.
        findings: One per rung, by rising cost; isomorphism is the last.
        chosen: Key of the advised rung.
        config: Config keys to train with, without defaults.
        baseline: Metrics of ridge and forest, validated across folds.
    """

    data: dict[str, Any]
    objects: str
    count: int
    findings: tuple[Finding, ...]
    chosen: str
    sentence: str
    config: dict[str, Any]
    baseline: dict[str, Any]
    notes: tuple[str, ...]

    def yaml(self) -> str:
        """Return the config as YAML, one key per line; values are JSON, thus YAML."""
        return json_yaml(self.config)

    def command(self) -> str:
        """Return the command that trains the advised model."""
        words = ["sekgnn", "train", str(self.config.get("data", "DATA"))]
        for name, value in self.config.items():
            flag = f"--{name.replace('_', '-')}"
            if name == "data":
                continue
            if isinstance(value, bool):
                words.append(flag if value else f"--no-{flag[2:]}")
            else:
                values = value if isinstance(value, list) else [value]
                words += [flag, *map(str, values)]
        return shlex.join(words)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; null for numbers that are not finite."""
        return plain_json({**asdict(self), "command": self.command()})


CAVEAT = (
    "A floor says what cannot be learned, not what will be: to tell graphs apart is "
    "necessary for a model, not sufficient, and a stronger test does not by itself "
    "predict better accuracy on new graphs. Floors are of these graphs, as if a model "
    "could remember every colour; the cross-validated scores say what plain models "
    "reach on graphs they have not seen."
)


def encoding_costs(
    rung: Rung, config: RunConfig, packed: PackedGraphs, threads: int | None
) -> tuple[float, int]:
    """Estimate time and memory of the encodings of all graphs, from a sample.

    Hops are included; the result is in seconds and bytes.
    """
    if not rung.keys or rung.keys["model"] == "gin":
        return 0.0, 0
    chosen = config_of(config, rung)
    size = min(packed.num_graphs, _SAMPLE)  # evenly spread over the dataset
    numbers = np.linspace(0, packed.num_graphs - 1, size).astype(np.int64).tolist()
    sample, *_ = packed.take(numbers)
    times = packed.num_nodes / max(sample.num_nodes, 1)
    began, size = clock(), 0
    if "num_hops" in rung.keys:
        hops = hop_pairs(sample, rung.keys["num_hops"], threads=threads)
        size += hops.indptr.nbytes + hops.indices.nbytes
    if rung.keys["model"] in ("sek-gin", "sek-ppgn"):
        values = encode(sample, make_encoding_of(chosen), dtype=np.float32,
                        threads=threads)  # fmt: skip
        arrays = (
            vars(values).values() if isinstance(values, RaggedEncoding) else [values]
        )
        size += sum(int(a.nbytes) for a in arrays if isinstance(a, np.ndarray))
    seconds = clock() - began
    if "ppgn" in str(rung.keys["model"]):
        sizes = np.diff(sample.node_ptr)
        size += int(4 * (sizes**2).sum())  # a channel of all pairs
    return times * seconds, round(times * size)


def config_of(config: RunConfig, rung: Rung) -> RunConfig:
    """Return the config that trains a network as strong as a rung."""
    return RunConfig.from_dict({**config.to_dict(), **rung.keys})


def advise(
    config: RunConfig,
    data: GraphTask | None = None,
    *,
    data_root: str | Path | None = None,
    seconds: float = SECONDS,
    threads: int | None = None,
    stage: Stage | None = None,
) -> Advice:
    """Find which tests separate different targets, and which model to train.

    Args:
        config: Names the data and its targets; ridge and forest are validated by its
            ``folds``, ``split_by``, ``seed`` and ``baseline``.
        data: Graphs and targets; default: those named by ``config``.
        data_root: Folder of benchmark data; default: ``SEKGNN_DATA``.
        seconds: Time limit of one test; a slower one is left out.
        threads: Threads of compiled kernels; ``None`` for all usable cores.
        stage: Starts a progress bar with a title.

    Raises:
        ConfigError: If there is no such data or target.
        GraphInputError: If the data is wrong, or no graph has a target.

    Example:
        >>> import networkx as nx
        >>> from sekgnn.datasets import networkx_task
        >>> two = [nx.cycle_graph(6), nx.disjoint_union(*[nx.cycle_graph(3)] * 2)]
        >>> task = networkx_task(two * 2, [0, 1, 0, 1])
        >>> advise(RunConfig(baseline=False), task).chosen
        'khop2'
    """
    task = load_data(config, data_root) if data is None else data
    missing = task.without_targets()
    task = task.with_targets()
    notes = [f"{missing} are left out."] if missing else []
    bar: Stage = stage or (lambda text: None)
    steps = Ladder(task, seconds, threads)
    edges = any(item.edge_labels is not None for item in steps.items)
    rungs = advised(config.num_shells, config.walk_length, edges)
    findings = []
    isomorphic: Finding | None = None
    for rung in rungs:
        finding = steps.climb(rung, bar(rung.label))
        cost = encoding_costs(rung, config, steps.packed, threads)
        finding = replace(finding, encode_seconds=cost[0], encode_bytes=cost[1])
        findings.append(finding)
        if rung.key == "1wl":
            isomorphic = steps.find_forms(bar("isomorphism"))
    assert isomorphic is not None
    findings.append(isomorphic)
    if steps.one_way:
        notes.append(
            "Edge features differ between the two directions of an edge and are left "
            "out of all tests: models that read them may go below these floors."
        )
    if any(POSITIONS in graph for graph in task.graphs[:1]):
        notes.append(
            "Positions in space are not part of any test: models that read them may go "
            "below these floors."
        )
    chosen = _best(findings, rungs)
    notes += _who_collides(steps, chosen)
    rung = next(item for item in rungs if item.key == chosen)
    kept = config_of(config, rung)
    notes.append(CAVEAT)
    objects = "nodes" if steps.on_nodes else "graphs"
    default = RunConfig().to_dict()
    skipped = ("baseline", "folds")
    keys = {
        name: value
        for name, value in kept.to_dict().items()
        if (value != default[name] or name in rung.keys) and name not in skipped
    }
    return Advice(
        data=task.describe(),
        objects=objects,
        count=int(steps.mask.any(axis=1).sum()),
        findings=tuple(findings),
        chosen=chosen,
        sentence=_sentence(findings, rungs, chosen, objects),
        config=keys,
        baseline=_baseline(kept, task, bar("baseline")) if config.baseline else {},
        notes=tuple(notes),
    )


def _who_collides(steps: Ladder, chosen: str) -> list[str]:
    """Return a note that names graphs which collide whatever is trained, if any do.

    Those are the ones that no test tells apart, or that the advised class does not.
    """
    name = ISOMORPHISM if ISOMORPHISM in steps.known else chosen
    if steps.on_nodes or name not in steps.known:
        return []
    classes = steps.known[name]
    open_ = np.flatnonzero(in_conflict(classes, steps.y, steps.mask))
    if not open_.size:
        return []
    groups: dict[int, list[int]] = {}
    for graph in open_.tolist():
        groups.setdefault(int(classes[graph]), []).append(graph)
    shown = [
        " and ".join(_called(steps.task, graph) for graph in group[:_SHOWN])
        + (f" and {len(group) - _SHOWN} more" if len(group) > _SHOWN else "")
        for group in [*groups.values()][:_SHOWN]
    ]
    more = len(groups) - len(shown)
    tail = f"; and {more:,} more such sets" if more else ""
    return [f"Collisions that are left: {'; '.join(shown)}{tail}."]


def _called(task: GraphTask, graph: int) -> str:
    """Return where a graph stands, and its SMILES."""
    text = "" if task.texts is None else f" {shown_smiles(task.texts[graph])}"
    return f"{task.places[graph] or f'graph {graph}'}{text}"


def _score(finding: Finding) -> float:
    """Return the quality of a floor, higher is better: its mean over targets."""
    if not finding.floors:
        return -math.inf
    values = [f["accuracy"] if "accuracy" in f else -f["mae"] for f in finding.floors]
    finite = [value for value in values if not math.isnan(value)]
    return sum(finite) / len(finite) if finite else 0.0


def _best(findings: Sequence[Finding], rungs: Sequence[Rung]) -> str:
    """Return the cheapest trainable rung with the best floor."""
    trained = [rung.key for rung in rungs if rung.keys]
    usable = [finding for finding in findings if finding.name in trained]
    best = max(_score(finding) for finding in usable)
    close = 1e-12 * max(1.0, abs(best))
    return next(finding.name for finding in usable if _score(finding) >= best - close)


def _sentence(
    findings: Sequence[Finding], rungs: Sequence[Rung], chosen: str, objects: str
) -> str:
    """Return the advice in words."""
    by_name = {finding.name: finding for finding in findings}
    steps = [by_name[rung.key] for rung in rungs if rung.keys]
    steps = [finding for finding in steps if finding.collisions is not None]
    index = next(i for i, finding in enumerate(steps) if finding.name == chosen)
    mine, left = steps[index], steps[index].collisions or 0
    clauses = []
    if index == 0 and not left:
        clauses.append(
            f"{mine.title} is enough: no two {objects} with different targets share a "
            "colour"
        )
    elif index == 0:
        clauses.append(
            f"{mine.title} is as good as any costlier test here: none of them removes "
            f"any of the {left:,} collisions"
        )
    else:
        idle = []
        for before, finding in pairwise(steps[:index]):
            if finding.collisions == before.collisions:
                idle.append(finding.title)
        if idle:
            verb = "adds" if len(idle) == 1 else "add"
            clauses.append(f"{' and '.join(idle)} {verb} nothing here")
        best = min(steps[:index], key=lambda finding: finding.collisions or 0)
        before_mine = best.collisions or 0
        number = f"{'' if left else 'the last '}{before_mine - left:,}"
        clauses.append(
            f"{mine.title} removes {number} of the {before_mine:,} collisions that "
            f"{best.title} leaves, at {mine.encode_seconds:.2g} s of encoding"
        )
    same = by_name[ISOMORPHISM].collisions
    if left and same == left:
        clauses.append(
            f"the {left:,} {objects} that still collide are isomorphic to others with "
            "another target: nothing can tell them apart"
        )
    elif left and same is not None:
        clauses.append(
            f"{left:,} {objects} still collide, {same:,} of them because they are "
            "isomorphic to others with another target"
        )
    elif left:
        clauses.append(f"{left:,} {objects} still collide")
    return "; ".join(clauses) + "."


def _baseline(
    config: RunConfig, task: GraphTask, progress: Progress | None
) -> dict[str, Any]:
    """Return cross-validated metrics of ridge and forest."""
    count = len(task)
    if count > _BASELINE:
        chosen = np.random.default_rng(config.seed).permutation(count)[:_BASELINE]
        task = task.subset(np.sort(chosen))
    out: dict[str, Any] = {"graphs": len(task), "folds": config.folds}
    try:
        training = Training(replace(config, protocol="nested"), task)
    except ValueError as error:  # too few graphs to split, for example
        return {**out, LEFT_OUT: str(error)}
    models = Baseline(training)
    tables = []
    for number in range(len(training.splits)):
        tables.append(models.fold(number))
        if progress is not None:
            progress(number + 1, len(training.splits))
    metric = f"test_{training.objective().metric_names[0]}"
    out["metric"] = metric
    out["higher_is_better"] = is_better_high(metric)
    for name in tables[0]:
        reasons = [table[name][LEFT_OUT] for table in tables if LEFT_OUT in table[name]]
        if reasons:
            out[name] = {LEFT_OUT: reasons[0]}
            continue
        values = {
            key: [float(table[name][key]) for table in tables]
            for key in tables[0][name]
            if key.startswith("test_") and key[5:] in _SCORES
        }
        out[name] = {
            key: {"value": float(np.mean(v)), "spread": float(np.std(v))}
            for key, v in values.items()
        }
    return out


def rows(advice: Advice) -> Iterator[list[str]]:
    """Yield the rows of a table: the heading, then one for each rung."""
    names = advice.data["targets"]
    metrics = list(advice.findings[0].floors[0]) if advice.findings[0].floors else []
    shown = [(t, m) for t in range(len(names)) for m in metrics]

    def heading(metric: str, target: int) -> str:
        word = {"accuracy": "best accuracy", "mae": "least MAE", "rmse": "least RMSE"}
        return word[metric] + (f", {names[target]}" if len(names) > 1 else "")

    yield ["what a model sees", "collisions", *(heading(m, t) for t, m in shown),
           "tested", "test, s", "encode, s", "memory"]  # fmt: skip

    def number(finding: Finding, target: int, metric: str) -> str:
        value = finding.floors[target][metric] if finding.floors else math.nan
        if math.isnan(value):
            return ""
        return f"{100 * value:.2f} %" if metric == "accuracy" else f"{value:.4g}"

    for finding in advice.findings:
        reason = f" (left out: {finding.left_out})" if finding.left_out else ""
        size = f"{finding.encode_bytes / 2**20:,.1f} MiB"
        if finding.encode_bytes >= 1 << 29:
            size = gib(finding.encode_bytes)
        has_cost = finding.encode_bytes > 0
        yield [
            finding.title + reason,
            "" if finding.collisions is None else f"{finding.collisions:,}",
            *(number(finding, t, m) for t, m in shown),
            f"{finding.tested:,}",
            f"{finding.seconds:.2f}",
            f"{finding.encode_seconds:.2f}" if has_cost else "",
            size if has_cost else "",
        ]
