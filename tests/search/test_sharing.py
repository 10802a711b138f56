"""Processes share a study: every slot once, and none is lost with a process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

optuna: Any = pytest.importorskip("optuna")

from sekgnn.datasets.graph_task import GraphTask  # noqa: E402
from sekgnn.search import SearchSpace, search, worker  # noqa: E402
from sekgnn.search.storage import open_storage, quiet_optuna  # noqa: E402
from sekgnn.search.worker import Worker  # noqa: E402
from sekgnn.training.config import RunConfig  # noqa: E402

from .conftest import BASE  # noqa: E402

SPACE = {"lr": [0.01, 0.02, 0.03], "batch_size": [8, 16], "num_layers": [1, 2]}

WORK = """
import json, sys, time
from sekgnn.paper import CountingDataset
from sekgnn.search import SearchSpace, search, worker
from sekgnn.search.worker import Outcome, Validation
from sekgnn.training.config import RunConfig
from sekgnn.paper.counting import counting_data

folder, url, base, space, hang = sys.argv[1:]
data = counting_data(CountingDataset.generated(num_graphs=40), ["triangle"])
worker.BEAT_SECONDS = 1

def value(self, config, report):
    print(config.lr, config.batch_size, config.num_layers, flush=True)
    time.sleep(600 if hang == "hang" else 0.05)
    return Outcome(config.lr, (1,), 1, 0.0)

Validation.value = value
print("ready", flush=True)
sys.stdin.readline()
search(
    RunConfig.from_dict(json.loads(base)), SearchSpace.from_dict(json.loads(space)),
    folder, sampler="grid", pruner="none", data=data, storage=url or None,
)
"""


def start(folder: Path, url: str, hang: str = "") -> subprocess.Popen[str]:
    """Start a process that searches when it is told to."""
    base, space = json.dumps(BASE.to_dict()), json.dumps(SPACE)
    return subprocess.Popen(
        [sys.executable, "-c", WORK, str(folder), url, base, space, hang],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def go(*processes: subprocess.Popen[str]) -> None:
    """Let processes begin, all at once."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes be gone after two seconds, not a minute."""
    monkeypatch.setattr(worker, "BEAT_SECONDS", 1)
    monkeypatch.setattr(worker, "GRACE_SECONDS", 2)


@pytest.mark.slow
@pytest.mark.parametrize("journal", [False, True])
def test_no_point_is_done_twice(tmp_path: Path, journal: bool) -> None:
    url = str(tmp_path / "study.log") if journal else ""
    processes = [start(tmp_path / "s", url) for _ in range(2)]
    go(*processes)
    done = [process.communicate(timeout=300)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len({line for lines in done for line in lines}) == 12
    assert sum(map(len, done)) == 12
    record = json.loads((tmp_path / "s" / "search.json").read_text("utf-8"))
    assert record["trials"] == {"complete": 12, "pruned": 0, "fail": 0, "running": 0}


@pytest.mark.slow
@pytest.mark.parametrize("journal", [False, True])
def test_the_same_command_continues_after_kill_9(
    tmp_path: Path,
    data: GraphTask,
    no_training: list[RunConfig],
    impatient: None,
    journal: bool,
) -> None:
    url = str(tmp_path / "study.log") if journal else ""
    process = start(tmp_path / "s", url, "hang")
    go(process)
    assert process.stdout is not None
    point = process.stdout.readline().split()
    process.kill()
    process.communicate()
    record = search(
        BASE, SearchSpace.from_dict(SPACE), tmp_path / "s", sampler="grid",
        pruner="none", data=data, storage=url or None,
    )  # fmt: skip
    assert record.trials == {"complete": 12, "pruned": 0, "fail": 1, "running": 0}
    assert record.rows[0]["reason"] == "its process is gone"
    again = [[str(c.lr), str(c.batch_size), str(c.num_layers)] for c in no_training]
    assert again.count(point) == 1
    assert len(again) == 12


def make_worker(study: Any, slots: int = 1) -> Worker:
    """Return a worker that can choose slots, but run no trial."""
    record: Any = SimpleNamespace(space={}, requested=slots)
    validation: Any = SimpleNamespace(config=BASE)
    return Worker(study, record, validation)


def test_trials_choose_slots_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Were a later one first, an earlier one could choose the same meanwhile."""
    with quiet_optuna():
        study = optuna.create_study(storage=open_storage(str(tmp_path / "study.log")))
        chooser = make_worker(study, slots=2)
        first, second, third = study.ask(), study.ask(), study.ask()
        with ThreadPoolExecutor() as pool:
            waiting = [pool.submit(chooser.choose_slot, t) for t in (third, second)]
            time.sleep(0.5)
            assert not any(future.done() for future in waiting)
            assert chooser.choose_slot(first) == 0
            assert waiting[1].result(timeout=60) == 1
            assert waiting[0].result(timeout=60) is None
        for trial in (first, third):  # a failed trial gives its slot back
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        assert chooser.choose_slot(study.ask()) == 0


@pytest.mark.parametrize("form", ["{}/study.log", "sqlite:///{}/study.db"])
def test_a_distant_trial_is_gone_when_its_sign_no_longer_changes(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No two clocks are compared; nor is there a heartbeat that comes too late."""
    clock = [0.0]
    monkeypatch.setattr("sekgnn.search.worker.time.monotonic", lambda: clock[0])
    with quiet_optuna():
        study = optuna.create_study(storage=open_storage(form.format(tmp_path)))
        watch = make_worker(study)
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
        for beat in range(5):
            clock[0] += worker.GRACE_SECONDS
            trial.set_user_attr("alive", beat)
            assert watch.trials()[0].state.name == "RUNNING"
        clock[0] += worker.GRACE_SECONDS + 1
        assert watch.trials()[0].state.name == "FAIL"
        with pytest.raises(optuna.exceptions.UpdateFinishedTrialError):
            trial.set_user_attr("alive", 9)  # it wakes up, and notices


def test_a_process_that_was_thought_to_be_gone_goes_on(
    tmp_path: Path, data: GraphTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its trial was failed by another: it is done again, and nothing else is lost."""
    from sekgnn.search.worker import Outcome, Report, Validation

    calls: list[RunConfig] = []

    def value(self: Validation, config: RunConfig, report: Report) -> Outcome:
        calls.append(config)
        if len(calls) == 2:
            with quiet_optuna():
                url = f"sqlite:///{tmp_path}/study.db"
                study = optuna.load_study(study_name="search", storage=url)
                study.tell(1, state=optuna.trial.TrialState.FAIL)
        report(1, 0.5)
        return Outcome(config.lr, (1,), 1, 0.0)

    monkeypatch.setattr(Validation, "value", value)
    space = SearchSpace.from_dict({"lr": [0.01, 0.02, 0.03]})
    record = search(BASE, space, tmp_path, sampler="grid", data=data)
    assert record.trials == {"complete": 3, "pruned": 0, "fail": 1, "running": 0}
    assert calls[1] == calls[2]
    assert len(calls) == 4
