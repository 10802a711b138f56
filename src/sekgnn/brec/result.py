"""The score of a model on BREC: numbers per pair, counts per category."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from sekgnn.brec.protocol import RPCProtocol
from sekgnn.datasets.brec import CATEGORIES

INVARIANT = 1e-3
"""Outputs for copies of one graph may scatter by less than this part of their size."""


@dataclass(frozen=True)
class PairScore:
    """What came of one pair.

    Attributes:
        index: Number of the pair in BREC.
        category: A key of :data:`sekgnn.datasets.CATEGORIES`.
        graphs: Fingerprint of the two graphs.
        t2: T² between the two graphs.
        t2_reliability: T² between copies of one graph.
        spread: Scatter of the outputs for copies of one graph, relative to their size.
        threshold: What they were compared with.
        loss: Mean loss of the last epoch; ``None`` if nothing was trained.
        epochs: Epochs trained.
    """

    index: int
    category: str
    graphs: str
    t2: float
    t2_reliability: float
    spread: float
    threshold: float
    loss: float | None
    epochs: int

    @property
    def reliable(self) -> bool:
        """Whether copies of one graph were *not* told apart."""
        return self.t2_reliability < self.threshold

    @property
    def separated(self) -> bool:
        """Whether the pair counts: T² above the threshold, and reliably so."""
        return self.t2 > self.threshold and self.reliable

    @property
    def invariant(self) -> bool:
        """Whether copies of one graph had the same output, up to rounding errors."""
        return self.spread < INVARIANT


@dataclass(frozen=True)
class CategoryCount:
    """Counts of one category.

    Attributes:
        separated: Pairs told apart, reliably.
        failures: Pairs that failed the reliability check.
        total: Pairs looked at.
    """

    separated: int
    failures: int
    total: int


@dataclass(frozen=True)
class BRECScore:
    """The score of a model on some or all pairs of BREC.

    Attributes:
        model: The model as it prints.
        transform: The transform as it prints; ``None`` if there was none.
        protocol: The settings.
        versions: Of the libraries that computed it.
        pairs: One entry per pair, in the order in which they were given.
    """

    model: str
    transform: str | None
    protocol: RPCProtocol
    versions: dict[str, str]
    pairs: tuple[PairScore, ...]

    @property
    def separated(self) -> int:
        """Number of pairs told apart, the BREC score if all 400 were looked at."""
        return sum(pair.separated for pair in self.pairs)

    @property
    def failures(self) -> int:
        """Number of pairs that failed the reliability check."""
        return sum(not pair.reliable for pair in self.pairs)

    @property
    def reliable(self) -> bool:
        """Whether no pair failed the reliability check."""
        return self.failures == 0

    @property
    def invariant(self) -> bool:
        """Whether copies of one graph always had the same output."""
        return all(pair.invariant for pair in self.pairs)

    def by_category(self) -> dict[str, CategoryCount]:
        """Return the counts of the categories that occur, in the order of tables."""
        counts = {}
        known = [*CATEGORIES, *sorted({p.category for p in self.pairs} - {*CATEGORIES})]
        for category in known:
            chosen = [pair for pair in self.pairs if pair.category == category]
            if chosen:
                counts[category] = CategoryCount(
                    separated=sum(pair.separated for pair in chosen),
                    failures=sum(not pair.reliable for pair in chosen),
                    total=len(chosen),
                )
        return counts

    def table(self) -> str:
        """Return the counts as text, and below them what to think of them."""
        rows = [
            (CATEGORIES.get(name, name), count.separated, count.total, count.failures)
            for name, count in self.by_category().items()
        ]
        rows.append(("total", self.separated, len(self.pairs), self.failures))
        lines = [f"{'category':<20}{'separated':>10}{'of':>6}{'unreliable':>12}"]
        lines += [f"{name:<20}{a:>10}{n:>6}{bad:>12}" for name, a, n, bad in rows]
        return "\n".join([*lines, "", self.sentence()])

    def sentence(self) -> str:
        """Say in words how far the score can be trusted."""
        total = len(self.pairs)
        if self.failures:
            return (
                f"NOT RELIABLE: in {self.failures} of {total} pairs the model told "
                "copies of one and the same graph apart. Its output depends on the "
                "order of nodes or on chance; do not rely on the separated pairs."
            )
        if not self.invariant:
            many = sum(not pair.invariant for pair in self.pairs)
            return (
                f"NOT INVARIANT: in {many} of {total} pairs the output changed between "
                "copies of one and the same graph, though not its mean. It depends on "
                "the order of nodes or on chance; more pairs or seeds would show more."
            )
        return "Reliable: copies of one graph were never told apart."

    def to_json(self) -> str:
        """Return everything as JSON text, one line per pair."""
        head = {
            "model": self.model,
            "transform": self.transform,
            "protocol": self.protocol.to_dict(),
            "versions": self.versions,
            "separated": self.separated,
            "failures": self.failures,
        }
        lines = [f" {json.dumps(key)}: {json.dumps(head[key])}," for key in head]
        rows = ",\n".join(f"  {json.dumps(asdict(pair))}" for pair in self.pairs)
        return "\n".join(["{", *lines, ' "pairs": [', rows, " ]", "}"]) + "\n"

    @classmethod
    def from_json(cls, text: str) -> BRECScore:
        """Return what :meth:`to_json` wrote.

        Raises:
            ValueError: If the text is not of that form.
        """
        try:
            content: dict[str, Any] = json.loads(text)
            return cls(
                model=content["model"],
                transform=content["transform"],
                protocol=RPCProtocol(**content["protocol"]),
                versions=content["versions"],
                pairs=tuple(PairScore(**row) for row in content["pairs"]),
            )
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not the record of a BREC score ({error})") from error
