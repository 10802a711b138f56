"""What the comparison must find, and what it must not."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import igraph
import numpy as np
import pytest
import torch
from tests.brec.cases import PAIRS, PlaceInBatch, SmallGIN, TriangleCount
from tests.small_graphs import HEXAGON, TRIANGLES
from torch import Tensor, nn

from sekgnn import AddSubstructureEncoding
from sekgnn.brec import BRECScore, RPCProtocol, TrainedPair, score
from sekgnn.brec.networks import compare, draw_copies
from sekgnn.brec.record import from_json, to_json
from sekgnn.datasets import BREC, BRECPair
from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph
from sekgnn.kernel import compile_seconds, cpu_clock, kernel

UNTRAINED = RPCProtocol(epochs=0)
SHORT = RPCProtocol(epochs=2)


def many(count: int) -> list[BRECPair]:
    """Return one pair under many numbers, so with many seeds."""
    return [BRECPair(i, "basic", HEXAGON, TRIANGLES) for i in range(count)]


def test_gin_tells_nothing_apart() -> None:
    result = score(SmallGIN, pairs=PAIRS)
    assert result.separated == 0
    assert result.sentence().startswith("Reliable")
    assert max(pair.t2 for pair in result.pairs) < 10  # far from 72.34


def test_compiling_kernels_is_not_counted() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x): return (x * x).cumsum()", namespace)  # typed in: it is in no cache

    def make() -> SmallGIN:
        kernel(namespace["f"])(np.ones(3))
        return SmallGIN()

    compiled, at, begin = compile_seconds(), cpu_clock(), time.process_time()
    result = compare(make, PAIRS[0], SHORT)
    cpu_seconds, process_seconds = cpu_clock() - at, time.process_time() - begin
    assert compile_seconds() > compiled and cpu_seconds < process_seconds
    assert result.seconds <= cpu_seconds + 1e-3


def test_the_loss_is_the_cosine_above_the_margin() -> None:
    """Outputs that cannot differ have cosine 1."""
    for margin in (0.0, 0.25):
        protocol = RPCProtocol(epochs=1, margin=margin)
        for pair in score(SmallGIN, pairs=PAIRS, protocol=protocol).pairs:
            assert pair.loss == pytest.approx(1 - margin, abs=1e-5)


@pytest.mark.dataset
def test_gin_scores_zero_on_brec(data_root: Path) -> None:
    brec = BREC(data_root)
    chosen = [pair for pair in brec if pair.index % 40 in (3, 25)]
    assert len({pair.category for pair in chosen}) == 7
    result = score(SmallGIN, pairs=chosen, protocol=RPCProtocol(epochs=8))
    assert (result.separated, result.failures) == (0, 0)
    assert max(pair.t2 for pair in result.pairs) < 10


def test_random_features_fail_the_reliability_check() -> None:
    """Noise exceeds the 95 % point in one pair of twenty; 120 pairs show it surely."""
    result = score(
        lambda: SmallGIN(random_width=8), pairs=many(120), protocol=UNTRAINED
    )
    assert 1 <= result.failures <= 14  # 6 expected; outside in 1 of 250 seeds
    assert "NOT RELIABLE" in result.table()
    assert result.counts()["released_failures"] == 0  # without q, noise passes
    plain = score(SmallGIN, pairs=many(60), protocol=UNTRAINED)
    assert (plain.separated, plain.failures) == (0, 0)


def test_random_features_show_in_a_single_pair() -> None:
    result = score(lambda: SmallGIN(random_width=8), pairs=PAIRS[:1], protocol=SHORT)
    assert not result.pairs[0].invariant
    assert result.pairs[0].spread > 0.1
    assert "NOT" in result.sentence()
    assert score(SmallGIN, pairs=PAIRS[:1], protocol=SHORT).pairs[0].spread < 1e-5


def test_both_statistics_are_those_of_the_outputs() -> None:
    """Q D̄ᵀ S⁻¹ D̄ and, without q, the same, of noise with full rank."""
    seen: list[Tensor] = []

    class Noise(nn.Module):
        def forward(self, batch: Any) -> Tensor:
            seen.append(torch.randn(batch.num_graphs, 16, dtype=torch.float64))
            return seen[-1]

    (pair,) = score(Noise, pairs=PAIRS[:1]).pairs
    statistics = []
    for copies in (seen[:4], seen[4:]):  # 64 copies of both graphs, then of one
        z = torch.cat(copies).numpy()
        d = z[0::2] - z[1::2]
        statistics.append(
            d.mean(0) @ np.linalg.inv(np.cov(d, rowvar=False)) @ d.mean(0)
        )
    assert (pair.released_t2, pair.released_reliability) == pytest.approx(statistics)
    assert pair.t2 == pytest.approx(32 * statistics[0])
    assert pair.t2_reliability == pytest.approx(32 * statistics[1])


def test_the_precision_is_the_models() -> None:
    kinds: set[torch.dtype] = set()

    class Watched(SmallGIN):
        def forward(self, batch: Any) -> Tensor:
            out = super().forward(batch)
            kinds.update((batch.x.dtype, out.dtype))
            return out

    (pair,) = score(lambda: Watched().double(), pairs=PAIRS[:1], protocol=SHORT).pairs
    assert kinds == {torch.float64}
    assert pair.epsilon == 1e-10
    assert pair.spread < 1e-12
    (single,) = score(SmallGIN, pairs=PAIRS[:1], protocol=SHORT).pairs
    assert single.epsilon == 1e-6
    protocol = replace(SHORT, epsilon=1e-3)
    assert score(SmallGIN, pairs=PAIRS[:1], protocol=protocol).pairs[0].epsilon == 1e-3


def test_inputs_are_fitted_before_training_on_both_graphs() -> None:
    events: list[object] = []

    class Fitted(SmallGIN):
        def fit_inputs(self, batches: Any) -> None:
            for batch in batches():
                sizes = batch.ptr.diff().tolist()
                degrees = torch.bincount(batch.batch[batch.edge_index[0]]).tolist()
                events.append((sizes[:2], degrees[:2]))

        def forward(self, batch: Any) -> Tensor:
            events.append("forward")
            return super().forward(batch)

    uneven = BRECPair(0, "basic", HEXAGON, PAIRS[1].first)
    score(Fitted, pairs=[uneven], protocol=SHORT)
    assert events[0] == ([6, 13], [12, 52])
    assert set(events[1:]) == {"forward"}


def test_a_model_that_cheats_fails_every_time() -> None:
    result = score(PlaceInBatch, pairs=PAIRS)
    assert all(pair.t2 > pair.threshold for pair in result.pairs)
    assert result.failures == 3
    assert result.separated == 0


def test_triangles_separate_hexagon_and_two_triangles() -> None:
    """Both graphs have constant, exact outputs: 0 and 12 closed walks, no variance."""
    result = score(TriangleCount, pairs=PAIRS)
    assert [pair.separated for pair in result.pairs] == [True, True, False]
    assert result.failures == 0
    assert result.pairs[0].loss is None and result.pairs[0].epochs == 0
    assert result.pairs[2].t2 == 0  # 192 closed walks in either


def test_encodings_separate_what_gin_cannot() -> None:
    transform = AddSubstructureEncoding(
        num_shells=1, walk_length=4, scope="internal", radius=1, attr_name=None
    )
    width = 1 + transform.encoding.num_channels * 4
    result = score(
        lambda: SmallGIN(width), pairs=PAIRS, transform=transform, protocol=SHORT
    )
    assert result.separated == 3
    assert result.failures == 0
    assert result.settings["transform"] == repr(transform)


def test_training_lowers_the_loss_and_stops_early() -> None:
    transform = AddSubstructureEncoding(num_shells=1, walk_length=4, attr_name=None)
    width = 1 + transform.encoding.num_channels * 4

    def losses(**settings: Any) -> tuple[float, int]:
        (pair,) = score(
            lambda: SmallGIN(width),
            pairs=PAIRS[:1],
            transform=transform,
            protocol=RPCProtocol(**settings),
        ).pairs
        assert pair.loss is not None
        return pair.loss, pair.epochs

    first, _ = losses(epochs=1, stop_loss=-1.0)
    last, trained = losses(epochs=20, stop_loss=-1.0)
    assert last < first / 2
    assert trained == 20
    assert losses(stop_loss=2.0) == (first, 1)


def test_training_ends_when_a_pair_is_decided() -> None:
    """By a clear difference, or by one of rounding size; in between it goes on."""
    steps = []

    class Outputs(torch.nn.Module):
        """Two outputs for the first graph of a pair, two that differ for the second."""

        def __init__(self, apart: float) -> None:
            super().__init__()
            self.apart = apart
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, batch: Any) -> torch.Tensor:
            if self.training:
                steps.append(self.apart)
            odd = torch.arange(batch.num_graphs) % 2
            shift = torch.stack([0 * odd, odd], 1) * self.apart
            return (1 + shift.double()) * self.weight

    def count(apart: float, **settings: Any) -> int:
        steps.clear()
        protocol = RPCProtocol(epochs=2, stop_loss=-1.0, **settings)  # of 4 steps each
        (pair,) = score(
            lambda: Outputs(apart), pairs=PAIRS[:1], protocol=protocol
        ).pairs
        assert pair.loss is not None
        assert pair.loss == pytest.approx(1, abs=2e-2)  # the mean of what was seen
        return len(steps)

    assert count(0.1) == count(0.0) == 8
    assert count(0.1, decided=0.05) == 1
    assert count(0.1, decided=0.2) == 8
    assert count(1e-9, decided=0.05) == 8  # outputs are float64
    assert count(1e-9, decided=0.05, epsilon=1e-8) == 1
    assert count(1e-11, decided=0.05) == count(0.0, decided=0.05) == 1


def test_dropout_is_off_when_comparing() -> None:
    result = score(lambda: SmallGIN(dropout=0.5), pairs=PAIRS, protocol=SHORT)
    assert all(pair.invariant for pair in result.pairs)


def test_same_seed_same_numbers() -> None:
    def run(seed: int) -> BRECScore[TrainedPair]:
        protocol = replace(SHORT, seed=seed)
        return score(lambda: SmallGIN(random_width=8), pairs=PAIRS, protocol=protocol)

    with torch.random.fork_rng([]):
        first = run(1)
        torch.manual_seed(99)  # what the caller did before must not matter
        two, other = run(1), run(2)
    assert first == two
    for a, b in zip(first.pairs, other.pairs, strict=True):
        assert (a.t2, a.t2_reliability, a.loss) != (b.t2, b.t2_reliability, b.loss)


def test_the_random_numbers_of_the_caller_are_left_alone() -> None:
    before = torch.get_rng_state()
    score(lambda: SmallGIN(random_width=1), pairs=PAIRS[:1], protocol=SHORT)
    assert torch.equal(before, torch.get_rng_state())


def test_the_model_may_change_its_batch() -> None:
    seen = set()

    class Greedy(SmallGIN):
        def forward(self, batch: Any) -> Tensor:
            seen.add(float(batch.x.max()))
            batch.x = batch.x * 2
            return super().forward(batch)

    score(Greedy, pairs=PAIRS[:1], protocol=SHORT)
    assert seen == {1.0}


class Shaped(nn.Module):
    """Returns whatever it is told to."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self.make = make

    def forward(self, batch: Any) -> Any:
        return self.make(batch)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: b.x, "readout"),
        (lambda b: torch.ones(b.num_graphs), "tensor"),
        (lambda b: [1.0], "list"),
        (lambda b: torch.full((b.num_graphs, 2), torch.nan), "NaN"),
        (lambda b: torch.ones(b.num_graphs, 32), "32 copies"),
    ],
)
def test_bad_outputs(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        score(lambda: Shaped(make), pairs=PAIRS)


def test_bad_arguments() -> None:
    with pytest.raises(ConfigError, match="Module"):
        score(lambda: 3, pairs=PAIRS)  # type: ignore[arg-type, return-value]
    with pytest.raises(ConfigError, match="index"):
        score(SmallGIN, pairs=[PAIRS[0], PAIRS[0]])


def test_nothing_to_score() -> None:
    result = score(SmallGIN, pairs=[])
    assert (result.separated, result.failures, result.pairs) == (0, 0, ())
    assert from_json(to_json([result])) == (result,)


def isomorphic(first: Graph, second: Graph) -> bool:
    a, b = (
        igraph.Graph(g.num_nodes, g.edge_index().T.tolist()).simplify()
        for g in (first, second)
    )
    return bool(a.isomorphic(b))


def test_first_and_second_in_turn() -> None:
    shown, same = draw_copies(PAIRS[0], 5, np.random.default_rng(0))
    assert len(shown) == len(same) == 10
    assert all(isomorphic(g, HEXAGON) for g in shown[0::2])
    assert all(isomorphic(g, TRIANGLES) for g in shown[1::2])


def test_reliability_copies_are_of_one_graph_and_either_occurs() -> None:
    seen = set()
    for seed in range(12):
        _, same = draw_copies(PAIRS[0], 3, np.random.default_rng(seed))
        hexagons = [isomorphic(g, HEXAGON) for g in same]
        assert len(set(hexagons)) == 1
        seen.add(hexagons[0])
    assert seen == {True, False}


def test_seeded_and_different() -> None:
    pair = PAIRS[2]
    a, b, c = (draw_copies(pair, 8, np.random.default_rng(s)) for s in (1, 1, 2))
    assert a == b
    assert a != c
    assert len({*a[0], *a[1]}) == 32
