"""No file imports code; what a user types does, and is known by its path from then."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Run

from sekgnn.encoding import ENCODINGS
from sekgnn.errors import ConfigError
from sekgnn.estimators import SEKRegressor
from sekgnn.graphs import path_graph
from sekgnn.models import MODELS, save_model
from sekgnn.models.model_file import read_about
from sekgnn.models.options import MODEL_KINDS
from sekgnn.nn import MESSAGES
from sekgnn.parameters import IMPORTED
from sekgnn.training.predictor import Predictor
from sekgnn.wl import EXACT_ENCODINGS, TESTS

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

TRAP = """
import pathlib
from dataclasses import dataclass
import torch
from sekgnn import SubstructureEncoding
from sekgnn.models import register_model
pathlib.Path("sprung").touch()

class Net(torch.nn.Module):
    def __init__(self, in_channels, out_channels, width=1):
        super().__init__()
        self.lift = torch.nn.Linear(in_channels, out_channels)

    def forward(self, b):
        out = b.x.new_zeros(b.num_graphs, b.x.size(1)).index_add(0, b.batch, b.x)
        return self.lift(out)

@register_model("lifted")
class Lifted(Net):
    pass

@dataclass(frozen=True)
class F(SubstructureEncoding):
    channels, length = ("degree",), 1

    def encode_graph(self, graph):
        return graph.degrees[:, None, None]

class Half(torch.nn.Module):
    def __init__(self, channels, num_hops):
        super().__init__()

    def forward(self, z, hops, k):
        return z + hops.sum(z, k) / 2

def mean(z, hops, k):
    return hops.sum(z, k) / hops.sizes(k).clamp(min=1).unsqueeze(1)
"""
SMALL = {"epochs": 1, "data": "data.jsonl", "target": "y", "baseline": False}
OWN: list[dict[str, Any]] = [
    {"model": "trap:Net"},
    {"model": "k-gin", "message": "trap:Half", "hidden_channels": 4},
    {"model": "k-gin", "message": "trap:mean", "hidden_channels": 4},
    {"model": "sek-gin", "encoding": "trap:F", "hidden_channels": 4},
]


class Place:
    """A folder with a module that leaves a trace when it is imported."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, *args: Any) -> Any:
        """Run a command in a process that knows nothing yet, as far as one can."""
        sys.modules.pop("trap", None)
        IMPORTED.clear()
        Path("sprung").unlink(missing_ok=True)
        for registry in (MODELS, MESSAGES, ENCODINGS, TESTS, EXACT_ENCODINGS):
            for name in [n for n in registry if ":" in n or n == "lifted"]:
                registry.forget(name)
        return self._run(*args)

    def refuses(self, own: str, *args: Any) -> None:
        result = self(*args)
        assert result.exit_code == 2, result.output
        assert f"sekgnn --import {own} ..." in " ".join(result.stderr.split())
        assert not Path("sprung").exists() and "trap" not in sys.modules

    def accepts(self, *args: Any) -> None:
        result = self(*args)
        assert result.exit_code == 0, result.output
        assert Path("sprung").exists()


@pytest.fixture
def place(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("trap.py").write_text(TRAP)
    rows = [
        {"edges": [[0, 1]], "num_nodes": 2, "x": [[i], [1]], "y": i} for i in range(20)
    ]
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = dict(MODEL_KINDS)
    yield (here := Place(run))
    here("info", "--help")  # forgets
    assert before == MODEL_KINDS


def path_of(keys: dict[str, Any]) -> str:
    return next(str(value) for value in keys.values() if ":" in str(value))


@pytest.mark.parametrize("keys", OWN, ids=path_of)
def test_files_never_import_code(place: Place, keys: dict[str, Any]) -> None:
    own = path_of(keys)
    Path("x.yaml").write_text(yaml.safe_dump({**SMALL, **keys}))
    train = ["train", "-c", "x.yaml", "-o", "run", "--jobs", 1]
    place.refuses(own, *train)
    assert not Path("run").exists()
    place.accepts("--import", own, *train)
    predict = ["predict", "run", "data.jsonl", "-o", "out.csv"]
    for command in (["evaluate", "run"], predict):
        place.refuses(own, *command)
        place.accepts("--import", own, *command)
    for name in ("record.json", "fold.json"):  # as if it had been interrupted
        Path("run", name).unlink()
    again = ["train", "-c", "run/config.yaml", "-o", "run"]
    place.refuses(own, *again)
    place.accepts("--import", own, *again)
    flags = [
        word for key, value in keys.items()
        for word in (f"--{key.replace('_', '-')}", value)
    ]  # fmt: skip
    typed = ["train", "data.jsonl", "--target", "y", "--epochs", 1, "--no-baseline"]
    place.accepts(*typed, *flags, "-o", "typed")
    for part in ("config.yaml", "predictions.csv"):
        assert Path("typed", part).read_text() == Path("run", part).read_text()


@pytest.mark.parametrize("keys", OWN, ids=path_of)
def test_a_search_never_imports_code(place: Place, keys: dict[str, Any]) -> None:
    pytest.importorskip("optuna")
    own = path_of(keys)
    base = {key: value for key, value in keys.items() if value != own}
    (key,) = keys.keys() - base.keys()
    Path("base.yaml").write_text(yaml.safe_dump({**SMALL, **base}))
    Path("own.yaml").write_text(yaml.safe_dump({**SMALL, **keys}))
    Path("lr.yaml").write_text("lr: [0.1]")
    Path("own-space.yaml").write_text(yaml.safe_dump({key: [own]}))
    for config, space in (("own", "lr"), ("base", "own-space")):
        search = ["search", "-c", f"{config}.yaml", "--space", f"{space}.yaml",
                  "--trials", 1, "-o", f"found-{config}"]  # fmt: skip
        place.refuses(own, *search)
        place.accepts("--import", own, *search)
        place.refuses(own, *search)  # a search that is continued
        place.refuses(own, "train", "-c", f"found-{config}/best.yaml", "-o", "best")


def test_new_processes_know_what_was_named_by_its_path(place: Place) -> None:
    folds = ["train", "data.jsonl", "--target", "y", "--epochs", 1, "--no-baseline",
             "--protocol", "nested", "--folds", 2, "--jobs", 2]  # fmt: skip
    place.accepts(*folds, "--model", "trap:Net", "-o", "run")


def test_fit_imports_what_a_user_typed_and_no_file(place: Place) -> None:
    graphs = [path_graph(n) for n in range(3, 15)]
    place("info", "--help")  # forgets
    typed = SEKRegressor("k-gin", message="trap:mean", hidden_channels=4, epochs=1)
    typed.fit(graphs, list(range(12))).save("own.safetensors")
    assert Path("sprung").exists()
    assert SEKRegressor.load("own.safetensors").predict(graphs).shape == (12,)
    plain = SEKRegressor("gin", hidden_channels=4, epochs=1)
    plain.fit(graphs, list(range(12))).save("plain.safetensors")
    about = read_about("plain.safetensors")
    about["estimator"]["params"]["message"] = "trap:mean"  # for the next fit()
    (model,) = Predictor.load("plain.safetensors").models
    save_model(model, "forged.safetensors", about)
    place("info", "--help")
    with pytest.raises(ConfigError, match="sekgnn --import trap:mean"):
        SEKRegressor.load("forged.safetensors")
    assert not Path("sprung").exists()


def test_what_is_none_of_ours_is_refused(place: Place) -> None:
    Path("other.py").write_text("class Other: pass\n")
    other = ("--import", "other:Other", "train", "data.jsonl", "--target", "y")
    done = place(*other, "--model", "other:Other")
    assert done.exit_code == 2 and "is not a model" in done.stderr
    Path("x.yaml").write_text(yaml.safe_dump({**SMALL, "model": "other:Other"}))
    done = place("--import", "other:Other", "train", "-c", "x.yaml")
    assert done.exit_code == 2 and "is not a model" in done.stderr
    done = place("--import", "trap:Nett", "info")
    assert done.exit_code == 2 and "Did you mean 'Net'?" in done.stderr
    done = place("--import", "no_such_module", "info")
    said = " ".join(done.stderr.split())
    assert done.exit_code == 2 and "cannot import 'no_such_module'" in said
    assert "run from its folder" in said


def test_a_module_registers_names_and_options_reach_the_model(place: Place) -> None:
    """``--import`` of a whole module, for this process and for those it starts."""
    place.accepts("--import", "trap", "info", "--help")
    assert "trap" in IMPORTED and MODELS["lifted"].__name__ == "Lifted"
    train = ["train", "data.jsonl", "--target", "y", "--epochs", 1, "--no-baseline"]
    options = ["--model", "lifted", "-o", "run", "--model-options"]
    wrong = place("--import", "trap", *train, *options, "widt=3")
    assert wrong.exit_code == 2 and "Did you mean 'width'?" in wrong.stderr
    place.accepts("--import", "trap", *train, *options, "width=3")
    assert "width: 3" in Path("run", "config.yaml").read_text()
    refused = place("predict", "run", "data.jsonl")
    assert refused.exit_code == 2 and "Import the module" in refused.stderr
    folds = ["--protocol", "nested", "--folds", 2, "--jobs", 2, "-o", "folds"]
    place.accepts("--import", "trap", *train, "--model", "lifted", *folds)
