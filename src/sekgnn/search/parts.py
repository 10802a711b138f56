"""The three ways in which a search space sets keys: choices, a range, a table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError
from sekgnn.search.key_values import kind, number, plain, typed, typed_if_known

_SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Choices:
    """Values to choose from, for one key or for several at once.

    Attributes:
        keys: The keys.
        values: One tuple per choice, with a value for each key.
    """

    keys: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    @classmethod
    def from_list(cls, keys: tuple[str, ...], choices: Any) -> Choices:
        """Return choices from a plain list; for several keys, a list of lists.

        Raises:
            ConfigError: If it is no such list, or a choice is there twice.
        """
        name = ", ".join(keys)
        if not isinstance(choices, list | tuple) or not choices:
            raise ConfigError(
                f"{name} must have a list of choices, or low and high, got {choices!r}."
            )
        if len(keys) == 1:
            rows = [(choice,) for choice in choices]
        else:
            for choice in choices:
                if not isinstance(choice, list | tuple) or len(choice) != len(keys):
                    raise ConfigError(
                        f"each choice of {name} must be a list of {len(keys)} values, "
                        f"got {choice!r}."
                    )
            rows = [tuple(choice) for choice in choices]
        own = cls(
            keys,
            tuple(
                tuple(typed(key, value) for key, value in zip(keys, row, strict=True))
                for row in rows
            ),
        )
        texts = own._labels()
        for text in texts:
            if texts.count(text) > 1:
                raise ConfigError(f"{name} has the choice {text!r} twice.")
        return own

    @property
    def name(self) -> str:
        """The name of Optuna's parameter."""
        return ", ".join(self.keys)

    @property
    def size(self) -> int | None:
        """Number of choices."""
        return len(self.values)

    def all(self) -> list[dict[str, Any]]:
        """Return every choice."""
        return [dict(zip(self.keys, row, strict=True)) for row in self.values]

    def examples(self) -> Iterator[tuple[str, Any]]:
        """Yield keys and values to check."""
        for row in self.values:
            yield from zip(self.keys, row, strict=True)

    def suggest(self, trial: Any) -> dict[str, Any]:
        """Return the choice that an Optuna trial proposes."""
        labels = self._labels()
        chosen = trial.suggest_categorical(self.name, labels)
        return self.all()[labels.index(chosen)]

    def label(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of Optuna's parameter at a point."""
        row = tuple(point[key] for key in self.keys)
        return {self.name: self._labels()[self.values.index(row)]}

    def to_plain(self) -> list[Any]:
        """Return the list of choices."""
        if len(self.keys) == 1:
            return [plain(row[0]) for row in self.values]
        return [[plain(value) for value in row] for row in self.values]

    def _labels(self) -> list[Any]:
        """Return what Optuna stores: the value itself, or its text as JSON."""
        values = self.to_plain()
        return [v if isinstance(v, _SCALARS) else json.dumps(v) for v in values]


@dataclass(frozen=True)
class Range:
    """Numbers between two bounds, both included.

    Attributes:
        key: The key.
        low: Least value.
        high: Largest value.
        log: Whether orders of magnitude are equally likely, not values.
        step: Distance of the values; ``None`` for any value (1 for whole numbers).
    """

    key: str
    low: float
    high: float
    log: bool = False
    step: float | None = None

    @classmethod
    def from_dict(cls, key: str, values: Mapping[str, Any]) -> Range:
        """Return a range from plain values.

        Raises:
            ConfigError: If a bound is missing or wrong.
        """
        for name in values:
            check_choice(f"{key} in a search space", name, ("low", "high", "log",
                         "step", "of", "values"))  # fmt: skip
        if "low" not in values or "high" not in values:
            raise ConfigError(
                f"{key} needs low and high, or a list of choices, got {dict(values)!r}."
            )
        numeric = kind(key)
        if numeric not in ("int", "float"):
            raise ConfigError(f"{key} is no number; list its choices.")
        numbers: list[Any] = []
        for name in ("low", "high", "step"):
            value = values.get(name)
            if value is not None:
                value = number(f"{name} of {key}", value, numeric)
            numbers.append(value)
        low, high, step = numbers
        log = values.get("log", False)
        if not isinstance(log, bool):
            raise ConfigError(f"log of {key} must be true or false, got {log!r}.")
        if low >= high:
            raise ConfigError(f"{key}: low ({low:g}) must be below high ({high:g}).")
        if log and (low <= 0 or step is not None):
            raise ConfigError(f"{key}: log needs low above 0, and no step.")
        if step is not None and step <= 0:
            raise ConfigError(f"{key}: step must be above 0, got {step:g}.")
        return cls(key, low, high, log, step)

    @property
    def keys(self) -> tuple[str, ...]:
        """The key."""
        return (self.key,)

    @property
    def size(self) -> int | None:
        """Number of values; ``None`` if any number between the bounds will do."""
        if isinstance(self.low, int):
            return int((self.high - self.low) // (self.step or 1)) + 1
        if self.step is None:
            return None
        return int((self.high - self.low) / self.step * (1 + 1e-12)) + 1

    def all(self) -> list[dict[str, Any]]:
        """Return every value."""
        step = self.step or 1
        return [{self.key: self.low + i * step} for i in range(self.size or 0)]

    def examples(self) -> Iterator[tuple[str, Any]]:
        """Yield keys and values to check."""
        yield self.key, self.low
        yield self.key, self.high

    def suggest(self, trial: Any) -> dict[str, Any]:
        """Return the value that an Optuna trial proposes."""
        if isinstance(self.low, int):
            found = trial.suggest_int(
                self.key, self.low, self.high, log=self.log, step=self.step or 1
            )
        else:
            found = trial.suggest_float(
                self.key, self.low, self.high, log=self.log, step=self.step
            )
        return {self.key: found}

    def label(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of Optuna's parameter at a point."""
        return {self.key: point[self.key]}

    def to_plain(self) -> dict[str, Any]:
        """Return the bounds."""
        out: dict[str, Any] = {"low": self.low, "high": self.high}
        if self.log:
            out["log"] = True
        if self.step is not None:
            out["step"] = self.step
        return out


@dataclass(frozen=True)
class Follows:
    """A key whose value is looked up by the value of another one.

    Attributes:
        key: The key.
        of: The other key.
        table: Pairs of a value of ``of`` and the value of ``key``.
    """

    key: str
    of: str
    table: tuple[tuple[Any, Any], ...]

    @classmethod
    def from_dict(cls, key: str, values: Mapping[str, Any]) -> Follows:
        """Return the table from ``{"of": other, "values": {a: x, ...}}``.

        Raises:
            ConfigError: If it is no such table.
        """
        table = values.get("values")
        if set(values) != {"of", "values"} or not isinstance(table, Mapping | list):
            raise ConfigError(
                f"{key} must be written as {{of: other key, values: {{1: a, 2: b}}}}, "
                f"got {dict(values)!r}."
            )
        of = str(values["of"]).strip().replace("-", "_")
        # JSON has no keys but texts, so a record lists pairs
        pairs = table.items() if isinstance(table, Mapping) else table
        return cls(key, of, tuple((typed_if_known(of, a), typed(key, b))
                                  for a, b in pairs))  # fmt: skip

    def check(self, parts: Sequence[Part]) -> None:
        """Raise if the other key has no choices, or a choice without a value here.

        Raises:
            ConfigError: If so.
        """
        known = {k: part for part in parts for k in part.keys}
        check_choice(
            f"'of' of {self.key}", self.of, [k for k in known if k != self.key]
        )
        other = known[self.of]
        if isinstance(other, Follows) or other.size is None:
            raise ConfigError(f"{self.key} can only follow a key with choices.")
        have = [a for a, _ in self.table]
        for point in other.all():
            if point[self.of] not in have:
                raise ConfigError(
                    f"{self.key} has no value for {self.of} = {point[self.of]!r}."
                )

    @property
    def keys(self) -> tuple[str, ...]:
        """The key."""
        return (self.key,)

    @property
    def size(self) -> int | None:
        """1: it adds no points."""
        return 1

    def value(self, other: Any) -> Any:
        """Return the value that belongs to a value of the other key."""
        return next(b for a, b in self.table if a == other)

    def examples(self) -> Iterator[tuple[str, Any]]:
        """Yield keys and values to check."""
        for _, value in self.table:
            yield self.key, value

    def to_plain(self) -> dict[str, Any]:
        """Return the table, as pairs."""
        pairs = [[plain(a), plain(b)] for a, b in self.table]
        return {"of": self.of, "values": pairs}


Part = Choices | Range | Follows
