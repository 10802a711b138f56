"""Graphs in memory are trained on like those in files."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
import torch
from tests.training.helpers import SMALL, config, records
from torch_geometric.data import Data

from sekgnn.datasets import networkx_task, pyg_task
from sekgnn.errors import ConfigError
from sekgnn.training import RunConfig, train
from sekgnn.training.predictor import Predictor


def test_memory_equals_file(lines: Path, tmp_path: Path) -> None:
    """The same graphs as a file, as PyG data and as networkx give the same run."""
    graphs, data = [], []
    for item in records():
        graph = nx.empty_graph(item["num_nodes"])
        graph.add_edges_from(item["edges"])
        graphs.append(graph)
        edges = torch.tensor(item["edges"]).t()
        data.append(
            Data(
                edge_index=torch.cat([edges, edges.flip(0)], dim=1),
                num_nodes=item["num_nodes"],
                y=torch.tensor([item["size"]], dtype=torch.float64),
            )
        )
    sizes = [item["size"] for item in records()]
    settings = RunConfig.from_dict(SMALL)
    file = train(output=tmp_path / "file", config=config(lines, "size"))
    for name, task in {
        "networkx": networkx_task(graphs, {"size": sizes}),
        "pyg": pyg_task(data),
    }.items():
        found = train(task, tmp_path / name, config=settings)
        assert found.headline.value == pytest.approx(file.headline.value, rel=1e-5)
        assert found.data["source"] == "memory"
    assert Predictor.load(tmp_path / "pyg").note.reader is None


def test_folds_take_memory_along(tmp_path: Path) -> None:
    """Processes of folds get the graphs, which they could not load."""
    graphs = [nx.path_graph(n) for n in range(3, 15)] * 2
    task = networkx_task(graphs, [float(len(g)) for g in graphs])
    settings = RunConfig.from_dict(
        {**SMALL, "protocol": "nested", "folds": 2, "epochs": 1}
    )
    one = train(task, tmp_path / "one", config=settings)
    two = train(task, tmp_path / "two", config=settings, jobs=2)
    assert one.results == two.results
    with pytest.raises(ConfigError, match="no data is named"):
        train(output=tmp_path / "none", config=settings)


def test_keys_of_a_config_are_arguments(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name, a file and keys give what the config of all of them gives."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.yaml"
    file.write_text("".join(f"{key}: {value}\n" for key, value in SMALL.items()))
    record = train(lines, config=file, target="size", epochs=1)
    assert RunConfig.from_dict(record.config) == config(lines, "size", epochs=1)
    assert (tmp_path / "runs" / "data-gin" / "record.json").is_file()
    with pytest.raises(ConfigError, match="Did you mean 'epochs'"):
        train(lines, target="size", epoch=1)
