"""Any encoding from a config to predictions: cache, model, training, file, reading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from sekgnn.datasets import networkx_task
from sekgnn.encoding import (
    ENCODINGS,
    RaggedEncoding,
    SubstructureEncoding,
    register_encoding,
)
from sekgnn.errors import ConfigError, ModelFileError
from sekgnn.graphs import Graph
from sekgnn.training import RunConfig, train
from sekgnn.training.build import make_encoding_of
from sekgnn.training.predictor import Predictor


@dataclass(frozen=True)
class Shares(SubstructureEncoding):
    """The share of the nodes that are neighbours."""

    channels = ("share",)
    length = 1
    factor: float = 1.0

    def encode_graph(self, graph: Graph) -> Any:
        """Return ``[n, 1, 1]``."""
        return self.factor * graph.degrees[:, None, None] / max(graph.num_nodes, 1)


@dataclass(frozen=True)
class NearDegrees(SubstructureEncoding):
    """The degrees of a node's neighbours, as a multiset."""

    channels = ("degree",)
    length = 1
    ragged = True

    def encode_graph(self, graph: Graph) -> Any:
        """Return one multiset per node."""
        nodes = range(graph.num_nodes)
        near = [[[[graph.degrees[u]] for u in graph.neighbors(v)]] for v in nodes]
        return RaggedEncoding.of(near, 1, 1)


@pytest.fixture
def own() -> Iterator[None]:
    """Make both known for a test."""
    register_encoding("test_shares")(Shares)
    register_encoding("test_near_degrees")(NearDegrees)
    yield
    ENCODINGS.forget("test_shares")
    ENCODINGS.forget("test_near_degrees")


CASES: list[dict[str, Any]] = [
    {"encoding": "patterns", "encoding_options": {"patterns": ["cycle3", "cycle4"]}},
    {"encoding": "walk_counts", "encoding_options": {"walk_length": 4, "log1p": True}},
    {"encoding": "test_shares", "encoding_options": {"factor": 2.0}},
    {"encoding": "test_near_degrees"},
    {"encoding": "walks", "aggregate": "learned", "num_shells": 1, "walk_length": 4},
]


def rings() -> list[nx.Graph]:
    return [nx.circulant_graph(n, [1, k]) for n in range(10, 20) for k in (2, 3)]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("keys", CASES, ids=lambda keys: keys["encoding"])
def test_from_config_to_prediction(
    tmp_path: Path, own_cache: Path, keys: dict[str, Any]
) -> None:
    task = networkx_task(rings(), ["triangles", "plain"] * 10)
    model: dict[str, Any] = {"model": "sek-gnn", "hidden_channels": 8, "num_layers": 1}
    train(task, tmp_path / "run", epochs=2, baseline=False, **model, **keys)
    assert list(own_cache.rglob("*.arrays"))
    predictor = Predictor.load(tmp_path / "run")
    assert predictor.models[0].encoding == make_encoding_of(RunConfig.from_dict(keys))
    found = predictor.predict(task.graphs)
    assert found.shape == (20, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    moved = [nx.relabel_nodes(g, lambda v: -v) for g in rings()]
    again = predictor.predict(networkx_task(moved).graphs)
    np.testing.assert_allclose(again, found, atol=1e-5)
    if keys["encoding"] == Shares.name:
        ENCODINGS.forget(Shares.name)
        with pytest.raises(ModelFileError, match="Import the module that registers"):
            Predictor.load(tmp_path / "run")
        register_encoding("test_shares")(Shares)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"encoding": "pattern"}, "Did you mean 'patterns'"),
        ({"encoding": "patterns", "walk_length": 4}, "walk_length is a key of walks"),
        ({"encoding_options": {"walk_length": 4}}, "keys of their own: walk_length"),
        ({"encoding": "patterns", "encoding_options": {"cycles": 3}}, "has no parame"),
        ({"encoding": "patterns", "encoding_options": 3}, "encoding_options must be"),
    ],
)
def test_keys_that_cannot_work(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_encoding_of(RunConfig.from_dict(keys))
