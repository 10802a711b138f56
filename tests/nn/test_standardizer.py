"""Fitted shift, scale and axes are those of the whole table, however it is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.encoding import WalkEncoding, encode
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import rook_graph
from sekgnn.nn import EncodingFusion, Standardizer
from sekgnn.nn.standardizer import MAX_ROTATED


def fitted(x: torch.Tensor, kind: Any, pieces: int = 1) -> Standardizer:
    out = Standardizer(x.size(1), kind).double()
    out.fit(lambda: x.chunk(pieces))
    return out


@given(st.integers(2, 40), st.integers(1, 6), st.integers(1, 7), st.integers(0, 99))
def test_scaled_features_have_mean_0_and_variance_1(
    rows: int, width: int, pieces: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    table = random.normal(size=(rows, width)) * 10.0 ** random.integers(-6, 6, width)
    table += random.normal(size=width)
    x = torch.from_numpy(table)
    z = fitted(x, "scale", pieces)(x).numpy()
    spread = table.std(axis=0)
    varies = spread > 1e-14 * abs(table).max(axis=0)
    spread = np.maximum(spread, 1e-3 * abs(table.mean(axis=0)))
    expected = np.where(varies, (table - table.mean(axis=0)) / spread, 0)
    np.testing.assert_allclose(z, expected, rtol=1e-6, atol=1e-8)


def test_rotated_features_are_uncorrelated_the_largest_first() -> None:
    random = np.random.default_rng(0)
    base = random.normal(size=(200, 3))
    table = np.c_[base, base @ random.normal(size=(3, 2)), np.full(200, 7.0)]
    x = torch.from_numpy(table)
    rotation = fitted(x, "rotate", 3)
    z = rotation(x)
    variances = (z.t() @ z / len(z)).numpy()
    np.testing.assert_allclose(variances, np.diag(np.diag(variances)), atol=1e-12)
    kept = np.diag(variances)
    assert (kept[:3] > 0.01).all()
    assert (np.diff(kept) <= 1e-12).all()
    assert (kept[3:] == 0).all()  # two are sums of others, one is constant
    whitened = z * rotation.whitening()
    np.testing.assert_allclose(whitened[:, :3].square().mean(0), 1, rtol=1e-6)
    assert (rotation.whitening()[3:] == 0).all()


def test_rounding_of_a_constant_is_not_a_scale() -> None:
    x = torch.full((100, 1), 1 / 3) + 1e-8 * torch.randn(100, 1)
    scale = Standardizer(1)
    scale.fit(lambda: [x])
    assert scale(x).abs().max() < 1e-6


def test_rounding_of_walks_is_not_a_scale() -> None:
    """In a strongly regular graph all nodes are alike, and some numbers are 0."""
    graph = rook_graph(6)
    copies = [graph.relabel(np.random.default_rng(i).permutation(36)) for i in range(4)]
    rows = [encode(copy, WalkEncoding(num_shells=2)) for copy in copies]  # [36, C, L]
    x = torch.from_numpy(np.concatenate(rows)).flatten(start_dim=1)
    assert x.std(0).max() > 0
    assert fitted(x, "scale")(x).abs().max() < 1e-10


def test_unfitted_changes_nothing_and_no_rows_are_refused() -> None:
    x = torch.randn(5, 4)
    for kind in ("scale", "rotate", "none"):
        one = Standardizer(4, kind)
        torch.testing.assert_close(one(x), x)
        assert bool(one.state_dict()) == (kind != "none")
    with pytest.raises(GraphInputError, match="no rows"):
        Standardizer(4).fit(lambda: [x[:0]])
    with pytest.raises(ConfigError, match='use "scale"'):
        Standardizer(MAX_ROTATED + 1, "rotate")
    with pytest.raises(ConfigError, match='fusion="concat"'):
        EncodingFusion(2, 3, 4, "mean", standardize="rotate")


def test_what_hardly_varies_is_not_amplified_without_bound() -> None:
    """A constant says nothing; other spreads are a thousandth of the mean or more."""
    x = torch.full((100, 3), 5.0, dtype=torch.float64)
    x[:, 1] += 1e-5 * torch.randn(100)
    x[:, 2] += torch.randn(100)
    z = fitted(x, "scale")(torch.tensor([[6.0, 6.0, 6.0]]).double())
    assert z[0, 0] == 0
    assert z[0, 1] == pytest.approx(1 / 5e-3, rel=1e-3)
    assert 0.5 < z[0, 2] < 2


def test_a_table_that_does_not_vary_has_no_axes() -> None:
    x = torch.full((100, 3), 1 / 3, dtype=torch.float64)
    rotation = fitted(x * (1 + 1e-15 * torch.randn(100, 3).double()), "rotate")
    assert (rotation(x + 5) == 0).all()
