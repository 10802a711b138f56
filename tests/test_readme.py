"""What the README shows is what happens."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text("utf-8"), re.S)


def test_the_python_example_runs_and_prints_what_it_says() -> None:
    printed = "".join(
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", example],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for example in blocks("python")
    )
    assert "[[2. 2. 2." in printed
    assert "torch.Size([6, 10, 16]) torch.Size([2, 12])" in printed
    assert "torch.Size([4, 2])" in printed


def test_the_command_line_example_runs(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    script = Path(sys.executable).parent / "sekgnn"
    (example,) = [text for text in blocks("bash") if "sekgnn encode" in text]
    for line in example.splitlines():
        command = line.replace(".venv/bin/sekgnn", shlex.quote(str(script)))
        subprocess.run(["bash", "-ec", command], cwd=tmp_path, check=True)
    assert (tmp_path / "encodings.npz").stat().st_size > 0


def test_every_file_it_names_exists() -> None:
    named = re.findall(
        r"`((?:tests|docs|results|benchmarks)/[\w/.]+)`", README.read_text("utf-8")
    )
    named += re.findall(r"\]\(([\w/.]+)\)", README.read_text("utf-8"))
    assert named
    assert [name for name in named if not (README.parent / name).exists()] == []
