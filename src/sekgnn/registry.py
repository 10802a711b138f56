"""Classes by name, open to everybody's own: encodings, models, tests."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from sekgnn.checks import nearest
from sekgnn.errors import ConfigError

T = TypeVar("T")
C = TypeVar("C", bound=type)
V = TypeVar("V")

IMPORTED: list[str] = []
"""Modules that a user asked for; processes that this one starts import them too."""


class Registry(Mapping[str, type[T]], Generic[T]):
    """The known subclasses of ``base`` by their attribute ``name``.

    A file names classes by name only, and reading one never imports code
    (:meth:`known`). A user may also write ``package.module:Class`` (:meth:`find`).

    Args:
        kind: What messages call them, such as ``"encoding"``.
        base: What all of them extend.
        homes: Modules of this package that register further ones, by name; they are
            imported when first asked for.
    """

    def __init__(
        self, kind: str, base: type[T], homes: Mapping[str, str] | None = None
    ) -> None:
        """Know only the names in ``homes``."""
        self.kind, self.base = kind, base
        self._homes = dict(homes or {})
        self._classes: dict[str, type[T]] = {}

    def __getitem__(self, name: str) -> type[T]:
        """The class of that name."""
        if name not in self._classes and name in self._homes:
            import_module(self._homes[name])
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        """The names, our own first."""
        return iter({**self._homes, **self._classes})

    def __len__(self) -> int:
        """How many are known."""
        return len({**self._homes, **self._classes})

    def register(self, cls: C) -> C:
        """Make ``cls`` known by its name; a class decorator.

        Defining the same class again, as notebooks do, replaces it.

        Raises:
            ConfigError: If it does not extend the base, or its name is missing or
                taken.
        """
        name = getattr(cls, "name", None)
        base: type = self.base
        if not isinstance(cls, type) or not issubclass(cls, base):
            raise ConfigError(
                f"{_path(cls)} is not a {self.kind}: it must extend {_path(self.base)}."
            )
        if not isinstance(name, str) or not name or ":" in name:
            raise ConfigError(
                f'{_path(cls)} needs a class attribute name = "...", without a colon, '
                f"got {name!r}."
            )
        if self._homes.get(name) == cls.__module__:  # its module is being imported
            other: type = cls
        else:
            other = self.get(name, cls)
        if _path(other) != _path(cls):
            raise ConfigError(
                f"the {self.kind} name {name!r} of {_path(cls)} is taken by "
                f"{_path(other)}; choose another."
            )
        known: dict[str, Any] = self._classes
        known[name] = cls
        return cls

    def forget(self, name: str) -> None:
        """Take a class out again, as a test of your own class may want."""
        del self._classes[name]

    def known(self, name: object) -> type[T]:
        """Return the registered class of that name; imports nothing.

        Raises:
            ConfigError: If there is none; suggests the nearest.
        """
        if isinstance(name, str) and name in self:
            return self[name]
        raise ConfigError(
            f"{self.kind} must be one of {list(self)}, got {name!r}."
            f"{nearest(name, self)} Import the module that registers your own "
            f"{self.kind} first; on the command line: sekgnn --import MODULE ..."
        )

    def find(self, name: str) -> type[T]:
        """Return the class that a user named, by name or ``package.module:Class``.

        Raises:
            ConfigError: If there is none, or it is not of this kind.
        """
        if ":" not in name:
            return self.known(name)
        module, _, qualname = name.partition(":")
        found = getattr(import_own(module), qualname, None)
        if found is None:
            raise ConfigError(
                f"{self.kind} {name!r}: {module} has no {qualname!r}."
                f"{nearest(qualname, dir(sys.modules[module]))}"
            )
        cls: type[T] = self.register(found)
        return cls


def import_own(module: str) -> Any:
    """Import a user's module, installed or in the working directory.

    Raises:
        ConfigError: If it cannot be imported.
    """
    here = os.getcwd()
    added = here not in sys.path  # an installed command does not search there by itself
    if added:
        sys.path.append(here)
    try:
        found = import_module(module)
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"cannot import {module!r} ({error}); install it, or start where it lies."
        ) from error
    finally:
        if added:
            sys.path.remove(here)
    if module not in IMPORTED:
        IMPORTED.append(module)
    return found


def build(make: Callable[..., V], name: str, parameters: Mapping[str, Any]) -> V:
    """Return ``make(**parameters)``.

    Raises:
        ConfigError: If it has no such parameter, or needs one more.
    """
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


def _path(cls: Any) -> str:
    return f"{getattr(cls, '__module__', '')}.{getattr(cls, '__qualname__', cls)}"
