r"""Theorem 1 of the paper, simulated on random regular graphs.

The theorem: for r-regular graphs of n nodes, :math:`3 \le r < \sqrt{2 \log 2n}`, and
:math:`K \le \lceil (\frac12 + ε) \frac{\log 2n}{\log(r-1)} + 1 \rceil`, 2K steps of the
walk suffice to tell the internal substructures of two K-hop ego-nets apart. Its proof
adds that a pair collides with some probability p, and that the multiset of returns over
the ego-net collides with :math:`p^{|G_v^K|}` only.

:func:`run_theorem1` counts, for every n, r and K, the pairs that the first t returns do
and do not tell apart, beside what an exact isomorphism test says.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from sekgnn.errors import CacheWarning, ConfigError
from sekgnn.files import write_atomically
from sekgnn.graphs.extras import require
from sekgnn.parallel import Progress
from sekgnn.provenance import package_versions, source_commit
from sekgnn.studies.theorem1_cell import run_cell
from sekgnn.studies.theorem1_config import Theorem1Config
from sekgnn.studies.theorem1_record import Cell, Theorem1Record

_PACKAGES = ("sekgnn", "numpy", "numba", "igraph")


def run_theorem1(
    config: Theorem1Config,
    *,
    partial: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Theorem1Record:
    """Run the simulation, or what is missing of it.

    Args:
        config: What to look at.
        partial: File that keeps finished cells. If it holds some of the same
            ``config`` and version, only the others are run. It is left in place.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) units of work.

    Raises:
        MissingExtraError: If igraph is not installed.
        OutputError: If ``partial`` cannot be written.
    """
    require("igraph", "iso")
    versions, commit = package_versions(_PACKAGES), source_commit()
    cells = _finished(partial, config, versions)
    stages = 1 + len(config.hops)
    done, total = 0, stages * sum(n for n, _ in config.cells)
    for n, r in config.cells:
        start = done

        def advance(n: int = n) -> None:
            nonlocal done
            done += n
            if progress is not None:
                progress(done, total)

        if (n, r) not in cells:
            cells[n, r] = run_cell(config, n, r, threads=threads, advance=advance)
            if partial is not None:
                kept = tuple(cells[key] for key in config.cells if key in cells)
                record = Theorem1Record(config, kept, versions, commit)
                _write(partial, record)
        done = start + stages * n
        if progress is not None:
            progress(done, total)
    ordered = tuple(cells[key] for key in config.cells)
    return Theorem1Record(config, ordered, versions, commit)


def _write(path: Path, record: Theorem1Record) -> None:
    write_atomically(path, lambda file: file.write(record.to_json().encode()))


def _finished(
    partial: Path | None, config: Theorem1Config, versions: dict[str, str]
) -> dict[tuple[int, int], Cell]:
    """Return the cells of an interrupted run of the same job."""
    if partial is None or not partial.exists():
        return {}
    try:
        record = Theorem1Record.from_json(partial.read_text("utf-8"))
    except (ConfigError, UnicodeDecodeError) as error:
        warnings.warn(
            f"{partial} cannot be continued from, so all is run again: {error}",
            CacheWarning,
            stacklevel=3,
        )
        return {}
    if record.config != config or record.versions != versions:
        return {}
    return {(cell.nodes, cell.degree): cell for cell in record.cells}
