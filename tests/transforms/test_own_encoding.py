"""An own f, dense or ragged, through transform, batches and cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transforms.helpers import mixed_graphs, to_data
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader

from sekgnn import fields
from sekgnn.encoding import (
    ENCODINGS,
    RaggedEncoding,
    SubstructureEncoding,
    WalkEncoding,
    encode,
    register_encoding,
)
from sekgnn.encoding.ragged import PARTS
from sekgnn.errors import CacheWarning, ConfigError
from sekgnn.graphs import Graph, path_graph
from sekgnn.testing import graphs
from sekgnn.transforms import AddSubstructureEncoding, encode_dataset

LEARNED = WalkEncoding(num_shells=2, walk_length=3, aggregate="learned")


@dataclass(frozen=True)
class Sizes(SubstructureEncoding):
    """The degree, times a factor."""

    name = "test_sizes"
    channels = ("degree", "nodes")
    length = 1
    factor: int = 1

    def encode_graph(self, graph: Graph) -> Any:
        """Return ``[n, 2, 1]``."""
        nodes = np.full(graph.num_nodes, graph.num_nodes)
        return self.factor * np.stack([graph.degrees, nodes], axis=1)[:, :, None]


@dataclass(frozen=True)
class Around(SubstructureEncoding):
    """Degrees of the neighbours, and of all other nodes, as multisets."""

    name = "test_around"
    ragged = True
    channels = ("near", "far")
    length = 2

    def encode_graph(self, graph: Graph) -> RaggedEncoding:
        """Return two multisets per node."""
        near = [set(graph.neighbors(v).tolist()) for v in range(graph.num_nodes)]
        pairs = [[d, graph.num_nodes] for d in graph.degrees.tolist()]
        groups = [
            [
                [pair for u, pair in enumerate(pairs) if u in own],
                [pair for u, pair in enumerate(pairs) if u not in own],
            ]
            for own in near
        ]
        return RaggedEncoding.of(groups, 2, 2)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Make both known for a test."""
    for cls in (Sizes, Around):
        register_encoding(cls.name)(cls)
    yield
    for cls in (Sizes, Around):
        ENCODINGS.forget(cls.name)


@given(st.lists(graphs(max_nodes=6), min_size=1, max_size=4))
@settings(max_examples=30)
def test_a_ragged_batch_is_its_graphs_one_by_one(several: list[Graph]) -> None:
    """PyG joins the fields without a Data subclass, and nothing is shifted."""
    transform = AddSubstructureEncoding(Around())
    batch = Batch.from_data_list([transform(to_data(graph)) for graph in several])
    alone = RaggedEncoding.join([encode(graph, Around()) for graph in several])
    for field, part in zip(fields.SUB_ENC_PARTS, PARTS, strict=True):
        np.testing.assert_array_equal(batch[field].numpy(), getattr(alone, part))
    assert batch[fields.SUB_ENC_VECTORS].dtype == torch.float32
    assert batch[fields.SUB_ENC_COUNTS].dtype == torch.int32
    for graph, back in zip(several, batch.to_data_list(), strict=True):
        own = transform(to_data(graph))
        for field in fields.SUB_ENC_PARTS:
            assert torch.equal(back[field], own[field])


@pytest.mark.parametrize("encoding", [Sizes(), Around(), LEARNED])
def test_a_dataset_and_its_cache_equal_the_transform(
    tmp_path: Path, encoding: SubstructureEncoding
) -> None:
    source = [to_data(graph) for graph in mixed_graphs()]
    transform = AddSubstructureEncoding(encoding)
    names = fields.SUB_ENC_PARTS if encoding.ragged else (fields.SUB_ENC,)
    for hit in (False, True):
        encoded = encode_dataset(source, encoding, cache_dir=tmp_path)
        assert encoded.from_cache == hit
        assert "encodings=" in repr(encoded)
        expected = [transform(to_data(graph)) for graph in mixed_graphs()]
        for data, reference in zip(encoded, expected, strict=True):
            for field in names:
                assert data[field].dtype == reference[field].dtype
                assert torch.equal(data[field], reference[field])
        (batch,) = DataLoader(encoded, batch_size=len(encoded))
        for field in names:
            assert torch.equal(batch[field], torch.cat([d[field] for d in expected]))


def test_changed_code_or_version_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = [to_data(path_graph(3))]

    def from_cache() -> bool:
        return encode_dataset(source, "test_sizes", cache_dir=tmp_path).from_cache

    assert not from_cache()
    assert from_cache()
    monkeypatch.setattr(Sizes, "version", 2)
    assert not from_cache()
    monkeypatch.setattr("inspect.getsource", lambda cls: f"other {cls.__name__}")
    assert not from_cache()

    def nowhere(_: type) -> str:
        raise OSError("could not get source code")

    monkeypatch.setattr("inspect.getsource", nowhere)
    with pytest.warns(CacheWarning, match="source of Sizes"):
        assert not from_cache()


def test_parameters_by_name_and_the_repr() -> None:
    transform = AddSubstructureEncoding("test_sizes", factor=3, attr_name=None)
    assert transform(to_data(path_graph(2))).x.tolist() == [[3.0, 6.0], [3.0, 6.0]]
    text = "AddSubstructureEncoding(encoding='test_sizes', factor=3, attr_name=None, "
    assert repr(transform).startswith(text)
    with pytest.raises(ConfigError, match="ragged"):
        AddSubstructureEncoding(Around(), attr_name=None)
