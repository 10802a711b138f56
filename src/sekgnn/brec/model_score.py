"""The score of a model on BREC: settings, numbers per pair, counts, and its file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sekgnn.brec.hotelling import EPSILON, critical_t2
from sekgnn.checks import check_choice, check_positive
from sekgnn.datasets.brec import CATEGORIES
from sekgnn.errors import ConfigError
from sekgnn.files import write_atomically

STATISTICS = ("hotelling", "released")
INVARIANT = 1e-3
"""Outputs for copies of one graph may scatter by less than this part of their size."""


@dataclass(frozen=True)
class RPCProtocol:
    r"""How one pair is compared; the defaults are those of BREC's released code.

    A fresh model is trained for each pair, on relabelled copies of its two graphs, to
    give them different directions: the loss is
    :math:`\max(0, \cos(x_i, y_i) - \text{margin})`, by Adam, with the learning rate
    reduced when the loss no longer falls.

    Attributes:
        copies: q, relabelled copies of each graph.
        epochs: Passes over them, at most; 0 compares the untrained model.
        batch_size: Graphs per step, even: half of them of each graph.
        learning_rate: Of Adam.
        weight_decay: Of Adam.
        margin: Of the loss.
        stop_loss: Training ends when the mean loss of an epoch is below this.
        statistic: ``"hotelling"``, or ``"released"`` to compare with published scores;
            :mod:`sekgnn.brec.hotelling` tells the difference.
        epsilon: Relative size of rounding errors, for ``"hotelling"``.
        threshold: What T² must exceed; ``None`` for the 95 % point of T² for the
            model's output dimension, to two decimals: 72.34 for 32 copies and 16
            dimensions, as in BREC.
        seed: Everything random follows from it and the number of the pair.

    Raises:
        ConfigError: If a value cannot work.
    """

    copies: int = 32
    epochs: int = 20
    batch_size: int = 16
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    margin: float = 0.0
    stop_loss: float = 0.2
    statistic: Literal["hotelling", "released"] = "hotelling"
    epsilon: float = EPSILON
    threshold: float | None = None
    seed: int = 2023

    def __post_init__(self) -> None:
        """Check every value."""
        check_positive("copies", self.copies, 2)
        check_positive("epochs", self.epochs, 0)
        check_positive("batch_size", self.batch_size, 2)
        check_positive("seed", self.seed, 0)
        check_choice("statistic", self.statistic, STATISTICS)
        if self.batch_size % 2:
            raise ConfigError(
                f"batch_size must be even, got {self.batch_size}: a batch holds as "
                "many copies of the one graph as of the other."
            )
        above = ("learning_rate", "epsilon", "threshold")
        for name in (*above, "weight_decay", "margin", "stop_loss"):
            value = getattr(self, name)
            if name == "threshold" and value is None:
                continue
            fits = isinstance(value, float | int) and math.isfinite(value)
            if not fits or (name in above and not value > 0):
                kind = "a number above 0" if name in above else "a finite number"
                raise ConfigError(f"{name} must be {kind}, got {value!r}.")

    def threshold_for(self, dim: int) -> float:
        """Return the threshold for outputs of ``dim`` dimensions.

        Raises:
            ConfigError: If ``dim`` is not below ``copies``.

        Example:
            >>> RPCProtocol().threshold_for(16)
            72.34
        """
        critical = critical_t2(self.copies, dim)
        return round(critical, 2) if self.threshold is None else float(self.threshold)


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
            "protocol": asdict(self.protocol),
            "versions": self.versions,
            "separated": self.separated,
            "failures": self.failures,
        }
        return json_rows(head, "pairs", [asdict(pair) for pair in self.pairs])

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


def read_record(
    path: str | os.PathLike[str], score: BRECScore, graphs: dict[int, str]
) -> dict[int, PairScore]:
    """Return the pairs an earlier run has finished, by number.

    Args:
        path: The file; nothing is finished if there is none.
        score: What this run will write, without pairs.
        graphs: Fingerprints of the graphs of this run's pairs, by number.

    Raises:
        ConfigError: If the file is damaged, or was written for another model,
            transform, protocol or other graphs.
    """
    file = Path(path)
    if not file.exists():
        return {}
    try:
        earlier = BRECScore.from_json(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path} cannot be continued: {error}; remove it or choose another file."
        ) from error
    for part in ("model", "transform", "protocol"):
        was, now = getattr(earlier, part), getattr(score, part)
        if was != now:
            raise ConfigError(
                f"{path} was written with another {part}; choose another file, or "
                f"remove it to start again. It says\n{was}\nand this run has\n{now}"
            )
    done = {pair.index: pair for pair in earlier.pairs}
    for index, fingerprint in graphs.items():
        if index in done and done[index].graphs != fingerprint:
            raise ConfigError(
                f"{path} holds pair {index} with other graphs; choose another file."
            )
    return done


def write_record(
    path: str | os.PathLike[str], score: BRECScore, done: dict[int, PairScore]
) -> None:
    """Write all finished pairs, in order of their numbers; all or nothing.

    Raises:
        OutputError: If the file cannot be written.
    """
    pairs = tuple(done[index] for index in sorted(done))
    text = replace(score, pairs=pairs).to_json()
    write_atomically(path, lambda file: file.write(text.encode("utf-8")))


def json_rows(head: Mapping[str, Any], name: str, rows: Sequence[Any]) -> str:
    """Return a JSON object: ``head``, then a list with a line for each of ``rows``."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    body = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return "\n".join(["{", *lines, f' "{name}": [', body, " ]", "}"]) + "\n"
