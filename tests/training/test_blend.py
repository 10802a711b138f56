"""Weights of a blend: better models weigh more, but not by the luck of a few."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sekgnn.training.calibration import blend_weights
from sekgnn.training.objective import Objective


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
