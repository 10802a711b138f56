"""A trained model says the same of a graph wherever it meets it."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.helpers import (
    SMALL,
    check_evaluation,
    config,
    records,
    run,
    write_lines,
)
from torch_geometric.data import Data

from sekgnn.datasets import read_task
from sekgnn.errors import (
    ConfigError,
    GraphInputError,
    GraphInputWarning,
    ModelFileError,
)
from sekgnn.models import GIN, PPGN, save_model
from sekgnn.training.config import RunConfig
from sekgnn.training.objective import Objective
from sekgnn.training.predict_file import FilePredictions, evaluate_file, evaluate_run
from sekgnn.training.predictor import Predictor
from sekgnn.training.run_folder import MODEL_FILE
from sekgnn.training.run_record import RunRecord


def note_of(mean: tuple[float], scale: tuple[float], **more: Any) -> Objective:
    """Return what outputs of a regression mean."""
    return Objective(kind="regression", targets=("y",), classes=None, mean=mean,
                    scale=scale, **more)  # fmt: skip


def stream(
    predictor: Predictor, path: Path, chunk_size: int = 1024
) -> list[dict[str, str]]:
    text = io.StringIO()
    FilePredictions(predictor, path).write(text, chunk_size=chunk_size)
    return list(csv.DictReader(io.StringIO(text.getvalue())))


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("ring", "sek-gin"),
        ("size,weight", "gin"),
        ("big,odd", "sek-gnn"),
        ("ring", "capsgnn"),
        ("size,weight", "kp-gin+"),
        ("big,odd", "gin-ak+"),
    ],
)
def test_predictions_are_those_of_the_run(
    lines: Path, tmp_path: Path, target: str, model: str
) -> None:
    """File, stream, list and one by one agree with what the run wrote itself."""
    folder = tmp_path / "run"
    run(config(lines, target, model=model), folder)
    predictor = Predictor.load(folder)
    streamed = stream(predictor, lines, chunk_size=7)
    assert [int(row["row"]) for row in streamed] == list(range(1, 31))
    with (folder / "predictions.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            other = streamed[int(row["graph"])]
            for name in row.keys() & other.keys():
                if row[name] in ("yes", "no"):
                    assert row[name] == other[name]
                else:
                    assert float(row[name]) == pytest.approx(
                        float(other[name]), rel=1e-4, abs=1e-6
                    )
    graphs = read_task(lines).graphs
    together = predictor.predict(graphs)
    alone = np.concatenate([predictor.predict([graph]) for graph in graphs])
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)
    if target != "size,weight":
        assert ((together >= 0) & (together <= 1)).all()
    if target == "ring":
        np.testing.assert_allclose(together.sum(axis=1), 1)
    check_evaluation(folder)


def test_folds_are_averaged(lines: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(config(lines, "size", protocol="nested", folds=3, epochs=1), folder)
    graphs = read_task(lines).graphs
    each = [Predictor.load(folder / f"fold-0{i}").predict(graphs) for i in (1, 2, 3)]
    whole = Predictor.load(folder)
    assert len(whole.models) == 3
    np.testing.assert_allclose(whole.predict(graphs), np.mean(each, axis=0))
    record = RunRecord.load(folder)
    tested = evaluate_run(folder)
    mean = np.mean([fold["mae"] for fold in tested])
    assert mean == pytest.approx(record.result("test_mae").value, rel=1e-4)
    assert len(evaluate_run(folder, "train")) == 3
    with pytest.raises(ConfigError, match="part must be one of"):
        evaluate_run(folder, "tests")


def test_other_graphs_with_targets(lines: Path, tmp_path: Path) -> None:
    """Metrics of a file are by definition those of its predictions."""
    folder = tmp_path / "run"
    run(config(lines, "size"), folder)
    other = write_lines(tmp_path / "other.jsonl", records(12, seed=5))
    found = evaluate_file(folder, other)
    predicted = np.array(
        [float(row["predicted size"]) for row in stream(Predictor.load(folder), other)]
    )
    truth = np.array([record["size"] for record in records(12, seed=5)])
    assert found["mae"] == pytest.approx(np.abs(predicted - truth).mean(), rel=1e-5)
    with pytest.warns(GraphInputWarning, match="2 graphs without a target"):
        assert evaluate_file(folder, other, ("weight",))["mae"] > found["mae"]
    with pytest.raises(GraphInputError, match="no key 'nothing'"):
        evaluate_file(folder, other, ("nothing",))


def test_misfits_are_refused(lines: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(config(lines, "size", epochs=1), folder)
    predictor = Predictor.load(folder)
    wide = [{"edges": [[0, 1]], "x": [[1.0, 2.0], [3.0, 4.0]]}]
    with pytest.raises(GraphInputError, match="2 node features, the model reads 1"):
        stream(predictor, write_lines(tmp_path / "wide.jsonl", wide))
    table = tmp_path / "molecules.csv"
    table.write_text("smiles\nCCO\n")
    with pytest.raises(GraphInputError, match="trained on JSON lines"):
        stream(predictor, table)
    with pytest.raises(GraphInputError, match="holds no graphs"):
        stream(predictor, write_lines(tmp_path / "none.jsonl", []))


def test_misfitting_edges_and_names_are_refused() -> None:
    from sekgnn.datasets.graph_task import make_task
    from sekgnn.graphs.graph_record import FeatureNames

    model = GIN(1, 1, edge_channels=2)
    note = note_of((0.0,), (1.0,), feature_names=("a",))
    predictor = Predictor([model], [note])
    edge = torch.tensor([[0, 1], [1, 0]])

    def task(attr: torch.Tensor | None, name: str = "a", nodes: int = 2) -> object:
        data = Data(x=torch.ones(nodes, 1), edge_index=edge, edge_attr=attr)
        data.num_nodes = nodes
        return make_task("file", [data], ["row 1"], names=FeatureNames((name,)))

    predictor.check(task(torch.ones(2, 2)), "file")  # type: ignore[arg-type]
    with pytest.raises(GraphInputError, match="row 1: 0 edge features"):
        predictor.check(task(None), "file")  # type: ignore[arg-type]
    with pytest.raises(GraphInputError, match=r"other node features.*a, b"):
        predictor.check(task(torch.ones(2, 2), "b"), "file")  # type: ignore[arg-type]
    pairs = Predictor([PPGN(1, 1)], [note])
    with pytest.raises(GraphInputError, match="on a graph of up to 100,000, needs"):
        pairs.check(task(None, nodes=100_000), "file")  # type: ignore[arg-type]


def test_a_benchmark_keeps_its_features_to_itself(tmp_path: Path) -> None:
    """Seven columns of other labels would fit by their number."""
    note = note_of((0.0,), (1.0,), reader={"format": "benchmark"})
    predictor = Predictor([GIN(1, 1).eval()], [note])
    (tmp_path / "folder").mkdir()
    with pytest.raises(GraphInputError, match="trained on a benchmark"):
        stream(predictor, tmp_path / "folder")
    lines = write_lines(tmp_path / "a.jsonl", [{"edges": [[0, 1]], "num_nodes": 2}])
    assert len(stream(predictor, lines)) == 1


def test_changed_data_is_noticed(lines: Path, tmp_path: Path) -> None:
    """A new row would move training graphs into the test part."""
    folder = tmp_path / "run"
    run(config(lines, "size", epochs=1), folder)
    write_lines(lines, records(31))
    with pytest.raises(GraphInputError, match="has changed since"):
        evaluate_run(folder)
    with pytest.raises(ConfigError, match="has changed since"):
        run(config(lines, "size", epochs=1), folder)


def test_unfinished_runs(lines: Path, tmp_path: Path) -> None:
    single, folds = tmp_path / "single", tmp_path / "folds"
    run(config(lines, "size", epochs=1), single)
    (single / "record.json").unlink()
    (single / "fold.json").unlink()
    with pytest.warns(GraphInputWarning, match="has not finished"):
        Predictor.load(single)
    run(config(lines, "size", epochs=1, protocol="nested", folds=2), folds)
    (folds / "record.json").unlink()
    with pytest.raises(ModelFileError, match="not got far enough"):
        Predictor.load(folds)
    with pytest.raises(GraphInputError, match="not finished"):
        evaluate_run(folds)


def test_the_sample_of_neighbours_is_that_of_the_run(
    lines: Path, tmp_path: Path
) -> None:
    """All graphs in their order are sampled as in the run, so they repeat its file."""
    settings = {"model": "k-gin", "num_hops": 2, "max_neighbors": 1, "seed": 3}
    items = records()
    for item in items:  # features that differ, or any sample would do
        item["x"] = [[float(node)] for node in range(item["num_nodes"])]
    write_lines(lines, items)
    run(config(lines, "size", **settings), tmp_path / "run")
    streamed = stream(Predictor.load(tmp_path / "run"), lines)
    with (tmp_path / "run" / "predictions.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            again = float(streamed[int(row["graph"])]["predicted size"])
            assert again == pytest.approx(float(row["predicted size"]), rel=1e-5)


def test_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="holds no model"):
        Predictor.load(tmp_path)
    file = tmp_path / MODEL_FILE
    save_model(GIN(1, 1), file)
    with pytest.raises(ModelFileError, match="a model without a task"):
        Predictor.load(file)
    save_model(GIN(1, 1), file, {"task": {"kind": "guess"}})
    with pytest.raises(ModelFileError, match="cannot be read"):
        Predictor.load(file)
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(ModelFileError, match="damaged"):
        Predictor.load(file)


def test_what_is_said_about_a_model_is_sealed(lines: Path, tmp_path: Path) -> None:
    """Another scale in the header would silently change every prediction."""
    folder = tmp_path / "run"
    run(config(lines, "size", epochs=1), folder)
    file = folder / MODEL_FILE
    content = file.read_bytes()
    assert b'\\"kind\\": \\"regression\\"' in content
    file.write_bytes(content.replace(b'\\"targets\\"', b'\\"Targets\\"'))
    with pytest.raises(ModelFileError, match="checksum"):
        Predictor.load(folder)


def test_nodes_have_rows_of_their_own(tmp_path: Path) -> None:
    note = note_of((1.0,), (2.0,))
    predictor = Predictor([GIN(1, 1, level="node", norm="none").eval()], [note])
    items = [{"edges": [[0, 1]], "num_nodes": 3}, {"edges": [], "num_nodes": 1}]
    rows = stream(predictor, write_lines(tmp_path / "a.jsonl", items))
    assert [(r["row"], r["node"]) for r in rows] == [
        ("1", "0"), ("1", "1"), ("1", "2"), ("2", "0"),
    ]  # fmt: skip
    assert rows[0]["predicted y"] == rows[1]["predicted y"]
    assert rows[2]["predicted y"] == rows[3]["predicted y"]


def test_tu_folder_labels_keep_their_columns(tmp_path: Path) -> None:
    """A folder in which a label does not occur is still read with its column."""

    def write(name: str, labels: list[int], classes: list[int]) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        pairs, owners = [], []
        for i in range(len(classes)):
            pairs += [f"{2 * i + 1}, {2 * i + 2}", f"{2 * i + 2}, {2 * i + 1}"]
            owners += [str(i + 1)] * 2
        parts = {
            "A": pairs,
            "graph_indicator": owners,
            "node_labels": [str(v) for v in labels],
            "edge_labels": [str(v % 2) for v in labels],
            "graph_labels": [str(v) for v in classes],
        }
        for part, values in parts.items():
            (folder / f"{name}_{part}.txt").write_text("\n".join(values) + "\n")
        return folder

    classes = [0, 1] * 10
    train = write("TRAIN", [v for c in classes for v in (c, c)], classes)
    settings = RunConfig.from_dict(
        {**SMALL, "data": str(train), "epochs": 1, "edge_features": True}
    )
    run(settings, tmp_path / "run")
    predictor = Predictor.load(tmp_path / "run")
    assert predictor.note.feature_names == ("label 0", "label 1")
    assert predictor.note.edge_feature_names == ("label 0", "label 1")
    new = write("NEW", [1, 1, 1, 1], [1, 1])
    rows = stream(predictor, new)
    known = stream(predictor, train)
    assert rows[0]["probability 1"] == known[1]["probability 1"]
    strange = write("STRANGE", [7, 7], [1])
    with pytest.raises(GraphInputError, match="label 7 is unknown"):
        stream(predictor, strange)
