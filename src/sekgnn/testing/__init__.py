"""Helpers for tests of code that uses this library; needs hypothesis."""

from sekgnn.errors import MissingExtraError

try:
    import hypothesis as _hypothesis
except ImportError as error:
    raise MissingExtraError(
        "sekgnn.testing needs hypothesis. Install it with: pip install 'sekgnn[dev]'"
    ) from error

from sekgnn.testing.equivariance import assert_permutation_equivariant
from sekgnn.testing.strategies import graphs

__all__ = ["assert_permutation_equivariant", "graphs"]
