"""``sekgnn demo`` runs offline and says what it found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sekgnn.datasets.wl_benchmarks import demo_graphs
from sekgnn.encoding.encoder import encode_many
from sekgnn.encoding.substructure import encoding_from_dict
from sekgnn.training.run_record import RunRecord

from .conftest import Run


def test_demo(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "demo"
    result = run(
        "demo", "--output", folder, "--graphs", 9, "--seed", 3, "--epochs", 0, code=0
    )
    assert result.stderr == ""
    assert "graphs per second" in result.stdout
    assert "graph(l=12)) does not separate rook 4×4 and Shrikhande" in result.stdout
    assert "internal[h=1](l=12)) separates rook 4×4 and Shrikhande" in result.stdout
    assert "two triangles" in result.stdout
    assert "6-cycle" in result.stdout
    names = {"encodings.npz", "rook_shrikhande.png", "summary.json"}
    assert {file.name for file in folder.iterdir()} == names

    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    assert summary["seed"] == 3
    assert sum(summary["families"].values()) == 9 == summary["encoding"]["graphs"]
    scopes = summary["comparison"]["scopes"]
    assert [scopes[s]["separated"] for s in ("graph", "internal1")] == [False, True]
    # by hand: walks of 2 steps on a triangle and on a 6-cycle
    assert "{18 × 0, 12 × 1/3} against {6 × 0, 12 × 1/9, 12 × 2/9}" in result.stdout

    encoding = encoding_from_dict(summary["encoding"]["encoding"])
    expected = np.concatenate(encode_many(demo_graphs(9, 3)[0], encoding))
    with np.load(folder / "encodings.npz") as file:
        np.testing.assert_allclose(file["values"], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_demo_learns_to_count(run: Run, tmp_path: Path) -> None:
    """Both errors side by side, as in the records, and a page; earlier ones go."""
    folder = tmp_path / "demo"
    (folder / "sek-gin").mkdir(parents=True)
    (folder / "sek-gin" / "record.json").write_text("of an earlier demo")
    result = run("demo", "--output", folder, "--graphs", 4, "--epochs", 1, code=0)
    assert "GIN's error is" in result.stdout
    errors = json.loads((folder / "summary.json").read_text())["test_mae_of_4_cycles"]
    for model in ("sek-gin", "gin"):
        record = RunRecord.load(folder / model)
        assert record.result("test_mae").value == pytest.approx(errors[model], 1e-5)
        assert record.data["source"] == "generated"
        assert f"{errors[model]:.4f}" in result.stdout
    page = (folder / "report" / "report.html").read_text()
    assert "sek-gin" in page and "cycle4" in page


def test_demo_graphs_depend_only_on_the_seed() -> None:
    seen: list[tuple[int, int]] = []
    graphs, share = demo_graphs(6, 1, lambda done, total: seen.append((done, total)))
    assert graphs == demo_graphs(6, 1)[0]
    assert graphs != demo_graphs(6, 2)[0]
    assert list(share.values()) == [2, 2, 1, 1]
    assert seen == [(i, 6) for i in range(1, 7)]
