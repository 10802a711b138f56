"""The ``sekgnn`` command; heavy libraries load only when a subcommand needs them."""

from __future__ import annotations

import signal
import traceback
from types import FrameType
from typing import NoReturn

import typer

from sekgnn.cli.advise import advise
from sekgnn.cli.brec import brec
from sekgnn.cli.demo import demo, example
from sekgnn.cli.encode import encode
from sekgnn.cli.explain import explain
from sekgnn.cli.failures import FAILED, INTERRUPTED, ReportingGroup, Terminated
from sekgnn.cli.graph import graph
from sekgnn.cli.info import info, models, warmup
from sekgnn.cli.options import ManyValuesCommand
from sekgnn.cli.predict import evaluate, fingerprint, predict
from sekgnn.cli.report import report
from sekgnn.cli.reproduce import reproduce
from sekgnn.cli.search import search
from sekgnn.cli.train import train
from sekgnn.cli.wl import explore, wl

app = typer.Typer(
    name="sekgnn",
    cls=ReportingGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (
    train, evaluate, predict, explain, fingerprint, report, reproduce, search, models,
    encode, wl, explore, advise, brec, info, demo, example, warmup,
):  # fmt: skip
    app.command(cls=ManyValuesCommand)(_command)
app.add_typer(graph, name="graph")


def _show_version(wanted: bool) -> None:
    if wanted:
        from sekgnn._version import __version__

        typer.echo(f"sekgnn {__version__}")
        raise typer.Exit


@app.callback()
def sekgnn(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Print the version and exit.",
    ),
    modules: list[str] | None = typer.Option(
        None,
        "--import",
        metavar="MODULE",
        show_default=False,
        help="Import your own models, messages, encodings and tests, which files "
        "may then name: a module that registers them, or one of them as "
        "package.module:Class; may be repeated.",
    ),
) -> None:
    """Substructure encodings from random walks, for K-hop graph neural networks."""
    if modules:
        from sekgnn.parameters import import_named

        for module in modules:
            import_named(module)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated(number)


def main() -> None:
    """Run the command line.

    The exit code is 0, 2 after an error, or 130 if interrupted. ``wl`` exits with 1 for
    "not separated", so no error may use 1, not even an unexpected one.
    """
    # clean up as after Ctrl-C, so that no draft of a file is left
    signal.signal(signal.SIGTERM, _end)
    try:
        app(prog_name="sekgnn")
    except KeyboardInterrupt:  # before any command had started
        raise SystemExit(INTERRUPTED) from None
    except Exception:
        traceback.print_exc()
        raise SystemExit(FAILED) from None


if __name__ == "__main__":
    main()
