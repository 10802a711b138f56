"""Labels of nodes and edges: from any library, and never mixed up."""

from __future__ import annotations

import pickle
import random
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    as_labelled,
    cycle_graph,
    labelled_from_smiles,
    path_graph,
)
from sekgnn.graphs.graph import as_labels
from sekgnn.graphs.molecules import labelled_from_rdkit
from sekgnn.testing import labelled_graphs

# Digests are part of stored hashes of graphs: these must never change.
CARBON, OXYGEN, HALF = (
    809599947829910117,
    -629817163064584880,
    -3513686132775831680,
)
PATH = path_graph(3)  # indices: 0-1, 1-0, 1-2, 2-1


def edge_table(item: Graph) -> dict[tuple[int, int], int]:
    assert item.edge_labels is not None
    pairs = item.graph.edge_index().T.tolist()
    return {
        (u, v): x for (u, v), x in zip(pairs, item.edge_labels.tolist(), strict=True)
    }


@given(labelled_graphs(num_labels=5), st.randoms())
def test_relabelling_moves_labels_with_their_nodes(
    item: Graph, rng: random.Random
) -> None:
    perm = rng.sample(range(item.num_nodes), item.num_nodes)
    moved = item.relabel(perm)
    assert moved.graph == item.graph.relabel(perm)
    assert item.node_labels is not None and moved.node_labels is not None
    for v in range(item.num_nodes):
        assert moved.node_labels[perm[v]] == item.node_labels[v]
    before, after = edge_table(item), edge_table(moved)
    assert after == {(perm[u], perm[v]): x for (u, v), x in before.items()}
    back = np.argsort(perm).tolist() if perm else []
    assert moved.relabel(back) == item


@given(labelled_graphs(num_labels=5), labelled_graphs(), st.randoms())
def test_labels_stay_with_their_nodes_in_parts_and_unions(
    item: Graph, other: Graph, rng: random.Random
) -> None:
    chosen = rng.sample(range(item.num_nodes), rng.randint(0, item.num_nodes))
    some, before = item.induced(chosen), edge_table(item)
    assert node_values(some) == [node_values(item)[v] for v in chosen]
    assert edge_table(some) == {
        (chosen.index(u), chosen.index(v)): x
        for (u, v), x in before.items()
        if u in chosen and v in chosen
    }
    both, n = item.disjoint_union(other), item.num_nodes
    assert both.induced(range(n)) == item
    assert both.induced(range(n, both.num_nodes)) == other
    with pytest.raises(GraphInputError, match="label all"):
        item.disjoint_union(other.graph)


@given(labelled_graphs())
def test_equality_hash_and_pickle(item: Graph) -> None:
    twin = pickle.loads(pickle.dumps(item))
    assert twin == item and hash(twin) == hash(item)
    assert item != item.graph and (item == 5) is False
    bare = LabelledGraph(item.graph)
    assert (bare == item) is False and (item == bare) is False
    assert LabelledGraph(item.graph, item.node_labels) != item
    assert LabelledGraph(item.graph, None, item.edge_labels) != item
    assert item.node_labels is not None
    assert LabelledGraph(
        item.graph, item.node_labels + 1, item.edge_labels
    ) != item or (item.num_nodes == 0)


def test_hypothesis_draws_all_kinds() -> None:
    from hypothesis import find

    assert find(labelled_graphs(), lambda g: len(set(edge_values(g))) == 2)
    assert find(labelled_graphs(num_labels=3), lambda g: 2 in node_values(g))
    plain = find(labelled_graphs(node_labels=False, edge_labels=False), lambda g: True)
    assert plain.node_labels is None and plain.edge_labels is None


def edge_values(item: Graph) -> list[int]:
    return [] if item.edge_labels is None else item.edge_labels.tolist()


def node_values(item: Graph) -> list[int]:
    return [] if item.node_labels is None else item.node_labels.tolist()


def test_nothing_can_be_written() -> None:
    labels = np.array([1, 2, 3])
    item = LabelledGraph(PATH, labels, {(0, 1): 4, (2, 1): 5})
    assert item.node_labels is not None and item.edge_labels is not None
    labels[0] = 9  # a copy was taken
    assert item.node_labels.tolist() == [1, 2, 3]
    assert item.edge_labels.tolist() == [4, 4, 5, 5]
    for array in (item.node_labels, item.edge_labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    with pytest.raises(AttributeError, match="immutable; cannot set 'node_labels'"):
        item.node_labels = None
    assert repr(item).endswith("num_edges=2, node_labels=True, edge_labels=True)")
    assert repr(LabelledGraph(PATH)) == repr(PATH)
    assert (item.num_nodes, item.num_edges) == (3, 2)


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([1, 2], None, r"node_labels.*2 entries.* 3"),
        (None, [1, 1, 2], r"edge_labels.*3 entries.* 4"),
        (None, [1, 2, 1, 1], "edge 0 - 1.*different labels"),
        (None, [1, 1, 1, 2], "edge 1 - 2.*different labels"),
        (None, {(0, 1): 1}, r"edge 1 - 2.*no label"),
        (
            None,
            {(0, 1): 1, (1, 0): 2, (1, 2): 3},
            r"edge 1 - 0.*different labels",
        ),
        (
            None,
            {(0, 1): 1, (1, 2): 1, (2, 0): 1},
            r"0 - 2.*not an edge",
        ),
        ([0.5, float("nan"), 1], None, "node_labels holds NaN"),
        ([None, 1, 2], None, "node_labels must be integers"),
        (np.zeros((3, 1, 1)), None, "must be integers"),
        (5, None, "must be integers, strings"),
        ([[1], [1, 2], [3]], None, "node_labels.*rows of one length"),
        ([[2**53], [0], [1]], None, r"node_labels.*beyond 2\^53"),
    ],
)
def test_bad_labels(nodes: Any, edges: Any, message: str) -> None:
    with pytest.raises(GraphInputError, match=message):
        LabelledGraph(PATH, nodes, edges)


def test_whole_numbers_stand_for_themselves() -> None:
    big = [2**62, -(2**63), 0]
    assert as_labels("x", big).tolist() == big
    assert as_labels("x", [True, False]).tolist() == [1, 0]
    assert as_labels("x", torch.tensor([3, 4])).tolist() == [3, 4]
    assert as_labels("x", np.array([2**64 - 1, 0], dtype=np.uint64)).tolist() == [-1, 0]
    assert as_labels("x", []).tolist() == []
    assert as_labels("x", np.zeros((3, 0))).tolist() == [0, 0, 0]


def test_all_else_is_digested_and_kept_apart() -> None:
    assert as_labels("x", ["C", "O", "C"]).tolist() == [CARBON, OXYGEN, CARBON]
    assert as_labels("x", "CO").tolist() == [CARBON, OXYGEN]
    assert len({*as_labels("x", ["a", "a\0", "a\0\0"]).tolist()}) == 3
    halves = as_labels("x", [0.5, 1.5, -0.0, 0.0])
    assert halves[2] == halves[3] and len(set(halves.tolist())) == 3
    assert halves[0] == HALF
    rows = as_labels("x", [[1, 0], [0, 1], [1, 0]])
    assert rows[0] == rows[2] != rows[1]
    assert np.array_equal(rows, as_labels("x", [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    assert np.array_equal(rows, as_labels("x", torch.eye(2)[[0, 1, 0]]))
    assert as_labels("x", [[1.0], [2.0]])[0] == as_labels("x", [1.0, 2.0])[0]
    assert len(set(as_labels("x", [float("inf"), -float("inf")]).tolist())) == 2


def test_names_of_labels_go_along_and_decide_nothing() -> None:
    named = LabelledGraph(PATH, ["C", "N", "C"])
    code = as_labels("labels", ["C", "N"]).tolist()
    assert named.label_names == {code[0]: "C", code[1]: "N"}
    same = LabelledGraph(PATH, named.node_labels)
    assert (same.label_names, same == named, hash(same)) == ({}, True, hash(named))
    for other in (named.relabel([2, 0, 1]), pickle.loads(pickle.dumps(named))):
        assert other.label_names == named.label_names
    own = LabelledGraph(PATH, np.array([6, 7, 6]), None, {7: "N"})
    assert own.label_names == {7: "N"}


def test_labels_of_a_pyg_data() -> None:
    edge_index = torch.tensor([[1, 0, 2, 1], [0, 1, 1, 2]])
    data = Data(
        x=torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        edge_index=edge_index,
        edge_attr=torch.tensor([[5], [5], [6], [6]]),
        kind=torch.tensor([7, 8, 7]),
        bond=torch.tensor([5, 5, 6, 6]),
        num_nodes=3,
    )
    item = as_labelled(data, node_labels="kind", edge_labels="bond")
    assert item == LabelledGraph(PATH, [7, 8, 7], {(0, 1): 5, (1, 2): 6})
    item = as_labelled(data, node_labels="x", edge_labels="edge_attr")
    assert item == LabelledGraph(PATH, data.x, {(0, 1): [5.0], (1, 2): [6.0]})
    assert as_labelled(data) == LabelledGraph(PATH)
    assert as_labelled(data, node_labels=[1, 2, 3]).node_labels is not None
    with pytest.raises(GraphInputError, match=r"no 'y'.*node labels"):
        as_labelled(data, node_labels="y")
    with pytest.raises(GraphInputError, match=r"no 'y'.*edge labels"):
        as_labelled(data, edge_labels="y")
    with pytest.raises(GraphInputError, match="'kind' has 3 rows"):
        as_labelled(data, edge_labels="kind")
    data.bond = torch.tensor([5, 4, 6, 6])
    with pytest.raises(GraphInputError, match="two different labels"):
        as_labelled(data, edge_labels="bond")
    twice = Data(
        edge_index=torch.tensor([[0, 1, 0], [1, 0, 1]]),
        bond=torch.tensor([1, 1, 2]),
        num_nodes=2,
    )
    with pytest.raises(GraphInputError, match=r"0 - 1.*different labels"):
        as_labelled(twice, edge_labels="bond")


def test_labels_of_a_networkx_graph() -> None:
    """Nodes of any name, in the graph's own order; loops have no label to give."""
    graph = nx.Graph()
    graph.add_node("b", kind="O")
    graph.add_node("a", kind="C")
    graph.add_node("c", kind="C")
    graph.add_edge("a", "c", bond="single")
    graph.add_edge("a", "b", bond="double")
    item = as_labelled(graph, node_labels="kind", edge_labels="bond")
    assert item.node_labels is not None and item.node_labels.tolist() == [
        OXYGEN,
        CARBON,
        CARBON,
    ]
    single, double = as_labels("x", ["single", "double"]).tolist()
    assert edge_table(item) == {
        (1, 2): single, (2, 1): single, (0, 1): double, (1, 0): double,
    }  # fmt: skip
    graph.add_node("d")
    with pytest.raises(GraphInputError, match=r"node.*'kind'"):
        as_labelled(graph, node_labels="kind")
    graph.add_edge("d", "a")
    with pytest.raises(GraphInputError, match=r"edge.*'bond'"):
        as_labelled(graph, edge_labels="bond")
    double_edge = nx.MultiGraph()
    double_edge.add_edge(0, 1, bond=1)
    double_edge.add_edge(0, 1, bond=2)
    with pytest.raises(GraphInputError, match=r"0 - 1.*different labels"):
        as_labelled(double_edge, edge_labels="bond")


def test_labels_of_a_labelled_graph() -> None:
    item = LabelledGraph(PATH, [1, 2, 3], {(0, 1): 4, (1, 2): 5})
    assert as_labelled(item) is item
    other = as_labelled(item, node_labels=[6, 6, 6])
    assert other == LabelledGraph(PATH, [6, 6, 6], item.edge_labels)
    other = as_labelled(item, edge_labels={(0, 1): 1, (1, 2): 1})
    assert other == LabelledGraph(PATH, [1, 2, 3], [1, 1, 1, 1])
    # a name is for other graphs of a list; here it means the labels there are
    assert as_labelled(item, node_labels="x", edge_labels="edge_attr") == item
    single = LabelledGraph(path_graph(1))
    with pytest.raises(GraphInputError, match="without node labels"):
        as_labelled(single, node_labels="x")
    with pytest.raises(GraphInputError, match="without edge labels"):
        as_labelled(single, edge_labels="x")
    with pytest.raises(GraphInputError, match="without node labels"):
        as_labelled(path_graph(1), node_labels="x")
    assert as_labelled(PATH) is PATH


def test_loops_in_an_edge_index_need_no_label() -> None:
    loose = SimpleNamespace(
        edge_index=np.array([[0, 1, 1], [1, 0, 1]]), num_nodes=2, bond=[3, 3, 9]
    )
    with pytest.warns(UserWarning, match="self-loop"):
        item = as_labelled(loose, edge_labels="bond")
    assert item.edge_labels is not None and item.edge_labels.tolist() == [3, 3]


def test_molecules() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    acetate = labelled_from_smiles("CC(=O)[O-]")
    assert acetate == LabelledGraph(
        Graph.from_edge_index([[0, 1, 1], [1, 2, 3]], 4, undirected="add"),
        [6, 6, 8, 8 - 1000],
        {(0, 1): 1, (1, 2): 2, (1, 3): 1},
    )
    benzene = labelled_from_smiles("c1ccccc1")
    assert benzene == LabelledGraph(cycle_graph(6), [6] * 6, [12] * 12)
    assert labelled_from_smiles("C", add_hydrogens=True).node_labels.tolist() == [  # type: ignore[union-attr]
        6, 1, 1, 1, 1,
    ]  # fmt: skip
    mol = chem.MolFromSmiles("CC(=O)[O-]")
    assert as_labelled(mol) == labelled_from_rdkit(mol) == acetate
    plain = as_labelled(mol, node_labels=[0] * 4)
    assert plain == LabelledGraph(acetate.graph, [0] * 4, acetate.edge_labels)
    assert as_labelled(mol, node_labels="x") == acetate
    lone = labelled_from_smiles("[Na+]")
    assert lone.node_labels is not None and lone.node_labels.tolist() == [1011]
    assert lone.edge_labels is not None and lone.edge_labels.size == 0
    with pytest.raises(GraphInputError, match="mol is None"):
        labelled_from_rdkit(None)
