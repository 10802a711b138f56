"""Checks of constructor arguments that several models share."""

from __future__ import annotations

import numbers

from sekgnn.encoding.spec import WalkEncoding
from sekgnn.errors import ConfigError


def check_spec(encoding: object) -> WalkEncoding:
    """Return ``encoding`` if it is a spec.

    Raises:
        ConfigError: If it is anything else.
    """
    if isinstance(encoding, WalkEncoding):
        return encoding
    raise ConfigError(
        f"encoding must be the WalkEncoding of the transform, got {encoding!r}; "
        "KHopGNN and GIN work without one."
    )


def check_dropout(dropout: object) -> float:
    """Return ``dropout`` if it is a probability below 1.

    Raises:
        ConfigError: If it is not.
    """
    real = isinstance(dropout, numbers.Real) and not isinstance(dropout, bool)
    if real and 0 <= float(dropout) < 1:  # type: ignore[arg-type]
        return float(dropout)  # type: ignore[arg-type]
    raise ConfigError(f"dropout must be a number in [0, 1), got {dropout!r}.")
