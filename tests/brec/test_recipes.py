"""Recipes of networks: what they see, their rows, and the numbers of pairs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.brec.cases import PAIRS

from sekgnn import encode
from sekgnn.brec import BRECScore, RPCProtocol, TrainedPair, score
from sekgnn.brec.recipes import (
    Recipe,
    pair_numbers,
    pair_text,
    pairs_folder,
    run_recipe,
)
from sekgnn.brec.record import from_json, to_json
from sekgnn.datasets import BREC
from sekgnn.errors import ConfigError, OutputError
from sekgnn.models import GraphModel
from sekgnn.training import RunConfig

SMALL: dict[str, Any] = dict(
    hidden_channels=8, num_layers=2, norm="none", walk_length=4, num_shells=1
)
SHORT = RPCProtocol(epochs=3, lr=1e-2)


def recipe(model: str, dtype: str = "float32", **keys: Any) -> Recipe:
    return Recipe.of(RunConfig(model=model, dtype=dtype, **{**SMALL, **keys}))


def row(
    made: Recipe, output: Path, name: str = "a", pairs: Any = PAIRS, **options: Any
) -> tuple[BRECScore[TrainedPair], ...]:
    options = {"protocol": SHORT, **options}
    return run_recipe(name, made, output, pairs=BREC.of(pairs), **options)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("model", "separated"), [("gin", 0), ("k-gin", 2), ("sek-gin", 3)]
)
def test_networks_separate_what_they_see(
    tmp_path: Path, model: str, separated: int, dtype: str
) -> None:
    """The strongly regular pair is the last: only walks inside ego-nets tell."""
    keys = {"num_hops": 2} if model == "k-gin" else {}
    (score,) = row(recipe(model, dtype, **keys), tmp_path / "t.json")
    assert [p.separated for p in score.pairs] == [i < separated for i in range(3)]
    assert score.sentence().startswith("Reliable")
    assert {pair.epsilon for pair in score.pairs} == {
        {"float32": 1e-6, "float64": 1e-10}[dtype]
    }


def test_encodings_are_standardised_on_the_pair() -> None:
    """Mean and deviation are those of all nodes of both graphs."""
    made = recipe("sek-gin", "float64", standardize="scale")
    models = []

    def make_model() -> GraphModel:
        models.append(made.make_model())
        return models[-1]

    untrained = RPCProtocol(epochs=0)
    score(make_model, pairs=PAIRS[:1], transform=made.transform(), protocol=untrained)
    fitted: Any = models[-1].branches[0]
    both = [
        encode(graph, models[-1].encoding)
        for graph in (PAIRS[0].first, PAIRS[0].second)
    ]
    rows = np.concatenate(both).reshape(12, -1)  # [N, C * L]
    np.testing.assert_allclose(fitted.fusion.standardizer.shift, rows.mean(0))
    spread = np.where(rows.std(0) > 1e-12, rows.std(0), np.inf)  # constant: dropped
    np.testing.assert_allclose(fitted.fusion.standardizer.scale, spread)


def test_a_head_that_starts_at_zero_is_refused() -> None:
    with pytest.raises(ConfigError, match="frozen"):
        recipe("sek-gin", pooled="frozen")


def test_a_recipe_is_complete() -> None:
    """It makes the network and what the network reads, in one precision."""
    made = recipe("sek-gnn", "float64", num_hops=2, radius=(1, 2))
    model, steps = made.make_model(), made.transform().transforms
    assert model.out_channels == 16 and model.in_channels == 1
    assert {weight.dtype for weight in model.parameters()} == {torch.float64}
    assert steps[0].encoding == model.encoding and steps[0].dtype == torch.float64
    assert steps[1].num_hops == 2
    assert recipe("gin").transform().transforms == []
    assert Recipe(made.config, made.dtype).make_model().to_config() == made.config
    with pytest.raises(ConfigError, match="dtype"):
        recipe("gin", "float16")
    with pytest.raises(ConfigError, match="num_hops"):
        recipe("gin", num_hops=2)
    with pytest.raises(ConfigError, match="ridge"):
        Recipe.of(RunConfig(model="ridge"))


def test_rows_are_kept_and_grow(tmp_path: Path) -> None:
    output = tmp_path / "t.json"
    first = row(recipe("gin"), output)
    second = row(recipe("gin"), output, pairs=PAIRS[1:2])
    assert not output.exists()
    output.write_text(to_json(second))
    other = row(recipe("gin"), output, "b", pairs=PAIRS[:1], subset=(0, 2))
    output.write_text(to_json(other))
    assert from_json(to_json(other)) == other
    grown = row(recipe("gin"), output, pairs=PAIRS[::-1])
    assert [score.name for score in grown] == ["a", "b"]
    assert grown == (*first, other[1])
    output.write_text(to_json(grown))
    again = row(recipe("gin"), output, subset=(1,))  # nothing left to do
    assert again[0] == replace(first[0], subset=(1,))
    assert [p.index for p in again[0].outside.pairs] == [0, 2]


def test_a_name_stands_for_one_recipe(tmp_path: Path) -> None:
    output = tmp_path / "t.json"
    output.write_text(to_json(row(recipe("gin"), output, pairs=PAIRS[:1])))
    for folder in (pairs_folder(output, "a"), *tmp_path.glob("*.partial/.lock")):
        assert folder.exists()
    before = output.read_bytes()
    for made, key in (
        (recipe("gin", hidden_channels=9), "model"),
        (recipe("gin", "float64"), "dtype"),
    ):
        with pytest.raises(ConfigError, match=f"another {key}"):
            row(made, output)
    with pytest.raises(ConfigError, match="another protocol"):
        row(recipe("gin"), output, protocol=replace(SHORT, seed=1))
    with pytest.raises(ConfigError, match="no such pairs"):
        row(recipe("gin"), output, pairs=())
    assert output.read_bytes() == before
    output.write_text("{}")
    with pytest.raises(OutputError, match="another file"):
        row(recipe("gin"), output)


def test_numbers_of_pairs(tmp_path: Path) -> None:
    assert pair_numbers("7") == (7,)
    assert pair_numbers("3-5,4, 0") == (0, 3, 4, 5)
    for numbers in ((), (0,), (0, 1), (1, 3, 4, 5, 9), tuple(range(400))):
        assert pair_numbers(pair_text(numbers)) == numbers
    file = tmp_path / "chosen.txt"
    file.write_text("12\n0-2, 7\n")
    assert pair_numbers(str(file)) == (0, 1, 2, 7, 12)
    for wrong in ("a", "1-", "-1", "1.5", str(tmp_path / "none.txt")):
        with pytest.raises(ConfigError, match="0-59,110"):
            pair_numbers(wrong)
