"""Sizes that input claims are compared with what is there before memory is taken."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sekgnn.checks
from sekgnn.checks import check_memory, free_bytes
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.records import read_records

MANY = 2_000_000_000


def test_free_memory_is_known_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    free = free_bytes()
    assert free is None or 2**20 < free < 2**50
    monkeypatch.setattr(sekgnn.checks, "free_bytes", lambda: 10 << 30)
    check_memory(9 << 30, "it")
    with pytest.raises(ConfigError, match=r"it needs about 9.5 GiB, and 10.0 GiB are"):
        check_memory(19 << 29, "it", "take less", ConfigError)


def unpacked_zeros(path: Path, size: int) -> None:
    """Write an npz of edges 0 - 0 that takes ``size`` bytes once it is unpacked."""
    shape = (2, size // 16)
    header = io.BytesIO()
    about = {"descr": "<i8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, about)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with file.open("edge_index.npy", "w", force_zip64=True) as member:
            member.write(header.getvalue())
            for _ in range(size >> 24):
                member.write(bytes(1 << 24))
        for key, values in (("edge_ptr", [0, shape[1]]), ("node_ptr", [0, 2])):
            content = io.BytesIO()
            np.save(content, np.array(values))
            file.writestr(f"{key}.npy", content.getvalue())


def test_small_files_that_claim_much_are_refused(tmp_path: Path) -> None:
    """Each would take 16 GiB or more; none takes what a test could notice."""
    (tmp_path / "id.edges").write_text(f"0 1\n1 0\n0 {MANY}\n{MANY} 0\n")
    (tmp_path / "count.edges").write_text(f"# nodes: {MANY}\n0 1\n1 0\n")
    line = {"edges": [[0, 1]], "num_nodes": MANY}
    (tmp_path / "line.jsonl").write_text(json.dumps(line))
    arrays = {"edge_index": [[0, 1], [1, 0]], "edge_ptr": [0, 2], "node_ptr": [0, MANY]}
    nodes: dict[str, Any] = {key: np.array(value) for key, value in arrays.items()}
    np.savez(tmp_path / "nodes.npz", **nodes)
    (tmp_path / "tu").mkdir()
    (tmp_path / "tu" / "X_A.txt").write_text("1, 2\n2, 1\n")
    (tmp_path / "tu" / "X_graph_indicator.txt").write_text(f"1\n1\n{MANY}\n")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(GraphInputError, match="are claimed"):
            list(read_records(path))


def test_an_npz_that_unpacks_to_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sekgnn.graphs.packed._MOST_UNPACKED", 1 << 24)
    unpacked_zeros(tmp_path / "zeros.npz", 1 << 26)
    with pytest.raises(GraphInputError, match="zeros"):
        list(read_records(tmp_path / "zeros.npz"))
