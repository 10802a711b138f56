"""Graphs by name, such as ``rook:4``, for the command line."""

from __future__ import annotations

from collections.abc import Callable

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError
from sekgnn.graphs import families
from sekgnn.graphs.graph import Graph

_FAMILIES: dict[str, tuple[Callable[..., Graph], int, float, str]] = {
    # name: function, fewest numbers, most numbers, form
    "path": (families.path_graph, 1, 1, "path:N"),
    "cycle": (families.cycle_graph, 1, 1, "cycle:N"),
    "complete": (families.complete_graph, 1, 1, "complete:N"),
    "rook": (families.rook_graph, 1, 2, "rook:N or rook:N:M"),
    "shrikhande": (families.shrikhande_graph, 0, 0, "shrikhande"),
    "petersen": (families.petersen_graph, 0, 0, "petersen"),
    "csl": (families.csl_graph, 2, 2, "csl:N:SKIP"),
    "circulant": (
        lambda n, *jumps: families.circulant_graph(n, jumps),
        2,
        float("inf"),
        "circulant:N:JUMP:...",
    ),
}
GRAPH_NAMES = tuple(_FAMILIES)


def named_graph(name: str) -> Graph:
    """Return the graph called ``name``: a family and its numbers, divided by ``:``.

    Known are ``path:5``, ``cycle:6``, ``complete:4``, ``rook:4``, ``rook:3:5``,
    ``shrikhande``, ``petersen``, ``csl:41:3`` and ``circulant:8:1:2``.

    Raises:
        ConfigError: If the family is unknown or its numbers do not fit.

    Example:
        >>> named_graph("rook:4")
        Graph(num_nodes=16, num_edges=48)
    """
    family, *fields = name.strip().lower().split(":")
    check_choice("graph name", family, GRAPH_NAMES)
    function, fewest, most, form = _FAMILIES[family]
    numeric = all(field.isascii() and field.isdigit() for field in fields)
    if not numeric or not fewest <= len(fields) <= most:
        raise ConfigError(f"graph name {name!r} should have the form {form}.")
    return function(*(int(field) for field in fields))
