"""What to choose from: choices and ranges for keys of a run's config.

Importing this file loads neither torch nor Optuna.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from sekgnn.checks import check_choice, nearest
from sekgnn.errors import ConfigError
from sekgnn.models.options import MODEL_KINDS
from sekgnn.parameters import typed_value
from sekgnn.training.config import RunConfig, config_fields
from sekgnn.training.run_folder import read_config

_SPACES = Path(__file__).with_name("spaces")
SPACE_NAMES = tuple(sorted(file.stem for file in _SPACES.glob("*.yaml")))
"""The paper's search spaces for SEK-GIN, and one for tables of molecules."""

_SECTIONS = {item.name: item.metadata["section"] for item in config_fields()}
_TYPES = {item.name: str(item.type).split(" | ")[0] for item in config_fields()}
_FIXED = {
    "seed": "a seed that is chosen by its result is luck",
    "monitor": "values of different metrics cannot be compared",
    "keep": "values of best and of last epochs cannot be compared",
    "refit": "it leaves no validation graphs",
    "ensemble": "trials are compared as single networks",
    "blend": "trials are compared as single networks",
    "tensorboard": "it changes nothing",
}
_UNIT_KEYS = ("loss", "normalize")
_MOST_VALUES = 10_000


@dataclass(frozen=True)
class SearchSpace:
    """Keys of a :class:`~sekgnn.training.RunConfig` and the values to try.

    Attributes:
        parts: What :meth:`from_dict` takes, checked, as plain JSON values. Every part
            is one parameter of Optuna.

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
        several keys at once, and ``key: {low: 1e-4, high: 0.1, log: true}`` is a range.

        Raises:
            ConfigError: If a key is unknown, which suggests the nearest, if it cannot
                be searched over, or a value cannot work.
        """
        if not values:
            raise ConfigError("the search space is empty; name a key and its choices.")
        parts: dict[str, Any] = {}
        seen: set[str] = set()
        for name, part in values.items():
            keys = [_key(text) for text in str(name).split(",")]
            for key in keys:
                if key in seen:
                    raise ConfigError(f"{key} occurs twice in the search space.")
                seen.add(key)
            is_range = isinstance(part, Mapping) and len(keys) == 1
            checked = _range(keys[0], part) if is_range else _choices(keys, part)
            parts[", ".join(keys)] = checked
        return cls(parts)

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that are set by the space."""
        return tuple(key for name in self.parts for key in name.split(", "))

    @property
    def size(self) -> int | None:
        """Number of points; ``None`` if it is infinite."""
        if any(_is_infinite(part) for part in self.parts.values()):
            return None
        return math.prod(len(_values(part)) for part in self.parts.values())

    def grid(self) -> Iterator[dict[str, Any]]:
        """Yield the values of Optuna's parameters at every point, each once.

        An infinite range is represented by its two ends.
        """
        rows = itertools.product(*map(_values, self.parts.values()))
        return (dict(zip(self.parts, row, strict=True)) for row in rows)

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield every point, as a mapping from keys to values; as :meth:`grid`."""
        return map(self.point, self.grid())

    def point(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all keys for values of Optuna's parameters."""
        point: dict[str, Any] = {}
        for name, part in self.parts.items():
            keys, value = name.split(", "), params[name]
            if isinstance(part, list):
                value = part[_values(part).index(value)]
            point |= zip(keys, value if len(keys) > 1 else [value], strict=True)
        return point

    def suggest(self, trial: Any) -> dict[str, Any]:
        """Return the point that an Optuna trial proposes."""
        params: dict[str, Any] = {}
        for name, part in self.parts.items():
            if isinstance(part, list):
                params[name] = trial.suggest_categorical(name, _values(part))
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


def load_space(name: str | os.PathLike[str]) -> SearchSpace:
    """Return a space that has a name, or the one in a YAML file.

    Raises:
        ConfigError: If there is none, or it is wrong.
    """
    if str(name) in SPACE_NAMES:
        return SearchSpace.from_dict(read_config(_SPACES / f"{name}.yaml"))
    if not Path(name).is_file():
        known = ", ".join(SPACE_NAMES)
        raise ConfigError(
            f"there is no file {name}, nor a space of this name; there are "
            f"{known}.{nearest(name, SPACE_NAMES)}"
        )
    return SearchSpace.from_dict(read_config(name))


def _key(text: str) -> str:
    """Return a key of a config that may be searched over."""
    key = text.strip().replace("-", "_")
    check_choice("keys of a search space", key, _SECTIONS)
    if key in _FIXED or _SECTIONS[key] not in ("model", "encoding", "training"):
        why = _FIXED.get(key, "a search must compare like with like")
        raise ConfigError(f"{key} cannot be searched over: {why}.")
    return key


def _choices(keys: list[str], choices: Any) -> list[Any]:
    """Return a checked list of choices; for several keys, a list of lists."""
    name = ", ".join(keys)
    if not isinstance(choices, list | tuple) or not choices:
        raise ConfigError(
            f"{name} must have a list of choices, or low and high, got {choices!r}."
        )
    rows = [[choice] for choice in choices] if len(keys) == 1 else choices
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != len(keys):
            raise ConfigError(
                f"each choice of {name} must be a list of {len(keys)} values, "
                f"got {row!r}."
            )
    checked = [[*map(_plain, keys, row)] for row in rows]
    part = [row[0] for row in checked] if len(keys) == 1 else checked
    for choice in part:
        if part.count(choice) > 1:
            raise ConfigError(f"{name} has the choice {choice!r} twice.")
    return part


def _range(key: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checked range: arguments of Optuna's ``suggest_int`` or ``_float``."""
    for name in limits:
        known = ("low", "high", "log", "step")
        check_choice(f"{key} in a search space", name, known)
    if limits.get("low") is None or limits.get("high") is None:
        raise ConfigError(
            f"{key} needs low and high, or a list of choices, got {dict(limits)!r}."
        )
    if _TYPES[key] not in ("int", "float"):
        raise ConfigError(f"{key} is not a number; list its choices.")
    part = {
        name: typed_value(f"{name} of {key}", limits[name], _TYPES[key])
        for name in ("low", "high", "step")
        if limits.get(name) is not None
    }
    low, high, step = part["low"], part["high"], part.get("step", 1)
    log = limits.get("log", False)
    if not isinstance(log, bool):
        raise ConfigError(f"log of {key} must be true or false, got {log!r}.")
    if not (low < high and step > 0):
        raise ConfigError(
            f"{key} must have low below high, and step above 0, got {dict(limits)!r}."
        )
    if log and (low <= 0 or "step" in part):
        raise ConfigError(f"{key}: log needs low above 0, and no step.")
    _plain(key, low), _plain(key, high)
    return {**part, "log": True} if log else part


def _is_infinite(part: Any) -> bool:
    """Return whether a part has no end of values, or more than anyone can try."""
    if isinstance(part, list):
        return False
    step = part.get("step", 1 if isinstance(part["low"], int) else None)
    return step is None or (part["high"] - part["low"]) / step > _MOST_VALUES


def _values(part: Any) -> list[Any]:
    """Return all values of Optuna's parameter; the two ends of an infinite range.

    Choices that Optuna cannot store, such as lists, are their JSON.
    """
    if isinstance(part, list):
        return [v if isinstance(v, str | int | float) else json.dumps(v) for v in part]
    low, high = part["low"], part["high"]
    if _is_infinite(part):
        return [low, high]
    first, last, step = (Decimal(str(x)) for x in (low, high, part.get("step", 1)))
    count = int((last - first) / step) + 1
    return [type(low)(first + i * step) for i in range(count)]


def _plain(key: str, value: Any) -> Any:
    """Return a plain value that a config can hold, whatever its other keys are."""
    owners = (name for name, kind in MODEL_KINDS.items() if key in kind.options())
    model = next(owners, RunConfig.model)
    try:
        config = RunConfig.from_dict({"model": model, key: value})
    except ConfigError as error:
        raise ConfigError(f"in the search space: {error}") from None
    return config.to_dict().get(key)
