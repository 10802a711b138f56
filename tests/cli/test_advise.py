"""``sekgnn advise`` from a table to a page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sekgnn.training.config import RunConfig
from sekgnn.training.settings import load_config

from .conftest import Run, assert_refused

DECALIN, BICYCLOPENTYL = "C1CCC2CCCCC2C1", "C1CCCC1C1CCCC1"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return molecules that 1-WL takes for one another, and one with two targets."""
    file = tmp_path / "two <b>rings.csv"
    pairs = [
        (DECALIN, 1.0),
        (BICYCLOPENTYL, 2.0),
        ("CCO", 3.0),
        ("OCC", 4.0),
        ("C", 5.0),
    ]
    file.write_text("smiles,y\n" + "".join(f"{s},{y}\n" for s, y in pairs))
    return file


def test_page_and_words(run: Run, table: Path, tmp_path: Path) -> None:
    page = tmp_path / "advice.html"
    result = run("advise", table, "--target", "y", "--no-baseline", "-o", page, code=0)
    for word in ("K-hop 1-WL, K = 2", "least MAE", "isomorphism", "necessary", "train"):
        assert word in result.stdout
    text = page.read_text(encoding="utf-8")
    HTMLParser().feed(text)
    assert "<b>rings" not in text and "&lt;b&gt;rings" in text
    assert "necessary for a model, not sufficient" in text
    assert "http" not in text.replace("http-equiv", "")  # nothing from elsewhere
    assert "nothing can tell them apart" in text and "sekgnn train" in text


def test_json_and_its_config(run: Run, table: Path, tmp_path: Path) -> None:
    result = run("advise", table, "--target", "y", "--no-baseline", "--json", code=0)
    found = json.loads(result.stdout)
    left = {f["name"]: f["collisions"] for f in found["findings"]}
    assert left["1wl"] == 4 and left["isomorphism"] == 2
    assert found["chosen"].startswith("khop") and left[found["chosen"]] == 2
    floor = {f["name"]: f["floors"][0]["mae"] for f in found["findings"]}
    assert floor["1wl"] == pytest.approx(2 / 5)
    assert floor["isomorphism"] == pytest.approx(1 / 5)
    file = tmp_path / "config.yaml"
    lines = [f"{k}: {json.dumps(v)}" for k, v in found["config"].items()]
    file.write_text("\n".join(lines))
    config = load_config(file, {})
    assert isinstance(config, RunConfig) and config.model == "k-gin"
    assert config.data == str(table) and config.target == ("y",)


def test_certificate_option(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    result = run(
        "wl", "rook:4", "shrikhande", "--test", "2fwl", "--certificate", file, code=1
    )
    assert json.loads(file.read_text())["separated"] is False
    other = tmp_path / "d.json"
    result = run("wl", "cycle:5", "cycle:5", "--test", "3fwl", "--certificate", other)
    assert_refused(result, "no certificates")
    assert not other.exists()


def test_rows_that_collide_are_named(run: Run, tmp_path: Path) -> None:
    """Equal molecules, however written; not those of equal targets."""
    lines = ["smiles,y", "CCO,1", "CCC,2", "OCC,3", "CCCC,4", "CCCC,4"]
    lines += [f"{'C' * n}N,{n}" for n in range(1, 15)]
    (tmp_path / "m.csv").write_text("\n".join(lines))
    words = ("advise", tmp_path / "m.csv", "--target", "y", "--kind", "regression",
             "--no-baseline")  # fmt: skip
    said = " ".join(run(*words, code=0).output.split())
    wanted = "Collisions that are left: row 1 (line 2) CCO and row 3 (line 4) OCC."
    assert wanted in said
    (tmp_path / "m.csv").write_text("\n".join([*lines[:3], *lines[4:]]))
    assert "Collisions that are left" not in run(*words, code=0).output
