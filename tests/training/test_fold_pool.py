"""Folds side by side are folds one after the other, whatever dies meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.training.helpers import (
    config,
    fork,
    run,
    weights,
)

import sekgnn.training.run as pool
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.training.loop import NotFiniteError
from sekgnn.training.run import run_fold

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

MORE: dict[str, Any] = {"protocol": "nested", "folds": 3, "epochs": 2, "dropout": 0.2}


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers be copies of this process: they need not import torch again."""
    context = multiprocessing.get_context("fork")
    monkeypatch.setattr(multiprocessing, "get_context", lambda *_: context)


def contents(folder: Path) -> dict[str, Any]:
    """Return everything of a run that must not depend on how it was computed."""
    out: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.name in ("metrics.csv", "predictions.csv"):
            out[name] = path.read_bytes()
        elif path.name == "model.safetensors":  # whose header is in any order
            tensors = weights(path.parent).items()
            out[name] = {key: value.tolist() for key, value in tensors}
    return out


@pytest.mark.parametrize(
    ("more", "files", "epochs"),
    [({}, 3, 6), ({"protocol": "fixed", "ensemble": 2, "schedule": "cosine"}, 5, 12)],
    ids=["one", "ensemble"],
)
def test_two_at_a_time_equal_one_after_the_other(
    lines: Path,
    tmp_path: Path,
    forks: None,
    more: dict[str, Any],
    files: int,
    epochs: int,
) -> None:
    settings = config(lines, "ring", **{**MORE, **more})
    told: list[tuple[int, int]] = []
    one = run(settings, tmp_path / "one", jobs=1)
    two = run(
        settings, tmp_path / "two", jobs=2, progress=lambda *done: told.append(done)
    )
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) == 3 * files + 1
    assert one.results == two.results
    assert told[0] == (0, epochs)
    assert told[-1] == (epochs, epochs)


@pytest.mark.slow
def test_new_processes_load_the_data_themselves(lines: Path, tmp_path: Path) -> None:
    settings = config(lines, "ring", **{**MORE, "folds": 2})
    run(settings, tmp_path / "one", jobs=1)
    run(settings, tmp_path / "two", jobs=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_killed_worker_is_an_error_and_the_run_goes_on_when_repeated(
    lines: Path, tmp_path: Path, forks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(lines, "ring", **MORE)
    real = run_fold

    def dies(prepared: Any, number: int, folder: Path, *rest: Any, **more: Any) -> Any:
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(prepared, number, folder, *rest, **more)

    monkeypatch.setattr(pool, "run_fold", dies)
    with pytest.raises(ConfigError, match=r"code -9.*repeat the command to continue"):
        run(settings, tmp_path / "run", jobs=2)
    assert not (tmp_path / "run" / "record.json").exists()
    monkeypatch.setattr(pool, "run_fold", real)
    run(settings, tmp_path / "run", jobs=2)
    run(settings, tmp_path / "whole", jobs=1)
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_errors_of_workers_arrive_as_they_are(
    lines: Path, tmp_path: Path, forks: None
) -> None:
    with pytest.raises(NotFiniteError, match="epoch 1"):
        run(config(lines, lr=1e20, norm="none", **MORE), tmp_path / "run", jobs=2)


def alive(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has buried does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_end_when_their_parent_is_killed(
    lines: Path, tmp_path: Path, forks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(lines, "ring", **{**MORE, "epochs": 100_000})
    real = run_fold

    def noted(*args: Any, **more: Any) -> Any:
        (tmp_path / f"{os.getpid()}.pid").touch()
        return real(*args, **more)

    monkeypatch.setattr(pool, "run_fold", noted)

    def die_later(done: int, _: int) -> None:
        if done > 3:
            os.kill(os.getpid(), signal.SIGKILL)

    code = fork(lambda: run(settings, tmp_path / "run", jobs=2, progress=die_later))
    assert code == -signal.SIGKILL
    workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
    assert len(workers) == 2
    deadline = time.monotonic() + 60
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [pid for pid in workers if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def test_a_damaged_result_of_a_fold_is_named(lines: Path, tmp_path: Path) -> None:
    settings = config(lines, "ring", **MORE)
    run(settings, tmp_path / "run")
    (tmp_path / "run" / "record.json").unlink()
    (tmp_path / "run" / "fold-02" / "fold.json").write_text('{"split": ')
    with pytest.raises(GraphInputError, match=r"fold-02.*damaged.*remove it"):
        run(settings, tmp_path / "run")
    (tmp_path / "run" / "fold-02" / "fold.json").unlink()
    assert len(run(settings, tmp_path / "run").folds) == 3
