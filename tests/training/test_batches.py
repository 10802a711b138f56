"""Which graphs are in which batch, and that a batch holds what each graph has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.nn.helpers import LEARNED, SPEC
from tests.training.helpers import graph_source
from tests.transforms.helpers import to_data

from sekgnn import AddSubstructureEncoding, WalkEncoding, fields
from sekgnn.errors import ConfigError
from sekgnn.fields import GRAPH_NUMBER
from sekgnn.graphs import cycle_graph, path_graph, petersen_graph, rook_graph
from sekgnn.nn import Csr
from sekgnn.nn.batch_loader import BatchLoader, EpochBatches

chosen = st.lists(st.integers(0, 99), min_size=1, max_size=40, unique=True).map(
    np.array
)
sizes = st.integers(1, 12)
worlds = st.integers(1, 5)


def epoch(
    chosen: Any, size: int, seed: int | None, number: int = 0, **place: Any
) -> list[list[int]]:
    batches = EpochBatches(chosen, size, seed, **place)
    batches.set_epoch(number)
    out = list(batches)
    assert len(out) == len(batches)
    return out


@given(chosen, sizes, st.none() | st.integers(0, 2**32), st.integers(0, 9))
def test_every_graph_comes_once(
    chosen: Any, size: int, seed: int | None, number: int
) -> None:
    """In batches of the asked size; a last batch of one graph joins the one before."""
    found = epoch(chosen, size, seed, number)
    together = [i for batch in found for i in batch]
    assert sorted(together) == sorted(chosen.tolist())
    assert seed is not None or together == chosen.tolist()
    assert all(len(batch) == size for batch in found[:-1])
    assert len(found[-1]) <= size + 1
    assert len(found) == 1 or len(found[-1]) >= 2


@given(chosen, sizes, st.none() | st.integers(0, 99), worlds)
def test_processes_share_the_batches_of_one(
    chosen: Any, size: int, seed: int | None, world: int
) -> None:
    """Batch i of all ranks together is batch i of one, if it can be shared out."""
    parts = [epoch(chosen, size, seed, 3, rank=r, world=world) for r in range(world)]
    assert len({len(part) for part in parts}) == 1
    order = [i for batch in epoch(chosen, size, seed, 3) for i in batch]
    start = 0
    for shares in zip(*parts, strict=True):
        assert all(shares)  # a process without graphs would wait for ever
        union = {i for share in shares for i in share}
        assert union == set(order[start : start + len(union)])
        if len(union) >= world:
            assert sum(map(len, shares)) == len(union)
            assert np.ptp([len(share) for share in shares]) <= 1
        start += len(union)
    assert start == len(order)


@given(chosen, sizes, st.integers(0, 2**32), st.integers(0, 9))
def test_an_epoch_depends_on_seed_and_number_alone(
    chosen: Any, size: int, seed: int, number: int
) -> None:
    batches = EpochBatches(chosen, size, seed)
    for e in range(number + 1):  # epochs before it do not matter
        batches.set_epoch(e)
        found = list(batches)
    assert found == epoch(chosen, size, seed, number) == list(batches)


def test_epochs_and_seeds_differ() -> None:
    chosen = np.arange(30)
    orders = [epoch(chosen, 7, s, e) for s in range(3) for e in range(3)]
    assert len({str(order) for order in orders}) == 9


@pytest.fixture
def graphs() -> list[Any]:
    shapes = [cycle_graph(5), path_graph(6), petersen_graph(), rook_graph(4)] * 3
    return [
        to_data(g, x=torch.full((g.num_nodes, 1), float(i)), y=torch.tensor([i]))
        for i, g in enumerate(shapes)
    ]


def contents(loader: BatchLoader) -> list[dict[str, Any]]:
    return [
        {name: plain(value) for name, value in batch.to_dict().items()}
        for batch in loader
    ]


def plain(value: Any) -> Any:
    if isinstance(value, Csr):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize("encoding", [SPEC, LEARNED], ids=["sum", "learned"])
def test_batches_carry_fields_encodings_and_numbers_of_their_graphs(
    graphs: list[Any], encoding: WalkEncoding
) -> None:
    """The encoding is that of each graph alone."""
    joined = graph_source(graphs, 2, encoding)
    alone = [AddSubstructureEncoding(encoding)(graph.clone()) for graph in graphs]
    names = fields.SUB_ENC_PARTS if encoding.ragged else (fields.SUB_ENC,)
    seen = 0
    for batch in joined.batches(np.arange(2, 12), 4, seed=1):
        numbers = batch[GRAPH_NUMBER].tolist()
        assert batch.y.tolist() == numbers
        assert torch.equal(batch.x[batch.ptr[:-1], 0].long(), batch[GRAPH_NUMBER])
        for name in names:
            expected = torch.cat([alone[i][name] for i in numbers])
            assert torch.equal(batch[name], expected)
        seen += len(numbers)
    assert seen == 10


def test_workers_load_the_same_batches(graphs: list[Any]) -> None:
    joined = graph_source(graphs, 2, SPEC, max_neighbors=2)
    both = []
    for workers in (0, 2):
        loader = joined.batches(np.arange(12), 5, seed=3, num_workers=workers)
        loader.order.set_epoch(4)
        both.append(contents(loader))
    assert both[0] == both[1]


def test_samples_are_drawn_anew_for_training_and_fixed_for_evaluation(
    graphs: list[Any],
) -> None:
    joined = graph_source(graphs, 2, None, max_neighbors=2, seed=7)
    train = joined.batches(np.array([3]), 1, seed=5)
    watch = joined.batches(np.array([3]), 1)
    drawn, fixed = [], []
    for e in range(4):
        train.order.set_epoch(e)
        drawn.append(contents(train))
        fixed.append(contents(watch))
    assert len({str(epoch) for epoch in drawn}) == 4
    assert len({str(epoch) for epoch in fixed}) == 1
    train.order.set_epoch(1)
    assert contents(train) == drawn[1]
    again = graph_source(graphs, 2, None, max_neighbors=2, seed=7)
    assert contents(again.batches(np.array([3]), 1)) == fixed[0]
    other = graph_source(graphs, 2, None, max_neighbors=2, seed=8)
    assert contents(other.batches(np.array([3]), 1)) != fixed[0]


def test_without_samples_both_read_the_same_hops(graphs: list[Any]) -> None:
    joined = graph_source(graphs, 2)
    assert joined.draw(3) is joined
    assert joined.num_items == 12
    with pytest.raises(ConfigError, match="max_neighbors"):
        graph_source(graphs, 2, max_neighbors=0)


def test_encodings_from_the_cache_are_mapped_and_equal(
    graphs: list[Any], tmp_path: Path
) -> None:
    """The second time nothing is computed, and memory holds what batches touch."""
    joined = [graph_source(graphs, 1, SPEC, cache_dir=tmp_path) for _ in range(2)]
    first, again = (source.encodings for source in joined)
    assert isinstance(first, torch.Tensor) and isinstance(again, torch.Tensor)
    assert torch.equal(first, again)
    assert any(tmp_path.iterdir())
    maps = Path("/proc/self/maps")
    if maps.exists():
        assert str(tmp_path) in maps.read_text()


def test_drawing_batches_leaves_the_random_state_of_torch_alone(
    graphs: list[Any],
) -> None:
    joined = graph_source(graphs, 1)
    before = torch.get_rng_state()
    list(joined.batches(np.arange(12), 4, seed=0))
    assert torch.equal(torch.get_rng_state(), before)
