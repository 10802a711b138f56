"""Decision trees as tensors, without the library that grew them."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sekgnn.checks import check_positive
from sekgnn.nn.kernels import add_leaves


class DecisionTrees(nn.Module):
    r"""Mean of the binary decision trees of each output.

    .. math:: o_c = \frac{1}{|T_c|} \sum_{t \in T_c} w_{\ell_t(x),\, c - c_t},
              \qquad T_c = \{t : c_t \le c < c_t + W\}

    where :math:`\ell_t(x)` is the leaf of x in tree t. From node i one goes on to
    ``left[i]`` if ``x[feature[i]] <= threshold[i]``, with x rounded to float32 as
    scikit-learn does, and else to ``right[i]``; a leaf leads to itself. The sizes of
    the tensors come with the trees, also when a state is loaded. Without trees the
    outputs are 0.

    Args:
        in_channels: P, width of x.
        out_channels: O.

    Attributes:
        feature: Of every node of all trees, int32 ``[M]``.
        threshold: Float64 ``[M]``.
        left: Number of a later node, or of this one; int32 ``[M]``.
        right: Likewise.
        value: w, float64 ``[M, W]``.
        start: First node of every tree, int32 ``[T]``.
        column: :math:`c_t`, the first output of every tree, int32 ``[T]``.

    Shapes:
        - **input:** :math:`(R, P)`
        - **output:** float64 :math:`(R, O)`
    """

    KINDS: ClassVar[dict[str, torch.dtype]] = {
        "feature": torch.int32,
        "threshold": torch.float64,
        "left": torch.int32,
        "right": torch.int32,
        "value": torch.float64,
        "start": torch.int32,
        "column": torch.int32,
    }
    feature: Tensor
    threshold: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    start: Tensor
    column: Tensor

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = check_positive("in_channels", in_channels)
        self.out_channels = check_positive("out_channels", out_channels)
        for name, kind in self.KINDS.items():
            shape = (0, 1) if name == "value" else (0,)
            self.register_buffer(name, torch.zeros(shape, dtype=kind))

    def forward(self, x: Tensor) -> Tensor:
        """Return ``[R, O]``; computed on the CPU."""
        out = torch.zeros(len(x), self.out_channels, dtype=torch.float64)
        trees = [getattr(self, name).cpu().numpy() for name in self.KINDS]
        rows = x.detach().float().cpu().contiguous().numpy()
        arguments = [*trees, rows, out.numpy()]
        add_leaves(*arguments)
        first = torch.arange(self.out_channels) - self.value.size(1)  # before the first
        column = self.column.cpu().unsqueeze(1)
        count = ((column > first) & (column <= first + self.value.size(1))).sum(0)
        return (out / count.clamp(min=1)).to(x.device)

    def set_trees(self, **tensors: Tensor) -> None:
        """Take the tensors of :attr:`Attributes <feature>`, all of them.

        Raises:
            ValueError: If they are not trees.
        """
        for name, kind in self.KINDS.items():
            setattr(self, name, tensors[name].to(self.start.device, kind))
        self._check()

    def _check(self) -> None:
        """Raise if some way through the trees leads nowhere, or round and round."""
        count, width = len(self.feature), self.value.size(1)
        node = torch.arange(count, device=self.feature.device)
        nodes = (self.threshold, self.left, self.right, self.value)
        sound = all(len(each) == count for each in nodes)
        sound = sound and self.start.shape == self.column.shape
        bounds: tuple[tuple[Tensor, Any, int], ...] = (
            (self.feature, 0, self.in_channels),
            (self.start, 0, count),
            (self.column, 0, self.out_channels - width + 1),
            *((side, node, count) for side in (self.left, self.right) if sound),
        )
        for values, low, high in bounds:
            sound = sound and bool(((values >= low) & (values < high)).all())
        if not sound:
            raise ValueError("these tensors are not decision trees of this size")

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any
    ) -> None:
        """Load trees of whatever size."""
        errors: list[str] = rest[-1]
        found = {name: state_dict.get(prefix + name) for name in self.KINDS}
        for name, value in found.items():
            own = getattr(self, name)
            if value is not None and value.dim() == own.dim():
                setattr(self, name, own.new_empty(value.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        try:
            self._check()
        except ValueError as error:
            errors.append(f"{prefix[:-1]}: {error}")

    def extra_repr(self) -> str:
        trees = f"{self.start.numel()} trees, {self.feature.numel()} nodes"
        return f"{self.in_channels}, {self.out_channels}, {trees}"
