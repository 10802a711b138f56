"""``sekgnn graph`` and ``sekgnn encode`` on the file it makes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from sekgnn import WalkEncoding, encode
from sekgnn.encoding.node_ranges import EncodedNodes
from sekgnn.graphs import read_graph_file

from .conftest import Run


def test_pack_show_and_encode(run: Run, tmp_path: Path) -> None:
    """From a list of edges to encodings in a folder, and in a file with errors."""
    source, file = tmp_path / "edges.txt", tmp_path / "graph.csr"
    source.write_text("0 1\n1 2\n2 0\n2 3\n")
    np.save(tmp_path / "y.npy", np.array([0, 1, 1, 0]))
    np.savez(tmp_path / "masks.npz", train_mask=np.array([1, 1, 0, 0], dtype=bool))
    arrays = (f"y={tmp_path / 'y.npy'}", tmp_path / "masks.npz")
    rules = ("--undirected", "add")
    done = run("graph", "pack", source, file, *rules, "--arrays", *arrays)
    assert done.exit_code == 0 and "4 nodes, 4 edges" in done.output
    shown = json.loads(run("graph", "show", file, "--json").stdout)
    assert shown["arrays"] == {"train_mask": "bool [4]", "y": "int64 [4]"}
    walks = ("--num-shells", 1, "--walk-length", 3)
    assert run("encode", file, "--output", tmp_path / "e", *walks).exit_code == 0
    encoding = WalkEncoding(num_shells=1, walk_length=3)
    expected = encode(read_graph_file(file).graph, encoding)
    found = EncodedNodes(tmp_path / "e")[range(4)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    out = tmp_path / "e.npz"
    more = ("--backend", "sampled", "--num-walks", 4000)
    assert run("encode", file, "--output", out, *walks, *more).exit_code == 0
    with np.load(out) as saved:
        values, errors = np.split(saved["values"], 2, axis=1)
        assert saved["channels"][4].endswith("standard error")
    assert (np.abs(values - expected) <= 5 * errors + 1e-12).all()
