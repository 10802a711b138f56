"""Flags of a Weisfeiler-Lehman test, made from the tests and encodings themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, fields, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

if TYPE_CHECKING:
    from sekgnn.wl import WLTest

F = TypeVar("F", bound=Callable[..., None])
_PANEL = "Which test"
_NAMES = {"encodings": "--encoding"}


def with_test_options(command: F) -> F:
    """Give a command with the parameters ``test`` and ``options`` flags for them.

    ``test`` is the name of a test, ``options`` holds the flags that were given, for
    :func:`build_test`. The flags are made when the command is first used: the tests
    need Numba.
    """
    own = [
        parameter
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if parameter.name not in ("test", "options")
    ]
    names = {parameter.name for parameter in own}

    def wrapped(**values: Any) -> None:
        kept = {name: values.pop(name) for name in names}
        test = values.pop("test")
        options = {k: v for k, v in values.items() if v not in (None, (), [])}
        command(**kept, test=test, options=options)

    def complete() -> Callable[..., None]:
        return _signed(lambda **values: wrapped(**values), [*own, *flags_of_tests()])

    def _signed(
        function: Callable[..., None], parameters: list[inspect.Parameter]
    ) -> Callable[..., None]:
        function.__name__, function.__doc__ = command.__name__, command.__doc__
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {p.name: p.annotation for p in parameters}
        return function

    wrapped.complete = complete  # type: ignore[attr-defined]
    return _signed(wrapped, own)  # type: ignore[return-value]


@cache
def flags_of_tests() -> list[inspect.Parameter]:
    """Return ``--test`` and a flag for every parameter of every test and encoding."""
    from sekgnn.encoding import ENCODINGS
    from sekgnn.wl import EXACT_ENCODINGS, TESTS

    encodings: dict[str, Any] = {**ENCODINGS, **EXACT_ENCODINGS}
    owners: dict[str, dict[str, Field[Any]]] = {}
    for cls in (*TESTS.values(), *encodings.values()):
        for item in fields(cls):
            owners.setdefault(item.name, {})[cls.name] = item
    out = [
        _flag(
            "test", "--test", str, f"{', '.join(TESTS)}, or package.module:Class",
            default="sek",
        )
    ]  # fmt: skip
    for name, found in owners.items():
        help = f"{next(iter(found.values())).metadata.get('help', name)}; for "
        if name == "encodings":
            help = f"{', '.join(encodings)}, or package.module:Class; for "
        out.append(
            _flag(
                name,
                _NAMES.get(name, f"--{name.replace('_', '-')}"),
                _kind(list(found.values())),
                help + ", ".join(found),
                shown=_default(name, found),
            )
        )
    return out


def _flag(
    name: str, flag: str, kind: Any, help: str, *, default: Any = None, shown: str = ""
) -> inspect.Parameter:
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        help=help,
        show_default=shown or True,
        rich_help_panel=_PANEL,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind | None, option],
    )


def _kind(items: list[Field[Any]]) -> Any:
    """Return what a flag takes; the fields are annotated with strings."""
    kind = str(items[0].type)
    base: Any = bool if kind == "bool" else int if "int" in kind else str
    several = any(item.metadata.get("several") for item in items)
    return list[base] if several or kind.startswith("tuple") else base


def _default(name: str, found: dict[str, Field[Any]]) -> str:
    """Return the defaults of a flag, with their owners where these differ."""
    from sekgnn.wl.encodings.walks import walk_family

    family = inspect.signature(walk_family).parameters
    shown: dict[str, list[str]] = {}
    for owner, item in found.items():
        value = item.default
        if owner == "walks" and name in family and name != "pairs":
            value = family[name].default
        if isinstance(value, bool):
            text = f"{'' if value else 'no-'}{name.replace('_', '-')}"
        elif name == "encodings":
            text = "walks"
        elif name == "num_shells":
            text = "as --num-hops"
        elif name == "pairs":
            text = "all in ego-nets, same on graphs"
        else:
            text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        shown.setdefault(text, []).append(owner)
    if len(shown) == 1:
        return next(iter(shown))
    return "; ".join(f"{text} for {', '.join(who)}" for text, who in shown.items())


def build_test(test: str, options: dict[str, Any]) -> WLTest:
    """Return the test that flags describe.

    Args:
        test: Its name, or ``package.module:Class``.
        options: The flags that were given, by the names of the parameters.

    Raises:
        ConfigError: If an option is wrong, or means nothing to the test.
    """
    from sekgnn.checks import check_choice
    from sekgnn.errors import ConfigError
    from sekgnn.registry import build
    from sekgnn.wl import TESTS
    from sekgnn.wl.registry import find_encoding

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
    return _NAMES.get(name, f"--{name.replace('_', '-')}")


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
