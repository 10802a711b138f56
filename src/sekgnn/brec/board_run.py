"""Running the whole scoreboard, row by row, and its record."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sekgnn.brec.board import BOARD, Entry
from sekgnn.brec.exact import ExactScore, described, score_exact
from sekgnn.datasets.brec import BREC
from sekgnn.errors import ConfigError, OutputError
from sekgnn.files import atomic_path
from sekgnn.parallel import Progress, usable_cores
from sekgnn.provenance import package_versions, source_commit

_PACKAGES = ("sekgnn", "numpy", "numba", "igraph")


@dataclass(frozen=True)
class Row:
    """One finished row.

    Attributes:
        key: Of the :class:`~sekgnn.brec.board.Entry`.
        label: Likewise.
        memory: Likewise.
        peak: Bytes that the pair with the most nodes takes; ``None`` if not measured
            (``benchmarks/brec_memory.py`` does).
        score: The verdicts.
    """

    key: str
    label: str
    memory: str
    peak: int | None
    score: ExactScore


@dataclass(frozen=True)
class Board:
    """The record of a run of the scoreboard.

    Attributes:
        rows: In the order of :data:`~sekgnn.brec.board.BOARD`.
        versions: Of the libraries.
        commit: Of the package.
        machine: Processor architecture and usable cores.
    """

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
        rows = [
            {"key": r.key, "label": r.label, "memory": r.memory, "peak": r.peak}
            | {"score": r.score.to_dict()}
            for r in self.rows
        ]
        head = {
            "versions": self.versions,
            "commit": self.commit,
            "machine": self.machine,
            "false_separations": self.false_separations,
        }
        lines = [f" {json.dumps(key)}: {json.dumps(head[key])}," for key in head]
        body = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
        return "\n".join(["{", *lines, ' "rows": [', body, " ]", "}"]) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Board:
        """Return what :meth:`to_json` wrote.

        Raises:
            ValueError: If the text is not of that form.
        """
        try:
            content: dict[str, Any] = json.loads(text)
            rows = tuple(
                Row(
                    row["key"],
                    row["label"],
                    row["memory"],
                    row["peak"],
                    ExactScore.from_dict(row["score"]),
                )
                for row in content["rows"]
            )
            return cls(rows, content["versions"], content["commit"], content["machine"])
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not the record of a scoreboard ({error})") from error


def run_board(
    entries: Sequence[Entry] = BOARD,
    *,
    pairs: BREC | None = None,
    root: str | os.PathLike[str] | None = None,
    copies: int = 1,
    seed: int = 0,
    partial: Path | None = None,
    threads: int | None = None,
    progress: Callable[[str], Progress | None] | None = None,
) -> Board:
    """Run every row of the scoreboard.

    Args:
        entries: The rows.
        pairs: The pairs; all 400 by default.
        root: The data folder; by default what ``SEKGNN_DATA`` names.
        copies: Relabelled copies of each graph.
        seed: Of the copies.
        partial: Finished rows are kept here, and taken from here if they were made
            with the same pairs, copies, seed, versions and commit.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with each row's label; returns its progress callback.

    Raises:
        ConfigError: If there are no pairs.
        OutputError: If ``partial`` is not such a record.
    """
    chosen = BREC(root) if pairs is None else pairs
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
        board = Board((*board.rows, row), board.versions, board.commit, board.machine)
        if partial is not None:
            rest = [
                r for r in kept.values() if r.key not in {b.key for b in board.rows}
            ]
            everything = Board(
                (*board.rows, *rest), board.versions, board.commit, board.machine
            )
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
            f"{partial} cannot be continued: {error}. Remove it to start anew."
        ) from error
    same = (found.versions, found.commit) == (board.versions, board.commit)
    return found.rows if same else ()
