"""A record comes back as it was; a damaged one is never half read."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.training.run_record import FoldRecord, Result, RunRecord

FOLD = FoldRecord(
    split={"train": [0, 2], "test": [1]},
    curves={"lr": [0.1, 0.05], "test_auroc": [math.nan, 0.5]},
    kept_epoch=2,
    metrics={"test_auroc": math.nan, "test_f1": 0.25},
    seconds=1.5,
    members={"network 1": {"test_auroc": math.nan}, "forest": {"test_f1": 0.0}},
)
RECORD = RunRecord(
    config={"data": "ä", "model": "gin", "lr": 0.00123456789},
    data={"name": "ä", "targets": ["y"], "classes": None},
    model={"model": "GIN", "dropout": 0.123456789},
    num_parameters=3,
    protocol="nested",
    selected_on="the loss",
    monitor="val_loss",
    folds=(FOLD, FOLD),
    results=(
        Result("test_auroc", math.nan, math.nan, "nested", "the loss"),
        Result("test_f1", 0.25, 0.0, "nested", "the loss", 3),
    ),
)


def test_a_record_comes_back_with_its_nans(tmp_path: Path) -> None:
    RECORD.save(tmp_path)
    for place in (tmp_path, tmp_path / "record.json"):
        assert repr(RunRecord.load(place)) == repr(RECORD)  # NaN is not equal to NaN
    one = replace(
        RECORD,
        folds=(FOLD,),
        results=(Result("test_f1", 0.5, None, "holdout", "the loss"),),
    )
    one.save(tmp_path)
    assert RunRecord.load(tmp_path).results == one.results


def test_the_file_is_json_for_everyone(tmp_path: Path) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    values = json.loads(RECORD.to_json(), parse_constant=refuse)
    assert values["format"] == "sekgnn run"
    assert values["results"][0]["value"] is None
    assert values["config"]["lr"] == 0.00123456789


def test_results_are_found_by_metric_and_protocol() -> None:
    assert RECORD.headline is RECORD.results[0]
    assert RECORD.result("test_f1").epoch == 3
    with pytest.raises(ConfigError, match=r"no test_mae \(nested\); it has test_auroc"):
        RECORD.result("test_mae")
    with pytest.raises(ConfigError, match=r"no test_f1 \(xu2019\)"):
        RECORD.result("test_f1", "xu2019")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "not the record of a run"),
        ({"format_version": 99}, "has format 99, this version reads 1"),
        ({"folds": []}, "no folds or no results"),
        ({"results": []}, "no folds or no results"),
        ({"folds": [{"curves": {}}]}, "is damaged"),
        ({"folds": None}, "is damaged"),
        ({"results": [{"value": 1}]}, "is damaged"),
        ({"surprise": 1}, "is damaged"),
        ({"baseline": {"x": 1}}, "baseline lacks left_out"),
        ({"baseline": {"metric": "test_mae"}}, "baseline lacks each"),
        ({"config": {**RECORD.config, "seed": {}}}, "seed"),
        ({"results": [{**asdict(RECORD.results[0]), "epoch": -1}]}, "epoch"),
    ],
)
def test_damaged_records_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    values = {**json.loads(RECORD.to_json()), **change}
    (tmp_path / "record.json").write_text(json.dumps(values))
    with pytest.raises(GraphInputError, match=message):
        RunRecord.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"\xff\xfe"])
def test_files_that_are_no_records_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "record.json").write_bytes(content)
    with pytest.raises(GraphInputError, match=r"record\.json is"):
        RunRecord.load(tmp_path)


def test_an_unfinished_run_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(GraphInputError, match="Repeat its command to continue"):
        RunRecord.load(tmp_path)
