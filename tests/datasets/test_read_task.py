"""Tasks from files and objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from sekgnn.datasets import Split, networkx_task, pyg_task, read_task
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph
from sekgnn.paper import CountingDataset
from sekgnn.testing import graphs


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "B_A.txt").write_text("1, 2\n2, 1\n")
    (tmp_path / "B_graph_indicator.txt").write_text("1\n1\n2\n")
    (tmp_path / "B_graph_labels.txt").write_text("7\n7\n")
    task = read_task(tmp_path, classes=[5, 7])
    assert [data.y.item() for data in task] == [1, 1]
    with pytest.raises(ConfigError, match="targets"):
        read_task(tmp_path, "y")


def data(y: Any = None, **more: Any) -> Data:
    edges = torch.tensor([[0, 1], [1, 0]])
    fields: dict[str, Any] = {"edge_index": edges, "num_nodes": 3, **more}
    return Data(**fields) if y is None else Data(y=torch.tensor(y), **fields)


def test_pyg_classes_and_features() -> None:
    items = [data([k % 2], x=torch.full((3, 2), k)) for k in range(4)]
    task = pyg_task(items)
    assert (task.kind, task.classes) == ("binary", (0, 1))
    assert [item.y.tolist() for item in task] == [[0], [1], [0], [1]]
    assert task[3].x.tolist() == [[3.0, 3.0]] * 3
    assert task[3].x.dtype == torch.float32
    assert items[3].x.dtype == torch.long and "y_mask" not in items[0]  # untouched
    assert pyg_task(items, kind="regression")[1].y.tolist() == [[1.0]]


def test_pyg_missing_targets_names_and_no_targets() -> None:
    nan = float("nan")
    items = [data([[0.5, nan]]), data([[nan, 2.0]]), data()]
    task = pyg_task(items, kind="regression", names=["a", "b"])
    assert (task.kind, task.target_names) == ("regression", ("a", "b"))
    assert task.mask.tolist() == [[True, False], [False, True], [False, False]]
    assert [item.y.tolist() for item in task] == [[[0.5, 0]], [[0, 2.0]], [[0, 0]]]
    assert task[0].x.tolist() == [[1.0]] * 3 and task[0].num_nodes == 3
    assert pyg_task([data()]).kind is None
    assert pyg_task([data([1.5]), data([2.5])]).target_names == ("y",)


def test_a_dataset_of_this_room_is_a_task() -> None:
    dataset = CountingDataset.generated(num_graphs=20)
    task = pyg_task(dataset.to_pyg(("cycle4", "custom")))
    assert task.kind == "regression" and task.target_names == ("y0", "y1")
    assert task[3].y.tolist() == [dataset.targets[3, [3, 4]].astype("f4").tolist()]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (data([1], num_nodes=None), r"graph 1.*num_nodes"),
        (data([1], edge_index=torch.tensor([[0], [1]])), "graph 1: .*"),
        (data([1, 2, 3]), "graph 0: y has 1 values"),
        (data([1], x=torch.ones(3, 2)), "graph 1: 2 node features"),
        (data([1], x=torch.tensor([[1.0], [torch.nan], [1.0]])), "feature 0 of node 1"),
        (data([float("inf")]), "graph 1, target 'y': inf"),
        (data([1], x=torch.ones(0, 1), num_nodes=0), "graph 1: "),
    ],
)
def test_wrong_pyg_graphs_are_named(item: Data, message: str) -> None:
    with pytest.raises(GraphInputError, match=message):
        pyg_task([data([0.5]), item])


def test_names_must_fit() -> None:
    with pytest.raises(GraphInputError, match="2 names"):
        pyg_task([data([1.5])], names=["a", "b"])
    with pytest.raises(GraphInputError, match="list holds no graphs"):
        pyg_task([])


@given(st.lists(graphs(min_nodes=1, max_nodes=6), min_size=1, max_size=4))
def test_networkx_graphs_come_back(many: list[Graph]) -> None:
    task = networkx_task([graph.to_networkx() for graph in many])
    for item, graph in zip(task, many, strict=True):
        assert Graph.from_edge_index(item.edge_index, item.num_nodes) == graph


def test_networkx_targets() -> None:
    many = [nx.path_graph(n, create_using=nx.Graph) for n in (2, 3, 4, 5)]
    for graph, label in zip(many, ["a", "b", "b", "a"], strict=True):
        graph.graph["label"] = label
    by_list = networkx_task(many, [0.5, None, 2, 3])
    assert by_list.mask[:, 0].tolist() == [True, False, True, True]
    by_name = networkx_task(many, "label")
    assert by_name.classes == ("a", "b") and by_name.target_names == ("label",)
    both = networkx_task(many, {"p": [1, 0, 1, 1], "q": [0, 0, 1, 0]})
    assert both.kind == "multilabel"
    assert [item.y.tolist()[0] for item in both] == [[1, 0], [0, 0], [1, 1], [1, 0]]


def test_networkx_node_features() -> None:
    graph = nx.Graph()
    graph.add_node("u", mass=12.0, charge=1)
    graph.add_node("v", mass=16.0, charge=0)
    graph.add_edge("u", "v")
    task = networkx_task([graph], node_features=["charge", "mass"])
    assert task[0].x.tolist() == [[1, 12], [0, 16]]
    assert task.feature_names == ("charge", "mass")
    with pytest.raises(GraphInputError, match=r"graph 0: node 'u'.*'Z'"):
        networkx_task([graph], node_features=["Z"])
    graph.nodes["v"]["mass"] = float("inf")
    with pytest.raises(GraphInputError, match="graph 0: feature 0 of node 1"):
        networkx_task([graph], node_features=["mass"])


def test_wrong_networkx_graphs_are_named() -> None:
    path = nx.path_graph(3)
    with pytest.raises(GraphInputError, match=r"graph 1.*networkx"):
        networkx_task([path, "no"])
    with pytest.raises(GraphInputError, match="graph 1: "):
        networkx_task([path, nx.DiGraph([(0, 1)])])
    assert len(networkx_task([nx.DiGraph([(0, 1)])], undirected="add")) == 1
    with pytest.raises(GraphInputError, match=r"target 'y'.*2 values"):
        networkx_task([path], [1, 2])
    with pytest.raises(GraphInputError, match="attribute 'label'"):
        networkx_task([path], "label")
    with pytest.raises(GraphInputError, match=r"graph 1.*no nodes"):
        networkx_task([path, nx.Graph()])


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 99))
def test_parts_are_the_order_cut_in_three(a: int, b: int, c: int, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(a + b + c)
    split = Split.of(order, a, b)
    assert split.sizes == (a, b, c)
    joined = np.concatenate([split.train, split.val, split.test])
    assert np.array_equal(joined, order)
    assert Split.contiguous(a, b, c).val.tolist() == list(range(a, a + b))
