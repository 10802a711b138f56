"""Tables of molecules, JSON lines and TU folders as tasks.

The laws that hold of every format stand in ``tests/graphs/test_reading.py``.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from torch_geometric.loader import DataLoader

from sekgnn.datasets import read_task
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.molecules import ATOM_FEATURES, molecule_features

pytest.importorskip("rdkit")


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(text))
    return path


# -- Tables of molecules --------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = ["smiles,y,group,toxic", "CCO,1.5,a,0", "CC,,b,1", "c1ccccc1,-2,a,1"]
    return write(tmp_path / "a.csv", *lines, "CC#N,1e1,b,0")


def test_regression_with_a_missing_target(table: Path) -> None:
    task = read_task(table, "y")
    assert repr(task) == "GraphTask(4 graphs, regression, targets: y)"
    assert [data.y.tolist() for data in task] == [[[1.5]], [[0]], [[-2]], [[10]]]
    assert task.mask[:, 0].tolist() == [True, False, True, True]
    assert task.without_targets() == "1 graphs without a target (1 empty)"
    assert [data.y_mask.tolist() for data in task][:2] == [[[True]], [[False]]]
    assert task.places[1] == "row 2 (line 3)"
    assert (task.num_outputs, task.num_features) == (1, len(ATOM_FEATURES))
    assert task.feature_names == ATOM_FEATURES
    bare = read_task(table)
    assert bare.kind is None and bare.mask.shape == (4, 0)
    assert "y" not in bare[0] and "y_mask" not in bare[0]


def test_kinds_and_batches(table: Path) -> None:
    task = read_task(table, "group")
    assert (task.kind, task.classes, task.num_outputs) == ("binary", ("a", "b"), 2)
    loader: Any = DataLoader(task, batch_size=4)
    assert next(iter(loader)).y.tolist() == [0, 1, 0, 1]
    ordered = read_task(table, "group", classes=["b", "a"])
    assert [data.y.item() for data in ordered] == [1, 0, 1, 0]
    loader = DataLoader(read_task(table, ["y", "toxic"]), batch_size=4)
    batch = next(iter(loader))
    assert batch.y.shape == batch.y_mask.shape == (4, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smiles,Y\nC,1\n", "no column 'y'.*Did you mean 'Y'"),
        ("smiles,y,y\nC,1,2\n", "has 2 columns 'y'"),
        ("smiles,y\nC,\nCC,nan\n", r"target 'y'.*missing"),
        ("smiles,y\nC,1\nCC,inf\n", r"row 2 \(line 3\), target 'y': inf is"),
        ("smiles;y\nC;1\n\nCC;0,5\n", r"row 2 \(line 4\), target 'y': '0,5'"),
    ],
)
def test_wrong_targets_of_tables(text: str, message: str, tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", text)
    with pytest.raises(GraphInputError, match=message):
        read_task(file, "y")
    with pytest.raises(ConfigError, match=r"kind.*one of"):
        read_task(write(file, "smiles,y\nC,1"), "y", kind="class")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("smiles", "nodes"),
    [
        ("C" * 100_000, 100_000),
        ("C" + "C(C)" * 31_999, 63_999),
        ("C(" * 30_000 + "C" + ")C" * 30_000, 60_001),
        ("N[C@@H](C)C(=O)" * 8_000, 40_000),
    ],
    ids=["chain", "branches", "nested", "stereo"],
)
def test_huge_molecules_are_read(tmp_path: Path, smiles: str, nodes: int) -> None:
    """A search for stereochemistry would take minutes."""
    task = read_task(write(tmp_path / "a.csv", f"smiles\n{smiles}\n"))
    assert task[0].num_nodes == nodes and task[0].num_edges == 2 * (nodes - 1)


@pytest.mark.parametrize("hydrogens", [False, True])
@pytest.mark.parametrize(
    "smiles",
    [
        *("[H][H]", "[2H]C", "[H]C", "[H]/C=C/C", "[H]/C(C)=C(/[H])C", "[H]/N=C/C"),
        *("F/C=C/F", "C[C@@]([H])(F)Cl", "[C@@H]1CCCCC1", "C[S@](=O)N", "*C", "[H+]"),
        *("[H]n1cccc1", "c1cc[nH]c1", "CN(=O)=O", "[Pt@SP1](F)(Cl)(N)O", "C->[Fe]"),
    ],
)
def test_molecules_are_those_of_rdkit(
    tmp_path: Path, smiles: str, hydrogens: bool
) -> None:
    """The steps left out make no difference to nodes, edges and features."""
    from rdkit import Chem

    mol = Chem.MolFromSmiles(smiles)
    if hydrogens:
        mol = Chem.AddHs(mol)
        Chem.AssignStereochemistry(mol, cleanIt=True, force=True)
    graph, x, edge_attr = molecule_features(mol)
    file = write(tmp_path / "a.csv", f"smiles,b\n{smiles},\n")
    (data,) = read_task(file, add_hydrogens=hydrogens)
    assert data.x.tolist() == x.tolist()
    assert data.edge_index.tolist() == graph.edge_index().tolist()
    assert data.edge_attr.tolist() == edge_attr.tolist()


def test_stereochemistry_is_read_unless_it_is_left_out(tmp_path: Path) -> None:
    """L- and D-alanine, trans and cis crotonic acid."""
    twins = ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "C/C=C/C(=O)O", "C/C=C\\C(=O)O")
    file = write(tmp_path / "a.csv", "smiles\n" + "\n".join(twins) + "\n")
    for stereo in (True, False):
        rows = [(d.x.tolist(), d.edge_attr.tolist()) for d in
                read_task(file, stereo=stereo)]  # fmt: skip
        assert (rows[0] != rows[1]) is stereo
        assert (rows[2] != rows[3]) is stereo


def test_a_long_invalid_text_is_cut(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", f"smiles\n{'C' * 100_000}(\n")
    with pytest.raises(GraphInputError, match=r"CC'\.\.\. \(100001 characters\)") as e:
        read_task(file)
    assert len(str(e.value)) < 1000


@pytest.mark.slow
def test_a_huge_ring_is_refused(tmp_path: Path) -> None:
    """As one cycle, and between branches; the ring search of rdkit takes hours."""
    ring = "C1" + "C" * 99_998 + "C1"
    branches = f"C({'C' * 60_000}1){'C' * 60_000}1"
    file = write(tmp_path / "a.csv", f"smiles\nCC\n{ring}\nC.{branches}\n")
    message = r"(?s)2 SMILES.*row 2 \(line 3\).*Cycles of more than 20000 atoms are ref"
    with pytest.raises(GraphInputError, match=message):
        read_task(file)
    assert [d.num_nodes for d in read_task(file, skip_invalid=True)] == [2]


def test_the_length_of_a_ring_is_its_number_of_atoms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ring of exactly the limit is read, one more is not; chains have no limit."""
    module = importlib.import_module("sekgnn.graphs.molecules")
    monkeypatch.setattr(module, "MOST_RING_ATOMS", 7)
    good = ["C" * 20, "C1CCCCCC1CCC", "c1ccccc1" * 4, "CC(C)(CCCC1)CC1.CCCC"]
    bad = ["C1CCCCCCC1", "C(CCCC1)CCC1", "CCC.C1CCCCCCC1"]
    file = write(tmp_path / "a.csv", "\n".join(["smiles", *good, *bad]))
    task = read_task(file, skip_invalid=True)
    assert task.places == tuple(f"row {i} (line {i + 1})" for i in range(1, 5))


# -- JSON lines -----------------------------------------------------------------------


def test_features_and_targets_of_lines(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.jsonl",
        {"edges": [[0, 1]], "x": [[1, 2], [3, 4.5]], "y": 1.5, "tag": "a\u2028b"},
        "",
        {"edges": [], "x": [[0, 0]], "y": None},
        {"edges": [], "x": [[7, 0]], "y": "2.5"},
        '{"edges": [], "x": [[7, 0]], "y": NaN}',
        {"edges": [], "x": [[7, 0]]},
    )
    task = read_task(file, "y")
    assert task.kind == "regression"
    assert task[0].x.tolist() == [[1, 2], [3, 4.5]]
    assert [data.y.item() for data in task] == [1.5, 0, 2.5, 0, 0]
    assert task.mask[:, 0].tolist() == [True, False, True, False, False]
    assert task.places == ("line 1", "line 3", "line 4", "line 5", "line 6")


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"edges": [],\r"num_nodes": 1}\n\r\n{"edges":\r[], "x": [1]}')
    assert read_task(file).places == ("line 1", "line 3")


GOOD: dict[str, Any] = {"edges": [[0, 1]], "num_nodes": 2, "y": 1}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1, 2]", r"line 2.*'edges'"),
        ('{"nodes": 3}', r"line 2.*'edges'"),
        ({"edges": []}, r"line 2.*'num_nodes'"),
        ({"edges": [], "num_nodes": -1}, r"line 2: num_nodes.*at least"),
        ({"edges": [[0, 2**70]], "num_nodes": 2**71}, r"line 2: num_nodes.*below"),
        ({"edges": [], "num_nodes": "3"}, r"line 2: num_nodes.*integer"),
        ({**GOOD, "edges": [[0, 2]]}, r"line 2: 'edges'.* in 0\.\.1"),
        ({**GOOD, "edges": [[0, 1.0]]}, r"line 2: 'edges'.*pairs"),
        ({**GOOD, "edges": [[0, 1, 1]]}, r"line 2: 'edges'.*pairs"),
        ({**GOOD, "edges": "0 1"}, r"line 2: 'edges'.*pairs"),
        ({**GOOD, "x": [[1]]}, r"line 2: 'x'.*1 rows"),
        ({**GOOD, "x": [[1], [1, 2]]}, r"line 2.*features"),
        ({**GOOD, "x": [["a"], ["b"]]}, r"line 2.*features"),
        (
            '{"edges": [], "x": [[1, 2], [3, NaN]], "y": 1}',
            "line 2: feature 1 of node 1",
        ),
        ({**GOOD, "x": [[1, 2], [3, 4]]}, "line 2: 2 node features"),
        ({**GOOD, "y": {"a": 1}}, r"line 2, target 'y'.*needed"),
        ('{"edges": [], "num_nodes": 1, "y": Infinity}', "line 2, target 'y': inf is"),
    ],
)
def test_wrong_lines_are_named(
    line: dict[str, Any] | str, message: str, tmp_path: Path
) -> None:
    file = write(tmp_path / "a.jsonl", GOOD, line, {**GOOD, "y": 3})
    with pytest.raises(GraphInputError, match=f"^{file}, {message}"):
        read_task(file, "y")


def test_a_key_that_no_line_has(tmp_path: Path) -> None:
    with pytest.raises(GraphInputError, match="no key 'z'"):
        read_task(write(tmp_path / "a.jsonl", GOOD), "z")


@pytest.mark.parametrize("features", [False, True])
def test_a_huge_graph_is_read(tmp_path: Path, features: bool) -> None:
    n = 100_000
    line: dict[str, Any] = {"edges": [[i, (i + 1) % n] for i in range(n)]}
    line |= {"x": [[i, 0.5] for i in range(n)]} if features else {"num_nodes": n}
    (data,) = read_task(write(tmp_path / "a.jsonl", line))
    assert (data.num_nodes, data.num_edges) == (n, 2 * n)
    assert data.x[-1].tolist() == ([n - 1, 0.5] if features else [1])


# -- TU folders -----------------------------------------------------------------------

FILES = {  # a triangle, a path of two nodes and an isolated one, twice
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n7, 8\n8, 7\n",
    "graph_indicator": "1\n1\n1\n2\n2\n2\n3\n3\n4\n",
    "graph_labels": "1\n-1\n1\n-1\n",
    "node_labels": "3\n5\n5\n3\n3\n3\n9\n9\n5\n",
    "node_attributes": "".join(f"{i}.5, {-i}\n" for i in range(9)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for suffix, text in FILES.items():
        (tmp_path / f"OWN_{suffix}.txt").write_text(text)
    return tmp_path


def change(folder: Path, suffix: str, text: str | None) -> Path:
    file = folder / f"OWN_{suffix}.txt"
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text.encode())
    return folder


def test_features_and_classes_of_folders(folder: Path) -> None:
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
    with_unused = read_task(folder, undirected="add", edge_labels=[7, 2, 0, 1])
    assert with_unused[1].edge_attr.tolist() == [[1, 0, 0, 0]] * 2
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
    ("suffix", "text", "message"),
    [
        ("graph_labels", "1\n-1\n1\n", "3 lines for 4 graphs"),
        ("graph_labels", "1\n1\n1\n1\n", r"target 'y'.*'multiclass'.*two"),
        ("graph_labels", "1\n2\n1\n1\n", r"graph 2, target 'y': class 2.*one member"),
        ("node_labels", "3\n", "1 lines for 9 nodes"),
        ("node_labels", "3\nC\n" + "3\n" * 7, r"line 2: .*finite.*'C'"),
        ("node_attributes", "1,1\n1\n" + "1,1\n" * 7, r"line 2: .*2 finite.*'1'"),
        ("node_attributes", "1\ninf\n" + "1\n" * 7, r"line 2: .*finite.*'inf'"),
    ],
)
def test_wrong_files_of_folders_are_named(
    suffix: str, text: str | None, message: str, folder: Path
) -> None:
    with pytest.raises(GraphInputError, match=message):
        read_task(change(folder, suffix, text))
