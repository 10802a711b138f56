"""Files of benchmarks are found and checked, and compared with the paper's table."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sekgnn.datasets import BREC, CEXP, EXP, SR25, find_data_root
from sekgnn.datasets.root import (
    DATA_FILES,
    PAPER_STATISTICS,
    check_statistics,
    read_data_file,
)
from sekgnn.errors import DataNotFoundError, GraphInputError
from sekgnn.files import cache_folder
from sekgnn.paper import CountingDataset, GraphPropertyDataset

HEAVY = ("torch", "torch_geometric", "scipy", "numba", "networkx")


def test_import_is_light() -> None:
    code = (
        "import sys, sekgnn.datasets as d; d.CSL(copies=1); "
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_the_data_folder_is_the_given_one_or_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path / "a"))
    assert find_data_root() == tmp_path / "a"
    assert find_data_root(str(tmp_path)) == tmp_path
    with pytest.raises(DataNotFoundError, match=r"data_root.*other"):
        find_data_root(tmp_path / "other")
    for value, words in (("", "no folder"), (tmp_path / "none", "SEKGNN_DATA.*none")):
        monkeypatch.setenv("SEKGNN_DATA", str(value))
        with pytest.raises(DataNotFoundError, match=words):
            find_data_root()
    monkeypatch.delenv("SEKGNN_DATA")
    with pytest.raises(DataNotFoundError, match="SEKGNN_DATA"):
        find_data_root()


@pytest.mark.parametrize(
    ("dataset", "public"),
    [
        (BREC, "customize/Data/raw/*.npy of github.com/GraphPKU/BREC, or its brec_v3"),
        (SR25, "sr251256.g6 of github.com/JiaruiFeng/KP-GNN"),
        (EXP, "GRAPHSAT.pkl of github.com/JiaruiFeng/KP-GNN (data/EXP/raw)"),
        (CEXP, "Data/CEXP/GRAPHSAT.txt of github.com/ralphabb/GNN-RNI"),
        (CountingDataset, "randomgraph.mat of github.com/LingxiaoShawn/GNNAsKernel"),
        (GraphPropertyDataset, "leave data_root out to generate"),
    ],
)
def test_whoever_lacks_a_file_is_told_where_everybody_can_get_it(
    dataset: type, public: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One repository, file and place; what can be generated is, without a folder."""
    monkeypatch.setenv("SEKGNN_DATA", str(tmp_path))
    with pytest.raises(DataNotFoundError) as caught:
        dataset(tmp_path)
    assert public in str(caught.value) and str(tmp_path) in str(caught.value)
    assert "generate" in public or "SEKGNN_DATA" in str(caught.value)
    if dataset in (CountingDataset, GraphPropertyDataset):
        return  # generated in their own tests
    for unset in (False, True):
        if unset:
            monkeypatch.delenv("SEKGNN_DATA")
        with pytest.raises(DataNotFoundError, match=re.escape(public)):
            dataset()


def test_a_file_with_other_content_is_refused(tmp_path: Path) -> None:
    file = DATA_FILES["sr25"]
    path = tmp_path / file.path
    path.parent.mkdir()
    path.write_bytes(b"Bw\n")
    digest = "8e71b38f493557683524eb45ca8f814efe19aa3c9d7e946c42a25658f532618e"
    with pytest.raises(GraphInputError, match=f"{digest}, expected {file.sha256}"):
        SR25(tmp_path)


@pytest.mark.dataset
@pytest.mark.parametrize("name", sorted(DATA_FILES))
def test_one_changed_bit_is_noticed(name: str, data_root: Path, tmp_path: Path) -> None:
    file = DATA_FILES[name]
    copy = tmp_path / file.path
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(data_root / file.path, copy)
    content = bytearray(read_data_file(name, tmp_path))
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)
    with pytest.raises(GraphInputError, match=f"SHA-256 is .*, expected {file.sha256}"):
        read_data_file(name, tmp_path)


def test_the_nearest_choice_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEKGNN_CACHE", str(tmp_path / "a"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert cache_folder(tmp_path / "c") == tmp_path / "c"
    assert cache_folder() == tmp_path / "a"
    monkeypatch.delenv("SEKGNN_CACHE")
    assert cache_folder() == tmp_path / "b" / "sekgnn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "sekgnn"


@pytest.mark.parametrize("name", sorted(PAPER_STATISTICS))
def test_the_numbers_of_the_paper_are_accepted(name: str) -> None:
    paper = PAPER_STATISTICS[name]
    edges = paper.edges / (2 if paper.directed else 1)
    check_statistics(name, [paper.nodes] * 9, [edges] * 9, graphs=paper.graphs)
    check_statistics(name, [paper.nodes], [edges], tasks=paper.tasks)
    with pytest.raises(GraphInputError, match="edges"):
        check_statistics(name, [paper.nodes], [edges * 2])


@pytest.mark.parametrize(
    ("nodes", "edges", "graphs", "tasks", "message"),
    [
        (17.95, 19.79, (188,), 2, r"nodes 17\.95 \(paper: 17\.93\)"),
        (17.93, 19.77, (188,), 2, r"edges 19\.77 \(paper: 19\.79\)"),
        (17.93, 19.79, (187,), 2, r"graphs \(187,\) \(paper: \(188,\)\)"),
        (17.93, 19.79, (188,), 3, r"classes or targets 3 \(paper: 2\)"),
        (np.nan, 19.79, (188,), 2, "nodes nan"),
    ],
)
def test_a_difference_is_named(
    nodes: float, edges: float, graphs: tuple[int], tasks: int, message: str
) -> None:
    with pytest.raises(GraphInputError, match=f"^MUTAG is not .*{message}"):
        check_statistics("MUTAG", [nodes], [edges], graphs=graphs, tasks=tasks)


def test_a_sample_may_be_off_by_its_standard_errors() -> None:
    nodes = np.where(np.arange(400) % 2, 18.8 - 7, 18.8 + 7)  # standard error 0.35
    edges = np.full(400, 31.3)
    check_statistics("counting", nodes + 2, edges, sampled=True)
    with pytest.raises(GraphInputError, match="mean number of nodes"):
        check_statistics("counting", nodes + 2, edges)
    with pytest.raises(GraphInputError, match="mean number of nodes"):
        check_statistics("counting", nodes + 3, edges, sampled=True)
