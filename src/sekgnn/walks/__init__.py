"""Random walks: landing and return probabilities, in float64 and exactly."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.walks.modular import PRIMES, modular_landing, residues
    from sekgnn.walks.returns import landing_probabilities, return_probabilities

__all__ = [
    "PRIMES",
    "landing_probabilities",
    "modular_landing",
    "residues",
    "return_probabilities",
]

__getattr__, __dir__ = lazy_names(__name__)
