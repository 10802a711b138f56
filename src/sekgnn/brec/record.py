"""The record of a score on BREC, of an exact test or a trained network."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypedDict, TypeVar

from sekgnn.datasets.wl_benchmarks import CATEGORIES
from sekgnn.errors import ConfigError, OutputError
from sekgnn.files import visible_names
from sekgnn.parsing import parse_json, read_as

INVARIANT = 1e-3
"""Largest scatter of the outputs for copies of one graph, relative to their size."""

_COLUMNS = {
    "separated": "separated", "failures": "unreliable", "released": "released",
    "released_failures": "unreliable", "total": "of",
}  # fmt: skip


class _OfTest(TypedDict):
    tests: list[dict[str, Any]]
    copies: int
    seed: int


class _OfNetwork(TypedDict):
    dtype: str
    transform: str | None
    protocol: dict[str, Any]


@dataclass(frozen=True)
class ExactPair:
    """The verdict of a test on one pair.

    Attributes:
        index: Number of the pair in BREC.
        category: A key of :data:`sekgnn.datasets.CATEGORIES`, or your own.
        seconds: Processor time, without copies.
        round: The round that separated the graphs; ``None`` for never.
        failures: Relabelled copies that were separated from their graph, in the rounds
            that decided the pair; should be 0.
    """

    index: int
    category: str
    seconds: float = field(compare=False)
    round: int | None
    failures: int

    @property
    def separated(self) -> bool:
        """Whether the graphs were separated."""
        return self.round is not None

    @property
    def counts(self) -> dict[str, int]:
        """The columns of tables to which the pair adds."""
        return {"separated": int(self.separated), "total": 1}


@dataclass(frozen=True)
class TrainedPair:
    """The statistics of a network on one pair.

    Attributes:
        index: Number of the pair in BREC.
        category: A key of :data:`sekgnn.datasets.CATEGORIES`, or your own.
        seconds: Processor time, without compilation.
        graphs: Fingerprint of the two graphs.
        t2: T² between the two graphs.
        t2_reliability: T² between copies of one graph.
        released_t2: The statistic of BREC's released code between the two graphs.
        released_reliability: The same between copies of one graph.
        spread: Scatter of the outputs for copies of one graph, relative to their size.
        threshold: Threshold of the statistics.
        epsilon: Relative size of rounding errors in T².
        loss: Mean loss of the last epoch; ``None`` if nothing was trained.
        epochs: Epochs trained.
    """

    index: int
    category: str
    seconds: float = field(compare=False)
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

    @property
    def failures(self) -> int:
        """1 if copies of one graph were separated, else 0."""
        return int(not self.t2_reliability < self.threshold)

    @property
    def separated(self) -> bool:
        """Whether T² is above the threshold for the pair, and below it for copies."""
        return self.t2 > self.threshold and not self.failures

    @property
    def invariant(self) -> bool:
        """Whether copies of one graph had the same output, up to rounding errors."""
        return self.spread < INVARIANT

    @property
    def counts(self) -> dict[str, int]:
        """The columns of tables to which the pair adds.

        The released code calls a pair correct if its statistic is above the threshold
        and not close to that between copies of one graph, by ``torch.isclose(...,
        atol=1e-6)``. It then subtracts all pairs that fail its reliability check.
        """
        apart = abs(self.released_t2 - self.released_reliability)
        close = apart <= 1e-6 + 1e-5 * abs(self.released_reliability)
        correct = self.released_t2 > self.threshold and not close
        failed = not self.released_reliability < self.threshold
        return {
            "separated": int(self.separated),
            "failures": self.failures,
            "released": int(correct) - int(failed),
            "released_failures": int(failed),
            "total": 1,
        }


P = TypeVar("P", bound=ExactPair | TrainedPair)


@dataclass(frozen=True)
class BRECScore(Generic[P]):
    """The score of a test or a network on some or all pairs of BREC.

    Attributes:
        name: Short name, unique on a scoreboard.
        label: Name in tables.
        model: The test or the network as it prints.
        settings: All other settings that the runs of one score must share: of a test
            its parameters, the copies and their seed; of a network ``dtype``,
            ``transform`` and ``protocol``, and ``config`` if it has a recipe.
        versions: Versions of the libraries.
        commits: Commits of the package; several if another one continued the run.
        machine: The machine, if known.
        pairs: The pairs, in the given order.
        subset: Indices of the pairs on which a recipe was chosen; ``None`` if it was
            not chosen on pairs of BREC.
        memory: Growth of the memory of a test, as in :class:`sekgnn.wl.ladder.Rung`.
        peak: Bytes a test needs for the pair with the most nodes; ``None`` if not
            measured (by ``benchmarks/brec_memory.py``).
    """

    DERIVED: ClassVar = (*_COLUMNS, "by_category")
    name: str
    label: str
    model: str
    settings: Annotated[dict[str, Any], _OfTest | _OfNetwork]
    versions: dict[str, str]
    commits: tuple[str, ...]
    machine: str = ""
    pairs: tuple[P, ...] = ()
    subset: tuple[int, ...] | None = None
    memory: str = ""
    peak: int | None = None

    @property
    def trained(self) -> bool:
        """Whether it is the score of a network."""
        return "protocol" in self.settings

    @property
    def separated(self) -> int:
        """Number of separated pairs: the BREC score, if all 400 are scored."""
        return sum(pair.separated for pair in self.pairs)

    @property
    def failures(self) -> int:
        """False separations of a test, or pairs that failed the reliability check."""
        return sum(pair.failures for pair in self.pairs)

    @property
    def seconds(self) -> float:
        """Processor time of all pairs."""
        return round(sum(pair.seconds for pair in self.pairs), 3)

    @property
    def outside(self) -> BRECScore[P]:
        """The score on the pairs outside ``subset``."""
        chosen = {*(self.subset or ())}
        pairs = tuple(pair for pair in self.pairs if pair.index not in chosen)
        return replace(self, pairs=pairs)

    def counts(self) -> Counter[str]:
        """Return the totals of all columns."""
        return _total(self.pairs)

    def by_category(self) -> dict[str, Counter[str]]:
        """Return the totals per category, in the order of tables."""
        occurring = {pair.category for pair in self.pairs}
        order = [*CATEGORIES, *sorted(occurring - {*CATEGORIES})]
        return {
            name: _total(pair for pair in self.pairs if pair.category == name)
            for name in order
            if name in occurring
        }

    def table(self) -> str:
        """Return the counts as text, and a sentence on their reliability."""
        total = self.counts()
        heads = [_COLUMNS[key] for key in total]
        lines: list[tuple[str, Iterable[object]]] = [("category", heads)]
        for name, counts in self.by_category().items():
            lines.append((CATEGORIES.get(name, name), counts.values()))
        lines.append(("total", total.values()))
        text = [
            f"{name:<20}"
            + "".join(
                f"{cell:>{max(6, len(head) + 2)}}"
                for head, cell in zip(heads, cells, strict=True)
            )
            for name, cells in lines
        ]
        return "\n".join([*text, "", self.sentence()])

    def sentence(self) -> str:
        """Return a sentence on the reliability of the score."""
        total = len(self.pairs)
        if not self.trained:
            return (
                f"{self.model}: {self.separated} of {total} pairs in "
                f"{self.seconds:.1f} s; {self.failures} false separations among "
                f"{2 * total * self.settings['copies']} relabelled copies."
            )
        if self.failures:
            return (
                f"NOT RELIABLE: in {self.failures} of {total} pairs the model told "
                "copies of one and the same graph apart. Its output depends on the "
                "order of nodes or on chance; do not rely on the separated pairs."
            )
        networks = [pair for pair in self.pairs if isinstance(pair, TrainedPair)]
        variant = sum(not pair.invariant for pair in networks)
        if variant:
            return (
                f"NOT INVARIANT: in {variant} of {total} pairs the output changed "
                "between copies of one and the same graph, though not its mean. It "
                "depends on the order of nodes or on chance; more pairs or seeds would "
                "show more."
            )
        return "Reliable: copies of one graph were never told apart."

    def to_dict(self) -> dict[str, Any]:
        """Return everything, and the counts, as plain JSON values."""
        content = asdict(self)
        pairs = content.pop("pairs")
        counts = {"failures": self.failures, **self.counts()}
        return content | counts | {"by_category": self.by_category(), "pairs": pairs}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> AnyScore:
        """Return the score from :meth:`to_dict`; raise ValueError for anything else."""
        score = read_as(cls, {**content, "pairs": ()})
        kind: Any = TrainedPair if score.trained else ExactPair
        rows = read_as(list[Any], content.get("pairs"), "pairs")
        pairs = (read_as(kind, row, f"pairs[{i}]") for i, row in enumerate(rows))
        return replace(score, pairs=tuple(pairs))

    def check_same(self, other: AnyScore, where: object) -> None:
        """Raise ConfigError unless both are parts of one score.

        ``where`` names the other one.
        """
        mine = {"model": self.model, **self.settings}
        theirs = {"model": other.model, **other.settings}
        for key in {**mine, **theirs}:
            was, now = theirs.get(key), mine.get(key)
            if was != now:
                raise ConfigError(
                    f"{where} was written with another {key}; choose another one, or "
                    f"remove it to start again. It says\n{was}\nand this run has\n{now}"
                )


class _File(TypedDict):
    scores: list[dict[str, Any]]


AnyScore = BRECScore[Any]
"""A score of exact or trained pairs."""


def _total(pairs: Iterable[ExactPair | TrainedPair]) -> Counter[str]:
    total: Counter[str] = Counter()
    for pair in pairs:
        total.update(pair.counts)
    return total


def plain(value: Any) -> Any:
    """Return a value after a round trip through JSON: tuples become lists."""
    return json.loads(json.dumps(value))


def to_json(scores: Sequence[AnyScore]) -> str:
    """Return scores as JSON text, a line for each."""
    lines = [json.dumps(score.to_dict(), ensure_ascii=False) for score in scores]
    return '{"scores": [\n' + ",\n".join(lines) + "\n]}\n"


def from_json(text: str) -> tuple[AnyScore, ...]:
    """Return the scores from :func:`to_json`; raise ValueError for any other text."""
    content = read_as(_File, parse_json(text))
    return tuple(map(BRECScore.from_dict, content["scores"]))


def read_scores(path: Path, cure: str, *, trained: bool) -> tuple[AnyScore, ...]:
    """Return the scores of networks or tests in a file; none without a file.

    Raises:
        OutputError: If the file has other contents; ``cure`` ends the message.
    """
    if not path.exists():
        return ()
    try:
        scores = from_json(path.read_text("utf-8"))
        if any(score.trained != trained for score in scores):
            kind = "networks" if trained else "tests"
            raise ValueError(f"it does not hold scores of {kind}")
        return scores
    except (OSError, ValueError) as error:
        raise OutputError(f"{path} cannot be read: {error}. {cure}") from error


def pair_file(folder: Path, index: int) -> Path:
    """Return the file of one pair in a folder of finished pairs."""
    return folder / f"pair-{index:03d}.json"


def with_finished_pairs(
    score: BRECScore[TrainedPair], folder: Path, graphs: Mapping[int, str]
) -> BRECScore[TrainedPair]:
    """Return a score with the pairs in a folder, and the commits of these.

    ``graphs`` are fingerprints by index, in the order of the pairs.

    Raises:
        ConfigError: If a file belongs to another score, or to other graphs.
        OutputError: If there is any other file, or a damaged one.
    """
    on_disk: dict[int, TrainedPair] = {}
    commits: list[str] = []
    cure = "Remove it, or choose another folder."
    for name in visible_names(folder):
        for earlier in read_scores(folder / name, cure, trained=True):
            score.check_same(earlier, folder)
            commits += earlier.commits
            on_disk |= {pair.index: pair for pair in earlier.pairs}
    for index in on_disk.keys() & graphs.keys():
        if on_disk[index].graphs != graphs[index]:
            raise ConfigError(
                f"{folder} holds pair {index} with other graphs; choose another folder."
            )
    return replace(
        score,
        commits=tuple(dict.fromkeys((*commits, *score.commits))),
        pairs=tuple(on_disk[index] for index in graphs if index in on_disk),
    )
