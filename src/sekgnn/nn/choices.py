"""What the layers can be told by name, the default first; loads no torch."""

from __future__ import annotations

from typing import Literal

Update = Literal["mlp", "relu"]
Combine = Literal["geometric", "sum"]
Inject = Literal["every", "input"]
Fusion = Literal["concat", "mean", "weighted"]
Jump = Literal["attention", "last", "sum", "concat"]
Norm = Literal["batch", "layer", "none"]
Activation = Literal["relu", "silu", "sine"]
Standardize = Literal["scale", "rotate", "none"]
Head = Literal["linear", "mlp"]
Pooled = Literal["plain", "frozen"]
Base = Literal["1", "1-2-3"]

READOUTS = ("sum", "mean", "max", "attention", "set2set")
POOLS = ("sum", "mean", "std", "max", "min")
"""What a network and fixed features may be pooled by; several are joined by ``+``."""
