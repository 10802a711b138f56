"""The tables of the page on Theorem 1."""

from __future__ import annotations

import math
from itertools import pairwise

from sekgnn.reports.theorem1_numbers import (
    main_cell,
    percent,
    power,
    predicted_log10,
    rate,
    scientific,
)
from sekgnn.studies.theorem1_record import Cell, HopCounts, Theorem1Record


def at_bound(record: Theorem1Record) -> list[tuple[Cell, HopCounts]]:
    """Return every cell that was looked at with the theorem's own K."""
    found = [(cell, cell.radius(cell.hop_bound)) for cell in record.cells]
    return [(cell, h) for cell, h in found if h is not None and cell.different(h)]


def largest_cells(record: Theorem1Record) -> list[Cell]:
    """Return the largest cell of every degree."""
    largest = {cell.degree: cell for cell in record.cells}  # in order of n
    return list(largest.values())


def bound_section(record: Theorem1Record) -> str:
    """Return the table of what happens at the theorem's own K."""
    rows = []
    for cell, h in at_bound(record):
        t, different = 2 * h.hops, cell.different(h)
        found = cell.collisions(h, t)
        rows.append(
            [str(cell.nodes), str(cell.degree), "yes" if cell.in_range else "no",
             str(h.hops), f"{different:,}", f"{found:,}", scientific(found, different),
             f"{cell.nodes * found / different:.2g}",
             f"{cell.collisions(h, t + 1):,}"]
        )  # fmt: skip
    head = ["n", "r", "in range", "K", "different pairs", "collisions at 2K", "rate",
            "n × rate", "at 2K + 1"]  # fmt: skip
    return (
        "## At the theorem's own K\n\nK = ⌈log 2n / (2 log(r-1)) + 1⌉, the bound as ε "
        "goes to 0. The proof gives a rate of o(1/n): n × rate should tend to 0. K is "
        f"rounded up, and the rate falls where it gains a hop. {_growth(record)} "
        "That is no proof against a claim about n without bound.\n\n"
        + (_table(head, rows) if rows else "No K of this run reaches it.")
    )


def hops_section(cell: Cell) -> str:
    """Return the table over K of one cell."""
    rows = []
    for h in cell.radii:
        d, t = cell.different(h), 2 * h.hops
        claim = cell.in_range and h.hops <= cell.hop_bound
        apart = [d - cell.collisions(h, s) for s in (t - 1, t, t + 1, t + 2)]
        rows.append(
            [str(h.hops), f"{cell.ball_mean(h):.1f}", f"{h.types:,}", f"{d:,}",
             *(percent(a, d) for a in apart), "100 %" if claim else "–",
             percent(d - cell.ego_collisions(h, t), d),
             f"{h.internal_collisions:,}"]
        )  # fmt: skip
    head = ["K", "mean size", "ego-nets", "different pairs", "t = 2K-1", "t = 2K",
            "t = 2K+1", "t = 2K+2", "theorem at 2K", "ego-net walk at 2K",
            "internals differ too"]  # fmt: skip
    note = "" if cell.in_range else " (outside the theorem's range of r)"
    return (
        f"## Told apart by t returns, n = {cell.nodes}, r = {cell.degree}{note}\n\n"
        "Shares of the pairs with non-isomorphic rooted ego-nets. The last column is "
        "the number of collisions at 2K whose internal substructures (Definition 1, no "
        "root) are not isomorphic either.\n\n" + _table(head, rows)
    )


def context_section(record: Theorem1Record) -> str:
    """Return the table of collisions with context, beside the prediction."""
    rows = []
    for cell in largest_cells(record):
        for h in cell.radii:
            d, t, size = cell.different(h), 2 * h.hops, cell.ball_mean(h)
            found = cell.collisions(h, t)
            if not found:
                continue
            context = cell.context_collisions(h, t)
            rows.append(
                [str(cell.nodes), str(cell.degree), str(h.hops), f"{size:.1f}",
                 f"{found / d:.2g}", power(predicted_log10(found / d, size)),
                 scientific(context, d), f"{context:,}", _effective(found, context, d)]
            )  # fmt: skip
    head = ["n", "r", "K", "mean size", "p, own returns", "paper: p^size",
            "measured with context", "collisions", "size it is like"]  # fmt: skip
    return (
        "## The collision argument\n\nA pair collides with context if its own 2K "
        "returns agree and so do the multisets of 2K returns over both ego-nets. The "
        "paper takes the nodes of an ego-net as independent and predicts p^size. A "
        'rate "none in N" says only that it is about 1/N or less. The '
        "last column is the s for which p^s is the measured rate.\n\n"
        + _table(head, rows)
    )


def edges_section(record: Theorem1Record) -> str:
    """Return the table of edge configurations."""
    cell = main_cell(record)
    rows = [
        [str(h.hops), f"{cell.pairs - h.configuration_alike:,}",
         f"{cell.alike[2 * h.hops - 1] - h.configuration_alike_returns_alike:,}",
         f"{h.same_edges:,}", f"{h.same_edges_alike:,}",
         percent(h.same_edges - h.same_edges_alike, h.same_edges)]
        for h in cell.radii
    ]  # fmt: skip
    head = ["K", "configurations differ", "of these alike at 2K",
            "first difference has equally many edges", "of these alike at 2K",
            "told apart (paper: 0 %)"]  # fmt: skip
    return (
        f"## Edge configurations, n = {cell.nodes}, r = {cell.degree}\n\nThe proof "
        "rests on edge configurations C^k, k < K (Definition 6), and says that the "
        "returns of a pair collide when the first C^k that differs has the same number "
        "Σ i·a^(i,k) of edges. They need not: a walk of 2(k+1) steps that turns round "
        "in shell k+1 counts Σ w², w being the number of shortest ways to a node of "
        "that shell, which is Σ i²·a^(i,k) below a tree.\n\n" + _table(head, rows)
    )


def graph_section(record: Theorem1Record) -> str:
    """Return the table of graph pairs over t."""
    last = min(8, record.config.steps)
    rows = [
        [str(c.nodes), str(c.degree), str(c.graph_pairs - c.graph_isomorphic),
         *(str(c.graph_pairs - a) for a in c.graph_alike[1:last])]
        for c in record.cells
    ]  # fmt: skip
    head = ["n", "r", "pairs", *(f"t = {t}" for t in range(2, last + 1))]
    left = sum(c.graph_alike[-1] - c.graph_isomorphic for c in record.cells)
    return (
        "## Pairs of graphs\n\nTold apart by the multiset of the first t returns of "
        f"all nodes. After {record.config.steps} steps {left} pairs of non-isomorphic "
        "graphs are left.\n\n" + _table(head, rows)
    )


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["--:"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _growth(record: Theorem1Record) -> str:
    """Say how n times the rate changes from one n to the next of equal K and r."""
    steps = grown = 0
    for (a, h), (b, g) in pairwise(at_bound(record)):
        if a.degree == b.degree and h.hops == g.hops:
            before = a.nodes * rate(a.collisions(h, 2 * h.hops), a.different(h))
            after = b.nodes * rate(b.collisions(g, 2 * g.hops), b.different(g))
            steps, grown = steps + 1, grown + (after > before)
    if not steps:
        return ""
    return f"From one n to the next of equal r and K it grew {grown} of {steps} times."


def _effective(own: int, context: int, different: int) -> str:
    """Return the s for which p^s is the rate with context."""
    if not context or own == different:
        return "–"
    ratio = math.log(context / different) / math.log(own / different)
    return f"{ratio:.1f}"
