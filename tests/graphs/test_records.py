"""One reader for all formats: the right one is chosen, or the error says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.graphs import (
    FORMATS,
    cycle_graph,
    path_graph,
    read_graphs,
    to_graph6,
    write_npz,
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.g6", to_graph6(path_graph(3))),
        ("a.graph6", to_graph6(path_graph(3))),
        ("a.G6", to_graph6(path_graph(3))),
        ("a.txt", to_graph6(path_graph(3))),
        ("a.txt", ">>graph6<<" + to_graph6(path_graph(3))),
        ("a.txt", "# comment\n\n0 1\n1 0\n1 2\n2 1"),
        ("a.txt", "0,1\n1,0\n1,2\n2,1"),
        ("a.txt", "0 1 0.5\n1 0 1\n1 2 1\n2 1 1"),
        ("a.edges", "0 1\n1 0\n1 2\n2 1"),
        ("a.el", "0 1\n1 0\n1 2\n2 1"),
        ("a.edgelist", "0 1\n1 0\n1 2\n2 1"),
        ("a.csv", "id,smiles\n1,CCO"),
        ("a.tsv", "id\tsmiles\n1\tCCO"),
        ("a.smi", "CCO"),
        ("a.jsonl", '{"edges": [[0, 1], [1, 2]], "num_nodes": 3}'),
    ],
)
def test_text_formats(tmp_path: Path, name: str, text: str) -> None:
    if name.endswith(("csv", "tsv", "smi")):
        pytest.importorskip("rdkit")
    (tmp_path / name).write_text(text)
    assert read_graphs(tmp_path / name) == [path_graph(3)]


def test_npz_and_tu(tmp_path: Path) -> None:
    many = [path_graph(3), cycle_graph(4)]
    write_npz(tmp_path / "a.npz", many)
    assert read_graphs(str(tmp_path / "a.npz")) == many
    (tmp_path / "T_A.txt").write_text("1, 2\n2, 1\n")
    (tmp_path / "T_graph_indicator.txt").write_text("1\n1\n2\n")
    assert read_graphs(tmp_path) == [path_graph(2), path_graph(1)]


def test_format_overrides_suffix(tmp_path: Path) -> None:
    file = tmp_path / "a.data"
    file.write_text("Bw\n")
    with pytest.raises(GraphInputError, match=r"from the suffix '\.data'.*\.npz"):
        read_graphs(file)
    assert read_graphs(file, format="graph6") == [cycle_graph(3)]
    with pytest.raises(GraphInputError, match="line 1: expected 'node node'"):
        read_graphs(file, format="edges")
    with pytest.raises(ConfigError, match=r"format must be one of.*mean 'graph6'"):
        read_graphs(file, format="graph")
    assert set(FORMATS) == {"graph6", "edges", "npz", "csr", "smiles", "json", "tu"}


def test_options_are_passed_on(tmp_path: Path) -> None:
    file = tmp_path / "a.edges"
    file.write_text("0 1\n1 1\n")
    with pytest.warns(GraphInputWarning, match="self-loop"):
        assert read_graphs(file, undirected="add") == [path_graph(2)]
    with pytest.raises(GraphInputError, match="self-loop"):
        read_graphs(file, undirected="add", loops="error")
    with pytest.raises(ConfigError, match="undirected"):
        read_graphs(file, undirected="yes")


def test_smiles_options(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    file = tmp_path / "a.csv"
    file.write_text("mol\nCCO\nC1C\n")
    with pytest.raises(GraphInputError, match=r"\['mol'\]"):
        read_graphs(file)
    with pytest.raises(GraphInputError, match="--skip-invalid"):
        read_graphs(file, smiles="mol")
    found = read_graphs(file, smiles="mol", skip_invalid=True)
    assert found == [path_graph(3)]


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(GraphInputError, match="does not exist"):
        read_graphs(tmp_path / "none.g6")
    with pytest.raises(GraphInputError, match="not a TU folder"):
        read_graphs(tmp_path)
    write_npz(tmp_path / "a.npz", [])
    with pytest.raises(GraphInputError, match="no graphs"):
        read_graphs(tmp_path / "a.npz")
    for name in ("a.txt", "a.g6", "a.edges"):
        (tmp_path / name).write_text("\n")
        with pytest.raises(GraphInputError, match="holds no"):
            read_graphs(tmp_path / name)
    (tmp_path / "a.txt").write_text("# nodes: 2\n")
    assert read_graphs(tmp_path / "a.txt")[0].num_nodes == 2
    with pytest.raises(GraphInputError, match="is a folder"):
        read_graphs(tmp_path, format="graph6")
