"""The settings of BREC's reliable paired comparison, checked and written down."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sekgnn.brec.hotelling import EPSILON, critical_t2
from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import ConfigError

STATISTICS = ("hotelling", "released")


@dataclass(frozen=True)
class RPCProtocol:
    r"""How one pair is compared; the defaults are those of BREC's released code.

    A fresh model is trained for each pair, on relabelled copies of its two graphs, to
    give them different directions: the loss is
    :math:`\max(0, \cos(x_i, y_i) - \text{margin})`, by Adam, with the learning rate
    reduced when the loss no longer falls.

    Attributes:
        copies: q, relabelled copies of each graph.
        epochs: Passes over them, at most; 0 compares the untrained model.
        batch_size: Graphs per step, even: half of them of each graph.
        learning_rate: Of Adam.
        weight_decay: Of Adam.
        margin: Of the loss.
        stop_loss: Training ends when the mean loss of an epoch is below this.
        statistic: ``"hotelling"``, or ``"released"`` to compare with published scores;
            :mod:`sekgnn.brec.hotelling` tells the difference.
        epsilon: Relative size of rounding errors, for ``"hotelling"``.
        threshold: What T² must exceed; ``None`` for the 95 % point of T² for the
            model's output dimension, to two decimals: 72.34 for 32 copies and 16
            dimensions, as in BREC.
        seed: Everything random follows from it and the number of the pair.

    Raises:
        ConfigError: If a value cannot work.
    """

    copies: int = 32
    epochs: int = 20
    batch_size: int = 16
    learning_rate: float = 1e-4
    weight_decay: float = 1e-4
    margin: float = 0.0
    stop_loss: float = 0.2
    statistic: Literal["hotelling", "released"] = "hotelling"
    epsilon: float = EPSILON
    threshold: float | None = None
    seed: int = 2023

    def __post_init__(self) -> None:
        """Check every value."""
        check_positive("copies", self.copies, 2)
        check_positive("epochs", self.epochs, 0)
        check_positive("batch_size", self.batch_size, 2)
        check_positive("seed", self.seed, 0)
        check_choice("statistic", self.statistic, STATISTICS)
        if self.batch_size % 2:
            raise ConfigError(
                f"batch_size must be even, got {self.batch_size}: a batch holds as "
                "many copies of the one graph as of the other."
            )
        for name in ("learning_rate", "epsilon"):
            self._check_number(name, positive=True)
        for name in ("weight_decay", "margin", "stop_loss"):
            self._check_number(name, positive=False)
        if self.threshold is not None:
            self._check_number("threshold", positive=True)

    def _check_number(self, name: str, *, positive: bool) -> None:
        """Refuse what is no finite number, or not above 0 where it must be."""
        value = getattr(self, name)
        fits = isinstance(value, float | int) and math.isfinite(value)
        if not fits or (positive and not value > 0):
            kind = "a number above 0" if positive else "a finite number"
            raise ConfigError(f"{name} must be {kind}, got {value!r}.")

    def threshold_for(self, dim: int) -> float:
        """Return the threshold for outputs of ``dim`` dimensions.

        Raises:
            ConfigError: If ``dim`` is not below ``copies``.

        Example:
            >>> RPCProtocol().threshold_for(16)
            72.34
        """
        critical = critical_t2(self.copies, dim)
        return round(critical, 2) if self.threshold is None else float(self.threshold)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name."""
        return asdict(self)
