"""The command line imports what files name, and only when told to."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sekgnn.cli.main import app
from sekgnn.encoding import ENCODINGS
from sekgnn.registry import IMPORTED


def test_the_command_line_imports_a_module_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_f_of_degrees.py").write_text(
        "from sekgnn import SubstructureEncoding, register_encoding\n"
        "@register_encoding('my_f_of_degrees')\n"
        "class Degrees(SubstructureEncoding):\n"
        "    channels, length = ('degree',), 1\n"
    )
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["--import", "my_f_of_degrees", "info", "--help"])
    assert done.exit_code == 0, done.output
    assert "my_f_of_degrees" in IMPORTED  # so that further processes import it, too
    assert ENCODINGS["my_f_of_degrees"].__name__ == "Degrees"
    ENCODINGS.forget("my_f_of_degrees")
    missing = CliRunner().invoke(app, ["--import", "no_such_module", "info"])
    assert missing.exit_code == 2
    assert "cannot import 'no_such_module'" in missing.output
    assert "install" in missing.output
