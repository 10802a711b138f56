"""A verdict as a picture: both graphs, round by round, coloured by class."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import GraphInputError
from sekgnn.files import write_atomically
from sekgnn.graphs.extras import require
from sekgnn.graphs.graph import Graph

if TYPE_CHECKING:
    from sekgnn.wl.verdict import Verdict

LARGEST = 400
"""Nodes of a graph that can still be made out in a picture."""
_ROUNDS = 6
_PALETTE = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb",
    "#ee8866", "#44bb99", "#999933", "#882255", "#99ddff", "#ffaabb", "#000000",
)  # fmt: skip


def draw_verdict(verdict: Verdict, path: str | Path | None = None) -> Any:
    """Do what :meth:`sekgnn.wl.Verdict.plot` says."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    run = verdict.run
    if max(run.batch.sizes, default=0) > LARGEST:
        raise GraphInputError(
            f"a picture shows at most {LARGEST} nodes per graph, these have "
            f"{run.batch.sizes}; use explain() or to_json()."
        )
    last = verdict.rounds if verdict.round is None else verdict.round
    rounds = range(last + 1)[-_ROUNDS:]  # up to the one that decides
    figure = Figure(figsize=(8, 3.9 * len(rounds)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(rounds), 2, squeeze=False)
    places = [_positions(item.graph) for item in run.batch.graphs]
    for row, round in zip(axes, rounds, strict=True):
        counts = verdict.histogram(round)
        for g, axis in enumerate(row):
            classes = verdict.words.classes[round][run.colouring.node_items(g)]
            _draw_graph(axis, run.batch.graphs[g].graph, places[g], classes, counts)
            kinds = np.flatnonzero(counts[:, g]).size
            colours = "colour" if kinds == 1 else "colours"
            title = f"{verdict.names[g]}, round {round}: {kinds} {colours}"
            axis.set_title(title, fontsize=10)
    figure.suptitle(verdict.sentence(), fontsize=9, wrap=True)
    if path is not None:
        kind = Path(path).suffix.lstrip(".") or "png"
        save = partial(figure.savefig, format=kind, dpi=120)
        write_atomically(Path(path), save)
    return figure


def _positions(graph: Graph) -> NDArray[np.float64]:
    """Return a place for every node, ``[n, 2]``; the same for the same graph."""
    nx = require("networkx", None)
    drawn = graph.to_networkx()
    places = nx.spring_layout(drawn, seed=7, iterations=200) if graph.num_nodes else {}
    return np.array([places[v] for v in range(graph.num_nodes)]).reshape(-1, 2)


def _draw_graph(
    axis: Any,
    graph: Graph,
    places: NDArray[np.float64],
    classes: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Draw one graph; ``counts`` tells which classes are unbalanced, ``[C, 2]``."""
    from matplotlib.collections import LineCollection

    row, col = graph.edge_index()
    upper = row < col
    lines = np.stack([places[row[upper]], places[col[upper]]], axis=1)
    axis.add_collection(LineCollection(list(lines), colors="#cccccc", linewidths=0.8))
    uneven = counts[classes, 0] != counts[classes, 1]
    axis.scatter(
        places[:, 0],
        places[:, 1],
        s=max(12, 1600 / max(8, graph.num_nodes)),
        c=[_PALETTE[k % len(_PALETTE)] for k in classes],
        edgecolors=["black" if u else "white" for u in uneven],
        linewidths=[1.6 if u else 0.5 for u in uneven],
        zorder=2,
    )
    axis.set_aspect("equal")
    axis.axis("off")
