"""Tests and substructure encodings by name."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError
from sekgnn.wl.colouring import WLTest
from sekgnn.wl.encodings.base import ExactEncoding
from sekgnn.wl.encodings.distances import DistanceProfile
from sekgnn.wl.encodings.inner import InnerFWL, InnerWL
from sekgnn.wl.encodings.patterns import PatternCounts
from sekgnn.wl.encodings.walks import Walks
from sekgnn.wl.fwl2 import TwoFWL
from sekgnn.wl.fwl3 import ThreeFWL
from sekgnn.wl.hop_wl import KHopWL, OneWL
from sekgnn.wl.isomorphism import Isomorphism
from sekgnn.wl.sek import SEK, SEKTwoFWL
from sekgnn.wl.subgraph import SubgraphWL

TESTS: dict[str, type[WLTest]] = {
    cls.name: cls
    for cls in (
        OneWL,
        KHopWL,
        SubgraphWL,
        SEK,
        TwoFWL,
        SEKTwoFWL,
        ThreeFWL,
        Isomorphism,
    )
}
"""The known tests, by name, the weaker before the stronger."""

ENCODINGS: dict[str, type[ExactEncoding]] = {
    cls.name: cls for cls in (Walks, InnerWL, InnerFWL, DistanceProfile, PatternCounts)
}
"""The known substructure encoding functions, by name."""

T = TypeVar("T", bound=type[WLTest])
E = TypeVar("E", bound=type[ExactEncoding])
V = TypeVar("V")


def register_test(cls: T) -> T:
    """Make a test known by its name; use as a class decorator.

    Raises:
        ConfigError: If the name is taken.
    """
    if TESTS.setdefault(cls.name, cls) is not cls:
        raise ConfigError(f"there is already a test called {cls.name!r}.")
    return cls


def register_encoding(cls: E) -> E:
    """Make a substructure encoding known by its name; use as a class decorator.

    Raises:
        ConfigError: If the name is taken.
    """
    if ENCODINGS.setdefault(cls.name, cls) is not cls:
        raise ConfigError(f"there is already an encoding called {cls.name!r}.")
    return cls


def make_test(test: str | WLTest, **parameters: Any) -> WLTest:
    """Return a test by name.

    Args:
        test: A name of :data:`TESTS`, or a test, which is returned as it is.
        parameters: Of the test's constructor. ``encodings`` may hold encodings,
            their names, or dictionaries as ``to_dict`` returns them.

    Raises:
        ConfigError: If the name or a parameter is unknown; the nearest is suggested.

    Example:
        >>> make_test("khop", num_hops=2)
        KHopWL(num_hops=2, kernel='shortest_path')
    """
    if isinstance(test, WLTest):
        if parameters:
            raise ConfigError("parameters go with a test's name, not with a test.")
        return test
    check_choice("test", test, tuple(TESTS))
    if "encodings" in parameters:
        given = parameters["encodings"]
        single = isinstance(given, str | dict | ExactEncoding)
        chosen = [given] if single else given
        parameters = parameters | {
            "encodings": tuple(make_encoding(item) for item in chosen)
        }
    return _build(TESTS[test], test, parameters)


def make_encoding(
    encoding: str | dict[str, Any] | ExactEncoding, **parameters: Any
) -> ExactEncoding:
    """Return a substructure encoding by name.

    Args:
        encoding: A name of :data:`ENCODINGS`, a dictionary as ``to_dict`` returns it,
            or an encoding, which is returned as it is.
        parameters: Of its constructor.

    Raises:
        ConfigError: If the name or a parameter is unknown; the nearest is suggested.

    Example:
        >>> print(make_encoding("walks", scope="internal", radius=1, walk_length=4))
        internal[h=1](l=4)
    """
    if isinstance(encoding, ExactEncoding):
        if parameters:
            raise ConfigError(
                "parameters go with an encoding's name, not with an encoding."
            )
        return encoding
    if isinstance(encoding, dict):
        parameters = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in (encoding | parameters).items()
            if key != "encoding"
        }
        encoding = str(encoding.get("encoding"))
    check_choice("encoding", encoding, tuple(ENCODINGS))
    return _build(ENCODINGS[encoding], encoding, parameters)


def _build(make: Callable[..., V], name: str, parameters: dict[str, Any]) -> V:
    known = list(inspect.signature(make).parameters)
    for key in parameters:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            takes = ", ".join(known) if known else "no parameters"
            raise ConfigError(
                f"{name} has no parameter {key!r}; it takes {takes}.{hint}"
            )
    return make(**parameters)
