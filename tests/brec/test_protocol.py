"""The settings: BREC's by default, and refused where they cannot work."""

from __future__ import annotations

from typing import Any

import pytest

from sekgnn.brec import RPCProtocol
from sekgnn.errors import ConfigError


def test_defaults_are_those_of_brec() -> None:
    protocol = RPCProtocol()
    assert (protocol.copies, protocol.epochs, protocol.batch_size) == (32, 20, 16)
    assert (protocol.learning_rate, protocol.weight_decay) == (1e-4, 1e-4)
    assert (protocol.margin, protocol.stop_loss) == (0.0, 0.2)
    assert protocol.threshold_for(16) == 72.34


def test_threshold_follows_the_dimension_unless_given() -> None:
    assert RPCProtocol().threshold_for(1) < 72.34 < RPCProtocol().threshold_for(20)
    assert RPCProtocol(threshold=50).threshold_for(1) == 50
    with pytest.raises(ConfigError, match="need more than 40 copies"):
        RPCProtocol(threshold=50).threshold_for(40)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"copies": 1}, "copies must be at least 2"),
        ({"epochs": -1}, "epochs must be at least 0"),
        ({"batch_size": 5}, "batch_size must be even, got 5"),
        ({"learning_rate": 0.0}, "learning_rate must be a number above 0, got 0.0"),
        ({"epsilon": float("nan")}, "epsilon must be a number above 0, got nan"),
        ({"margin": "0"}, "margin must be a finite number, got '0'"),
        ({"threshold": -1.0}, "threshold must be a number above 0"),
        ({"statistic": "releasd"}, "Did you mean 'released'"),
        ({"seed": 1.5}, "seed must be an integer"),
    ],
)
def test_bad_settings(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RPCProtocol(**setting)
