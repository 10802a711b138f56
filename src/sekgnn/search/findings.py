"""What a search found: its table, its record and the best config."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from sekgnn.errors import ConfigError
from sekgnn.files import write_files
from sekgnn.search.space import SearchSpace
from sekgnn.training.config import RunConfig

FORMAT = "sekgnn search"
FORMAT_VERSION = 2
BEST_FILE = "best.yaml"
TABLE_FILE = "trials.csv"
RECORD_FILE = "search.json"
_STATES = ("complete", "pruned", "fail", "running")


@dataclass(frozen=True)
class TrialRow:
    """One trial of a study, as a line of ``trials.csv``.

    Attributes:
        trial: Optuna's number of it.
        slot: Its number among the trials that count.
        state: ``"complete"``, ``"pruned"``, ``"fail"`` (interrupted, and done again by
            another trial) or ``"running"``.
        value: The validation value, of complete trials.
        kept_epochs: The kept epoch of every fold, from 1.
        trained_epochs: Epochs that were trained, of all folds together.
        last_value: The last value that was reported.
        reason: Why it was given up, where it was not the pruner.
    """

    trial: int
    slot: int
    state: str
    value: float | None
    keys: dict[str, Any]
    kept_epochs: tuple[int, ...]
    trained_epochs: int
    last_value: float | None
    num_parameters: int | None
    seconds: float | None
    reason: str | None


@dataclass(frozen=True)
class SearchRecord:
    """A search, finished or not.

    Attributes:
        study_name: Name of the study.
        storage: Where it is kept, without a password.
        config: Of the trials, without the keys searched over, as plain values.
        space: The space, as plain values.
        sampler: How points were proposed.
        pruner: When trainings were stopped.
        monitor: Such as ``"val_loss"``.
        direction: ``"minimize"`` or ``"maximize"``.
        selected_on: What trials are compared by, in words.
        data: Name, number of graphs, SHA-256 of the graphs that are not for test alone.
        requested: Number of trials asked for.
        rows: All trials that were begun.
        versions: Of Python and packages.
        commit: Of the source, or ``None``.
    """

    study_name: str
    storage: str
    config: dict[str, Any]
    space: dict[str, Any]
    sampler: str
    pruner: str
    monitor: str
    direction: str
    selected_on: str
    data: dict[str, Any]
    requested: int
    rows: tuple[TrialRow, ...] = field(repr=False)
    versions: dict[str, str]
    commit: str | None

    @property
    def trials(self) -> dict[str, int]:
        """Number of trials by state."""
        return {name: sum(row.state == name for row in self.rows) for name in _STATES}

    @property
    def done(self) -> int:
        """Number of trials that are complete or pruned."""
        return self.trials["complete"] + self.trials["pruned"]

    @property
    def best(self) -> dict[str, Any] | None:
        """Trial, value, kept epochs and keys of the best trial.

        Of equal trials the one of the first slot; ``None`` if none is complete.
        """
        rows = sorted(self.rows, key=lambda row: row.slot)
        values = [row.value for row in rows if row.value is not None]
        if not values:
            return None
        value = max(values) if self.direction == "maximize" else min(values)
        row = asdict(next(row for row in rows if row.value == value))
        found = {name: row[name] for name in ("trial", "value", "kept_epochs", "keys")}
        return dict(json.loads(json.dumps(found)))  # tuples become lists

    def best_config(self) -> RunConfig:
        """Return the whole config of the best trial.

        Raises:
            ConfigError: If no trial is complete; says why.
        """
        if self.best is None:
            reasons = Counter(row.reason for row in self.rows if row.reason)
            why = f": {reasons.most_common(1)[0][0]}" if reasons else "."
            raise ConfigError(f"the search has no complete trial{why}")
        return RunConfig.from_dict({**self.config, **self.best["keys"]})

    def to_json(self) -> str:
        """Return the text of ``search.json``; the trials are in ``trials.csv``."""
        values = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(self)}
        del values["rows"]
        values |= {"trials": self.trials, "best": self.best}
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"

    def to_csv(self) -> str:
        """Return the text of ``trials.csv``, one line per trial."""
        keys = SearchSpace(self.space).keys
        names = [item.name for item in fields(TrialRow)]
        names[names.index("keys") : names.index("keys") + 1] = keys
        file = io.StringIO()
        table = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        for row in self.rows:
            cells = {**asdict(row), **row.keys}
            cells["kept_epochs"] = " ".join(map(str, row.kept_epochs))
            table.writerow({name: _cell(value) for name, value in cells.items()})
        return file.getvalue()

    def save(self, folder: Path) -> None:
        """Write ``trials.csv``, ``best.yaml`` and ``search.json``, each all or nothing.

        Raises:
            OutputError: If a file cannot be written; an older one is then unchanged.
        """
        files = {TABLE_FILE: self.to_csv()}
        if self.best is not None:
            config = self.best_config().to_dict()
            files[BEST_FILE] = (
                f"# {self.selected_on}: {self.best['value']!r}\n"
                f"# trial {self.best['trial']} of study {self.study_name}\n"
            ) + yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
        files[RECORD_FILE] = self.to_json()
        write_files(folder, {name: text.encode() for name, text in files.items()})


def rows_of(trials: Iterable[Any], space: SearchSpace) -> tuple[TrialRow, ...]:
    """Return the rows of the trials that were begun, in the order of their numbers."""
    rows = []
    for trial in trials:
        if not space.free.keys() <= trial.params.keys():
            continue
        state, attrs = trial.state.name.lower(), trial.user_attrs
        epochs = max(trial.intermediate_values, default=0)
        gone = "its process is gone" if state == "fail" else None
        rows.append(
            TrialRow(
                trial=trial.number,
                slot=attrs["slot"],
                state=state,
                value=trial.value if state == "complete" else None,
                keys=space.point(trial.params),
                kept_epochs=tuple(attrs.get("kept_epochs", ())),
                trained_epochs=epochs,
                last_value=trial.intermediate_values.get(epochs),
                num_parameters=attrs.get("num_parameters"),
                seconds=attrs.get("seconds"),
                reason=attrs.get("reason", gone),
            )
        )
    return tuple(rows)


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return json.dumps(value)
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else value
