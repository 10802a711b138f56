"""Parameters: fields of frozen dataclasses, from which flags, files and errors derive.

A field made by :func:`parameter` says once what it means, which values it takes and
what its default is. The command line, YAML files, constructors and estimators read
that; :func:`check_fields` enforces it.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any, ClassVar, TypeVar, get_args

from sekgnn.checks import check_choice, nearest
from sekgnn.errors import ConfigError
from sekgnn.registry import Registry

V = TypeVar("V")

_ALWAYS_SHOWN = (
    "num_hops", "num_shells", "walk_length", "radius", "encodings", "patterns",
)  # fmt: skip
"""Parameters that are printed even at their defaults."""


def parameter(default: Any, help: str, choices: Any = (), **more: Any) -> Any:
    """Return a field of a dataclass that is also a flag, a key or an argument.

    Args:
        default: Its value if left out.
        help: What it does.
        choices: All values that it takes: a tuple or a ``Literal`` type.
        **more: Further metadata. A number must be at least ``low`` or ``above``, and
            at most ``high`` or ``below`` a bound; ``shown`` is the default in words;
            ``several`` lets a flag take several values.
    """
    known = get_args(choices) or choices
    return field(default=default, metadata={"help": help, "choices": known, **more})


def check_fields(config: Any) -> None:
    """Check each field of a frozen dataclass against its type and its metadata.

    Raises:
        ConfigError: If a value cannot work.
    """
    for item in fields(config):
        value = typed_value(item.name, getattr(config, item.name), item.type)
        object.__setattr__(config, item.name, value)
        if value is None:
            continue
        if item.metadata.get("choices"):
            for one in value if "tuple" in str(item.type) else (value,):
                check_choice(item.name, one, item.metadata["choices"])
        _check_range(item.name, value, item.metadata)


def typed_value(name: str, value: Any, annotation: Any) -> Any:
    """Return ``value`` in the annotated type, or raise ConfigError."""
    kinds = str(annotation).split(" | ")
    if value is None and "None" in kinds:
        return None
    want = kinds[0]
    if want[0].isupper() or want.startswith("tuple[tuple"):  # a Literal: its choices
        return value
    if want.startswith("tuple"):
        inner = str if "str" in want else int
        for item in value:
            if not isinstance(item, inner) or isinstance(item, bool):
                raise ConfigError(f"{name} must hold {inner.__name__}, got {item!r}.")
        return value
    if "tuple[bool, ...]" in kinds and isinstance(value, list | tuple):
        if value and all(isinstance(item, bool) for item in value):
            return tuple(value) if len(value) > 1 else value[0]
        raise ConfigError(f"{name} must be true, false or both, got {value!r}.")
    if want == "bool" and isinstance(value, bool):
        return value
    if want == "str" and isinstance(value, str):
        return value
    if want == "int" and isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if want == "float" and not isinstance(value, bool):
        try:  # YAML reads 1e-3, without a dot, as a string
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    words = {"bool": "true or false", "str": "a string", "int": "an integer"}
    raise ConfigError(f"{name} must be {words.get(want, 'a number')}, got {value!r}.")


_LIMITS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "low": ("at least", operator.ge),
    "above": ("above", operator.gt),
    "high": ("at most", operator.le),
    "below": ("below", operator.lt),
}


def _check_range(name: str, value: Any, about: Mapping[str, Any]) -> None:
    """Raise if a number is out of range, NaN or, where unbounded above, infinite."""
    limits = {limit: about[limit] for limit in _LIMITS if limit in about}
    words = [f"{_LIMITS[limit][0]} {bound}" for limit, bound in limits.items()]
    if isinstance(value, float) and not {"high", "below"} & limits.keys():
        words.append("finite")
    holds = all(_LIMITS[limit][1](value, bound) for limit, bound in limits.items())
    if limits and not (holds and value != math.inf):
        raise ConfigError(f"{name} must be {' and '.join(words)}, got {value!r}.")


@dataclass(frozen=True)
class Named:
    """A frozen dataclass whose fields are parameters, and whose class has a name."""

    kind: ClassVar[str]
    """What it is, which is also the key of its name in :meth:`to_dict`."""
    name: ClassVar[str]
    """Its name in files, flags and the registry; by default its import path."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Name the class by its import path until it is registered."""
        super().__init_subclass__(**more)
        if "name" not in vars(cls):
            cls.name = f"{cls.__module__}:{cls.__qualname__}"

    def to_dict(self) -> dict[str, Any]:
        """Return the name and every parameter as plain JSON values."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {self.kind: self.name} | {key: plain(v) for key, v in values.items()}

    def __str__(self) -> str:
        """The name, the sizes, and whatever else differs from its default."""
        words = [
            f"{item.name}={_short(value)}"
            for item in fields(self)
            if (value := getattr(self, item.name)) != item.default
            or (item.name in _ALWAYS_SHOWN and value is not None)
        ]
        return f"{self.name}({', '.join(words)})" if words else self.name


def make(
    registry: Registry[Any], given: Any, base: Any, parameters: Mapping[str, Any]
) -> Any:
    """Return ``given`` if it is an object of ``base``, or make one.

    It is made from a name typed by a user, which the registry may import, or from a
    mapping as :meth:`Named.to_dict` returns it; that may come from a file, so its name
    imports nothing.

    Raises:
        ConfigError: If a name or a parameter cannot work.
    """
    kind, find = registry.kind, registry.find
    if isinstance(given, base):
        if parameters:
            raise ConfigError(
                f"give an object or its parameters, not both; got "
                f"{', '.join(parameters)} beside {given}. To change one, use "
                f"dataclasses.replace({kind}, ...)."
            )
        return given
    if isinstance(given, Mapping):
        parameters = {k: _frozen(v) for k, v in given.items()} | dict(parameters)
        if kind not in parameters:
            raise ConfigError(
                f'{kind} as a mapping needs its name under "{kind}"; got '
                f"{sorted(parameters)}."
            )
        given, find = parameters.pop(kind), registry.known
    if not isinstance(given, str):
        names = getattr(base, "__name__", None) or " or ".join(
            one.__name__ for one in get_args(base)
        )
        raise ConfigError(
            f"{kind} must be a name, a mapping or a {names}, got {given!r}; give "
            "parameters by name, as in walk_length=8."
        )
    cls = find(given)
    try:
        return build(cls, f"{kind} {cls.name!r}", parameters)
    except TypeError as error:  # such as a mapping where a word is looked up
        if find == registry.find:
            raise
        raise ConfigError(f"a parameter of {kind} has a wrong type: {error}.") from None


def build(make: Callable[..., V], name: str, parameters: Mapping[str, Any]) -> V:
    """Return ``make(**parameters)``, or say which parameter is unknown or missing."""
    known = inspect.signature(make).parameters
    for key in parameters:
        if key not in known:
            takes = ", ".join(known) if known else "no parameters"
            raise ConfigError(
                f"{name} has no parameter {key!r}; it takes {takes}."
                f"{nearest(key, known)}"
            )
    missing = [
        key
        for key, parameter in known.items()
        if parameter.default is parameter.empty and key not in parameters
    ]
    if missing:
        raise ConfigError(f"{name} needs {', '.join(missing)}.")
    return make(**parameters)


def plain(value: Any) -> Any:
    """Return a parameter as JSON values, as far as it is made of them."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return value.item() if getattr(value, "ndim", None) == 0 else value  # of numpy


def _frozen(value: Any) -> Any:
    """Return lists as tuples, which a frozen dataclass can hash."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(map(_short, value))
    return str(value)
