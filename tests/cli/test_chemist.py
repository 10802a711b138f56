"""A chemist's day on the command line: tables of molecules and what stands in them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.cli.conftest import Run

from sekgnn.training import load
from sekgnn.training.config import RunConfig
from sekgnn.training.run_folder import read_config
from sekgnn.training.run_record import RunRecord

pytest.importorskip("rdkit")
pytestmark = pytest.mark.usefixtures("one_thread")

RINGS = {"benzene": "c1ccccc1", "pyridine": "c1ccncc1", "hexane": "C1CCCCC1",
         "furan": "c1ccoc1", "thiophene": "c1ccsc1", "pentane": "C1CCCC1"}  # fmt: skip
TAILS = ("C", "CC", "CCC", "O", "CO", "N", "CN", "CCO")
RIDGE = ("--jobs", 1, "--model", "ridge", "--encoding", "none", "--quiet")
SMALL = ("--jobs", 1, "--no-baseline", "--model", "gin", "--hidden-channels", 8,
         "--num-layers", 2, "--batch-size", 16, "--lr", 0.01, "--quiet")  # fmt: skip


def molecules() -> list[dict[str, Any]]:
    """Return 48 molecules: six rings, each with eight tails."""
    out = []
    for i, (ring, core) in enumerate(RINGS.items()):
        for j, tail in enumerate(TAILS):
            out.append(
                {
                    "id": f"m{8 * i + j}",
                    "smiles": f"{tail}{core}",
                    "series": ring,
                    "year": 2000 + (5 * i + 3 * j) % 11,
                    "part": ("train", "train", "val", "test")[(i + j) % 4],
                    "fold": (i + j) % 3,
                    "mass [g/mol]": 70.0 + 10 * i + 14.1 * tail.count("C"),
                    "logp": 0.5 * tail.count("C") - 1.2 * tail.count("O") + 0.1 * i,
                    "polar": int(tail[-1] in "ON"),
                }
            )
    return out


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "molecules.csv", molecules())


def ok(run: Run, *args: object) -> str:
    result = run(*args, code=0)
    return result.stdout


def refused(run: Run, *args: object) -> str:
    result = run(*args, code=2)
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def test_splits_by_scaffold_group_time_and_own_column(
    run: Run, data: Path, tmp_path: Path
) -> None:
    """The record holds the split; it repeats with the seed and keeps its promise."""
    rows = molecules()

    def split(name: str, *words: object) -> list[dict[str, list[int]]]:
        place = tmp_path / name
        ok(run, "train", data, "--target", "logp", *RIDGE, "-o", place, *words)
        record = RunRecord.load(place)
        for fold in record.folds:
            everything = sorted(i for part in fold.split.values() for i in part)
            assert everything == list(range(48))
        return [fold.split for fold in record.folds]

    def values(positions: list[int], column: str) -> set[Any]:
        return {rows[i][column] for i in positions}

    parts = ("--val-fraction", 0.2, "--test-fraction", 0.2)
    by_scaffold = split("a", "--split-by", "scaffold", *parts)
    assert by_scaffold == split("b", "--split-by", "scaffold", *parts)
    assert by_scaffold == split("c", "--split-by", "group", "series", *parts)
    assert by_scaffold != split("d", "--split-by", "scaffold", *parts, "--seed", 5)
    (found,) = by_scaffold
    names = [values(found[part], "series") for part in ("train", "val", "test")]
    assert [len(own) for own in names] == [4, 1, 1] and len(set.union(*names)) == 6
    (found,) = split("e", "--split-by", "time", "year", *parts)
    years = [sorted(values(found[part], "year")) for part in ("train", "val", "test")]
    assert years[0][-1] < years[1][0] <= years[1][-1] < years[2][0]
    assert 5 <= len(found["test"]) <= 10  # at most a fifth of 48, ties together
    (found,) = split("f", "--split-by", "fold", "part")
    assert all(values(found[part], "part") == {part} for part in found)
    folds = split("g", "--split-by", "fold", "fold", "--protocol", "nested")
    assert [values(own["test"], "fold") for own in folds] == [{0}, {1}, {2}]
    folds = split("h", "--split-by", "scaffold", "--protocol", "nested", "--folds", 3)
    for own in folds:
        names = [values(own[part], "series") for part in ("train", "val", "test")]
        assert sum(map(len, names)) == len(set.union(*names)) == 6
        assert len(own["test"]) == 16
    own = {"train": [*range(40)], "val": [*range(40, 44)], "test": [*range(44, 48)]}
    file = tmp_path / "splits.json"  # as chemprop writes it
    file.write_text(json.dumps([own]))
    (found,) = split("i", "--split", file)
    assert {part: found[part] for part in own} == own
    for words, message in [
        (("scaffolds",), "Did you mean 'scaffold'"),
        (("group",), "takes a column"),
        (("group", "serie"), "Did you mean 'series'"),
        (("fold", "series"), "none of train"),
        (("time", "series"), "is neither a number"),
        (("time", "year", "--protocol", "nested"), "use protocol holdout"),
    ]:
        wrong = ("train", data, "--target", "logp", *RIDGE, "-o", tmp_path / "no")
        assert message in refused(run, *wrong, "--split-by", *words)
        assert not (tmp_path / "no").exists()


def test_several_targets_with_spread_and_intervals(
    run: Run, data: Path, tmp_path: Path
) -> None:
    """Two networks; each target in its unit; coverage as counted."""
    place, out = tmp_path / "run", tmp_path / "out.csv"
    words = ("train", data, "--target", "mass [g/mol]", "logp", *SMALL[2:-1],
             "--epochs", 3, "--ensemble", 2, "--jobs", 1, "--confidence", 0.8,
             "--val-fraction", 0.25, "--test-fraction", 0.25, "-o", place)  # fmt: skip
    text = ok(run, *words)
    record = RunRecord.load(place)
    (fold,) = record.folds
    assert [*fold.members] == ["network 1", "network 2"]
    assert record.headline.metric == "test_r2"  # g/mol and no unit: errors differ
    assert "test_mae" not in fold.metrics
    assert record.data["target_units"] == ["g/mol", ""]
    page = tmp_path / "report"
    ok(run, "report", place, "-o", page, "-q")
    shown = (page / "report.html").read_text()
    ok(run, "predict", place, data, "-o", out, "--columns", "id", "logp")
    rows, tests = table(out), table(place / "predictions.csv")
    assert [*rows[0]] == [
        "id", "logp", "predicted mass [g/mol]", "predicted logp",
        "spread mass [g/mol]", "spread logp", "lower mass [g/mol]",
        "upper mass [g/mol]", "lower logp", "upper logp",
    ]  # fmt: skip
    radii = dict(zip(record.data["targets"], fold.calibration["radii"], strict=True))
    for name, key in (("logp", "logp"), ("mass [g/mol]", "mass [g/mol]")):
        truth, found, low, high = (
            np.array([float(row[f"{word} {key}"]) for row in tests])
            for word in ("true", "predicted", "lower", "upper")
        )
        mae = fold.metrics[f"test_mae[{name}]"]
        assert mae == pytest.approx(np.abs(truth - found).mean(), rel=1e-4)
        assert f"{mae:.4g}" in text and f"{mae:.4g}" in shown
        inside = ((low <= truth) & (truth <= high)).mean()
        assert fold.metrics[f"test_coverage[{name}]"] == pytest.approx(inside)
        assert high - low == pytest.approx(2 * radii[name], rel=1e-4)
        # the definition, on half of the validation graphs: the 6th of 6 errors
        errors = sorted(
            abs(float(rows[i][f"predicted {key}"]) - float(molecules()[i][name]))
            for i in fold.split["calibration"]
        )
        assert len(errors) == 6 and radii[name] == pytest.approx(errors[5], rel=1e-4)
    member = [tmp_path / f"{i}.csv" for i in (1, 2)]
    for i, file in enumerate(member, start=1):
        network = place / f"member-0{i}" / "model.safetensors"
        ok(run, "predict", network, data, "-o", file, "--columns", "id")
    each = np.array([[float(r["predicted logp"]) for r in table(f)] for f in member])
    spread = [float(row["spread logp"]) for row in rows]
    assert spread == pytest.approx(each.std(axis=0, ddof=1), rel=1e-3, abs=1e-6)
    measured = json.loads(ok(run, "evaluate", place, "--json"))["metrics"]
    for name in ("coverage", "mae[logp]", "interval_width[mass [g/mol]]"):
        assert measured[name] == pytest.approx(fold.metrics[f"test_{name}"], rel=1e-4)
    assert ok(run, *words) == text  # finished: nothing is trained again
    few = (*words[:-1], tmp_path / "no", "--confidence", 0.99)
    assert "needs 99 validation graphs" in refused(run, *few)
    no_graphs = (*few, "--keep", "last", "--refit")
    assert "calibrated on validation graphs" in refused(run, *no_graphs)


def test_sets_of_classes(run: Run, data: Path, tmp_path: Path) -> None:
    """A set holds the classes that are likely enough by the validation graphs."""
    place, out = tmp_path / "run", tmp_path / "out.csv"
    ok(run, "train", data, "--target", "series", *RIDGE, "--confidence", 0.7,
       "--val-fraction", 0.3, "--test-fraction", 0.3, "-o", place)  # fmt: skip
    (fold,) = RunRecord.load(place).folds
    ok(run, "predict", place, data, "-o", out, "-q")
    rows, (radius,) = table(out), fold.calibration["radii"]
    for row in rows:
        chances = {name: float(row[f"probability {name}"]) for name in sorted(RINGS)}
        likely = [name for name, p in chances.items() if 1 - p <= radius + 1e-6]
        assert row["set series"] == "; ".join(likely)
    tested = [rows[i] for i in fold.split["test"]]
    inside = np.mean([row["series"] in row["set series"].split("; ") for row in tested])
    assert fold.metrics["test_coverage"] == pytest.approx(inside)
    sizes = [row["set series"].count(";") + bool(row["set series"]) for row in tested]
    assert fold.metrics["test_set_size"] == pytest.approx(np.mean(sizes))


def test_intervals_that_adapt(run: Run, data: Path, tmp_path: Path) -> None:
    """Half an interval is q (spread + c), and coverage is as measured by hand."""
    place, out = tmp_path / "run", tmp_path / "out.csv"
    words = ("train", data, "--target", "logp", *SMALL, "--epochs", 3, "--ensemble", 2,
             "--val-fraction", 0.5, "--test-fraction", 0.2, "-o")  # fmt: skip
    ok(run, *words, place, "--adaptive", "--confidence", 0.8)
    (fold,) = RunRecord.load(place).folds
    (radius,), (floor,) = (fold.calibration[name] for name in ("radii", "floors"))
    ok(run, "predict", place, data, "-o", out, "-q")
    widths = set()
    for row in table(out):
        lower, upper = float(row["lower logp"]), float(row["upper logp"])
        reach = radius * (float(row["spread logp"]) + floor)
        assert upper - lower == pytest.approx(2 * reach, rel=1e-4)
        widths.add(round(upper - lower, 4))
    assert len(widths) > 20
    tested = table(place / "predictions.csv")
    assert tested[0]["smiles"] == molecules()[int(tested[0]["graph"])]["smiles"]
    inside = [
        float(row["lower logp"]) <= float(row["true logp"]) <= float(row["upper logp"])
        for row in tested
    ]
    assert fold.metrics["test_coverage"] == pytest.approx(np.mean(inside))
    measured = json.loads(ok(run, "evaluate", place, "--json"))["metrics"]
    assert measured["coverage"] == fold.metrics["test_coverage"]
    assert measured["interval_width"] == pytest.approx(
        fold.metrics["test_interval_width"], rel=1e-5
    )
    no = tmp_path / "no"
    assert "add confidence" in refused(run, *words, no, "--adaptive")
    kind = [*words, no, "--adaptive", "--confidence", 0.8]
    kind[3] = "series"
    assert "intervals of numbers" in refused(run, *kind)


def test_rare_classes_weights_and_threshold(
    run: Run, data: Path, tmp_path: Path
) -> None:
    """Balanced classes, graphs of weight 0, and a cut that validation graphs choose."""
    rows = molecules()
    for i, row in enumerate(rows):
        row["rare"] = "yes" if i in (2, 11, 17, 24, 30, 33, 45, 46) else "no"
        row["noisy"] = row["polar"] if i % 3 == 0 else 1 - row["polar"]
        row["trust"] = float(i % 3 == 0)
    write(data, rows)
    parts = ("--val-fraction", 0.3, "--test-fraction", 0.2)

    def trained(name: str, target: str, *more: object) -> RunRecord:
        place = tmp_path / name
        ok(run, "train", data, "--target", target, *parts, *more, "-o", place)
        return RunRecord.load(place)

    plain = trained("plain", "rare", *RIDGE)
    assert {"test_auroc", "test_auprc"} <= plain.folds[0].metrics.keys()
    even = trained("even", "rare", *RIDGE, "--class-weight", "balanced")
    counts = [rows[i]["rare"] for i in plain.folds[0].split["train"]].count("yes")
    ratio = (len(plain.folds[0].split["train"]) - counts) / counts

    def chance(name: str, column: str = "probability yes") -> Any:
        out = tmp_path / "out.csv"
        ok(run, "predict", tmp_path / name, data, "-o", out, "-q")
        return np.array([float(row[column]) for row in table(out)])

    assert ratio > 4 and chance("even").mean() > 1.5 * chance("plain").mean()
    assert even.folds[0].split == plain.folds[0].split
    cut = trained("cut", "rare", *RIDGE, "--threshold", "balanced_accuracy")
    (fold,) = cut.folds
    threshold = fold.calibration["threshold"]
    own = chance("cut") > threshold
    words = [row["predicted rare"] for row in table(tmp_path / "out.csv")]
    assert words == ["yes" if y else "no" for y in own]
    truth = np.array([row["rare"] == "yes" for row in rows])

    def balanced(chosen: list[int], decided: Any) -> float:
        y, d = truth[chosen], decided[chosen]
        return float((d[y].mean() + (~d[~y]).mean()) / 2) if y.any() else np.nan

    p, val = chance("cut"), fold.split["val"]
    best = max(balanced(val, p > t) for t in [0.5, *np.unique(p[val])[:-1]])
    assert balanced(val, own) == pytest.approx(best)
    # of rows that weigh nothing the wrong labels are not learned
    forest = ("--jobs", 1, "--model", "forest", "--encoding", "none", "-q",
              "--n-estimators", 20)  # fmt: skip
    trusting = trained("trusting", "noisy", *forest, "--sample-weight", "trust")
    trained("naive", "noisy", *forest)
    wrongly = [i for i in trusting.folds[0].split["train"] if not rows[i]["trust"]]
    polar = np.array([row["polar"] for row in rows])
    errors = [
        np.abs(chance(name, "probability 1") - polar)[wrongly].mean()
        for name in ("trusting", "naive")
    ]
    assert errors[0] < 0.4 and errors[1] > 0.8
    network = (*SMALL, "--epochs", 2, "--class-weight", "balanced")
    trained("network", "rare", *network, "--sample-weight", "trust")
    wrong = ("train", data, *RIDGE, "-o", tmp_path / "no", "--target")
    assert "for classes" in refused(run, *wrong, "logp", "--class-weight", "balanced")
    assert "for two classes" in refused(run, *wrong, "series", "--threshold", "f1")
    words_of_wrong = refused(run, *wrong, "rare", "--sample-weight", "series")
    assert "is not a weight" in words_of_wrong
    assert not (tmp_path / "no").exists()


def test_own_features_descriptors_and_fingerprints(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no graph shows is learned from a column; vectors come out again."""
    rows = molecules()
    for i, row in enumerate(rows):  # isomers apart: the graph does not know the dose
        row["dose"] = "" if i == 5 else (7 * i) % 48
        row["effect"] = 3.0 * ((7 * i) % 48) + row["logp"]
    write(data, rows)
    parts = ("--val-fraction", 0.2, "--test-fraction", 0.2)

    def error(name: str, *words: object) -> float:
        place = tmp_path / name
        ok(run, "train", data, "--target", "effect", *parts, *words, "-o", place)
        return RunRecord.load(place).folds[0].metrics["test_mae"]

    without, own = error("without", *RIDGE), error("own", *RIDGE, "--features", "dose")
    assert own < 0.2 * without
    both = ("--features", "dose", "--descriptors", "rdkit")
    error("network", *SMALL, "--epochs", 3, *both)
    forest = ("--jobs", 1, "--model", "forest", "--encoding", "none", "-q")
    every = ("--n-estimators", 30, "--max-features", 1)  # each node looks at all
    assert error("forest", *forest, *every, *both) < 0.5 * without
    place = tmp_path / "network"
    record = RunRecord.load(place)
    assert record.model["graph_channels"] > 200
    out = tmp_path / "out.csv"
    with monkeypatch.context() as patch:  # what a log file gets every half minute
        patch.setattr("sekgnn.cli.printing.SECONDS_BETWEEN_LINES", 0)
        logged = run("predict", place, data, "-o", out, "--columns", "id")
    assert re.fullmatch(rf"graphs: {len(rows)} after \d+ s\n", logged.stderr)
    tests = {int(r["graph"]): r for r in table(place / "predictions.csv")}
    for i, row in enumerate(table(out)):
        if i in tests:
            wanted = float(tests[i]["predicted effect"])
            assert float(row["predicted effect"]) == pytest.approx(wanted, rel=1e-4)
    measured = json.loads(ok(run, "evaluate", place, data, "--json"))["metrics"]
    guesses = np.array([float(row["predicted effect"]) for row in table(out)])
    truth = np.array([row["effect"] for row in rows])
    assert measured["mae"] == pytest.approx(np.abs(guesses - truth).mean(), rel=1e-4)
    other = write(tmp_path / "o.csv", [{**row, "dose": 1, "series": 2} for row in rows])
    ok(run, "predict", place, other, "-o", tmp_path / "o.out", "-q")
    changed = [float(row["predicted effect"]) for row in table(tmp_path / "o.out")]
    assert np.abs(guesses - changed).max() > 0.01  # the dose is read
    lacking = write(tmp_path / "lacking.csv", [{"smiles": "CCO"}])
    assert "no column 'dose'" in refused(run, "predict", place, lacking)
    wordy = write(tmp_path / "wordy.csv", [{"smiles": "CCO", "dose": "1,5"}])
    assert "decimal comma: write 1.5" in refused(run, "predict", place, wordy)
    # fingerprints: what the last layer reads, so that it gives the predictions again
    vectors, arrow = tmp_path / "v.npz", tmp_path / "v.parquet"
    ok(run, "fingerprint", place, data, "-o", vectors, "--columns", "id")
    from sekgnn.models import load_model
    from sekgnn.training.predictor import Predictor

    found = np.load(vectors)
    assert found["id"].tolist() == [row["id"] for row in rows]
    model = load_model(place / "model.safetensors")
    with torch.no_grad():
        outputs = model.head(torch.from_numpy(found["vectors"]))
    note = Predictor.load(place).note
    again = note.predictions(outputs).numpy()[:, 0]
    values = [float(row["predicted effect"]) for row in table(out)]
    assert again == pytest.approx(values, rel=1e-4)
    parquet = pytest.importorskip("pyarrow.parquet")
    ok(run, "fingerprint", place, data, "-o", arrow, "-q", "--accelerator", "cpu")
    abacus = ("fingerprint", place, data, "-o", arrow, "--accelerator", "abacus")
    assert "must be one of" in refused(run, *abacus)
    columns = parquet.read_table(arrow)
    assert columns.column_names[: len(rows[0])] == [*rows[0]]
    assert columns["v3"].to_pylist() == found["vectors"][:, 3].tolist()
    wrong = ("fingerprint", tmp_path / "forest", data, "-o", vectors)
    assert "no learned vectors" in refused(run, *wrong)
    assert ".npz or .parquet" in refused(run, *wrong[:-1], tmp_path / "v.csv")
    bench = ("train", "counting", "--generated", "--target", "star3", *RIDGE)
    assert "is a benchmark" in refused(run, *bench, "--descriptors", "rdkit")


def test_stereochemistry_salts_and_repeated_molecules(run: Run, tmp_path: Path) -> None:
    """Mirror images are told apart unless asked not to; the table is described."""
    rows = []
    for tail in ("C", "CC", "CCC", "CCCC", "CC(C)", "OCC", "FCC", "ClCC", "OCCC"):
        for mark, value in (("@", 1.0), ("@@", -1.0)):
            rows.append({"smiles": f"{tail}[C{mark}H](N)C(=O)O", "spin": value})
    rows += [{"smiles": "CC(=O)[O-].[Na+]", "spin": 0.1}] * 2
    data = write(tmp_path / "mirror.csv", rows)
    new = write(tmp_path / "new.csv", [{"smiles": f"NCC[C{m}H](N)C(=O)O"}
                                       for m in ("@", "@@")])  # fmt: skip

    def predicted(name: str, repeated: str, *words: object) -> list[float]:
        place, out = tmp_path / name, tmp_path / f"{name}.csv"
        shown = ok(run, "train", data, "--target", "spin", *RIDGE[:-1], "-o", place,
                   "--val-fraction", 0.2, "--test-fraction", 0.2, *words)  # fmt: skip
        assert "data: 2 molecules of several parts" in shown
        assert f"data: {repeated} in several rows" in shown
        ok(run, "predict", place, new, "-o", out, "-q")
        return [float(row["predicted spin"]) for row in table(out)]

    left, right = predicted("stereo", "1 molecule")
    assert left == pytest.approx(1, abs=0.3) and right == pytest.approx(-1, abs=0.3)
    left, right = predicted("flat", "10 molecules", "--no-stereo")
    assert left == right


def test_messages_name_the_likely_cause(run: Run, data: Path, tmp_path: Path) -> None:
    """Commas, units, bounds and missing values, as tables from a laboratory hold."""

    def message(column: str, values: list[str]) -> str:
        rows = molecules()
        for i, row in enumerate(rows):
            row[column] = values[i % len(values)] if i < 40 else row["mass [g/mol]"]
        write(data, rows)
        args = ("train", data, *RIDGE, "-o", tmp_path / "no", "--target", column)
        return refused(run, *args)

    commas = [f"{i},5" for i in range(40)]
    assert "decimal comma: write 0.5" in message("y", commas)
    assert "decimal comma" in message("y", ["1,5", "2,5"])  # few enough for classes
    assert "such as a unit" in message("y", [f"{i} mg" for i in range(40)])
    assert "It is a bound" in message("y", [f"~{i}" for i in range(40)])
    assert "leave the field empty" in message("y", [f"n.d. {i}" for i in range(40)])
    rows = molecules()
    for i, row in enumerate(rows):
        row["y"] = ("N/A", "n.a.", "#N/A")[i % 3] if i < 6 else row["logp"]
    rows[7]["smiles"] = "C("
    write(data, rows)
    words = ("train", data, *RIDGE[:-1], "-o", tmp_path / "run", "--skip-invalid")
    text = ok(run, *words, "--target", "y")
    assert "left out: 1 SMILES that rdkit cannot read" in text
    assert "left out: 6 graphs without a target" in text
    assert sum(RunRecord.load(tmp_path / "run").data["left_out"].values()) == 7
    assert "Did you mean 'mass [g/mol]'" in refused(
        run, "train", data, *RIDGE, "--target", "mass", "-o", tmp_path / "no"
    )


def test_censored_values(run: Run, data: Path, tmp_path: Path) -> None:
    """Networks learn from bounds; metrics and trees know exact values only."""
    rows = molecules()
    for i, row in enumerate(rows):
        row["size"] = 10.0 + 3 * row["smiles"].count("C") + (i % 3) / 8
        row["known"] = row["size"] if row["size"] < 27 else ""
        row["censored"] = row["known"] or ">45"  # far off: what bounds teach shows
    bounds = sum(row["known"] == "" for row in rows)
    assert 5 < bounds < 40
    write(data, rows)
    parts = ("--val-fraction", 0.2, "--test-fraction", 0.2)

    def predicted(name: str, target: str) -> Any:
        place = tmp_path / name
        words = (*SMALL[:-1], "--epochs", 60, *parts, "-o", place)
        text = ok(run, "train", data, "--target", target, *words)
        said = f"data: {bounds} values of 'censored' are bounds (first >45, row "
        assert (said in text) == (target == "censored")
        ok(run, "predict", place, data, "-o", tmp_path / "out.csv", "-q")
        column = f"predicted {target}"
        return np.array([float(row[column]) for row in table(tmp_path / "out.csv")])

    hidden = np.array([row["known"] == "" for row in rows])
    without, taught = predicted("without", "known"), predicted("taught", "censored")
    assert taught[hidden].mean() > 38 > 33 > without[hidden].mean()
    record = RunRecord.load(tmp_path / "taught")
    assert sum(len(part) for part in record.folds[0].split.values()) == len(rows)
    tests = table(tmp_path / "taught" / "predictions.csv")
    exact = [row for row in tests if row["true censored"]]
    assert 0 < len(exact) < len(tests)
    errors = [abs(float(r["true censored"]) - float(r["predicted censored"]))
              for r in exact]  # fmt: skip
    mae = record.folds[0].metrics["test_mae"]
    assert mae == pytest.approx(np.mean(errors), rel=1e-5)
    for model in ("ridge", "forest"):
        more = ("--model", model, "--encoding", "none", *parts, "--quiet")
        ok(run, "train", data, "--target", "censored", *more, "-o", tmp_path / model)
    measured = json.loads(ok(run, "evaluate", tmp_path / "taught", data, "--json"))
    errors = np.abs(taught - [row["size"] for row in rows])[~hidden]
    assert measured["metrics"]["mae"] == pytest.approx(errors.mean(), rel=1e-4)


def test_several_molecules_per_row(run: Run, tmp_path: Path) -> None:
    """Solute and solvent are one graph whose atoms know their column."""
    pieces = ["CCO", "CCN", "CCC", "CCCO", "CC(C)O", "OCCO", "CCl", "[Na+].[Cl-]"]
    atoms_of = {text: sum(map(str.isupper, text)) for text in pieces}
    rows = [
        {"solute": a, "solvent": b, "y": 1.25 * atoms_of[a] - 3.5 * atoms_of[b]}
        for a in pieces
        for b in pieces
    ]
    data = write(tmp_path / "pairs.csv", rows)
    place, out = tmp_path / "run", tmp_path / "out.csv"
    words = ("train", data, "--target", "y", "--smiles", "solute", "solvent",
             "--val-fraction", 0.2, "--test-fraction", 0.2)  # fmt: skip
    text = ok(run, *words, *RIDGE[:-1], "-o", place)
    assert "data: 15 molecules of several parts" in text  # salts alone
    (fold,) = RunRecord.load(place).folds
    assert fold.metrics["test_mae"] < 0.3  # as columns are told apart
    ok(run, "predict", place, data, "-o", out, "-q")
    first = table(out)
    assert [*first[0]] == ["solute", "solvent", "y", "predicted y"]
    turned = ("--smiles", "solvent", "solute")
    ok(run, "predict", place, data, "-o", out, "-q", *turned)
    swap = {(row["solvent"], row["solute"]): row["predicted y"] for row in table(out)}
    for row in first:
        wanted = float(swap[row["solute"], row["solvent"]])
        assert float(row["predicted y"]) == pytest.approx(wanted, abs=1e-4)
    model = load(place)
    pair = model.predict([("OCCO", "CCC")])[0]
    (same,) = [r for r in first if (r["solute"], r["solvent"]) == ("OCCO", "CCC")]
    assert pair == pytest.approx(float(same["predicted y"]), abs=1e-4)
    tested = table(place / "predictions.csv")
    chosen = rows[int(tested[0]["graph"])]
    assert tested[0]["smiles"] == f"{chosen['solute']}.{chosen['solvent']}"
    explained = tmp_path / "explained"
    ok(run, "explain", place, data, "-o", explained, "-q")
    atoms = table(explained / "atoms.csv")
    whole = sum(atoms_of[a] + atoms_of[b] for a in pieces for b in pieces)
    assert len(atoms) == whole + len(rows)  # a constant for each
    assert "CCO.CCN" in (explained / "explanation.html").read_text("utf-8")
    trees = ("--model", "forest", "--descriptors", "rdkit+morgan", "--jobs", 1, "-q")
    ok(run, *words, *trees, "-o", tmp_path / "forest")
    settings = RunConfig.from_dict(read_config(place / "config.yaml"))
    assert settings.smiles == ("solute", "solvent")
    rows[3]["solvent"] = "C("
    write(data, rows)
    message = refused(run, *words, *RIDGE, "-o", tmp_path / "no")
    assert "columns 'solute', 'solvent' cannot be read" in message
    assert "'CCO and C('" in message
    ok(run, "predict", place, data, "-o", out, "-q", "--skip-invalid")
    assert [row["predicted y"] == "" for row in table(out)].index(True) == 3
    alone = refused(run, "predict", place, data, "--smiles", "solute", "-o", out)
    assert "component_1" in alone


def test_fine_tuning(run: Run, data: Path, tmp_path: Path) -> None:
    """Weights of another run: as they were, with a new head, or frozen."""
    parts = ("--val-fraction", 0.2, "--test-fraction", 0.2)
    small = [word for word in SMALL if word not in ("--lr", 0.01)]

    def trained(name: str, target: str, *words: object) -> dict[str, torch.Tensor]:
        place = tmp_path / name
        ok(run, "train", data, "--target", target, *parts, *small, *words, "-o", place)
        return load_file(place / "model.safetensors")

    first = trained("first", "logp", "--epochs", 2, "--lr", 0.01)
    start = ("--start-from", tmp_path / "first", "--epochs", 1)
    rows = molecules()
    for row in rows:  # other values of the same target: another mean and scale
        row["logp"] = 3 * row["logp"] + 7
    write(data, rows)
    same = trained("same", "logp", *start, "--lr", 1e-12, "--freeze")
    outs = []
    for name in ("first", "same"):
        ok(run, "predict", tmp_path / name, data, "-o", tmp_path / "o.csv", "-q")
        outs.append([float(r["predicted logp"]) for r in table(tmp_path / "o.csv")])
    assert outs[1] == pytest.approx(outs[0], rel=1e-3, abs=1e-4)
    assert any(not torch.equal(same[n], first[n]) for n in first)  # the head's scale
    frozen = trained("frozen", "mass [g/mol]", *start, "--lr", 0.1, "--freeze")
    tuned = trained("tuned", "series", *start, "--lr", 0.1)
    for name, value in first.items():
        if name.startswith("head."):
            assert not torch.equal(frozen[name], value)
            assert tuned[name].shape != value.shape
        else:
            assert torch.equal(frozen[name], value), name
    changed = [n for n in first if not n.startswith("head.")
               and not torch.equal(tuned[n], first[n])]  # fmt: skip
    assert changed
    by_itself = tmp_path / "by-itself"  # the network of the other run, unasked
    plain = ("--target", "logp", *parts, "--no-baseline", "-q", "-o", by_itself)
    ok(run, "train", data, *start, *plain)
    assert load_file(by_itself / "model.safetensors").keys() == first.keys()
    assert RunRecord.load(by_itself).config["batch_size"] == 64
    other = ("train", data, "--target", "logp", *SMALL, "-o", tmp_path / "no")
    words = refused(run, *other, *start, "--num-layers", 3)
    assert "num_layers (2 there, 3 here)" in words
    assert "name a run" in refused(run, *other, "--freeze")
    assert not (tmp_path / "no").exists()
