"""A space is what the file says, no more points and no fewer."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sekgnn.errors import ConfigError
from sekgnn.search import SPACE_NAMES, SearchSpace, load_space
from sekgnn.training.config import RunConfig


def test_points_of_the_tu_space_are_the_papers() -> None:
    """Four nested loops, and the hidden size as a formula of K."""
    expected = [
        {
            "num_hops": hops,
            "num_layers": layers,
            "combine": combine,
            "jump": jump,
            "hidden_channels": max(int(120 / hops), 40),
        }
        for hops, layers, combine, jump in itertools.product(
            (1, 2, 3, 4), (1, 2, 3, 4), ("sum", "geometric"), ("sum", "concat")
        )
    ]
    space = load_space("tu")
    assert list(space.points()) == expected
    assert space.size == len(expected) == 64


def test_pairs_are_kept_together() -> None:
    points = list(load_space("counting").points())
    pairs = {(p["num_layers"], p["num_hops"]) for p in points}
    assert pairs == {(5, 3), (5, 5), (5, 7), (6, 3), (6, 5), (6, 7)}
    assert len(points) == 12


@pytest.mark.parametrize("name", SPACE_NAMES)
def test_named_spaces_survive_json_and_make_configs(name: str) -> None:
    space = load_space(name)
    again = SearchSpace.from_dict(json.loads(json.dumps(space.parts)))
    assert again == space
    points = list(space.points())
    assert len({json.dumps(point) for point in points}) == space.size
    for point in points:
        replace(RunConfig(lr=0.5), **point)  # raises nothing


def test_own_space_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "space.yaml"
    file.write_text(
        "scope: [[graph], [graph, internal]]\n"
        "num-hops: {low: 1, high: 6, step: 2}\n"
        "batch-size, hidden-channels: [[1, 8], [3, 16]]\n"
        "lr: {low: 0.1, high: 0.35, step: 0.1}\n"
        "share_hops: [true, null]\n"
    )
    space = load_space(file)
    assert space.size == len(list(space.points())) == 2 * 3 * 2 * 3 * 2
    point = list(space.points())[-1]
    assert point == {
        "scope": ["graph", "internal"],
        "num_hops": 5,
        "batch_size": 3,
        "hidden_channels": 16,
        "lr": 0.3,  # not 0.30000000000000004
        "share_hops": None,
    }
    assert SearchSpace.from_dict(json.loads(json.dumps(space.parts))) == space


def test_an_infinite_range_is_represented_by_its_ends() -> None:
    lr = {"low": "1e-4", "high": 0.1, "log": True}
    space = SearchSpace.from_dict({"lr": lr, "epochs": {"low": 1, "high": 10**12}})
    assert space.size is None
    points = [(point["lr"], point["epochs"]) for point in space.points()]
    assert points == [(a, b) for a in (1e-4, 0.1) for b in (1, 10**12)]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "empty"),
        ({"num_hop": [1]}, "'num_hops'"),
        ({"seed": [0, 1]}, "luck"),
        ({"target": ["a"]}, "target"),
        ({"monitor": ["loss", "mae"]}, "monitor"),
        ({"num_hops": []}, "choices"),
        ({"num_hops": 3}, "choices"),
        ({"num_hops": ["three"]}, "num_hops"),
        ({"epochs": [0]}, "epochs"),
        ({"num_hops": [1, 1]}, "twice"),
        ({"num_hops": [1], "num_hops, lr": [[1, 0.1]]}, "twice"),
        ({"num_hops": [1], "num-hops": [2]}, "twice"),
        ({"num_hops, num_hops": [[1, 2]]}, "twice"),
        ({"num_hops, lr": [[1]]}, "2 values"),
        ({"lr": {"low": 1}}, "high"),
        ({"lr": {"low": 1, "high": None}}, "high"),
        ({"lr": {"low": 1, "high": 0.1}}, "below"),
        ({"lr": {"low": 0.1, "high": float("nan")}}, "below"),
        ({"lr": {"low": 0.1, "high": float("inf")}}, "lr"),
        ({"lr": {"low": 0.1, "high": 1, "step": 0}}, "step"),
        ({"lr": {"low": 0, "high": 1, "log": True}}, "log"),
        ({"lr": {"low": 0.1, "high": 1, "step": 0.1, "log": True}}, "log"),
        ({"lr": {"low": 0.1, "high": 1, "log": "yes"}}, "log"),
        ({"lr": {"low": 0.1, "hihg": 1}}, "'high'"),
        ({"jump": {"low": 0, "high": 1}}, "number"),
        ({"num_hops": {"low": 1, "high": 2.5}}, "integer"),
        ({"num_hops, lr": {"low": 1, "high": 2}}, "choices"),
    ],
)
def test_wrong_spaces_say_what_is_wrong(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        SearchSpace.from_dict(values)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="'counting'"):
        load_space("countin")


def test_losses_of_different_units_are_not_compared() -> None:
    space = SearchSpace.from_dict({"loss": ["mse", "mae"]})
    with pytest.raises(ConfigError, match="units"):
        space.check(RunConfig())
    space.check(RunConfig(monitor="mae"))
