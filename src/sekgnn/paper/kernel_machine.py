"""Support vector machines on kernels between graphs, kept as tensors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sekgnn.checks import check_memory
from sekgnn.errors import ConfigError
from sekgnn.graphs.cleaning import check_array
from sekgnn.graphs.packed import PackedGraphs
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.graph_model import GraphModel, register_model
from sekgnn.models.options import LINKS, Link
from sekgnn.paper.graph_kernels import (
    FusedDistance,
    GraphKernel,
    KernelGraphs,
    KnownValues,
    ReturnDistance,
    SubtreeKernel,
    TangentKernel,
    WassersteinDistance,
)
from sekgnn.paper.kernel_fit import fit_kernel, known_values
from sekgnn.paper.kinds import (
    ColourOptions,
    FGWOptions,
    GNTKOptions,
    KernelOptions,
    RetGKOptions,
    WWLOptions,
)

_ROUNDS = (0, 1, 2, 3, 4, 5)
_BLOCKS = (1, 2, 3, 4)


class KernelMachine(GraphModel):
    r"""A support vector machine, or kernel ridge regression, on a kernel of graphs.

    .. math:: o_p(G) = \sum_{s} \alpha_{sp}\, k(G, G_s) + b_p

    over the support graphs :math:`G_s`, which are stored. In regression p runs over the
    targets. With C classes p runs over pairs of classes, whose votes give an output per
    class, ties broken by the sums of :math:`o_p`, as in scikit-learn's
    ``SVC(break_ties=True)``; for two classes the outputs are :math:`\mp o / 2`.
    Outputs are margins: they rank graphs, but their softmax is not a calibrated
    probability.

    C, γ of :math:`e^{-\gamma d}` and the kernel's own parameter are chosen on
    validation graphs, or by cross-validation on the training graphs. Edge features are
    ignored; a row of node features is a label.

    Attributes:
        known: Values of the kernel that need not be computed again, if any.
    """

    learns: ClassVar[bool] = False
    fits_itself: ClassVar[bool] = True
    data_sized: ClassVar[tuple[str, ...]] = (
        "node_ptr", "indptr", "indices", "x", "coef", "intercept"
    )  # fmt: skip
    node_ptr: Tensor
    indptr: Tensor
    indices: Tensor
    x: Tensor
    coef: Tensor
    intercept: Tensor
    gamma: Tensor
    scale: Tensor
    chosen: Tensor
    link: Tensor
    options: KernelOptions
    known: KnownValues | None = None

    def encoders(self, options: KernelOptions) -> list[nn.Module]:
        """Register empty buffers for graphs; there is no branch."""
        if self.level == "node":
            raise ConfigError(
                f"model {self.name!r} compares graphs and has no outputs of nodes; "
                "use sek-gin, or ridge."
            )
        for name in ("node_ptr", "indptr"):
            self.register_buffer(name, torch.zeros(1, dtype=torch.int64))
        self.register_buffer("indices", torch.zeros(0, dtype=torch.int32))
        self.register_buffer("x", torch.zeros(0, self.in_channels))
        self.register_buffer("coef", torch.zeros(0, self.out_channels))
        self.register_buffer("intercept", torch.zeros(self.out_channels))
        self.register_buffer("gamma", torch.tensor(1.0))
        self.register_buffer("scale", torch.tensor(1.0))
        self.register_buffer("chosen", torch.tensor(-1))
        self.register_buffer("link", torch.tensor(0))
        self.kernel()  # checks its options
        return []

    @abstractmethod
    def kernel(self) -> GraphKernel:
        """Return the kernel with all values of its parameter to try."""

    def fitted_kernel(self, *, all_levels: bool = False) -> GraphKernel:
        """Return the kernel as fitted, with the chosen value of its parameter alone."""
        kernel = self.kernel()
        if not all_levels:
            kernel = type(kernel)(**{**vars(kernel), "levels": (int(self.chosen),)})
        return kernel.fitted(self.graphs, float(self.scale))

    @property
    def graphs(self) -> KernelGraphs:
        """The S support graphs: training graphs with coefficients."""
        arrays = [t.cpu().numpy() for t in (self.node_ptr, self.indptr, self.indices)]
        packed = PackedGraphs(*arrays)  # checked: they may be those of a model file
        x = self.x.double().cpu().numpy()
        check_array("x", x, np.float64, packed.num_nodes, None)
        return KernelGraphs(packed, x)

    @property
    def num_parameters(self) -> int:
        """Number of coefficients."""
        return self.coef.numel() + self.intercept.numel()

    def check_task(self, link: Link, num_graphs: int) -> None:
        """Refuse multilabel tasks and matrices that do not fit in memory.

        Raises:
            ConfigError: If the task is multilabel.
            GraphInputError: If the matrix would be too large.
        """
        if link == "sigmoid":
            raise ConfigError(
                f"model {self.name!r} tells classes apart or predicts numbers, not "
                "several labels of a graph; train on one label at a time, or use ridge."
            )
        matrices = len(self.kernel().levels) + 1
        check_memory(
            8 * matrices * num_graphs**2,
            f"model {self.name!r} on {num_graphs:,} graphs, with {matrices} matrices "
            "of a number per pair,",
            "use fewer graphs, or another model such as ridge",
        )

    def fit_at_once(
        self,
        objective: Any,
        train: Iterable[Any],
        val: Iterable[Any],
        every: Iterable[Any],
        kept: dict[Any, Any],
    ) -> None:
        """Choose the parameters and solve; kernels are computed once."""

        def kernel_values(kernel: GraphKernel) -> KnownValues:
            if kernel not in kept:
                kept.clear()  # such matrices are large
                kept[kernel] = known_values(self, every, kernel)
            values: KnownValues = kept[kernel]
            return values

        fit_kernel(self, objective, train, val, kernel_values)

    def read(self, inputs: GraphInputs) -> KernelGraphs:
        """Return the graphs of a batch."""
        edges, ptr = inputs.hops.hop(1), inputs.graphs.indptr
        indptr = edges.indptr.long().cpu().numpy()
        indices = edges.indices[: int(indptr[-1])].int().cpu().numpy()
        packed = PackedGraphs.over(ptr.long().cpu().numpy(), indptr, indices)
        x = np.zeros((packed.num_nodes, 0))
        if inputs.x is not None:
            x = inputs.x.double().cpu().numpy()
        return KernelGraphs(packed, x)

    def compute(self, inputs: GraphInputs) -> Tensor:
        """Return the output for prepared tensors; computed on the CPU."""
        graphs = self.read(inputs)
        values = torch.from_numpy(self.values(graphs)).to(self.coef)
        out = values @ self.coef + self.intercept
        return out if self.link == 0 else votes(out, self.out_channels)

    def values(self, graphs: KernelGraphs) -> NDArray[np.float64]:
        """Return the kernel between graphs and support graphs, ``[G, S]``."""
        support = self.graphs
        if not len(support) or not len(graphs):
            return np.zeros((len(graphs), len(support)))
        values = None if self.known is None else self.known.find(graphs, support)
        if values is None:
            values = self.fitted_kernel().between(graphs, support)[0]
        else:
            values = values[self.kernel().levels.index(int(self.chosen))]
        return self.shape(values, float(self.gamma))

    def shape(self, values: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
        """Return the kernel from the values of :meth:`GraphKernel.between`."""
        return np.exp(-gamma * values) if self.kernel().is_distance else values

    def set_solution(
        self,
        graphs: KernelGraphs,
        coef: NDArray[np.float64],
        intercept: NDArray[np.float64],
        link: Link,
    ) -> None:
        """Set support graphs, coefficients ``[S, P]`` and shifts ``[P]``."""
        packed = graphs.packed
        for name, array in (
            ("node_ptr", packed.node_ptr),
            ("indptr", packed.indptr),
            ("indices", packed.indices),
            ("x", graphs.x),
            ("coef", coef),
            ("intercept", intercept),
        ):
            setattr(self, name, torch.tensor(array).to(getattr(self, name)))
        self.link.fill_(LINKS.index(link))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any
    ) -> None:
        """Load any number of graphs of any size."""
        for name in self.data_sized:
            value, buffer = state_dict.get(prefix + name), getattr(self, name)
            if value is not None and value.dim() == buffer.dim():
                setattr(self, name, buffer.new_empty(value.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        if not self._is_sound():
            errors: list[str] = rest[-1]
            errors.append("these tensors are not the graphs of a kernel machine")

    def _is_sound(self) -> bool:
        """Return whether the tensors describe graphs and fit together."""
        nodes, rows = self.node_ptr, self.indptr
        if not (len(nodes) and len(rows)):
            return False
        graphs = len(nodes) - 1
        pairs = self.out_channels
        if self.link == 1:
            pairs = self.out_channels * (self.out_channels - 1) // 2
        sizes = self.coef.shape == (graphs, pairs) and self.intercept.shape == (pairs,)
        sizes = sizes and self.x.shape == (len(rows) - 1, self.in_channels)
        ends = nodes[-1] == len(rows) - 1 and rows[-1] == len(self.indices)
        starts = nodes[0] == 0 and rows[0] == 0
        if not (sizes and starts and ends):
            return False
        if bool((nodes.diff() < 0).any() or (rows.diff() < 0).any()):
            return False
        graph = torch.repeat_interleave(torch.arange(graphs), nodes.diff())
        graph = torch.repeat_interleave(graph, rows.diff())
        low, high = nodes[:-1][graph], nodes[1:][graph]
        inside = bool(((self.indices >= low) & (self.indices < high)).all())
        valid_level = not graphs or int(self.chosen) in self.kernel().levels
        return inside and valid_level and 0 <= int(self.link) < 2


def votes(out: Tensor, classes: int) -> Tensor:
    """Return an output per class from decisions between pairs of classes.

    Args:
        out: ``[G, P]``, pairs (0, 1), (0, 2), ..., (1, 2), ...; positive for the first
            of the pair, but for the second where there is only one pair.
        classes: C.

    Returns:
        ``[G, C]``.
    """
    if classes == 2:
        return torch.cat([-out / 2, out / 2], dim=1)
    first, second = torch.triu_indices(classes, classes, 1, device=out.device)
    score = out.new_zeros(len(out), classes)
    score = score.index_add(1, first, out).index_add(1, second, -out)
    count = out.new_zeros(len(out), classes)
    won = (out >= 0).to(out.dtype)
    count = count.index_add(1, first, won).index_add(1, second, 1 - won)
    return count + score / (3 * (score.abs() + 1))


@register_model("wl")
class WLSubtree(KernelMachine):
    """SVM on the Weisfeiler-Lehman subtree kernel (Shervashidze et al., 2011).

    The kernel is :class:`~sekgnn.paper.graph_kernels.SubtreeKernel`.
    """

    options: ColourOptions

    def kernel(self) -> GraphKernel:
        """Return the kernel."""
        return SubtreeKernel(_levels(self.options.rounds, _ROUNDS))


@register_model("wwl")
class WWL(KernelMachine):
    """SVM on Wasserstein distances of refined colours (Togninalli et al., 2019).

    The distance is :class:`~sekgnn.paper.graph_kernels.WassersteinDistance`.
    """

    options: WWLOptions

    def kernel(self) -> GraphKernel:
        """Return the distance."""
        return WassersteinDistance(_levels(self.options.rounds, _ROUNDS))


@register_model("fgw")
class FGW(KernelMachine):
    """SVM on fused Gromov-Wasserstein distances (Vayer et al., 2019).

    The distance is :class:`~sekgnn.paper.graph_kernels.FusedDistance`. Every number of
    rounds needs another search, so the default is 2. The search ends in a local minimum
    that depends on the order of the nodes, and so do predictions.
    """

    options: FGWOptions
    packages: ClassVar[tuple[tuple[str, str], ...]] = (("ot", "kernels"),)

    def kernel(self) -> GraphKernel:
        """Return the distance."""
        return FusedDistance(_levels(self.options.rounds, (2,)), self.options.alpha)


@register_model("retgk")
class RetGK(KernelMachine):
    """SVM on mean maps of return probabilities (Zhang et al., 2018).

    The distance is :class:`~sekgnn.paper.graph_kernels.ReturnDistance`.
    """

    options: RetGKOptions

    def kernel(self) -> GraphKernel:
        """Return the distance."""
        return ReturnDistance((self.options.return_steps,))


@register_model("gntk")
class GNTK(KernelMachine):
    """SVM on the graph neural tangent kernel (Du et al., 2019).

    The kernel is :class:`~sekgnn.paper.graph_kernels.TangentKernel`.
    """

    options: GNTKOptions

    def kernel(self) -> GraphKernel:
        """Return the kernel."""
        if self.options.jump not in ("concat", "last"):
            raise ConfigError(
                f"jump of gntk must be 'concat', which adds up the kernels of blocks, "
                f"or 'last', got {self.options.jump!r}."
            )
        return TangentKernel(
            _levels(self.options.blocks, _BLOCKS),
            self.options.mlp_layers,
            self.options.degree_scale,
            self.options.jump == "concat",
        )


def _levels(level: int | None, defaults: tuple[int, ...]) -> tuple[int, ...]:
    """Return the given level, or the defaults to choose from."""
    return defaults if level is None else (level,)
