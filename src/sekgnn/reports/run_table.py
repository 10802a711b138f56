"""Results of runs as one table: each number, what was selected, the paper's number."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from sekgnn.errors import ConfigError
from sekgnn.reports.finished_runs import Run
from sekgnn.training.config import config_fields
from sekgnn.training.run_record import Result, RunRecord

_COLUMNS = (
    "run", "data", "target", "model", "protocol", "metric", "value",
    "the epoch was chosen by", "epochs", "parameters", "seconds",
)  # fmt: skip
_PAPER_COLUMNS = ("paper", "difference")
_NAMED = 3  # targets that a cell lists by name
_MARKS = "¹²³⁴⁵⁶⁷⁸⁹"
NOTHING = "–"
"""Stands for a number that is missing or not finite."""


class Published(Protocol):
    """A published number to stand beside a run's, in the metric's unit."""

    @property
    def value(self) -> float:
        """The number, a fraction if it is an accuracy."""

    @property
    def spread(self) -> float | None:
        """Its standard deviation over folds, if there is one."""

    @property
    def note(self) -> str:
        """What to know before comparing, or nothing."""


Lookup = Callable[[RunRecord, Result], Published | None]
"""Finds the published number of a result, if there is one."""


@dataclass(frozen=True)
class TableRow:
    """One reported number of one run, or its mean over runs with different seeds.

    Attributes:
        run: Name of the run; of a mean, of the first.
        protocol: Whose number it is.
        spread: Standard deviation over the folds; of a mean, over the seeds (ddof 0).
        selected_on: What the epoch was chosen by, in words.
        epoch: The chosen epoch, where there is one.
        epochs: Epochs trained, of the longest fold.
        seconds: Training time of the run; of a mean, the mean.
        paper: The published number, if there is one.
        seeds: Runs whose mean it is.
    """

    run: str
    data: str
    targets: tuple[str, ...]
    model: str
    protocol: str
    metric: str
    value: float
    spread: float | None
    selected_on: str
    epoch: int | None
    epochs: int
    parameters: int
    seconds: float
    paper: Published | None = None
    seeds: int = 1

    @property
    def lasted(self) -> str:
        """The chosen epoch, where there is one, and how many were trained."""
        return (
            f"{self.epochs}" if self.epoch is None else f"{self.epoch} of {self.epochs}"
        )

    @property
    def difference(self) -> float | None:
        """The run's number minus the paper's."""
        return None if self.paper is None else self.value - self.paper.value

    def to_dict(self) -> dict[str, Any]:
        """Return everything, the difference included."""
        return {**asdict(self), "difference": self.difference}


def reported(record: RunRecord, metrics: Sequence[str] = ()) -> list[Result]:
    """Return the results of a run that belong in a table.

    By default the headline metric by every protocol that was computed; of regression
    with one split both ``test_mae`` and ``test_mse``, because the literature mixes
    them, and ``test_log10_mse`` where the literature reports that. With ``metrics``
    these instead; ``mae`` means ``test_mae``.
    """
    wanted = [record.headline.metric]
    if record.data.get("kind") == "regression" and record.protocol == "holdout":
        wanted += ["test_mae", "test_mse"]
        if dataset_name(record) == "graph_property":
            wanted.append("test_log10_mse")
    if metrics:
        wanted = [form for name in metrics for form in (name, f"test_{name}")]
    found = [result for result in record.results if result.metric in wanted]
    if len(record.folds) == 1:  # a metric of the kept weights is a result, too
        known = {result.metric for result in record.results}
        for name in dict.fromkeys(wanted):
            value = record.folds[0].metrics.get(name)
            if value is not None and name not in known:
                found.append(
                    Result(name, value, None, record.protocol, record.selected_on)
                )
    return found


def table_rows(
    runs: Sequence[Run], metrics: Sequence[str] = (), published: Lookup | None = None
) -> list[TableRow]:
    """Return the rows of the table, run by run.

    With ``published`` each number stands beside what that finds.

    Runs that differ only in their seed are followed by their mean.

    Raises:
        ConfigError: If no run has any of ``metrics``.
    """
    each = [
        [run_row(run, result, published) for result in reported(run.record, metrics)]
        for run in runs
    ]
    rows = []
    groups = _same_but_seed(runs)
    for i, of_run in enumerate(each):
        rows += of_run
        for group in groups:
            if i == group[-1]:
                rows += _means([each[j] for j in group])
    if not rows and runs:
        known = {r.metric for run in runs for r in run.record.results}
        known |= {
            name for run in runs for fold in run.record.folds for name in fold.metrics
        }
        raise ConfigError(
            f"no run has {', '.join(metrics)}; available: {', '.join(sorted(known))}."
        )
    return rows


def _same_but_seed(runs: Sequence[Run]) -> list[list[int]]:
    """Return groups of two or more runs that differ in their seeds alone, by index."""
    free = {item.name for item in config_fields() if item.metadata.get("free")}
    usual = {item.name: _default(item) for item in config_fields()}
    groups: dict[str, dict[Any, int]] = {}
    for i, run in enumerate(runs):
        given = run.record.config.items()
        config = {k: v for k, v in given if k not in free and v != usual.get(k)}
        seed = config.pop("seed", None)
        data = [run.record.data.get(name) for name in ("fingerprint", "targets")]
        key = json.dumps([config, data], sort_keys=True, default=str)
        groups.setdefault(key, {}).setdefault(seed, i)
    return [[*group.values()] for group in groups.values() if len(group) > 1]


def _default(item: Field[Any]) -> Any:
    """Return the default of a key as a record has it: a record may lack a later key."""
    made = item.default_factory
    value = item.default if made is MISSING else made()
    return [*value] if isinstance(value, tuple) else value


def _means(runs: Sequence[Sequence[TableRow]]) -> list[TableRow]:
    """Return the means of the numbers that all runs have."""
    tables = [{(row.protocol, row.metric): row for row in rows} for rows in runs]
    means = []
    for key, first in tables[0].items():
        rows = [table[key] for table in tables if key in table]
        if len(rows) == len(tables):
            values = np.array([row.value for row in rows])
            with np.errstate(invalid="ignore"):  # a diverged run shows in the mean
                value, spread = float(values.mean()), float(values.std())
            mean = replace(
                first,
                value=value,
                spread=spread,
                epoch=None,
                epochs=max(row.epochs for row in rows),
                seconds=sum(row.seconds for row in rows) / len(rows),
                seeds=len(rows),
            )
            means.append(mean)
    return means


def dataset_name(record: RunRecord) -> str:
    """Return what the run's config calls the data, else the name in the record."""
    named = str(record.config.get("data") or record.data.get("name") or "")
    known = str(record.data.get("name") or "")
    same = named.replace("-", "_").casefold() == known.replace("-", "_").casefold()
    return known if same else named


def run_row(run: Run, result: Result, published: Lookup | None = None) -> TableRow:
    """Return a number of a run with everything that a table may say about it."""
    record = run.record
    targets = tuple(str(name) for name in record.data.get("targets") or ())
    model = str(record.config.get("model") or record.model.get("model") or "")
    epoch = result.epoch
    if epoch is None and len(record.folds) == 1:
        epoch = record.folds[0].kept_epoch
    data = dataset_name(record)
    curves = [curve for fold in record.folds for curve in fold.curves.values()]
    return TableRow(
        run=run.name,
        data=str(record.data.get("name") or data),
        targets=targets,
        model=model,
        protocol=result.protocol,
        metric=result.metric,
        value=result.value,
        spread=result.spread,
        selected_on=result.selected_on,
        epoch=epoch,
        epochs=max(map(len, curves), default=0),
        parameters=record.num_parameters,
        seconds=record.seconds,
        paper=None if published is None else published(record, result),
    )


def cells(rows: Sequence[TableRow]) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the table as text: head, rows and footnotes.

    The paper's columns appear only if there is a published number.
    """
    notes = list(dict.fromkeys(r.paper.note for r in rows if r.paper and r.paper.note))
    with_paper = any(row.paper for row in rows)
    head = [*_COLUMNS, *(_PAPER_COLUMNS if with_paper else ())]
    body = []
    marks = [_MARKS[i : i + 1] or f"({i + 1})" for i in range(len(notes))]
    for row in rows:
        many = len(row.targets) > _NAMED
        line = [
            row.run if row.seeds == 1 else f"{row.run}, mean of {row.seeds} seeds",
            row.data,
            f"{len(row.targets)} targets" if many else ", ".join(row.targets),
            row.model, row.protocol, row.metric,
            show_result(row.metric, row.value, row.spread), row.selected_on,
            row.lasted, f"{row.parameters:,}", show_seconds(row.seconds),
        ]  # fmt: skip
        if row.paper is not None:
            mark = marks[notes.index(row.paper.note)] if row.paper.note else ""
            shown = show_result(row.metric, row.paper.value, row.paper.spread)
            apart = show_difference(row.metric, row.difference)
            line += [f"{shown} {mark}".strip(), apart]
        elif with_paper:
            line += ["", ""]
        body.append(line)
    return head, body, [" ".join(both) for both in zip(marks, notes, strict=True)]


def table_markdown(rows: Sequence[TableRow]) -> str:
    """Return the table for a Markdown file, with its footnotes."""
    head, body, notes = cells(rows)
    return "\n\n".join([markdown_table(head, body), *notes]) + "\n"


def markdown_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table of plain text, without the last line's end."""
    lines = [list(head), ["---"] * len(head)]
    lines += [[_markdown(cell) for cell in line] for line in body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _markdown(text: str) -> str:
    """Return text that Markdown shows as it is, within one cell."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\|*`\[\]])", r"\\\1", text)


def table_terminal(rows: Sequence[TableRow], width: int = 80) -> str:
    """Return the table for a terminal: what belongs together stands in one column."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    head, body, notes = cells(rows)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("run", overflow="fold", ratio=1)
    table.add_column("metric", no_wrap=True)
    table.add_column("value", no_wrap=True)
    table.add_column(head[7], overflow="fold", ratio=1)
    if len(head) > len(_COLUMNS):
        table.add_column("paper", no_wrap=True)
    before = ""
    for line in body:
        named = dict(zip(head, line, strict=True))
        epochs = named["epochs"]
        lasted = f"epoch {epochs}" if " of " in epochs else f"{epochs} epochs"
        texts = [
            "",
            f"{named['metric']}\n{named['protocol']}",
            f"{named['value']}\n{lasted}",
            named[head[7]],
        ]
        if named["run"] != before:
            before = named["run"]
            table.add_section()
            task = ", ".join(filter(None, (named["data"], named["target"])))
            cost = f"{named['parameters']} parameters, {named['seconds']} s"
            texts[0] = "\n".join((named["run"], task, named["model"], cost))
        if "paper" in named:
            texts.append(f"{named['paper']}\n{named['difference']}")
        table.add_row(*(Text(text.strip("\n")) for text in texts))
    file = io.StringIO()
    Console(file=file, width=width).print(table, *(Text(note) for note in notes))
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    return "\n".join(lines).strip("\n")


def show_value(metric: str, value: float | None, sign: str = "") -> str:
    """Return a number of a metric: accuracies in percent, without the sign %.

    Example:
        >>> show_value("test_accuracy", 0.9225), show_value("test_mae", 0.0312345)
        ('92.2', '0.03123')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    form = ".1f" if _is_share(metric) else ".4f" if "log10" in metric else ".4g"
    text = format(value * (100 if _is_share(metric) else 1), sign + form)
    return text.lstrip("+-") if float(text) == 0 else text


def show_result(metric: str, value: float | None, spread: float | None) -> str:
    """Return a number with its spread, if it has one, and its unit.

    Example:
        >>> show_result("test_accuracy", 0.922, 0.062)
        '92.2 ± 6.2 %'
    """
    text = show_value(metric, value)
    if text == NOTHING:
        return NOTHING
    if spread is not None and math.isfinite(spread):
        text += f" ± {show_value(metric, spread)}"
    return f"{text} %" if _is_share(metric) else text


def show_difference(metric: str, difference: float | None) -> str:
    """Return how far a number is from another one, with its sign.

    Example:
        >>> show_difference("test_accuracy", -0.0123)
        '-1.2'
    """
    return show_value(metric, difference, "+")


def show_seconds(seconds: float) -> str:
    """Return a time in seconds, rounded to what matters."""
    if not math.isfinite(seconds):
        return NOTHING
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.1f}"


def _is_share(metric: str) -> bool:
    return "accuracy" in metric or metric.endswith("coverage")
