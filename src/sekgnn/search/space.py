"""What to search over: choices and ranges for keys of a run's config.

Importing this file loads neither torch nor Optuna.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError
from sekgnn.search.named_spaces import NAMED_SPACES
from sekgnn.search.parts import Choices, Follows, Part, Range
from sekgnn.training.config import RunConfig
from sekgnn.training.run_folder import read_config

_SEARCHED = ("model", "encoding", "training")
_FIXED = {
    "monitor": "values of different metrics cannot be compared",
    "tensorboard": "it changes nothing",
    "checkpoint_every": "it changes nothing",
}
_UNIT_KEYS = ("loss", "normalize")


@dataclass(frozen=True)
class SearchSpace:
    """Keys of a :class:`~sekgnn.training.RunConfig` and the values to try.

    Attributes:
        parts: :class:`Choices`, :class:`Range` and :class:`Follows`, in order.

    Example:
        >>> space = SearchSpace.from_dict({"num_hops": [1, 2], "lr": [0.1]})
        >>> space.size
        2
        >>> list(space.points())
        [{'num_hops': 1, 'lr': 0.1}, {'num_hops': 2, 'lr': 0.1}]
    """

    parts: tuple[Part, ...]

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
        parts: list[Part] = []
        for name, value in values.items():
            keys = tuple(_key(part) for part in str(name).split(","))
            if isinstance(value, Mapping) and len(keys) == 1:
                kind: Any = Follows if "of" in value else Range
                parts.append(kind.from_dict(keys[0], value))
            else:
                parts.append(Choices.from_list(keys, value))
        space = cls(tuple(parts))
        if len(set(space.keys)) != len(space.keys):
            twice = next(k for k in space.keys if space.keys.count(k) > 1)
            raise ConfigError(f"{twice} is twice in the search space.")
        for part in parts:
            if isinstance(part, Follows):
                part.check(space.parts)
            for key, value in part.examples():
                _check_value(key, value)
        return space

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, from which :meth:`from_dict` makes it again."""
        return {", ".join(part.keys): part.to_plain() for part in self.parts}

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that are set by the space."""
        return tuple(key for part in self.parts for key in part.keys)

    @property
    def size(self) -> int | None:
        """Number of points; ``None`` if it is not finite."""
        sizes = [part.size for part in self.parts]
        return None if None in sizes else math.prod(s for s in sizes if s is not None)

    def points(self) -> Iterator[dict[str, Any]]:
        """Yield every point, as a mapping from keys to values, each once.

        Raises:
            ConfigError: If the space is not finite.
        """
        for part in self.parts:
            if part.size is None:
                raise ConfigError(
                    f"{part.keys[0]} has a range without a step, so the space has no "
                    "end; list its choices, or use another sampler."
                )
        free = [part for part in self.parts if not isinstance(part, Follows)]
        for chosen in itertools.product(*(part.all() for part in free)):
            yield self.complete({k: v for point in chosen for k, v in point.items()})

    def complete(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return a point with the keys that follow others, in the order of the space.

        The order of the parts does not matter to what follows what.
        """
        values = dict(point)
        for part in self.parts:
            if isinstance(part, Follows):
                values[part.key] = part.value(values[part.of])
        return {key: values[key] for key in self.keys}

    def suggest(self, trial: Any) -> dict[str, Any]:
        """Return the point that an Optuna trial proposes."""
        found: dict[str, Any] = {}
        for part in self.parts:
            if not isinstance(part, Follows):
                found |= part.suggest(trial)
        return self.complete(found)

    def labels(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of Optuna's parameters at a point."""
        out: dict[str, Any] = {}
        for part in self.parts:
            if not isinstance(part, Follows):
                out |= part.label(point)
        return out

    def config(self, base: RunConfig, point: Mapping[str, Any]) -> RunConfig:
        """Return ``base`` with the values of a point.

        Raises:
            ConfigError: If they cannot work together.
        """
        return replace(base, **point)

    def check(self, base: RunConfig) -> None:
        """Raise if trials of this space cannot be compared by the base's monitor.

        Raises:
            ConfigError: If so.
        """
        if base.monitor == "loss":
            for key in _UNIT_KEYS:
                if key in self.keys:
                    raise ConfigError(
                        f"{key} changes the units of the loss, so losses of different "
                        f"{key} cannot be compared; set monitor to a metric, such as "
                        "mae."
                    )


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
    sections = {item.name: item.metadata["section"] for item in fields(RunConfig)}
    check_choice("keys of a search space", key, sections)
    if sections[key] not in _SEARCHED:
        why = "a search must compare like with like"
        if key == "seed":
            why = "a seed that is chosen by its result is luck"
        raise ConfigError(f"{key} cannot be searched over: {why}.")
    if key in _FIXED:
        raise ConfigError(f"{key} cannot be searched over: {_FIXED[key]}.")
    return key


def _check_value(key: str, value: Any) -> None:
    """Raise if a config cannot hold the value, whatever its other keys are."""
    try:
        RunConfig(**{key: value})
    except ConfigError as error:
        raise ConfigError(f"in the search space: {error}") from None
