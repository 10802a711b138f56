"""npz files: wrong arrays, damage, known datasets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.small_graphs import write_npz

from sekgnn.errors import GraphInputError
from sekgnn.graphs import cycle_graph
from sekgnn.graphs.packed import read_npz

GOOD: dict[str, Any] = {
    "edge_index": [[0, 1], [1, 0]],
    "edge_ptr": [0, 2],
    "node_ptr": [0, 2],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_ptr": None}, r"lacks edge_ptr.*edge_index, node_ptr"),
        ({"edge_ptr": [0, 3]}, "edge_ptr ends at 3"),
        ({"edge_index": [[0, 1], [1, 1]]}, "0 -> 1 without 1 -> 0 of graph 0|self"),
        ({"edge_index": np.array([[None] * 2] * 2)}, "not a readable"),
    ],
)
def test_wrong_arrays(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    file = tmp_path / "a.npz"
    arrays = {k: v for k, v in (GOOD | change).items() if v is not None}
    np.savez(file, **arrays)
    with pytest.raises(GraphInputError, match=rf"a\.npz.*{message}"):
        read_npz(file, loops="error")


def test_damaged_files(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    write_npz(file, [cycle_graph(50)] * 20)
    content = file.read_bytes()
    middle = bytearray(content)
    middle[80:90] = b"0123456789"
    file.write_bytes(middle)
    with pytest.raises(GraphInputError, match=r"a\.npz.*readable"):
        read_npz(file)
    rng = np.random.default_rng(0)
    for _ in range(300):  # any byte may be wrong: an error of ours, or no harm done
        noisy = bytearray(content)
        noisy[rng.integers(len(content))] = rng.integers(256)
        file.write_bytes(noisy)
        try:
            assert read_npz(file) == [cycle_graph(50)] * 20
        except GraphInputError:
            pass
    with file.open("wb") as single:
        np.save(single, np.zeros(3))
    with pytest.raises(GraphInputError, match="holds no named arrays"):
        read_npz(file)


@pytest.mark.dataset
@pytest.mark.parametrize(
    ("name", "count", "nodes", "arcs"),
    [
        ("exp/exp.npz", 1200, 44.45, 110.2),
        ("exp/cexp.npz", 1200, 55.78, 139.6),
        ("counting/counting.npz", 5000, 18.8, 62.68),
        ("graph_property/train.npz", 5120, 19.5, 101.087),
    ],
)
def test_known_statistics(name: str, count: int, nodes: float, arcs: float) -> None:
    root = os.environ.get("SEKGNN_DATA")
    if not root or not (Path(root) / name).is_file():
        pytest.skip(f"SEKGNN_DATA is unset or lacks {name}")
    many = read_npz(Path(root) / name)
    assert len(many) == count
    assert np.mean([g.num_nodes for g in many]) == pytest.approx(nodes, abs=0.05)
    assert np.mean([2 * g.num_edges for g in many]) == pytest.approx(arcs, abs=0.05)
