"""What a simulation of Theorem 1 counted: whole numbers, and their fractions."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from sekgnn.errors import ConfigError
from sekgnn.studies.theorem1_config import (
    Theorem1Config,
    degree_in_range,
    hop_bound,
)

FORMAT = 1
Counts = tuple[int, ...]
"""One count per number of steps t = 1..L."""


@dataclass(frozen=True)
class HopCounts:
    """Pairs of nodes of different graphs, seen with ego-nets of one radius K.

    *Alike* means: equal in the first t returns. A *collision* is a pair that is alike
    although its rooted ego-nets are not isomorphic.

    Attributes:
        hops: K.
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

    hops: int
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
    radii: tuple[HopCounts, ...]
    seconds: float = field(default=0.0, compare=False)

    @property
    def in_range(self) -> bool:
        """Whether the degree is one that Theorem 1 speaks of."""
        return degree_in_range(self.nodes, self.degree)

    @property
    def hop_bound(self) -> int:
        """The largest K that Theorem 1 surely speaks of."""
        return hop_bound(self.nodes, self.degree)

    def radius(self, hops: int) -> HopCounts | None:
        """Return the counts for one K, or None if it was not looked at."""
        return next((h for h in self.radii if h.hops == hops), None)

    def ball_mean(self, h: HopCounts) -> float:
        """Return the mean number of nodes of an ego-net."""
        return h.ball_nodes / (self.graphs * self.nodes)

    def different(self, h: HopCounts) -> int:
        """Return the number of pairs with different rooted ego-nets."""
        return self.pairs - h.isomorphic

    def collisions(self, h: HopCounts, step: int) -> int:
        """Return the pairs that the first ``step`` returns wrongly take for equal."""
        return self.alike[step - 1] - h.alike_isomorphic[step - 1]

    def ego_collisions(self, h: HopCounts, step: int) -> int:
        """Return the same for walks on the ego-nets.

        These depend on the rooted ego-net alone, so isomorphic pairs are always alike.
        """
        return h.ego_alike[step - 1] - h.isomorphic

    def context_collisions(self, h: HopCounts, step: int) -> int:
        """Return the same for own returns and the multiset over the ego-net."""
        return h.context_alike[step - 1] - h.context_alike_isomorphic[step - 1]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Cell:
        """Return the cell that :func:`dataclasses.asdict` was made of."""
        radii = tuple(HopCounts(**_frozen(h)) for h in values["radii"])
        return cls(**{**_frozen(values), "radii": radii})


@dataclass(frozen=True)
class Theorem1Record:
    """One run: what was asked, what was counted, and with what.

    Attributes:
        config: What was asked.
        cells: One per n and r.
        versions: Of the packages; not compared.
        commit: Of the source code, if known; not compared.
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
        """Return the record that :meth:`to_json` wrote.

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
