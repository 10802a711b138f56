"""A dataset at once equals its graphs one by one; a cache is right or not used."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.small_graphs import empty_graph
from tests.transforms.helpers import (
    InMemory,
    OnDisk,
    mixed_graphs,
    to_data,
)
from torch_geometric.data import Data, HeteroData
from torch_geometric.datasets import TUDataset
from torch_geometric.loader import DataLoader

from sekgnn import array_file
from sekgnn.encoding.encoder import encode
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import (
    CacheWarning,
    ConfigError,
    GraphInputError,
    GraphInputWarning,
    OutputError,
)
from sekgnn.graphs import Graph, circulant_graph, cycle_graph, path_graph
from sekgnn.testing import graphs
from sekgnn.transforms import (
    AddSubstructureEncoding,
    EncodedDataset,
    encode_dataset,
    pyg_data,
)

SMALL = WalkEncoding(num_shells=2, walk_length=4)


def sources() -> list[Data]:
    return [to_data(g) for g in mixed_graphs()]


def assert_right(encoded: Sequence[Data], many: Sequence[Graph]) -> None:
    assert len(encoded) == len(many)
    for data, graph in zip(encoded, many, strict=True):
        expected = torch.from_numpy(encode(graph, SMALL, dtype=np.float32))
        torch.testing.assert_close(data.sub_enc, expected, rtol=0, atol=1e-6)


# --- every kind of dataset


@settings(max_examples=20)
@given(st.lists(graphs(max_nodes=5), min_size=1, max_size=5))
@example([empty_graph(0)] * 2)
def test_equals_the_transform(many: list[Graph]) -> None:
    """Computed, and read from the cache."""
    source = [to_data(g) for g in many]
    transform = AddSubstructureEncoding(SMALL)
    with TemporaryDirectory() as folder:
        for hit in (False, True):
            encoded = encode_dataset(source, SMALL, cache_dir=folder)
            assert encoded.from_cache == hit
            for a, data in zip(encoded, source, strict=True):
                torch.testing.assert_close(a.sub_enc, transform(data).sub_enc)
                assert "sub_enc" not in data
            assert encoded.encodings.shape == (sum(g.num_nodes for g in many), 7, 4)
            assert encoded.encodings.dtype == torch.float32


def test_in_memory_on_disk_and_parts(tmp_path: Path) -> None:
    many = mixed_graphs()
    memory = InMemory(str(tmp_path / "a"), sources())
    disk = OnDisk(str(tmp_path / "b"), sources())
    chosen = [4, 0, 6, 3]
    for dataset in (memory, disk, sources(), tuple(sources())):
        assert_right(encode_dataset(dataset, SMALL), many)
    for dataset in (memory, disk):
        part = encode_dataset(dataset[chosen], SMALL)
        assert_right(part, [many[i] for i in chosen])
        assert_right(encode_dataset(dataset[2:5], SMALL), many[2:5])
    subset: Any = torch.utils.data.Subset(memory, chosen)
    assert_right(encode_dataset(subset, SMALL), [many[i] for i in chosen])
    one = InMemory(str(tmp_path / "c"), sources()[:1])
    assert_right(encode_dataset(one, SMALL), many[:1])
    disk.close()


@pytest.mark.parametrize("with_x", [False, True])
@pytest.mark.parametrize("chosen", [None, [5, 2, 2, 0], [3]])
def test_the_fast_road_is_taken_and_right(
    tmp_path: Path, with_x: bool, chosen: list[int] | None
) -> None:
    source = [
        Data(edge_index=d.edge_index, x=torch.zeros(d.num_nodes, 1)) if with_x else d
        for d in sources()
    ]
    dataset: Any = InMemory(str(tmp_path / "a"), source)
    part = dataset if chosen is None else dataset[chosen]
    fast = pyg_data._collated(part)
    slow = pyg_data._one_by_one(part, "error", "drop", 2)
    assert fast is not None
    for a, b in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.dataset
@pytest.mark.parametrize("name", ["MUTAG", "IMDB-BINARY"])  # with x, and without
def test_tu_datasets(tmp_path: Path, data_root: Path, name: str) -> None:
    source = data_root / "tu" / name
    if not source.is_dir():
        pytest.skip(f"SEKGNN_DATA lacks tu/{name}")
    (tmp_path / name / "raw").mkdir(parents=True)
    for file in source.rglob("*.txt"):
        shutil.copy(file, tmp_path / name / "raw")
    dataset = TUDataset(str(tmp_path), name)
    fast = pyg_data._collated(dataset)
    assert fast is not None
    slow = pyg_data._one_by_one(dataset, "error", "drop", 2)
    for a, b in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(a, b)
    transform = AddSubstructureEncoding(SMALL)
    for data, encoded in zip(dataset, encode_dataset(dataset, SMALL), strict=True):
        torch.testing.assert_close(encoded.sub_enc, transform(data).sub_enc)


def test_a_transform_of_the_dataset_is_applied(tmp_path: Path) -> None:
    def cut(data: Data) -> Data:
        data = data.clone()
        data.edge_index = data.edge_index[:, :0]
        return data

    dataset = InMemory(str(tmp_path / "a"), sources(), transform=cut)
    assert pyg_data._collated(dataset) is None
    cut_graphs = [empty_graph(g.num_nodes) for g in mixed_graphs()]
    assert_right(encode_dataset(dataset, SMALL), cut_graphs)


def test_an_overridden_get_is_respected(tmp_path: Path) -> None:
    class Doubled(InMemory):
        def get(self, idx: int) -> Data:
            return to_data(path_graph(3))

    dataset = Doubled(str(tmp_path / "a"), sources())
    assert_right(encode_dataset(dataset, SMALL), [path_graph(3)] * 7)


def test_loader_and_items() -> None:
    encoded = encode_dataset(sources(), SMALL)
    batch = next(iter(DataLoader(encoded, batch_size=7)))
    assert torch.equal(batch.sub_enc, encoded.encodings)
    assert torch.equal(encoded[-1].sub_enc, encoded[6].sub_enc)
    assert [d.num_nodes for d in encoded[1:3]] == [1, 4]
    for wrong in (7, -8):
        with pytest.raises(IndexError):
            encoded[wrong]
    assert repr(encoded) == "EncodedDataset(7, encodings=[26, 7, 4])"
    assert isinstance(encoded, EncodedDataset)


def test_items_do_not_share_memory() -> None:
    """Else one in-place step would spoil the dataset, and pickles hold all of it."""
    encoded = encode_dataset(sources(), SMALL)
    encoded[0].sub_enc.zero_()
    assert (encoded[0].sub_enc != 0).any()
    assert encoded[0].sub_enc.untyped_storage().nbytes() == 5 * 7 * 4 * 4


def test_transform_as_encoder() -> None:
    transform = AddSubstructureEncoding(SMALL, attr_name=None, dtype=torch.float64)
    encoded = encode_dataset(sources(), transform)
    assert encoded.encodings.dtype == torch.float64
    assert torch.equal(encoded[0].x, transform(sources()[0]).x)
    assert encoded.attr_name is None
    with pytest.raises(ConfigError, match="'paper'"):
        encode_dataset(sources(), "paper")


def test_rules_for_edges() -> None:
    one_way = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    loop = Data(edge_index=torch.tensor([[0, 1, 1], [1, 0, 1]]), num_nodes=2)
    with pytest.raises(GraphInputError, match="of graph 1"):
        encode_dataset([to_data(path_graph(2)), one_way], SMALL)
    with pytest.raises(GraphInputError, match="self-loop"):
        encode_dataset([loop], AddSubstructureEncoding(SMALL, loops="error"))
    with pytest.warns(GraphInputWarning, match="dropped"):
        transform = AddSubstructureEncoding(SMALL, undirected="add")
        encoded = encode_dataset([one_way, loop], transform)
    assert_right(encoded, [path_graph(3), path_graph(2)])


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ([], "empty"),
        (iter([]), "with a length"),
        (lambda: [to_data(path_graph(2)), HeteroData()], "graph 1: .*to_homogeneous"),
        (
            lambda: [Data(edge_index=torch.tensor([[0, 1], [1, 0]]))],
            "graph 0: .*num_nodes",
        ),
        (lambda: [Data(num_nodes=2)], "graph 0: .*edge_index"),
        (
            lambda: [
                to_data(path_graph(2)),
                to_data(path_graph(2), edge_weight=torch.tensor([1.0, float("nan")])),
            ],
            "graph 1: .*nan",
        ),
        (lambda: [Data(edge_index=torch.tensor([[5], [0]]), num_nodes=2)], "graph 0"),
        (lambda: [Data(edge_index=torch.zeros(3, 2).long(), num_nodes=2)], "graph 0"),
    ],
)
def test_unusable_datasets(dataset: Any, message: str) -> None:
    with pytest.raises(GraphInputError, match=message):
        encode_dataset(dataset() if callable(dataset) else dataset, SMALL)


def test_bad_weight_in_a_collated_dataset(tmp_path: Path) -> None:
    source = [
        to_data(path_graph(2), edge_weight=torch.tensor([1.0, value]))
        for value in (1.0, float("inf"))
    ]
    with pytest.raises(GraphInputError, match=r"graph 1: .*edge_weight is inf"):
        encode_dataset(InMemory(str(tmp_path / "a"), source), SMALL)


def test_graph_that_changed_since() -> None:
    source = sources()
    encoded = encode_dataset(source, SMALL)
    source[0] = to_data(cycle_graph(6))
    with pytest.raises(GraphInputError, match="has 6 nodes, but had 5"):
        encoded[0]


def test_progress_reaches_the_end() -> None:
    seen: list[tuple[int, int]] = []
    encode_dataset(sources(), SMALL, progress=lambda *step: seen.append(step))
    assert seen[-1][0] == seen[-1][1] > 0


# --- the cache


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_a_hit_is_the_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It computes nothing, and what is written to its numbers stays in memory."""
    folder = tmp_path / "deep" / "cache"
    miss = encode_dataset(sources(), SMALL, cache_dir=folder)
    none = encode_dataset(sources(), SMALL)
    content = only_file(folder).read_bytes()
    monkeypatch.delattr(sys.modules["sekgnn.transforms.encode_dataset"], "encode")
    hit = encode_dataset(sources(), SMALL, cache_dir=folder)
    assert (miss.from_cache, hit.from_cache, none.from_cache) == (False, True, False)
    assert torch.equal(miss.encodings, hit.encodings)
    assert torch.equal(miss.encodings, none.encodings)
    assert torch.equal(miss.node_ptr, hit.node_ptr)
    assert miss.cache_file == hit.cache_file == only_file(folder)
    assert none.cache_file is None
    hit.encodings.zero_()
    assert only_file(folder).read_bytes() == content


@pytest.mark.parametrize(
    "other",
    [
        {"encoding": WalkEncoding(num_shells=3, walk_length=4)},
        {"encoding": WalkEncoding(num_shells=2, walk_length=5)},
        {"encoding": WalkEncoding(num_shells=2, walk_length=4, aggregate="mean")},
        {"encoding": WalkEncoding(num_shells=2, walk_length=4, merge="parts")},
        {"encoding": WalkEncoding(num_shells=2, walk_length=4, self_loops=False)},
        {"encoding": WalkEncoding(num_shells=2, walk_length=4, shell_sizes=1)},
        {"encoding": WalkEncoding(num_shells=2, walk_length=4, first_step=0)},
        {"encoding": WalkEncoding(num_shells=2, walk_length=4, scope="ego")},
        {"encoding": WalkEncoding(num_shells=2, walk_length=4, scope="ego", radius=3)},
        {"encoding": AddSubstructureEncoding(SMALL, dtype=torch.float64)},
        {"dataset": sources()[::-1]},
        {"dataset": sources()[:-1]},
        {"dataset": [*sources()[:-1], to_data(cycle_graph(10))]},
        # as many nodes and the same degrees as the Petersen graph it replaces
        {"dataset": [*sources()[:-1], to_data(circulant_graph(10, [1, 5]))]},
        {"dataset": [*sources(), to_data(empty_graph(0))]},
    ],
)
def test_any_change_is_another_file(tmp_path: Path, other: dict[str, Any]) -> None:
    call: dict[str, Any] = {
        "dataset": sources(),
        "encoding": SMALL,
        "cache_dir": tmp_path,
    }
    encode_dataset(**call)
    changed = encode_dataset(**{**call, **other})
    assert not changed.from_cache
    assert len(list(tmp_path.iterdir())) == 2
    again = encode_dataset(**{**call, **other})
    assert again.from_cache
    assert torch.equal(again.encodings, changed.encodings)


def test_a_new_version_does_not_read_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of an encoding nor of the format."""
    encode_dataset(sources(), SMALL, cache_dir=tmp_path)
    monkeypatch.setattr(array_file, "MAGIC", b"sekgnn arrays 9\n")
    assert_rebuilt(tmp_path, "earlier version")
    monkeypatch.setattr(WalkEncoding, "version", 999)
    assert not encode_dataset(sources(), SMALL, cache_dir=tmp_path).from_cache


def test_the_same_graphs_told_otherwise_share_a_file(tmp_path: Path) -> None:
    """The order of the edges is no content."""
    encode_dataset(sources(), SMALL, cache_dir=tmp_path)
    turned = [
        Data(edge_index=d.edge_index.flip(1), x=torch.zeros(d.num_nodes, 3))
        for d in sources()
    ]
    assert encode_dataset(turned, SMALL, cache_dir=tmp_path).from_cache


def assert_rebuilt(folder: Path, message: str = "") -> None:
    with pytest.warns(CacheWarning, match=f"not used, .*{message}.*made again"):
        encoded = encode_dataset(sources(), SMALL, cache_dir=folder)
    assert not encoded.from_cache
    assert_right(encoded, mixed_graphs())
    again = encode_dataset(sources(), SMALL, cache_dir=folder)
    assert again.from_cache
    assert torch.equal(again.encodings, encoded.encodings)


def test_every_damage_is_detected(tmp_path: Path) -> None:
    """Flipped bits, what is cut off or added, and what another program wrote."""
    encode_dataset(sources(), SMALL, cache_dir=tmp_path)
    file = only_file(tmp_path)
    good = file.read_bytes()
    damaged = [good[:i] for i in (*range(0, len(good), 41), len(good) - 1)]
    damaged += [good + b"\0", b"{}", b"\x93NUMPY", b"x" * 5000]
    for place in range(0, len(good), 7):
        flipped = good[place] ^ 1 << place % 8
        damaged.append(good[:place] + bytes([flipped]) + good[place + 1 :])
    for content in damaged:
        file.write_bytes(content)
        assert_rebuilt(tmp_path)
        assert file.read_bytes() == good


@pytest.mark.parametrize("field", ["key", "parameters"])
def test_a_wrong_header_is_detected_even_if_well_made(
    tmp_path: Path, field: str
) -> None:
    encode_dataset(sources(), SMALL, cache_dir=tmp_path)
    header, arrays = array_file.read_arrays(only_file(tmp_path))
    array_file.write_arrays(only_file(tmp_path), {**header, field: "0"}, arrays)
    assert_rebuilt(tmp_path, "other data")


def test_the_file_of_other_graphs_is_detected(tmp_path: Path) -> None:
    """A file renamed, or copied over another."""
    a = encode_dataset(sources(), SMALL, cache_dir=tmp_path).cache_file
    b = encode_dataset(sources()[::-1], SMALL, cache_dir=tmp_path).cache_file
    assert a is not None and b is not None
    a.write_bytes(b.read_bytes())
    assert_rebuilt(tmp_path, "other data")


def test_disk_full_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.warns(CacheWarning, match="not cached: .*No space left"):
            encoded = encode_dataset(sources(), SMALL, cache_dir=tmp_path)
    assert_right(encoded, mixed_graphs())
    assert encoded.cache_file is None
    assert list(tmp_path.iterdir()) == []
    assert not encode_dataset(sources(), SMALL, cache_dir=tmp_path).from_cache


def test_cache_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Said before the work, not after."""
    (tmp_path / "a").write_text("a file")

    class Untouchable(list[Data]):
        def __getitem__(self, _: Any) -> Any:
            raise AssertionError("work began")

    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(OutputError, match="cannot make the folder"):
            encode_dataset(Untouchable(sources()), SMALL, cache_dir=folder)


def _encode_in_child(folder: str, gate: Any, answers: Any) -> None:
    gate.wait()
    encoded = encode_dataset(sources(), SMALL, cache_dir=folder)
    answers.put(encoded.encodings.sum().item())


# Python 3.12 and later warn of forking with threads
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_at_once(tmp_path: Path) -> None:
    expected = encode_dataset(sources(), SMALL).encodings.sum().item()
    context: Any = multiprocessing.get_context("fork")
    gate, answers = context.Barrier(4), context.Queue()
    children = [
        context.Process(target=_encode_in_child, args=(str(tmp_path), gate, answers))
        for _ in range(4)
    ]
    for child in children:
        child.start()
    found = [answers.get(timeout=60) for _ in children]
    for child in children:
        child.join(60)
    assert found == pytest.approx([expected] * 4)
    assert encode_dataset(sources(), SMALL, cache_dir=tmp_path).from_cache
    assert only_file(tmp_path).suffix == ".arrays"
