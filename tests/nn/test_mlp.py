"""Batch normalisation divides by next to nothing nowhere, and is else PyTorch's."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from sekgnn.nn.mlp import LIMIT, RowBatchNorm


def trained(rows: int, spread: float, batches: int) -> tuple[RowBatchNorm, nn.Module]:
    """Return the two after the same batches: five channels, mean 3, one is constant."""
    ours, theirs = RowBatchNorm(5), nn.BatchNorm1d(5)
    draw = torch.Generator().manual_seed(rows)
    for _ in range(batches):
        x = 3 + spread * torch.randn(rows, 5, generator=draw)
        x[:, 0] = 3
        torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=0)
    return ours.eval(), theirs.eval()


@pytest.mark.parametrize("batches", [0, 1, 7, 200])
@pytest.mark.parametrize("spread", [0.1, 1.0, 1e3])
def test_ordinary_rows_are_normalised_as_by_pytorch(
    batches: int, spread: float
) -> None:
    ours, theirs = trained(40, spread, batches)
    x = 3 + 10 * spread * torch.randn(50, 5)
    x[:, 0] = 3
    got, expected = ours(x), theirs(x)
    torch.testing.assert_close(got[:, 1:], expected[:, 1:], rtol=0, atol=0)


@pytest.mark.parametrize("batches", [1, 7, 30, 80, 160, 1000])
def test_what_was_constant_in_training_stays_so(batches: int) -> None:
    """Also while the running mean, which began at 0, has not come near."""
    ours, theirs = trained(40, 1.0, batches)
    x = torch.tensor([-50.0, 3.3, 1e6]).repeat_interleave(5).view(3, 5)
    assert ours(x)[:, 0].abs().max() < 0.3
    assert theirs(x)[:, 0].abs().max() > 70


def test_no_row_is_further_off_than_the_limit() -> None:
    ours, _ = trained(40, 1e-6, 500)
    assert ours(torch.full((1, 5), 1e9)).abs().max() <= 1.01 * LIMIT
    loaded = RowBatchNorm(5).eval()  # from a file: the statistics are all there is
    loaded.load_state_dict(copy.deepcopy(ours.state_dict()))
    assert loaded(torch.full((1, 5), 1e9)).abs().max() <= 1.01 * LIMIT
