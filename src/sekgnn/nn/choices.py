"""What the layers can be told by name, the default first; loads no torch."""

from __future__ import annotations

from typing import Literal

Update = Literal["mlp", "relu"]
"""UPDATE: what follows the message of a hop."""
Combine = Literal["geometric", "sum"]
"""COMBINE over the hops of a layer."""
Inject = Literal["every", "input"]
"""Where f enters a network: before every layer, or before the first."""
Fusion = Literal["concat", "mean", "weighted"]
"""How a network puts the channels of f together."""
Jump = Literal["attention", "last", "sum", "concat"]
"""Jumping knowledge: what is taken of all layers."""
Norm = Literal["batch", "layer", "none"]
"""Normalisation inside and between layers."""
Activation = Literal["relu", "silu", "sine"]
"""Inside MLPs and between layers."""
Standardize = Literal["scale", "rotate", "none"]
"""How encodings are standardised on the training graphs."""
Head = Literal["linear", "mlp"]
Pooled = Literal["plain", "frozen"]

READOUTS = ("sum", "mean", "max", "attention", "set2set")
POOLS = ("sum", "mean", "std", "max", "min")
"""What a network and fixed features may be pooled by; several are joined by ``+``."""
