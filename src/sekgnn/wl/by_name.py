"""Tests and their substructure encodings by name, your own included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sekgnn.encoding.substructure import ENCODINGS
from sekgnn.parameters import make
from sekgnn.registry import Registry
from sekgnn.wl.encodings.base import Encoding, ExactEncoding
from sekgnn.wl.encodings.ego_nets import DistanceProfile, InnerFWL, InnerWL
from sekgnn.wl.encodings.walks import Walks
from sekgnn.wl.fwl import ThreeFWL, TwoFWL
from sekgnn.wl.hop_wl import KHopWL, OneWL
from sekgnn.wl.isomorphism import Isomorphism
from sekgnn.wl.refinement import WLTest
from sekgnn.wl.sek import SEK, SEKTwoFWL, SubgraphWL

TESTS: Registry[WLTest] = Registry("test", WLTest)
"""The known tests by name, the library's from the weaker to the stronger."""
EXACT_ENCODINGS: Registry[ExactEncoding] = Registry(
    "encoding", ExactEncoding, fallback=ENCODINGS
)
"""The known exact encodings by name; where both have a name, they come before those of
:data:`sekgnn.encoding.ENCODINGS`."""

register_test = TESTS.register
"""``@register_test("name")`` makes a test of your own known."""
register_exact_encoding = EXACT_ENCODINGS.register
"""``@register_exact_encoding("name")`` makes an exact encoding of your own known."""

for _test in (
    OneWL, KHopWL, SubgraphWL, SEK, TwoFWL, SEKTwoFWL, ThreeFWL, Isomorphism,
):  # fmt: skip
    register_test(_test.name)(_test)
for _encoding in (Walks, InnerWL, InnerFWL, DistanceProfile):
    register_exact_encoding(_encoding.name)(_encoding)


def make_test(test: str | WLTest, **parameters: Any) -> WLTest:
    """Return a test by name of :data:`TESTS`, or ``package.module:Class`` of your own.

    A test is returned as it is. Of the parameters ``encodings`` may hold encodings,
    their names, or dictionaries as ``to_dict`` returns them.

    Raises:
        ConfigError: If the name or a parameter is unknown; the nearest is suggested.

    Example:
        >>> make_test("khop", num_hops=2)
        KHopWL(num_hops=2, kernel='shortest_path')
    """
    if "encodings" in parameters:
        given = parameters["encodings"]
        single = isinstance(given, str | Mapping | Encoding)
        chosen = [given] if single else given
        parameters["encodings"] = tuple(make_exact_encoding(item) for item in chosen)
    made: WLTest = make(TESTS, test, WLTest, parameters)
    return made


def make_exact_encoding(
    encoding: str | Mapping[str, Any] | Encoding, **parameters: Any
) -> Encoding:
    """Return a substructure encoding by name, for a test that takes some.

    Given is a name of :data:`EXACT_ENCODINGS` or :data:`sekgnn.encoding.ENCODINGS`,
    ``package.module:Class`` of your own, a dictionary as ``to_dict`` returns it, which
    imports nothing, or an encoding, which is returned as it is.

    Raises:
        ConfigError: If the name or a parameter is unknown; the nearest is suggested.

    Example:
        >>> print(make_exact_encoding("walks", scope="internal", radius=1))
        internal[h=1](l=16)
    """
    made: Encoding = make(EXACT_ENCODINGS, encoding, Encoding, parameters)
    return made
