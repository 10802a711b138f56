"""A few lines on a run of Theorem 1, for the terminal."""

from __future__ import annotations

from sekgnn.reports.theorem1_numbers import main_cell, percent
from sekgnn.studies.theorem1_record import Theorem1Record


def summary(record: Theorem1Record) -> str:
    """Return what 2K and 2K + 1 steps tell apart in the main cell, a line per K."""
    cell = main_cell(record)
    lines = [
        f"n = {cell.nodes}, r = {cell.degree}: pairs of nodes with different ego-nets "
        "told apart",
        f"{'K':>3} {'pairs':>15} {'by 2K steps':>12} {'by 2K + 1':>12} "
        f"{'with context, 2K':>17}",
    ]
    for h in cell.radii:
        d, t = cell.different(h), 2 * h.hops
        apart = [
            d - cell.collisions(h, t),
            d - cell.collisions(h, t + 1),
            d - cell.context_collisions(h, t),
        ]
        first, second, third = (percent(part, d) for part in apart)
        lines.append(f"{h.hops:>3} {d:>15,} {first:>12} {second:>12} {third:>17}")
    return "\n".join(lines)
