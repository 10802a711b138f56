"""What the layers can be told by name, the default first; loads no torch."""

from __future__ import annotations

from typing import Literal

Update = Literal["mlp", "relu"]
Combine = Literal["geometric", "sum"]
Inject = Literal["every", "input"]
Fusion = Literal["concat", "mean", "weighted"]
Jump = Literal["attention", "last", "sum", "concat"]
Readout = Literal["sum", "mean", "attention"]
Norm = Literal["batch", "layer", "none"]
