"""The arguments of ``wl``, ``explore`` and ``brec``: flags of a test, named graphs."""

from __future__ import annotations

import inspect
import os.path
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import Field, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from sekgnn.cli.options import default_text, flag_of, free_field, with_flags
from sekgnn.errors import ConfigError, GraphInputError, MissingExtraError

if TYPE_CHECKING:
    from sekgnn.graphs import Graph
    from sekgnn.wl import WLTest

_SHOWN = {
    "encodings": "walks",
    "num_shells": "as --num-hops",
    "pairs": "all in ego-nets, same on graphs",
}


def flags_of_tests(networks: Iterable[Field[Any]] = ()) -> list[Field[Any]]:
    """Return ``--test`` and a flag for every parameter of every test and encoding.

    The help of flags that are also fields of ``networks`` names their defaults there.
    """
    from sekgnn.encoding.substructure import ENCODINGS
    from sekgnn.wl import EXACT_ENCODINGS, TESTS

    known: dict[str, Any] = {**ENCODINGS, **EXACT_ENCODINGS}
    owners: dict[str, dict[str, Field[Any]]] = {}
    for cls in (*TESTS.values(), *known.values()):
        for item in fields(cls):
            owners.setdefault(_written(item.name), {})[cls.name] = item
    for item in networks:
        if flag_of(item) in owners:
            owners[flag_of(item)]["networks"] = item
    about = f"test to run: {', '.join(TESTS)}, or package.module:Class"
    flags = [free_field("test", "str", about, shown="sek")]
    for flag, items in owners.items():
        first = next(iter(items.values()))
        about = first.metadata.get("help", first.name)
        if first.name == "encodings":
            about += f": {', '.join(known)}, or package.module:Class"
        about += f"; for {', '.join(items)}"
        several = any(item.metadata.get("several") for item in items.values())
        several |= "networks" in items and "tuple" in str(items["networks"].type)
        more = {"shown": _defaults(items), "several": several, "flag": flag[2:]}
        flags.append(free_field(first.name, first.type, about, **more))
    return flags


with_test_options = with_flags(lambda: {"Which test": flags_of_tests()})
"""Give a command, whose last parameter is ``**options``, flags for :func:`build_test`.

They are made when the command runs, after ``--import`` has registered your tests."""


def _defaults(items: dict[str, Field[Any]]) -> str:
    """Return defaults, as in ``16 for walks, networks; 8 for walk_counts``."""
    from sekgnn.wl.encodings.walks import walk_family

    family = inspect.signature(walk_family).parameters
    owners: dict[str, list[str]] = {}
    for owner, item in items.items():
        if owner != "networks" and item.name in _SHOWN:
            text = _SHOWN[item.name]
        elif owner == "walks" and item.name in family:
            text = " ".join(map(str, family[item.name].default))
        else:
            text = default_text(item)
        owners.setdefault(text, []).append(owner)
    if len(owners) == 1:
        return next(iter(owners))
    return "; ".join(f"{text} for {', '.join(who)}" for text, who in owners.items())


def build_test(test: str, options: dict[str, Any]) -> WLTest:
    """Return the test that flags describe; flags that mean nothing to it are errors."""
    from sekgnn.checks import check_choice
    from sekgnn.parameters import build
    from sekgnn.wl import EXACT_ENCODINGS, TESTS

    if ":" not in test:
        check_choice("--test", test, TESTS)
    cls = TESTS.find(test)
    takes = {item.name: item for item in fields(cls)}
    names = list(dict.fromkeys(options.get("encodings", ["walks"])))
    chosen = (
        [EXACT_ENCODINGS.find(name) for name in names] if "encodings" in takes else []
    )
    meant = set(takes).union(*(_meant(f, options) for f in chosen))
    for name in options:
        if name not in meant:
            words = [f"--test {test}"]
            for other in ("encodings", "scope"):
                if other in meant and other in options:
                    words.append(f"{_written(other)} {' '.join(options[other])}")
            raise ConfigError(
                f"{_written(name)} means nothing to {' '.join(words)}; leave it out."
            )
    parameters: dict[str, Any] = {}
    for name in options.keys() & takes.keys() - {"encodings"}:
        value = options[name]
        if isinstance(value, list | tuple) and "tuple" not in str(takes[name].type):
            if len(value) > 1:
                raise ConfigError(f"the test {test} takes one {_written(name)}.")
            value = value[0]
        parameters[name] = value
    made: Any = build(cls, test, parameters)
    if not chosen or not options:
        return made
    if "num_hops" in takes:
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
    from sekgnn.parameters import build
    from sekgnn.wl.encodings.walks import Walks, walk_family

    types = {item.name: str(item.type) for item in fields(encoding)}
    values: dict[str, Any] = {
        name: tuple(dict.fromkeys(value)) if isinstance(value, list | tuple) else value
        for name, value in options.items()
        if name in types
    }
    if encoding is Walks:
        return walk_family(**values)
    lists = {
        name: value
        for name, value in values.items()
        if isinstance(value, tuple) and "tuple" not in types[name]
    }
    return tuple(
        build(encoding, encoding.name, values | dict(zip(lists, choice, strict=True)))
        for choice in product(*lists.values())
    )


def graph_argument(
    text: str, *, labels: bool = True, undirected: Any = "error"
) -> Graph:
    """Return the graph that ``text`` names.

    A SMILES brings its atoms and bonds as labels. Without ``smiles:`` or ``graph6:``,
    text that is neither a file nor a name is read as whichever of the two it is.
    ``undirected`` is for files in which an edge lacks its reverse.

    Raises:
        GraphInputError: If there is no such graph, or more than one reading.
        ConfigError: If a family's numbers or ``undirected`` do not fit.
    """
    graph = _find_graph(text, undirected)
    return graph if labels else graph.graph


def _find_graph(text: str, undirected: Any) -> Graph:
    from sekgnn.graphs.families import GRAPH_NAMES, named_graph
    from sekgnn.graphs.graph6 import from_graph6
    from sekgnn.graphs.molecules import labelled_from_smiles
    from sekgnn.graphs.records import SUFFIXES

    kind, _, rest = text.partition(":")
    if kind.lower() == "smiles":
        return labelled_from_smiles(rest)
    if kind.lower() == "graph6":
        return from_graph6(rest)
    path, _, number = text.rpartition("#")
    numbered = number.isascii() and number.isdigit()
    if numbered and os.path.exists(path):
        return _from_file(path, int(number), undirected)
    if os.path.exists(text):
        return _from_file(text, None, undirected)
    if kind.lower() in GRAPH_NAMES:
        return named_graph(text)
    readings = []
    with suppress(GraphInputError):
        readings.append(from_graph6(text))
    with suppress(GraphInputError, MissingExtraError):
        readings.append(labelled_from_smiles(text))
    if len(readings) == 1:
        return readings[0]
    if readings:
        raise GraphInputError(
            f"{text!r} can be read as graph6 and as SMILES; write graph6:{text} or "
            f"smiles:{text}."
        )
    file = path if numbered else text
    suffixes = "|".join(suffix[1:] for suffix in (*SUFFIXES, ".txt"))
    if re.search(rf"[/\\]|\.({suffixes})$", file):
        raise GraphInputError(f"{file} does not exist; check the path.")
    raise GraphInputError(
        f"cannot find a graph called {text!r}; give a file of graphs (graphs.g6, or "
        "graphs.g6#2 for the third of several), a name such as rook:4 (families: "
        f"{', '.join(GRAPH_NAMES)}), smiles:CCO, or graph6:Bw."
    )


def _from_file(path: str, number: int | None, undirected: Any) -> Graph:
    from sekgnn.graphs import read_graphs

    graphs = read_graphs(path, undirected=undirected)
    held = f"{path} holds {len(graphs)} graphs, from {path}#0 to {path}#"
    if number is None and len(graphs) > 1:
        raise GraphInputError(f"{held}{len(graphs) - 1}; say which.")
    if (number or 0) >= len(graphs):
        raise GraphInputError(f"{held}{len(graphs) - 1}; there is no #{number}.")
    return graphs[number or 0]
