"""The record of a search: its trials, its best config, and the files they go to."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from sekgnn.errors import ConfigError
from sekgnn.files import write_files
from sekgnn.training.config import RunConfig
from sekgnn.training.space import SearchSpace

BEST_FILE = "best.yaml"
TABLE_FILE = "trials.csv"
RECORD_FILE = "search.json"
_FORMAT = {"format": "sekgnn search", "format_version": 3}
_STATES = ("complete", "pruned", "fail", "running")


def trial_row(trial: Any, space: SearchSpace) -> dict[str, Any]:
    """Return an Optuna trial as a line of ``trials.csv``.

    ``trial`` is Optuna's number of it, ``slot`` its number among the trials that count.
    A trial that was interrupted has the state ``"fail"``; another one has its slot.
    Epochs are summed over the folds. ``reason`` says why a trial was given up, unless
    it was the pruner.
    """
    state, attrs = trial.state.name.lower(), trial.user_attrs
    gone = "its process is gone" if state == "fail" else None
    epochs = max(trial.intermediate_values, default=0)
    return {
        "trial": trial.number,
        "slot": attrs["slot"],
        "state": state,
        "value": trial.value if state == "complete" else None,
        **space.point(trial.params),
        "kept_epochs": attrs.get("kept_epochs", []),
        "trained_epochs": epochs,
        "last_value": trial.intermediate_values.get(epochs),
        "num_parameters": attrs.get("num_parameters"),
        "seconds": attrs.get("seconds"),
        "reason": attrs.get("reason", gone),
    }


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
        selected_on: The value that trials are compared by, in words.
        data: Name, number of graphs, SHA-256 of the graphs that are not for test alone.
        requested: Number of trials asked for.
        versions: Of Python and packages.
        commit: Of the source, or ``None``.
        rows: All trials that were begun, as :func:`trial_row`.
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
    versions: dict[str, str]
    commit: str | None
    rows: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    @property
    def trials(self) -> dict[str, int]:
        """Number of trials by state."""
        states = Counter(row["state"] for row in self.rows)
        return {state: states[state] for state in _STATES}

    @property
    def done(self) -> int:
        """Number of trials that are complete or pruned."""
        return self.trials["complete"] + self.trials["pruned"]

    @property
    def best(self) -> dict[str, Any] | None:
        """Trial, value, kept epochs and keys of the best trial.

        Of equal trials the one of the first slot; ``None`` if none is complete.
        """
        sign = -1 if self.direction == "maximize" else 1
        complete = [row for row in self.rows if row["state"] == "complete"]
        if not complete:
            return None
        row = min(complete, key=lambda row: (sign * row["value"], row["slot"]))
        keys = {key: row[key] for key in SearchSpace(self.space).keys}
        return {k: row[k] for k in ("trial", "value", "kept_epochs")} | {"keys": keys}

    @property
    def identity(self) -> dict[str, Any]:
        """All that the trials of a study must have in common.

        Data counts by content, not by name, so that paths may differ between machines.
        """
        keys = SearchSpace(self.space).keys
        free = {item.name for item in fields(RunConfig) if item.metadata.get("free")}
        free |= {"data", "split", *keys}
        return {
            **{k: v for k, v in self.config.items() if k not in free},
            **{f"{name} of the space": part for name, part in self.space.items()},
            "order of the space": list(self.space),  # so of the points of a grid
            "training and validation graphs": self.data["fingerprint"][:8],
            "sampler": self.sampler,
            "pruner": self.pruner,
        }

    def best_config(self) -> RunConfig:
        """Return the whole config of the best trial.

        Raises:
            ConfigError: If no trial is complete; says why.
        """
        if self.best is None:
            reasons = Counter(row["reason"] for row in self.rows if row["reason"])
            why = f": {reasons.most_common(1)[0][0]}" if reasons else "."
            raise ConfigError(f"the search has no complete trial{why}")
        return RunConfig.from_dict({**self.config, **self.best["keys"]})

    def to_json(self) -> str:
        """Return the text of ``search.json``; the trials are in ``trials.csv``."""
        values = {**_FORMAT, **asdict(self), "trials": self.trials, "best": self.best}
        del values["rows"]
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"

    def to_csv(self) -> str:
        """Return the text of ``trials.csv``, one line per trial."""
        file = io.StringIO()
        lines = csv.writer(file, lineterminator="\n")
        lines.writerows(row.keys() for row in self.rows[:1])
        lines.writerows(map(_cell, row.values()) for row in self.rows)
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


def _cell(value: Any) -> Any:
    """Return a cell of a table: text as it is, other values as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value)
