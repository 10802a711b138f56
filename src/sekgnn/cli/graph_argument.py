"""A graph named on the command line: a file, a family, a SMILES or graph6 string."""

from __future__ import annotations

import os.path
import re
from contextlib import suppress
from typing import cast

from sekgnn.errors import GraphInputError, MissingExtraError
from sekgnn.graphs import (
    GRAPH_NAMES,
    Graph,
    from_graph6,
    labelled_from_smiles,
    named_graph,
    read_graphs,
)
from sekgnn.graphs.cleaning import Undirected
from sekgnn.graphs.records import SUFFIXES

_FORMS = (
    "a file of graphs (graphs.g6, or graphs.g6#2 for the third of several), a name "
    f"such as rook:4 (families: {', '.join(GRAPH_NAMES)}), smiles:CCO, or graph6:Bw"
)

_SUFFIXES = "|".join(suffix[1:] for suffix in (*SUFFIXES, ".txt"))


def graph_argument(
    text: str, *, labels: bool = True, undirected: str = "error"
) -> Graph:
    """Return the graph that ``text`` names.

    A SMILES brings its atoms and bonds as labels. Without ``smiles:`` or ``graph6:``,
    text that is neither a file nor a name is read as whichever of the two it is.
    ``undirected`` is for files in which an edge lacks its reverse.

    Raises:
        GraphInputError: If there is no such graph, or more than one reading.
        ConfigError: If a family's numbers or ``undirected`` do not fit.
    """
    graph = _find(text, cast("Undirected", undirected))
    return graph if labels else graph.graph


def _find(text: str, undirected: Undirected) -> Graph:
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
    if re.search(rf"[/\\]|\.({_SUFFIXES})$", file):
        raise GraphInputError(f"{file} does not exist; check the path.")
    raise GraphInputError(f"cannot find a graph called {text!r}; give {_FORMS}.")


def _from_file(path: str, number: int | None, undirected: Undirected) -> Graph:
    """Return one graph of a file."""
    graphs = read_graphs(path, undirected=undirected)
    if number is None and len(graphs) > 1:
        raise GraphInputError(
            f"{path} holds {len(graphs)} graphs; say which, from {path}#0 to "
            f"{path}#{len(graphs) - 1}."
        )
    if (number or 0) >= len(graphs):
        raise GraphInputError(
            f"{path} holds {len(graphs)} graphs, from {path}#0 to "
            f"{path}#{len(graphs) - 1}; there is no #{number}."
        )
    return graphs[number or 0]
