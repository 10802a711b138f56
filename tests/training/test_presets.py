"""Presets are keys below a user's own, nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.training.helpers import SMALL

from sekgnn.errors import ConfigError
from sekgnn.estimators import SEKClassifier
from sekgnn.training import RunConfig, load_preset, train
from sekgnn.training.settings import PLAIN, PRESET_NAMES, load_config

NAMES = [name for name in PRESET_NAMES if name != PLAIN]


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_is_its_keys(name: str) -> None:
    keys = load_preset(name)
    assert load_config(None, {"data": "a"}, name) == RunConfig(data="a", **keys)
    model = SEKClassifier(**keys)  # each is a parameter of an estimator too
    assert model.run_config().optimizer == keys["optimizer"]


def test_plain_is_no_preset_and_nothing_chosen() -> None:
    assert load_preset(PLAIN) == {}
    assert load_config(None, {"data": "a"}, PLAIN) == RunConfig(data="a")


def test_a_file_changes_a_preset_and_arguments_change_both(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("hidden-channels: 5\nlr: 0.5\n")
    found = load_config(file, {"lr": 0.25}, "small")
    assert (found.hidden_channels, found.lr, found.schedule) == (5, 0.25, "cosine")


@pytest.mark.parametrize(
    ("keys", "refit"),
    [
        ({}, True),
        ({"protocol": "nested"}, True),
        ({"protocol": "fixed"}, False),  # where all other graphs train anyway
        ({"keep": "best"}, False),
        ({"refit": False}, False),
    ],
)
def test_a_preset_refits_where_it_can(keys: dict[str, object], refit: bool) -> None:
    assert load_config(None, keys, "small").refit is refit


def test_refit_that_was_asked_for_is_refused_where_it_cannot() -> None:
    with pytest.raises(ConfigError, match="refit leaves no validation graphs"):
        load_config(None, {"protocol": "fixed", "refit": True}, "small")


@pytest.mark.parametrize("name", ["smal", "../small", ""])
def test_an_unknown_preset_lists_those_there_are(lines: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"one of \['lbfgs', 'small', 'plain'\]"):
        train(lines, lines.parent / "run", target="size", preset=name)
    assert not (lines.parent / "run").exists()


def test_a_preset_cannot_change_a_whole_config() -> None:
    with pytest.raises(ConfigError, match="has a value for every key"):
        load_config(RunConfig(), {}, "small")


@pytest.mark.parametrize("name", NAMES)
def test_a_run_with_a_preset_is_the_run_with_its_keys(
    lines: Path, tmp_path: Path, name: str
) -> None:
    own = {name: SMALL[name] for name in ("val_fraction", "test_fraction", "baseline")}
    own |= {"target": "size", "hidden_channels": 4, "epochs": 1, "ensemble": 1}
    one = train(lines, tmp_path / "one", preset=name, **own)
    two = train(lines, tmp_path / "two", **{**load_preset(name), **own})
    assert one.config == two.config and one.config["num_layers"] == 2
