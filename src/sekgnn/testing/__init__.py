"""Helpers to test code that uses this library; needs hypothesis."""

from sekgnn.checks import require

require("hypothesis", "dev")

from sekgnn.testing.strategies import (  # noqa: E402
    assert_permutation_equivariant,
    graphs,
    labelled_graphs,
    walk_encodings,
)

__all__ = [
    "assert_permutation_equivariant",
    "graphs",
    "labelled_graphs",
    "walk_encodings",
]
