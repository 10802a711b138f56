"""Parts of files are the file, shards are their source, and batches read them alike."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.graphs.test_reading import same
from tests.training.helpers import graph_source
from threadpoolctl import threadpool_limits

from sekgnn.array_file import read_arrays
from sekgnn.datasets import read_task
from sekgnn.datasets.shard_task import shard_task
from sekgnn.encoding.encoder import encode_many
from sekgnn.encoding.sharded import encode_shards
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import (
    random_regular_graph,
    to_graph6,
)
from sekgnn.graphs.read_options import DEFAULTS, ReadOptions
from sekgnn.graphs.records import read_all, read_records
from sekgnn.graphs.shards import Shards
from sekgnn.nn.batch_loader import WINDOW, EpochBatches
from sekgnn.training.data import ShardSource
from sekgnn.training.run import train

WALKS = WalkEncoding(num_shells=1, walk_length=3)
SMILES = ["C", "CCO", "c1ccccc1", "CC(=O)O", "C1CC1", "CCN", "O", "CC"]


def graph_lines(path: Path, count: int) -> Path:
    """Write random graphs as JSON lines, with a number and a class."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for i in range(count):
            n = int(rng.integers(1, 9))
            pairs = np.argwhere(np.triu(rng.random((n, n)) < 0.4, 1)).tolist()
            values = {"edges": pairs, "num_nodes": n, "y": i / 3, "c": "ab"[i % 2]}
            values["x"] = rng.random((n, 2)).round(3).tolist()
            file.write(json.dumps(values) + "\n")
    return path


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.sampled_from(["7", "007", "1.0", "1", "1e3", 1, 1.0, 2.5, True, "true", "x"])
        | st.sampled_from(["2.50", "2.5", "NA", "nan", "None", "", None, 2**53 + 1]),
        min_size=2,
        max_size=4,
    ).filter(lambda kinds: {*kinds} - {"", None, "NA", "nan"}),  # all missing: refused
    st.integers(1, 4),
)
def test_labels_of_shards_are_those_of_their_source(
    kinds: list[Any], size: int
) -> None:
    with TemporaryDirectory() as folder:
        source, shards = Path(folder, "data.jsonl"), Path(folder, "shards")
        graph = {"edges": [], "num_nodes": 1}
        lines = [json.dumps(graph | {"y": value}) for value in kinds * 3]
        source.write_text("\n".join(lines))
        encode_shards(source, shards, WALKS, targets=["y"], shard_size=size)
        for kind in (None, "multiclass", "regression"):
            found: list[Any] = []
            for make in (partial(read_task, source, "y"), partial(shard_task, shards)):
                try:
                    task = make(kind=kind)
                    y, mask = task.targets()
                    found.append([task.kind, task.classes, y.tolist(), mask.tolist()])
                    found[-1].append(sum(task.missing.values()))
                except GraphInputError as error:
                    found.append(str(error).partition("target 'y': ")[2])
            assert found[0] == found[1]


def test_shards_are_their_source_and_its_encodings(tmp_path: Path) -> None:
    source = tmp_path / "data.csv"
    lines = [f"{text},{i}.5,{'ab'[i % 2]}" for i, text in enumerate(SMILES * 3)]
    lines[4] = "C1C,0,a"  # no molecule
    lines[5] = "CC,,"  # no targets
    source.write_text("\n".join(["smiles,y,c", *lines]) + "\n")
    options: dict[str, Any] = {"targets": ["y", "c"], "shard_size": 5}
    options |= {"dtype": "float32"}
    with pytest.raises(GraphInputError, match=r"row 5 .line 6"):
        encode_shards(source, tmp_path / "out", WALKS, **options)
    made = encode_shards(
        source,
        tmp_path / "shards",
        WALKS,
        skip_invalid=True,
        **options,
    )
    given, left = read_all(source, ReadOptions(skip_invalid=True), ["y", "c"])
    held, _ = read_all(tmp_path / "shards", DEFAULTS, ["y", "c"])
    assert len(made) == len(held) == len(given) == 23 and len(left) == 1
    for a, b in zip(given, held, strict=True):
        assert a.graph == b.graph and a.text == b.text and a.row == b.row
        assert np.array_equal(a.x, b.x)  # type: ignore[arg-type]
        assert np.array_equal(a.edge_attr, b.edge_attr)  # type: ignore[arg-type]
    values = encode_many([record.graph for record in given], WALKS, dtype="float32")
    stored = np.concatenate([read_arrays(f)[1]["values"] for f in shard_files(made)])
    assert np.array_equal(stored, np.concatenate(values))
    direct = read_task(source, "c", skip_invalid=True).with_targets()
    task = shard_task(tmp_path / "shards", ["c"]).with_targets()
    assert (task.kind, task.classes) == (direct.kind, direct.classes)
    assert torch.equal(task.targets()[0], direct.targets()[0])
    assert task.left_out and len(task) == 22
    with pytest.raises(ConfigError, match="other dtype"):
        encode_shards(source, tmp_path / "shards", WALKS, targets=["y", "c"],
                      shard_size=5, skip_invalid=True)  # fmt: skip


def shard_files(shards: Shards) -> list[Path]:
    return [shards.folder / line["file"] for line in shards.manifest["files"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 90 graphs in 30 shards."""
    place = tmp_path_factory.mktemp("shards")
    source = graph_lines(place / "data.jsonl", 90)
    encode_shards(source, place / "out", WALKS, targets=["y", "c"], shard_size=3)
    return place / "out"


def test_batches_of_shards_are_those_of_graphs_in_memory(folder: Path) -> None:
    chosen = np.arange(1, 90, 2)
    direct = read_task(folder.parent / "data.jsonl", "y")
    task = shard_task(folder, ["y"])
    for limit in (None, 2):
        joined = graph_source(direct.graphs, 2, WALKS, max_neighbors=limit, seed=3)
        streamed = ShardSource(task, 2, WALKS, max_neighbors=limit, seed=3)
        pairs = zip(joined.batches(chosen, 7), streamed.batches(chosen, 7), strict=True)
        for expected, found in pairs:
            assert set(expected.keys()) == set(found.keys())
            for name in expected.keys():
                a, b = expected[name], found[name]
                if name == "hops":
                    a, b = torch.cat(a[:4]), torch.cat(b[:4])
                assert torch.equal(a, b) if torch.is_tensor(a) else a == b, name


def test_epochs_go_through_few_shards_at_a_time(folder: Path) -> None:
    """Each graph once, mixed in windows; the same however many processes share it."""
    task = shard_task(folder, ["y"])
    blocks = task.shard_numbers

    def epoch(number: int, rank: int = 0, world: int = 1) -> list[list[int]]:
        order = EpochBatches(np.arange(90), 6, 1, rank, world, blocks)
        order.set_epoch(number)
        return list(order)

    whole = [graph for batch in epoch(0) for graph in batch]
    assert sorted(whole) == list(range(90)) and whole != sorted(whole)
    assert epoch(0) == epoch(0) != epoch(1)
    window = 3 * WINDOW
    for start in range(0, 90, window):
        assert len(set(blocks[whole[start : start + window]])) <= WINDOW
    halves = [epoch(0, rank, 2) for rank in (0, 1)]
    for all_of, *each in zip(epoch(0), *halves, strict=True):
        assert sorted(each[0] + each[1]) == all_of


def test_training_on_shards_resumes_exactly(folder: Path, tmp_path: Path) -> None:
    keys: dict[str, Any] = {"model": "sek-gin", "hidden_channels": 4, "num_layers": 1}
    keys |= {"epochs": 2, "target": ("c",), "baseline": False, "batch_size": 16}

    def stop(epoch: int, values: object) -> None:
        raise KeyboardInterrupt

    whole = train(str(folder), tmp_path / "whole", **keys)
    assert whole.model["encoding"]["walk_length"] == 3  # that of the shards
    with pytest.raises(KeyboardInterrupt):
        train(str(folder), tmp_path / "cut", report=stop, **keys)
    cut = train(str(folder), tmp_path / "cut", **keys)
    assert cut.folds[0].curves == whole.folds[0].curves
    assert cut.folds[0].metrics == whole.folds[0].metrics
    with pytest.raises(ConfigError, match="without column"):
        train(str(folder), tmp_path / "w", sample_weight="w", **keys)


def test_bytes_do_not_depend_on_threads(tmp_path: Path) -> None:
    """Nor on those of BLAS, to which eigenvectors are sensitive."""
    rng = np.random.default_rng(0)
    graphs = [random_regular_graph(n, 4, rng) for n in (90, 150)]
    (tmp_path / "data.g6").write_text("\n".join(map(to_graph6, graphs)))
    for threads in (1, 2):
        with threadpool_limits(threads):
            encode_shards(
                tmp_path / "data.g6",
                tmp_path / f"out{threads}",
                WalkEncoding(num_shells=2, walk_length=8),
                backend="spectral",
                threads=threads,
            )
    one, two = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()}
        for name in ("out1", "out2")
    )
    assert one == two


def test_a_complete_folder_stays_until_the_new_one_is(tmp_path: Path) -> None:
    """Whatever goes wrong when the command is repeated, and whatever has changed."""
    source, out = graph_lines(tmp_path / "data.jsonl", 7), tmp_path / "out"
    options: dict[str, Any] = {"targets": ["y"], "shard_size": 2}

    def names() -> list[str]:
        return sorted(file.name for file in out.iterdir())

    def failing(line: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    made = encode_shards(source, out, WALKS, **options)
    before = {file: file.stat().st_mtime_ns for file in shard_files(made)}
    held = read_all(out, DEFAULTS, ["y"])[0]
    with pytest.raises(KeyboardInterrupt):
        encode_shards(source, out, WALKS, on_shard=failing, **options)
    again = encode_shards(source, out, WALKS, **options)
    assert {file: file.stat().st_mtime_ns for file in shard_files(again)} == before
    lines = source.read_text().splitlines()
    source.write_text("\n".join([*lines[1:], "no JSON"]))  # every shard is another
    with pytest.raises(GraphInputError, match="line 7"):
        encode_shards(source, out, WALKS, **options)
    now = read_all(out, DEFAULTS, ["y"])[0]
    assert all(map(same, now, held)) and len(now) == len(held)
    assert len(shard_task(out)) == 7
    source.write_text("\n".join(lines[1:]))
    made = encode_shards(source, out, WALKS, **options)
    now = read_all(out, DEFAULTS, ["y"])[0]
    assert [r.graph for r in now] == [r.graph for r in held[1:]]
    listed = [file.name for file in shard_files(made)]
    assert names() == sorted([*listed, "manifest.json"])  # nothing is left over


def test_faulty_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    source = folder.parent / "data.jsonl"
    with pytest.raises(GraphInputError, match="no graph has a target 'z'"):
        encode_shards(source, tmp_path / "z", WALKS, targets=["z"])
    with pytest.raises(GraphInputError, match="not complete"):
        Shards(tmp_path / "z")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not empty"):
        encode_shards(source, tmp_path / "other", WALKS)
    bare = encode_shards(source, tmp_path / "bare", WALKS, shard_size=50)
    with pytest.raises(ConfigError, match="--target"):
        shard_task(tmp_path / "bare")
    with pytest.raises(ConfigError, match="encode again"):
        shard_task(folder, ["nope"])
    file = shard_files(bare)[0]
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(GraphInputError, match="cannot be read"):
        list(read_records(tmp_path / "bare"))
