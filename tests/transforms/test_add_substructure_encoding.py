"""The transform equals the function, on every road that PyG offers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.transforms.helpers import (
    mixed_graphs,
    to_data,
)
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import AddRandomWalkPE, Compose

from sekgnn import fields
from sekgnn.encoding.encoder import encode
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.graphs import Graph, cycle_graph, path_graph
from sekgnn.testing import graphs
from sekgnn.transforms import AddSubstructureEncoding

SPECS = [
    WalkEncoding(num_shells=2, walk_length=4),
    WalkEncoding(num_shells=2, walk_length=5, scope=("ego", "internal"), radius=2),
    WalkEncoding(num_shells=2, walk_length=3, aggregate="landing", merge="parts"),
]
SMALL = SPECS[0]


def expected(graph: Graph, encoding: WalkEncoding = SMALL) -> torch.Tensor:
    return torch.from_numpy(encode(graph, encoding, dtype=np.float32))


# --- what it computes


@settings(max_examples=40)
@given(graphs(max_nodes=7), st.sampled_from(SPECS))
def test_equals_encode(graph: Graph, encoding: WalkEncoding) -> None:
    data = to_data(graph)
    out = AddSubstructureEncoding(encoding)(data)
    assert out.sub_enc.dtype == torch.float32
    assert out.sub_enc.shape == (
        graph.num_nodes,
        encoding.num_channels,
        encoding.walk_length,
    )
    torch.testing.assert_close(out.sub_enc, expected(graph, encoding), rtol=0, atol=0)
    assert fields.SUB_ENC not in data  # the input is not changed


def test_isolated_last_node_is_kept() -> None:
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), x=torch.zeros(4, 2))
    out = AddSubstructureEncoding(SMALL)(data)
    assert out.sub_enc.shape[0] == 4
    assert (out.sub_enc[3, 0] == 1).all()


# --- what it does to Data


def test_everything_else_is_untouched() -> None:
    data = to_data(cycle_graph(4), edge_attr=torch.randn(8, 3), y=torch.tensor([1.0]))
    before = copy.deepcopy(data)
    out = AddSubstructureEncoding(SMALL)(data)
    for key in before.keys():
        assert torch.equal(torch.as_tensor(out[key]), torch.as_tensor(before[key]))
    assert set(out.keys()) == {*before.keys(), "sub_enc"}


def test_self_loop_edges() -> None:
    data = Data(edge_index=torch.tensor([[0, 1, 0], [1, 0, 0]]), num_nodes=2)
    with pytest.raises(GraphInputError, match="self-loop"):
        AddSubstructureEncoding(SMALL, loops="error")(data)
    with pytest.warns(GraphInputWarning, match="self-loop"):
        out = AddSubstructureEncoding(SMALL)(data)
    assert out.edge_index.shape == (2, 3)
    assert torch.equal(out.sub_enc, expected(path_graph(2)))


@pytest.mark.parametrize("dtype", [torch.float64, "float64", np.float64])
def test_dtype(dtype: Any) -> None:
    out = AddSubstructureEncoding(SMALL, dtype=dtype)(to_data(cycle_graph(5)))
    assert out.sub_enc.dtype == torch.float64
    assert torch.equal(out.sub_enc, torch.from_numpy(encode(cycle_graph(5), SMALL)))


def test_appends_to_x() -> None:
    enc = expected(cycle_graph(4))
    transform = AddSubstructureEncoding(SMALL, attr_name=None)
    flat = enc.flatten(1)
    none = transform(to_data(cycle_graph(4)))
    assert torch.equal(none.x, flat)
    matrix = transform(to_data(cycle_graph(4), x=torch.ones(4, 2)))
    assert torch.equal(matrix.x, torch.cat([torch.ones(4, 2), flat], dim=1))
    vector = transform(to_data(cycle_graph(4), x=torch.ones(4)))
    assert torch.equal(vector.x, torch.cat([torch.ones(4, 1), flat], dim=1))
    assert fields.SUB_ENC not in vector


def test_integer_features_do_not_cut_the_encoding() -> None:
    """PyG's add_node_attr would cast probabilities to the integers 0 and 1."""
    data = to_data(cycle_graph(4), x=torch.tensor([[7], [8], [9], [6]]))
    out = AddSubstructureEncoding(SMALL, attr_name=None)(data)
    assert torch.equal(out.x[:, 0], torch.tensor([7.0, 8.0, 9.0, 6.0]))
    assert torch.equal(out.x[:, 1:], expected(cycle_graph(4)).flatten(1))


def test_x_that_takes_no_columns() -> None:
    data = to_data(cycle_graph(4), x=torch.zeros(4, 2, 2))
    with pytest.raises(GraphInputError, match="attr_name"):
        AddSubstructureEncoding(SMALL, attr_name=None)(data)


def test_result_is_where_the_edges_are() -> None:
    """No GPU here: the edges claim to be on "meta", the one other device there is."""

    class Elsewhere(torch.Tensor):
        @property
        def device(self) -> torch.device:  # type: ignore[override]
            return torch.device("meta")

    data = to_data(cycle_graph(4))
    data.edge_index = data.edge_index.as_subclass(Elsewhere)
    out = AddSubstructureEncoding(SMALL)(data)
    assert out.sub_enc.device == torch.device("meta")


def test_adj_t_without_edge_index() -> None:
    data = to_data(cycle_graph(5))
    adj_t = torch.sparse_coo_tensor(
        data.edge_index, torch.ones(10), (5, 5), check_invariants=True
    ).coalesce()
    out = AddSubstructureEncoding(SMALL)(Data(adj_t=adj_t, num_nodes=5))
    assert torch.equal(out.sub_enc, expected(cycle_graph(5)))


def test_node_count_is_never_guessed() -> None:
    with pytest.raises(GraphInputError, match="num_nodes"):
        AddSubstructureEncoding(SMALL)(Data(edge_index=torch.tensor([[0, 1], [1, 0]])))


# --- roads through PyG


@settings(max_examples=15)
@given(st.lists(graphs(max_nodes=5), min_size=1, max_size=4))
def test_batch_is_one_by_one(many: list[Graph]) -> None:
    transform = AddSubstructureEncoding(SMALL)
    batch = Batch.from_data_list([transform(to_data(g)) for g in many])
    assert torch.equal(batch.sub_enc, torch.cat([expected(g) for g in many]))
    for graph, data in zip(many, batch.to_data_list(), strict=True):
        assert torch.equal(data.sub_enc, expected(graph))


def test_encoding_a_batch_is_encoding_its_graphs() -> None:
    many = mixed_graphs()
    batch = AddSubstructureEncoding(SMALL)(
        Batch.from_data_list([to_data(g) for g in many])
    )
    torch.testing.assert_close(batch.sub_enc, torch.cat([expected(g) for g in many]))


# Python 3.12 and later warn of forking with threads, which DataLoader does
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("threads", [1, 2])
def test_data_loader_with_worker_processes(threads: int) -> None:
    """The parent has used its threads before the fork; the children must not hang."""
    transform = AddSubstructureEncoding(num_shells=2, walk_length=4, threads=threads)
    transform(to_data(cycle_graph(2000)))

    class Lazy(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 7

        def __getitem__(self, i: int) -> Any:
            return transform(to_data(mixed_graphs()[i]))

    loader = DataLoader(
        Lazy(), 3, num_workers=2, multiprocessing_context="fork", timeout=60
    )
    batched = torch.cat([batch.sub_enc for batch in loader])
    assert torch.equal(batched, torch.cat([expected(g) for g in mixed_graphs()]))


def test_compose_and_pickle() -> None:
    transform = pickle.loads(pickle.dumps(AddSubstructureEncoding(SMALL)))
    both = Compose([transform, AddRandomWalkPE(3)])
    out = both(to_data(cycle_graph(5)))
    assert torch.equal(out.sub_enc, expected(cycle_graph(5)))
    assert repr(transform) in repr(both)


# --- parameters


def test_repr_makes_the_transform_again() -> None:
    a = AddSubstructureEncoding(num_shells=2, scope=("ego", "internal"), radius=(1, 2))
    b = eval(
        repr(a), {"AddSubstructureEncoding": AddSubstructureEncoding, "torch": torch}
    )
    assert repr(b) == repr(a)
    assert b.encoding == a.encoding


def test_spelling_does_not_change_the_repr() -> None:
    """The numbers are the same: PyG must not call the cache stale."""
    plain = repr(AddSubstructureEncoding(WalkEncoding()))
    assert repr(AddSubstructureEncoding(scope="graph", dtype="float32")) == plain


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_shell": 3}, "'num_shells'"),
        ({"attr_nam": "a"}, "Did you mean 'attr_name'"),
        ({"num_shells": 0}, "num_shells"),
        ({"encoding": 3}, "got 3"),
        ({"encoding": WalkEncoding(), "num_shells": 3}, "not both; got num_shells"),
        ({"encoding": "walks", "shells": 3}, "'shells'"),
        ({"attr_name": "my_index"}, "contain 'index'"),
        ({"attr_name": "batch_enc"}, "'batch'"),
        ({"attr_name": "ptr"}, "must not be one of"),
        ({"attr_name": ""}, "Python name"),
        ({"dtype": torch.float16}, "dtype must be one of"),
        ({"dtype": "int64"}, "dtype must be one of"),
        ({"dtype": object()}, "dtype must be one of"),
        ({"undirected": "yes"}, "undirected"),
        ({"loops": "keep"}, "loops"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_parameters(kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AddSubstructureEncoding(**kwargs)
