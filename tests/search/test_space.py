"""A space is what the file says, no more points and no fewer."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sekgnn.errors import ConfigError
from sekgnn.search import NAMED_SPACES, SearchSpace, load_space
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


@pytest.mark.parametrize("name", NAMED_SPACES)
def test_named_spaces_survive_json_and_make_configs(name: str) -> None:
    space = load_space(name)
    again = SearchSpace.from_dict(json.loads(json.dumps(space.to_dict())))
    assert again == space
    points = list(space.points())
    assert len({json.dumps(point) for point in points}) == space.size
    for point in points:
        replace(RunConfig(lr=0.5), **point)  # raises nothing


def test_own_space_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "space.yaml"
    file.write_text(
        "scope: [[graph], [graph, internal]]\n"
        "num-hops: {low: 1, high: 5, step: 2}\n"
        "hidden-channels: {of: num_hops, values: {1: 8, 3: 16, 5: 32}}\n"
        "lr: [1e-3, 0.01]\n"
        "share_hops: [true, null]\n"
    )
    space = load_space(file)
    assert space.size == 2 * 3 * 2 * 2
    point = list(space.points())[-1]
    assert point == {
        "scope": ("graph", "internal"),
        "num_hops": 5,
        "hidden_channels": 32,
        "lr": 0.01,
        "share_hops": None,
    }
    assert SearchSpace.from_dict(json.loads(json.dumps(space.to_dict()))) == space


def test_endless_space_has_no_points() -> None:
    space = SearchSpace.from_dict({"lr": {"low": "1e-4", "high": 0.1, "log": True}})
    assert space.size is None
    with pytest.raises(ConfigError, match="is infinite"):
        next(space.points())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "empty"),
        ({"num_hop": [1]}, "Did you mean 'num_hops'"),
        ({"seed": [0, 1]}, "luck"),
        ({"target": ["a"]}, "like with like"),
        ({"monitor": ["loss", "mae"]}, "cannot be compared"),
        ({"num_hops": []}, "list of choices"),
        ({"num_hops": 3}, "list of choices"),
        ({"num_hops": ["three"]}, "num_hops must be"),
        ({"epochs": [0]}, "epochs must be at least 1"),
        ({"num_hops": [1, 1]}, "twice"),
        ({"num_hops": [1], "num_hops, lr": [[1, 0.1]]}, "twice"),
        ({"num_hops, lr": [[1]]}, "list of 2 values"),
        ({"lr": {"low": 1}}, "needs low and high"),
        ({"lr": {"low": 1, "high": 0.1}}, "must be below high"),
        ({"lr": {"low": 0, "high": 1, "log": True}}, "log needs low above 0"),
        ({"lr": {"low": 0.1, "hihg": 1}}, "Did you mean 'high'"),
        ({"jump": {"low": 0, "high": 1}}, "not a number"),
        ({"num_hops": {"low": 1, "high": 2.5}}, "an integer"),
        ({"hidden_channels": {"of": "num_hops", "values": {1: 8}}}, "'of' of"),
        (
            {
                "num_hops": [1, 2],
                "hidden_channels": {"of": "num_hops", "values": {1: 8}},
            },
            "no value for num_hops = 2",
        ),
    ],
)
def test_wrong_spaces_say_what_is_wrong(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        SearchSpace.from_dict(values)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'counting'"):
        load_space("countin")


def test_losses_of_different_units_are_not_compared() -> None:
    space = SearchSpace.from_dict({"loss": ["mse", "mae"]})
    with pytest.raises(ConfigError, match="units of the loss"):
        space.check(RunConfig())
    space.check(RunConfig(monitor="mae"))
