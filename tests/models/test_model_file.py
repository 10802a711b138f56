"""Config round trip; a file is loaded whole and right, or refused."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from tests.models.helpers import VARIANTS, make, suited
from tests.nn.helpers import dressed
from torch.utils._python_dispatch import TorchDispatchMode

from sekgnn.errors import ConfigError, ModelFileError, OutputError
from sekgnn.graphs import petersen_graph
from sekgnn.models import (
    GIN,
    MODELS,
    GraphModel,
    build_model,
    load_model,
    load_models,
    save_model,
)
from sekgnn.paper.kernel_machine import KernelMachine


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_config_and_file_round_trip(name: str, tmp_path: Path) -> None:
    """Through JSON text; the loaded model computes the same bits."""
    model = make(name)
    config = json.loads(json.dumps(model.to_config()))
    again = build_model(config)
    assert type(again) is type(model)
    assert again.to_config() == model.to_config()
    assert repr(again) == repr(model)
    save_model(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert not loaded.training
    (data,) = suited(model, dressed([petersen_graph()]))
    assert torch.equal(loaded(data), model(data))


def test_an_ensemble_in_one_file(tmp_path: Path) -> None:
    """Its members may be of different kinds; what is said of them is sealed too."""
    models = [make("GIN"), make("SEKGIN"), make("GIN")]
    file = tmp_path / "three.safetensors"
    save_model(models[0], file, others=models[1:])
    (data,) = dressed([petersen_graph()])
    for model, again in zip(models, load_models(file), strict=True):
        assert type(again) is type(model)
        assert torch.equal(again(data), model(data))
    with pytest.raises(ModelFileError, match="3 networks of an ensemble"):
        load_model(file)
    rewrite(file, {"others": json.dumps([models[0].to_config()])})
    with pytest.raises(ModelFileError, match="checksum"):
        load_models(file)


def test_every_model_is_among_the_variants() -> None:
    known = {make(name).to_config()["model"] for name in VARIANTS}
    kernels = {name for name in MODELS if issubclass(MODELS[name], KernelMachine)}
    trees = {"forest", "boosting"}
    assert known == set(MODELS) - trees - kernels  # they have laws of their own


def test_the_parameter_count_is_printed() -> None:
    model = GIN(3, 2, hidden_channels=4, num_layers=1, norm="none")
    assert model.num_parameters == (3 * 4 + 4) + (4 * 4 + 4) + 1 + (4 * 2 + 2)
    assert repr(model).endswith("# 47 parameters")
    assert "hidden_channels=4" in repr(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "sek-gim"}, "Did you mean 'sek-gin'"),
        ({"hidden": 3}, "'hidden'"),
        ({"in_channels": None}, "in_channels"),
        ({"encoding": {"encoding": "walks", "shells": 2}}, "has no parameter"),
        ({"out_channels": ..., "encoding": ...}, "out_channels, encoding"),
    ],
)
def test_bad_configs_are_refused(change: dict[str, Any], message: str) -> None:
    config = {**make("SEKGIN").to_config(), **change}
    config = {key: value for key, value in config.items() if value is not ...}
    with pytest.raises(ConfigError, match=message):
        build_model(config)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    save_model(make("SEKGIN"), path)
    return path


def rewrite(path: Path, header: dict[str, Any], **weights: torch.Tensor | None) -> None:
    """Write the file again with a changed header or weights, its checksum kept."""
    with safe_open(str(path), framework="pt") as old:
        metadata = {**old.metadata(), **header}
        tensors = {name: old.get_tensor(name) for name in old.keys()}
    for name, value in weights.items():
        key = name.replace("__", ".")
        if value is None:
            del tensors[key]
        else:
            tensors[key] = value
    save_file(tensors, str(path), {k: v for k, v in metadata.items() if v is not None})


@pytest.mark.parametrize("place", [0, 20, 200, -1, -500])
def test_any_changed_byte_is_noticed(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(ModelFileError):
        load_model(file)


@pytest.mark.parametrize("keep", [0, 5, 100, -1])
def test_a_cut_file_is_refused(file: Path, keep: int) -> None:
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(file)


def test_files_that_hold_something_else_are_refused(file: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no file"):
        load_model(file.with_name("missing"))
    other = file.with_name("other")
    save_file({"a": torch.ones(1)}, str(other))
    with pytest.raises(ModelFileError, match="not written by sekgnn"):
        load_model(other)
    rewrite(file, {"format_version": "99"})
    with pytest.raises(ModelFileError, match="has format 99"):
        load_model(file)


def test_weights_that_do_not_fit_are_named(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sekgnn.models.model_file as module

    with pytest.raises(ModelFileError, match="checksum"):
        rewrite(file, {}, head__bias=torch.zeros(2).double())
        load_model(file)
    monkeypatch.setattr(module, "_digest", lambda *a: "same")
    rewrite(file, {"sha256": "same"}, head__bias=None)
    with pytest.raises(ModelFileError, match=r"lacks head\.bias"):
        load_model(file)
    rewrite(file, {}, head__bias=torch.zeros(3).double())
    with pytest.raises(ModelFileError, match=r"head\.bias \[3\] for \[2\]"):
        load_model(file)
    rewrite(file, {}, head__bias=torch.zeros(2).double(), more=torch.zeros(1).double())
    with pytest.raises(ModelFileError, match="also has more"):
        load_model(file)


def test_a_failed_save_keeps_the_older_file(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(OutputError, match="does not exist"):
        save_model(make("GIN"), file.parent / "nowhere" / "model")
    save_model(make("SEKGIN", seed=1), file)
    assert file.read_bytes() != before
    assert [p.name for p in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    "change",
    [
        {"num_layers": 10**9},
        {"num_layers": 9999},
        {"num_hops": 10**6},
        {"hidden_channels": 10**9},
        {"in_channels": 10**12},
        {"edge_channels": 10**30},
        {"encoding": {"encoding": "walks", "num_shells": 10**9}},
        {"encoding": {"encoding": "walks", "walk_length": 10**9}},
        {"encoding": 5},
        {"num_layers": [[]]},
    ],
)
def test_a_signed_config_cannot_outgrow_its_weights(
    file: Path, change: dict[str, Any]
) -> None:
    """Whoever changes the config can sign it again."""
    import sekgnn.models.model_file as module

    header, weights = module._read(file)
    header["config"] = json.dumps({**json.loads(header["config"]), **change})
    rewrite(file, {**header, "sha256": module._digest(header, weights)})
    with pytest.raises(ModelFileError, match=r"cannot be built|larger than its|fit"):
        load_model(file)


class Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Note the most values of a tensor that takes memory."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.values = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        if isinstance(found, torch.Tensor) and found.device.type != "meta":
            held = found.untyped_storage().nbytes() // found.element_size()
            self.values = max(self.values, held)
        return found


def bare(name: str) -> GraphModel:
    """Return a model that scikit-learn fits, before that."""
    config = {"model": name, "in_channels": 3, "out_channels": 2}
    if name == "forest":
        config["encoding"] = make("SEKGIN").to_config()["encoding"]
    return build_model(config)


FITTED = ("forest", "wl", "wwl", "fgw", "retgk", "gntk")


@pytest.mark.parametrize("name", sorted({*VARIANTS, *FITTED}))
def test_what_a_config_claims_takes_no_memory(name: str, tmp_path: Path) -> None:
    """Any number may be changed to 10^7 or 10^9 and signed: nothing large is made."""
    import sekgnn.models.model_file as module

    file = tmp_path / "model.safetensors"
    save_model(bare(name) if name in FITTED else make(name), file)
    header, weights = module._read(file)
    config = json.loads(header["config"])
    most = 2 * module._SPARE + 16 * sum(value.numel() for value in weights.values())
    for key in config:
        for value in (10**7, 10**9):
            changed = {**header, "config": json.dumps({**config, key: value})}
            changed["sha256"] = module._digest(changed, weights)
            save_file(weights, str(file), changed)
            tracemalloc.start()
            try:
                with Largest() as largest:
                    (model,) = load_models(file)
                assert model.out_channels < most, key
            except ModelFileError:
                pass
            finally:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            assert largest.values < most, (key, value)
            assert peak < 8 * most, (key, value)


def test_equal_models_are_equal_files(tmp_path: Path) -> None:
    about = {str(i): i for i in range(20)}
    for number in range(4):
        save_model(make("SEKGIN"), tmp_path / str(number), about, others=[make("GIN")])
    assert len({file.read_bytes() for file in tmp_path.iterdir()}) == 1
    assert all(len(load_models(file)) == 2 for file in tmp_path.iterdir())
