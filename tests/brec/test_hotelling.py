"""T² by hand, by the explicit formula, by its distribution, and where S is singular."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sekgnn.brec import critical_t2, hotelling_t2, released_t2
from sekgnn.brec.hotelling import epsilon_for, relative_spread
from sekgnn.errors import ConfigError


def test_worked_by_hand() -> None:
    """D = (2,1), (0,1), (1,4): mean (1,2), S = diag(1,3), T² = 3 (1 + 4/3) = 7."""
    second = np.array([[10.0, 5.0], [7.0, 7.0], [-3.0, 2.0]])
    first = second + np.array([[2, 1], [0, 1], [1, 4]])
    assert hotelling_t2(first, second) == pytest.approx(7, abs=1e-8)
    assert released_t2(first, second) == pytest.approx(7 / 3, rel=1e-5)


def test_explicit_formula() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 32, 16))
    second += 0.3
    d = first - second
    inverse = np.linalg.inv(np.cov(d, rowvar=False))
    expected = 32 * d.mean(0) @ inverse @ d.mean(0)
    assert hotelling_t2(first, second) == pytest.approx(expected, rel=1e-12)
    assert released_t2(first, second) == pytest.approx(expected / 32, rel=1e-12)
    less = first.astype(np.float32), second.astype(np.float32)
    assert hotelling_t2(*less) == pytest.approx(expected, rel=1e-4)
    assert released_t2(*less) == pytest.approx(expected / 32, rel=1e-3)
    assert released_t2(*less) != pytest.approx(expected / 32, rel=1e-9)


def test_the_floor_follows_the_precision() -> None:
    """A difference of 1e-8 is rounding in float32 and a fact in float64."""
    first = np.ones((32, 16))
    second = first * (1 + 1e-8)
    assert hotelling_t2(first, second) == pytest.approx(32 * 16 * 1e4, rel=1e-3)
    assert hotelling_t2(first, second, epsilon=1e-6) < 1
    single = first.astype(np.float32)
    assert hotelling_t2(single, single * np.float32(1 + 2e-7)) < 72.34
    assert (epsilon_for(single), epsilon_for(single, first)) == (1e-6, 1e-10)


def test_distribution_without_a_difference() -> None:
    """(q - d) / ((q - 1) d) T² follows F(d, q - d): Kolmogorov-Smirnov, fixed seed."""
    rng = np.random.default_rng(1)
    mix = rng.normal(size=(16, 16))
    values = [
        hotelling_t2(rng.normal(size=(32, 16)) @ mix, rng.normal(size=(32, 16)) @ mix)
        for _ in range(500)
    ]
    scaled = np.array(values) * 16 / (31 * 16)
    assert stats.kstest(scaled, stats.f(16, 16).cdf).pvalue > 0.01
    above = np.mean(np.array(values) > 72.34)
    assert 0.02 < above < 0.08


@pytest.mark.parametrize("factor", [1e-30, 1e-3, 1e30])
def test_the_scale_of_the_outputs_does_not_matter(factor: float) -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 32, 16))
    for a, b in ((first, second), (np.ones((4, 2)), np.full((4, 2), 1.5))):
        assert hotelling_t2(a * factor, b * factor) == pytest.approx(
            hotelling_t2(a, b), rel=1e-6
        )


def test_equal_outputs_are_never_told_apart() -> None:
    """S = 0 and D = 0: 0, not NaN; also if the model is constant or zero."""
    rng = np.random.default_rng(3)
    outputs = rng.normal(size=(32, 16))
    for same in (outputs, np.full((32, 16), 7.5), np.zeros((32, 16))):
        assert hotelling_t2(same, same) == 0
        assert released_t2(same, same) == 0


def test_a_constant_difference_is_a_difference() -> None:
    """S = 0 and D ≠ 0: the pseudoinverse of the released code says 0 here."""
    first, second = np.ones((32, 16)), np.ones((32, 16))
    second[:, 0] = 1.001
    assert hotelling_t2(first, second) > 1e6
    assert np.isfinite(hotelling_t2(first, second))
    assert released_t2(first, second) == 0


def test_rounding_errors_are_no_difference() -> None:
    """One unit in the last place of float32, always in the same direction."""
    first = np.full((32, 16), 3.0, dtype=np.float32)
    assert hotelling_t2(first, np.nextafter(first, np.float32(4))) < 5


def test_a_direction_without_variance_counts() -> None:
    """Fifteen noisy outputs do not hide a sixteenth that differs for certain."""
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=(2, 32, 16))
    first[:, 3], second[:, 3] = 1, 2
    assert hotelling_t2(first, second) > 1e9
    assert released_t2(first, second) < 72.34


def test_critical_values() -> None:
    assert round(critical_t2(32, 16), 2) == 72.34
    for q, d in ((32, 20), (10, 3), (64, 1)):
        expected = (q - 1) * d / (q - d) * stats.f.ppf(0.95, d, q - d)
        assert critical_t2(q, d) == pytest.approx(expected, rel=1e-10)


def test_relative_spread() -> None:
    """Rows (3,4) and (3,-4): deviations (0,±4), sizes 5, so sqrt(32 / 50) = 0.8."""
    assert relative_spread([[3, 4], [3, -4]]) == pytest.approx(0.8)
    assert relative_spread(np.zeros((4, 2))) == 0
    assert relative_spread(np.full((4, 2), 1e300)) == 0


def test_bad_input() -> None:
    good = np.ones((4, 2))
    for first, second in ((good, good[:3]), (good[0], good[0]), (good[:1], good[:1])):
        with pytest.raises(ConfigError, match="two arrays"):
            hotelling_t2(first, second)
    with pytest.raises(ConfigError, match="NaN or infinity"):
        hotelling_t2(good, good * np.nan)
    with pytest.raises(ConfigError, match="NaN or infinity"):
        released_t2(good * np.inf, good)
    with pytest.raises(ConfigError, match="epsilon must be above 0"):
        hotelling_t2(good, good, epsilon=0)
    with pytest.raises(ConfigError, match="need more than 32 copies"):
        critical_t2(32, 32)
