"""One object prepares: nothing twice, nothing before it is needed, the same numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.training.helpers import (
    config,
    records,
    run,
    write_lines,
)

import sekgnn.training.training as module
from sekgnn.errors import ConfigError
from sekgnn.training.training import Training


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Return a list that grows whenever a model is built or hops are found."""
    found: dict[str, list[Any]] = {"make_model": [], "JoinedGraphs": []}
    for name, calls in found.items():
        usual: Any = vars(module)[name]

        def counted(
            first: Any, second: Any, third: Any, calls: Any = calls, usual: Any = usual,
            **more: Any,
        ) -> Any:  # fmt: skip
            calls.append(second if isinstance(second, int) else third)
            return usual(first, second, third, **more)

        monkeypatch.setattr(module, name, counted)
    return found


def test_a_run_builds_one_model_and_finds_hops_once(
    lines: Path, tmp_path: Path, made: dict[str, list[Any]]
) -> None:
    run(config(lines, epochs=1), tmp_path / "run")
    assert [len(calls) for calls in made.values()] == [1, 1]
    run(config(lines, epochs=1, protocol="nested", folds=3), tmp_path / "folds")
    assert [len(calls) for calls in made.values()] == [1 + 3, 2]
    assert len(set(made["make_model"])) == 3  # whose seeds differ


def test_hops_are_found_once_for_each_number(
    lines: Path, made: dict[str, list[Any]]
) -> None:
    base = config(lines, model="k-gin", num_hops=1)
    training = Training(base)
    assert made["JoinedGraphs"] == []
    for hops in (1, 2, 1, 2):
        training.change(replace(base, num_hops=hops)).prepare()
    assert made["JoinedGraphs"] == [1, 2]
    for hops in (3, 4, 5, 1):  # only the last four are kept
        training.change(replace(base, num_hops=hops)).prepare()
    assert made["JoinedGraphs"] == [1, 2, 3, 4, 5, 1]
    sampled = replace(base, max_neighbors=1)
    for seed in (0, 1, 0):  # a sample is that of its seed
        training.change(replace(sampled, seed=seed)).prepare()
    assert len(made["JoinedGraphs"]) == 8


def test_a_changed_config_trains_as_if_it_were_the_first(lines: Path) -> None:
    """Graphs and splits are shared, nothing else."""
    first = config(lines, "ring", dropout=0.3)
    other = replace(first, model="sek-gin", walk_length=4, lr=0.02)
    training = Training(first)
    training.fit()
    changed, alone = training.change(other), Training(other)
    assert changed.fit().curves == alone.fit().curves
    assert training.fit().curves == Training(first).fit().curves
    with pytest.raises(ConfigError, match="monitor"):
        training.change(replace(first, monitor="r2"))


def test_every_part_can_be_evaluated(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "data.jsonl", records())
    training = Training(config(lines, "size"))
    trained = training.fit()
    for part in ("train", "val", "test"):
        found = training.evaluate(trained, part=part)
        chosen = np.sort(getattr(training.splits[0], part))
        assert found.graph.tolist() == chosen.tolist()
    kept = trained.curves["val_mae"][trained.kept_epoch - 1]
    metrics = training.evaluate(trained, part="val").metrics(trained.note.objective)
    assert metrics["mae"] == pytest.approx(kept, rel=1e-5)
