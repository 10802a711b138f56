"""The TU datasets of the paper, and their published folds."""

from __future__ import annotations

import io
import os
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.io import read_tu_data
from torch_geometric.utils import degree

from sekgnn.datasets import TU_NAMES, GraphTask, read_task, tu_folds, tu_task
from sekgnn.datasets.root import PAPER_STATISTICS, Statistics
from sekgnn.errors import (
    CacheWarning,
    ConfigError,
    DataNotFoundError,
    GraphInputError,
    OutputError,
)
from sekgnn.training.config import RunConfig
from sekgnn.training.data import load_data

FILES = {  # a triangle, a path of three nodes, a triangle and an edge
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n5, 6\n6, 5\n7, 8\n8, 7\n"
    "9, 10\n10, 9\n",
    "graph_indicator": "1\n1\n1\n2\n2\n2\n3\n3\n4\n4\n",
    "graph_labels": "1\n-1\n1\n-1\n",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder in which MUTAG has four graphs without node labels."""
    monkeypatch.setitem(PAPER_STATISTICS, "MUTAG", Statistics(2, (4,), 2.5, 1.75))
    monkeypatch.setenv("SEKGNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SEKGNN_DATA", raising=False)
    raw = tmp_path / "data" / "tu" / "MUTAG" / "raw"
    raw.mkdir(parents=True)
    for suffix, text in FILES.items():
        (raw / f"MUTAG_{suffix}.txt").write_text(text)
    return tmp_path / "data"


@pytest.mark.dataset
@pytest.mark.parametrize("name", TU_NAMES)
def test_graphs_are_those_of_pyg(name: str, data_root: Path) -> None:
    """But for attributes of nodes, and the degrees of sets without labels."""
    folder = data_root / "tu" / name
    theirs, slices, sizes = read_tu_data(str(folder / "raw"), name)
    ours, paper = tu_task(name, data_root), PAPER_STATISTICS[name]
    assert (len(ours), ours.num_outputs) == (paper.graphs[0], paper.tasks)
    bounds = zip(slices["edge_index"][:-1], slices["edge_index"][1:], strict=True)
    for data, (start, stop) in zip(ours, bounds, strict=True):
        assert torch.equal(data.edge_index, theirs.edge_index[:, start:stop])
        if name.startswith("IMDB"):
            degrees = degree(data.edge_index[0], data.num_nodes, dtype=torch.long)
            assert torch.equal(data.x.argmax(1), degrees)
    assert torch.equal(ours.targets()[0], theirs.y)
    assert (ours.edge_channels > 0) == (theirs.edge_attr is not None)
    if ours.edge_channels:
        assert torch.equal(joined(ours, "edge_attr"), theirs.edge_attr)
    if not name.startswith("IMDB"):
        assert torch.equal(
            joined(ours, "x"), theirs.x[:, sizes["num_node_attributes"] :]
        )
    if name in ("MUTAG", "ENZYMES"):  # without gaps between their labels
        assert torch.equal(joined(read_task(folder), "x"), theirs.x)


@pytest.mark.dataset
def test_names_say_whether_attributes_are_read(data_root: Path) -> None:
    """ENZYMES has 18 numbers and 3 labels of nodes; all are scaled over the set."""
    plain, wide = (
        load_data(RunConfig(data=name), data_root)
        for name in ("ENZYMES", "ENZYMES_attributes")
    )
    assert (plain.num_features, wide.num_features) == (3, 21)
    x = joined(wide, "x")
    torch.testing.assert_close(x.mean(0), torch.zeros(21), atol=1e-4, rtol=0)
    torch.testing.assert_close(x.std(0), torch.ones(21), atol=1e-4, rtol=0)


def joined(task: GraphTask, name: str) -> torch.Tensor:
    return torch.cat([data[name] for data in task])


def test_a_dataset_without_node_labels_gets_degrees(root: Path) -> None:
    task = tu_task("MUTAG", root)
    assert [data.y.item() for data in task] == [1, 0, 1, 0]
    assert [data.num_nodes for data in task] == [3, 3, 2, 2]
    assert [data.x.argmax(1).tolist() for data in task][:2] == [[2, 2, 2], [1, 2, 1]]
    assert (task.kind, task.classes, task.num_features) == ("binary", (0, 1), 3)
    raw = root / "tu" / "MUTAG" / "raw"
    (raw / "MUTAG_node_labels.txt").write_text("0\n3\n3\n0\n0\n0\n3\n3\n0\n0\n")
    (raw / "MUTAG_graph_labels.txt").write_text("-1\n1\n1\n-1\n")
    task = tu_task("MUTAG", root)  # no file stands between, which could be stale
    assert task[0].x.tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]]
    assert [data.y.item() for data in task] == [0, 1, 1, 0]


def test_another_dataset_under_the_name_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PAPER_STATISTICS, "MUTAG", Statistics(2, (188,), 17.93, 19.79))
    with pytest.raises(GraphInputError, match=r"MUTAG.*\(4,\) \(paper: \(188"):
        tu_task("MUTAG", root)


def test_missing_and_unreadable_files(root: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'MUTAG'"):
        tu_task("MUTAGS", root)
    with pytest.raises(DataNotFoundError, match=r"COX2.raw.*is missing"):
        tu_task("COX2", root)
    raw = root / "tu" / "MUTAG" / "raw"
    (raw / "MUTAG_A.txt").write_text("1, two\n")
    with pytest.raises(GraphInputError, match=r"MUTAG_A\.txt, line 1.* 2 integers"):
        tu_task("MUTAG", root)
    (raw / "MUTAG_graph_labels.txt").unlink()
    with pytest.raises(DataNotFoundError, match=r"MUTAG_graph_labels\.txt is missing"):
        tu_task("MUTAG", root)


@pytest.fixture
def downloads(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let files be downloaded from nowhere, and return from where, one by one."""
    calls: list[str] = []

    def urlopen(url: str, timeout: float) -> io.BytesIO:
        calls.append(url)
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for suffix, text in FILES.items():
                archive.writestr(f"MUTAG/MUTAG_{suffix}.txt", text)
        return io.BytesIO(content.getvalue())

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return calls


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_download_is_made_once_and_checked(
    damage: str,
    downloads: list[str],
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [data.y.item() for data in tu_task("MUTAG")] == [1, 0, 1, 0]
    monkeypatch.setenv("SEKGNN_DATA", str(root.parent))  # a folder without tu/MUTAG
    assert len(tu_task("MUTAG")) == 4
    assert len(downloads) == 1  # the second comes from the cache
    (file,) = (tmp_path / "cache" / "tu").iterdir()
    content = file.read_bytes()
    changed = content.replace(FILES["graph_labels"].encode(), b"-1\n1\n1\n-1\n ")
    file.write_bytes({"cut": content[:-9], "changed": changed, "empty": b""}[damage])
    with pytest.warns(CacheWarning, match="damaged"):
        assert [data.y.item() for data in tu_task("MUTAG")] == [1, 0, 1, 0]
    assert len(tu_task("MUTAG")) == 4  # no warning: it is whole now
    assert len(downloads) == 2
    assert list((tmp_path / "cache" / "tu").iterdir()) == [file]
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEKGNN_CACHE", str(tmp_path / "file"))
    with pytest.raises(OutputError, match="SEKGNN_CACHE"):
        tu_task("MUTAG")


@pytest.mark.skipif(os.name != "posix", reason="modes say nothing elsewhere")
def test_a_cache_that_others_can_write_is_refused(
    downloads: list[str], tmp_path: Path
) -> None:
    for folder in (tmp_path / "cache", tmp_path / "cache" / "tu"):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
        with pytest.raises(OutputError, match=r"others.*(chmod go-w|rm -r)"):
            tu_task("MUTAG")
        folder.chmod(0o755)
    assert not downloads


def test_without_a_network_the_cure_is_named(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is a page of an error, or half of a file, taken for the data."""

    def offline(url: str, timeout: float) -> io.BytesIO:
        raise urllib.error.URLError("no network")

    for urlopen, words in (
        (offline, "no network"),
        (lambda url, timeout: io.BytesIO(b"<html>"), "zip"),
    ):
        monkeypatch.setattr(urllib.request, "urlopen", urlopen)
        with pytest.raises(DataNotFoundError, match=f"{words}.*tu/MUTAG/raw below"):
            tu_task("MUTAG")
    assert not [*(tmp_path / "cache" / "tu").iterdir()]


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
    tested_graphs = np.concatenate([test for _, test in folds])
    assert len(folds) == 10
    assert tested_graphs.size == np.unique(tested_graphs).size == tested
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
        for split, values in (("train", train), ("test", test)):
            text = "".join(f"{i}\r\n" for i in values)
            (folder / f"{split}_idx-{number}.txt").write_bytes(text.encode())
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
