"""The study trains on no test graph, continues, and its page is made of its record."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from studies.defaults import trials
from studies.defaults.page import compare, defaults_page
from studies.defaults.trials import CHANGES, TASKS, Defaults, Trial, halved, run_trials

from sekgnn.datasets import Split
from sekgnn.training import RunConfig, Training

RESULTS = Path(__file__).parents[1] / "results"


def trial(metric: str, *scores: float, seed: int = 0) -> Trial:
    return Trial("t", "r", {"seed": seed}, metric, scores, (), 0.0)


def test_the_page_is_made_of_the_record_and_nothing_is_missing() -> None:
    record = Defaults.read(RESULTS / "defaults.json")
    assert (RESULTS / "defaults.md").read_text("utf-8") == defaults_page(record)
    stored = {(t.task, t.recipe, t.config["seed"]): t.config for t in record.trials}
    for task, recipe, config in trials.configs([*TASKS], 1):
        assert config.differences(RunConfig.from_dict(stored[task, recipe, 0])) == []


def test_validation_graphs_are_halved_and_test_graphs_left_out() -> None:
    split = Split(np.arange(10), np.arange(10, 15), np.arange(15, 20))
    halves = halved(split, 0, 4)
    assert halves.sizes == (4, 3, 2)
    assert set(halves.train) < set(split.train)
    assert {*halves.val, *halves.test} == {*split.val}


def test_what_is_clearly_better() -> None:
    low = [trial("mae", 1.0), trial("mae", 1.0, seed=1)]
    assert compare([trial("mae", 0.9), trial("mae", 0.8)], low) == 1
    assert compare([trial("mae", 0.8), trial("mae", 0.95)], low) == 0
    assert compare([trial("mae", 1.2), trial("mae", 1.2)], low) == -1
    # gains .1, .1, .1 and .3: mean .15, standard error .05, three of them
    base = trial("accuracy", 0.5, 0.5, 0.5, 0.5)
    assert compare([trial("accuracy", 0.6, 0.6, 0.6, 0.8)], [base]) == 1
    assert compare([base], [trial("accuracy", 0.6, 0.6, 0.6, 0.8)]) == -1
    assert compare([trial("accuracy", 0.5, 0.5, 0.5, 0.8)], [base]) == 0


@pytest.mark.filterwarnings("ignore:.*the validation loss ended")  # lr is 0.5
def test_what_is_done_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f'{{"edges": [[0, 1]], "num_nodes": {n}, "y": {n}}}' for n in range(2, 22)]
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    small = {"data": str(tmp_path / "data.jsonl"), "target": "y", "model": "gin",
             "val_fraction": 0.2, "num_layers": 1, "epochs": 1}  # fmt: skip
    monkeypatch.setattr(trials, "Training", partial(Training, cache=False))
    monkeypatch.setitem(TASKS, "triangle", small)
    for name in set(CHANGES) - {"defaults", "skip"}:
        monkeypatch.delitem(CHANGES, name)
    monkeypatch.setattr(trials, "load_preset", lambda _: {})
    ran: list[str] = []
    real = trials.run_trial

    def counted(*args: object) -> Trial:
        ran.append(str(args[2]))
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(trials, "run_trial", counted)
    file = tmp_path / "defaults.json"
    first = run_trials(file, ["triangle"], limit=20)
    assert len(ran) == len(first.trials) == 4 and first == Defaults.read(file)
    monkeypatch.setitem(CHANGES, "skip", {"skip": True, "lr": 0.5})
    second = run_trials(file, ["triangle"], limit=20)
    assert ran[4:] == ["skip"] and len(second.trials) == 4
