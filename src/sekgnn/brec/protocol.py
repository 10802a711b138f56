"""The settings of BREC's reliable paired comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sekgnn.brec.hotelling import critical_t2
from sekgnn.checks import check_positive, check_seed
from sekgnn.errors import ConfigError
from sekgnn.parameters import parameter


@dataclass(frozen=True)
class RPCProtocol:
    r"""Settings for one pair; the defaults are those of BREC's released code.

    A fresh model is trained for each pair, on relabelled copies of its two graphs, to
    give them different directions: the loss is
    :math:`\max(0, \cos(x_i, y_i) - \text{margin})`, by Adam, with the learning rate
    reduced when the loss no longer falls.

    Attributes:
        copies: q, relabelled copies of each graph.
        epochs: Passes over them, at most; 0 compares the untrained model.
        batch_size: Graphs per step, even: half of them of each graph.
        lr: Learning rate of Adam.
        weight_decay: Of Adam.
        margin: Of the loss.
        stop_loss: Training ends when the mean loss of an epoch is below this.
        decided: Training ends with the first batch in which the mean outputs of the two
            graphs differ by more than this part of the outputs' size, or by less than
            ``epsilon`` of it, which leaves nothing to follow; ``None`` for neither, as
            in BREC.
        epsilon: Relative size of rounding errors in T²; ``None`` for 1e-6 where the
            model's outputs are float32 and 1e-10 where they are float64.
        threshold: Bound that T² must exceed; ``None`` for the 95 % point of T² for the
            model's output dimension, to two decimals: 72.34 for 32 copies and 16
            dimensions, as in BREC.
        seed: Seed of everything random, together with the number of the pair.

    Raises:
        ConfigError: If a value cannot work.
    """

    copies: int = 32
    epochs: int = parameter(20, "largest number of epochs per pair")
    batch_size: int = parameter(
        16, "graphs per step, half of them copies of each graph"
    )
    lr: float = parameter(1e-4, "learning rate of Adam")
    weight_decay: float = parameter(1e-4, "L2 penalty of Adam")
    margin: float = parameter(
        0.0, "margin of the loss, the cosine below which a pair costs nothing"
    )
    stop_loss: float = parameter(0.2, "loss below which training ends")
    decided: float | None = parameter(
        None,
        "difference of a batch's outputs, as a part of their size, above which "
        "training ends; it then ends below rounding errors, too",
        shown="train on",
    )
    epsilon: float | None = parameter(
        None,
        "relative size of rounding errors of the outputs, below which nothing counts",
        shown="1e-6 in float32, 1e-10 in float64",
    )
    threshold: float | None = None
    seed: int = 2023

    def __post_init__(self) -> None:
        check_positive("copies", self.copies, 2)
        check_positive("epochs", self.epochs, 0)
        check_positive("batch_size", self.batch_size, 2)
        check_seed(self.seed)
        if self.batch_size % 2:
            raise ConfigError(
                f"batch_size must be even, got {self.batch_size}: a batch holds as "
                "many copies of the one graph as of the other."
            )
        optional = "decided", "epsilon", "threshold"
        above = ("lr", *optional)
        for name in (*above, "weight_decay", "margin", "stop_loss"):
            value = getattr(self, name)
            if name in optional and value is None:
                continue
            fits = isinstance(value, float | int) and math.isfinite(value)
            if not fits or (name in above and not value > 0):
                kind = "a number above 0" if name in above else "a finite number"
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
