"""Settings, counts and JSON record of a simulation of Theorem 1."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError

BEYOND = 4
"""Steps beyond 2K for the largest K."""
MEMORY = 4 * 2**30
"""Bytes that the context multisets of one configuration may need."""


@dataclass(frozen=True)
class Theorem1Config:
    """Random regular graphs to draw, and radii.

    Lists are sorted and deduplicated, so equal jobs are equal objects.

    Args:
        nodes: Numbers of nodes n.
        degrees: Degrees r, at least 3 as in the theorem.
        radii: Radii K of the ego-nets.
        graphs: Graphs drawn for each n and r, at least 2.
        seed: Seed of the graphs; those of one n and r do not depend on the lists.
        self_loops: Walk on A + I (the paper's P) or on A.

    Raises:
        ConfigError: If a number is invalid, or no such graph exists.
    """

    nodes: tuple[int, ...] = (50, 100, 200, 500, 1000, 2000)
    degrees: tuple[int, ...] = (3, 4)
    radii: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    graphs: int = 10
    seed: int = 0
    self_loops: bool = True

    def __post_init__(self) -> None:
        """Check every parameter, and every pair of n and r, before anything runs."""
        for name, minimum in (("nodes", 2), ("degrees", 3), ("radii", 1)):
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
        need = 16 * largest * (self.radii[-1] + 1) * self.steps
        if need > MEMORY:
            raise ConfigError(
                f"{self.graphs} graphs of {self.nodes[-1]} nodes would need "
                f"{need / 2**30:.1f} GiB for K = {self.radii[-1]}; use fewer or "
                f"smaller graphs, at most {MEMORY / 2**30:.0f} GiB."
            )

    @property
    def steps(self) -> int:
        """Walk length: 2K of the largest K, and a little more."""
        return 2 * self.radii[-1] + BEYOND

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Every (n, r), in the order of the runs."""
        return [(n, r) for r, n in product(self.degrees, self.nodes)]

    def to_dict(self) -> dict[str, Any]:
        """Return the constructor's arguments as plain JSON values."""
        values = asdict(self)
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def degree_in_range(nodes: int, degree: int) -> bool:
    r"""Return whether :math:`3 \le r < \sqrt{2 \ln 2n}`, as Theorem 1 requires.

    Example:
        >>> degree_in_range(44, 3), degree_in_range(46, 3), degree_in_range(1492, 4)
        (False, True, True)
    """
    return 3 <= degree < math.sqrt(2 * math.log(2 * nodes))


def radius_bound(nodes: int, degree: int) -> int:
    r"""Return :math:`\lceil \frac{\log 2n}{2 \log(r-1)} + 1 \rceil`, for r > 2.

    That is the largest K of Theorem 1, and the K of its proof, as ε goes to 0. The
    theorem claims all K up to a bound that is at least this one.

    Example:
        >>> radius_bound(50, 3), radius_bound(1000, 3)
        (5, 7)
    """
    return math.ceil(math.log(2 * nodes) / (2 * math.log(degree - 1)) + 1)


def _numbers(name: str, values: Sequence[int], minimum: int) -> tuple[int, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ConfigError(f"{name} must be a list of integers, got {values!r}.")
    return tuple(sorted({check_positive(name, value, minimum) for value in values}))


FORMAT = 1
Counts = tuple[int, ...]
"""One count per number of steps t = 1..L."""


@dataclass(frozen=True)
class RadiusCounts:
    """Counts of pairs of nodes of different graphs, for one radius K.

    *Alike* means: equal in the first t returns. A *collision* is a pair that is alike
    although its rooted ego-nets are not isomorphic.

    Attributes:
        radius: K.
        ball_nodes: Sum of the sizes of all ego-nets.
        smallest: Nodes of the smallest ego-net.
        largest: Nodes of the largest.
        types: Different rooted ego-nets.
        isomorphic: Pairs with isomorphic rooted ego-nets.
        alike_isomorphic: Of these, alike on the whole graph.
        ego_alike: Pairs alike when each walk stays on its ego-net.
        context_alike: Pairs alike on the whole graph that also have equal multisets of
            the first t returns over the nodes of their ego-nets.
        context_alike_isomorphic: Of these, with isomorphic rooted ego-nets.
        internal_collisions: Collisions after 2K steps whose internal substructures
            (Definition 1) are not isomorphic either.
        configuration_alike: Pairs with equal edge configurations C^k for all k < K.
        configuration_alike_returns_alike: Of these, alike after 2K steps.
        same_edges: Pairs whose first different C^k, k < K, has equally many edges:
            those that the paper says returns cannot tell apart.
        same_edges_alike: Of these, alike after 2K steps.
    """

    radius: int
    ball_nodes: int
    smallest: int
    largest: int
    types: int
    isomorphic: int
    alike_isomorphic: Counts
    ego_alike: Counts
    context_alike: Counts
    context_alike_isomorphic: Counts
    internal_collisions: int
    configuration_alike: int
    configuration_alike_returns_alike: int
    same_edges: int
    same_edges_alike: int


@dataclass(frozen=True)
class Cell:
    """All counts for one number of nodes and one degree.

    Attributes:
        nodes: n.
        degree: r.
        graphs: Graphs drawn.
        pairs: Pairs of nodes of different graphs.
        alike: Of these, alike on the whole graph.
        own_pairs: Pairs of nodes of one graph.
        own_alike: Of these, alike on the whole graph.
        graph_pairs: Pairs of graphs.
        graph_isomorphic: Of these, isomorphic.
        graph_alike: Pairs of graphs with equal multisets of the nodes' returns.
        radii: One entry per K.
        seconds: Time it took; not compared.
    """

    nodes: int
    degree: int
    graphs: int
    pairs: int
    alike: Counts
    own_pairs: int
    own_alike: Counts
    graph_pairs: int
    graph_isomorphic: int
    graph_alike: Counts
    radii: tuple[RadiusCounts, ...]
    seconds: float = field(default=0.0, compare=False)

    @property
    def in_range(self) -> bool:
        """Whether the degree is in the range of Theorem 1."""
        return degree_in_range(self.nodes, self.degree)

    @property
    def radius_bound(self) -> int:
        """The largest K that is surely in the range of Theorem 1."""
        return radius_bound(self.nodes, self.degree)

    def counts(self, radius: int) -> RadiusCounts | None:
        """Return the counts for one K, if any."""
        return next((h for h in self.radii if h.radius == radius), None)

    def ball_mean(self, h: RadiusCounts) -> float:
        """Return the mean number of nodes of an ego-net."""
        return h.ball_nodes / (self.graphs * self.nodes)

    def different(self, h: RadiusCounts) -> int:
        """Return the number of pairs with different rooted ego-nets."""
        return self.pairs - h.isomorphic

    def collisions(self, h: RadiusCounts, step: int) -> int:
        """Return the number of collisions of the first ``step`` returns."""
        return self.alike[step - 1] - h.alike_isomorphic[step - 1]

    def ego_collisions(self, h: RadiusCounts, step: int) -> int:
        """Return the same for walks on the ego-nets.

        These depend on the rooted ego-net alone, so isomorphic pairs are always alike.
        """
        return h.ego_alike[step - 1] - h.isomorphic

    def context_collisions(self, h: RadiusCounts, step: int) -> int:
        """Return the same for a node's returns with the multiset over its ego-net."""
        return h.context_alike[step - 1] - h.context_alike_isomorphic[step - 1]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Cell:
        """Return a cell from its :func:`dataclasses.asdict`."""
        radii = tuple(RadiusCounts(**_frozen(h)) for h in values["radii"])
        return cls(**{**_frozen(values), "radii": radii})


@dataclass(frozen=True)
class Theorem1Record:
    """One run.

    Attributes:
        config: The settings.
        cells: Counts, one cell per n and r.
        versions: Versions of the packages; not compared.
        commit: Commit of the source, if known; not compared.
    """

    config: Theorem1Config
    cells: tuple[Cell, ...]
    versions: dict[str, str] = field(default_factory=dict, compare=False)
    commit: str | None = field(default=None, compare=False)

    def to_json(self) -> str:
        """Return the record as JSON; lists of numbers stay on one line."""
        head = {
            "format": FORMAT,
            "config": self.config.to_dict(),
            "steps": self.config.steps,
            "versions": self.versions,
            "commit": self.commit,
        }
        text = json.dumps(head, indent=1)[:-2]
        cells = ",\n  ".join(_cell_json(cell) for cell in self.cells)
        return f'{text},\n "cells": [\n  {cells}\n ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> Theorem1Record:
        """Return a record from :meth:`to_json`.

        Raises:
            ConfigError: If the text is not such a record.
        """
        try:
            values = json.loads(text)
            if values["format"] != FORMAT:
                raise ConfigError(
                    f"the record has format {values['format']}, not {FORMAT}; "
                    "run the command again to make a new one."
                )
            return cls(
                Theorem1Config(**_frozen(values["config"])),
                tuple(Cell.from_dict(cell) for cell in values["cells"]),
                values["versions"],
                values["commit"],
            )
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ConfigError(f"not a record of Theorem 1: {error!r}.") from error


def _cell_json(cell: Cell) -> str:
    values = asdict(cell)
    radii = values.pop("radii")
    lines = ",\n    ".join(json.dumps(h) for h in radii)
    return f'{json.dumps(values)[:-1]}, "radii": [\n    {lines}]}}'


def _frozen(values: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
