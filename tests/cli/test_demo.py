"""``sekgnn demo`` runs offline and says what it found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sekgnn.cli.demo import demo_graphs
from sekgnn.encoding.encoder import encode_many
from sekgnn.encoding.substructure import encoding_from_dict
from sekgnn.training.run_record import RunRecord

from .conftest import Run


def test_demo(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "demo"
    result = run("demo", "--output", folder, "--graphs", 9, "--seed", 3, "--epochs", 0)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "graphs per second" in result.stdout
    assert "graph: not separated; all 32 nodes" in result.stdout
    assert "internal1: separated" in result.stdout
    assert "two triangles" in result.stdout
    assert "6-cycle" in result.stdout
    assert {file.name for file in folder.iterdir()} == {
        "encodings.npz",
        "rook_shrikhande.png",
        "summary.json",
    }
    assert (folder / "rook_shrikhande.png").read_bytes().startswith(b"\x89PNG")

    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    assert summary["seed"] == 3
    assert sum(summary["families"].values()) == 9 == summary["encoding"]["graphs"]
    graph, internal = summary["comparison"]["scopes"]
    assert (graph["scope"], graph["separated"]) == ("graph", False)
    assert (internal["scope"], internal["separated"]) == ("internal1", True)
    assert internal["difference"]["step"] == 3
    # by hand: a walk of 3 steps on a triangle is back with 1/3, on a 6-cycle with 7/27
    assert internal["difference"]["first"] == pytest.approx(6 / 3)
    assert internal["difference"]["second"] == pytest.approx(6 * 7 / 27)

    encoding = encoding_from_dict(summary["encoding"]["encoding"])
    expected = np.concatenate(encode_many(demo_graphs(9, 3)[0], encoding))
    with np.load(folder / "encodings.npz") as file:
        np.testing.assert_allclose(file["values"], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_demo_learns_to_count(run: Run, tmp_path: Path) -> None:
    """Both errors side by side, equal to the records, and a page; again and again."""
    folder = tmp_path / "demo"
    for _ in range(2):
        result = run("demo", "--output", folder, "--graphs", 4, "--epochs", 1)
        assert result.exit_code == 0, result.output
        assert "GIN's error is" in result.stdout
    errors = json.loads((folder / "summary.json").read_text())["test_mae_of_4_cycles"]
    for model in ("sek-gin", "gin"):
        record = RunRecord.load(folder / model)
        assert record.result("test_mae").value == pytest.approx(errors[model], 1e-5)
        assert record.data["source"] == "generated"
        assert f"{errors[model]:.4f}" in result.stdout
    page = (folder / "report" / "report.html").read_text()
    assert "sek-gin" in page and "cycle4" in page


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--graphs", 0), "--graphs"),
        (("--seed", -1), "--seed"),
        (("--epochs", -1), "--epochs"),
    ],
)
def test_bad_options(
    run: Run, tmp_path: Path, args: tuple[object, ...], word: str
) -> None:
    result = run("demo", "--output", tmp_path / "demo", *args)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {word} must be at least")
    assert not (tmp_path / "demo").exists()


def test_the_output_may_not_be_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine")
    result = run("demo", "--output", tmp_path / "demo", "--graphs", 4)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "demo").read_text() == "mine"


def test_demo_graphs_depend_only_on_the_seed() -> None:
    seen: list[tuple[int, int]] = []
    graphs, share = demo_graphs(6, 1, lambda done, total: seen.append((done, total)))
    assert graphs == demo_graphs(6, 1)[0]
    assert graphs != demo_graphs(6, 2)[0]
    assert list(share.values()) == [2, 2, 1, 1]
    assert seen == [(i, 6) for i in range(1, 7)]
