"""A user's own TU folder as a task."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sekgnn.datasets import read_task, tu_dataset
from sekgnn.errors import GraphInputError
from sekgnn.training.config import RunConfig
from sekgnn.training.sources import load_data

FILES = {  # a triangle, a path of two nodes and an isolated one, twice
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n7, 8\n8, 7\n",
    "graph_indicator": "1\n1\n1\n2\n2\n2\n3\n3\n4\n",
    "graph_labels": "1\n-1\n1\n-1\n",
    "node_labels": "3\n5\n5\n3\n3\n3\n9\n9\n5\n",
    "node_attributes": "".join(f"{i}.5, {-i}\n" for i in range(9)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part, text in FILES.items():
        (tmp_path / f"OWN_{part}.txt").write_text(text)
    return tmp_path


def change(folder: Path, part: str, text: str | None) -> Path:
    file = folder / f"OWN_{part}.txt"
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text.encode())
    return folder


def test_features_and_classes(folder: Path) -> None:
    task = read_task(folder)
    assert (task.kind, task.classes) == ("binary", (-1, 1))
    assert [data.y.item() for data in task] == [1, 0, 1, 0]
    assert [data.num_nodes for data in task] == [3, 3, 2, 1]
    assert task[1].x.tolist() == [[k + 0.5, -k, 1, 0, 0] for k in (3, 4, 5)]
    assert task[3].x.tolist() == [[8.5, -8, 0, 1, 0]]
    assert task.feature_names == (
        *("attribute 0", "attribute 1", "label 3", "label 5", "label 9"),
    )
    change(folder, "node_attributes", None)
    change(folder, "node_labels", None)
    plain = read_task(folder)
    assert plain[1].x.tolist() == [[1.0]] * 3 and plain.feature_names is None


def test_known_node_labels_keep_their_columns(folder: Path) -> None:
    change(folder, "node_attributes", None)
    task = read_task(folder, node_labels=[9, 5, 3, 1])
    assert task[0].x.tolist() == [[0, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
    with pytest.raises(GraphInputError, match="line 7: node label 9"):
        read_task(folder, node_labels=[3, 5])


def test_graph_attributes_are_regression(folder: Path) -> None:
    change(folder, "graph_labels", None)
    assert read_task(folder).kind is None
    task = read_task(change(folder, "graph_attributes", "1, 0\n2, 1\nnan, 1\n1, 0\n"))
    assert (task.kind, task.target_names) == ("regression", ("y0", "y1"))
    assert task.mask[:, 0].tolist() == [True, True, False, True]
    assert read_task(folder)[1].y.tolist() == [[2, 1]]
    change(folder, "graph_attributes", "1\n0\n0\n1\n")
    assert read_task(folder).kind == "regression"  # though two values could be classes


def test_edge_labels(folder: Path) -> None:
    """Labels follow their edges, however the file orders them."""
    change(folder, "A", "8, 7\n1, 3\n2, 3\n4, 5\n3, 1\n1, 2\n")
    change(folder, "edge_labels", "2\n0\n2\n7\n0\n0\n")
    task = read_task(folder, undirected="add")
    assert task[0].edge_index.T.tolist() == [
        [0, 1],
        [0, 2],
        [1, 0],
        [1, 2],
        [2, 0],
        [2, 1],
    ]
    assert task[0].edge_attr.argmax(1).tolist() == [0, 0, 0, 1, 0, 1]
    assert task[1].edge_attr.tolist() == [[0, 0, 1]] * 2
    assert task[2].edge_attr.tolist() == [[0, 1, 0]] * 2
    assert task[3].edge_attr.shape == (0, 3)
    known = read_task(folder, undirected="add", edge_labels=[7, 2, 0, 1])
    assert known[1].edge_attr.tolist() == [[1, 0, 0, 0]] * 2
    with pytest.raises(GraphInputError, match="line 4: edge label 7"):
        read_task(folder, undirected="add", edge_labels=[0, 2])
    for text, message in (
        ("2\n0\n", "2 lines for 6 edges; a file is cut short"),
        ("2\n0\n2\nC\n0\n0\n", "line 4: a line must hold 1 integer, got 'C'"),
        ("2\n0\n2\n7\n1\n0\n", "line 5: edge 3, 1 has another label in line 2"),
    ):
        with pytest.raises(GraphInputError, match=message):
            read_task(change(folder, "edge_labels", text), undirected="add")


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("graph_labels", "1\n-1\n1\n", "3 lines for 4 graphs"),
        ("graph_labels", "1\n1\n1\n1\n", r"target 'y'.*'multiclass'.*two"),
        ("graph_labels", "1\n2\n1\n1\n", r"graph 2, target 'y': class 2.*one member"),
        ("node_labels", "3\n", "1 lines for 9 nodes"),
        ("node_labels", "3\nC\n" + "3\n" * 7, r"line 2: 'C'.*finite"),
        (
            "node_attributes",
            "1,1\n1\n" + "1,1\n" * 7,
            r"line 2: 1 fields.* 2 ",
        ),
        (
            "node_attributes",
            "1\ninf\n" + "1\n" * 7,
            r"line 2: 'inf'.*finite",
        ),
        ("graph_indicator", None, "graph_indicator.txt is missing"),
        ("A", None, "is not a TU folder"),
    ],
)
def test_wrong_files_are_named(
    part: str, text: str | None, message: str, folder: Path
) -> None:
    with pytest.raises(GraphInputError, match=message):
        read_task(change(folder, part, text))


@pytest.mark.dataset
@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES", "IMDB-MULTI"])
def test_the_same_as_pyg(name: str, data_root: Path, tmp_path: Path) -> None:
    own = read_task(data_root / "tu" / name)
    pyg = tu_dataset(name, data_root, cache_dir=tmp_path, use_node_attr=True)
    for a, b in zip(own, pyg, strict=True):
        assert torch.equal(a.y, b.y) and torch.equal(a.edge_index, b.edge_index)
        assert name.startswith("IMDB") or torch.equal(a.x, b.x)
        assert (name == "MUTAG") == ("edge_attr" in a)
        assert name != "MUTAG" or torch.equal(a.edge_attr, b.edge_attr)


@pytest.mark.dataset
def test_names_say_whether_attributes_are_read(data_root: Path) -> None:
    """ENZYMES has 18 numbers and 3 labels of nodes; both are scaled over the set."""
    plain, wide = (
        load_data(RunConfig(data=name), data_root)
        for name in ("ENZYMES", "ENZYMES_attributes")
    )
    assert (plain[0].x.size(1), wide[0].x.size(1)) == (3, 21)
    x = torch.cat([graph.x for graph in wide])
    torch.testing.assert_close(x.mean(0), torch.zeros(21), atol=1e-4, rtol=0)
    torch.testing.assert_close(x.std(0), torch.ones(21), atol=1e-4, rtol=0)
