"""The sparse sum is the matrix product, forward, backward, on every path."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nn.helpers import dense, dress, hops_of
from tests.small_graphs import empty_graph

import sekgnn.nn.sparse_sum as sparse
from sekgnn.graphs import Graph, petersen_graph
from sekgnn.nn import csr_sum, hop_csr
from sekgnn.nn.sparse_sum import _any_device_sum, _composed, hop_mix
from sekgnn.testing import graphs


def sampled(seed: int, num_nodes: int = 7) -> torch.Tensor:
    """Return pairs that are not symmetric, some of them twice."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(num_nodes, (2, 20), generator=draw)


@settings(max_examples=40)
@given(graphs(max_nodes=7), st.integers(1, 9))
def test_is_the_matrix_product(graph: Graph, channels: int) -> None:
    hops = hops_of(dress(graph, encoding=None), 3)
    x = torch.randn(graph.num_nodes, channels, dtype=torch.float64)
    for k in (1, 2, 3):
        expected = dense(hops, k) @ x
        csr = hops.hop(k)
        torch.testing.assert_close(csr_sum(x, csr), expected)
        other = _any_device_sum(x, csr.indptr, csr.indices)
        torch.testing.assert_close(other, expected)


@pytest.mark.parametrize("seed", range(4))
def test_gradient_is_the_product_with_the_transpose(seed: int) -> None:
    pairs = sampled(seed)
    hops = hop_csr(pairs, torch.randint(1, 3, (20,)), 7, 2)
    matrix = dense(hops, 2)
    assert not torch.equal(matrix, matrix.T)
    x = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    g = torch.randn(7, 3, dtype=torch.float64)
    torch.autograd.backward(csr_sum(x, hops.hop(2)), g)
    torch.testing.assert_close(x.grad, matrix.T @ g)
    check = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    assert all(f(lambda x: csr_sum(x, hops.hop(2)), (x,)) for f in check)


@pytest.mark.parametrize("rectify", [True, False])
@pytest.mark.parametrize("first_hop", [1, 2])
def test_the_fused_message_is_the_composed_one(rectify: bool, first_hop: int) -> None:
    hops = hop_csr(sampled(9), torch.randint(1, 4, (20,)), 7, 3)
    sources = [torch.randn(7, 5, dtype=torch.float64).requires_grad_() for _ in "ab"]
    which = [1, 1, 0, 0][: 5 - first_hop]
    weights = torch.randn(len(which), 5, dtype=torch.float64).requires_grad_()

    def fused(weights: torch.Tensor, *sources: torch.Tensor) -> torch.Tensor:
        return hop_mix(
            sources, which, weights, hops, first_hop=first_hop, rectify=rectify
        )

    composed = _composed(sources, which, weights, hops, first_hop, rectify)
    torch.testing.assert_close(fused(weights, *sources), composed)
    assert torch.autograd.gradcheck(fused, (weights, *sources))


@pytest.mark.parametrize("channels", [0, 1, 3, 8, 19, 31, 40, 64, 70, 97])
def test_every_width_is_summed_once(channels: int) -> None:
    """Stretches of columns overlap; none counts twice."""
    hops = hop_csr(sampled(5), torch.randint(1, 3, (20,)), 7, 2)
    sources = [torch.randn(7, channels).requires_grad_() for _ in "ab"]
    x, which = sources[0], [1, 0, 1]
    torch.testing.assert_close(csr_sum(x, hops.hop(1)), dense(hops, 1).float() @ x)
    g = torch.randn(7, channels)
    for weights in (torch.randn(3, channels), torch.randn(3, 1)):
        weights.requires_grad_()
        made = hop_mix(sources, which, weights, hops, rectify=True)
        expected = _composed(sources, which, weights, hops, 1, True)
        torch.testing.assert_close(made, expected)
        leaves = [weights, *sources]
        torch.testing.assert_close(
            torch.autograd.grad(made, leaves, g),
            torch.autograd.grad(expected, leaves, g),
        )


def test_threads_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into chunks, with some of them empty: rows of one node hold nearly all."""
    monkeypatch.setattr(sparse, "PARALLEL_WORK", 0)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    draw = torch.Generator().manual_seed(1)
    pairs = torch.randint(50, (2, 400), generator=draw)
    pairs[1, :300] = 7
    hops = hop_csr(pairs, torch.ones(400).long(), 50, 1)
    x = torch.randn(50, 4, dtype=torch.float64, requires_grad=True)
    assert len(sparse.row_chunks(hops.indptr.numpy(), 4)) > 1
    torch.testing.assert_close(csr_sum(x, hops.hop(1)), dense(hops, 1) @ x)
    weights = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)

    def mix(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return hop_mix([x], [0, 0], weights, hops, rectify=True)

    expected = _composed([x], [0, 0], weights, hops, 1, True)
    torch.testing.assert_close(mix(x, weights), expected)
    assert torch.autograd.gradcheck(mix, (x, weights))


@pytest.mark.parametrize("num_nodes", [0, 1, 3])
def test_no_pairs_give_zeros(num_nodes: int) -> None:
    hops = hops_of(dress(empty_graph(num_nodes), encoding=None), 2)
    x = torch.randn(num_nodes, 4, requires_grad=True)
    out = csr_sum(x, hops.hop(2))
    assert out.shape == (num_nodes, 4)
    assert not out.any()
    out.sum().backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert not x.grad.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float32(dtype: torch.dtype) -> None:
    hops = hops_of(dress(petersen_graph(), encoding=None), 1)
    x = torch.randn(10, 4).to(dtype)
    exact = csr_sum(x.float(), hops.hop(1))
    out = csr_sum(x, hops.hop(1))
    assert out.dtype == dtype
    torch.testing.assert_close(out, exact.to(dtype))
    mixed = hop_mix([x], [0, 0], torch.ones(2, 4), hops, rectify=False)
    assert mixed.dtype == dtype
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert csr_sum(x, hops.hop(1)).dtype == torch.float32


def test_columns_need_not_be_contiguous() -> None:
    hops = hops_of(dress(petersen_graph(), encoding=None), 1)
    x = torch.randn(4, 10).T
    torch.testing.assert_close(
        csr_sum(x, hops.hop(1)), csr_sum(x.contiguous(), hops.hop(1))
    )


def test_operators_pass_pytorchs_own_check() -> None:
    """Schema, shape rule and tracing agree with what the operators do."""
    hops = hop_csr(sampled(3), torch.randint(1, 3, (20,)), 7, 2)
    x, weights = torch.randn(7, 3), torch.randn(3, 3)
    tests = ("test_schema", "test_faketensor")
    torch.library.opcheck(
        torch.ops.sekgnn.csr_sum, (x, hops.indptr, hops.indices), test_utils=tests
    )
    args = ([x], [0, 0, 0], weights, hops.indptr, hops.indices, 1, True)
    torch.library.opcheck(torch.ops.sekgnn.hop_mix, args, test_utils=tests)
