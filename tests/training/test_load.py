"""A trained model in Python gives what the command line gives, for any graphs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import sekgnn
from sekgnn import ConfigError, GraphInputError, ModelFileError
from sekgnn.datasets import read_task
from sekgnn.graphs import path_graph
from sekgnn.training.load import TrainedModel
from sekgnn.training.predict_file import FilePredictions

chem = pytest.importorskip("rdkit.Chem")
pytestmark = pytest.mark.usefixtures("one_thread")

QUICK: dict[str, Any] = {
    "model": "gin", "hidden_channels": 8, "num_layers": 2, "epochs": 2,
    "baseline": False, "val_fraction": 0.3, "test_fraction": 0.2,
}  # fmt: skip


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table of alcohols and amines."""
    place = tmp_path_factory.mktemp("load")
    lines = ["smiles,size,kind,dose"]
    for n in range(1, 25):
        lines.append(f"{'C' * n}O,{n + 1},alcohol,{n % 5}")
        lines.append(f"{'C' * n}N,{n},amine,{n % 3}")
    write(place / "data.csv", lines)
    return place


def trained(folder: Path, name: str, target: str, **more: Any) -> TrainedModel:
    data = str(folder / "data.csv")
    keys: dict[str, Any] = {**QUICK, "data": data, "target": (target,), **more}
    if not (folder / name).exists():
        sekgnn.train(config=sekgnn.RunConfig(**keys), output=folder / name)
    return sekgnn.load(folder / name)


def by_command(model: TrainedModel, data: Path) -> dict[str, list[str]]:
    """Return the columns of ``sekgnn predict``, those of the data left out."""
    output = data.with_suffix(".out")
    with output.open("w", newline="") as file:
        FilePredictions(model.predictor, data, columns=["row"]).write(file)
    with output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0] if name != "row"}


@pytest.mark.parametrize("hydrogens", [False, True])
def test_molecules_are_read_as_those_of_the_training(
    folder: Path, tmp_path: Path, hydrogens: bool
) -> None:
    """SMILES, rdkit molecules, and their graphs as PyG data are the same."""
    model = trained(folder, f"h{hydrogens}", "size", add_hydrogens=hydrogens)
    smiles = ["CCO", "c1ccccc1O", "N"]
    new = write(tmp_path / "new.csv", ["smiles", *smiles])
    wanted = [float(value) for value in by_command(model, new)["predicted size"]]
    assert model.predict(smiles) == pytest.approx(wanted, rel=1e-5)
    assert model.predict(smiles).shape == (3,)
    mols = [chem.MolFromSmiles(text) for text in smiles]
    assert model.predict(mols) == pytest.approx(wanted, rel=1e-5)
    graphs = read_task(new, add_hydrogens=hydrogens).graphs
    assert model.predict(graphs) == pytest.approx(wanted, rel=1e-5)
    (one, *_) = model.explain(smiles)
    total = float(one.values.sum() + one.rest.sum())
    assert total == pytest.approx(wanted[0], rel=1e-4)
    assert one.elements.count("H") == 6 * hydrogens


def test_intervals_spread_and_the_whole_table(folder: Path, tmp_path: Path) -> None:
    """As the command writes them."""
    model = trained(folder, "sure", "size", confidence=0.8, ensemble=2)
    smiles = ["CCO", "CCCCN"]
    columns = by_command(model, write(tmp_path / "new.csv", ["smiles", *smiles]))
    assert model.table(smiles) == columns
    assert "spread size" in columns
    lower, upper = model.intervals(smiles)
    assert lower == pytest.approx([float(v) for v in columns["lower size"]], rel=1e-5)
    assert upper == pytest.approx([float(v) for v in columns["upper size"]], rel=1e-5)
    with pytest.raises(ConfigError, match="no probabilities"):
        model.probabilities(smiles)
    with pytest.raises(ConfigError, match="confidence"):
        trained(folder, "hFalse", "size").intervals(smiles)


def test_classes_are_labels(folder: Path) -> None:
    model = trained(folder, "kind", "kind", threshold="f1")
    smiles = ["CCO", "CCCCN", "CCCN"]
    chances = model.probabilities(smiles)
    assert chances.sum(1) == pytest.approx([1, 1, 1])
    assert model.predict(smiles).tolist() == model.table(smiles)["predicted kind"]
    with pytest.raises(ConfigError, match="sets"):
        model.intervals(smiles)


def test_columns_of_features_are_asked_for(folder: Path) -> None:
    model = trained(folder, "dose", "size", features=("dose",), descriptors="rdkit")
    same = model.predict(["CCO", "CCO"], features={"dose": [0, 0]})
    assert same[0] == pytest.approx(same[1], rel=1e-5)
    other = model.predict(["CCO", "CCO"], features={"dose": [0, 4]})
    assert other[0] == pytest.approx(same[0], rel=1e-5)
    assert abs(other[1] - other[0]) > 1e-3
    for given in (None, {"dose": [1]}):
        with pytest.raises(GraphInputError, match="'dose'"):
            model.predict(["CCO", "CCO"], features=given)


def test_graphs_of_other_libraries(tmp_path: Path) -> None:
    """Of networkx and of PyG, where the training had graphs without features."""
    lines = [
        f'{{"edges": [[0, 1], [1, 2]], "num_nodes": {n}, "y": {n}}}'
        for n in range(3, 40)
    ]
    keys = {**QUICK, "data": str(write(tmp_path / "graphs.jsonl", lines))}
    config = sekgnn.RunConfig(target=("y",), **keys)
    sekgnn.train(config=config, output=tmp_path / "run")
    model = sekgnn.load(tmp_path / "run")
    both = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    pyg = Data(edge_index=both, num_nodes=3)
    graphs = (nx.path_graph(3), pyg, path_graph(3))
    found = [model.predict([graph])[0] for graph in graphs]
    np.testing.assert_allclose(found, found[0])


def test_what_cannot_be_read_is_named(folder: Path) -> None:
    model = trained(folder, "hFalse", "size")
    for wrong, word in [
        ("CCO", "list of molecules"),
        (["CC", "C("], "graph 1"),
        (["CC", 7], "graph 1 is int"),
        ([nx.path_graph(3)], "features"),
    ]:
        with pytest.raises(GraphInputError, match=word):
            model.predict(wrong)
    with pytest.raises(GraphInputError, match=r"sekgnn\.load"):
        model.predictor.predict(["CCO"])
    for path in (folder / "hFalse", folder / "hFalse" / "model.safetensors"):
        with pytest.raises(ModelFileError, match=r"sekgnn\.load"):
            sekgnn.SEKRegressor.load(path)
