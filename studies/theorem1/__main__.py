"""``python -m studies.theorem1``: count, then write record, page and figure.

Replaces the files of an earlier run. Finished cells of an interrupted run are kept in
theorem1.partial.json, from which the same command continues.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.theorem1.counts import Theorem1Config
from studies.theorem1.figure import theorem1_png
from studies.theorem1.page import summary, theorem1_page
from studies.theorem1.simulation import run_theorem1

from sekgnn.checks import check_positive, require
from sekgnn.cli.failures import describe, resumable, warnings_as_notes
from sekgnn.cli.printing import progress_bar
from sekgnn.errors import ConfigError, MissingExtraError
from sekgnn.files import write_files

DEFAULT = Theorem1Config()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, 2 for errors, 130 if interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.theorem1",
        description="Count which nodes 2K steps of a walk tell apart on random regular "
        "graphs.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for flag, default, text in (
        ("--nodes", DEFAULT.nodes, "numbers of nodes n"),
        ("--degrees", DEFAULT.degrees, "degrees r, at least 3"),
        ("--radii", DEFAULT.radii, "radii K of the ego-nets"),
    ):
        parser.add_argument(flag, type=int, nargs="+", default=default, help=text)
    parser.add_argument(
        "--graphs", type=int, default=DEFAULT.graphs, help="graphs for each n and r"
    )
    parser.add_argument(
        "--seed", type=int, default=DEFAULT.seed, help="seed of the random graphs"
    )
    parser.add_argument(
        "--self-loops",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="walk on A + I or on A",
    )
    parser.add_argument("--threads", type=int, help="threads; all usable cores if left")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(__file__).parent / "results",
        help="folder for the results",
    )
    options = vars(parser.parse_args(arguments))
    output, threads = options.pop("output"), options.pop("threads")
    try:
        with warnings_as_notes(), resumable():
            _run(Theorem1Config(**options), output, threads)
    except KeyboardInterrupt as error:
        print(f"error: {error}", file=sys.stderr)
        return 130
    except (ConfigError, MissingExtraError, OSError) as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return 2
    return 0


def _run(config: Theorem1Config, output: Path, threads: int | None) -> None:
    if threads is not None:
        check_positive("--threads", threads)
    require("igraph", "iso")
    output.mkdir(parents=True, exist_ok=True)
    partial = output / "theorem1.partial.json"
    with progress_bar("counting") as progress:
        record = run_theorem1(
            config, partial=partial, threads=threads, progress=progress
        )
    files = {
        "theorem1.png": theorem1_png(record),
        "theorem1.md": theorem1_page(record).encode(),
        "theorem1.json": record.to_json().encode(),
    }
    write_files(output, files)
    partial.unlink(missing_ok=True)
    print(summary(record))
    print(f"wrote {', '.join(sorted(files))} to {output}")


if __name__ == "__main__":
    raise SystemExit(main())
