"""The record of a search: its trials, its best config, and their files."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from sekgnn.errors import ConfigError
from sekgnn.files import write_files
from sekgnn.training.config import RunConfig
from sekgnn.training.predictions import to_csv
from sekgnn.training.space import SearchSpace

BEST_FILE = "best.yaml"
TABLE_FILE = "trials.csv"
RECORD_FILE = "search.json"
_FORMAT = {"format": "sekgnn search", "format_version": 3}
_STATES = ("complete", "pruned", "fail", "running")


def trial_row(trial: Any, space: SearchSpace) -> dict[str, Any]:
    """Return an Optuna trial as a line of ``trials.csv``.

    ``trial`` is Optuna's number, ``slot`` the number among the trials that count. An
    interrupted trial has the state ``"fail"``, and another one takes its slot. Epochs
    are summed over the folds. ``reason`` says why a trial stopped, unless it was pruned
    by the pruner.
    """
    state, attrs = trial.state.name.lower(), trial.user_attrs
    default_reason = "its process is gone" if state == "fail" else None
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
        "reason": attrs.get("reason", default_reason),
    }


@dataclass(frozen=True)
class SearchRecord:
    """A search, finished or not.

    Attributes:
        study_name: Name of the study.
        storage: URL of the storage, without a password.
        config: Config of the trials as plain values, without the searched keys.
        space: The space, as plain values.
        sampler: Name of the sampler.
        pruner: Name of the pruner.
        monitor: Such as ``"val_loss"``.
        direction: ``"minimize"`` or ``"maximize"``.
        selected_on: The value by which trials are compared, in words.
        data: Name, number of graphs, SHA-256 of the training and validation graphs.
        requested: Number of trials requested.
        versions: Versions of Python and packages.
        commit: Commit of the source, if known.
        rows: All trials, from :func:`trial_row`.
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
        """Trial, value, kept epochs and keys of the best complete trial, if any.

        The first slot wins among equal trials.
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
        """Everything that the trials of a study must share.

        Data counts by content, so paths may differ between machines.
        """
        keys = SearchSpace(self.space).keys
        free = {item.name for item in fields(RunConfig) if item.metadata.get("free")}
        free |= {"data", "split", *keys}
        return {
            **{k: v for k, v in self.config.items() if k not in free},
            **{f"{name} of the space": item for name, item in self.space.items()},
            "order of the space": list(self.space),  # and of the points of a grid
            "training and validation graphs": self.data["fingerprint"][:8],
            "sampler": self.sampler,
            "pruner": self.pruner,
        }

    def best_config(self) -> RunConfig:
        """Return the config of the best trial.

        Raises:
            ConfigError: If no trial is complete; gives the most common reason.
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

    def save(self, folder: Path) -> None:
        """Write ``trials.csv``, ``best.yaml`` and ``search.json``, each atomically.

        Raises:
            OutputError: If a file cannot be written; an older one is then unchanged.
        """
        lines = [[_cell(value) for value in row.values()] for row in self.rows]
        files = {TABLE_FILE: to_csv(list(self.rows[0]), lines) if lines else b""}
        if self.best is not None:
            config = self.best_config().to_dict()
            files[BEST_FILE] = (
                f"# {self.selected_on}: {self.best['value']!r}\n"
                f"# trial {self.best['trial']} of study {self.study_name}\n"
                + yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
            ).encode()
        files[RECORD_FILE] = self.to_json().encode()
        write_files(folder, files)


def _cell(value: Any) -> Any:
    """Return a cell of a table: text unchanged, other values as JSON."""
    return value if value is None or isinstance(value, str) else json.dumps(value)
