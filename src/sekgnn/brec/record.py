"""The file that lets an interrupted scoring go on where it stopped."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from sekgnn.brec.result import BRECScore, PairScore
from sekgnn.errors import ConfigError
from sekgnn.files import write_atomically


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
                f"remove it to start anew. It says\n{was}\nand this run has\n{now}"
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
