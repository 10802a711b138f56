"""``sekgnn reproduce`` shows its queue, its configs, and what it cannot do."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from sekgnn.paper.recipes import recipes
from sekgnn.training.config import RunConfig

from .conftest import Run


def test_the_command(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(
        "reproduce", "table2", "--only", "wl", "MUTAG", "--status", "-o", out, code=0
    )
    assert "MUTAG-wl-nested" in result.stdout and "2 missing" in result.stdout
    assert not out.exists()
    result = run("reproduce", "all", "--status", "--json", "-o", out)
    assert {r["state"] for r in json.loads(result.stdout)["runs"]} == {"missing"}
    result = run("reproduce", "table4", "--show", "counts-steps8")
    shown = RunConfig.from_dict(yaml.safe_load(result.stdout))
    assert shown == next(r for r in recipes() if r.name == "counts-steps8").config
    result = run("reproduce", "table5", "--configs", tmp_path / "configs")
    assert len(list((tmp_path / "configs").glob("*.yaml"))) == 20
    result = run("reproduce", "table5", "--no-train", "-o", out)
    assert result.exit_code == 0 and "wrote table5.csv" in result.stdout
