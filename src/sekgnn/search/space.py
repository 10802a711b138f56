"""What to search over: choices and ranges for keys of a run's config.

Importing this file loads neither torch nor Optuna.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError
from sekgnn.training.config import RunConfig, typed_value
from sekgnn.training.run_folder import read_config

NAMED_SPACES: dict[str, dict[str, Any]] = {
    "tu": {  # section "Graph classification": hidden size max(int(120 / K), 40)
        "num_hops": [1, 2, 3, 4],
        "num_layers": [1, 2, 3, 4],
        "combine": ["sum", "geometric"],
        "jump": ["sum", "concat"],
        "hidden_channels": {
            "of": "num_hops",
            "values": {hops: max(int(120 / hops), 40) for hops in (1, 2, 3, 4)},
        },
    },
    "counting": {
        "num_layers, num_hops": [[5, 3], [5, 5], [5, 7], [6, 3], [6, 5], [6, 7]],
        "batch_size": [32, 64],
    },
    "graph_property": {
        "num_hops": [5, 6],
        "num_layers": [5, 6, 7],
        "batch_size": [64, 128],
    },
    "qm9": {
        "num_hops": [5, 6, 7],
        "num_layers": [4, 6, 8],
        "combine": ["sum", "geometric"],
    },
}
"""What the paper searched over for SEK-GIN, by experiment.

Values that the paper keeps fixed (lr, epochs, ...) are keys of the config.
"""

_SECTIONS = {item.name: item.metadata["section"] for item in fields(RunConfig)}
_TYPES = {item.name: str(item.type).split(" | ")[0] for item in fields(RunConfig)}
_FIXED = {
    "seed": "a seed that is chosen by its result is luck",
    "monitor": "values of different metrics cannot be compared",
    "keep": "values of best and of last epochs cannot be compared",
    "refit": "it leaves no validation graphs",
    "ensemble": "trials are compared as single networks",
    "with_forest": "trials are compared as single networks",
    "tensorboard": "it changes nothing",
    "checkpoint_every": "it changes nothing",
}
_UNIT_KEYS = ("loss", "normalize")
_MOST_LABELS = 10_000


@dataclass(frozen=True)
class SearchSpace:
    """Keys of a :class:`~sekgnn.training.RunConfig` and the values to try.

    Attributes:
        parts: What :meth:`from_dict` takes, checked, as plain JSON values.

    Example:
        >>> space = SearchSpace.from_dict({"num_hops": [1, 2], "lr": [0.1]})
        >>> space.size
        2
        >>> list(space.points())
        [{'num_hops': 1, 'lr': 0.1}, {'num_hops': 2, 'lr': 0.1}]
    """

    parts: dict[str, Any]

    @classmethod
    def from_dict(cls, values: Mapping[Any, Any]) -> SearchSpace:
        """Return a space of plain values, as they stand in a YAML file.

        ``key: [a, b]`` are choices, ``"key, other": [[a, x], [b, y]]`` choices of
        several keys at once, ``key: {low: 1e-4, high: 0.1, log: true}`` is a range, and
        ``key: {of: other, values: {1: a, 2: b}}`` follows the value of another key.

        Raises:
            ConfigError: If a key is unknown, which suggests the nearest, if it cannot
                be searched over, or a value cannot work.
        """
        if not values:
            raise ConfigError("the search space is empty; name a key and its choices.")
        parts: dict[str, Any] = {}
        for name, value in values.items():
            keys = [_key(part) for part in str(name).split(",")]
            for key in keys:
                if any(key in _keys(other) for other in parts) or keys.count(key) > 1:
                    raise ConfigError(f"{key} occurs twice in the search space.")
            if isinstance(value, Mapping) and len(keys) == 1:
                parse = _follows if "of" in value else _range
                parts[keys[0]] = parse(keys[0], value)
            else:
                parts[", ".join(keys)] = _choices(keys, value)
        space = cls(parts)
        for name, part in parts.items():
            if _is_table(part):
                space._check_follows(name, part["of"], part["values"])
        return space

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, from which :meth:`from_dict` makes it again."""
        return dict(self.parts)

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that are set by the space."""
        return tuple(key for name in self.parts for key in _keys(name))

    @property
    def free(self) -> dict[str, Any]:
        """The parts that follow no other: Optuna's parameters."""
        return {n: part for n, part in self.parts.items() if not _is_table(part)}

    @property
    def size(self) -> int | None:
        """Number of points; ``None`` if it is not finite."""
        labels = [_labels(part) for part in self.free.values()]
        return None if None in labels else math.prod(len(x) for x in labels if x)

    def grid(self, *, ends: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the values of Optuna's parameters at every point, each once.

        With ``ends`` both ends stand for all of a range that is not finite.

        Raises:
            ConfigError: If the space is not finite, without ``ends``.
        """
        labels = []
        for name, part in self.free.items():
            found = _labels(part)
            if found is None and not ends:
                raise ConfigError(
                    f"{name} has a range without a step, so the space is infinite; "
                    "list its choices, give it a step, or choose another sampler."
                )
            labels.append((part["low"], part["high"]) if found is None else found)
        return (
            dict(zip(self.free, row, strict=True)) for row in itertools.product(*labels)
        )

    def points(self, *, ends: bool = False) -> Iterator[dict[str, Any]]:
        """Yield every point, as a mapping from keys to values; as :meth:`grid`."""
        return map(self.point, self.grid(ends=ends))

    def point(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all keys for values of Optuna's parameters."""
        found: dict[str, Any] = {}
        for name, part in self.free.items():
            keys, value = _keys(name), params[name]
            if isinstance(part, list):
                value = part[_label_list(part).index(value)]
            found |= zip(keys, value if len(keys) > 1 else [value], strict=True)
        for name, part in self.parts.items():
            if _is_table(part):
                other = found[part["of"]]
                found[name] = next(b for a, b in part["values"] if a == other)
        values = ((key, found[key]) for key in self.keys)
        return {k: tuple(v) if isinstance(v, list) else v for k, v in values}

    def suggest(self, trial: Any) -> dict[str, Any]:
        """Return the point that an Optuna trial proposes."""
        params: dict[str, Any] = {}
        for name, part in self.free.items():
            if isinstance(part, list):
                params[name] = trial.suggest_categorical(name, _label_list(part))
            elif isinstance(part["low"], int):
                params[name] = trial.suggest_int(name, **part)
            else:
                params[name] = trial.suggest_float(name, **part)
        return self.point(params)

    def check(self, config: RunConfig) -> None:
        """Raise if trials of this space cannot be compared by the monitor."""
        for key in _UNIT_KEYS:
            if config.monitor == "loss" and key in self.keys:
                raise ConfigError(
                    f"{key} changes the units of the loss, so losses of different "
                    f"{key} cannot be compared; set monitor to a metric, such as mae."
                )

    def _check_follows(self, key: str, of: str, table: list[Any]) -> None:
        """Raise if the other key has no choices, or a choice without a value here."""
        check_choice(f"'of' of {key}", of, [k for k in self.keys if k != key])
        name = next(name for name in self.parts if of in _keys(name))
        labels = _labels(self.parts[name]) if name in self.free else None
        if labels is None:
            raise ConfigError(f"{key} can only follow a key with choices.")
        only = SearchSpace({name: self.parts[name]})
        for label in labels:
            value = only.point({name: label})[of]
            value = list(value) if isinstance(value, tuple) else value
            if value not in [a for a, _ in table]:
                raise ConfigError(f"{key} has no value for {of} = {value!r}.")


def load_space(name: str | os.PathLike[str]) -> SearchSpace:
    """Return a space of the paper by name, or the one in a YAML file.

    Raises:
        ConfigError: If there is none, or it is wrong.
    """
    if str(name) in NAMED_SPACES:
        return SearchSpace.from_dict(NAMED_SPACES[str(name)])
    if not Path(name).is_file():
        try:
            check_choice("space", str(name), NAMED_SPACES)
        except ConfigError as error:
            raise ConfigError(f"there is no file {name}, and {error}") from None
    return SearchSpace.from_dict(read_config(name))


def _key(text: str) -> str:
    """Return a key of a config that may be searched over."""
    key = text.strip().replace("-", "_")
    check_choice("keys of a search space", key, _SECTIONS)
    if key in _FIXED or _SECTIONS[key] not in ("model", "encoding", "training"):
        why = _FIXED.get(key, "a search must compare like with like")
        raise ConfigError(f"{key} cannot be searched over: {why}.")
    return key


def _keys(name: str) -> list[str]:
    """Return the keys that a part sets."""
    return name.split(", ")


def _is_table(part: Any) -> bool:
    """Return whether a part follows another one."""
    return isinstance(part, dict) and "of" in part


def _choices(keys: list[str], choices: Any) -> list[Any]:
    """Return a checked list of choices; for several keys, a list of lists."""
    name = ", ".join(keys)
    if not isinstance(choices, list | tuple) or not choices:
        raise ConfigError(
            f"{name} must have a list of choices, or low and high, got {choices!r}."
        )
    rows = [(choice,) for choice in choices] if len(keys) == 1 else choices
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != len(keys):
            raise ConfigError(
                f"each choice of {name} must be a list of {len(keys)} values, "
                f"got {row!r}."
            )
    checked = [list(map(_value, keys, row)) for row in rows]
    part = [row[0] for row in checked] if len(keys) == 1 else checked
    labels = _label_list(part)
    for label in labels:
        if labels.count(label) > 1:
            raise ConfigError(f"{name} has the choice {label!r} twice.")
    return part


def _range(key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checked range: arguments of Optuna's ``suggest_int`` or ``_float``."""
    for name in values:
        known = ("low", "high", "log", "step", "of", "values")
        check_choice(f"{key} in a search space", name, known)
    if "low" not in values or "high" not in values:
        raise ConfigError(
            f"{key} needs low and high, or a list of choices, got {dict(values)!r}."
        )
    if _TYPES[key] not in ("int", "float"):
        raise ConfigError(f"{key} is not a number; list its choices.")
    part = {
        name: typed_value(f"{name} of {key}", values[name], _TYPES[key])
        for name in ("low", "high", "step")
        if values.get(name) is not None
    }
    low, high, step = part["low"], part["high"], part.get("step")
    log = values.get("log", False)
    if not isinstance(log, bool):
        raise ConfigError(f"log of {key} must be true or false, got {log!r}.")
    if not low < high:
        raise ConfigError(f"{key}: low ({low:g}) must be below high ({high:g}).")
    if log and (low <= 0 or step is not None):
        raise ConfigError(f"{key}: log needs low above 0, and no step.")
    if step is not None and step <= 0:
        raise ConfigError(f"{key}: step must be above 0, got {step:g}.")
    _value(key, low), _value(key, high)
    return {**part, "log": True} if log else part


def _follows(key: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checked table, as pairs: keys of JSON are strings."""
    table = values.get("values")
    rows: Any = list(table.items()) if isinstance(table, Mapping) else table
    paired = isinstance(rows, list) and all(
        isinstance(row, list | tuple) and len(row) == 2 for row in rows
    )
    if set(values) != {"of", "values"} or not paired:
        raise ConfigError(
            f"{key} must be written as {{of: other key, values: {{1: a, 2: b}}}}, "
            f"got {dict(values)!r}."
        )
    of = str(values["of"]).strip().replace("-", "_")
    known = of in _TYPES  # else it is refused later, with what it may be
    checked = [[_value(of, a) if known else a, _value(key, b)] for a, b in rows]
    return {"of": of, "values": checked}


def _labels(part: Any) -> Sequence[Any] | None:
    """Return all values of Optuna's parameter; ``None`` if there is no end of them.

    Or none that could be reached: a range of more than ``_MOST_LABELS``.
    """
    if isinstance(part, list):
        return _label_list(part)
    low, high, step = part["low"], part["high"], part.get("step")
    if (high - low) / (step or 1) > _MOST_LABELS:
        return None
    if isinstance(low, int):
        return range(low, high + 1, step or 1)
    if step is None:
        return None
    low, high, step = (Decimal(str(x)) for x in (low, high, step))
    return [float(low + i * step) for i in range(int((high - low) / step) + 1)]


def _label_list(part: list[Any]) -> list[Any]:
    """Return what Optuna stores for choices: the value itself, or its JSON."""
    return [v if isinstance(v, str | int | float) else json.dumps(v) for v in part]


def _value(key: str, value: Any) -> Any:
    """Return a plain value that a config can hold, whatever its other keys are."""
    try:
        config = RunConfig(**{key: value})
    except ConfigError as error:
        raise ConfigError(f"in the search space: {error}") from None
    return config.to_dict()[key]
