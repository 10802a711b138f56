"""``sekgnn models``: all models, and what was measured of them."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.models import names, page, ratios

from sekgnn.models import MODELS
from sekgnn.models.options import MODEL_KINDS, model_costs
from sekgnn.paper.paper_numbers import PAPER_NUMBERS
from sekgnn.wl import TESTS

from .conftest import Run

ROOT = Path(__file__).parents[2]


def test_every_model_is_listed_with_all_facts(run: Run) -> None:
    rows = {row["name"]: row for row in json.loads(run("models", "--json").stdout)}
    text = run("models").stdout
    assert rows.keys() == {*MODELS}
    for name, row in rows.items():
        assert row["family"] and row["paper"] and row["equation"]
        assert row["bound"] in TESTS or row["reads"]["coordinates"]
        assert f"{name} ({row['family']})" in text and row["equation"] in text
        assert row["options"] == MODEL_KINDS[name].options()
        network = MODEL_KINDS[name].network and not row["reads"]["coordinates"]
        assert (row["cost"] is not None) == network
    assert [n for n, row in rows.items() if row["reads"]["coordinates"]] == ["dtnn"]
    assert rows["gin"]["cost"] == {"seconds": 1.0, "memory": 1.0}


def test_costs_are_those_of_the_record() -> None:
    folder = ROOT / "results" / "benchmarks"
    record = json.loads((folder / "models.json").read_text("utf-8"))
    assert {*record["models"]} == {*names()}
    assert model_costs() == ratios(record["models"])
    assert (folder / "models.md").read_text("utf-8") == page(record)


def test_models_of_the_papers_tables_say_so() -> None:
    tables = {"exp:syn": 1, "exp:tudataset": 2, "exp:qm9": 3, "exp:ab_study1": 4,
              "exp:ab_study2": 5}  # fmt: skip
    for number in PAPER_NUMBERS:
        about = MODEL_KINDS[number.model].about
        assert about is not None and tables[number.table] in about.tables
