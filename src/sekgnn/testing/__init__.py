"""Helpers for tests of code that uses this library; needs hypothesis."""

from sekgnn.graphs.extras import require

require("hypothesis", "dev")

from sekgnn.testing.brute_force import brute_force_encoding  # noqa: E402
from sekgnn.testing.brute_force_wl import (  # noqa: E402
    brute_force_rounds,
    brute_force_values,
)
from sekgnn.testing.strategies import (  # noqa: E402
    assert_permutation_equivariant,
    graphs,
    labelled_graphs,
    walk_encodings,
)

__all__ = [
    "assert_permutation_equivariant",
    "brute_force_encoding",
    "brute_force_rounds",
    "brute_force_values",
    "graphs",
    "labelled_graphs",
    "walk_encodings",
]
