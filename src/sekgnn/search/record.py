"""What a search leaves behind: its table, its record and the best config."""

from __future__ import annotations

import csv
import io
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sekgnn.errors import ConfigError
from sekgnn.files import write_files
from sekgnn.search.space import SearchSpace
from sekgnn.search.turns import REASON, SLOT, is_counted
from sekgnn.training.config import RunConfig
from sekgnn.training.run_folder import locked

FORMAT = "sekgnn search"
FORMAT_VERSION = 1
BEST_FILE = "best.yaml"
TABLE_FILE = "trials.csv"
RECORD_FILE = "search.json"
_LOCK_ATTEMPTS = 100


@dataclass(frozen=True)
class TrialRow:
    """One trial of a study.

    Attributes:
        number: Optuna's number of it.
        slot: Its number among the trials that count; ``None`` if it never got one.
        state: ``"complete"``, ``"pruned"``, ``"fail"`` (interrupted, and done again by
            another trial) or ``"running"``.
        value: The validation value, of complete trials.
        last_value: The last value that was reported.
        epochs: Epochs that were trained, of all folds together.
        best_epochs: The best epoch of every fold.
        keys: Values of the keys that were searched over.
        num_parameters: Learned numbers of the model.
        seconds: Time spent training.
        reason: Why it was given up, where it was not the pruner.
    """

    number: int
    slot: int | None
    state: str
    value: float | None
    last_value: float | None
    epochs: int
    best_epochs: tuple[int, ...]
    keys: dict[str, Any]
    num_parameters: int | None
    seconds: float | None
    reason: str | None

    @classmethod
    def of(cls, trial: Any, space: SearchSpace) -> TrialRow:
        """Return the row of one of Optuna's trials."""
        attrs = trial.user_attrs
        state = trial.state.name.lower()
        reported = trial.intermediate_values
        last = max(reported, default=0)
        return cls(
            number=trial.number,
            slot=attrs.get(SLOT),
            state=state,
            value=trial.value if state == "complete" else None,
            last_value=reported.get(last),
            epochs=last,
            best_epochs=tuple(attrs.get("best_epochs", ())),
            keys=space.suggest(trial) if trial.params else {},
            num_parameters=attrs.get("num_parameters"),
            seconds=attrs.get("training_seconds"),
            reason=attrs.get(REASON),
        )


@dataclass(frozen=True)
class SearchRecord:
    """A search, finished or not.

    Attributes:
        study: Name of the study.
        storage: Where it is kept, without a password.
        base: The base config, as plain values.
        space: The space, as plain values.
        sampler: How points were proposed.
        pruner: When trainings were stopped.
        monitor: Such as ``"val_loss"``.
        direction: ``"minimize"`` or ``"maximize"``.
        selected_on: What trials are compared by, in words.
        data: Name, number of graphs, SHA-256 of the graphs that are not for test alone.
        wished: Number of trials asked for.
        trials: Number of trials by state.
        best: ``number``, ``value``, ``best_epochs`` and ``keys`` of the best trial; or
            ``None``.
        rows: All trials.
        versions: Of Python and packages.
        commit: Of the source, or ``None``.
    """

    study: str
    storage: str
    base: dict[str, Any]
    space: dict[str, Any]
    sampler: str
    pruner: str
    monitor: str
    direction: str
    selected_on: str
    data: dict[str, Any]
    wished: int
    trials: dict[str, int]
    best: dict[str, Any] | None
    rows: tuple[TrialRow, ...] = field(repr=False)
    versions: dict[str, str]
    commit: str | None

    @property
    def done(self) -> int:
        """Number of trials that are complete or pruned."""
        return self.trials["complete"] + self.trials["pruned"]

    def best_config(self) -> RunConfig:
        """Return the whole config of the best trial.

        Raises:
            ConfigError: If no trial is complete; says why.
        """
        if self.best is None:
            reasons = Counter(row.reason for row in self.rows if row.reason)
            why = f": {reasons.most_common(1)[0][0]}" if reasons else "."
            raise ConfigError(f"the search has no complete trial{why}")
        return RunConfig.from_dict({**self.base, **self.best["keys"]})

    def to_json(self) -> str:
        """Return the text of ``search.json``; the trials are in ``trials.csv``."""
        values = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(self)}
        del values["rows"]
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"

    def to_csv(self) -> str:
        """Return the text of ``trials.csv``, one line per trial."""
        keys = list(dict.fromkeys(key for row in self.rows for key in row.keys))
        file = io.StringIO()
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            ("trial", "slot", "state", "value", *keys, "best_epochs", "epochs",
             "last_value", "num_parameters", "seconds", "reason")
        )  # fmt: skip
        for row in self.rows:
            table.writerow(
                _cell(value)
                for value in (
                    row.number, row.slot, row.state, row.value,
                    *(row.keys.get(key) for key in keys),
                    " ".join(map(str, row.best_epochs)), row.epochs, row.last_value,
                    row.num_parameters, row.seconds, row.reason,
                )
            )  # fmt: skip
        return file.getvalue()

    def save(self, folder: Path) -> None:
        """Write ``trials.csv``, ``best.yaml`` and ``search.json``, each all or nothing.

        Raises:
            OutputError: If a file cannot be written; an older one is then unchanged.
        """
        files = {TABLE_FILE: self.to_csv()}
        if self.best is not None:
            files[BEST_FILE] = (
                f"# {self.selected_on}: {self.best['value']!r}\n"
                f"# trial {self.best['number']} of study {self.study}\n"
            ) + yaml.safe_dump(
                self.best_config().to_dict(), sort_keys=False, allow_unicode=True
            )
        files[RECORD_FILE] = self.to_json()
        write_files(folder, {name: text.encode() for name, text in files.items()})


def rows_of(trials: Sequence[Any], space: SearchSpace) -> tuple[TrialRow, ...]:
    """Return the rows of a study, in the order of their numbers."""
    return tuple(TrialRow.of(trial, space) for trial in trials)


def best_of(
    trials: Sequence[Any], rows: Sequence[TrialRow], direction: str
) -> dict[str, Any] | None:
    """Return what to write about the best trial; of equal ones, that of first slot."""
    sign = -1 if direction == "maximize" else 1
    complete = [
        row
        for trial, row in zip(trials, rows, strict=True)
        if is_counted(trial) and row.value is not None
    ]
    if not complete:
        return None
    best = min(complete, key=lambda row: (sign * (row.value or 0.0), row.slot))
    keys = {k: list(v) if isinstance(v, tuple) else v for k, v in best.keys.items()}
    return {
        "number": best.number,
        "value": best.value,
        "best_epochs": list(best.best_epochs),
        "keys": keys,
    }


@contextmanager
def locked_in_turn(folder: Path) -> Iterator[None]:
    """Hold a folder, after waiting for others who write there too.

    Raises:
        ConfigError: If they take too long.
        OutputError: If the folder cannot be written to.
    """
    with ExitStack() as stack:
        for left in reversed(range(_LOCK_ATTEMPTS)):
            try:
                stack.enter_context(locked(folder))
                break
            except ConfigError:
                if not left:
                    raise
                time.sleep(0.1)
        yield


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return json.dumps(list(value))
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else value
