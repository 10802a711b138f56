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
from sekgnn.models.options import MODEL_KINDS
from sekgnn.training import data as training_data
from sekgnn.training.predictor import Predictor
from sekgnn.training.training import Training


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Return a list that grows whenever a model is built or hops are found."""
    modules = {"make_model": module, "GraphSource": training_data}
    found: dict[str, list[Any]] = {name: [] for name in modules}
    for name, calls in found.items():
        usual: Any = vars(modules[name])[name]

        def counted(
            first: Any, second: Any, third: Any, calls: Any = calls, usual: Any = usual,
            **more: Any,
        ) -> Any:  # fmt: skip
            calls.append(second if isinstance(second, int) else third)
            return usual(first, second, third, **more)

        monkeypatch.setattr(modules[name], name, counted)
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
    assert made["GraphSource"] == []
    for hops in (1, 2, 1, 2):
        training.change(replace(base, num_hops=hops)).prepare()
    assert made["GraphSource"] == [1, 2]
    for hops in (3, 4, 5, 1):  # only the last four are kept
        training.change(replace(base, num_hops=hops)).prepare()
    assert made["GraphSource"] == [1, 2, 3, 4, 5, 1]
    sampled = replace(base, max_neighbors=1)
    for seed in (0, 1, 0):  # a sample is that of its seed
        training.change(replace(sampled, seed=seed)).prepare()
    assert len(made["GraphSource"]) == 8


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
        found = trained.evaluate(part)
        chosen = np.sort(getattr(training.splits[0], part))
        assert found.graph.tolist() == chosen.tolist()
    kept = trained.curves["val_mae"][trained.kept_epoch - 1]
    metrics = trained.evaluate("val").metrics(trained.note)
    assert metrics["mae"] == pytest.approx(kept, rel=1e-5)


@pytest.mark.parametrize(
    "name", [n for n, k in MODEL_KINDS.items() if k.network and not k.coordinates]
)
def test_every_network_trains_and_predicts(name: str, lines: Path) -> None:
    """One epoch; a list of graphs gives what the batches of the training gave."""
    own = {"hidden_channels": 4, "num_layers": 2, "num_hops": 2}
    options = {k: v for k, v in own.items() if k in MODEL_KINDS[name].options()}
    training = Training(
        config(lines, "ring", **{"epochs": 1, "model": name, **options})
    )
    trained = training.fit()
    found = trained.evaluate()
    chosen = [training.data[i] for i in training.splits[0].test]
    predicted = Predictor([trained.model], [trained.note]).predict(chosen)
    expected = trained.note.predictions(found.out).numpy()
    np.testing.assert_allclose(predicted, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"model": "dtnn"}, r"data.jsonl, line 1: .*no 'pos'|line 1 has no 'pos'"),
        ({"model": "deep-lrp", "order_size": 60}, "order_size"),
        ({"model": "pna", "towers": 3}, "towers cannot share"),
        ({"model": "capsgnn", "closed_form": "after"}, "leave it out for 'capsgnn'"),
        ({"model": "dgcnn", "readout": "sum"}, "'dgcnn' has no readout"),
    ],
)
def test_what_a_network_cannot_read_is_refused_before_anything_is_written(
    keys: dict[str, Any], message: str, lines: Path, tmp_path: Path
) -> None:
    if "order_size" in keys:
        write_lines(lines, [{**row, "edges": [[0, u] for u in range(1, 2_000)],
                             "num_nodes": 2_000} for row in records()])  # fmt: skip
    with pytest.raises(ValueError, match=message):
        run(config(lines, "ring", **keys), tmp_path / "run")
    assert not (tmp_path / "run").exists()
