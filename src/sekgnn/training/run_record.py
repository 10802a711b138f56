"""What a run leaves behind: one JSON file from which every table and figure is made.

Its numbers are those of a named protocol, and say what the protocol selects on.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.files import write_files
from sekgnn.models.options import MODEL_KINDS
from sekgnn.parsing import Size, parse_as, parse_json, read_as
from sekgnn.training.config import RunConfig

FORMAT = "sekgnn run"
FORMAT_VERSION = 1
"""Raise it when the layout of the file changes."""

RECORD_FILE = "record.json"
PREDICTIONS_FILE = "predictions.csv"
HIGHER_IS_BETTER = ("accuracy", "balanced_accuracy", "f1", "auroc", "auprc", "r2")
LEFT_OUT = "left_out"
"""Where a record says why a baseline is missing."""
PAIRED_ERROR = "paired_error"
"""Where it gives the standard error of a baseline's difference to the network."""

_DIGITS = 7  # float32 holds no more


def is_better_high(metric: str) -> bool:
    """Tell whether a metric, such as ``val_accuracy``, is better the higher it is."""
    metric = metric.partition("[")[0]  # of one target, as in test_r2[logp]
    return metric.split("_", 1)[-1] in HIGHER_IS_BETTER or metric in HIGHER_IS_BETTER


class _Named(TypedDict):
    name: str
    targets: list[str]


class _Data(_Named, total=False):
    """What ``GraphTask.describe`` says; records of earlier versions say less."""

    fingerprint: str
    kind: str
    level: str
    classes: list[str] | None
    units: str | None
    target_units: list[str]
    left_out: dict[str, int]
    notes: list[str]


class _Model(TypedDict):
    model: str


class _Config(_Model, total=False):
    """The keys of a config that reports read."""

    split_by: list[str]
    seed: int


class _Baseline(TypedDict, total=False):
    """What ``summarise_baseline`` says."""

    metric: str
    each: dict[str, float | None]
    model: str | None
    value: float | None
    error: float | None
    left_out: dict[str, str]


class _Calibration(TypedDict, total=False):
    """The part of a ``Calibration`` that is shown."""

    confidence: float | None
    radii: list[float]
    graphs: list[int]
    threshold: float | None


class _Tried(TypedDict):
    """A point of a grid."""

    point: dict[str, Any]
    chosen: bool


@dataclass(frozen=True)
class FoldRecord:
    """One training: the only one of ``holdout``, or that of one fold.

    Attributes:
        split: Positions of the graphs in ``train``, ``val`` (where there is one) and
            ``test``.
        curves: One value per epoch, the first after the first epoch: ``lr``,
            ``train_loss`` and, for the part that is watched, ``val_loss``,
            ``val_mae``, ... or ``test_loss``, ``test_accuracy``, ...
        kept_epoch: The epoch, from 1, whose weights were kept.
        metrics: Of these weights: ``test_mae``, ``test_accuracy``, ...; of several
            targets also of each, such as ``test_mae[logp]``.
        seconds: How long training took, interruptions not counted.
        members: Of several models (``"network 1"``, ..., ``"forest"``), the metrics of
            each alone; ``metrics`` are those of their mean prediction, curves and
            epoch are of the first.
        baseline: Metrics of models without a network, by name, and how sure their
            difference to this one is; see
            :meth:`~sekgnn.training.baseline.Baseline.fold`.
        calibration: What validation graphs say about predictions; see
            :class:`~sekgnn.training.calibration.Calibration`.
        tried: The points of a grid, in its order: ``point``, ``chosen`` (true for one,
            which all of the above is about but for the seconds, which are of all),
            ``kept_epoch``, the monitor on the validation graphs then, such as
            ``val_loss``, and ``seconds``; or ``failed``, why it has none of these.
    """

    split: dict[str, list[Size]]
    curves: dict[str, list[float]]
    kept_epoch: int
    metrics: dict[str, float]
    seconds: float
    members: dict[str, dict[str, float]] = field(default_factory=dict)
    baseline: dict[str, dict[str, Any]] = field(default_factory=dict)
    calibration: Annotated[dict[str, Any], _Calibration] = field(default_factory=dict)
    tried: list[Annotated[dict[str, Any], _Tried]] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> FoldRecord:
        """Return the record of a finished training."""
        try:
            return parse_as(cls, path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise GraphInputError(
                f"{path} is damaged ({error}); remove it to train this part again."
            ) from error

    @property
    def point(self) -> dict[str, Any]:
        """The point of the grid that was chosen; empty without a grid."""
        return next((one["point"] for one in self.tried if one["chosen"]), {})


@dataclass(frozen=True)
class Result:
    """A number to report, and what was selected to get it.

    Attributes:
        metric: Such as ``test_accuracy``.
        value: The number; with folds, the mean over them.
        spread: Standard deviation over the folds (ddof 0, as the literature does).
        protocol: Whose number it is.
        selected_on: What the epoch was chosen by, in words.
        epoch: The epoch, where one was chosen for all folds.
    """

    metric: str
    value: float
    spread: float | None
    protocol: str
    selected_on: str
    epoch: Annotated[int, range(1, 2**62)] | None = None


@dataclass(frozen=True)
class RunRecord:
    """A finished run.

    Attributes:
        config: The :class:`~sekgnn.training.RunConfig`, as plain values.
        data: ``name``, ``source``, ``fingerprint`` (SHA-256), ``graphs``, ``kind``,
            ``level``, ``targets``, ``classes``, ``units``, ``target_units``.
        model: The model's config, as ``model.to_config()`` gives it; of the first fold
            where a grid was searched in each.
        num_parameters: Learned numbers, likewise.
        protocol: Name of the protocol.
        selected_on: What its epoch is chosen by, in words.
        monitor: What the kept epoch was chosen by, such as ``val_loss``; or
            ``"nothing"`` where the last epoch was kept.
        folds: One per training.
        results: The numbers to report; the first is the protocol's own.
        versions: Of Python and packages.
        commit: Of the source, or ``None``.
        started: When, ISO 8601 with time zone.
        seconds: Training time of all folds together.
        device: Such as ``"cpu, 1 threads"``; ``"cpu, 1 then 2 threads"`` of a run that
            was continued with another number.
        baseline: What models without a network reach on the same splits; see
            :func:`~sekgnn.training.baseline.summarise_baseline`.
    """

    config: Annotated[dict[str, Any], _Config]
    data: Annotated[dict[str, Any], _Data]
    model: dict[str, Any]
    num_parameters: int
    protocol: str
    selected_on: str
    monitor: str
    folds: tuple[FoldRecord, ...]
    results: tuple[Result, ...]
    versions: dict[str, str] = field(default_factory=dict)
    commit: str | None = None
    started: str = ""
    seconds: float = 0.0
    device: str = "cpu"
    baseline: Annotated[dict[str, Any], _Baseline] = field(default_factory=dict)

    @property
    def headline(self) -> Result:
        """The number of the run's protocol."""
        return self.results[0]

    def result(self, metric: str, protocol: str | None = None) -> Result:
        """Return the result of a metric, of the run's own protocol if none is named.

        Raises:
            ConfigError: If there is none.
        """
        wanted = self.protocol if protocol is None else protocol
        for result in self.results:
            if result.metric == metric and result.protocol == wanted:
                return result
        known = sorted({f"{r.metric} ({r.protocol})" for r in self.results})
        raise ConfigError(
            f"the run has no {metric} ({wanted}); it has {', '.join(known)}."
        )

    def target_table(self) -> tuple[list[str], list[list[str]]]:
        """Return heading and rows of the results of each of several targets."""
        tested: dict[str, dict[str, str]] = {}
        for result in self.results:
            metric, _, rest = result.metric.partition("[")
            if result.protocol == self.protocol and rest:
                value = f"{result.value:.4g}"
                if result.spread is not None:
                    value += f" ± {result.spread:.2g}"
                tested.setdefault(rest[:-1], {})[metric] = value
        if not tested:
            return [], []
        targets = self.data["targets"]
        units = dict(zip(targets, self.data.get("target_units") or (), strict=False))
        metrics = list(next(iter(tested.values())))
        rows = [
            [name, units.get(name, ""), *(values.get(metric, "") for metric in metrics)]
            for name, values in tested.items()
        ]
        return ["target", "unit", *metrics], rows

    def baseline_sentence(self) -> str | None:
        """Return the baselines in one line; ``None`` if there are none."""
        known = self.baseline
        if not known:
            return None
        if "metric" not in known:
            reasons = [f"{name}: {why}" for name, why in known[LEFT_OUT].items()]
            return f"no baseline without a network: {' '.join(reasons)}"
        metric, reached = known["metric"], self.result(known["metric"]).value
        each = ", ".join(f"{n} {_short(v)}" for n, v in known.get("each", {}).items())
        text = f"without a network, {metric}: {each}; this model {_short(reached)}"
        best, value = known["model"], known["value"]
        if best is None or value is None:  # nothing chose one of them
            return text
        ahead = (reached - value) * (1 if is_better_high(metric) else -1)
        if math.isnan(ahead):
            return text
        chosen = f"{best}, the best of them on the validation graphs"
        error = known.get("error")
        if error is None:
            gap = _short(abs(ahead))
        else:
            count = sum(len(fold.split.get("test", ())) for fold in self.folds)
            gap = f"{_short(abs(ahead))} ± {error:.2g} (standard error, {count} tested)"
        if error is not None and abs(ahead) <= error:
            return (
                f"{text}. Not distinguishable: this model is "
                f"{'behind' if ahead < 0 else 'ahead of'} {chosen}, by {gap}; "
                "use either"
            )
        if ahead < 0:
            return (
                f"{text}. Use {chosen}: it is ahead by {gap}; or try "
                "--preset, more --epochs or sekgnn search"
            )
        return f"{text}. Use this model: it is ahead of {chosen}, by {gap}"

    def to_json(self) -> str:
        """Return the file's text; numbers that are not finite are ``null``."""
        exact = {"config": self.config, "model": self.model}
        head = {"format": FORMAT, "format_version": FORMAT_VERSION}
        values = {**head, **plain_json(asdict(self), _DIGITS), **exact}
        lines = [
            f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
            for name, value in values.items()
        ]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``record.json`` to ``folder``, all or nothing.

        Raises:
            OutputError: If it cannot be written; an older file is then unchanged.
        """
        write_files(folder, {RECORD_FILE: self.to_json().encode()})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RunRecord:
        """Return the record in ``path``, a run folder or the file itself.

        Raises:
            GraphInputError: If there is none, or it is damaged or of another version.
        """
        file = Path(path)
        if file.is_dir():
            file = file / RECORD_FILE
        if not file.is_file():
            raise GraphInputError(
                f"{path} holds no {RECORD_FILE}: it is not a run folder, or the run "
                "has not finished. Repeat its command to continue it."
            )
        try:
            values = parse_json(file.read_text(encoding="utf-8"))
            return cls._from_values(values, file)
        except (OSError, ValueError) as error:
            if isinstance(error, GraphInputError):
                raise
            raise GraphInputError(f"{file} is damaged: {error}.") from error

    @classmethod
    def _from_values(cls, values: Any, file: Path) -> RunRecord:
        if not isinstance(values, Mapping) or values.get("format") != FORMAT:
            raise GraphInputError(f"{file} is not the record of a run.")
        if values.get("format_version") != FORMAT_VERSION:
            raise GraphInputError(
                f"{file} has format {values.get('format_version')}, this version reads "
                f"{FORMAT_VERSION}; read it with the version that wrote it."
            )
        rest = {k: v for k, v in values.items() if not k.startswith("format")}
        record = read_as(cls, rest)
        if not record.folds or not record.results:
            raise GraphInputError(f"{file} is damaged: no folds or no results.")
        said = record.baseline.keys()
        needed = {"each", "model", "value"} if "metric" in said else {LEFT_OUT}
        if said and not needed <= said:
            lacks = ", ".join(sorted(needed - said))
            raise GraphInputError(f"{file} is damaged: its baseline lacks {lacks}.")
        if len(record.folds) == 1:
            return record
        results = (
            replace(one, spread=math.nan if one.spread is None else one.spread)
            for one in record.results
        )
        return replace(record, results=tuple(results))


def plain_json(value: Any, digits: int = 17) -> Any:
    """Return JSON values of some digits; ``None`` for numbers that are not finite."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain_json(item, digits) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item, digits) for item in value]
    return value


def _short(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3g}"


SELECTS_ON = {
    "holdout": (
        "the {monitor} of the validation {things}; the test {things} are used once"
    ),
    "nested": (
        "the {monitor} of a validation part of each fold's training {things}; each "
        "test fold is used once"
    ),
    "xu2019": (
        "the test folds: one epoch for all folds, that of the best mean over the folds"
    ),
    "wijesinghe2022": "the test folds: the best epoch of each fold by itself",
    "fixed": "nothing: all settings stand before the folds",
    "last epoch": "nothing: the last epoch",
    "no epochs": "nothing: there are no epochs",
}
"""What each protocol chooses the epoch by."""


def selected_on(config: RunConfig) -> str:
    """Return what the epoch of a run, and the point of a grid, is chosen by."""
    if config.grid:
        monitor = config.monitor if config.keeps_best else f"last {config.monitor}"
        words = SELECTS_ON[config.protocol].format(
            monitor=monitor, things=config.things
        )
        each = (f"{k} {', '.join(map(str, v))}" for k, v in config.grid)
        drawn = f"{config.grid_points} of the " if config.grid_points else ""
        return f"{words}; of {drawn}{config.space.size} points of {'; '.join(each)}"
    if not config.has_epochs:
        chosen = MODEL_KINDS[config.model].chooses
        words = f"; {chosen} without test graphs" if chosen else ""
        return SELECTS_ON["no epochs"] + words
    validates = config.protocol in ("holdout", "nested")
    last = validates and not config.keeps_best
    name = "last epoch" if last else config.protocol
    return SELECTS_ON[name].format(monitor=config.monitor, things=config.things)


def summarise(
    config: RunConfig, folds: Sequence[FoldRecord], metrics: Sequence[str]
) -> tuple[Result, ...]:
    """Return the numbers to report; the first is the protocol's own.

    Those are ``metrics``, and after them what else every fold has measured, such as
    metrics of single targets.

    Raises:
        GraphInputError: If the metric is not defined on some test fold.

    The two protocols that select on the test folds are different readings of the same
    curves, so a run of one reports both, and the last epoch, which selects nothing.
    """
    reported = [f"test_{metric}" for metric in metrics]
    if config.watched != "test" or not config.has_epochs:
        more = [name for name in folds[0].metrics if name not in reported]
        names = [config.protocol]
        if config.watched == "test":  # without epochs both readings are one
            names += {"xu2019", "wijesinghe2022"} - {config.protocol}
        measured = {
            metric: [fold.metrics[metric] for fold in folds]
            for metric in [*reported, *more]
        }
        chosen_by = selected_on(config)
        return tuple(
            _over_folds(metric, values, name, chosen_by)
            for name in names
            for metric, values in measured.items()
        )
    metric = reported[0]
    curves = np.array([fold.curves[metric] for fold in folds])  # [F, E]
    undefined = np.flatnonzero(np.isnan(curves).any(axis=1)) + 1
    if undefined.size:
        raise GraphInputError(
            f"{metric} is not defined in fold {undefined[0]}, whose test "
            f"{config.things} are of one class; use fewer folds."
        )
    high = is_better_high(metric)
    means = curves.mean(axis=0)
    shared = int(means.argmax() if high else means.argmin())
    each = curves.max(axis=1) if high else curves.min(axis=1)
    rows = {
        "xu2019": (curves[:, shared], shared + 1),
        "wijesinghe2022": (each, None),
        "last epoch": (curves[:, -1], curves.shape[1]),
    }
    order = sorted(rows, key=lambda name: name != config.protocol)
    return tuple(
        _over_folds(metric, rows[name][0], name, SELECTS_ON[name], rows[name][1])
        for name in order
    )


def _over_folds(
    metric: str,
    values: ArrayLike,
    protocol: str,
    selected_on: str,
    epoch: int | None = None,
) -> Result:
    """Return mean and standard deviation over the folds."""
    table = np.array(values)
    spread = float(table.std()) if table.size > 1 else None
    return Result(metric, float(table.mean()), spread, protocol, selected_on, epoch)
