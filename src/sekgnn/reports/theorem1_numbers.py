"""Fractions of a record of Theorem 1, and how to write them."""

from __future__ import annotations

import math

from sekgnn.studies.theorem1_record import Cell, Theorem1Record


def rate(part: int, whole: int) -> float:
    """Return ``part / whole``, or 0 of nothing."""
    return part / whole if whole else 0.0


def percent(part: int, whole: int) -> str:
    """Write a share in percent that never rounds to 0 or 100 what is neither.

    Example:
        >>> percent(1, 3), percent(0, 5), percent(5, 5), percent(99999, 100000)
        ('33.3 %', '0 %', '100 %', '99.999 %')
    """
    if not whole:
        return "–"
    if part in (0, whole):
        return "100 %" if part else "0 %"
    value = 100 * part / whole
    near = min(value, 100 - value)
    digits = 1 if near >= 1 else -math.floor(math.log10(near))
    return f"{value:.{digits}f} %"


def scientific(part: int, whole: int) -> str:
    """Write a rate with two digits, and nothing found as what it then is below.

    Example:
        >>> scientific(3, 200), scientific(0, 1000)
        ('1.5e-02', 'none in 1,000')
    """
    return f"{part / whole:.1e}" if part else f"none in {whole:,}"


def predicted_log10(p: float, size: float) -> float:
    """Return log10 of p to the power of ``size``, the paper's rate with context."""
    return size * math.log10(p) if p > 0 else -math.inf


def power(log10: float) -> str:
    """Write 10 to a power.

    Example:
        >>> power(-0.1), power(-20.2)
        ('0.79', '6e-21')
    """
    if log10 > -2:
        return f"{10**log10:.2g}"
    exponent = math.floor(log10)
    return f"{10 ** (log10 - exponent):.0f}e{exponent}"


def main_cell(record: Theorem1Record) -> Cell:
    """Return the largest cell in the theorem's range, of the smallest degree there.

    If no cell is in range, the largest of the smallest degree.
    """
    cells = [cell for cell in record.cells if cell.in_range] or list(record.cells)
    return min(cells, key=lambda cell: (cell.degree, -cell.nodes))
