"""A page that puts Theorem 1 beside what was counted; every number is the record's."""

from __future__ import annotations

from sekgnn.reports.theorem1_numbers import percent, power, predicted_log10, rate
from sekgnn.reports.theorem1_tables import (
    at_bound,
    bound_section,
    context_section,
    edges_section,
    graph_section,
    hops_section,
    largest_cells,
)
from sekgnn.reports.theorem1_text import (
    FACTS,
    INTRODUCTION,
    METHOD,
    examples_section,
)
from sekgnn.studies.theorem1_record import Cell, Theorem1Record


def theorem1_page(record: Theorem1Record, figure: str = "theorem1.png") -> str:
    """Return the results page in Markdown.

    Args:
        record: From :func:`~sekgnn.studies.theorem1.run_theorem1`.
        figure: Path of the figure, relative to the page.
    """
    sections = [
        "# Theorem 1, seen",
        INTRODUCTION,
        f"![what t returns tell apart]({figure})",
        _verdicts(record),
        bound_section(record),
        *(hops_section(cell) for cell in largest_cells(record)),
        context_section(record),
        edges_section(record),
        graph_section(record),
        FACTS,
        examples_section(),
        METHOD,
        _provenance(record),
    ]
    return "\n\n".join(section.strip() for section in sections) + "\n"


def _claimed(record: Theorem1Record) -> list[tuple[Cell, int]]:
    """Return every cell and K that the theorem speaks of."""
    return [
        (cell, h.hops)
        for cell in record.cells
        for h in cell.radii
        if cell.in_range and h.hops <= cell.hop_bound and cell.different(h)
    ]


def _verdicts(record: Theorem1Record) -> str:
    """Say in words where claim and count agree and where not."""
    claimed = _claimed(record)
    broken, after, total, later = 0, 0, 0, 0
    for cell, hops in claimed:
        h = cell.radius(hops)
        assert h is not None
        total += cell.different(h)
        after += cell.collisions(h, 2 * hops)
        later += cell.collisions(h, 2 * hops + 1)
        broken += cell.collisions(h, 2 * hops) > 0
    edges = sum(h.same_edges for cell in record.cells for h in cell.radii)
    edges_alike = sum(h.same_edges_alike for cell in record.cells for h in cell.radii)
    worst, where = _worst_context(record)
    held = "are not" if broken else "were found to be"
    items = [
        f"**2K steps {held} sufficient.** Of {len(claimed)} combinations of n, r and "
        f"K that the theorem speaks of, {broken} have pairs with different ego-nets "
        f"that 2K returns do not tell apart: {after:,} of {total:,} pairs "
        f"({percent(after, total)}; a pair counts once for every K). One step more "
        f"leaves {later:,} ({percent(later, total)}).",
        "**K = 1 always fails.** Two returns are 1/(r+1) each on every regular graph.",
    ]
    if not claimed:
        items[0] = "**No degree of this run is in the theorem's range.**"
    least = _least_at_bound(record)
    if least:
        items.append(
            "**At the theorem's own K, its largest as ε goes to 0,** at least "
            f"{least} of the pairs are told apart wherever r is in range."
        )
    if where:
        items.append(
            "**Context helps, but not as the paper's formula says.** The multiset over "
            "the ego-net collides less than a node's own returns, and more often than "
            f"p to the power of the size: up to {worst} times as often ({where}). "
            "Collisions of neighbouring nodes are not independent: what is out of "
            "sight of one is mostly out of sight of the others."
        )
    if edges:
        items.append(
            "**Equal numbers of edges are not what makes returns collide.** The proof "
            "says that pairs whose edge configurations differ while their numbers of "
            "edges agree cannot be told apart. Of "
            f"{edges:,} such pairs (once for every K), 2K returns tell "
            f"{edges - edges_alike:,} ({percent(edges - edges_alike, edges)}) apart."
        )
    return "## In short\n\n" + "\n".join(f"- {item}" for item in items)


def _worst_context(record: Theorem1Record) -> tuple[str, str]:
    """Return how far the context's rate exceeds the claim most, and where."""
    best, found = 0.0, ("", "")
    for cell in record.cells:
        for h in cell.radii:
            c = rate(cell.context_collisions(h, 2 * h.hops), cell.different(h))
            p = rate(cell.collisions(h, 2 * h.hops), cell.different(h))
            if c == 0 or p == 1:
                continue
            excess = -predicted_log10(p, cell.ball_mean(h)) + predicted_log10(c, 1)
            if excess > best:
                place = f"n = {cell.nodes}, r = {cell.degree}, K = {h.hops}"
                best, found = excess, (power(excess), place)
    return found


def _least_at_bound(record: Theorem1Record) -> str:
    """Return the smallest share told apart at the theorem's own K, in range."""
    shares = []
    for cell, h in at_bound(record):
        d = cell.different(h)
        if cell.in_range:
            shares.append((1 - cell.collisions(h, 2 * h.hops) / d, cell, h))
    if not shares:
        return ""
    _, cell, h = min(shares, key=lambda item: item[0])
    d = cell.different(h)
    return percent(d - cell.collisions(h, 2 * h.hops), d)


def _provenance(record: Theorem1Record) -> str:
    c = record.config
    versions = ", ".join(f"{name} {v}" for name, v in record.versions.items())
    seconds = sum(cell.seconds for cell in record.cells)
    return (
        f"## This run\n\n{c.graphs} graphs for each n and r, seed {c.seed}, walks "
        f"{'with' if c.self_loops else 'without'} self-loops, {c.steps} steps; "
        f"{seconds:.0f} s. {versions}; commit {record.commit or 'unknown'}. Every "
        "count is in theorem1.json; `sekgnn theorem1` makes all three files anew."
    )
