r"""What a simulation of Theorem 1 looks at, and what the theorem says about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError

BEYOND = 4
"""Steps looked at beyond 2K for the largest K."""
MEMORY = 4 * 2**30
"""Bytes that the context multisets of one configuration may need."""


@dataclass(frozen=True)
class Theorem1Config:
    """Random regular graphs to draw, and how far to look.

    Lists are sorted and freed of repetitions, so that equal jobs are equal objects.

    Args:
        nodes: Numbers of nodes n.
        degrees: Degrees r, at least 3 as in the theorem.
        hops: Radii K of the ego-nets.
        graphs: Graphs drawn for each n and r, at least 2.
        seed: Of the graphs; those of one n and r do not depend on the other lists.
        self_loops: Walk on A + I (the paper's P) or on A.

    Raises:
        ConfigError: If a number cannot work, or no such graph exists.
    """

    nodes: tuple[int, ...] = (50, 100, 200, 500, 1000, 2000)
    degrees: tuple[int, ...] = (3, 4)
    hops: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    graphs: int = 10
    seed: int = 0
    self_loops: bool = True

    def __post_init__(self) -> None:
        """Check every parameter, and every pair of n and r, before anything runs."""
        for name, minimum in (("nodes", 2), ("degrees", 3), ("hops", 1)):
            values = _numbers(name, getattr(self, name), minimum)
            object.__setattr__(self, name, values)
        check_positive("graphs", self.graphs, 2)
        check_positive("seed", self.seed, 0)
        for n, r in self.cells:
            if r >= n:
                raise ConfigError(
                    f"no graph with {n} nodes is {r}-regular: a degree must be below "
                    f"the number of nodes; use more than {r} nodes."
                )
            if n * r % 2:
                raise ConfigError(
                    f"no graph with {n} nodes is {r}-regular: {n} * {r} edge ends do "
                    f"not pair up; use an even number of nodes, such as {n + 1}."
                )
        largest = self.graphs * self.nodes[-1]
        need = 16 * largest * (self.hops[-1] + 1) * self.steps
        if need > MEMORY:
            raise ConfigError(
                f"{self.graphs} graphs of {self.nodes[-1]} nodes would need "
                f"{need / 2**30:.1f} GiB for K = {self.hops[-1]}; use fewer or smaller "
                f"graphs, at most {MEMORY / 2**30:.0f} GiB."
            )

    @property
    def steps(self) -> int:
        """Walk length looked at: 2K of the largest K, and a little beyond."""
        return 2 * self.hops[-1] + BEYOND

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Every (n, r), in the order in which they are run."""
        return [(n, r) for r, n in product(self.degrees, self.nodes)]

    def to_dict(self) -> dict[str, Any]:
        """Return the constructor's arguments as plain JSON values."""
        return {
            "nodes": list(self.nodes),
            "degrees": list(self.degrees),
            "hops": list(self.hops),
            "graphs": self.graphs,
            "seed": self.seed,
            "self_loops": self.self_loops,
        }


def degree_in_range(nodes: int, degree: int) -> bool:
    r"""Say whether :math:`3 \le r < \sqrt{2 \ln 2n}`, as Theorem 1 asks.

    Example:
        >>> degree_in_range(44, 3), degree_in_range(46, 3), degree_in_range(1492, 4)
        (False, True, True)
    """
    return 3 <= degree < math.sqrt(2 * math.log(2 * nodes))


def hop_bound(nodes: int, degree: int) -> int:
    r"""Return :math:`\lceil \frac{\log 2n}{2 \log(r-1)} + 1 \rceil`, for r > 2.

    That is the largest K of Theorem 1, and the K of its proof, as ε goes to 0. The
    theorem claims all K up to a bound that is at least this one.

    Example:
        >>> hop_bound(50, 3), hop_bound(1000, 3)
        (5, 7)
    """
    return math.ceil(math.log(2 * nodes) / (2 * math.log(degree - 1)) + 1)


def _numbers(name: str, values: Sequence[int], minimum: int) -> tuple[int, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ConfigError(f"{name} must be a list of integers, got {values!r}.")
    return tuple(sorted({check_positive(name, value, minimum) for value in values}))
