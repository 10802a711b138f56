"""The settings, what a pair must show to count, and what the table says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sekgnn.brec import BRECScore, RPCProtocol, TrainedPair
from sekgnn.brec.record import from_json, read_scores, to_json
from sekgnn.errors import ConfigError, OutputError


def pair(
    index: int,
    category: str,
    t2: float,
    same: float,
    spread: float = 0.0,
    released: tuple[float, float] = (0.0, 0.0),
) -> TrainedPair:
    return TrainedPair(
        index=index,
        category=category,
        graphs="a-b",
        t2=t2,
        t2_reliability=same,
        released_t2=released[0],
        released_reliability=released[1],
        spread=spread,
        threshold=72.34,
        epsilon=1e-6,
        loss=0.5,
        epochs=20,
        seconds=0.25,
    )


def scored(*pairs: TrainedPair) -> BRECScore[TrainedPair]:
    settings = {"dtype": "float32", "transform": None, "protocol": {"epochs": 3}}
    return BRECScore(
        "a", "b", "GIN()", settings, {"torch": "2"}, ("ab12",), pairs=pairs
    )


@pytest.mark.parametrize(
    ("t2", "same", "separated", "reliable"),
    [
        (100.0, 1.0, True, True),
        (1.0, 1.0, False, True),
        (72.34, 1.0, False, True),  # above, not at
        (100.0, 100.0, False, False),
        (1.0, 100.0, False, False),
        (100.0, 72.34, False, False),  # below, not at
    ],
)
def test_a_pair_counts_only_if_it_is_reliable(
    t2: float, same: float, separated: bool, reliable: bool
) -> None:
    result = pair(0, "cfi", t2, same)
    assert (result.separated, not result.failures) == (separated, reliable)


@pytest.mark.parametrize(
    ("t2", "same", "separated", "failed"),
    [
        (100.0, 1.0, True, False),
        (72.34, 1.0, False, False),
        (100.0, 100.0, False, True),  # close
        (100.0, 100.0 + 9e-4, False, True),
        (100.0, 100.0 + 2e-3, True, True),  # upstream calls it correct, and a failure
        (1e9, 200.0, True, True),
    ],
)
def test_the_released_verdict(
    t2: float, same: float, separated: bool, failed: bool
) -> None:
    """As torch has it: ``t2 > 72.34 and not isclose(t2, same, atol=1e-6)``."""
    result = pair(0, "cfi", 0, 0, released=(t2, same))
    close = torch.isclose(torch.tensor(t2), torch.tensor(same), atol=1e-6)
    assert (t2 > 72.34 and not bool(close)) == separated
    assert result.counts["released"] == separated - failed
    assert result.counts["released_failures"] == failed


def test_counts_and_table() -> None:
    """The released score subtracts failures from what it calls correct."""
    result = scored(
        pair(300, "cfi", 100, 1, released=(100, 1)),
        pair(0, "basic", 100, 1, released=(100, 1)),
        pair(1, "basic", 100, 100, released=(100, 200)),
        pair(2, "basic", 1, 1, released=(1, 200)),
    )
    assert (result.separated, result.failures) == (2, 1)
    counts = result.by_category()
    assert list(counts) == ["basic", "cfi"]
    assert [*counts["basic"].values()] == [1, 1, 0, 2, 3]
    assert [*result.counts().values()] == [2, 1, 1, 2, 4]
    outside = replace(result, subset=(300, 2, 77)).outside
    assert [*outside.counts().values()] == [1, 1, 1, 1, 2]
    assert outside.pairs == result.pairs[1:3]
    assert result.seconds == 1
    lines = [line.split() for line in result.table().splitlines()]
    assert lines[:4] == [
        ["category", "separated", "unreliable", "released", "unreliable", "of"],
        ["basic", "1", "1", "0", "2", "3"],
        ["CFI", "1", "0", "1", "0", "1"],
        ["total", "2", "1", "1", "2", "4"],
    ]
    assert "NOT RELIABLE: in 1 of 4 pairs" in result.table()


def test_what_is_said_of_trust() -> None:
    assert scored(pair(0, "cfi", 100, 1)).sentence().startswith("Reliable")
    noisy = scored(pair(0, "cfi", 100, 1, spread=0.5), pair(1, "cfi", 1, 1))
    assert noisy.sentence().startswith("NOT INVARIANT: in 1 of 2 pairs")


def test_json_round_trip() -> None:
    result = scored(pair(0, "cfi", 1 / 3, 1e-300), pair(5, "my own", 1e300, 0.1))
    (content,) = json.loads(to_json([result]))["scores"]
    assert content["separated"] == 1
    assert content["pairs"][0]["t2"] == 1 / 3
    chosen = replace(result, subset=(1, 2), commits=())
    assert from_json(to_json([result, chosen])) == (result, chosen)
    assert BRECScore.from_dict(result.to_dict()) == result
    assert list(result.by_category()) == ["cfi", "my own"]
    with pytest.raises(ValueError, match="missing"):
        from_json('{"scores": [{"model": "GIN()"}]}')


def test_scores_of_the_other_kind_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(to_json([scored()]))
    assert read_scores(file, "", trained=True) == (scored(),)
    with pytest.raises(OutputError, match=r"tests.*Do that"):
        read_scores(file, "Do that.", trained=False)


def test_defaults_are_those_of_brec() -> None:
    protocol = RPCProtocol()
    assert (protocol.copies, protocol.epochs, protocol.batch_size) == (32, 20, 16)
    assert (protocol.lr, protocol.weight_decay) == (1e-4, 1e-4)
    assert (protocol.margin, protocol.stop_loss) == (0.0, 0.2)
    assert protocol.decided is None
    assert protocol.threshold_for(16) == 72.34


def test_threshold_follows_the_dimension_unless_given() -> None:
    assert RPCProtocol().threshold_for(1) < 72.34 < RPCProtocol().threshold_for(20)
    assert RPCProtocol(threshold=50).threshold_for(1) == 50
    with pytest.raises(ConfigError, match="40 copies"):
        RPCProtocol(threshold=50).threshold_for(40)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"copies": 1}, "copies"),
        ({"epochs": -1}, "epochs"),
        ({"batch_size": 5}, "batch_size"),
        ({"lr": 0.0}, "lr"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"decided": 0.0}, "decided"),
        ({"margin": 1.5}, "margin"),
        ({"stop_loss": float("nan")}, "stop_loss"),
        ({"threshold": -1.0}, "threshold"),
        ({"seed": 1.5}, "seed"),
    ],
)
def test_bad_settings(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RPCProtocol(**setting)
