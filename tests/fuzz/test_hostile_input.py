"""Thousands of damaged and hostile inputs: each is read, or refused in one line.

A seed and a number make an input, so that a failure can be had again:
``SEKGNN_FUZZ=5000 pytest tests/fuzz`` tries that many of every kind (``make fuzz``).
"""

from __future__ import annotations

import csv
import json
import os
import random
import resource
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

import numpy as np
import pytest
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from tests.models.helpers import make
from tests.models.test_model_file import FITTED, bare
from tests.reports.run_records import holdout
from tests.small_graphs import write_npz

from sekgnn.errors import ConfigError, GraphInputError, ModelFileError
from sekgnn.files import atomic_path
from sekgnn.graphs import ReadOptions, csl_graph, path_graph, to_graph6
from sekgnn.graphs.molecules import (
    depict,
    descriptors_of,
    labelled_from_smiles,
    morgan_counts,
    scaffold,
)
from sekgnn.graphs.records import read_records
from sekgnn.graphs.table import Row
from sekgnn.models import load_models, save_model
from sekgnn.models import model_file as model_files
from sekgnn.training.config import RunConfig
from sekgnn.training.run_record import RunRecord
from sekgnn.training.settings import load_config
from sekgnn.training.space import load_space
from sekgnn.training.splits import read_split

COUNT = int(os.environ.get("SEKGNN_FUZZ", "60"))
SECONDS = 20  # for one input, on a busy machine
BUDGET = 4.0 if COUNT <= 60 else 3600.0  # seconds for one kind
GROWTH = 1 << 20  # KiB of memory that one kind may take: 1 GiB
Read = Callable[[Path], object]
EXPECTED = (ConfigError, GraphInputError, ModelFileError)

HOSTILE = (
    *("9" * n for n in (10, 19, 20, 400, 5000)),
    *("[" * n for n in (3, 2000)),
    *("{a: " * n for n in (1, 2000)),
    *("-1", "0", "1e39", "1e400", "-1e400", "nan", "inf", "2147483647", "2147483648"),
    *("9223372036854775807", "9223372036854775808", "0x" + "f" * 400, "1_0", "٣"),
    *("&a [*a]", "*a", "!!int ''", "2020-13-45", "!!python/name:os.system", "<<: *a"),
    *("\x00", "\x1b[2J", "\r", "\n", "\u2028", "\ufeff", "\ud7ff", "é", "'", '"'),
    *(",", ":", "{}", "[]", "null", "true", "NaN", "# nodes: 2000000000", "%", "~"),
)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Return a few changes of a good input."""
    out = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        position = rng.randrange(len(out) + 1)
        kind = rng.randrange(7)
        if kind == 0 and out:
            out[position % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del out[position:]
        elif kind == 2:
            del out[position : position + rng.randint(1, 20)]
        elif kind == 3:
            out[position:position] = out[position : position + rng.randint(1, 200)]
        elif kind == 4:
            out[position:position] = rng.randbytes(rng.randint(1, 8))
        elif kind == 5:
            out[position:position] = rng.choice(HOSTILE).encode(
                "utf-8", "surrogatepass"
            )
        else:  # a value becomes another one
            text = rng.choice(HOSTILE).encode("utf-8", "surrogatepass")
            out[position : position + rng.randint(1, 6)] = text
    return bytes(out)


def records(path: Path) -> None:
    for _ in read_records(path):
        pass


def run_record(path: Path) -> None:
    found = RunRecord.load(path)
    found.to_json(), found.baseline_sentence(), found.headline.value + 0.0


def resigned(content: bytes, rng: random.Random) -> bytes:
    """Return a model file whose config is changed, and signed again."""
    weights = load_tensors(content)
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])["__metadata__"]
    values = json.loads(header["config"])
    for _ in range(rng.randint(1, 3)):
        place = rng.choice([values, values.get("encoding") or values])
        place[rng.choice(sorted(place))] = rng.choice(
            [0, -1, 10**6, 10**9, 10**30, 1e300, None, "x", [], [[]], {}, True, [10**9]]
        )
        if not isinstance(values.get("encoding", {}), dict):
            break
    header["config"] = json.dumps(values)
    header["sha256"] = model_files._digest(header, weights)
    return save_tensors(weights, header)


def good_inputs(folder: Path) -> dict[str, tuple[bytes, Read]]:
    """Return a good input of every kind, by its file's name, and what reads it."""
    graphs = [path_graph(4), csl_graph(11, 3)]
    write_npz(folder / "npz", graphs)
    save_model(make("SEKGIN"), folder / "model", {"a": 1})
    RunRecord.save(holdout(), folder)
    lines = [
        {"edges": [[0, 1], [1, 2]], "num_nodes": 3, "x": [[1], [2], [0.5]], "y": n}
        for n in range(4)
    ]
    parts = {"train": [*range(20)], "val": [20, 21], "test": [22, 23]}
    space = "num_hops: [1, 2]\nlr: {low: 1.0e-4, high: 0.1, log: true}\n"
    space += "hidden_channels: {of: num_hops, values: {1: 8, 2: 4}}\n"
    keys = "epochs: 3\nlr: 0.01\nscope: [graph, internal]\nmodel_options: {a: [1]}\n"
    return {
        "in.g6": ("".join(f"{to_graph6(g)}\n" for g in graphs).encode(), records),
        "in.edges": (b"# nodes: 5\n0 1\n1 0\n1 2 0.5\n2 1 0.5\n", records),
        "in.npz": ((folder / "npz").read_bytes(), records),
        "in.jsonl": ("\n".join(map(json.dumps, lines)).encode(), records),
        "config.yaml": (keys.encode(), lambda path: load_config(path, {})),
        "space.yaml": (space.encode(), lambda path: load_space(path).size),
        "split.json": (json.dumps(parts).encode(), lambda path: read_split(path, 30)),
        "record.json": ((folder / "record.json").read_bytes(), run_record),
        "in.safetensors": ((folder / "model").read_bytes(), load_models),
    }


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, Read]]:
    return good_inputs(tmp_path_factory.mktemp("good"))


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    """Stop at an input that takes too long, or a kind that takes too much memory."""

    def late(number: int, frame: FrameType | None) -> NoReturn:
        raise TimeoutError(f"more than {SECONDS} s for one input")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    handler = signal.signal(signal.SIGALRM, late)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < GROWTH


def attack(
    path: Path, read: Read, contents: Iterator[bytes], budget: float = BUDGET
) -> int:
    """Read every content; return how many were tried within ``budget`` seconds."""
    begin, tried = time.monotonic(), 0
    for number, content in enumerate(contents):
        path.write_bytes(content)
        signal.alarm(SECONDS)
        try:
            read(path)
        except EXPECTED as error:
            listed = "cannot be read by rdkit" in str(error)  # a line for each of some
            one_line = len(str(error).splitlines()) == 1
            assert one_line or listed, (str(error), content[:300])
        except Exception as error:  # a traceback for the user
            raise AssertionError((path.name, number, content[:2000])) from error
        finally:
            signal.alarm(0)
        tried += 1
        if time.monotonic() - begin > budget:
            break
    print(f"{path.name}: {tried} tried")  # shown by pytest -rP
    return tried


KINDS = (
    "in.g6", "in.edges", "in.npz", "in.jsonl", "config.yaml", "space.yaml",
    "split.json", "record.json", "in.safetensors",
)  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_damaged_files(
    name: str, inputs: dict[str, tuple[bytes, Read]], tmp_path: Path
) -> None:
    good, read = inputs[name]
    rng = random.Random(f"{name} 1")
    contents = (mutated(good, rng) for _ in range(COUNT))
    assert attack(tmp_path / name, read, contents) > 0


@pytest.mark.parametrize("name", ["SEKGIN", "Ridge", "pna", "forest", "wl", "retgk"])
def test_signed_model_files(name: str, tmp_path: Path) -> None:
    file = tmp_path / "in.safetensors"
    save_model(bare(name) if name in FITTED else make(name), file, {"a": 1})
    good = file.read_bytes()
    rng = random.Random(f"{name} 2")
    contents = (resigned(good, rng) for _ in range(COUNT))
    assert attack(file, load_models, contents) > 0


def test_damaged_tu_folders(tmp_path: Path) -> None:
    parts = {
        "A": b"1, 2\n2, 1\n3, 4\n4, 3\n",
        "graph_indicator": b"1\n1\n2\n2\n",
        "graph_labels": b"0\n1\n",
        "node_labels": b"1\n2\n1\n1\n",
        "edge_labels": b"1\n1\n0\n0\n",
        "node_attributes": b"1, 0.5\n2, 1e3\n-1, 0\n0, 0\n",
    }
    rng = random.Random(3)
    for _ in range(COUNT):
        for part, content in parts.items():
            (tmp_path / f"X_{part}.txt").write_bytes(content)
        part = rng.choice(sorted(parts))
        changed = iter([mutated(parts[part], rng)])
        attack(tmp_path / f"X_{part}.txt", lambda p: records(p.parent), changed, 60)


def test_damaged_tables(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    smiles = ["CCO", "c1ccccc1O", "CC(=O)O"]
    text = "smiles,y\n" + "".join(f"{s},{n}\n" for n, s in enumerate(smiles))
    with atomic_path(tmp_path / "good") as draft:
        parquet.write_table(arrow.table({"smiles": smiles, "y": [1.0, 2, 3]}), draft)
    rng = random.Random(4)
    for name, good in (
        ("in.csv", text.encode()),
        ("in.parquet", (tmp_path / "good").read_bytes()),
    ):
        contents = (mutated(good, rng) for _ in range(COUNT))
        attack(tmp_path / name, records, contents)


SMILES = (
    *("CCO", "c1ccccc1O", "CC(=O)[O-].[Na+]", "C[C@H](N)C(=O)O", "F/C=C/F", "[13CH4]"),
    *("*C*", "[H][H]", "C1CC1.[U]", "C->[Pt]", "[CH3:1]C", "C~C", "C$C"),
)
ATOMS = (
    *("[CH999]", "[#200]", "[#0]", "[999C]", "[C+99]", "[C-20]", "[C:99999]", "[Og]"),
    *("[C@TB99]", "[C@OH40]", "[H]", "[D]", "%10", "999", "9" * 11, "[", "]", "(", ")"),
    *("->", ">", "{", ".", "=", "#", "$", "c", "n", "o", "1", "@", "+", "-", ":", "\0"),
)


def test_hostile_smiles(tmp_path: Path) -> None:
    """Each is a bad row, which is left out, or a molecule that has all we ask of it."""
    pytest.importorskip("rdkit")
    rng = random.Random(6)
    written = ["[CH999]", "C[#200]C"]
    while len(written) < 10 * COUNT:
        parts = list(rng.choice(SMILES))
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(parts) + 1)
            parts[place : place + rng.randrange(3)] = rng.choice(ATOMS)
        written.append("".join(parts))
    file = tmp_path / "in.csv"
    for add_hydrogens in (False, True):
        options = ReadOptions(skip_invalid=True, add_hydrogens=add_hydrogens)
        left_out: list[Row] = []
        with file.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([["smiles"], *([text] for text in written)])
        found = list(read_records(file, options, on_invalid=left_out.append))
        assert len(found) + len(left_out) == len(written) and found and left_out
    for number, text in enumerate(record.text or "" for record in found):
        scaffold(text), morgan_counts(text), depict(labelled_from_smiles(text))
        if number % 100 == 0:
            descriptors_of(text)


def test_values_of_configs() -> None:
    """Any plain value under any key is taken or refused."""
    rng = random.Random(5)
    values = [0, -1, 10**9, 10**400, 1e300, np.nan, "", "x", [], [[]], {}, None, True]
    names = sorted(RunConfig().to_dict())
    for _ in range(10 * COUNT):
        chosen = {rng.choice(names): rng.choice(values) for _ in range(2)}
        try:
            RunConfig.from_dict(chosen)
        except ConfigError as error:
            assert str(error), chosen
        except Exception as error:
            raise AssertionError(chosen) from error
