"""npz files: round trip, small integer types, damage, all-or-nothing writing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sekgnn.errors import GraphInputError
from sekgnn.graphs import cycle_graph, path_graph, write_npz
from sekgnn.graphs.npz import read_npz


@pytest.mark.parametrize(("n", "dtype"), [(128, np.int8), (129, np.int16)])
def test_ids_are_stored_small_and_read_whole(
    tmp_path: Path, n: int, dtype: type
) -> None:
    many = [cycle_graph(n)] * 400  # the union has ids far beyond the small type
    write_npz(tmp_path / "a.npz", many)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert file["edge_index"].dtype == dtype
    assert read_npz(tmp_path / "a.npz") == many


def test_writing_is_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.npz"
    write_npz(file, [path_graph(2)])
    with file.open("rb") as reader:  # whoever reads the old file goes on doing so
        old = file.read_bytes()
        write_npz(file, [path_graph(3)])
        assert reader.read() == old

    def fail(target: Any, **arrays: Any) -> None:
        target.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        write_npz(file, [path_graph(4)])
    assert read_npz(file) == [path_graph(3)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]


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
        ({"edge_ptr": [0, 2, 1]}, "edge_ptr must not decrease"),
        ({"node_ptr": [0, 2, 3]}, r"2 graphs.*edge_ptr 1"),
        ({"node_ptr": [0, 1]}, r"graph 0: edge 0 -> 1.*1 nodes"),
        ({"edge_index": [[0.0, 1.0], [1.0, 0.0]]}, "integers"),
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
