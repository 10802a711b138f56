"""Processes share a study: every slot once, and none is lost with a process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

optuna: Any = pytest.importorskip("optuna")

from sekgnn.search import turns as module  # noqa: E402
from sekgnn.search.storage import default_storage, open_storage, quiet_optuna  # noqa: E402
from sekgnn.search.turns import OWNER, REASON, SLOT, Turns, is_counted, me  # noqa: E402

WORK = """
import sys, time
from sekgnn.search.storage import open_storage, quiet_optuna
from sekgnn.search.turns import Turns, is_counted
with quiet_optuna() as optuna:
    study = optuna.create_study(
        storage=open_storage(sys.argv[1]), study_name="s", load_if_exists=True)
    turns = Turns(study)
    total, hang = int(sys.argv[2]), len(sys.argv) > 3
    while sum(map(is_counted, turns.trials())) < total:
        trial = study.ask()
        slot = turns.take(trial)
        if hang:
            print("taken", slot, flush=True)
            time.sleep(600)
        if slot >= total:
            turns.fail(trial, "not needed")
        else:
            study.tell(trial, 1.0)
"""


def start(url: str, total: int, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORK, url, str(total), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def study_of(url: str) -> Any:
    with quiet_optuna():
        return optuna.create_study(
            storage=open_storage(url), study_name="s", load_if_exists=True
        )


def test_two_processes_never_take_the_same_slot(tmp_path: Path) -> None:
    url = default_storage(tmp_path)
    processes = [start(url, 15) for _ in range(2)]
    assert [process.wait(300) for process in processes] == [0, 0]
    for process in processes:
        process.communicate()
    done = [t for t in study_of(url).get_trials() if is_counted(t)]
    assert sorted(t.user_attrs[SLOT] for t in done) == list(range(15))
    owners = {t.user_attrs[OWNER]["pid"] for t in done}
    assert len(owners) <= 2


def test_a_killed_process_gives_its_slot_back(tmp_path: Path) -> None:
    url = default_storage(tmp_path)
    process = start(url, 5, "hang")
    assert process.stdout is not None
    assert process.stdout.readline() == "taken 0\n"
    study = study_of(url)
    turns = Turns(study)
    assert [t.state.name for t in turns.trials()] == ["RUNNING"]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (trial,) = turns.trials()
    assert trial.state.name == "FAIL"
    assert trial.user_attrs[REASON] == "its process is gone"
    assert turns.take(study.ask()) == 0


def test_a_distant_process_is_gone_when_its_sign_no_longer_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("sekgnn.search.turns.time.monotonic", lambda: clock[0])
    study = study_of(str(tmp_path / "study.log"))
    turns = Turns(study)
    trial = study.ask()
    assert turns.take(trial) == 0
    trial.set_user_attr(OWNER, {**me(), "machine": "far away", "pid": 1})
    for beat in range(5):
        clock[0] += module.GRACE_SECONDS
        trial.set_user_attr(module.ALIVE, beat)
        assert turns.trials()[0].state.name == "RUNNING"
    clock[0] += module.GRACE_SECONDS + 1
    assert turns.trials()[0].state.name == "FAIL"
    with pytest.raises(optuna.exceptions.UpdateFinishedTrialError):
        trial.set_user_attr(module.ALIVE, 9)  # it wakes up, and notices


def test_a_trial_waits_for_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trial 1 may not choose while trial 0, which is alive, has not."""
    study = study_of(str(tmp_path / "study.log"))
    turns = Turns(study)
    first, second = study.ask(), study.ask()
    first.set_user_attr(OWNER, me())
    naps = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            Turns(study).take(first)

    monkeypatch.setattr("sekgnn.search.turns.time.sleep", nap)
    assert turns.take(second) == 1
    assert len(naps) == 3


def test_slots_of_failed_trials_are_taken_again(tmp_path: Path) -> None:
    study = study_of(str(tmp_path / "study.log"))
    turns = Turns(study)
    trials = [study.ask() for _ in range(3)]
    assert [turns.take(trial) for trial in trials] == [0, 1, 2]
    turns.fail(trials[1], "interrupted")
    assert turns.take(study.ask()) == 1
    assert turns.take(study.ask()) == 3
