"""Flags of a Weisfeiler-Lehman test, made from the tests and encodings themselves."""

from __future__ import annotations

import inspect
from dataclasses import Field, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from sekgnn.cli.options import default_text, with_flags

if TYPE_CHECKING:
    from sekgnn.wl import WLTest

_SHOWN = {
    "encodings": "walks",
    "num_shells": "as --num-hops",
    "pairs": "all in ego-nets, same on graphs",
}


class Flag(NamedTuple):
    """A flag for the parameters of one name, of any test or encoding."""

    name: str
    type: str
    metadata: dict[str, Any]

    @property
    def key(self) -> str:
        """The flag as a key of a config."""
        return str(self.metadata.get("flag", self.name)).replace("-", "_")


def flags_of_tests() -> list[Flag]:
    """Return ``--test`` and a flag for every parameter of every test and encoding."""
    from sekgnn.encoding import ENCODINGS
    from sekgnn.wl import EXACT_ENCODINGS, TESTS

    known: dict[str, Any] = {**ENCODINGS, **EXACT_ENCODINGS}
    owners: dict[str, dict[str, Field[Any]]] = {}
    for cls in (*TESTS.values(), *known.values()):
        for item in fields(cls):
            owners.setdefault(item.name, {})[cls.name] = item
    help = f"test to run: {', '.join(TESTS)}, or package.module:Class"
    out = [Flag("test", "str", {"help": help, "shown": "sek"})]
    for name, found in owners.items():
        first = next(iter(found.values()))
        help = first.metadata.get("help", name)
        if name == "encodings":
            help = f"{help}: {', '.join(known)}, or package.module:Class"
        defaults = _defaults(name, found)
        metadata = {
            "help": f"{help}; for {', '.join(found)}",
            "defaults": defaults,
            "shown": said_defaults(defaults),
            "several": any(item.metadata.get("several") for item in found.values()),
            "flag": _written(name)[2:],
        }
        out.append(Flag(name, str(first.type), metadata))
    return out


with_test_options = with_flags(flags_of_tests, lambda item: "Which test")
"""Give a command, whose last parameter is ``**options``, flags for :func:`build_test`.

They are made when the command is used: a user's own tests are known by then."""


def said_defaults(defaults: dict[str, list[str]]) -> str:
    """Return defaults in words, with their owners where they differ.

    Example:
        >>> said_defaults({"16": ["walks", "networks"], "8": ["walk_counts"]})
        '16 for walks, networks; 8 for walk_counts'
    """
    if len(defaults) == 1:
        return next(iter(defaults))
    return "; ".join(f"{text} for {', '.join(who)}" for text, who in defaults.items())


def _defaults(name: str, found: dict[str, Field[Any]]) -> dict[str, list[str]]:
    """Return the defaults of a flag in words, each with its owners."""
    from sekgnn.wl.encodings.walks import walk_family

    family = inspect.signature(walk_family).parameters
    shown: dict[str, list[str]] = {}
    for owner, item in found.items():
        if name in _SHOWN:
            text = _SHOWN[name]
        elif owner == "walks" and name in family:
            text = " ".join(map(str, family[name].default))
        else:
            text = default_text(item)
        shown.setdefault(text, []).append(owner)
    return shown


def build_test(test: str, options: dict[str, Any]) -> WLTest:
    """Return the test that flags describe; flags that mean nothing to it are errors."""
    from sekgnn.checks import check_choice
    from sekgnn.errors import ConfigError
    from sekgnn.registry import build
    from sekgnn.wl import TESTS
    from sekgnn.wl.by_name import find_encoding

    if ":" not in test:
        check_choice("--test", test, TESTS)
    cls = TESTS.find(test)
    own = {item.name: item for item in fields(cls)}
    names = list(dict.fromkeys(options.get("encodings", ["walks"])))
    chosen = [find_encoding(name) for name in names] if "encodings" in own else []
    meant = set(own).union(*(_meant(f, options) for f in chosen))
    for name in options:
        if name not in meant:
            said = [f"--test {test}"]
            for other in ("encodings", "scope"):
                if other in meant and other in options:
                    said.append(f"{_written(other)} {' '.join(options[other])}")
            raise ConfigError(
                f"{_written(name)} means nothing to {' '.join(said)}; leave it out."
            )
    parameters: dict[str, Any] = {}
    for name in options.keys() & own.keys() - {"encodings"}:
        value = options[name]
        if isinstance(value, list | tuple) and "tuple" not in str(own[name].type):
            if len(value) > 1:
                raise ConfigError(f"the test {test} takes one {_written(name)}.")
            value = value[0]
        parameters[name] = value
    made: Any = build(cls, test, parameters)
    if not chosen or not options:
        return made
    if "num_hops" in own:
        options = {"num_shells": made.num_hops, **options}
    families = [_family(encoding, options) for encoding in chosen]
    return replace(made, encodings=sum(families, ()))


def _written(name: str) -> str:
    return f"--{name.replace('_', '-').replace('encodings', 'encoding')}"


def _meant(encoding: Any, options: dict[str, Any]) -> set[str]:
    """Return the options that mean something to an encoding."""
    names = {item.name for item in fields(encoding)}
    scopes = set(options.get("scope", ["graph", "internal"]))
    if encoding.name == "walks" and scopes == {"graph"}:
        names.remove("radius")
    if encoding.name == "walks" and "graph" not in scopes:
        names.remove("num_shells")
    return names


def _family(encoding: Any, options: dict[str, Any]) -> tuple[Any, ...]:
    """Return an encoding for every combination of values of an option."""
    from sekgnn.registry import build
    from sekgnn.wl.encodings.walks import Walks, walk_family

    own = {item.name: str(item.type) for item in fields(encoding)}
    given: dict[str, Any] = {
        name: tuple(dict.fromkeys(value)) if isinstance(value, list | tuple) else value
        for name, value in options.items()
        if name in own
    }
    if encoding is Walks:
        return walk_family(**given)
    lists = {
        name: value
        for name, value in given.items()
        if isinstance(value, tuple) and "tuple" not in own[name]
    }
    return tuple(
        build(encoding, encoding.name, given | dict(zip(lists, values, strict=True)))
        for values in product(*lists.values())
    )
