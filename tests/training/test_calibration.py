"""Graphs that calibrate do nothing else, so intervals keep their word; blends."""

from __future__ import annotations

import json
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from studies.coverage import (
    CONFIDENCE,
    OUTPUT,
    Measured,
    covered,
    page,
    random_splits,
    standard_error,
)

from sekgnn.datasets import networkx_task
from sekgnn.errors import GraphInputError, ModelFileError
from sekgnn.training.calibration import (
    Calibration,
    blend_weights,
    conformal_radius,
    least_graphs,
)
from sekgnn.training.config import RunConfig
from sekgnn.training.objective import Objective
from sekgnn.training.training import Training

GRAPHS = [nx.gnp_random_graph(7 + i % 4, 0.4, seed=i) for i in range(120)]
COUNTS = [float(sum(nx.triangles(graph).values()) // 3) for graph in GRAPHS]
SMALL: dict[str, Any] = {
    "model": "gin",
    "hidden_channels": 4,
    "num_layers": 1,
    "epochs": 4,
    "confidence": 0.8,
    "val_fraction": 0.2,
}


def task(counts: list[float], classes: bool = False) -> Any:
    values = [float(n > 2) for n in counts] if classes else counts
    return networkx_task(GRAPHS, values, kind="binary" if classes else "regression")


@pytest.mark.parametrize("protocol", ["holdout", "nested"])
@pytest.mark.parametrize("classes", [False, True])
def test_parts_are_disjoint_and_stay_what_they_are(
    protocol: str, classes: bool
) -> None:
    keys = {**SMALL, "protocol": protocol, "folds": 3}
    plain = Training(RunConfig(**{**keys, "confidence": None}), task(COUNTS, classes))
    first, again = (Training(RunConfig(**keys), task(COUNTS, classes)) for _ in "ab")
    for number, whole in enumerate(plain.splits):
        split = first.splits[number]
        apart = split.calibration
        assert np.array_equal(split.train, whole.train)
        assert np.array_equal(split.test, whole.test)
        assert sorted([*split.val, *apart]) == sorted(whole.val)
        assert 0 <= apart.size - split.val.size <= 1
        assert np.array_equal(apart, again.splits[number].calibration)
        assert not plain.splits[number].calibration.size
        if classes:
            y = first.data.class_numbers
            assert y is not None
            assert abs(y[apart].mean() - y[split.val].mean()) < 0.15


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"keep": "last"},
        {"keep": "last", "schedule": "cosine"},
        {"closed_form": "after"},
        {"patience": 1, "monitor": "mae"},
    ],
)
def test_no_model_depends_on_the_graphs_that_calibrate(more: dict[str, Any]) -> None:
    """Bit for bit, whatever their targets are."""
    check_independence(RunConfig(**SMALL, **more))


@pytest.mark.filterwarnings("ignore::sekgnn.errors.GraphInputWarning")  # so wrong
@pytest.mark.parametrize("model", ["ridge", "retgk", "forest"])
def test_nor_does_one_that_is_fitted_at_once(model: str) -> None:
    check_independence(RunConfig(model=model, confidence=0.8, val_fraction=0.2))


def check_independence(config: RunConfig) -> None:
    apart = Training(config, task(COUNTS)).splits[0].calibration
    other = [n + 50 * (i in set(apart.tolist())) for i, n in enumerate(COUNTS)]
    weights = []
    for counts in (COUNTS, other):
        training = Training(config, task(counts))
        assert np.array_equal(training.splits[0].calibration, apart)
        weights.append(training.fit().model.state_dict())
    assert weights[0].keys() == weights[1].keys()
    for name, value in weights[0].items():
        assert torch.equal(value, weights[1][name]), name


def test_all_calibrate_where_they_choose_nothing() -> None:
    keys = {**SMALL, "keep": "last", "schedule": "cosine"}
    training = Training(RunConfig(**keys), task(COUNTS))
    (split,) = training.splits
    assert np.array_equal(split.calibration, split.val)


@pytest.mark.parametrize(("count", "enough"), [(13, False), (14, True)])
def test_too_few_graphs_are_named(count: int, enough: bool) -> None:
    """9 calibrate at 0.9 and 5 choose."""
    keys = {**SMALL, "confidence": 0.9, "val_fraction": count / 120}
    if enough:
        training = Training(RunConfig(**keys), task(COUNTS))
        (split,) = training.splits
        assert (split.calibration.size, split.val.size) == (9, 5)
        return
    with pytest.raises(
        GraphInputError, match=r"needs 9 .* and 5 others .* there are 13"
    ):
        Training(RunConfig(**keys), task(COUNTS))


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95])
def test_the_radius_covers_a_new_score_as_often_as_it_says(confidence: float) -> None:
    """Exactly, over all places that the new one can have among n + 1."""
    for count in range(1, 45):
        scores = list(range(count + 1))
        inside = [
            new <= conformal_radius([s for s in scores if s != new], confidence)
            for new in scores
        ]
        assert np.mean(inside) >= confidence - 1e-9
        finite = conformal_radius(scores[1:], confidence) < np.inf
        assert finite == (count >= least_graphs(confidence))


def test_coverage_of_a_ridge_is_what_was_asked_for() -> None:
    """The study with other data and fewer splits: 20 graphs give 19 / 21 at 0.9."""
    splits = random_splits(len(GRAPHS), 40)
    config = RunConfig(model="ridge", confidence=0.9)
    shares, sizes = covered(
        Training(config, task(COUNTS), splits=splits), "calibration"
    )
    error = float(np.std(shares, ddof=1)) / len(shares) ** 0.5
    assert np.mean(shares) > 19 / 21 - 2.5 * error
    assert min(sizes) > 0
    text = page([Measured("data", 120, shares, shares, sizes, sizes)])
    assert f"| data | 40 | {np.mean(shares):.3f} ± {error:.3f} |" in text


def test_the_committed_study_covers_what_was_asked_for() -> None:
    """200 splits of three data sets; the page is made of the record."""
    record = json.loads((OUTPUT / "coverage.json").read_text("utf-8"))
    found = [Measured(**one) for one in record["data"]]
    assert (OUTPUT / "coverage.md").read_text("utf-8") == page(found)
    assert len(found) == 3
    for one in found:
        assert len(one.apart) == len(one.shared) == 200
        assert np.mean(one.apart) > CONFIDENCE - standard_error(one.apart)
        assert np.mean(one.shared) < CONFIDENCE - 2 * standard_error(one.shared)


def goal(kind: Any, **more: Any) -> Objective:
    known: dict[str, Any] = {"kind": kind, "targets": ("y",), "scale": (2.0,), **more}
    return Objective(**known)


def noise(rows: int, seed: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 1, dtype=torch.float64, generator=draw)


@pytest.mark.parametrize("rows", [4, 400])
def test_a_model_that_knows_more_weighs_more(rows: int) -> None:
    """Of many graphs; four of them are too few to tell, and weights stay equal."""
    y, mask = noise(rows, 0), torch.ones(rows, 1, dtype=torch.bool)
    errors = [0.9 * noise(rows, 1), 1.1 * noise(rows, 2), 9 * noise(400, 3)[:rows]]
    good, worse, bad = (y + error for error in errors)
    weights = blend_weights(goal("regression"), [good, worse], y, mask)
    assert sum(weights) == pytest.approx(1)
    if rows == 4:
        assert weights == (0.5, 0.5)
        return
    assert weights[0] >= 0.5  # independent errors cancel: neither goes
    assert weights[1] > 0
    assert blend_weights(goal("regression"), [good, bad], y, mask)[0] >= 0.9


def test_missing_targets_say_nothing() -> None:
    y, mask = noise(100, 0), torch.ones(100, 1, dtype=torch.bool)
    mask[50:] = False
    lies = torch.where(mask, y + 5, y)
    y = torch.where(mask, y, torch.nan)
    assert blend_weights(goal("regression"), [y.nan_to_num(), lies], y, mask) == (1, 0)


def test_classes_are_weighed_by_their_probability() -> None:
    y = (noise(300, 0)[:, 0] > 0).long()
    sure = torch.nn.functional.one_hot(y, 2) * 0.8 + 0.1
    unsure = torch.full((300, 2), 0.5)
    mask = torch.ones(300, 1, dtype=torch.bool)
    assert blend_weights(goal("binary"), [unsure, sure], y, mask) == (0, 1)


def test_intervals_that_adapt_are_scaled_by_the_spread() -> None:
    """Worked out by hand: scores 1/2, 2/2, 6/3 and 2/4, of which 80 % is the last."""
    goal = Objective("regression", "mse", (0.0,), (1.0,), targets=("y",))
    y = torch.tensor([[1.0], [2.0], [-6.0], [2.0]])
    spread = torch.tensor([[1.0], [1.0], [2.0], [3.0]])
    mask = torch.ones(4, 1, dtype=torch.bool)
    args = (goal, 0.8, torch.zeros(4, 1), y, mask)
    known = Calibration.fit(*args, spread, (1.0,))
    assert known.radii == (2.0,)
    wanted = [[4.0], [4.0], [6.0], [8.0]]
    assert known.half_widths(spread.numpy()).tolist() == wanted
    measured = known.metrics("regression", ["y"], *args[2:], spread.numpy())
    assert measured == {"coverage": 1.0, "interval_width": 11.0}
    with pytest.raises(ModelFileError, match="run folder"):
        known.half_widths(None)
    plain = Calibration.fit(*args)
    assert plain.radii == (6.0,) and plain.half_widths().tolist() == [6.0]


def test_intervals_that_adapt_hold_for_hard_graphs_too() -> None:
    """Errors in proportion to the spread: equal intervals miss the hard ones."""
    random = np.random.default_rng(0)
    goal = Objective("regression", "mse", (0.0,), (1.0,), targets=("y",))
    spread = torch.from_numpy(random.choice([0.1, 1.0], size=(4000, 1)))
    y = torch.from_numpy(random.normal(size=(4000, 1))) * spread
    mask = torch.ones(4000, 1, dtype=torch.bool)
    part = slice(0, 2000)
    args = (goal, 0.8, torch.zeros(2000, 1), y[part], mask[part])
    shares = {}
    for name, known in {
        "equal": Calibration.fit(*args),
        "adaptive": Calibration.fit(*args, spread[part], (1e-6,)),
    }.items():
        width = known.half_widths(spread[2000:].numpy())
        inside = np.abs(y[2000:].numpy()) <= width
        hard = spread[2000:].numpy() == 1.0
        shares[name] = inside.mean(), inside[hard].mean()
    assert shares["equal"][0] == pytest.approx(0.8, abs=0.03)
    assert shares["equal"][1] < 0.7
    assert shares["adaptive"] == pytest.approx((0.8, 0.8), abs=0.04)
