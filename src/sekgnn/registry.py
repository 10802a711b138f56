"""Classes by name, yours included: encodings, tests, models, messages, datasets."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from typing import Any, Generic, TypeVar

from sekgnn.checks import nearest
from sekgnn.errors import ConfigError

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])

IMPORTED: list[str] = []
"""Everything imported at the user's request; child processes import it again."""


class Registry(Mapping[str, type[T]], Generic[T]):
    """Subclasses of ``base`` by name; registering a class also sets its ``name``.

    A name from a file is looked up and imports nothing (:meth:`known`). A name typed
    by a user may also be ``package.module:Class`` (:meth:`find`).

    Args:
        kind: What messages call a member, such as ``"encoding"``.
        base: What members extend; ``None`` takes any callable.
        homes: Names that a module of this package registers once it is imported.
        fallback: Another registry, in which names are looked up that are not here.
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
        """Remove a class, for instance after a test of it."""
        del self._classes[name]
        self.homes.pop(name, None)

    def known(self, name: object) -> type[T]:
        """Return the class of a name or import path, or suggest one.

        Imports nothing but what the user has named before (:func:`import_named`).
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
        """Return the class that a user named, by name or ``package.module:Class``.

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
        """Return what is registered under a name, or of the class of an import path."""
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
    """Import a user's module or ``module:Class``, from the working folder too.

    From then on files may name what it registers, and the class.
    """
    module_name, _, attribute = name.partition(":")
    folder = os.getcwd()
    added = folder not in sys.path  # installed commands do not search it by themselves
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
