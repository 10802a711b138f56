"""Fast products, linear layers and normalisation: PyTorch's values and gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from sekgnn.nn import dense
from sekgnn.nn.mlp import Linear, RowBatchNorm, activate, normalised

SIZES = st.integers(1, 70)


@pytest.fixture(params=[1, 3])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take matrices whole, and in three pieces."""
    if request.param > 1:
        monkeypatch.setattr(dense, "PARALLEL_WORK", 0)
        monkeypatch.setattr(torch, "get_num_threads", lambda: request.param)


@given(SIZES, SIZES, SIZES)
def test_products_are_those_of_pytorch(n: int, k: int, d: int) -> None:
    torch.manual_seed(n + 71 * k)
    x, w, y = torch.randn(n, k), torch.randn(d, k).t(), torch.randn(n, d)
    torch.testing.assert_close(dense.matmul(x, w), x @ w, rtol=1e-4, atol=1e-4)
    expected = x.double().t() @ y.double()
    torch.testing.assert_close(
        dense.matmul_rows(x, y).double(), expected, rtol=1e-4, atol=1e-4
    )


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("width", [3, 16, 41, 120])
def test_linear_layers_have_pytorchs_gradients(width: int) -> None:
    layer = Linear(width, 24)
    same = nn.Linear(width, 24)
    same.load_state_dict(layer.state_dict())
    x = torch.randn(600, width)
    out = [_with_gradients(one, x) for one in (layer, same)]
    for ours, theirs in zip(*out, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("channels", [1, 9, 32, 40])
def test_norm_and_relu_in_one_are_the_two(channels: int) -> None:
    ours, theirs = RowBatchNorm(channels), nn.BatchNorm1d(channels)
    for norm in (ours, theirs):
        nn.init.uniform_(norm.weight, 0.5, 2, torch.Generator().manual_seed(0))
        nn.init.uniform_(norm.bias, -1, 1, torch.Generator().manual_seed(1))
    x = 5 + torch.randn(600, channels)
    x[:, 0] = 3  # a constant
    first = _with_gradients(ours, x, lambda x: normalised(x, ours, "relu"))
    second = _with_gradients(theirs, x, lambda x: activate(theirs(x), "relu"))
    for a, b in zip(first, second, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-3)
    for name, value in theirs.named_buffers():
        torch.testing.assert_close(dict(ours.named_buffers())[name], value)


def test_gradients_of_gradients() -> None:
    norm, layer = RowBatchNorm(17).double(), Linear(17, 17).double()
    x = torch.randn(9, 17, dtype=torch.float64, requires_grad=True)

    def out(x: Tensor) -> Tensor:
        norm.reset_running_stats()
        return layer(normalised(x, norm, "relu"))  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(out, x)
    assert torch.autograd.gradgradcheck(out, x)
    layer, weight = layer.float(), torch.randn(17, 17, requires_grad=True)
    x = torch.randn(20, 17, requires_grad=True)
    for result in (layer(x).square(), dense.mix_channels(weight, x.t()).square()):
        (slope,) = torch.autograd.grad(result.sum(), x, create_graph=True)
        assert torch.autograd.grad(slope.square().sum(), x)[0].abs().sum() > 0


@pytest.mark.usefixtures("pieces")
def test_channels_that_stand_as_columns() -> None:
    weight, x = torch.randn(24, 40, requires_grad=True), torch.randn(40, 301)
    x.requires_grad_()
    found = []
    for out in (dense.mix_channels(weight, x), weight @ x):
        found.append((out, *torch.autograd.grad(out.sin().sum(), (weight, x))))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)
    norm, same = RowBatchNorm(40), RowBatchNorm(40)
    torch.testing.assert_close(norm.columns(x), same(x.t()).t())
    torch.testing.assert_close(norm.running_var, same.running_var)


def _with_gradients(
    layer: nn.Module, x: Tensor, work: Callable[[Tensor], Tensor] | None = None
) -> list[Tensor]:
    """Return output and gradients, of the input and of all parameters."""
    x = x.clone().requires_grad_()
    out = (work or layer)(x)
    (out * torch.arange(len(x)).cos().unsqueeze(1)).sum().backward()
    assert x.grad is not None
    return [out, x.grad, *(each.grad for each in layer.parameters())]  # type: ignore[list-item]
