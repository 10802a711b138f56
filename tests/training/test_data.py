"""Data by name or from files: what is missing is masked, what changes is noticed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.helpers import config, records, write_lines

from sekgnn.datasets import DATASETS
from sekgnn.datasets.graph_task import Y_MASK, GraphTask
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.paper import CountingDataset
from sekgnn.paper.counting import counting_data
from sekgnn.training.config import RunConfig
from sekgnn.training.data import load_data

SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "C", "[Na+]", "CCN", "C1CC1", "CO"]


def write_csv(path: Path, marks: bool = False) -> Path:
    rows = [f"{s},{i % 2},{i * 0.5 if i % 3 else ''}" for i, s in enumerate(SMILES)]
    end = "\r\n" if marks else "\n"
    text = end.join(["smiles,toxic,weight", *rows]) + end
    path.write_bytes((b"\xef\xbb\xbf" if marks else b"") + text.encode())
    return path


def test_counts_are_in_units_of_their_spread() -> None:
    dataset = CountingDataset.generated(num_graphs=40)
    data = counting_data(dataset, ["cycle4", "triangle"])
    y = torch.cat([graph.y for graph in data.graphs])
    columns = [dataset.target_names.index(n) for n in ("cycle4", "triangle")]
    expected = dataset.targets[:, columns] / dataset.scale[columns]
    assert y.numpy() == pytest.approx(expected, rel=1e-6)
    assert y.std(dim=0).tolist() == pytest.approx([1, 1], rel=1e-5)
    assert (data.kind, data.class_numbers, data.source) == (
        "regression",
        None,
        "generated",
    )
    assert data.split is not None
    assert data.split.sizes == (12, 8, 20)


def test_benchmarks_without_files_are_generated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other seeds make other graphs."""
    monkeypatch.delenv("SEKGNN_DATA", raising=False)
    monkeypatch.setattr("sekgnn.paper.counting.NUM_GRAPHS", 40)
    found = [
        load_data(RunConfig(data="counting", target=("triangle",), data_seed=seed))
        for seed in (3, 3, 4)
    ]
    assert [data.source for data in found] == ["generated"] * 3
    first, again, other = (data.fingerprint() for data in found)
    assert first == again != other


@pytest.mark.dataset
@pytest.mark.parametrize(
    ("name", "target", "level"),
    [
        ("counting", ("triangle",), "graph"),
        ("graph-property", ("diameter",), "graph"),
        ("graph_property", ("eccentricity",), "node"),
        ("MUTAG", (), "graph"),
    ],
)
def test_benchmarks_by_name(
    data_root: Path, name: str, target: tuple[str, ...], level: str
) -> None:
    from sekgnn.paper import GraphPropertyDataset

    if "property" in name:
        known = (
            GraphPropertyDataset.node_target_names
            if level == "node"
            else GraphPropertyDataset.target_names
        )
        target = (known[0],)
    data = load_data(RunConfig(data=name, target=target), data_root)
    assert data.level == level
    assert len(data) == data.mask.shape[0] > 100
    rows = data[0].num_nodes if level == "node" else 1
    assert data[0][Y_MASK].shape == (rows, 1)
    assert bool(data[0][Y_MASK].all())


def test_targets_of_benchmarks_are_checked() -> None:
    dataset = CountingDataset.generated(num_graphs=10)
    with pytest.raises(ConfigError, match="choose with target"):
        counting_data(dataset, [])
    with pytest.raises(ConfigError, match="Did you mean 'triangle'"):
        counting_data(dataset, ["triangel"])
    with pytest.raises(ConfigError, match="targets must be different"):
        counting_data(dataset, ["star3", "star3"])
    with pytest.raises(ConfigError, match="MUTAG has one target"):
        load_data(RunConfig(data="MUTAG", target=("y",)))


def test_an_unknown_name_suggests_the_nearest() -> None:
    for wrong, right in (("countng", "counting"), ("MUTAGG", "MUTAG"), ("QM", "QM9")):
        with pytest.raises(
            ConfigError, match=f"no file {wrong}.*Did you mean '{right}'"
        ):
            load_data(RunConfig(data=wrong))
    with pytest.raises(ConfigError, match=f"no data is named.*{next(iter(DATASETS))}"):
        load_data(RunConfig())


def test_tables_of_molecules_single_atoms_among_them(tmp_path: Path) -> None:
    """An atom without bonds has bond features of the same width: none of them."""
    pytest.importorskip("rdkit")
    data = load_data(config(write_csv(tmp_path / "m.csv"), "toxic"))
    assert (data.kind, len(data), data.edge_channels) == ("binary", 8, 6)
    assert data.class_numbers is not None
    assert data.class_numbers.tolist() == [0, 1] * 4
    assert data.reader == {
        "format": "smiles", "smiles": "smiles", "add_hydrogens": False, "stereo": True,
    }  # fmt: skip


def test_a_byte_order_mark_and_other_line_ends_change_nothing(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    plain = load_data(config(write_csv(tmp_path / "a.csv"), "toxic,weight"))
    marked = load_data(config(write_csv(tmp_path / "b.csv", True), "toxic,weight"))
    assert plain.fingerprint() == marked.fingerprint()


def test_missing_targets_are_masked_and_graphs_without_any_left_out(
    tmp_path: Path,
) -> None:
    items = records(10)
    items[3] |= {"size": None, "weight": None}
    data = load_data(config(write_lines(tmp_path / "d.jsonl", items), "size,weight"))
    expected = np.array(
        [[i["size"] is not None, i["weight"] is not None] for i in items]
    )
    assert (data.mask == expected).all()
    masks = torch.cat([graph[Y_MASK] for graph in data.graphs])
    assert (masks.numpy() == expected).all()
    kept = data.with_targets()
    assert len(kept) == 9
    assert kept.places == tuple(p for p in data.places if p != "line 4")
    assert kept.with_targets() is kept
    nothing = replace(data, mask=np.zeros((10, 2), bool))
    with pytest.raises(GraphInputError, match="no graph has a target"):
        nothing.with_targets()


def test_a_target_that_is_missing_everywhere_is_an_error(tmp_path: Path) -> None:
    items = [{**item, "none": None} for item in records(6)]
    lines = write_lines(tmp_path / "d.jsonl", items)
    for target in ("none", "size,none"):
        with pytest.raises((GraphInputError, ConfigError), match="none"):
            load_data(config(lines, target))


def test_a_folder_is_read_as_tu_files(tmp_path: Path) -> None:
    folder = tmp_path / "TOY"
    folder.mkdir()
    (folder / "TOY_A.txt").write_text(
        "".join(
            f"{u + 2 * g}, {v + 2 * g}\n" for g in range(6) for u, v in ((1, 2), (2, 1))
        )
    )
    (folder / "TOY_graph_indicator.txt").write_text(
        "".join(f"{g + 1}\n{g + 1}\n" for g in range(6))
    )
    (folder / "TOY_graph_labels.txt").write_text("1\n2\n1\n2\n1\n2\n")
    data = load_data(RunConfig(data=str(folder)))
    assert (data.kind, len(data), data.name) == ("binary", 6, "TOY")
    with pytest.raises(ConfigError, match="leave target out"):
        load_data(RunConfig(data=str(folder), target=("y",)))


def test_files_of_ones_own_need_a_target(lines: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="say what to predict: name a key"):
        load_data(RunConfig(data=str(lines)))
    with pytest.raises(ConfigError, match="say what to predict: name a column"):
        load_data(RunConfig(data=str(write_csv(tmp_path / "m.csv"))))
    other = tmp_path / "data.xyz"
    other.write_text("")
    with pytest.raises(GraphInputError, match="no format can be inferred"):
        load_data(RunConfig(data=str(other), target=("y",)))
    with pytest.raises(GraphInputError, match="no key 'siz'"):
        load_data(config(lines, "siz"))


def changed(**change: Any) -> list[dict[str, Any]]:
    items = [{**item, "x": [[1.0]] * item["num_nodes"]} for item in records(6)]
    items[2] = {**items[2], **change}
    return json.loads(json.dumps(items))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "change",
    [
        {"edges": [[0, 1]]},
        {"size": 3.0000002},
        {"size": None},
        {"x": [[1.0], [1.0], [1.0000001]], "num_nodes": 3, "edges": [[0, 1]]},
        {"edges": [[0, 1]], "num_nodes": 9, "x": [[1.0]] * 9},
    ],
)
def test_the_fingerprint_notices_every_change(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    first = write_lines(tmp_path / "a.jsonl", changed())
    same = write_lines(tmp_path / "b.jsonl", changed())
    other = write_lines(tmp_path / "c.jsonl", changed(**change))

    def print_of(path: Path) -> str:
        data: GraphTask = load_data(config(path, kind="regression"))
        return data.fingerprint()

    assert print_of(first) == print_of(same) != print_of(other)
