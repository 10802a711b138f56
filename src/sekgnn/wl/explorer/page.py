"""The explorer as one file: content, style and script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn._version import __version__
from sekgnn.errors import GraphInputError
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.molecules import BOND_NUMBERS
from sekgnn.wl.drawing import layout
from sekgnn.wl.explorer.content import rungs_of, walk_curves
from sekgnn.wl.verdict import Verdict

LARGEST = 200
"""Nodes of a graph that a page can show."""


def verdict_page(verdict: Verdict) -> str:
    """Return the page that :meth:`sekgnn.wl.Verdict.to_html` writes."""
    return page_of(page_content(verdict))


def page_of(content: Any, about: str = "", home: str = "") -> str:
    """Return a page as HTML; ``about`` describes the pair, ``home`` is a link."""
    return filled(
        "explorer.html",
        " and ".join(content["names"]),
        script=packaged("explorer.js"),
        content=as_script_text({**content, "about": about, "home": home}),
    )


def page_content(verdict: Verdict) -> dict[str, Any]:
    """Return the content of a page as plain JSON values."""
    batch = verdict.run.batch
    check_sizes(batch.sizes)
    rungs, start = rungs_of(verdict)
    return {
        "names": list(verdict.names),
        "graphs": [_graph(item) for item in batch.graphs],
        "tests": rungs,
        "start": start,
        "walks": walk_curves(batch),
        "version": __version__,
    }


def check_sizes(sizes: Sequence[int]) -> None:
    """Refuse graphs of more than :data:`LARGEST` nodes, which a page cannot show."""
    if max(sizes) > LARGEST:
        raise GraphInputError(
            f"a page shows at most {LARGEST} nodes per graph, these have "
            f"{list(sizes)}; use explain() or to_json() ('sekgnn wl')."
        )


def _graph(item: Graph) -> dict[str, Any]:
    """Return the edges, labels and drawing of one graph."""
    row, col = item.edge_index()
    upper = row < col
    out: dict[str, Any] = {
        "n": item.num_nodes,
        "edges": np.stack([row[upper], col[upper]], axis=1).tolist(),
        "places": node_places(item).round(4).tolist(),
    }
    if item.node_labels is not None:
        names = item.label_names
        out["labels"] = [names.get(n, str(n)) for n in item.node_labels.tolist()]
    if item.edge_labels is not None:
        kinds = item.edge_labels[upper].tolist()
        out["edgeLabels"] = [str(kind) for kind in kinds]
        if item.label_names and set(kinds) <= set(BOND_NUMBERS.values()):
            out["bonds"] = kinds
    return out


def node_places(graph: Graph) -> NDArray[np.float64]:
    """Return coordinates in [-1, 1]² for every node, ``[n, 2]``."""
    points = layout(graph)
    if len(points):
        points -= (points.max(axis=0) + points.min(axis=0)) / 2
    return points / max(np.abs(points).max(initial=0), 1e-9)


def filled(template: str, title: str, **html: str) -> str:
    """Fill a template of this package; ``title`` is plain text.

    The policy of the page allows its ``script``, if it has one, and loads nothing.
    """
    html |= {"style": packaged("explorer.css"), "title": escape(title)}
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for name in sorted({"style", "script"} & html.keys()):
        digest = base64.b64encode(hashlib.sha256(html[name].encode()).digest())
        rules.append(f"{name}-src 'sha256-{digest.decode()}'")
    policy = "; ".join(rules)
    return Template(packaged(template)).substitute(html, policy=policy)


def as_script_text(content: Any) -> str:
    r"""Return JSON that is safe inside a ``<script>`` element.

    Example:
        >>> print(as_script_text("</script>"))
        "\u003c/script>"
    """
    text = json.dumps(content, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


@cache
def packaged(name: str) -> str:
    """Return the text of a file in this folder."""
    return files(__package__).joinpath(name).read_text("utf-8")
