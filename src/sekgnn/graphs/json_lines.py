"""JSON lines: one object per line with edges, features and targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.cleaning import SelfLoops, check_num_nodes, located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph_record import GraphRecord, feature_rows
from sekgnn.graphs.table import Part, text_lines
from sekgnn.parsing import parse_json


def json_records(
    path: str | Path,
    targets: Sequence[str] = (),
    *,
    loops: SelfLoops = "drop",
    part: Part | None = None,
) -> Iterator[GraphRecord]:
    """Yield lines such as ``{"edges": [[0, 1], [1, 2]], "num_nodes": 4, "y": 1}``.

    ``edges`` lists each edge once or in both directions, nodes from 0; ``num_nodes`` is
    needed unless ``x`` (one list of numbers per node) is given. Blank lines are
    skipped. ``targets`` are keys to keep; one that a line lacks is missing there.

    Raises:
        GraphInputError: If a line is wrong, when it is met, which names line and key;
            or, after the last line of all, if none has a target.
    """
    row, before = (0, 0) if part is None else (part.row, part.line)
    seen: set[str] = set()
    first: list[str] = []
    lines = text_lines(path, "\n", part)
    for number, line in enumerate(lines, start=before + 1):
        if not line.strip():
            continue
        row += 1
        place = f"{path}, line {number}"
        try:
            values = parse_json(line)
        except ValueError as error:
            raise GraphInputError(f"{place}: not valid JSON ({error}).") from None
        if not isinstance(values, dict) or "edges" not in values:
            raise GraphInputError(f"{place}: an object with the key 'edges' is needed.")
        first = first or sorted(values)
        kept = {name: values[name] for name in targets if name in values}
        seen |= kept.keys()
        graph, x = _graph(values, place, loops)
        yield GraphRecord(graph, f"line {number}", row, x, targets=kept)
    for name in targets if row and part is None else ():
        if name not in seen:
            raise GraphInputError(
                f"{path} has no key {name!r}; the keys of its first line are {first}."
            )


def _graph(
    values: dict[str, Any], place: str, loops: SelfLoops
) -> tuple[Graph, NDArray[np.float32] | None]:
    x = None
    if values.get("x") is not None:
        x = feature_rows(values["x"], place)
    num_nodes = values.get("num_nodes", None if x is None else len(x))
    if num_nodes is None:
        raise GraphInputError(
            f"{place}: neither 'num_nodes' nor 'x' is given; isolated nodes would be "
            "lost."
        )
    try:
        check_num_nodes(check_positive("num_nodes", num_nodes, 0, None))
    except (ConfigError, GraphInputError) as error:
        raise GraphInputError(f"{place}: {error}") from None
    if x is not None and len(x) != num_nodes:
        raise GraphInputError(
            f"{place}: 'x' has {len(x)} rows, but there are {num_nodes} nodes."
        )
    edges = values["edges"]
    pairs = isinstance(edges, list) and all(
        isinstance(edge, list)
        and len(edge) == 2
        and all(isinstance(end, int) and not isinstance(end, bool) for end in edge)
        and all(0 <= end < num_nodes for end in edge)
        for edge in edges
    )
    if not pairs:
        raise GraphInputError(
            f"{place}: 'edges' must be a list of pairs [u, v] of nodes in "
            f"0..{num_nodes - 1}."
        )
    index = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    with located(place):
        graph = Graph.from_edge_index(index, num_nodes, undirected="add", loops=loops)
    return graph, x
