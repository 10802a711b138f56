"""What every test of the command line needs."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.brec.cases import UNSORTED as PAIRS
from typer.testing import CliRunner, Result

from sekgnn.cli.main import app, main
from sekgnn.datasets import BREC, wl_benchmarks
from sekgnn.graphs import csl_graph, path_graph, rook_graph, to_graph6
from sekgnn.wl import KHopWL, OneWL, TwoFWL, ladder
from sekgnn.wl.ladder import Rung

Run = Callable[..., Result]
RUNGS = (
    Rung("1wl", "1-WL", OneWL(), "n·ball"),
    Rung("khop2", "K-hop, K = 2", KHopWL(2), "n·ball"),
    Rung("2fwl", "2-FWL", TwoFWL(), "n²"),
)


class Done(NamedTuple):
    """What a process would have left."""

    code: object
    out: str
    err: str


RunMain = Callable[..., Done]


def assert_refused(result: Result, *words: str) -> None:
    """See that a command ended with one line that helps, and no answer."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.fixture
def run() -> Run:
    """Run ``sekgnn`` with some arguments in this process, and see its exit code."""
    runner = CliRunner()

    def invoke(*args: object, code: int | None = None) -> Result:
        result = runner.invoke(app, [str(arg) for arg in args])
        assert code in (None, result.exit_code), result.output
        return result

    return invoke


@pytest.fixture
def run_main(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> RunMain:
    """Run the installed command, exit codes of defects and all, in this process."""

    def invoke(*args: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["sekgnn", *map(str, args)])
        monkeypatch.setattr(signal, "signal", lambda *handler: None)
        with pytest.raises(SystemExit) as end:
            main()
        return Done(end.value.code, *capsys.readouterr())

    return invoke


@pytest.fixture
def small_brec(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace BREC by four pairs, and the scoreboard by three cheap rows."""

    class SmallBREC(BREC):
        def __init__(self, data_root: object = None) -> None:
            super(BREC, self).__init__(PAIRS)

    monkeypatch.setattr(wl_benchmarks, "BREC", SmallBREC)
    monkeypatch.setattr(ladder, "BOARD", RUNGS)


@pytest.fixture
def g6(tmp_path: Path) -> Path:
    """Return a graph6 file with three graphs."""
    file = tmp_path / "some.g6"
    many = [path_graph(4), rook_graph(3), csl_graph(11, 3)]
    file.write_text("".join(f"{to_graph6(graph)}\n" for graph in many))
    return file
