"""The TU datasets of the paper, and their published folds."""

from __future__ import annotations

import os
import urllib.error
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.datasets import TUDataset
from torch_geometric.io import read_tu_data
from torch_geometric.utils import degree

from sekgnn.datasets import PAPER_STATISTICS, TU_NAMES, Statistics, tu_dataset, tu_folds
from sekgnn.errors import (
    CacheWarning,
    ConfigError,
    DataNotFoundError,
    GraphInputError,
    OutputError,
)

FILES = {  # a triangle, a path of three nodes, and an edge
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n5, 6\n6, 5\n7, 8\n8, 7\n",
    "graph_indicator": "1\n1\n1\n2\n2\n2\n3\n3\n",
    "graph_labels": "1\n-1\n1\n",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder in which MUTAG has three graphs without node labels."""
    small = Statistics(2, (3,), 8 / 3, 2.0)
    monkeypatch.setitem(PAPER_STATISTICS, "MUTAG", small)
    monkeypatch.setenv("SEKGNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SEKGNN_DATA", raising=False)
    place(tmp_path / "data" / "tu" / "MUTAG" / "raw")
    return tmp_path / "data"


def place(folder: Path) -> None:
    folder.mkdir(parents=True)
    for part, text in FILES.items():
        (folder / f"MUTAG_{part}.txt").write_text(text)


@pytest.mark.dataset
@pytest.mark.parametrize("name", TU_NAMES)
def test_the_datasets_of_the_paper(name: str, data_root: Path) -> None:
    dataset = tu_dataset(name, data_root)
    paper = PAPER_STATISTICS[name]
    assert (len(dataset), dataset.num_classes) == (paper.graphs[0], paper.tasks)
    nodes = sum(data.num_nodes for data in dataset) / len(dataset)
    edges = sum(data.num_edges for data in dataset) / len(dataset) / 2
    assert (round(nodes, 2), round(edges, 2)) == (paper.nodes, paper.edges)
    widths = {data.x.size(1) for data in dataset}
    assert len(widths) == 1
    for data in dataset[::50]:
        assert data.y.dtype == torch.long and data.is_undirected()
        assert bool((data.x.sum(1) == 1).all())
    assert not (data_root / "tu" / name / "processed").exists()


@pytest.mark.dataset
@pytest.mark.parametrize("name", ["MUTAG", "BZR"])  # labels of edges, gaps in labels
def test_graphs_are_those_of_pyg(name: str, data_root: Path) -> None:
    theirs, slices, _ = read_tu_data(str(data_root / "tu" / name / "raw"), name)
    ours = tu_dataset(name, data_root, use_node_attr=True)
    for key, cuts in slices.items():
        assert torch.equal(ours._data[key], theirs[key])
        assert torch.equal(ours.slices[key], cuts)


def degrees_of(data: object) -> torch.Tensor:
    found: torch.Tensor = degree(data.edge_index[0], data.num_nodes, dtype=torch.long)  # type: ignore[attr-defined]
    return found


@pytest.mark.dataset
@pytest.mark.parametrize(
    ("name", "largest"), [("IMDB-BINARY", 135), ("IMDB-MULTI", 88)]
)
def test_imdb_sets_have_one_hot_degrees(
    name: str, largest: int, data_root: Path, tmp_path: Path
) -> None:
    dataset = tu_dataset(name, data_root, cache_dir=tmp_path)
    assert dataset.num_features == largest + 1
    for data in dataset[::20]:
        assert torch.equal(data.x.argmax(1), degrees_of(data))


def test_a_dataset_without_node_labels_gets_degrees(root: Path) -> None:
    dataset = tu_dataset("MUTAG", root)
    assert [data.y.item() for data in dataset] == [1, 0, 1]
    assert [data.num_nodes for data in dataset] == [3, 3, 2]
    for data in dataset:
        assert data.x.shape == (data.num_nodes, 3)
        assert torch.equal(data.x.argmax(1), degrees_of(data))
    assert dataset[[2, 0]][0].x.argmax(1).tolist() == [1, 1]
    assert tu_dataset("MUTAG", root, degree_features=False)[0].x is None


def test_degrees_stand_beside_node_labels_if_asked_for(root: Path) -> None:
    raw = root / "tu" / "MUTAG" / "raw"
    (raw / "MUTAG_node_labels.txt").write_text("0\n1\n1\n0\n0\n0\n1\n1\n")
    plain = tu_dataset("MUTAG", root)
    both = tu_dataset("MUTAG", root, degree_features=True)
    assert plain[0].x.tolist() == [[1, 0], [0, 1], [0, 1]]
    assert both[0].x.tolist() == [[1, 0, 0, 0, 1], [0, 1, 0, 0, 1], [0, 1, 0, 0, 1]]


def test_a_transform_is_applied_when_a_graph_is_taken(root: Path) -> None:
    def mark(data: object) -> object:
        data.mark = 1  # type: ignore[attr-defined]
        return data

    assert tu_dataset("MUTAG", root, transform=mark)[0].mark == 1


def test_changed_files_are_not_served_from_the_cache(root: Path) -> None:
    tu_dataset("MUTAG", root)
    labels = root / "tu" / "MUTAG" / "raw" / "MUTAG_graph_labels.txt"
    labels.write_text("-1\n1\n1\n")
    assert [data.y.item() for data in tu_dataset("MUTAG", root)] == [0, 1, 1]


def test_another_dataset_under_the_name_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PAPER_STATISTICS, "MUTAG", Statistics(2, (188,), 17.93, 19.79))
    with pytest.raises(GraphInputError, match=r"MUTAG.*\(3,\) \(paper: \(188"):
        tu_dataset("MUTAG", root)


def test_missing_and_unreadable_files(root: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'MUTAG'"):
        tu_dataset("MUTAGS", root)
    with pytest.raises(DataNotFoundError, match=r"COX2.raw.*no files COX2_\*"):
        tu_dataset("COX2", root)
    raw = root / "tu" / "MUTAG" / "raw"
    (raw / "MUTAG_A.txt").write_text("1, two\n")
    with pytest.raises(
        GraphInputError, match=r"MUTAG_A\.txt, line 1.* 2 integers, got"
    ):
        tu_dataset("MUTAG", root)
    (raw / "MUTAG_A.txt").unlink()
    with pytest.raises(DataNotFoundError, match=r"MUTAG_A\.txt is missing, though"):
        tu_dataset("MUTAG", root)


@pytest.fixture
def downloads(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let files be downloaded from nowhere, and return where to, one by one."""
    calls: list[str] = []

    def download(dataset: TUDataset) -> None:
        calls.append(dataset.raw_dir)
        for part, text in FILES.items():
            Path(dataset.raw_dir, f"MUTAG_{part}.txt").write_text(text)

    monkeypatch.setattr(TUDataset, "download", download)
    return calls


def test_a_download_is_made_once_and_checked(
    downloads: list[str],
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [data.y.item() for data in tu_dataset("MUTAG")] == [1, 0, 1]
    monkeypatch.setenv("SEKGNN_DATA", str(root.parent))  # a folder without tu/MUTAG
    assert len(tu_dataset("MUTAG")) == 3
    assert len(downloads) == 1  # the second comes from the cache
    (file,) = (tmp_path / "cache" / "tu").glob("*/MUTAG/raw/MUTAG_graph_labels.txt")
    file.write_text("-1\n1\n-1\n")  # classes that are not those of the download
    with pytest.warns(CacheWarning, match="damaged"):
        assert [data.y.item() for data in tu_dataset("MUTAG")] == [1, 0, 1]
    assert len(tu_dataset("MUTAG")) == 3  # no warning: it is whole now
    assert len(downloads) == 2
    assert not list((tmp_path / "cache" / "tu").glob("*.tmp"))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEKGNN_CACHE", str(tmp_path / "file"))
    with pytest.raises(OutputError, match="SEKGNN_CACHE"):
        tu_dataset("MUTAG")


class Planted:
    """Runs a command when it is unpickled."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> Any:
        return Path.touch, (self.proof,)


def test_nothing_in_the_cache_is_unpickled(
    downloads: list[str], tmp_path: Path
) -> None:
    """PyG's own dataset runs all of these payloads on the next load."""
    tu_dataset("MUTAG")
    (raw,) = (tmp_path / "cache" / "tu").glob("*/MUTAG/raw")
    proof = tmp_path / "proof"
    (raw.parent / "processed").mkdir()
    for name in ("data.pt", "pre_transform.pt", "pre_filter.pt"):
        torch.save(Planted(proof), raw.parent / "processed" / name)
    assert [data.y.item() for data in tu_dataset("MUTAG")] == [1, 0, 1]
    assert not proof.exists()


@pytest.mark.skipif(os.name != "posix", reason="modes say nothing elsewhere")
def test_a_cache_that_others_can_write_is_refused(
    downloads: list[str], tmp_path: Path
) -> None:
    for place in (tmp_path / "cache", tmp_path / "cache" / "tu" / "MUTAG"):
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o777)
        with pytest.raises(OutputError, match=r"others.*(chmod go-w|rm -r)"):
            tu_dataset("MUTAG")
        place.chmod(0o755)
    assert not downloads


def test_without_a_network_the_cure_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(dataset: TUDataset) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(TUDataset, "download", offline)
    with pytest.raises(DataNotFoundError, match=r"no network.*tu/MUTAG/raw below"):
        tu_dataset("MUTAG")


@pytest.mark.dataset
@pytest.mark.parametrize(
    ("name", "tested"),
    [
        ("MUTAG", 180),
        ("PTC_MR", 340),
        ("PROTEINS", 1110),
        ("ENZYMES", 600),
        ("IMDB-BINARY", 1000),
        ("IMDB-MULTI", 1500),
    ],
)
def test_the_files(name: str, tested: int, data_root: Path) -> None:
    folds = tu_folds(name, data_root)
    everything = np.concatenate([test for _, test in folds])
    assert len(folds) == 10
    assert everything.size == np.unique(everything).size == tested
    for train, test in folds:
        assert train.size + test.size == PAPER_STATISTICS[name].graphs[0]
        assert not set(train.tolist()) & set(test.tolist())


@pytest.fixture
def root_tu_folds(tmp_path: Path) -> Path:
    folder = tmp_path / "tu" / "MUTAG" / "fold_idx"
    folder.mkdir(parents=True)
    for number in range(1, 11):
        test = [2 * number, 2 * number + 1]
        train = [i for i in range(188) if i not in test]
        for part, values in (("train", train), ("test", test)):
            text = "".join(f"{i}\r\n" for i in values)
            (folder / f"{part}_idx-{number}.txt").write_bytes(text.encode())
    return tmp_path


def test_windows_line_ends_are_read(root_tu_folds: Path) -> None:
    folds = tu_folds("MUTAG", root_tu_folds)
    assert [test.tolist() for _, test in folds[:2]] == [[2, 3], [4, 5]]
    assert folds[0][0].tolist()[:3] == [0, 1, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n188\n", r"test_idx-3\.txt, line 2: '188'.*position in 0\.\.187"),
        ("-1\n", r"line 1: '-1'.*position"),
        ("1.5\n", r"line 1: '1\.5'.*position"),
        ("6\n\n6\n", r"line 3: graph 6.*line 1"),
        ("\n", r"test_idx-3\.txt is empty"),
        ("6\n9\n", r"graph 9.*fold 3"),
    ],
)
def test_wrong_files(text: str, message: str, root_tu_folds: Path) -> None:
    (root_tu_folds / "tu" / "MUTAG" / "fold_idx" / "test_idx-3.txt").write_text(text)
    with pytest.raises(GraphInputError, match=message):
        tu_folds("MUTAG", root_tu_folds)


def test_missing_files(root_tu_folds: Path) -> None:
    (root_tu_folds / "tu" / "MUTAG" / "fold_idx" / "train_idx-10.txt").unlink()
    with pytest.raises(DataNotFoundError, match=r"train_idx-10\.txt does not exist"):
        tu_folds("MUTAG", root_tu_folds)
    with pytest.raises(DataNotFoundError, match=r"muhanzhang/pytorch_DGCNN.*BZR"):
        tu_folds("BZR", root_tu_folds)
    with pytest.raises(ConfigError, match=r"name.*one of"):
        tu_folds("NCI1", root_tu_folds)
