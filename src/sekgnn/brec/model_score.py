"""The score of a model on BREC: settings, numbers per pair, counts, and its files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from sekgnn.brec.counts import by_category, count_table, json_rows
from sekgnn.brec.hotelling import critical_t2
from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError
from sekgnn.files import visible_names, write_files
from sekgnn.parsing import parse_as, read_as
from sekgnn.registry import parameter

INVARIANT = 1e-3
"""Outputs for copies of one graph may scatter by less than this part of their size."""

_RUN_FILE = "run.json"


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
        lr: Learning rate of Adam.
        weight_decay: Of Adam.
        margin: Of the loss.
        stop_loss: Training ends when the mean loss of an epoch is below this.
        decided: Training ends with the first batch in which the mean outputs of the two
            graphs differ by more than this part of the outputs' size, or by less than
            ``epsilon`` of it, which leaves nothing to follow; ``None`` for neither, as
            in BREC.
        epsilon: Relative size of rounding errors in T²; ``None`` for 1e-6 where the
            model's outputs are float32 and 1e-10 where they are float64.
        threshold: What T² must exceed; ``None`` for the 95 % point of T² for the
            model's output dimension, to two decimals: 72.34 for 32 copies and 16
            dimensions, as in BREC.
        seed: Everything random follows from it and the number of the pair.

    Raises:
        ConfigError: If a value cannot work.
    """

    copies: int = 32
    epochs: int = parameter(20, "largest number of epochs per pair")
    batch_size: int = parameter(
        16, "graphs per step, half of them copies of each graph"
    )
    lr: float = parameter(1e-4, "learning rate of Adam")
    weight_decay: float = parameter(1e-4, "L2 penalty of Adam")
    margin: float = parameter(
        0.0, "margin of the loss, the cosine below which a pair costs nothing"
    )
    stop_loss: float = parameter(0.2, "loss below which training ends")
    decided: float | None = parameter(
        None,
        "difference of a batch's outputs, as a part of their size, above which "
        "training ends; it then ends below rounding errors, too",
        shown="train on",
    )
    epsilon: float | None = parameter(
        None,
        "relative size of rounding errors of the outputs, below which nothing counts",
        shown="1e-6 in float32, 1e-10 in float64",
    )
    threshold: float | None = None
    seed: int = 2023

    def __post_init__(self) -> None:
        check_positive("copies", self.copies, 2)
        check_positive("epochs", self.epochs, 0)
        check_positive("batch_size", self.batch_size, 2)
        check_positive("seed", self.seed, 0)
        if self.batch_size % 2:
            raise ConfigError(
                f"batch_size must be even, got {self.batch_size}: a batch holds as "
                "many copies of the one graph as of the other."
            )
        optional = "decided", "epsilon", "threshold"
        above = ("lr", *optional)
        for name in (*above, "weight_decay", "margin", "stop_loss"):
            value = getattr(self, name)
            if name in optional and value is None:
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
        released_t2: The statistic of BREC's released code between the two graphs.
        released_reliability: The same between copies of one graph.
        spread: Scatter of the outputs for copies of one graph, relative to their size.
        threshold: What they were compared with.
        epsilon: Relative size of rounding errors that T² was computed with.
        loss: Mean loss of the last epoch; ``None`` if nothing was trained.
        epochs: Epochs trained.
        seconds: Processor time, without that of compiling kernels.
    """

    index: int
    category: str
    graphs: str
    t2: float
    t2_reliability: float
    released_t2: float
    released_reliability: float
    spread: float
    threshold: float
    epsilon: float
    loss: float | None
    epochs: int
    seconds: float = field(compare=False)

    @property
    def reliable(self) -> bool:
        """Whether copies of one graph were *not* told apart."""
        return self.t2_reliability < self.threshold

    @property
    def failed(self) -> bool:
        """Whether they were."""
        return not self.reliable

    @property
    def separated(self) -> bool:
        """Whether the pair counts: T² above the threshold, and reliably so."""
        return self.t2 > self.threshold and self.reliable

    @property
    def released_separated(self) -> bool:
        """Whether the released code calls the pair correct.

        Its statistic is above the threshold, and not close to that between copies of
        one graph, as ``torch.isclose(..., atol=1e-6)`` has it.
        """
        apart = abs(self.released_t2 - self.released_reliability)
        close = apart <= 1e-6 + 1e-5 * abs(self.released_reliability)
        return self.released_t2 > self.threshold and not close

    @property
    def released_failed(self) -> bool:
        """Whether the pair fails the reliability check of the released code."""
        return not self.released_reliability < self.threshold

    @property
    def invariant(self) -> bool:
        """Whether copies of one graph had the same output, up to rounding errors."""
        return self.spread < INVARIANT


class CategoryCount(NamedTuple):
    """Counts of one category, or of all.

    ``released`` are pairs that the released code calls correct, less those that fail
    its reliability check, correct or not (``released_failures``): its final score.
    """

    separated: int
    failures: int
    released: int
    released_failures: int
    total: int


@dataclass(frozen=True)
class BRECScore:
    """The score of a model on some or all pairs of BREC.

    Attributes:
        model: The model as it prints.
        transform: The transform as it prints; ``None`` if there was none.
        protocol: The settings.
        versions: Of the libraries that computed it.
        commits: Of the package; several if the run was continued by another one.
        pairs: One entry per pair, in the order in which they were given.
    """

    DERIVED: ClassVar = CategoryCount._fields
    model: str
    transform: str | None
    protocol: RPCProtocol
    versions: dict[str, str]
    commits: tuple[str, ...]
    pairs: tuple[PairScore, ...]

    @property
    def separated(self) -> int:
        """Number of pairs told apart, the BREC score if all 400 were looked at."""
        return sum(pair.separated for pair in self.pairs)

    @property
    def failures(self) -> int:
        """Number of pairs that failed the reliability check."""
        return sum(pair.failed for pair in self.pairs)

    @property
    def reliable(self) -> bool:
        """Whether no pair failed the reliability check."""
        return self.failures == 0

    @property
    def invariant(self) -> bool:
        """Whether copies of one graph always had the same output."""
        return all(pair.invariant for pair in self.pairs)

    @property
    def seconds(self) -> float:
        """Processor time of all pairs."""
        return sum(pair.seconds for pair in self.pairs)

    def without(self, numbers: Iterable[int]) -> BRECScore:
        """Return the score on the pairs that do not have these numbers."""
        left = {*numbers}
        return replace(self, pairs=tuple(p for p in self.pairs if p.index not in left))

    def by_category(self) -> dict[str, CategoryCount]:
        """Return the counts of the categories that occur, in the order of tables."""
        facts = "separated", "failed", "released_separated", "released_failed"
        return {
            name: CategoryCount(good, bad, correct - failed, failed, total)
            for name, (good, bad, correct, failed, total) in by_category(
                self.pairs, *facts
            ).items()
        }

    def counts(self) -> CategoryCount:
        """Return the counts over all categories."""
        columns = zip(*self.by_category().values(), strict=True)
        return CategoryCount(*map(sum, columns)) if self.pairs else _NOTHING

    def table(self) -> str:
        """Return the counts as text, and below them what to think of them."""
        columns = "separated", "unreliable", "released", "unreliable", "of"
        lines = count_table(columns, self.by_category(), self.counts())
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values, the pairs last."""
        content = asdict(self)
        pairs = content.pop("pairs")
        return content | self.counts()._asdict() | {"pairs": pairs}

    def to_json(self) -> str:
        """Return everything as JSON text, one line per pair."""
        content = self.to_dict()
        pairs = content.pop("pairs")
        return json_rows(content, "pairs", pairs)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> BRECScore:
        """Return what :meth:`to_dict` gave."""
        return read_as(cls, content)

    @classmethod
    def from_json(cls, text: str) -> BRECScore:
        """Return what :meth:`to_json` wrote; raise ValueError for another text."""
        return parse_as(cls, text)

    def check_same(self, other: BRECScore, where: object) -> None:
        """Raise ConfigError if the pairs of two scores do not belong together.

        These have the same model, transform and protocol; the other one is at
        ``where``.
        """
        for part in ("model", "transform", "protocol"):
            was, now = getattr(other, part), getattr(self, part)
            if was != now:
                raise ConfigError(
                    f"{where} was written with another {part}; choose another one, or "
                    f"remove it to start again. It says\n{was}\nand this run has\n{now}"
                )


_NOTHING = CategoryCount(0, 0, 0, 0, 0)


def open_record(folder: Path, score: BRECScore) -> BRECScore:
    """Begin a record of finished pairs in a folder, or continue the one that is there.

    Returns:
        The score, without pairs, with the commits of all runs that wrote to the record.

    Raises:
        ConfigError: If the folder holds a record of something else, or no record.
        OutputError: If it cannot be written to.
    """
    file = folder / _RUN_FILE
    if file.exists():
        earlier = _read(file, BRECScore.from_json)
        score.check_same(earlier, folder)
        commits = dict.fromkeys((*earlier.commits, *score.commits))
        score = replace(score, versions=earlier.versions, commits=tuple(commits))
    elif visible_names(folder):
        raise ConfigError(
            f"{folder} is neither empty nor a record of pairs; choose another folder."
        )
    write_files(folder, {_RUN_FILE: score.to_json().encode()})
    return score


def finished_pairs(folder: Path, graphs: Mapping[int, str]) -> dict[int, PairScore]:
    """Return the pairs of a record that are among those asked for, by number.

    ``graphs`` are the fingerprints of their graphs.

    Raises:
        ConfigError: If a file is damaged, or of other graphs.
    """
    done = {}
    for index, fingerprint in graphs.items():
        file = pair_file(folder, index)
        if not file.exists():
            continue
        done[index] = _read(file, partial(parse_as, PairScore))
        if done[index].graphs != fingerprint:
            raise ConfigError(
                f"{file} holds pair {index} with other graphs; choose another folder."
            )
    return done


def pair_file(folder: Path, index: int) -> Path:
    """Return the file of one pair in a record."""
    return folder / f"pair-{index:03d}.json"


def write_pair(folder: Path, pair: PairScore) -> None:
    """Add a finished pair to a record; all or nothing."""
    text = json.dumps(asdict(pair)) + "\n"
    write_files(folder, {pair_file(folder, pair.index).name: text.encode()})


def _read(file: Path, make: Any) -> Any:
    """Return what ``make`` makes of the text of a file."""
    try:
        return make(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{file} cannot be continued: {error}; remove it or choose another folder."
        ) from error
