"""``sekgnn search`` finds, continues, shares, and says what it selected on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sekgnn.paper import CountingDataset
from sekgnn.training import space

from .conftest import Run, assert_refused

pytest.importorskip("optuna")


@pytest.fixture
def args(tmp_path: Path) -> tuple[object, ...]:
    """Return a command for 30 small graphs and four points."""
    dataset = CountingDataset.generated(num_graphs=30)
    lines = []
    for graph, targets in zip(dataset, dataset.targets, strict=True):
        row, col = graph.edge_index()
        edges = [[int(u), int(v)] for u, v in zip(row, col, strict=True) if u < v]
        lines.append(
            json.dumps(
                {"edges": edges, "num_nodes": graph.num_nodes, "y": float(targets[0])}
            )
        )
    (tmp_path / "graphs.jsonl").write_text("\n".join(lines))
    (tmp_path / "space.yaml").write_text("lr: [0.01, 0.03]\nnum_layers: [1, 2]\n")
    return (
        "search", tmp_path / "graphs.jsonl", "--target", "y", "--kind", "regression",
        "--space", tmp_path / "space.yaml", "--sampler", "grid", "--model", "gin",
        "--hidden-channels", 8, "--epochs", 2, "--threads", 1, "--output",
        tmp_path / "out",
    )  # fmt: skip


def test_search_then_train(run: Run, args: tuple[object, ...], tmp_path: Path) -> None:
    part = run(*args, "--trials", 3, code=0)
    assert "best of 3 trials" in part.stdout
    assert (
        "selected on: the best loss over the epochs, of the validation" in part.stdout
    )
    assert part.stderr == ""
    whole = run(*args, "--json", code=0)
    record = json.loads(whole.stdout)
    assert whole.stdout == (tmp_path / "out" / "search.json").read_text("utf-8")
    assert record["trials"] == {"complete": 4, "pruned": 0, "fail": 0, "running": 0}
    # as many threads: rounding decides the sign of Adam's first step where a gradient
    # is zero, as that of a bias before a batch norm, whose running mean then differs
    trained = run(
        "train", "-c", tmp_path / "out" / "best.yaml", "-o", tmp_path / "run", "-q",
        "--threads", 1, "--no-baseline",
    )  # fmt: skip
    assert trained.exit_code == 0, trained.output
    fold = json.loads((tmp_path / "run" / "record.json").read_text("utf-8"))["folds"][0]
    assert min(fold["curves"]["val_loss"]) == pytest.approx(
        record["best"]["value"], rel=1e-6
    )


@pytest.mark.slow
def test_two_jobs_share_a_grid(
    run: Run, args: tuple[object, ...], tmp_path: Path
) -> None:
    result = run(*args, "--jobs", 2, "--json", code=0)
    record = json.loads(result.stdout)
    assert record["trials"]["complete"] + record["trials"]["pruned"] == 4
    rows = (tmp_path / "out" / "trials.csv").read_text("utf-8").splitlines()[1:]
    done = [row.split(",") for row in rows if row.split(",")[2] != "fail"]
    assert len({(cells[4], cells[5]) for cells in done}) == len(done) == 4


def test_without_optuna(
    run: Run,
    args: tuple[object, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert_refused(run(*args), "pip install 'sekgnn[search]'")
    assert not (tmp_path / "out").exists()


def test_space_for_molecules(run: Run, tmp_path: Path) -> None:
    """What it finds is trained as one network, or blended."""
    pytest.importorskip("rdkit")
    rows = [
        f"{'C' * n}{end},{n + len(end)}" for n in range(1, 12) for end in ("O", "N")
    ]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,size", *rows]))
    (tmp_path / "short.yaml").write_text(
        (Path(space.__file__).parent / "spaces" / "molecules.yaml")
        .read_text()
        .replace("[cosine, 60]", "[cosine, 2]")
    )
    words = ("search", tmp_path / "m.csv", "--target", "size", "--trials", 1, "-o")
    run(*words, tmp_path / "no", "--space", "moleculs", code=2)
    run(*words, tmp_path / "out", "--space", tmp_path / "short.yaml", code=0)
    best = tmp_path / "out" / "best.yaml"
    assert "optimizer: adamw" in best.read_text()
    more = ("--ensemble", 2, "--blend", "forest", "--no-baseline", "-q")
    run("train", "-c", best, *more, "-o", tmp_path / "run", code=0)
    assert (tmp_path / "run" / "forest").is_dir()
