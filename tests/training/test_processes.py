"""Several processes take the steps of one; weights, curves and metrics agree."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.training.helpers import (
    config,
    run,
    weights,
)

from sekgnn.errors import ConfigError
from sekgnn.training.config import RunConfig
from sekgnn.training.loop import Loop
from sekgnn.training.run import is_main_process
from sekgnn.training.run_record import RunRecord

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def together(
    settings: RunConfig,
    folder: Path,
    world: int = 2,
    run: Callable[[RunConfig, Path], object] = run,
) -> list[int | None]:
    """Run in some processes, as Fabric or torchrun would start them."""
    port = free_port()

    def work(rank: int) -> None:
        os.environ |= {
            "LOCAL_RANK": str(rank),
            "NODE_RANK": "0",
            "WORLD_SIZE": str(world),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        assert is_main_process(settings) == (rank == 0)
        run(settings, folder)

    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=work, args=(r,)) for r in range(world)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        if process.exitcode is None:
            process.kill()
    return [process.exitcode for process in processes]


@pytest.mark.parametrize(
    ("target", "more"),
    [
        ("size,weight", {"norm": "none"}),  # some have one target, some both
        ("ring", {"norm": "layer", "batch_size": 5}),  # shares of unequal size
    ],
)
def test_twoprocesses_train_as_one(
    lines: Path, tmp_path: Path, target: str, more: dict[str, Any]
) -> None:
    """Gradients are means over targets, wherever these lie; so are all metrics."""
    more = {"epochs": 2, "dropout": 0.0, "lr": 1e-3, **more}
    run(config(lines, target, **more), tmp_path / "one")
    shared = config(lines, target, devices=2, strategy="ddp", **more)
    assert together(shared, tmp_path / "two") == [0, 0]
    first, second = RunRecord.load(tmp_path / "one"), RunRecord.load(tmp_path / "two")
    for name, curve in first.folds[0].curves.items():
        other = second.folds[0].curves[name]
        assert other == pytest.approx(curve, rel=1e-3, abs=1e-5, nan_ok=True), name
    assert first.folds[0].split == second.folds[0].split
    expected = weights(tmp_path / "one")
    for name, value in weights(tmp_path / "two").items():
        np.testing.assert_allclose(value, expected[name], atol=2e-4, err_msg=name)
    for one, two in zip(first.results, second.results, strict=True):
        assert two.value == pytest.approx(one.value, rel=1e-3, nan_ok=True)


def test_a_killed_process_ends_the_others_with_a_line(
    lines: Path, tmp_path: Path
) -> None:
    def killed(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def work(settings: RunConfig, folder: Path) -> None:
        if os.environ["LOCAL_RANK"] == "1":
            setattr(Loop, "train_loss", killed)  # noqa: B010
        try:
            run(settings, folder)
        except ConfigError as error:
            expected = "another process of this run has ended" in str(error)
            os._exit(7 if expected and "\n" not in str(error) else 8)

    shared = config(lines, devices=2, strategy="ddp")
    assert together(shared, tmp_path / "run", run=work) == [7, -signal.SIGKILL]


def test_processes_without_graphs_are_refused(lines: Path, tmp_path: Path) -> None:
    """One graph per step cannot be shared by two."""
    settings = config(lines, batch_size=1, devices=2, strategy="ddp")
    assert together(settings, tmp_path / "run") == [1, 1]
    assert not (tmp_path / "run" / "record.json").exists()


def test_strategies_whose_weights_stay_in_other_processes_are_refused() -> None:
    for name in ("ddp_spawn", "ddp_fork", "ddp_notebook"):
        with pytest.raises(ConfigError, match=f"strategy {name!r}"):
            RunConfig(strategy=name)


@pytest.mark.parametrize("name", ["LOCAL_RANK", "NODE_RANK", "RANK", "SLURM_PROCID"])
def test_the_main_process_is_the_first(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("LOCAL_RANK", "NODE_RANK", "RANK", "SLURM_PROCID"):
        monkeypatch.delenv(other, raising=False)
    for several in (RunConfig(devices=2), RunConfig(num_machines=2)):
        monkeypatch.delenv(name, raising=False)
        assert is_main_process(several)
        monkeypatch.setenv(name, "0")
        assert is_main_process(several)
        monkeypatch.setenv(name, "1")
        assert not is_main_process(several)
        assert is_main_process(RunConfig())  # numbered by a batch system: alone here
