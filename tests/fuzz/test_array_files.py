"""Graph files, shards and encodings that attackers wrote: refused, or graphs after all.

Their digests are right: whoever writes a file writes its digest, too.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.fuzz.test_hostile_input import COUNT, attack, mutated

from sekgnn.array_file import (
    MANIFEST_FILE,
    line_of,
    read_arrays,
    write_arrays,
    write_manifest,
)
from sekgnn.datasets.node_task import node_task
from sekgnn.datasets.shard_task import shard_task
from sekgnn.encoding.encoder import encode
from sekgnn.encoding.node_ranges import EncodedNodes, RangePlan, encode_graph_file
from sekgnn.encoding.sharded import encode_shards
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    Graph,
    csl_graph,
    graph_file,
    pack_pairs,
    path_graph,
)
from sekgnn.graphs.graph_file import read_graph_file
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.graphs.records import read_records
from sekgnn.graphs.shards import Shards, read_manifest
from sekgnn.models import build_model

WALKS = WalkEncoding(num_shells=1, walk_length=3)
NUMBERS = (-(2**63), -(2**31), -1, 0, 1, 2, 3, 10, 10**6, 2**31 - 1, 2**62, 2**63 - 1)
Arrays = dict[str, NDArray[Any]]


def rewritten(arrays: Arrays, rng: random.Random) -> Arrays:
    """Return arrays of which one has other numbers, another size or another type."""
    out = dict(arrays)
    for _ in range(rng.randint(1, 2)):
        name = rng.choice(sorted(out))
        array = np.array(out[name])
        kind = rng.randrange(8)
        if kind < 3 and array.size and array.dtype.kind in "iufb":
            most = array.size if kind == 0 else 2
            for place in rng.sample(range(array.size), rng.randint(1, most)):
                value = rng.choice(NUMBERS[2:9] if kind else NUMBERS)
                if array.dtype.kind in "iu":
                    limits = np.iinfo(array.dtype)
                    value = min(max(value, int(limits.min)), int(limits.max))
                array.reshape(-1)[place] = value
        elif kind == 3 and array.ndim:
            array = array[: rng.randrange(len(array) + 1)]
        elif kind == 4 and array.ndim:
            array = np.concatenate([array, array[: rng.randint(0, 3)]])
        elif kind == 5:
            other = rng.choice(["i4", "i8", "f4", "f8", "u1", "?", ">i4", ">i8"])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array = array.astype(other) if array.dtype.kind != "U" else array
        elif kind == 6:
            array = array.reshape(1, *array.shape)
        else:
            del out[name]
            if not out:
                return dict(arrays)
            continue
        out[name] = array
    return out


def check_graph(graph: Graph) -> None:
    """See that a graph that was read is one."""
    row, col = graph.edge_index()
    assert Graph.from_edge_index([row, col], graph.num_nodes, loops="error") == graph


def run(*words: str | Path) -> tuple[int, str]:
    """Run the command in a process of its own, which may crash."""
    code = "from sekgnn.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    lines = done.stderr.splitlines(keepends=True)
    output = [line for line in lines if not line.startswith("compiling kernels")]
    return done.returncode, "".join(output)


def hostile_csr(path: Path, indptr: list[int], indices: list[int]) -> Path:
    arrays = {"indptr": np.array(indptr, "i8"), "indices": np.array(indices, "i4")}
    write_arrays(path, graph_file._ABOUT, arrays)
    return path


CSR = [
    ([0, 1, 2], [10**9, -(10**9)]),  # reads far outside
    ([0, 10**9, 2], [1, 0]),
    ([0, 1, 2], [7, 9]),
    ([0, 2, 3, 3], [1, 1, 2]),  # nonsense: a repeat, a loop, one direction
]


@pytest.mark.parametrize(("indptr", "indices"), CSR)
def test_a_hostile_graph_file_is_one_line(
    indptr: list[int], indices: list[int], tmp_path: Path
) -> None:
    """A few hundred bytes; they crashed the process, or gave numbers of nothing."""
    file = hostile_csr(tmp_path / "in.csr", indptr, indices)
    assert file.stat().st_size < 600
    code, output = run("encode", file, "--output", tmp_path / "out.npz")
    assert code == 2 and output.startswith("error: ") and len(output.splitlines()) == 1
    assert "is not a usable graph file" in output
    assert [p.name for p in tmp_path.iterdir()] == ["in.csr"]
    with pytest.raises(GraphInputError, match="not a usable graph file"):
        read_graph_file(file, check=False)


def shards_folder(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    with (folder / "in.jsonl").open("w") as file:
        for n in (3, 1, 5, 4):
            pairs = np.argwhere(np.triu(rng.random((n, n)) < 0.6, 1)).tolist()
            values: dict[str, Any] = {"edges": pairs, "num_nodes": n, "y": n / 3}
            values["x"] = rng.random((n, 2)).round(2).tolist()
            file.write(json.dumps(values) + "\n")
    out = folder / "shards"
    encode_shards(folder / "in.jsonl", out, WALKS, targets=["y"], shard_size=2)
    return out


def resign(folder: Path, number: int, change: Callable[[Arrays], Arrays]) -> None:
    """Change arrays of a shard, its digest, and its line in the manifest."""
    manifest = read_manifest(folder)
    file = folder / manifest["files"][number]["file"]
    header, arrays = read_arrays(file)
    arrays = change({name: np.array(array) for name, array in arrays.items()})
    header["graphs"] = max(0, arrays.get("node_ptr", np.zeros(1)).size - 1)
    write_arrays(file, header, arrays)
    manifest["files"][number] = line_of(read_arrays(file)[0])
    write_manifest(folder, manifest)


def use_shards(folder: Path) -> None:
    """Read a folder as `encode` does, and as training does."""
    for record in read_records(folder):
        check_graph(record.graph)
    task = shard_task(folder)
    packed, arrays = task.read(np.arange(len(task)), ["x", "values"], ["edge_attr"])
    PackedGraphs(packed.node_ptr, packed.indptr, packed.indices)
    assert np.isfinite(encode(packed, WALKS)).all()
    assert len(arrays["values"]) == packed.num_nodes
    assert [task.graphs[i].num_nodes for i in range(len(task))] == task.sizes.tolist()


HOSTILE: dict[str, Callable[[Arrays], Any]] = {
    "indices": lambda arrays: arrays["indices"] + np.int32(10**9),
    "indptr": lambda arrays: np.insert(np.delete(arrays["indptr"], 1), 1, 10**9),
    "node_ptr": lambda arrays: [0, 1, 4],  # nodes of the second graph in the first
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_shard_is_one_line(name: str, tmp_path: Path) -> None:
    folder = shards_folder(tmp_path)
    resign(folder, 0, lambda a: {**a, name: np.array(HOSTILE[name](a))})
    with pytest.raises(GraphInputError, match=r"the shard .* is damaged"):
        use_shards(folder)
    task = shard_task(folder)
    with pytest.raises(GraphInputError, match=r"the shard .* is damaged"):
        task.read(np.arange(2), ["x"], [])
    code, output = run("encode", folder, "--output", tmp_path / "out.npz")
    assert code == 2 and output.startswith("error: ") and len(output.splitlines()) == 1


def test_rewritten_graph_files(tmp_path: Path) -> None:
    """What is accepted is a graph, with a row per node in every array."""
    rng = random.Random(11)
    pairs = csl_graph(7, 2).edge_index().T
    x, y = np.eye(7, 3, dtype=np.float32), np.arange(7) % 2
    made = pack_pairs([pairs], 7, tmp_path / "good.csr", arrays={"x": x, "y": y})
    good = (tmp_path / "good.csr").read_bytes()
    _, arrays = read_arrays(made.path)
    accepted = 0

    def use(path: Path) -> None:
        nonlocal accepted
        file = read_graph_file(path)
        check_graph(file.graph)
        assert {len(a) for a in file.nodes.values()} <= {file.graph.num_nodes}
        encode(file.graph, WALKS)
        if "x" in file.nodes:
            node_task(file)
        accepted += 1

    def contents() -> Any:
        for _ in range(COUNT):
            new = rewritten(arrays, rng)
            write_arrays(tmp_path / "new.csr", graph_file._ABOUT, new)
            yield (tmp_path / "new.csr").read_bytes()

    assert attack(tmp_path / "in.csr", use, contents()) > 0
    assert accepted < COUNT
    small = good[:56] + good[56:].replace(b" " * 4096, b"")
    damaged = (mutated(rng.choice([good, small]), rng) for _ in range(COUNT))
    assert attack(tmp_path / "in.csr", use, damaged) > 0


def test_headers_of_graph_files(tmp_path: Path) -> None:
    """Sizes, types and places that a header may claim."""
    rng = random.Random(12)
    values: list[Any] = [-1, 0, 1, 2**31, 2**62, 2**63, 10**30, 1.5, None, "x"]
    values += [[], {}, [2**62, 4]]
    kinds = ["<i8", ">i8", "<i4", "O", "V0", "<U0", "S0", "m8", "f2", "x", None, 3]
    file = hostile_csr(tmp_path / "good", [0, 1, 2], [1, 0])
    header, _ = read_arrays(file)
    good = file.read_bytes()
    start = 56 + int.from_bytes(good[48:56], "little")

    def changed() -> bytes:
        import hashlib

        faulty = json.loads(json.dumps(header))
        for _ in range(rng.randint(1, 2)):
            array = faulty["arrays"][rng.choice(["indptr", "indices"])]
            if rng.random() < 0.4:
                array["dtype"] = rng.choice(kinds)
            else:
                shape = [rng.choice(values) for _ in range(rng.randint(0, 3))]
                array["shape"] = rng.choice([shape, rng.choice(values)])
        if rng.random() < 0.1:
            faulty[rng.choice(sorted(faulty))] = rng.choice(values)
        text = json.dumps(faulty).encode()
        text += b" " * (-(56 + len(text)) % rng.choice([64, 1]))
        digest = hashlib.sha256(text).digest()
        return (
            good[:16] + digest + len(text).to_bytes(8, "little") + text + good[start:]
        )

    def use(path: Path) -> None:
        for check in (True, False):
            graph = read_graph_file(path, check=check).graph
            check_graph(graph)
            encode(graph, WALKS)

    contents = (changed() for _ in range(COUNT))
    assert attack(tmp_path / "in.csr", use, contents) > 0


def test_rewritten_shards(tmp_path: Path) -> None:
    rng = random.Random(13)
    folder = shards_folder(tmp_path)
    good = tmp_path / "good"
    shutil.copytree(folder, good)
    tried = 0

    def use(path: Path) -> None:
        nonlocal tried
        shutil.copytree(good, folder, dirs_exist_ok=True)
        resign(folder, rng.randrange(2), lambda arrays: rewritten(arrays, rng))
        tried += 1
        use_shards(folder)

    contents = (b"" for _ in range(COUNT))
    assert attack(tmp_path / "shards.count", use, contents) == tried > 0


def test_damaged_shards(tmp_path: Path) -> None:
    rng = random.Random(14)
    folder = shards_folder(tmp_path)
    file = folder / read_manifest(folder)["files"][0]["file"]
    good = file.read_bytes()
    contents = (mutated(good, rng) for _ in range(COUNT))
    assert attack(file, lambda path: use_shards(folder), contents) > 0


def test_rewritten_encodings_of_nodes(tmp_path: Path) -> None:
    rng = random.Random(15)
    graph = path_graph(9)
    file = pack_pairs([graph.edge_index().T], 9, tmp_path / "g.csr")
    plan = RangePlan(WALKS, range_numbers=4 * WALKS.num_features)
    encode_graph_file(file, plan, tmp_path / "out")
    shard = sorted((tmp_path / "out").glob("*.arrays"))[1]
    header, arrays = read_arrays(shard)
    about = {k: v for k, v in header.items() if k not in ("arrays", "sha256")}
    good = shard.read_bytes()
    manifest = tmp_path / "out" / MANIFEST_FILE
    content = manifest.read_bytes()

    def sign(file: Path) -> None:
        lines = json.loads(content)
        lines["files"][1]["sha256"] = read_arrays(file)[0]["sha256"]
        write_manifest(tmp_path / "out", lines)

    def use(path: Path) -> None:
        encoded = EncodedNodes(tmp_path / "out")
        assert encoded[np.arange(9)].shape == (9, *encoded.shape[1:])
        encoded.standard_error(np.arange(9))

    def contents() -> Any:
        for _ in range(COUNT):
            held = {name: np.array(array) for name, array in arrays.items()}
            write_arrays(tmp_path / "new", about, rewritten(held, rng))
            sign(tmp_path / "new")
            yield (tmp_path / "new").read_bytes()

    assert attack(shard, use, contents()) > 0
    shard.write_bytes(good)
    attack(manifest, use, (mutated(content, rng) for _ in range(COUNT)))


def test_graphs_of_a_model_file_are_checked() -> None:
    """Those of kernel machines are buffers, and compared with by kernels."""
    model: Any = build_model({"model": "wl", "in_channels": 1, "out_channels": 1})
    model.node_ptr, model.indptr = torch.tensor([0, 2]), torch.tensor([0, 1, 2])
    model.indices = torch.tensor([10**9, -(10**9)], dtype=torch.int32)
    model.x = torch.zeros(2, 1)
    with pytest.raises(GraphInputError, match="not a node of its graph"):
        _ = model.graphs
    model.indices = torch.tensor([1, 0], dtype=torch.int32)
    assert len(model.graphs) == 1
    model.x = model.x[:1]
    with pytest.raises(GraphInputError, match="x must be"):
        _ = model.graphs


def test_files_of_an_earlier_version_name_the_cure(tmp_path: Path) -> None:
    (tmp_path / "g.csr").write_bytes(b"sekgnn graph\n   " + bytes(1000))
    with pytest.raises(GraphInputError, match="pack it again"):
        read_graph_file(tmp_path / "g.csr")
    folder = shards_folder(tmp_path)
    old = {"format": "sekgnn shards", "format_version": 1, "complete": True}
    (folder / MANIFEST_FILE).write_text(json.dumps(old))
    for use in (
        Shards,
        EncodedNodes,
        lambda to: encode_shards(tmp_path / "in.jsonl", to, WALKS),
    ):
        with pytest.raises(GraphInputError, match="encode again"):
            use(folder)
