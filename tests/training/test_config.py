"""A config is what was written, or an error that names the key."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.errors import ConfigError
from sekgnn.models.options import MODEL_KINDS, ModelOptions
from sekgnn.training.config import (
    ACCELERATORS,
    CONFIG_HELP,
    LOSSES,
    PROTOCOL_NAMES,
    RunConfig,
)

texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8
).filter(lambda text: "," not in text)
whole = st.integers(1, 10**6)
DRAWN: dict[str, st.SearchStrategy[Any]] = {
    "data": texts,
    "target": st.lists(texts, max_size=3).map(tuple),
    "smiles": texts | st.lists(texts, min_size=2, max_size=3).map(tuple),
    "protocol": st.sampled_from(PROTOCOL_NAMES),
    "model": st.sampled_from(sorted(MODEL_KINDS)),
    "loss": st.sampled_from(LOSSES),
    "accelerator": st.sampled_from(ACCELERATORS),
    "epochs": whole,
    "seed": st.integers(0, 2**40),
    "num_hops": st.none() | st.integers(1, 10_000),
    "dropout": st.none() | st.floats(0, 1, exclude_max=True),
    "share_hops": st.none() | st.booleans(),
    "self_loops": st.booleans() | st.permutations([True, False]),
    "radius": st.lists(whole, min_size=1, max_size=3).map(tuple),
    "lr": st.floats(1e-9, 1e3),
    "clip": st.none() | st.floats(1e-3, 1e3),
    "weight_decay": st.floats(0, 1),
    "tensorboard": st.booleans(),
    "jump": st.sampled_from(["sum", "last"]),
    "num_workers": st.integers(0, 8),
}


def fields_of(kind: Any) -> set[str]:
    return {item.name for item in fields(kind)}


@given(st.fixed_dictionaries({}, optional=DRAWN))
def test_configs_come_back_from_json_and_yaml(values: dict[str, Any]) -> None:
    config = RunConfig(**values)
    for again in (
        RunConfig.from_dict(json.loads(json.dumps(config.to_dict()))),
        RunConfig.from_dict(yaml.safe_load(yaml.safe_dump(config.to_dict()))),
    ):
        assert again == config
        assert again.differences(config) == []
        assert hash(again) == hash(config)


@given(st.dictionaries(texts, st.none() | whole | texts))
def test_options_of_models_of_your_own_come_back(options: dict[str, Any]) -> None:
    """Nothing is known of them here, not even whether ``None`` means something."""
    config = RunConfig.from_dict({"model": "mine:Net", "model_options": options})
    assert dict(config.model_options) == options
    assert RunConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


FURTHER = [
    (model, item)
    for model, kind in MODEL_KINDS.items()
    for item in fields(kind.options_type)
    if item.name not in fields_of(ModelOptions)
]


@pytest.mark.parametrize(("model", "item"), FURTHER)
def test_options_of_one_model_are_keys_of_that_model(model: str, item: Any) -> None:
    """Flat or not, the config is the same; elsewhere only nothing is accepted."""
    assert item.name not in fields_of(RunConfig)
    value = {"bool": not item.default, "float": 0.25, "int": 2}.get(
        str(item.type).split(" | ")[0], "1-2-3"
    )
    flat = RunConfig.from_dict({"model": model, item.name: value})
    options: dict[str, Any] = {item.name: value}
    assert flat == RunConfig(model=model, model_options=cast("Any", options))
    assert flat != RunConfig(model=model)
    written = flat.to_dict()
    assert written[item.name] == value and written["model_options"] == {}
    assert RunConfig.from_dict(written) == flat
    assert flat.change({item.name: None}) == RunConfig(model=model)
    for nothing in ("gin", "mine:Net"):
        config = RunConfig.from_dict({"model": nothing, item.name: None})
        assert config.model_options == ()
    for wrong in ({**written, "model": "gin"}, {**written, "model_options": options}):
        with pytest.raises(ConfigError, match=item.name):
            RunConfig.from_dict(wrong)
    with pytest.raises(ConfigError, match=f"^{item.name} must be"):
        RunConfig.from_dict({"model": model, item.name: [value]})
    with pytest.raises(ConfigError, match="Did you mean"):
        RunConfig.from_dict({"model": model, "model_options": {f"{item.name}s": value}})


def test_numbers_that_yaml_reads_as_texts_are_numbers() -> None:
    values = yaml.safe_load("lr: 1e-3\nweight-decay: 1e-5\ntarget: a, b\nradius: 2\n")
    assert values["lr"] == "1e-3"
    config = RunConfig.from_dict(values)
    assert (config.lr, config.weight_decay) == (1e-3, 1e-5)
    assert (config.target, config.radius) == (("a", "b"), (2,))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("epoch", "epochs"), ("batch-sizes", "batch_size"), ("hiden_channels", "hidden")],
)
def test_an_unknown_key_suggests_the_nearest(name: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=f"Did you mean '{nearest}"):
        RunConfig.from_dict({name: 1})


@pytest.mark.parametrize("value", [3, None, 4.5, "x"])
def test_keys_that_are_no_names_are_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match="no config key"):
        RunConfig.from_dict({value: 1})


WRONG: dict[str, list[Any]] = {
    "str": [3, True, ["a"], [1], None],
    "int": [1.5, "7", True, [1], None],
    "float": ["fast", True, [0.1], None, 10**400, {}],
    "bool": ["yes", 1, 0.0, None, [], [True, 0]],
    "tuple[str, ...]": [[1], {"a": 1}, None, 1.5, True],
    "tuple[int, ...]": [["a"], [1.5], [True], None, True, "1"],
    "tuple[tuple[str, Any], ...]": [3, "a", [1], {1: 2}, {"a": [[1]]}, None],
}


@pytest.mark.parametrize("name", [item.name for item in fields(RunConfig)])
def test_a_value_of_the_wrong_type_names_its_key(name: str) -> None:
    (item,) = (item for item in fields(RunConfig) if item.name == name)
    kind, *rest = str(item.type).split(" | ")
    for value in WRONG[kind]:
        if value is None and "None" in rest:
            nothing: dict[str, Any] = {name: None}
            assert getattr(RunConfig(**nothing), name) is None
            continue
        if value == ["a"] and "tuple[str, ...]" in rest:
            assert getattr(RunConfig(**{name: value}), name) == "a"
            continue
        with pytest.raises(ConfigError, match=f"^{name} "):
            RunConfig(**{name: value})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epochs", [0, -1]),
        ("ensemble", [0]),
        ("batch_size", [0]),
        ("devices", [0]),
        ("num_machines", [0]),
        ("folds", [1]),
        ("seed", [-1]),
        ("data_seed", [-1]),
        ("num_workers", [-1]),
        ("plateau_patience", [-1]),
        ("patience", [0]),
        ("lr", [0, -1.0, "nan", "inf", ".nan"]),
        ("weight_decay", [-0.1, "nan", "inf"]),
        ("clip", [0.0, -1.0, "nan", "inf"]),
        ("plateau_factor", [0.0, 1.5, "nan"]),
        ("val_fraction", [0.0, 1.5, "nan"]),
        ("test_fraction", [0.0, -0.5, "nan"]),
        ("protocol", ["cross"]),
        ("model", ["SEK-GIN"]),
        ("loss", ["rmse"]),
        ("keep", ["first"]),
        ("schedule", ["linear"]),
        ("final_lr", [-0.1, 1.5, "nan"]),
        ("accelerator", ["cuda"]),
        ("dropout", [1.0, -0.1, "nan"]),
        ("num_hops", [0, 10_001]),
    ],
)
def test_a_value_out_of_range_names_its_key(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ConfigError, match=f"^{name} "):
            RunConfig(**{name: value})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"val_fraction": 0.5, "test_fraction": 0.5}, "leave nothing to train on"),
        ({"target": ["z", "y"], "features": ["a", "y"]}, "'y' is a target and among"),
        ({"protocol": "xu2019", "patience": 3}, "leave patience out"),
        ({"protocol": "fixed", "patience": 3}, "leave patience out"),
        ({"keep": "last", "patience": 3}, "leave patience out.*keep=best"),
        (
            {"protocol": "fixed", "keep": "best"},
            "'fixed' has no validation.*leave keep",
        ),
        ({"protocol": "xu2019", "keep": "best"}, "'xu2019' has no validation"),
        ({"refit": True}, "refit leaves no validation graphs.*keep=last"),
        ({"refit": True, "keep": "best"}, "refit leaves no validation graphs"),
        ({"protocol": "fixed", "refit": True, "keep": "last"}, "leave refit out"),
        ({"protocol": "xu2019", "ensemble": 2}, "leave ensemble at 1"),
        ({"devices": 2, "ensemble": 2}, "an ensemble trains its models one after"),
        ({"protocol": "xu2019", "blend": ["forest"]}, "blend out"),
        ({"model": "ridge", "ensemble": 2}, "are for networks; 'ridge' is fitted in"),
        ({"model": "forest", "blend": ["forest"]}, "are for networks"),
        ({"protocol": "xu2019", "closed_form": "after"}, "before the head is solved"),
        ({"protocol": "nested", "split": "a.json"}, "split is for protocol holdout"),
        ({"protocol": "nested", "devices": 2}, "devices.*jobs"),
        ({"protocol": "xu2019", "num_machines": 2}, "num_machines.*jobs"),
    ],
)
def test_keys_that_cannot_work_together_are_named(
    values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        RunConfig(**values)


def test_differences_leave_out_keys_of_the_machine() -> None:
    one = RunConfig(data="a")
    other = replace(one, devices=2, num_workers=3, strategy="ddp", accelerator="gpu")
    assert one.differences(other) == []
    assert one.differences(replace(other, lr=1.0, radius=(2,))) == ["radius", "lr"]


def test_a_key_that_is_gone_is_read_in_old_files() -> None:
    assert RunConfig.from_dict({"checkpoint_every": 1, "lr": 0.5}) == RunConfig(lr=0.5)


def test_every_key_is_explained() -> None:
    further = {item.name for _, item in FURTHER}
    assert set(CONFIG_HELP) == fields_of(RunConfig) | further
    assert all(CONFIG_HELP.values())


@pytest.mark.parametrize(
    "code",
    [
        "import sekgnn.training.config",
        "import sekgnn.training; sekgnn.training.RunConfig(data='a')",
        "from typer.testing import CliRunner; from sekgnn.cli.main import app; "
        "r = CliRunner().invoke(app, ['train', '--help']); assert r.exit_code == 0; "
        "assert 'walk' in r.output, r.output",
    ],
)
def test_the_config_and_the_help_load_no_torch(code: str) -> None:
    check = "import sys; assert not {'torch', 'lightning_fabric'} & set(sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {check}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
