"""Boosting of tensors is scikit-learn's, for every kind of target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from tests.models.test_forest import near
from tests.nn.helpers import SPEC

from sekgnn.models import Boosting

FIXED: dict[str, Any] = {"max_iter": 9, "random_state": 3, "min_samples_leaf": 5}


def boosting(out_channels: int) -> Boosting:
    options: dict[str, Any] = {"n_estimators": 9, "min_samples_leaf": 5}
    return Boosting(3, out_channels, SPEC, edge_channels=2, **options).double()


def vectors(model: Boosting) -> torch.Tensor:
    """Return vectors with many ties."""
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(90, model.features.num_features, generator=draw).double()
    x[:, ::2] = x[:, ::2].round()
    return x.float().double()


def test_numbers_are_those_of_scikit_learn() -> None:
    """Each target from the rows where it is known, also right at the thresholds."""
    model = boosting(2)
    x = vectors(model)
    y = torch.stack([x[:, 1] + x[:, 2] ** 2, x[:, 3]], dim=1)
    mask = torch.ones(len(y), 2, dtype=torch.bool)
    mask[::3, 1] = False
    model.grow(x, y, mask, "none", 3)
    rows = near(model, x)
    for column in range(2):
        here = mask[:, column]
        theirs = HistGradientBoostingRegressor(**FIXED)
        theirs.fit(x[here].numpy(), y[here, column].numpy())
        ours = model.trees(rows)[:, column].numpy()
        wanted = theirs.predict(rows.float().numpy())
        np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_those_of_scikit_learn(classes: int) -> None:
    model = boosting(classes)
    x = vectors(model)
    y = (classes * x[:, 1].sigmoid()).long()
    model.grow(x, y, torch.ones(len(y), 1, dtype=torch.bool), "softmax", 3)
    theirs = HistGradientBoostingClassifier(**FIXED).fit(x.numpy(), y.numpy())
    ours = model.trees(x).softmax(1).numpy()
    np.testing.assert_allclose(ours, theirs.predict_proba(x.numpy()), atol=1e-12)


def test_labels_are_learned_one_by_one() -> None:
    """A label with one value says so; one with two is scikit-learn's."""
    model = boosting(3)
    x = vectors(model)
    y = torch.stack([(x[:, 1] > 0).double(), torch.ones(90), torch.zeros(90)], dim=1)
    model.grow(x, y.double(), torch.ones(90, 3, dtype=torch.bool), "sigmoid", 3)
    theirs = HistGradientBoostingClassifier(**FIXED).fit(x.numpy(), y[:, 0].numpy())
    ours = model.trees(x).sigmoid().numpy()
    np.testing.assert_allclose(ours[:, 0], theirs.predict_proba(x.numpy())[:, 1])
    assert (ours[:, 1] > 0.99).all() and (ours[:, 2] < 0.01).all()
