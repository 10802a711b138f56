"""Folders that strangers began: work that goes on there never leads out of them."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.brec.cases import PAIRS, SmallGIN
from tests.fuzz.test_hostile_input import COUNT
from tests.search.conftest import BASE
from tests.training.helpers import config, records, write_lines

from sekgnn.brec import RPCProtocol, score
from sekgnn.encoding.node_ranges import RangePlan, encode_graph_file
from sekgnn.encoding.sharded import encode_shards
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.files import write_files
from sekgnn.graphs import pack_pairs, random_regular_graph
from sekgnn.paper import CountingDataset
from sekgnn.paper.counting import counting_data
from sekgnn.search.study import search
from sekgnn.training.run import train
from sekgnn.training.space import SearchSpace

WALKS = WalkEncoding(num_shells=1, walk_length=4)
KINDS = ("run", "folds", "ensemble", "search", "shards", "ranges", "brec")


def opener(kind: str, folder: Path) -> Callable[[Path], object]:
    """Return what makes a folder, and goes on with one."""
    if kind in ("run", "folds", "ensemble"):
        lines = write_lines(folder / "data.jsonl", records())
        chosen = config(lines, epochs=1)
        if kind == "folds":
            chosen = replace(chosen, protocol="nested", folds=3)
        if kind == "ensemble":
            chosen = replace(chosen, ensemble=2)
        return lambda folder: train(output=folder, config=chosen)
    if kind == "search":
        pytest.importorskip("optuna")
        data = counting_data(CountingDataset.generated(num_graphs=40), ["triangle"])
        base, space = replace(BASE, epochs=1), SearchSpace.from_dict({"lr": [0.1, 0.2]})
        return lambda folder: search(base, space, folder, trials=1, data=data)
    if kind == "shards":
        lines = write_lines(folder / "data.jsonl", records())
        return lambda folder: encode_shards(lines, folder, WALKS, shard_size=9)
    if kind == "ranges":
        graph = random_regular_graph(300, 4, np.random.default_rng(1))
        file = pack_pairs([graph.edge_index().T], 300, folder / "graph.csr")
        plan = RangePlan(WALKS, range_numbers=64 * WALKS.num_features)
        return lambda folder: encode_graph_file(file, plan, folder, threads=1)
    short = RPCProtocol(epochs=1)
    return lambda to: score(SmallGIN, pairs=PAIRS[:1], protocol=short, record=to)


def content(folder: Path) -> dict[str, object]:
    """Return what lies in a folder, links unfollowed."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.is_file() and path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if not path.is_fifo()
    }


def plant(folder: Path, outside: Path, rng: random.Random) -> str:
    """Put a link, or what is no file either, somewhere into a folder; return where."""
    held = [path for path in folder.rglob("*") if not path.name.startswith("..")]
    folders = [folder, *(path for path in held if path.is_dir())]
    path = rng.choice(
        [*held, *(each / rng.choice(NAMES) for each in folders), folder / ".lock"]
    )
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if rng.random() < 0.1:
        os.mkfifo(path)
    else:
        target = rng.choice([outside, outside / "own.txt", outside / "new.txt"])
        path.symlink_to(target)
    return str(path.relative_to(folder))


NAMES = ("last.ckpt", ".threads", "fold-09", "deep", "record.json", "study.db-journal")


@pytest.mark.parametrize("kind", KINDS)
def test_links_in_folders(kind: str, tmp_path: Path) -> None:
    """Nothing is written, in the folder or elsewhere, and the link is named."""
    act = opener(kind, tmp_path)
    act(tmp_path / "good")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "own.txt").write_text("mine")
    rng = random.Random(f"{kind} 6")
    for number in range(max(4, COUNT // 10)):
        folder = tmp_path / f"{number}"
        shutil.copytree(tmp_path / "good", folder)
        if rng.random() < 0.5:  # not finished yet
            (folder / "record.json").unlink(missing_ok=True)
        planted = plant(folder, outside, rng)
        before = content(folder)
        with pytest.raises(ConfigError, match="neither a file nor a folder") as caught:
            act(folder)
        assert planted in str(caught.value), planted
        assert content(folder) == before, planted
        assert content(outside) == {"own.txt": b"mine"}, planted
        shutil.rmtree(folder)
    act(tmp_path / "good")


def test_a_folder_may_itself_be_linked_to(tmp_path: Path) -> None:
    act = opener("shards", tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    act(tmp_path / "link")
    act(tmp_path / "link")


def test_reports_do_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "b.md").symlink_to(tmp_path / "own.txt")
    with pytest.raises(ConfigError, match=r"b\.md"):
        write_files(tmp_path, {"a.md": b"a", "b.md": b"b"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.md"]
