"""Classes by name, open to everybody's own: models, messages, encodings, tests."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, ClassVar, Generic, TypeVar, get_args

from sekgnn.checks import nearest
from sekgnn.errors import ConfigError

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])
V = TypeVar("V")

_ALWAYS_SHOWN = (
    "num_hops", "num_shells", "walk_length", "radius", "encodings", "patterns",
)  # fmt: skip
"""Parameters that are named to people even at their defaults."""

IMPORTED: list[str] = []
"""What a user asked to import; processes that this one starts import it too."""
_REGISTRIES = (  # the first that takes a class; a module may be a model or a message
    ("sekgnn.encoding.substructure:ENCODINGS",),
    ("sekgnn.wl.by_name:EXACT_ENCODINGS",),
    ("sekgnn.wl.by_name:TESTS",),
    ("sekgnn.models.registry:MODELS", "sekgnn.nn.messages:MESSAGES"),
)


class Registry(Mapping[str, type[T]], Generic[T]):
    """The known subclasses of ``base`` by name, which is also their ``name``.

    Names that stand in a file are looked up, and nothing is imported (:meth:`known`).
    What a user types may also be ``package.module:Class`` (:meth:`find`). ``homes`` are
    modules of this package that register further ones, imported when first asked for;
    ``kind`` is what messages call them, such as ``"encoding"``.
    """

    def __init__(
        self, kind: str, base: type[T], homes: Mapping[str, str] | None = None
    ) -> None:
        """Know only the names in ``homes``."""
        self.kind, self.base = kind, base
        self._homes = dict(homes or {})
        self._classes: dict[str, type[T]] = {}

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._classes and name in self.homes():
            import_module(self.homes()[name])
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        """The names, our own first."""
        return iter({**self.homes(), **self._classes})

    def __len__(self) -> int:
        return len({**self.homes(), **self._classes})

    def homes(self) -> Mapping[str, str]:
        """Return the modules of this package that register a name when imported."""
        return self._homes

    def register(self, name: str) -> Callable[[C], C]:
        """Return a decorator that makes a class known by ``name``.

        Defining the same class again, as notebooks do, replaces it.

        Raises:
            ConfigError: If it does not extend the base, or its name is not one or is
                taken.
        """
        if not isinstance(name, str) or not name or ":" in name:
            raise ConfigError(
                f"your own {self.kind} is registered by a name without a colon, as in "
                f'@register_{self.kind}("mine"), got {name!r}.'
            )

        def decorate(own: C) -> C:
            self.add(name, own)
            return own

        return decorate

    def takes(self, own: object) -> bool:
        """Return whether something can be registered here."""
        return isinstance(own, type) and issubclass(own, self.base)

    def add(self, name: str, own: Any) -> type[T]:
        """Make ``own`` known by ``name``, and return the class; as :meth:`register`."""
        if not self.takes(own):
            raise ConfigError(
                f"{_path(own)} is not a {self.kind}: it must extend {_path(self.base)}."
            )
        if self.homes().get(name) == own.__module__:  # its module is being imported
            other: type = own
        else:
            other = self.get(name, own)
        if _path(other) != _path(own):
            raise ConfigError(
                f"the {self.kind} name {name!r} of {_path(own)} is taken by "
                f"{_path(other)}; choose another."
            )
        own.name = name
        self._classes[name] = own
        return self._classes[name]

    def forget(self, name: str) -> None:
        """Take a class out again, as a test of your own class may want."""
        del self._classes[name]

    def lookup(self, name: object) -> type[T] | None:
        """Return the registered class of a name or import path; imports nothing."""
        if not isinstance(name, str):
            return None
        if name in self:
            return self[name]
        module, _, attribute = name.partition(":")
        own = getattr(sys.modules.get(module), "__dict__", {}).get(attribute)
        return None if own is None else self._registered(own)

    def known(self, name: object) -> type[T]:
        """Return the class of a name or import path, or suggest another; no imports."""
        found = self.lookup(name)
        if found is not None:
            return found
        if isinstance(name, str) and ":" in name:
            raise ConfigError(
                f"{self.kind} {name!r} is not known here, and names in files never "
                f"import code. If you trust it, import it first: sekgnn --import "
                f"{name} ..., or in Python import {name.partition(':')[0]}, where "
                f"@register_{self.kind} makes it known."
            )
        raise ConfigError(
            f"{self.kind} must be one of {list(self)}, got {name!r}."
            f"{nearest(name, self)} Import the module that registers your own "
            f"{self.kind} first; on the command line: sekgnn --import MODULE ..."
        )

    def find(self, name: str) -> type[T]:
        """Return the class that a user named, by name or ``package.module:Class``.

        A class that is not registered becomes so, by its import path.

        Raises:
            ConfigError: If there is none, or it is not of this kind.
        """
        if ":" not in name:
            return self.known(name)
        own = import_own(name)
        return self._registered(own) or self.add(name, own)

    def _registered(self, own: object) -> type[T] | None:
        """Return the class that was made of ``own`` when it was registered."""
        for cls in self._classes.values():
            if own is cls or own is getattr(cls, "made_of", cls):
                return cls
        return None


def import_own(name: str) -> Any:
    """Import a user's module, or ``module:Class``, also from the working folder."""
    module, _, attribute = name.partition(":")
    here = os.getcwd()
    added = here not in sys.path  # an installed command does not search there by itself
    if added:
        sys.path.append(here)
    try:
        found = import_module(module)
    except ConfigError:  # of the module itself
        raise
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"cannot import {module!r} ({error}); install it, or start where it lies."
        ) from error
    finally:
        if added:
            sys.path.remove(here)
    if attribute and not hasattr(found, attribute):
        raise ConfigError(
            f"{name!r}: {module} has no {attribute!r}.{nearest(attribute, dir(found))}"
        )
    if name not in IMPORTED:
        IMPORTED.append(name)
    return getattr(found, attribute) if attribute else found


def import_named(name: str) -> None:
    """Import a user's module; of ``module:Class``, register the class as what it is."""
    own = import_own(name)
    if ":" not in name:
        return
    for places in _REGISTRIES:
        parts = [place.split(":") for place in places]
        group = [getattr(import_module(home), part) for home, part in parts]
        fitting = [registry for registry in group if registry.takes(own)]
        if fitting and not any(registry.lookup(name) for registry in fitting):
            for registry in fitting:
                registry.find(name)
        if fitting:
            return
    raise ConfigError(f"{name!r} is no model, message, encoding or test.")


def parameter(
    default: Any, help: str, choices: tuple[str, ...] = (), **more: Any
) -> Any:
    """Return a field of a :class:`Named` class that is also a flag of commands.

    ``more`` may hold ``shown``, instead of the default, and ``several``, whether the
    flag takes several values, for an encoding with each.
    """
    return field(default=default, metadata={"help": help, "choices": choices, **more})


@dataclass(frozen=True)
class Named:
    """A frozen dataclass whose fields are parameters, and whose class has a name."""

    kind: ClassVar[str]
    """What it is, and the key of its name in :meth:`to_dict`."""
    name: ClassVar[str]
    """How files, the command line and the registry call it, or else its import path."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Name it; what registers it may give it a shorter name."""
        super().__init_subclass__(**more)
        if "name" not in vars(cls):
            cls.name = f"{cls.__module__}:{cls.__qualname__}"

    def to_dict(self) -> dict[str, Any]:
        """Return the name and every parameter as plain JSON values."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {self.kind: self.name} | {key: plain(v) for key, v in values.items()}

    def __str__(self) -> str:
        """The name, and the parameters that are sizes or not at their defaults."""
        words = [
            f"{item.name}={_short(value)}"
            for item in fields(self)
            if (value := getattr(self, item.name)) != item.default
            or (item.name in _ALWAYS_SHOWN and value is not None)
        ]
        return f"{self.name}({', '.join(words)})" if words else self.name


def plain(value: Any) -> Any:
    """Return a parameter as plain JSON values, as far as it is made of them."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def frozen(value: Any) -> Any:
    """Return lists as tuples, which a frozen dataclass can hash."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value


def make(
    kind: str,
    given: Any,
    base: Any,
    find: Callable[[str], Any],
    known: Callable[[object], Any],
    parameters: Mapping[str, Any],
) -> Any:
    """Return what is ``given``, or make it from a name and parameters.

    Given is an object of ``base``, a mapping as :meth:`Named.to_dict` returns it, whose
    name is looked up by ``known``, for it may come from a file, or a name that a user
    typed, looked up by ``find``.

    Raises:
        ConfigError: If a name or a parameter cannot work.
    """
    if isinstance(given, base):
        if parameters:
            raise ConfigError(
                f"give an object or its parameters, not both; got "
                f"{', '.join(parameters)} beside {given}. To change one, use "
                f"dataclasses.replace({kind}, ...)."
            )
        return given
    if isinstance(given, Mapping):
        parameters = {k: frozen(v) for k, v in given.items()} | dict(parameters)
        if kind not in parameters:
            raise ConfigError(
                f'{kind} as a mapping needs its name under "{kind}"; got '
                f"{sorted(parameters)}."
            )
        given, find = parameters.pop(kind), known
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
        if find is not known:
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


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return "+".join(map(_short, value))
    return str(value)


def _path(cls: Any) -> str:
    return f"{getattr(cls, '__module__', '')}.{getattr(cls, '__qualname__', cls)}"
