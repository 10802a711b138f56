"""``sekgnn train``: from a file to results, or to one line that says what is wrong."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.training.helpers import leavings, records, write_lines

from sekgnn.training.config import RunConfig
from sekgnn.training.run import default_folder
from sekgnn.training.run_record import RunRecord

SMALL = ("--no-baseline", "--threads", 1, "--model", "gin", "--hidden-channels", 8,
         "--num-layers", 2, "--epochs", 2, "--batch-size", 8, "--val-fraction", 0.2,
         "--test-fraction", 0.2)  # fmt: skip
CHAINS = ["C" * n + end for n in range(1, 9) for end in ("", "O", "N", "=O")]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, one_thread: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    """Return a table of chains: all kinds of targets, some values missing."""
    lines = ["smiles,acid,end,long,odd,mass"]
    for i, text in enumerate(CHAINS):
        carbons = text.count("C")
        odd = "" if i % 5 == 3 else str(carbons % 2)
        lines.append(
            f"{text},{'yes' if text.endswith('=O') else 'no'},{i % 4},"
            f"{int(carbons > 4)},{odd},{carbons * 12.5 + i % 4}"
        )
    file = tmp_path / "chains.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize(
    ("target", "kind", "first"),
    [
        ("acid", "binary", "test_accuracy"),
        ("end", "multiclass", "test_accuracy"),
        ("long odd", "multilabel", "test_auroc"),
        ("mass", "regression", "test_mae"),
    ],
)
def test_a_table_of_molecules_end_to_end(
    run: Run, molecules: Path, tmp_path: Path, target: str, kind: str, first: str
) -> None:
    pytest.importorskip("rdkit")
    words = ("train", molecules, "--target", *target.split())
    result = run(*words, *SMALL, "-o", "out", "--json", code=0)
    values = json.loads(result.stdout, parse_constant=refuse)
    assert values["results"][0]["metric"] == first
    record = RunRecord.load(tmp_path / "out")
    assert record.data["kind"] == kind
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {".lock", "config.yaml", "model.safetensors", "metrics.csv",
                     "predictions.csv", "record.json", "fold.json",
                     "data.sha256", ".threads"}  # fmt: skip
    again = run(*words, *SMALL, "-o", "out", "--json")
    assert json.loads(again.stdout) == values


def test_flags_change_a_preset(run: Run, tmp_path: Path) -> None:
    write_lines(tmp_path / "data.jsonl", records())
    words = ("train", "data.jsonl", "--target", "ring", "--preset", "small")
    run(*words, *SMALL, "--ensemble", 2, "-o", "out", "--quiet", code=0)
    config = RunRecord.load(tmp_path / "out").config
    shown = [config[k] for k in ("hidden_channels", "ensemble", "keep", "schedule")]
    assert shown == [8, 2, "last", "cosine"]
    assert "lbfgs or small" in run("train", "--help").output


def test_numbers_that_are_not_defined_are_null(run: Run, tmp_path: Path) -> None:
    """One test graph: its area under the curve is NaN, which is not JSON."""
    items = records(20)
    write_lines(tmp_path / "d.jsonl", items)
    result = run(
        "train", "d.jsonl", "--target", "ring", *SMALL[:-1], 0.05, "--json", code=0
    )
    values = json.loads(result.stdout, parse_constant=refuse)
    found = {r["metric"]: r["value"] for r in values["results"]}
    assert found["test_auroc"] is None
    assert found["test_accuracy"] in (0.0, 1.0)


def test_the_default_folder_and_the_summary(run: Run, tmp_path: Path) -> None:
    write_lines(tmp_path / "rings.jsonl", records())
    result = run("train", "rings.jsonl", "--target", "ring", *SMALL, code=0)
    folder = tmp_path / "runs" / "rings-gin"
    assert (folder / "record.json").is_file()
    assert "run folder: runs/rings-gin" in result.stdout.replace("\\", "/")
    assert "test_accuracy" in result.stdout
    named = RunConfig(data="a/b.c.csv", model="gin")
    assert default_folder(named) == Path("runs/b.c-gin")
    quiet = run("train", "rings.jsonl", "--target", "ring", *SMALL, "--quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")
    assert result.stdout.count("the epoch was chosen by") == 1
    words = ("train", "rings.jsonl", "--target", "ring", *SMALL, "--lr", 0.5)
    for _ in "ab":  # beside the other, and found again
        other = run(*words, code=0)
        assert "run folder: runs/rings-gin-2\n" in other.stdout.replace("\\", "/")
    refused = run(*words, "-o", folder, code=2)
    assert "lr (0.001 there, 0.5 here)" in refused.output


def test_several_runs_say_what_chance_does(run: Run, tmp_path: Path) -> None:
    """Each is the run of its seed; the error is that of their mean."""
    write_lines(tmp_path / "rings.jsonl", records())
    words = ("train", "rings.jsonl", "--target", "size", *SMALL, "--seed", 4)
    text = run(*words, "--repeats", 3, "-o", "three", code=0).stdout
    assert "seed 4" in text and "seed 6" in text and "three/seed-6" in text
    values = []
    for seed in (4, 5, 6):
        values.append(RunRecord.load(Path("three", f"seed-{seed}")).headline.value)
    assert len(set(values)) == 3
    again = run(*words, "--repeats", 3, "-o", "three", "--json", code=0)
    row = json.loads(again.stdout)["results"][0]
    assert row["metric"] == "test_mae" and row["values"] == values
    assert row["mean"] == pytest.approx(np.mean(values))
    assert row["error"] == pytest.approx(np.std(values, ddof=1) / 3**0.5)
    alone = run(*words, "--seed", 5, "-o", "five", "--json", code=0)
    assert json.loads(alone.stdout)["results"][0]["value"] == values[1]
    refused = run(*words, "--repeats", 2, "-o", "five", code=2)
    assert "holds a single run" in refused.output


def test_every_key_can_be_a_flag(run: Run, tmp_path: Path) -> None:
    """Lists behind one flag, and switches both ways, arrive in the config."""
    write_lines(tmp_path / "d.jsonl", records())
    (tmp_path / "c.yaml").write_text("epochs: 1\nself_loops: [true]\nradius: [1]\n")
    result = run(
        "train", "d.jsonl", "-c", "c.yaml", "--target", "size", "weight",
        "--model", "sek-gin", "--hidden-channels", 4, "--num-layers", 1, "--scope",
        "graph", "internal", "--radius", 1, 2, "--no-self-loops", "--walk-length", 3,
        "--self-loops", "--first-step", 0, "--shell-sizes", 5,
        "--val-fraction", 0.2, "--test-fraction", 0.2, "-o", "out", "-q",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    config = RunConfig.from_dict(RunRecord.load(tmp_path / "out").config)
    assert config.target == ("size", "weight")
    assert (config.scope, config.radius) == (("graph", "internal"), (1, 2))
    assert (config.self_loops, config.epochs) == ((False, True), 1)
    assert (config.first_step, config.shell_sizes) == (0, 5)


@pytest.mark.slow
def test_ctrl_c_on_the_command_line_and_the_same_command_again(
    run: Run, tmp_path: Path
) -> None:
    """The exit code is 130, and the run goes on where it was."""
    write_lines(tmp_path / "d.jsonl", records())
    args = ["train", "d.jsonl", "--target", "size", *map(str, SMALL),
            "--epochs", "60", "-q"]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "sekgnn.cli.main", *args, "-o", "stopped"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "stopped" / "last.ckpt").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=120)
    assert process.returncode == 130
    assert text.startswith("error: interrupted")
    assert "Traceback" not in text
    for folder in ("stopped", "whole"):
        assert run(*args, "-o", folder).exit_code == 0
    assert leavings(tmp_path / "stopped") == leavings(tmp_path / "whole")


def test_numbers_of_a_batch_system_mean_nothing_to_one_device(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any process of a job array trains and writes as if it were alone."""
    for name in ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    monkeypatch.setenv("SLURM_JOB_NAME", "array")
    file = write_lines(tmp_path / "d.jsonl", records())
    result = run("train", file, "--target", "size", *SMALL, "-o", "out", code=0)
    assert "run folder: out" in result.stdout
    assert RunRecord.load(tmp_path / "out").device.endswith(", 1 threads")
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_progress_says_which_model_and_how_far(
    run: Run, molecules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Networks of a blend, their epochs, loss and metric; then trees and baselines."""
    monkeypatch.setattr("sekgnn.cli.printing.SECONDS_BETWEEN_LINES", 0)
    words = ("--model", "gin", "--epochs", 2, "--ensemble", 2, "--blend", "forest")
    result = run("train", molecules, "--target", "mass", *words, code=0)
    assert "training: network 2 of 2 begins" in result.stderr
    line = r"; network 2 of 2, epoch 1 of 2: training loss [\d.]+, val_mae [\d.]+"
    assert re.search(line, result.stderr), result.stderr
    assert "training: forest begins" in result.stderr
    assert "training: baseline ridge begins" in result.stderr
    assert "baseline forest" not in result.stderr  # the blend has it
