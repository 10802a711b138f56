"""``sekgnn explain``: contributions of atoms, as a table and as drawn molecules."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

import sekgnn.datasets
from sekgnn.training.explain import explain
from sekgnn.training.predictor import Predictor

from .conftest import Run, assert_refused

chem = pytest.importorskip("rdkit.Chem")
pytestmark = pytest.mark.usefixtures("one_thread")

WORTH = {"C": 1.5, "N": 0.7, "O": -2.0, "F": -0.4}
"""What every atom of an element adds to the target."""
MOLECULES = Path(sekgnn.datasets.__file__).with_name("molecules.csv")
QUIET = ("--jobs", 1, "--no-baseline", "--quiet")


def worth(smiles: str) -> list[float]:
    return [WORTH[atom.GetSymbol()] for atom in chem.MolFromSmiles(smiles).GetAtoms()]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def contributions(rows: list[dict[str, str]], name: str) -> list[list[float]]:
    """Return those of every molecule, the last of them the rest."""
    out: dict[str, list[float]] = {}
    for row in rows:
        out.setdefault(row["row"], []).append(float(row[f"contribution {name}"]))
    return list(out.values())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return molecules of known sums over atoms, and classes of them."""
    path = tmp_path_factory.mktemp("explain") / "sums.csv"
    lines = ["smiles,worth,heavy,kind"]
    for i, row in enumerate(table(MOLECULES)[:300]):
        total = sum(worth(row["smiles"]))
        kind = ("ring", "chain", "small")[i % 3]
        lines.append(f"{row['smiles']},{total:.3f},{int(total > 4)},{kind}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_linear_model_gives_back_the_terms_of_a_sum_over_atoms(
    run: Run, data: Path, tmp_path: Path
) -> None:
    """To the last digit, in the order of the SMILES; the page draws the highest."""
    model, out = tmp_path / "ridge", tmp_path / "out"
    words = ("--target", "worth", "--model", "ridge", "--encoding", "none", *QUIET)
    run("train", data, *words, "-o", model, code=0)
    text = run("explain", model, data, "-o", out, "--top", 7, code=0).stdout
    smiles = [row["smiles"] for row in table(data)]
    assert f"explained {len(smiles)} graphs" in text and "7 of them drawn" in text
    rows = table(out / "atoms.csv")
    for one, found in zip(smiles, contributions(rows, "worth"), strict=True):
        assert found == pytest.approx([*worth(one), 0.0], abs=1e-4)
    elements = [row["element"] for row in rows if row["row"] == "1"]
    atoms = [row["atom"] for row in rows if row["row"] == "1"]
    symbols = [atom.GetSymbol() for atom in chem.MolFromSmiles(smiles[0]).GetAtoms()]
    assert elements == [*symbols, "rest"]
    assert atoms == [*map(str, range(len(symbols))), ""]
    page = (out / "explanation.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 7
    first, second = sorted(smiles, key=lambda one: -sum(worth(one)))[:2]
    assert page.index(first) < page.index(second)
    other = tmp_path / "other"
    words_ = ("explain", model, data, "-o", other, "--json", "--target")
    found_ = json.loads(run(*words_, "worth", code=0).stdout)
    assert found_["share"] == 1 and found_["drawn"] == 50
    assert_refused(run(*words_, "wroth"), "must be one of", "worth")


def test_a_network_finds_the_elements(run: Run, data: Path, tmp_path: Path) -> None:
    """Its contributions are near those of the sum that it learned."""
    model, out = tmp_path / "network", tmp_path / "out"
    words = ("--target", "worth", "--model", "gin", "--readout", "sum", "--norm",
             "none", "--hidden-channels", 16, "--num-layers", 2, "--epochs", 30,
             "--lr", 0.01, "--schedule", "cosine", *QUIET)  # fmt: skip
    run("train", data, *words, "-o", model, code=0)
    run("explain", model, data, "-o", out, "-q", code=0)
    rows = table(out / "atoms.csv")
    means = []
    for element in WORTH:
        own = [row["contribution worth"] for row in rows if row["element"] == element]
        means.append(np.mean([float(value) for value in own]))
    assert np.corrcoef(means, [*WORTH.values()])[0, 1] > 0.9
    predictor = Predictor.load(model)
    assert len(explain(model, data)) == len(table(data))
    assert predictor.note.targets == ("worth",)


def test_trees_of_a_blend_are_left_out_and_named(
    run: Run, data: Path, tmp_path: Path
) -> None:
    """What is explained adds up to the weighted mean of the networks' predictions."""
    model, out = tmp_path / "blend", tmp_path / "out"
    words = ("--target", "worth", "--model", "gin", "--hidden-channels", 8, "--epochs",
             2, "--ensemble", 2, "--blend", "forest", *QUIET)  # fmt: skip
    run("train", data, *words, "-o", model, code=0)
    fold = json.loads((model / "fold.json").read_text())
    fold["calibration"]["weights"] = [["network", 0.3], ["forest", 0.7]]
    (model / "fold.json").write_text(json.dumps(fold))
    done = run("explain", model, data, "-o", out, code=0)
    assert "forest (70% of the prediction)" in done.stderr
    assert "networks (30%)" in done.stderr
    members = []
    for name in ("member-01", "member-02"):
        path = model / name / "model.safetensors"
        run("predict", path, data, "-o", tmp_path / "p.csv", "-q", code=0)
        members.append([float(r["predicted worth"]) for r in table(tmp_path / "p.csv")])
    sums = [sum(one) for one in contributions(table(out / "atoms.csv"), "worth")]
    assert sums == pytest.approx(np.mean(members, axis=0), rel=1e-4, abs=1e-4)
    forest = model / "forest" / "model.safetensors"
    refused = run("explain", forest, data, "-o", tmp_path / "no")
    assert_refused(refused, "forest cannot say", "network")
    assert not (tmp_path / "no").exists()


def test_classes_are_explained_by_odds(run: Run, data: Path, tmp_path: Path) -> None:
    """The sums are logarithms: of odds of the second class, or of each of several."""
    for target, classes in (("heavy", ["heavy"]), ("kind", ["chain", "ring", "small"])):
        model, out = tmp_path / target, tmp_path / f"{target}-out"
        words = ("--target", target, "--model", "gin", "--hidden-channels", 8,
                 "--epochs", 2, *QUIET)  # fmt: skip
        run("train", data, *words, "-o", model, code=0)
        run("explain", model, data, "-o", out, "-q", code=0)
        run("predict", model, data, "-o", tmp_path / "p.csv", "-q", code=0)
        rows = table(out / "atoms.csv")
        sums = np.array(
            [[sum(one) for one in contributions(rows, name)] for name in classes]
        )
        for column, row in zip(sums.T, table(tmp_path / "p.csv"), strict=True):
            if target == "heavy":
                p = float(row["probability 1"])
                assert column[0] == pytest.approx(math.log(p / (1 - p)), abs=1e-4)
            else:
                wanted = [math.log(float(row[f"probability {c}"])) for c in classes]
                assert column - column[0] == pytest.approx(
                    np.array(wanted) - wanted[0], abs=1e-4
                )


def test_graphs_without_atoms_and_rows_that_cannot_be_read(
    run: Run, data: Path, tmp_path: Path
) -> None:
    """Nodes have numbers and no page; unreadable SMILES are refused, or named."""
    graphs = tmp_path / "graphs.jsonl"
    lines = [
        json.dumps({"edges": [[0, 1]], "num_nodes": n, "y": 0.5 * n})
        for n in range(2, 26)
    ]
    graphs.write_text("\n".join(lines))
    model, out = tmp_path / "ridge", tmp_path / "out"
    words = ("--target", "y", "--model", "ridge", "--encoding", "none", *QUIET)
    run("train", graphs, *words, "-o", model, code=0)
    text = run("explain", model, graphs, "-o", out, code=0).stdout
    assert "drawn" not in text and not (out / "explanation.html").exists()
    assert {row["element"] for row in table(out / "atoms.csv")} == {"", "rest"}
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("smiles\nCCO\nC(\n")
    molecules = tmp_path / "molecules"
    words = ("--target", "worth", "--model", "ridge", "--encoding", "none", *QUIET)
    run("train", data, *words, "-o", molecules, code=0)
    bad = ("explain", molecules, wrong, "-o", tmp_path / "bad")
    assert_refused(run(*bad), "row 2 (line 3)", "--skip-invalid")
    done = run(*bad, "--skip-invalid", code=0)
    assert "row 2 (line 3)" in done.stderr
