"""Parameters, from which flags, files and errors derive, and classes by name.

A field made by :func:`parameter` states its meaning, values and default once. The
command line, YAML files, constructors and estimators read it; :func:`check_fields`
enforces it. Classes with parameters, yours included, are registered by name in a
:class:`Registry`; :func:`make` makes an object of a name and parameters.
"""

from __future__ import annotations

import inspect
import math
import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar, Generic, TypeVar, get_args

from sekgnn.checks import check_choice, nearest
from sekgnn.errors import ConfigError

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])

IMPORTED: list[str] = []
"""Modules and classes imported at the user's request, also for child processes."""

_ALWAYS_SHOWN = (
    "num_hops", "num_shells", "walk_length", "radius", "encodings", "patterns",
)  # fmt: skip
"""Parameters that are printed even at their defaults."""


def parameter(default: Any, help: str, choices: Any = (), **more: Any) -> Any:
    """Return a field of a dataclass that is also a flag, a key or an argument.

    Args:
        default: Its default.
        help: Its meaning.
        choices: All values that it takes: a tuple or a ``Literal`` type.
        **more: Further metadata. A number must be at least ``low`` or ``above``, and
            at most ``high`` or ``below`` a bound; ``shown`` is the default in words;
            ``several`` lets a flag take several values.
    """
    values = get_args(choices) or choices
    return field(default=default, metadata={"help": help, "choices": values, **more})


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
            for element in value if "tuple" in str(item.type) else (value,):
                check_choice(item.name, element, item.metadata["choices"])
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
    if f"tuple[{want}, ...]" in kinds and isinstance(value, list | tuple):
        kind = str if want == "str" else bool
        if value and all(isinstance(item, kind) for item in value):
            return tuple(value) if len(value) > 1 else value[0]
        allowed = "true, false or both" if want == "bool" else "strings"
        raise ConfigError(f"{name} must be {allowed}, got {value!r}.")
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
    """The kind of object, also the key of its name in :meth:`to_dict`."""
    name: ClassVar[str]
    """Its name in files, flags and the registry; by default its import path."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Name the class by its import path until it is registered."""
        super().__init_subclass__(**more)
        if "name" not in vars(cls):
            cls.name = f"{cls.__module__}:{cls.__qualname__}"

    def to_dict(self) -> dict[str, Any]:
        """Return the name and every parameter as plain JSON values."""
        parameters = {item.name: getattr(self, item.name) for item in fields(self)}
        return {self.kind: self.name} | {key: plain(v) for key, v in parameters.items()}

    def __str__(self) -> str:
        """The name, the sizes, and the other values that differ from their defaults."""
        words = [
            f"{item.name}={_short(value)}"
            for item in fields(self)
            if (value := getattr(self, item.name)) != item.default
            or (item.name in _ALWAYS_SHOWN and value is not None)
        ]
        return f"{self.name}({', '.join(words)})" if words else self.name


class Registry(Mapping[str, type[T]], Generic[T]):
    """Subclasses of ``base`` by name; registering a class also sets its ``name``.

    A name from a file is looked up and imports nothing (:meth:`known`). A name typed
    by a user may also be ``package.module:Class`` (:meth:`find`).

    Args:
        kind: Name of a member in messages, such as ``"encoding"``.
        base: Base class of members; ``None`` takes any callable.
        homes: Modules of this package by the names they register on import.
        fallback: Another registry for names that are not in this one.
    """

    def __init__(
        self,
        kind: str,
        base: type[T] | None,
        homes: dict[str, str] | None = None,
        fallback: Registry[Any] | None = None,
    ) -> None:
        self.kind, self.base = kind, base
        self.homes = {} if homes is None else homes
        self.fallback = fallback
        self._classes: dict[str, type[T]] = {}

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._classes and name in self.homes:
            import_module(self.homes[name])
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.homes, **self._classes})

    def __len__(self) -> int:
        return len({**self.homes, **self._classes})

    def register(self, name: str) -> Callable[[C], C]:
        """Return a decorator that registers a class under ``name``.

        Defining the same class again, as notebooks do, replaces it.

        Raises:
            ConfigError: If the class does not extend the base, or the name is invalid
                or taken.
        """
        if not isinstance(name, str) or not name or ":" in name:
            raise ConfigError(
                f"your own {self.kind} is registered by a name without a colon, as in "
                f'@register_{self.kind}("mine"), got {name!r}.'
            )

        def decorate(cls: C) -> C:
            self.add(name, cls)
            return cls

        return decorate

    def takes(self, cls: object) -> bool:
        """Return whether a class can be registered here."""
        if self.base is None:
            return callable(cls)
        return isinstance(cls, type) and issubclass(cls, self.base)

    def add(self, name: str, cls: Any) -> type[T]:
        """Register a class under ``name``, and return it; see :meth:`register`."""
        if not self.takes(cls):
            needs = f"extend {_path(self.base)}" if self.base else "be callable"
            raise ConfigError(f"{_path(cls)} is not a {self.kind}: it must {needs}.")
        imports_now = self.homes.get(name) == cls.__module__  # so do not import it
        holder = cls if imports_now else self.get(name, cls)
        if _path(holder) != _path(cls):
            raise ConfigError(
                f"the {self.kind} name {name!r} of {_path(cls)} is taken by "
                f"{_path(holder)}; choose another."
            )
        cls.name = name
        self._classes[name] = cls
        return self._classes[name]

    def forget(self, name: str) -> None:
        """Remove a class, for instance after a test."""
        del self._classes[name]
        self.homes.pop(name, None)

    def known(self, name: object) -> type[T]:
        """Return the class of a name or import path, or suggest one.

        Imports only names that the user has imported before (:func:`import_named`).
        """
        registries = [self] if self.fallback is None else [self, self.fallback]
        for registry in registries:
            if (cls := registry._lookup(name)) is not None:
                return cls
        if isinstance(name, str) and ":" in name:
            if name in IMPORTED:
                return self.find(name)
            raise ConfigError(
                f"{self.kind} {name!r} is not known here, and names in files never "
                f"import code. If you trust it, import it first: sekgnn --import "
                f"{name} ..., or in Python import {name.partition(':')[0]}, where "
                f"@register_{self.kind} makes it known."
            )
        names = list(dict.fromkeys(chain(*registries)))
        raise ConfigError(
            f"{self.kind} must be one of {names}, got {name!r}."
            f"{nearest(name, names)} Import the module that registers your own "
            f"{self.kind} first; on the command line: sekgnn --import MODULE ..."
        )

    def find(self, name: str) -> type[T]:
        """Return the class of a user's name or ``package.module:Class``.

        A class that is not registered yet is registered under its import path.

        Raises:
            ConfigError: If there is none, or it is not of this kind.
        """
        if ":" not in name:
            return self.known(name)
        cls = import_named(name)
        if self.fallback is not None and not self.takes(cls):
            return self.fallback.find(name)
        return self._registered(cls) or self.add(name, cls)

    def _lookup(self, name: object) -> type[T] | None:
        """Return the class registered under a name, or that of an import path."""
        if not isinstance(name, str):
            return None
        if name in self:
            return self[name]
        module, _, attribute = name.partition(":")
        cls = getattr(sys.modules.get(module), "__dict__", {}).get(attribute)
        return self._registered(cls)

    def _registered(self, cls: object) -> type[T] | None:
        """Return a class or function if it is registered."""
        members = self._classes.values()
        return next((member for member in members if member is cls), None)


def import_named(name: str) -> Any:
    """Import a user's module or ``module:Class``, also from the working folder.

    From then on files may name the classes that it registers.
    """
    module_name, _, attribute = name.partition(":")
    folder = os.getcwd()
    added = folder not in sys.path  # installed commands do not search it by default
    if added:
        sys.path.append(folder)
    try:
        module = import_module(module_name)
    except ConfigError:  # raised by the module itself
        raise
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"cannot import {module_name!r} ({error}); install it, or run "
            "from its folder."
        ) from error
    finally:
        if added:
            sys.path.remove(folder)
    if attribute and not hasattr(module, attribute):
        raise ConfigError(
            f"{name!r}: {module_name} has no {attribute!r}."
            f"{nearest(attribute, dir(module))}"
        )
    if name not in IMPORTED:
        IMPORTED.append(name)
    return getattr(module, attribute) if attribute else module


def _path(cls: Any) -> str:
    return f"{getattr(cls, '__module__', '')}.{getattr(cls, '__qualname__', cls)}"


def make(
    registry: Registry[Any], spec: Any, base: Any, parameters: Mapping[str, Any]
) -> Any:
    """Return ``spec`` if it is an object of ``base``, or make one of it.

    It is made of a name typed by a user, which the registry may import, or of a mapping
    of :meth:`Named.to_dict`; that may come from a file, so its name imports nothing.

    Raises:
        ConfigError: If a name or a parameter cannot work.
    """
    kind, find = registry.kind, registry.find
    if isinstance(spec, base):
        if parameters:
            raise ConfigError(
                f"give an object or its parameters, not both; got "
                f"{', '.join(parameters)} beside {spec}. To change one, use "
                f"dataclasses.replace({kind}, ...)."
            )
        return spec
    if isinstance(spec, Mapping):
        parameters = {k: _frozen(v) for k, v in spec.items()} | dict(parameters)
        if kind not in parameters:
            raise ConfigError(
                f'{kind} as a mapping needs its name under "{kind}"; got '
                f"{sorted(parameters)}."
            )
        spec, find = parameters.pop(kind), registry.known
    if not isinstance(spec, str):
        names = getattr(base, "__name__", None) or " or ".join(
            one.__name__ for one in get_args(base)
        )
        raise ConfigError(
            f"{kind} must be a name, a mapping or a {names}, got {spec!r}; give "
            "parameters by name, as in walk_length=8."
        )
    cls = find(spec)
    try:
        return build(cls, f"{kind} {cls.name!r}", parameters)
    except TypeError as error:  # such as a mapping where a word is looked up
        if find == registry.find:
            raise
        raise ConfigError(f"a parameter of {kind} has a wrong type: {error}.") from None


def build(make: Callable[..., T], name: str, parameters: Mapping[str, Any]) -> T:
    """Return ``make(**parameters)``; an error names an unknown or missing parameter."""
    accepted = inspect.signature(make).parameters
    for key in parameters:
        if key not in accepted:
            takes = ", ".join(accepted) if accepted else "no parameters"
            raise ConfigError(
                f"{name} has no parameter {key!r}; it takes {takes}."
                f"{nearest(key, accepted)}"
            )
    missing = [
        key
        for key, parameter in accepted.items()
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
