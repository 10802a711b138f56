"""Molecules of a table as a task: formats, targets, and errors that name the place."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from torch_geometric.loader import DataLoader

from sekgnn.datasets import read_task
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph, from_smiles
from sekgnn.graphs.molecules import ATOM_FEATURES, molecule_features

pytest.importorskip("rdkit")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SMILES = ["CCO", "CC", "c1ccccc1", "CC#N"]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = zip(SMILES, ["1.5", "", "-2", "1e1"], "abab", [0, 1, 1, 0], strict=True)
    lines = ["smiles,y,group,toxic", *(",".join(map(str, row)) for row in rows)]
    return write(tmp_path / "a.csv", "\n".join(lines))


def test_regression_with_a_missing_target(table: Path) -> None:
    task = read_task(table, "y")
    assert repr(task) == "GraphTask(4 graphs, regression, targets: y)"
    assert [data.y.tolist() for data in task] == [[[1.5]], [[0]], [[-2]], [[10]]]
    assert task.mask[:, 0].tolist() == [True, False, True, True]
    assert [data.y_mask.tolist() for data in task][:2] == [[[True]], [[False]]]
    assert task.places[1] == "row 2 (line 3)"
    assert (task.num_outputs, task.num_features) == (1, len(ATOM_FEATURES))
    assert task.feature_names == ATOM_FEATURES


def test_graphs_are_those_of_the_molecules(table: Path) -> None:
    for data, smiles in zip(read_task(table), SMILES, strict=True):
        graph = Graph.from_edge_index(data.edge_index, data.num_nodes)
        assert graph == from_smiles(smiles)
        assert data.edge_attr.shape == (2 * graph.num_edges, 4)
    full = read_task(table, add_hydrogens=True)
    assert full[1].num_nodes == 8


def test_kinds(table: Path) -> None:
    task = read_task(table, "group")
    assert (task.kind, task.classes, task.num_outputs) == ("binary", ("a", "b"), 2)
    assert [data.y.tolist() for data in task] == [[0], [1], [0], [1]]
    assert read_task(table, "toxic", kind="regression").kind == "regression"
    assert read_task(table, ["y", "toxic"]).kind == "regression"
    known = read_task(table, "group", classes=["b", "a"])
    assert [data.y.item() for data in known] == [1, 0, 1, 0]


def test_without_targets_there_is_no_y(table: Path) -> None:
    task = read_task(table)
    assert task.kind is None and task.mask.shape == (4, 0)
    assert "y" not in task[0] and "y_mask" not in task[0]


def test_batches(table: Path) -> None:
    loader: Any = DataLoader(read_task(table, ["y", "toxic"]), batch_size=4)
    batch = next(iter(loader))
    assert batch.y.shape == batch.y_mask.shape == (4, 2)
    loader = DataLoader(read_task(table, "group"), batch_size=4)
    assert next(iter(loader)).y.tolist() == [0, 1, 0, 1]


def test_byte_order_mark_windows_line_ends_and_other_delimiters(tmp_path: Path) -> None:
    text = "smiles;y\r\nCCO;1.5\r\n\r\nCC;2.5\r\nC;0,5\r\n"
    file = tmp_path / "a.csv"
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    with pytest.raises(GraphInputError, match=r"row 3 \(line 5\), target 'y': '0,5'"):
        read_task(file, "y")
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("0,5", "0.5").encode())
    task = read_task(file, "y")
    assert [data.y.item() for data in task] == [1.5, 2.5, 0.5]


def test_parquet(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    columns = {"mol": SMILES, "y": [1.5, None, -2.0, float("nan")], "b": [True] * 4}
    pq.write_table(pa.table(columns), file)
    task = read_task(file, "y", smiles="mol")
    assert task.mask[:, 0].tolist() == [True, False, True, False]
    assert task.places[2] == "row 3"
    with pytest.raises(GraphInputError, match=r"target 'b': all values are True"):
        read_task(file, "b", smiles="mol")


def test_invalid_molecules_are_listed_or_left_out(tmp_path: Path) -> None:
    text = "smiles,y\nCC,1\nC1C,2\n,3\nO,4\n"
    file = write(tmp_path / "a.csv", text)
    with pytest.raises(GraphInputError) as caught:
        read_task(file, "y")
    message = str(caught.value)
    assert "2 SMILES in column 'smiles' cannot be read" in message
    assert "row 2 (line 3): 'C1C'" in message and "row 3 (line 4): ''" in message
    task = read_task(file, "y", skip_invalid=True)
    assert [data.y.item() for data in task] == [1, 4]
    assert task.places == ("row 1 (line 2)", "row 4 (line 5)")
    with pytest.raises(GraphInputError, match="holds no graphs"):
        read_task(write(file, "smiles,y\nC1C,2\n"), "y", skip_invalid=True)


@pytest.mark.parametrize(
    ("targets", "smiles", "message"),
    [
        ("toxik", "smiles", "no column 'toxik'.*Did you mean 'toxic'"),
        ("Y", "smiles", "no column 'Y'.*Did you mean 'y'"),
        ("y", "SMILES", "no column 'SMILES'.*Did you mean 'smiles'"),
        ("weight", "smiles", r"no column 'weight'.*\['smiles', 'y'"),
    ],
)
def test_a_missing_column_suggests_the_nearest(
    targets: str, smiles: str, message: str, table: Path
) -> None:
    with pytest.raises(GraphInputError, match=message):
        read_task(table, targets, smiles=smiles)


def test_other_faults(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    with pytest.raises(GraphInputError, match="does not exist"):
        read_task(file, "y")
    with pytest.raises(GraphInputError, match="empty"):
        read_task(write(file, ""), "y")
    with pytest.raises(GraphInputError, match="has 2 columns 'y'"):
        read_task(write(file, "smiles,y,y\nC,1,2\n"), "y")
    with pytest.raises(GraphInputError, match="line 3: 3 fields"):
        read_task(write(file, "smiles,y\nC,1\nC,1,2\n"), "y")
    with pytest.raises(GraphInputError, match=r"target 'y'.*missing"):
        read_task(write(file, "smiles,y\nC,\nCC,nan\n"), "y")
    with pytest.raises(GraphInputError, match=r"row 2 \(line 3\), target 'y': inf is"):
        read_task(write(file, "smiles,y\nC,1\nCC,inf\n"), "y")
    with pytest.raises(ConfigError, match=r"kind.*one of"):
        read_task(write(file, "smiles,y\nC,1\n"), "y", kind="class")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_huge_molecule_is_read(tmp_path: Path) -> None:
    task = read_task(write(tmp_path / "a.csv", f"smiles\n{'C' * 100_000}\n"))
    assert task[0].num_nodes == 100_000 and task[0].num_edges == 199_998


@pytest.mark.slow
@pytest.mark.parametrize(
    ("smiles", "nodes"),
    [
        ("C" + "C(C)" * 31_999, 63_999),
        ("C(" * 30_000 + "C" + ")C" * 30_000, 60_001),
        ("N[C@@H](C)C(=O)" * 8_000, 40_000),
    ],
    ids=["branches", "nested", "stereo"],
)
def test_huge_molecules_with_branches_take_no_longer(
    tmp_path: Path, smiles: str, nodes: int
) -> None:
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
    mol = Chem.AddHs(mol) if hydrogens else mol
    graph, x, edge_attr = molecule_features(mol)
    file = write(tmp_path / "a.csv", f"smiles,b\n{smiles},\n")
    (data,) = read_task(file, add_hydrogens=hydrogens)
    assert data.x.tolist() == x.tolist()
    assert data.edge_index.tolist() == graph.edge_index().tolist()
    assert data.edge_attr.tolist() == edge_attr.tolist()


@pytest.mark.parametrize("smiles", ["C(C)(C)(C)(C)C", "c1cccn1", "C1CC", "C(", "CQ"])
def test_what_rdkit_refuses_is_refused_quietly(
    tmp_path: Path, smiles: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Valence, aromaticity, rings, branches, elements."""
    with pytest.raises(GraphInputError, match=r"row 1 \(line 2\): "):
        read_task(write(tmp_path / "a.csv", f"smiles\n{smiles}\n"))
    assert capfd.readouterr().err == ""


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
