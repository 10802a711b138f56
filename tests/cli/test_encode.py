"""``sekgnn encode`` writes what the library computes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.small_graphs import write_npz

from sekgnn.encoding import encoding_file
from sekgnn.encoding.encoder import encode_many
from sekgnn.encoding.substructure import encoding_from_dict
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.graphs import (
    path_graph,
    read_graphs,
)

from .conftest import Run


@pytest.mark.parametrize(
    ("args", "encoding"),
    [
        ((), WalkEncoding()),
        (("--num-shells", 2, "--walk-length", 5), WalkEncoding(2, 5)),
        (("--preset", "paper"), WalkEncoding.paper()),
        (
            ("--preset", "paper", "--num-shells", 2),
            WalkEncoding(2, 32, aggregate="landing", merge="parts"),
        ),
        (
            ("--scope", "graph", "internal", "--radius", 1, "--radius", 2),
            WalkEncoding(scope=("graph", "internal"), radius=(1, 2)),
        ),
        (
            ("--scope", "ego", "--aggregate", "mean", "--merge", "mean"),
            WalkEncoding(scope="ego", aggregate="mean", merge="mean"),
        ),
        (("--no-self-loops", "--backend", "dense"), WalkEncoding(self_loops=False)),
        (
            ("--no-self-loops", "--self-loops", "--scope", "graph", "ego"),
            WalkEncoding(self_loops=(False, True), scope=("graph", "ego")),
        ),
        (
            ("--first-step", 0, "--shell-sizes", 9),
            WalkEncoding(first_step=0, shell_sizes=9),
        ),
        (("--aggregate", "moments"), WalkEncoding(aggregate="moments")),
        (
            ("--encoding", "walks", "--encoding-options", "merge=parts", "radius=null"),
            WalkEncoding(merge="parts"),
        ),
    ],
)
def test_npz_holds_the_librarys_values(
    run: Run, g6: Path, tmp_path: Path, args: tuple[object, ...], encoding: WalkEncoding
) -> None:
    output = tmp_path / "out.npz"
    result = run("encode", g6, "--output", output, *args, code=0)
    assert result.stderr == ""
    graphs = read_graphs(g6)
    with np.load(output, allow_pickle=False) as file:
        assert set(file.files) == {"values", "node_ptr", "channels", "encoding"}
        expected = np.concatenate(encode_many(graphs, encoding))
        np.testing.assert_allclose(file["values"], expected, atol=1e-13)
        assert file["values"].dtype == np.float64
        assert file["node_ptr"].tolist() == [0, 4, 13, 24]
        assert tuple(file["channels"].tolist()) == encoding.channels
        assert encoding_from_dict(json.loads(str(file["encoding"]))) == encoding


@pytest.mark.parametrize("first_step", [0, 1])
def test_parquet_holds_one_row_per_node(
    run: Run, g6: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_step: int
) -> None:
    monkeypatch.setattr(encoding_file, "ROW_GROUP_NUMBERS", 200)
    output = tmp_path / "out.parquet"
    encoding = WalkEncoding(2, 3, first_step=first_step)
    args = ("--num-shells", 2, "--walk-length", 3, "--first-step", first_step)
    run("encode", g6, "-o", output, *args, code=0)
    expected = np.concatenate(encode_many(read_graphs(g6), encoding))
    file = pq.ParquetFile(output)
    assert file.num_row_groups > 2
    table = file.read()
    assert table.column("graph").to_pylist() == [0] * 4 + [1] * 9 + [2] * 11
    assert table.column("node").to_pylist() == [*range(4), *range(9), *range(11)]
    names = [
        f"{channel}/{t}" for channel in encoding.channels for t in range(first_step, 4)
    ]
    assert table.column_names == ["graph", "node", *names]
    values = np.stack([table.column(name).to_numpy() for name in names], axis=1)
    np.testing.assert_allclose(values.reshape(expected.shape), expected, atol=1e-13)
    metadata = table.schema.metadata[b"sekgnn.encoding"]
    assert encoding_from_dict(json.loads(metadata)) == encoding


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_pieces_make_no_difference(
    run: Run, g6: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    whole, cut = tmp_path / f"whole{suffix}", tmp_path / f"cut{suffix}"
    assert run("encode", g6, "-o", whole).exit_code == 0
    monkeypatch.setattr(encoding_file, "PIECE_NUMBERS", 1)
    assert run("encode", g6, "-o", cut).exit_code == 0
    if suffix == ".npz":
        np.testing.assert_array_equal(np.load(whole)["values"], np.load(cut)["values"])
    else:
        assert pq.read_table(whole).equals(pq.read_table(cut))


def test_json_is_one_object(run: Run, g6: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.npz"
    result = run("encode", g6, "-o", output, "--dtype", "float32", "--json", code=0)
    said = json.loads(result.stdout)
    encoding = WalkEncoding()
    assert said["graphs"] == 3
    assert said["nodes"] == 24
    assert said["edges"] == 3 + 18 + 22
    assert said["channels"] == list(encoding.channels)
    assert said["length"] == 16
    assert said["shape"] == [24, 10, 16] == list(np.load(output)["values"].shape)
    assert said["dtype"] == "float32" == str(np.load(output)["values"].dtype)
    assert encoding_from_dict(said["encoding"]) == encoding
    assert said["seconds"] > 0
    assert said["total_seconds"] >= said["seconds"]
    assert said["graphs_per_second"] == pytest.approx(3 / said["seconds"])
    assert said["output"] == str(output)
    assert said["skipped"] == []


def test_summary_and_quiet(run: Run, g6: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.npz"
    result = run("encode", g6, "-o", output)
    assert "encoded 3 graphs (24 nodes, 43 edges)" in result.stdout
    assert f"wrote {output}" in result.stdout
    assert " graphs per second, " in result.stdout
    result = run("encode", g6, "-o", output, "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_other_inputs(run: Run, tmp_path: Path) -> None:
    """Options of reading arrive; what is in each format is in ``tests/graphs``."""
    folder = tmp_path / "tu"
    folder.mkdir()
    (folder / "T_A.txt").write_text("1, 2\n2, 1\n")
    (folder / "T_graph_indicator.txt").write_text("1\n1\n2\n")
    (tmp_path / "in.edges").write_text("# nodes: 3\n0 1\n")
    (tmp_path / "in.data").write_text("Bw\n")
    output = tmp_path / "out.npz"
    for source, extra, node_ptr in [
        ("tu", [], [0, 2, 3]),
        ("in.edges", ["--undirected", "add"], [0, 3]),
        ("in.data", ["--format", "graph6"], [0, 3]),
    ]:
        run("encode", tmp_path / source, "-o", output, *extra, code=0)
        assert np.load(output)["node_ptr"].tolist() == node_ptr


def test_graphs_without_nodes_or_edges(run: Run, tmp_path: Path) -> None:
    write_npz(tmp_path / "in.npz", [path_graph(0), path_graph(1), path_graph(0)])
    for suffix in (".npz", ".parquet"):
        output = tmp_path / f"out{suffix}"
        result = run("encode", tmp_path / "in.npz", "-o", output, code=0)
    assert np.load(tmp_path / "out.npz")["node_ptr"].tolist() == [0, 0, 1, 1]
    assert pq.read_table(tmp_path / "out.parquet").column("graph").to_pylist() == [1]
    write_npz(tmp_path / "in.npz", [path_graph(0)])
    result = run("encode", tmp_path / "in.npz", "-o", tmp_path / "out.npz", code=0)
    assert "encoded 1 graph (0 nodes, 0 edges)" in result.stdout
    assert np.load(tmp_path / "out.npz")["values"].shape == (0, 10, 16)


def test_self_loops_are_a_note(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "in.edges"
    source.write_text("0 1\n1 0\n1 1\n")
    result = run("encode", source, "-o", tmp_path / "out.npz", code=0)
    assert result.stderr.startswith("note: ")
    assert "self-loop" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Warning" not in result.output


def test_invalid_smiles_can_be_left_out(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    source = tmp_path / "in.csv"
    source.write_text("smiles\nCCO\nC1C\nCC\n")
    output = tmp_path / "out.npz"
    result = run("encode", source, "-o", output, "--skip-invalid", code=0)
    assert "note: left out 1 SMILES" in result.stderr
    assert "row 2 (line 3): 'C1C'" in result.stderr
    assert np.load(output)["rows"].tolist() == [1, 3]
    assert np.load(output)["node_ptr"].tolist() == [0, 3, 5]
    result = run("encode", source, "-o", output, "--skip-invalid", "--json")
    skipped = json.loads(result.stdout)["skipped"]
    assert skipped == [{"row": 2, "line": 3, "smiles": "C1C"}]
    table = tmp_path / "out.parquet"
    assert run("encode", source, "-o", table, "--skip-invalid").exit_code == 0
    assert pq.read_table(table).column("row").to_pylist() == [1, 1, 1, 3, 3]
