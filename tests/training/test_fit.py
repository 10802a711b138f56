"""A training that was interrupted, however, ends as if it had not been."""

from __future__ import annotations

import copy
import errno
import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.training.helpers import (
    config,
    fork,
    leavings,
    records,
    run,
    signalled_run,
    table,
    write_lines,
)

from sekgnn.errors import (
    ConfigError,
    MissingExtraError,
    ModelFileError,
    OutputError,
    ResumeWarning,
)
from sekgnn.files import make_folder
from sekgnn.training.epochs import Pace, read_checkpoint
from sekgnn.training.loop import NotFiniteError
from sekgnn.training.run_folder import CHECKPOINT_FILE, note_threads
from sekgnn.training.run_record import RunRecord
from sekgnn.training.training import Training

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

HARD: dict[str, Any] = {
    "epochs": 7,
    "dropout": 0.3,
    "norm": "batch",
    "plateau_patience": 0,
    "plateau_factor": 0.3,
    "patience": 3,
    "lr": 0.05,
}


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("cosine", [0.02, 0.0155, 0.0065, 0.002]),  # (1 + cos) / 2: 1, 3/4, 1/4, 0
        ("step", [0.02, 0.02, 0.01, 0.01]),  # half after every two epochs
        ("constant", [0.02] * 4),
    ],
)
def test_rates_worked_out_by_hand(
    lines: Path, schedule: str, rates: list[float]
) -> None:
    more: dict[str, Any] = {"schedule": schedule, "final_lr": 0.1, "lr": 0.02}
    more |= {"plateau_patience": 2, "plateau_factor": 0.5}
    four, one = (Training(config(lines, epochs=n, **more)).fit() for n in (4, 1))
    assert four.curves["lr"] == pytest.approx(rates)
    assert one.curves["lr"] == [0.02]


@pytest.mark.parametrize(
    ("more", "epochs"),
    [
        ({}, (1, 4)),
        ({"model": "k-gin", "num_hops": 2, "max_neighbors": 1}, (2,)),
        ({"protocol": "holdout", "monitor": "mae", "clip": 0.5}, (2,)),
        ({"schedule": "cosine"}, (3,)),
        ({"schedule": "step", "plateau_patience": 2}, (3,)),
        ({"patience": None, "keep": "last", "refit": True}, (4,)),
    ],
)
def test_a_killed_run_continues_to_the_same_end(
    lines: Path,
    tmp_path: Path,
    more: dict[str, Any],
    epochs: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Curves, weights, predictions bit by bit: dropout, batch norm, samples, rate."""
    monkeypatch.setattr(Pace, "due", True)  # a checkpoint however short the epoch
    settings = config(lines, **{**HARD, **more})
    run(settings, tmp_path / "whole")
    for epoch in epochs:
        code = signalled_run(settings, tmp_path / "killed", epoch)
        assert code == -signal.SIGKILL
    assert not (tmp_path / "killed" / "record.json").exists()
    run(settings, tmp_path / "killed")
    assert leavings(tmp_path / "killed") == leavings(tmp_path / "whole")
    assert not (tmp_path / "killed" / CHECKPOINT_FILE).exists()


def test_a_run_that_goes_on_with_other_threads_says_so(
    lines: Path, tmp_path: Path
) -> None:
    """A finished run is as it is: threads of a later call have no part in it."""
    settings = config(lines, accelerator="cpu", epochs=1)
    make_folder(tmp_path / "run")
    assert note_threads(2, tmp_path / "run") == [2]
    with pytest.warns(ResumeWarning, match="with --threads 2 and goes on with 1"):
        record = run(settings, tmp_path / "run")
    assert record.device == "cpu, 2 then 1 threads"
    torch.set_num_threads(3)
    assert run(settings, tmp_path / "run").device == record.device
    assert note_threads(1, tmp_path / "run") == [2, 1]


def test_the_rate_was_reduced_and_patience_ended_the_run_above(
    lines: Path, tmp_path: Path
) -> None:
    """Else the test above would say little."""
    found = run(config(lines, **{**HARD, "epochs": 40}), tmp_path / "run").folds[0]
    assert len(set(found.curves["lr"])) > 1
    stopped = len(found.curves["lr"])
    assert stopped < 40
    assert stopped == found.kept_epoch + 3
    assert found.kept_epoch == 1 + found.curves["val_loss"].index(
        min(found.curves["val_loss"])
    )


def test_a_run_killed_after_it_had_decided_to_stop_trains_no_further(
    lines: Path, tmp_path: Path
) -> None:
    """The checkpoint of the last epoch is there, the results are not."""
    settings = config(lines, **{**HARD, "epochs": 40})
    whole = run(settings, tmp_path / "whole")
    stopped = len(whole.folds[0].curves["lr"])

    def killed() -> None:
        import sekgnn.training.training as module

        def die(*_: Any) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        vars(module)["predict_batches"] = die
        run(settings, tmp_path / "killed")

    assert fork(killed) == -signal.SIGKILL
    saved = read_checkpoint(tmp_path / "killed" / CHECKPOINT_FILE)
    assert len(saved["curves"]["lr"]) == stopped
    told: list[int] = []
    run(settings, tmp_path / "killed", report=lambda epoch, _: told.append(epoch))
    assert told == []
    assert leavings(tmp_path / "killed") == leavings(tmp_path / "whole")


def test_ctrl_c_interrupts_and_the_run_can_be_continued(
    lines: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """In this process, which goes on to hear Ctrl-C afterwards."""
    settings = config(lines, epochs=4)
    # nohup and shells that start a job in the background make processes ignore it
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, usual))

    def report(epoch: int, _: dict[str, float]) -> None:
        if epoch == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "stopped", report=report)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run(settings, tmp_path / "stopped")
    run(settings, tmp_path / "whole")
    assert leavings(tmp_path / "stopped") == leavings(tmp_path / "whole")


@pytest.mark.parametrize("took", [0.0, 0.1, 7.0])
def test_writing_takes_at_most_a_share_of_the_time(
    took: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epochs of a second: all are written where that is quick, else 5 % of the time."""
    now = [100.0]
    monkeypatch.setattr("sekgnn.training.epochs.clock", lambda: now[0])
    pace, written = Pace(), 0.0
    for _ in range(1000):
        now[0] += 1.0
        if pace.due:
            with pace.writing():
                now[0] += took
            written += took
    share = written / (now[0] - 100.0)
    assert share <= 0.05 + took / 1000
    assert took == 0.0 or share > 0.03


def test_training_leaves_torch_and_the_environment_as_they_were(
    lines: Path, tmp_path: Path
) -> None:
    state, names = torch.get_rng_state(), set(os.environ)
    run(config(lines, dropout=0.5, epochs=1), tmp_path / "run")
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()
    assert set(os.environ) ^ names <= {"CUBLAS_WORKSPACE_CONFIG"}


def test_a_loss_that_explodes_is_named_and_good_weights_are_kept(
    tmp_path: Path,
) -> None:
    """The rate is far too high: a step ruins the weights, the next one sees it."""
    lines = write_lines(tmp_path / "data.jsonl", records())
    settings = config(lines, lr=1e20, norm="none", epochs=5)
    with pytest.raises(NotFiniteError, match=r"epoch 1, step \d; use a smaller lr"):
        run(settings, tmp_path / "run")
    assert not (tmp_path / "run" / CHECKPOINT_FILE).exists()
    with pytest.raises(NotFiniteError, match="epoch 1"):  # and again, the same
        run(settings, tmp_path / "run")


@pytest.mark.parametrize("more", [{}, {"keep": "last", "refit": True}], ids=str)
def test_weights_that_the_last_step_of_an_epoch_ruins_are_not_kept(
    lines: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    """One step per epoch: its loss is finite, what it leaves behind is not."""
    ruin: dict[str, Any] = {"norm": "none", "epochs": 1, "batch_size": 100, **more}
    settings = config(lines, lr=1e20, **ruin)
    with pytest.raises(NotFiniteError, match="epoch 1, step 1"):
        run(settings, tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert not names & {CHECKPOINT_FILE, "model.safetensors", "record.json"}


def test_targets_that_overflow_are_an_error(tmp_path: Path) -> None:
    items = records()
    for i, item in enumerate(items):
        item["size"] = 1e30 * (i % 3)
    lines = write_lines(tmp_path / "data.jsonl", items)
    with pytest.raises(NotFiniteError, match=r"epoch 1, step 1.*extreme targets"):
        run(config(lines, kind="regression", normalize=False), tmp_path / "run")


def test_a_damaged_checkpoint_is_named_and_removing_it_helps(
    lines: Path, tmp_path: Path
) -> None:
    settings = config(lines)
    signalled_run(settings, tmp_path / "run", 2)
    file = tmp_path / "run" / CHECKPOINT_FILE
    good = file.read_bytes()
    found = read_checkpoint(file)
    weights = found["model"].items()
    wide = {name: torch.cat([v, v]) for name, v in weights if v.dim()}
    no_groups: dict[str, Any] = {"state": {}, "param_groups": []}
    means = copy.deepcopy(found["optimizer"])
    means["state"][0]["exp_avg"] = torch.zeros(1)  # fused Adam reads past its end
    best = dict([*found["best"].items()][1:])
    curves = found["curves"]
    for changed in (
        {"state_dict": {"a.weight": torch.zeros(2, 3)}, "epoch": 2},
        {**found, "model": wide},
        {**found, "model": [1]},
        {**found, "seconds": "x"},
        {**found, "curves": {**curves, "lr": curves["lr"][1:]}},
        {**found, "curves": {"lr": curves["lr"], "train_loss": curves["train_loss"]}},
        {**found, "curves": {}},
        {**found, "optimizer": no_groups},
        {**found, "optimizer": means},
        {**found, "best": {}},
        {**found, "best": best},
        {**found, "scale": [0.0]},
    ):
        torch.save(changed, file)
        with pytest.raises(
            ModelFileError, match="remove it to start the run"
        ) as caught:
            run(settings, tmp_path / "run")
        assert "\n" not in str(caught.value)
    file.write_bytes(good[:-100])
    with pytest.raises(ModelFileError, match="remove it to start the run again"):
        run(settings, tmp_path / "run")
    file.unlink()
    run(settings, tmp_path / "run")
    run(settings, tmp_path / "whole")
    assert leavings(tmp_path / "run") == leavings(tmp_path / "whole")


def test_a_disk_that_is_full_for_a_while_costs_an_epoch(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(lines)
    real = os.fsync

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def report(epoch: int, _: dict[str, float]) -> None:
        if epoch == 2:
            monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(OutputError, match="No space left"):
        run(settings, tmp_path / "run", report=report)
    monkeypatch.setattr(os, "fsync", real)
    run(settings, tmp_path / "run")
    run(settings, tmp_path / "whole")
    assert leavings(tmp_path / "run") == leavings(tmp_path / "whole")


def test_curves_are_a_table_of_every_epoch(lines: Path, tmp_path: Path) -> None:
    record = run(config(lines), tmp_path / "run")
    head, *rows = table(tmp_path / "run" / "metrics.csv")
    assert [row[0] for row in rows] == ["1", "2", "3"]
    for name, column in zip(head[1:], zip(*rows, strict=True), strict=False):
        values = [float(row[head.index(name)]) for row in rows]
        assert values == record.folds[0].curves[name], column


def test_tensorboard_is_written_when_asked_for(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    record = run(config(lines, epochs=1, tensorboard=True), tmp_path / "run")
    (events,) = (tmp_path / "run").rglob("events.out.tfevents*")
    found = accumulator.EventAccumulator(str(events)).Reload()
    (scalar,) = found.Scalars("train_loss")
    curve = record.folds[0].curves["train_loss"]
    assert scalar.step == 1 and scalar.value == pytest.approx(curve[0])
    monkeypatch.setitem(__import__("sys").modules, "tensorboard", None)
    with pytest.raises(MissingExtraError, match=r"sekgnn\[tensorboard\]"):
        run(config(lines, epochs=2, tensorboard=True), tmp_path / "other")


@pytest.mark.parametrize(
    "more", [{"accelerator": "gpu"}, {"strategy": "telepathy"}], ids=str
)
def test_what_the_machine_has_not_is_a_config_error(
    lines: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    if "accelerator" in more and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ConfigError, match="not available here"):
        run(config(lines, **more), tmp_path / "run")


def test_a_monitor_that_is_not_defined_chooses_nothing(
    lines: Path, tmp_path: Path
) -> None:
    """One validation graph: the area under its curve is NaN, which is no reason."""
    settings = config(lines, "ring", monitor="auroc", val_fraction=0.04)
    with pytest.raises(ConfigError, match="val_auroc is not defined"):
        run(settings, tmp_path / "run")
    record = run(config(lines, "ring", val_fraction=0.04), tmp_path / "loss")
    assert all(map(math.isnan, record.folds[0].curves["val_auroc"]))
    again = RunRecord.load(tmp_path / "loss")
    assert math.isnan(again.folds[0].curves["val_auroc"][0])
