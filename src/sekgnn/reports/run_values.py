"""How numbers of runs are written: percent, significant digits, a dash for nothing."""

from __future__ import annotations

import math

NOTHING = "–"
"""Stands for a number that is missing or not finite."""


def show_value(metric: str, value: float | None) -> str:
    """Return a number of a metric: accuracies in percent, without the sign.

    Example:
        >>> show_value("test_accuracy", 0.9225), show_value("test_mae", 0.0312345)
        ('92.2', '0.03123')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    return _unsigned_zero(format(_scale(metric) * value, _form(metric)))


def show_result(metric: str, value: float | None, spread: float | None) -> str:
    """Return a number with its spread, if it has one, and its unit.

    Example:
        >>> show_result("test_accuracy", 0.922, 0.062)
        '92.2 ± 6.2 %'
    """
    text = show_value(metric, value)
    if text == NOTHING:
        return NOTHING
    if spread is not None and math.isfinite(spread):
        text += f" ± {show_value(metric, spread)}"
    return f"{text} %" if _is_share(metric) else text


def show_difference(metric: str, difference: float | None) -> str:
    """Return how far a number is from another one, with its sign.

    Example:
        >>> show_difference("test_accuracy", -0.0123)
        '-1.2'
    """
    if difference is None or not math.isfinite(difference):
        return NOTHING
    return _unsigned_zero(format(_scale(metric) * difference, "+" + _form(metric)))


def show_seconds(seconds: float) -> str:
    """Return a time in seconds, rounded to what matters."""
    if not math.isfinite(seconds):
        return NOTHING
    return f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.1f}"


def _is_share(metric: str) -> bool:
    return "accuracy" in metric


def _scale(metric: str) -> float:
    return 100.0 if _is_share(metric) else 1.0


def _form(metric: str) -> str:
    if _is_share(metric):
        return ".1f"
    return ".4f" if "log10" in metric else ".4g"


def _unsigned_zero(text: str) -> str:
    return text.lstrip("+-") if float(text) == 0 else text
