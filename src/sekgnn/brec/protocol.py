"""The settings of BREC's reliable paired comparison."""

from __future__ import annotations

from dataclasses import dataclass, field

from sekgnn.brec.hotelling import critical_t2
from sekgnn.errors import ConfigError
from sekgnn.parameters import check_fields, parameter


@dataclass(frozen=True)
class RPCProtocol:
    r"""Settings for one pair; the defaults are those of BREC's released code.

    A fresh model is trained for each pair, on relabelled copies of its two graphs, to
    give them different directions: Adam minimises
    :math:`\max(0, \cos(x_i, y_i) - \text{margin})`, with the learning rate reduced when
    the loss no longer falls.

    Attributes:
        copies: q, relabelled copies of each graph.
        epochs: Largest number of epochs; 0 compares the untrained model.
        batch_size: Graphs per step, an even number: half of each graph.
        lr: Learning rate of Adam.
        weight_decay: L2 penalty of Adam.
        margin: Margin of the loss, in [-1, 1].
        stop_loss: Training ends when the mean loss of an epoch is below this.
        decided: Training ends with the first batch in which the mean outputs of the two
            graphs differ by more than this fraction of the outputs' size, or by less
            than the fraction ``epsilon``, which leaves no gradient; ``None`` for
            neither, as in BREC.
        epsilon: Relative size of rounding errors in T²; ``None`` for 1e-6 with float32
            outputs and 1e-10 with float64.
        threshold: Bound that T² must exceed; ``None`` for the 95 % point of T² for the
            model's output dimension, to two decimals: 72.34 for 32 copies and 16
            dimensions, as in BREC.
        seed: Seed of all random numbers, with the index of the pair.

    Raises:
        ConfigError: If a value cannot work.
    """

    copies: int = field(default=32, metadata={"low": 2})
    epochs: int = parameter(20, "largest number of epochs per pair", low=0)
    batch_size: int = parameter(
        16, "graphs per step, half of them copies of each graph", low=2
    )
    lr: float = parameter(1e-4, "learning rate of Adam", above=0)
    weight_decay: float = parameter(1e-4, "L2 penalty of Adam", low=0)
    margin: float = parameter(
        0.0,
        "margin of the loss, the cosine below which a pair costs nothing",
        low=-1,
        high=1,
    )
    stop_loss: float = parameter(0.2, "loss below which training ends", low=-1)
    decided: float | None = parameter(
        None,
        "difference of a batch's outputs, as a part of their size, above which "
        "training ends; it then ends below rounding errors, too",
        shown="train on",
        above=0,
    )
    epsilon: float | None = parameter(
        None,
        "relative size of rounding errors of the outputs, below which nothing counts",
        shown="1e-6 in float32, 1e-10 in float64",
        above=0,
    )
    threshold: float | None = field(default=None, metadata={"above": 0})
    seed: int = field(default=2023, metadata={"low": 0, "high": 2**64 - 1})

    def __post_init__(self) -> None:
        check_fields(self)
        if self.batch_size % 2:
            raise ConfigError(
                f"batch_size must be even, got {self.batch_size}: a batch holds as "
                "many copies of the one graph as of the other."
            )

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
