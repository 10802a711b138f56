"""The paper's room is written at public doors, and known before it is loaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import sekgnn.paper
from sekgnn.datasets import DATASETS, GraphTask, networkx_task, register_dataset
from sekgnn.errors import ConfigError
from sekgnn.models import MODELS
from sekgnn.models.options import MODEL_KINDS
from sekgnn.training.config import RunConfig
from sekgnn.training.data import load_data

ROOM = Path(sekgnn.paper.__file__).parent
LOADED = "print(sorted(m for m in sys.modules if m.startswith('sekgnn.paper.')))"


def loaded(*codes: str) -> list[list[str]]:
    """Return the modules of the room that a new process has after each code."""
    code = "\n".join(["import sys", *(line for c in codes for line in (c, LOADED))])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    lines = map(ast.literal_eval, done.stdout.splitlines())
    return [[name.rpartition(".")[2] for name in line] for line in lines]


def private(tree: ast.AST) -> Iterator[str]:
    """Yield the names with an underscore that a module takes from other rooms."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            if names[0] == "sekgnn" and names[1:2] != ["paper"]:
                yield from (name for name in names if name.startswith("_"))


def test_no_private_name_is_used() -> None:
    private_names = {
        path.name: names
        for path in sorted(ROOM.glob("*.py"))
        if (names := [*private(ast.parse(path.read_text("utf-8")))])
    }
    assert private_names == {}
    evil = "from sekgnn.nn.sparse_sum import csr_sum, _any_device_sum"
    assert [*private(ast.parse(evil))] == ["_any_device_sum"]


def test_every_described_model_is_registered_at_its_home() -> None:
    homes = dict(MODELS.homes)
    assert set(homes) <= set(MODELS) and set(homes) <= set(MODEL_KINDS)
    for name, home in homes.items():
        cls: Any = MODELS[name]
        assert cls.__module__ == home and cls.name == name


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    """A model of the core loads none of the paper's; a listing its catalogue alone."""
    build = "sekgnn.build_model({'model': '%s', 'in_channels': 1, 'out_channels': 1})"
    *light, last = loaded(
        "import sekgnn.encoding.encoder, sekgnn.wl",
        "from sekgnn.models.options import model_facts\nmodel_facts()",
        build % "gin",
        build % "graphsnn",
    )
    assert light == [[], ["kinds"], ["kinds"]]
    assert "baselines" in last and not {"kernel_machine", "recipes"} & {*last}


def test_a_dataset_of_your_own_is_known_by_name() -> None:
    @register_dataset("rings")
    def rings(target: Sequence[str], *, seed: int, **more: Any) -> GraphTask:
        assert more == {"generated": False, "data_root": None}
        sizes = [seed + n for n in range(3, 9)]
        return networkx_task([nx.cycle_graph(n) for n in sizes], sizes)

    try:
        data = load_data(RunConfig(data="Rings", data_seed=2))
        assert data.name == "rings" and list(data.sizes) == [5, 6, 7, 8, 9, 10]
        with pytest.raises(ConfigError, match="taken"):
            register_dataset("rings")(len)
        with pytest.raises(ConfigError, match="taken"):
            register_dataset("counting")(len)
    finally:
        DATASETS.forget("rings")
    with pytest.raises(ConfigError, match="rings"):
        load_data(RunConfig(data="rings"))


def test_a_name_in_a_file_imports_nothing(tmp_path: Path) -> None:
    """Neither a dataset nor a model that has the form of an import path."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    loaded(f"""
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.training.config import RunConfig
from sekgnn.training.training import Training
sys.path.insert(0, {str(tmp_path)!r})
for keys in ({{"data": "evil:f"}}, {{"data": "counting", "model": "evil:Net"}}):
    try:
        Training(RunConfig.from_dict(keys | {{"target": ["triangle"]}}))
    except (ConfigError, GraphInputError):
        assert "evil" not in sys.modules
    else:
        raise AssertionError("it was taken")
""")
