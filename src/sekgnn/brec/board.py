"""The scoreboard of exact tests: its rows, running them, and the record of that."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import ClassVar

from sekgnn.brec.counts import json_rows
from sekgnn.brec.exact_score import ExactScore, described, score_exact
from sekgnn.datasets.brec import BREC
from sekgnn.errors import ConfigError, OutputError
from sekgnn.files import atomic_path
from sekgnn.parallel import Progress, usable_cores
from sekgnn.parsing import parse_as
from sekgnn.provenance import package_versions, source_commit
from sekgnn.wl import (
    SEK,
    DistanceProfile,
    InnerFWL,
    InnerWL,
    Isomorphism,
    KHopWL,
    OneWL,
    PatternCounts,
    SEKTwoFWL,
    SubgraphWL,
    ThreeFWL,
    TwoFWL,
    Walks,
    WLTest,
)

_PACKAGES = ("sekgnn", "numpy", "numba", "igraph")

MEMORY_CLASSES = ("n·ball", "n²", "n³")
"""Growth of the memory, the smallest first; a ball is what one node sees."""

WHOLE = 1_000
"""A radius beyond every graph of BREC: the ball is the whole graph."""

_INTERNAL = tuple(Walks("internal", h, walk_length=12, pairs="all") for h in (1, 2, 3))
_FULL = (Walks("graph"), *_INTERNAL)
_SUMS = (
    Walks("graph", multisets=False),
    *(Walks("internal", h, walk_length=12, multisets=False) for h in (1, 2, 3)),
)


@dataclass(frozen=True)
class Entry:
    """One row of the scoreboard.

    Attributes:
        key: Short name, unique.
        label: What the table calls it.
        memory: One of :data:`MEMORY_CLASSES`, or empty for the ceiling, which is no
            test of this family.
        after: Tests that are asked before, of which this one sees what is left.
    """

    key: str
    label: str
    test: WLTest
    memory: str
    after: tuple[WLTest, ...] = ()


def _sek(*encodings: object, num_hops: int = 4) -> SEK:
    return SEK(num_hops, encodings)  # type: ignore[arg-type]


_STAIRS = (
    _sek(Walks("internal", 1)),
    _sek(Walks("internal", 2)),
    _sek(InnerWL(WHOLE)),
    _sek(InnerFWL(3, neighbours=True)),
)
"""The cheaper first; each sees only what those before it leave together."""

BOARD: tuple[Entry, ...] = (
    Entry("1wl", "1-WL", OneWL(), "n·ball"),
    Entry("khop2", "K-hop 1-WL, K = 2", KHopWL(2), "n·ball"),
    Entry("khop4", "K-hop 1-WL, K = 4", KHopWL(4), "n·ball"),
    Entry("khop8", "K-hop 1-WL, K = 8", KHopWL(8), "n·ball"),
    Entry(
        "diffusion4", "K-hop 1-WL, diffusion, K = 4", KHopWL(4, "diffusion"), "n·ball"
    ),
    Entry("subgraph1", "Subgraph 1-WL, h = 1", SubgraphWL(1), "n·ball"),
    Entry("subgraph3", "Subgraph 1-WL, h = 3", SubgraphWL(3), "n·ball"),
    Entry("marked3", "Subgraph 1-WL, marked, h = 3", SubgraphWL(3, True), "n·ball"),
    Entry(
        "distances8",
        "SEK, distances, K = 8",
        _sek(DistanceProfile(8), num_hops=8),
        "n·ball",
    ),
    Entry("patterns", "SEK, cycles to 5 and K4", _sek(PatternCounts()), "n·ball"),
    Entry("internal1", "SEK, internal h = 1", _sek(Walks("internal", 1)), "n·ball"),
    Entry("internal2", "SEK, internal h = 2", _sek(Walks("internal", 2)), "n·ball"),
    Entry("internal123", "SEK, internal h = 1, 2, 3", _sek(*_INTERNAL), "n·ball"),
    Entry("fwl_h1", "SEK, inner 2-FWL h = 1", _sek(InnerFWL(1)), "n·ball"),
    Entry("fwl_h3", "SEK, inner 2-FWL h = 3", _sek(InnerFWL(3)), "n·ball"),
    Entry("marking", "SEK, inner 1-WL, whole graph", _sek(InnerWL(WHOLE)), "n·ball"),
    Entry(
        "marking_internal2",
        "SEK, inner 1-WL whole graph + internal h = 2",
        _sek(InnerWL(WHOLE), Walks("internal", 2, walk_length=12)),
        "n·ball",
    ),
    Entry(
        "marking_fwl3",
        "SEK, inner 1-WL whole graph + inner 2-FWL h = 3",
        _sek(InnerWL(WHOLE), InnerFWL(3)),
        "n·ball",
    ),
    Entry(
        "all_ball",
        "SEK, internal h = 1, then h = 2, then inner 1-WL whole graph, then inner "
        "2-FWL h = 3, each edge marked",
        _STAIRS[-1],
        "n·ball",
        _STAIRS[:-1],
    ),
    Entry("graph_f1", "SEK, graph, f1", _sek(Walks("graph", parts=("f1",))), "n²"),
    Entry("graph", "SEK, graph, f1–f3", _sek(Walks("graph")), "n²"),
    Entry("sums", "SEK, graph + internal h = 1, 2, 3, sums", _sek(*_SUMS), "n²"),
    Entry("full", "SEK, graph + internal h = 1, 2, 3", _sek(*_FULL), "n²"),
    Entry("2fwl", "2-FWL (3-WL)", TwoFWL(), "n²"),
    Entry(
        "sek2fwl", "SEK 2-FWL, graph + internal h = 1, 2, 3", SEKTwoFWL(4, _FULL), "n²"
    ),
    Entry(
        "sek2fwl_marking",
        "SEK 2-FWL, inner 1-WL whole graph + inner 2-FWL h = 3",
        SEKTwoFWL(4, (InnerWL(WHOLE), InnerFWL(3))),
        "n²",
    ),
    Entry("fwl_whole", "SEK, inner 2-FWL, whole graph", _sek(InnerFWL(WHOLE)), "n²"),
    Entry(
        "all_n2",
        "the same four, then SEK, inner 2-FWL, whole graph",
        _sek(InnerFWL(WHOLE)),
        "n²",
        _STAIRS,
    ),
    Entry("3fwl", "3-FWL (4-WL)", ThreeFWL(), "n³"),
    Entry("isomorphism", "isomorphism (igraph, bliss)", Isomorphism(), ""),
)
"""Every row, the cheaper memory first."""


@dataclass(frozen=True)
class Row:
    """One finished row, with key, label and memory of its :class:`Entry`.

    Attributes:
        peak: Bytes that the pair with the most nodes takes; ``None`` if not measured
            (``benchmarks/brec_memory.py`` does).
    """

    key: str
    label: str
    memory: str
    peak: int | None
    score: ExactScore


@dataclass(frozen=True)
class Board:
    """The record of a run of the scoreboard, in the order of :data:`BOARD`."""

    DERIVED: ClassVar[tuple[str, ...]] = ("false_separations",)
    rows: tuple[Row, ...]
    versions: dict[str, str]
    commit: str | None
    machine: str

    @property
    def false_separations(self) -> int:
        """Relabelled copies told apart by any test; must be 0."""
        return sum(row.score.false_separations for row in self.rows)

    def to_json(self) -> str:
        """Return everything as JSON text."""
        head = {
            "versions": self.versions,
            "commit": self.commit,
            "machine": self.machine,
            "false_separations": self.false_separations,
        }
        rows = [asdict(row) | {"score": row.score.to_dict()} for row in self.rows]
        return json_rows(head, "rows", rows)

    @classmethod
    def from_json(cls, text: str) -> Board:
        """Return what :meth:`to_json` wrote; raise ValueError for another text."""
        return parse_as(cls, text)


def run_board(
    entries: Sequence[Entry] = BOARD,
    *,
    pairs: BREC | None = None,
    data_root: str | os.PathLike[str] | None = None,
    copies: int = 1,
    seed: int = 0,
    partial: Path | None = None,
    threads: int | None = None,
    progress: Callable[[str], Progress | None] | None = None,
) -> Board:
    """Run every row of the scoreboard.

    Finished rows are kept in ``partial``, and taken from there if they were made with
    the same pairs, copies, seed, versions and commit. ``progress`` is called with each
    row's label and returns its progress callback.

    Raises:
        ConfigError: If there are no pairs.
        OutputError: If ``partial`` is not such a record.
    """
    chosen = BREC(data_root) if pairs is None else pairs
    if not chosen:
        raise ConfigError("the scoreboard needs at least one pair.")
    board = Board(
        (),
        package_versions(_PACKAGES),
        source_commit(),
        f"{platform.machine()}, {usable_cores()} cores",
    )
    kept = {row.key: row for row in _finished(partial, board)}
    wanted = [pair.index for pair in chosen]
    for entry in entries:
        row = kept.get(entry.key)
        if row is None or not _same(row, entry, wanted, copies, seed):
            score = score_exact(
                entry.test,
                after=entry.after,
                pairs=chosen,
                copies=copies,
                seed=seed,
                threads=threads,
                progress=None if progress is None else progress(entry.label),
            )
            row = Row(entry.key, entry.label, entry.memory, None, score)
        kept.pop(entry.key, None)
        board = replace(board, rows=(*board.rows, row))
        if partial is not None:
            everything = replace(board, rows=(*board.rows, *kept.values()))
            with atomic_path(partial) as draft:
                draft.write_text(everything.to_json(), encoding="utf-8")
    return board


def _same(row: Row, entry: Entry, wanted: list[int], copies: int, seed: int) -> bool:
    """Tell whether a row kept is the one asked for."""
    score = row.score
    return (
        score.test == json.loads(json.dumps(described(entry.test, entry.after)))
        and [pair.index for pair in score.pairs] == wanted
        and (score.copies, score.seed) == (copies, seed)
    )


def _finished(partial: Path | None, board: Board) -> tuple[Row, ...]:
    """Return the rows of an interrupted run that was made in the same way."""
    if partial is None or not partial.exists():
        return ()
    try:
        found = Board.from_json(partial.read_text(encoding="utf-8"))
    except ValueError as error:
        raise OutputError(
            f"{partial} cannot be continued: {error}. Remove it to start again."
        ) from error
    same = (found.versions, found.commit) == (board.versions, board.commit)
    return found.rows if same else ()
