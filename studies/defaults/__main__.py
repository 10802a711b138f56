"""``python -m studies.defaults``: train what is missing, then write the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from studies.defaults.page import defaults_page
from studies.defaults.trials import TASKS, run_trials

from sekgnn.cli.failures import describe, resumable, warnings_as_notes
from sekgnn.cli.printing import progress_bar
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.files import write_files


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0, 2 for errors, 130 if interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.defaults",
        description="Compare recipes of training on validation graphs. The same "
        "command continues; trials that the results hold are not repeated.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=[*TASKS])
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--data-root", type=Path, help="folder of benchmark data")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results"
    )
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    options.output.mkdir(parents=True, exist_ok=True)
    try:
        with warnings_as_notes(), resumable(), progress_bar("trials") as progress:
            record = run_trials(
                options.output / "defaults.json",
                options.tasks,
                options.seeds,
                data_root=options.data_root,
                progress=progress,
            )
        write_files(options.output, {"defaults.md": defaults_page(record).encode()})
    except KeyboardInterrupt as error:
        print(f"error: {error}", file=sys.stderr)
        return 130
    except (ConfigError, GraphInputError, OSError) as error:
        print(f"error: {describe(error)}", file=sys.stderr)
        return 2
    print(f"wrote defaults.json and defaults.md to {options.output}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
