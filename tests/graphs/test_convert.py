"""Conversion from other libraries: same graph, and every trap refused."""

from __future__ import annotations

import random
import warnings
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData

from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.graphs import (
    Graph,
    as_graph,
    from_networkx,
    from_pyg,
    path_graph,
    to_graph6,
)
from sekgnn.graphs.convert import from_scipy
from sekgnn.testing import graphs

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def to_pyg(g: Graph) -> Data:
    return Data(edge_index=torch.from_numpy(g.edge_index()), num_nodes=g.num_nodes)


@given(graphs())
def test_every_type_gives_the_same_graph(g: Graph) -> None:
    adjacency = g.adjacency()
    for obj in (
        g,
        to_pyg(g),
        g.to_networkx(),
        g.to_networkx().to_directed(),
        nx.MultiGraph(g.to_networkx()),
        g.to_scipy(),
        sp.coo_matrix(adjacency),
        sp.lil_array(adjacency),
        sp.dia_array(adjacency),
        adjacency,
        adjacency.astype(np.bool_),
        adjacency.astype(np.float32),
        to_graph6(g),
        to_graph6(g).encode(),
    ):
        assert as_graph(obj) == g
    assert as_graph(g) is g


def test_what_is_not_accepted() -> None:
    hetero = HeteroData()
    hetero["a"].x = torch.zeros(3, 1)
    hetero["a", "to", "a"].edge_index = PATH
    for obj in (None, 3, [[0, 1], [1, 0]], object(), hetero):
        with pytest.raises(
            GraphInputError, match=r"accepted: sekgnn\.Graph, torch_geo"
        ):
            as_graph(obj)
    with pytest.raises(ConfigError, match="undirected"):
        as_graph(path_graph(2), undirected="x")  # type: ignore[arg-type]


def test_rules_are_passed_on() -> None:
    arc = np.array([[0, 1], [0, 0]])
    for obj in (
        arc,
        sp.csr_array(arc),
        nx.DiGraph([(0, 1)]),
        Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2),
    ):
        assert as_graph(obj, undirected="add") == path_graph(2)
        with pytest.raises(GraphInputError, match="0 -> 1 without 1 -> 0"):
            as_graph(obj)
    loop = np.array([[1, 1], [1, 0]])
    looped = nx.Graph([(0, 1), (0, 0)])
    data = Data(edge_index=torch.tensor([[0, 0, 1], [0, 1, 0]]), num_nodes=2)
    for obj in (loop, sp.csr_array(loop), looped, data):
        with pytest.raises(GraphInputError, match="1 self-loop"):
            as_graph(obj, loops="error")
        with pytest.warns(GraphInputWarning, match="1 self-loop"):
            assert as_graph(obj) == path_graph(2)


# PyG


def test_pyg_node_count_is_never_guessed() -> None:
    with pytest.raises(GraphInputError, match=r"set data\.num_nodes or data\.x"):
        from_pyg(Data(edge_index=PATH))
    with pytest.raises(GraphInputError, match=r"set data\.num_nodes or data\.x"):
        as_graph(Data(edge_index=PATH))
    with pytest.raises(GraphInputError, match=r"set data\.num_nodes or data\.x"):
        as_graph(SimpleNamespace(edge_index=PATH))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a user who silenced PyG is told all the same
        with pytest.raises(GraphInputError, match=r"data\.num_nodes is not set"):
            from_pyg(Data(edge_index=PATH))
    assert from_pyg(Data(edge_index=PATH, num_nodes=5)).num_nodes == 5
    assert from_pyg(Data(edge_index=PATH, x=torch.zeros(4, 1))).num_nodes == 4
    assert from_pyg(Data(edge_index=PATH, pos=torch.zeros(3, 3))) == path_graph(3)
    with pytest.raises(GraphInputError, match="not set"):
        from_pyg(SimpleNamespace(edge_index=PATH, num_nodes=None))
    assert from_pyg(SimpleNamespace(edge_index=PATH, num_nodes=3)) == path_graph(3)


def test_pyg_without_edges() -> None:
    with pytest.raises(GraphInputError, match="neither edge_index nor adj_t"):
        from_pyg(Data(num_nodes=3))
    none = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=3)
    assert from_pyg(none).num_edges == 0


def test_pyg_adj_t() -> None:
    dense = torch.from_numpy(path_graph(3).adjacency()).float()
    assert from_pyg(Data(adj_t=dense.to_sparse())) == path_graph(3)
    arc = torch.tensor([[0.0, 0.0], [1.0, 0.0]]).to_sparse()
    with pytest.raises(GraphInputError, match="0 -> 1 without 1 -> 0"):
        from_pyg(Data(adj_t=arc))  # transposed: row 1, column 0 is the arc 0 -> 1


@pytest.mark.parametrize("name", ["edge_weight", "edge_attr"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_pyg_weights_must_be_finite(name: str, value: float) -> None:
    weights = torch.tensor([1.0, value, 1.0, value])
    data = Data(edge_index=PATH, num_nodes=3, **{name: weights})
    with pytest.raises(
        GraphInputError, match=rf"data\.{name} is .* at edge 1 \(2 such"
    ):
        from_pyg(data)


@pytest.mark.parametrize(
    "attr", [torch.ones(4), torch.ones(4, dtype=torch.long), torch.full((4, 2), np.nan)]
)
def test_pyg_other_attributes_do_not_matter(attr: torch.Tensor) -> None:
    assert from_pyg(Data(edge_index=PATH, num_nodes=3, edge_attr=attr)) == path_graph(3)


def test_a_batch_is_the_disjoint_union() -> None:
    batch = Batch.from_data_list([to_pyg(path_graph(3)), to_pyg(path_graph(2))])
    assert as_graph(batch) == path_graph(3).disjoint_union(path_graph(2))


# networkx


def test_networkx_names_in_iteration_order() -> None:
    g: Any = nx.Graph()
    g.add_nodes_from(["b", (1, 2), frozenset(), "a"])
    g.add_edges_from([("a", "b"), ((1, 2), "a")])
    expected = Graph.from_edge_index([[3, 1], [0, 3]], 4, undirected="add")
    assert from_networkx(g) == expected
    assert from_networkx(nx.Graph()) == path_graph(0)


def test_networkx_directed_error_names_nodes() -> None:
    with pytest.raises(GraphInputError, match="'x' -> 'y' without 'y' -> 'x'"):
        from_networkx(nx.DiGraph([("x", "y")]))


def test_networkx_multigraph_is_merged() -> None:
    g = nx.MultiDiGraph([(0, 1), (0, 1), (1, 0), (1, 2), (2, 1)])
    assert from_networkx(g) == path_graph(3)


@pytest.mark.parametrize("value", [float("nan"), np.float64("inf")])
def test_networkx_weight_must_be_finite(value: float) -> None:
    g = nx.Graph()
    g.add_edge("x", "y", weight=value)
    with pytest.raises(GraphInputError, match=r"edge 'x' - 'y' has weight (nan|inf)"):
        from_networkx(g)


@given(graphs(), st.randoms())
def test_networkx_shuffled_nodes(g: Graph, rng: random.Random) -> None:
    order = rng.sample(range(g.num_nodes), g.num_nodes)
    shuffled = nx.Graph()
    shuffled.add_nodes_from(order)
    shuffled.add_edges_from(g.to_networkx().edges)
    assert from_networkx(shuffled) == g.induced(order)


# scipy


def test_scipy_zeros_and_duplicates() -> None:
    """Explicit zeros, and repeated entries that cancel, are no edges."""
    row, col = [0, 1, 1, 2, 0, 2, 0, 2], [1, 0, 2, 1, 2, 0, 2, 0]
    data = [2.0, -3.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0]
    matrix = sp.coo_array((data, (row, col)), shape=(4, 4))
    with pytest.warns(GraphInputWarning, match="are not used"):
        g = from_scipy(matrix)
    assert g == path_graph(3).disjoint_union(path_graph(1))
    assert matrix.nnz == 8  # the argument is left as it was
    twice = sp.csr_array(([1, -1, 1, -1], [1, 1, 0, 0], [0, 2, 4]), shape=(2, 2))
    assert from_scipy(twice).num_edges == 0
    assert twice.nnz == 4
    zeros = sp.csr_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(2, 2))
    assert from_scipy(zeros).num_edges == 0
    assert from_scipy(sp.csr_array((0, 0))) == path_graph(0)


@pytest.mark.parametrize("make", [sp.csr_array, sp.coo_matrix, np.asarray])
def test_scipy_errors(make: Any) -> None:
    for value in (np.nan, np.inf):
        with pytest.raises(
            GraphInputError, match="row 0, column 1; entries must be fin"
        ):
            from_scipy(make(np.array([[0, value], [value, 0]])))
    with pytest.raises(GraphInputError, match=r"square, got shape \[2, 3\]"):
        from_scipy(make(np.zeros((2, 3))))


def test_dense_errors() -> None:
    with pytest.raises(GraphInputError, match="square"):
        from_scipy(np.zeros(3))
    with pytest.raises(GraphInputError, match="numeric"):
        from_scipy(np.array([["a", "b"], ["b", "a"]]))
    with pytest.raises(GraphInputError, match="numeric"):
        as_graph(np.array([[None, 1], [1, None]], dtype=object))


def test_weights_are_not_used_and_a_warning_says_so() -> None:
    """One rule, whatever library a graph comes from."""
    matrix = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    weighted = nx.from_numpy_array(matrix)
    data = Data(edge_index=PATH, num_nodes=3, edge_weight=torch.tensor([2.0, 2, 1, 1]))
    for obj in (matrix, sp.csr_array(matrix), weighted, data):
        with pytest.warns(GraphInputWarning, match="not used"):
            assert as_graph(obj) == as_graph((matrix > 0).astype(int))
    for obj in (matrix > 0, nx.path_graph(3), Data(edge_index=PATH, num_nodes=3)):
        assert as_graph(obj).num_edges == 2  # no warning
