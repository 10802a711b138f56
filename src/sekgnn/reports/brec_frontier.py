"""Which tests of a scoreboard are worth their time and memory."""

from __future__ import annotations

from collections.abc import Sequence

from sekgnn.brec.board import MEMORY_CLASSES
from sekgnn.brec.board_run import Row


def frontier(rows: Sequence[Row], memory: str) -> list[Row]:
    """Return the rows that no other beats within a class of memory, the fastest first.

    A row is beaten if another one, of this class of memory or a smaller one, separates
    at least as many pairs in at most its time, and is better in one of the two. Of
    rows that are equal in both, the first stays.

    Args:
        rows: Of a scoreboard.
        memory: One of :data:`~sekgnn.brec.board.MEMORY_CLASSES`.
    """
    allowed = MEMORY_CLASSES[: MEMORY_CLASSES.index(memory) + 1]
    best: list[Row] = []
    within = [row for row in rows if row.memory in allowed]
    for row in sorted(within, key=lambda r: (r.score.seconds, -r.score.separated)):
        if not best or row.score.separated > best[-1].score.separated:
            best.append(row)
    return best
