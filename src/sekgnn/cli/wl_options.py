"""From the options of the command line to a Weisfeiler-Lehman test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sekgnn.wl import SubstructureEncoding, WLTest

_TEST = "Which test"

TestName = Annotated[
    str,
    typer.Option(
        "--test",
        help="1wl, khop, subgraph, sek, 2fwl, sek2fwl, 3fwl or isomorphism",
        rich_help_panel=_TEST,
    ),
]
NumHops = Annotated[
    int | None,
    typer.Option(
        help="K of khop, sek, sek2fwl", show_default="4", rich_help_panel=_TEST
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        help="what a hop is: shortest_path or diffusion",
        show_default="shortest_path",
        rich_help_panel=_TEST,
    ),
]
Scope = Annotated[
    list[str] | None,
    typer.Option(
        help="of sek's walks: graph, ego, internal; several may follow",
        show_default="graph internal",
        rich_help_panel=_TEST,
    ),
]
Radius = Annotated[
    list[int] | None,
    typer.Option(
        help="h of ego-nets; several may follow for sek",
        show_default="1 2 3; 3 for subgraph",
        rich_help_panel=_TEST,
    ),
]
WalkLength = Annotated[
    int | None,
    typer.Option(
        help="l, steps of sek's walks", show_default="16", rich_help_panel=_TEST
    ),
]
Part = Annotated[
    list[str] | None,
    typer.Option(
        help="of sek's walks: f1, f2, f3; several may follow",
        show_default="all",
        rich_help_panel=_TEST,
    ),
]
Encoding = Annotated[
    list[str] | None,
    typer.Option(
        help="sek's functions: walks, inner_wl, inner_fwl, distances, patterns; "
        "several may follow",
        show_default="walks",
        rich_help_panel=_TEST,
    ),
]
Sums = Annotated[
    bool,
    typer.Option(
        "--sums",
        help="sek's walks summed over shells, as a network sees them",
        rich_help_panel=_TEST,
    ),
]
NoContext = Annotated[
    bool,
    typer.Option(
        "--no-context",
        help="sek without the multiset of f over the neighbourhood",
        rich_help_panel=_TEST,
    ),
]
Marked = Annotated[
    bool,
    typer.Option(
        "--marked",
        help="subgraph: nodes know their distance to the centre",
        rich_help_panel=_TEST,
    ),
]


def build_test(
    test: str,
    num_hops: int | None,
    kernel: str | None,
    scope: list[str] | None,
    radius: list[int] | None,
    walk_length: int | None,
    part: list[str] | None,
    encoding: list[str] | None,
    sums: bool,
    no_context: bool,
    marked: bool,
) -> WLTest:
    """Return the test that the options describe.

    Raises:
        ConfigError: If an option is wrong, or means nothing to the test.
    """
    from sekgnn.checks import check_choice
    from sekgnn.errors import ConfigError
    from sekgnn.wl import ENCODINGS, TESTS, make_test

    check_choice("--test", test, TESTS)
    for name in encoding or ():
        check_choice("--encoding", name, ENCODINGS)
    given: dict[str, Any] = {
        "--num-hops": num_hops,
        "--kernel": kernel,
        "--scope": scope,
        "--radius": radius,
        "--walk-length": walk_length,
        "--part": part,
        "--encoding": encoding,
        "--sums": sums,
        "--no-context": no_context,
        "--marked": marked,
    }
    meant = {
        "khop": {"--num-hops", "--kernel"},
        "subgraph": {"--radius", "--marked"},
        "sek": _meant_by_sek(encoding, scope),
        "sek2fwl": _meant_by_sek(encoding, scope),
    }.get(test, set())
    for flag, value in given.items():
        unset = value is None or value is False or value == []
        if not unset and flag not in meant:
            chosen = [f"--test {test}"]
            for other in ("--encoding", "--scope"):
                if other in meant and given[other] and other != flag:
                    chosen.append(f"{other} {' '.join(given[other])}")
            raise ConfigError(
                f"{flag} means nothing to {' '.join(chosen)}; leave it out."
            )
    parameters: dict[str, Any] = {}
    if num_hops is not None:
        parameters["num_hops"] = num_hops
    if kernel is not None:
        parameters["kernel"] = kernel
    if test == "subgraph":
        if radius and len(radius) > 1:
            raise ConfigError("the test subgraph takes one --radius.")
        if radius:
            parameters["radius"] = radius[0]
        parameters["marked"] = marked
    if test.startswith("sek"):
        parameters["context"] = not no_context
        parameters["encodings"] = _encodings(
            4 if num_hops is None else num_hops,
            tuple(dict.fromkeys(scope or ("graph", "internal"))),
            None if radius is None else tuple(dict.fromkeys(radius)),
            16 if walk_length is None else walk_length,
            tuple(dict.fromkeys(part or ("f1", "f2", "f3"))),
            tuple(dict.fromkeys(encoding or ("walks",))),
            sums,
        )
    return make_test(test, **parameters)


def _meant_by_sek(encoding: list[str] | None, scope: list[str] | None) -> set[str]:
    """Return the options that mean something to sek's functions f."""
    names = set(encoding or ("walks",))
    out = {"--num-hops", "--kernel", "--encoding", "--no-context"}
    if "walks" in names:
        out |= {"--scope", "--walk-length", "--part", "--sums"}
    ego_nets = "walks" in names and set(scope or ("internal",)) != {"graph"}
    if ego_nets or names & {"inner_wl", "inner_fwl"}:
        out.add("--radius")
    return out


def _encodings(
    num_hops: int,
    scopes: tuple[str, ...],
    radii: tuple[int, ...] | None,
    walk_length: int,
    parts: tuple[str, ...],
    names: tuple[str, ...],
    sums: bool,
) -> tuple[SubstructureEncoding, ...]:
    """Return sek's functions f, in the order named."""
    from sekgnn.wl import make_encoding

    out = []
    for name in names:
        if name == "walks":
            out += _walks(
                num_hops, scopes, radii or (1, 2, 3), walk_length, parts, sums
            )
        elif name in ("inner_wl", "inner_fwl"):
            out += [make_encoding(name, radius=h) for h in radii or (3,)]
        elif name == "distances":
            out.append(make_encoding(name, num_shells=num_hops))
        else:
            out.append(make_encoding(name))
    return tuple(out)


def _walks(
    num_hops: int,
    scopes: tuple[str, ...],
    radii: tuple[int, ...],
    walk_length: int,
    parts: tuple[str, ...],
    sums: bool,
) -> list[SubstructureEncoding]:
    """Return the walks of every scope: all pairs of shells inside ego-nets."""
    from sekgnn.wl import make_encoding

    out = []
    for scope in scopes:
        for radius in (None,) if scope == "graph" else radii:
            pairs = "same" if sums or scope == "graph" else "all"
            parameters: dict[str, Any] = {
                "scope": scope,
                "radius": radius,
                "num_shells": num_hops,
                "walk_length": walk_length,
                "parts": parts,
                "pairs": pairs,
                "multisets": not sums,
            }
            out.append(make_encoding("walks", **parameters))
    return out
