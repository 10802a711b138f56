"""What all models share: constructor, inputs, readout, config, files, names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar, cast, get_args

import torch
from torch import Tensor, nn

from sekgnn.checks import check_choice, check_memory, check_positive
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.errors import ConfigError
from sekgnn.fields import Y_BOUND
from sekgnn.models.graph_inputs import GraphInputs, graph_features, graph_inputs
from sekgnn.models.linear_skip import LinearSkip, PooledFeatures
from sekgnn.models.options import (
    MODEL_HOMES,
    MODEL_KINDS,
    OWN,
    Level,
    Link,
    ModelKind,
    ModelOptions,
    arguments_doc,
    signature_of,
)
from sekgnn.nn import GraphReadout, Standardizer
from sekgnn.nn.choices import POOLS
from sekgnn.nn.mlp import activate, reset_children
from sekgnn.nn.standardizer import GraphScale
from sekgnn.parameters import Registry, plain
from sekgnn.walks.between import STEPS

C = TypeVar("C", bound=Callable[..., Any])


class GraphModel(nn.Module):
    """Base of the models: branches of node representations, one head.

    A subclass returns its branches from :meth:`encoders`: modules from
    :class:`GraphInputs` to ``[N, hidden_channels]``. For every graph
    (``level="graph"``) each branch is read out, or for every node (``level="node"``)
    taken as it is; the results are concatenated, with the features of the graph if it
    has any (``graph_channels``), and a linear layer follows, or two (``head="mlp"``).
    With ``skip``, what a linear layer makes of the pooled encodings is added. With a
    constructor of its own, it passes on what it does not use.

    The scale of the training graphs' encodings, and whatever else is fixed before
    training, is fitted by :meth:`fit_inputs` and kept in the model's file.

    Attributes:
        branches: The encoders.
        readouts: One per branch, for graphs.
        data_sized: Names of tensors whose sizes come with the data, as those of trees;
            a file may hold any size of them.
        learns: Whether it is trained in epochs, or else fitted at once.
        fits_itself: Whether that is done by :meth:`fit_at_once`.
        takes_seeds: Whether it can be trained on sampled neighbourhoods of one huge
            graph; models whose branches are all hop encoders can in any case.
        packages: Modules that fitting it needs, and the optional group of each.
        head: The last linear layer.
        skip: The linear layer beside the branches, or ``None``.
        graph_scale: Standardises the features of graphs, or ``None``.
    """

    name: ClassVar[str]
    kind: ClassVar[ModelKind] = OWN
    needs_pairs: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    fits_itself: ClassVar[bool] = False
    takes_seeds: ClassVar[bool] = False
    data_sized: ClassVar[tuple[str, ...]] = ()
    packages: ClassVar[tuple[tuple[str, str], ...]] = ()
    in_channels: int
    out_channels: int
    edge_channels: int
    graph_channels: int
    num_hops: int
    hidden_channels: int
    encoding: SubstructureEncoding | None
    level: Level
    options: ModelOptions
    arguments: dict[str, Any]

    def __init_subclass__(cls, **more: Any) -> None:
        """Give a subclass a signature that names its options."""
        super().__init_subclass__(**more)
        _describe(cls)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Note the arguments, for :meth:`to_config`."""
        model = super().__new__(cls)
        try:
            bound = inspect.signature(cls).bind(*args, **kwargs)
        except TypeError:  # __init__ will explain it; a copy has no arguments
            return model
        given = dict(bound.arguments)
        bound.apply_defaults()
        if cls.__init__ is not GraphModel.__init__:  # it may set what it passes on
            own = inspect.signature(cls.__init__).parameters
            for name in [n for n in bound.arguments if n not in own]:
                if name not in given:
                    del bound.arguments[name]
        model.__dict__["arguments"] = bound.arguments
        return model

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        encoding: SubstructureEncoding | None = None,
        *,
        edge_channels: int = 0,
        graph_channels: int = 0,
        level: Level = "graph",
        **options: Any,
    ) -> None:
        super().__init__()
        self.in_channels = check_positive("in_channels", in_channels, 0)
        self.out_channels = check_positive("out_channels", out_channels)
        self.edge_channels = check_positive("edge_channels", edge_channels, 0)
        self.graph_channels = check_positive("graph_channels", graph_channels, 0)
        check_choice("level", level, get_args(Level))
        self.level = level
        self.graph_scale: GraphScale | None = None
        if graph_channels:
            self.graph_scale = GraphScale(graph_channels)
        if graph_channels and level != "graph":
            raise ConfigError("graph_channels are for targets of graphs, not of nodes.")
        name = getattr(type(self), "name", type(self).__name__)
        self.encoding = _checked(encoding, self.kind, name)
        self.options = self.kind.make(name, options)
        self.num_hops = self.options.num_hops
        self.hidden_channels = self.options.hidden_channels
        if self.encoding is None:
            self.encoding = self.own_encoding(self.options)
        self.branches = nn.ModuleList(self.encoders(self.options))
        widths: list[int] = [
            getattr(branch, "out_channels", self.hidden_channels)
            for branch in self.branches
        ]
        self.readouts = nn.ModuleList(
            self.make_readout(width, self.options)
            for width in widths
            if level == "graph"
        )
        self.drop = nn.Dropout(self.options.dropout)
        width = sum(widths)
        if level == "graph":
            width = sum(each.out_channels for each in cast("Any", self.readouts))
        elif level == "link":
            width = 2 * width + len(STEPS)
        frozen = self.options.pooled == "frozen"
        self.pooled_scale = Standardizer(width, "scale" if frozen else "none")
        if self.branches:  # or else the skip reads them
            width += graph_channels
        self.lift: nn.Linear | None = None
        if self.options.head == "mlp":
            self.lift = nn.Linear(width, self.hidden_channels)
            width = self.hidden_channels
        self.head = self.make_head(width)
        self.skip: LinearSkip | None = None
        if self.options.skip and level == "link":
            raise ConfigError("skip has no form for links; leave it out.")
        if self.options.skip:
            pools = "+".join(dict.fromkeys(
                part if part in POOLS else "sum"
                for part in self.options.readout.split("+")
            ))  # fmt: skip
            features = PooledFeatures(
                self.encoding,
                self.in_channels,
                self.edge_channels,
                pools=pools,
                level=level,
                graph_channels=graph_channels,
            )
            self.skip = LinearSkip(features, self.out_channels)
        self._start_at_zero()

    def encoders(self, options: Any) -> list[nn.Module]:
        """Return the branches; a subclass says which.

        Args:
            options: Of the class that the model's kind names.
        """
        raise NotImplementedError(f"{type(self).__name__} needs encoders().")

    def make_readout(self, channels: int, options: Any) -> nn.Module:
        """Return the layer from ``[N, channels]`` to ``[G, out_channels]``."""
        return GraphReadout(channels, options.readout)

    def make_head(self, channels: int) -> Any:
        """Return the last layer, from ``[G, channels]`` to the output."""
        return _Head(channels, self.out_channels)

    def own_encoding(self, options: Any) -> SubstructureEncoding | None:
        """Return the encoding of a model that always reads the same one."""
        return None

    def extras(self, data: Any, inputs: GraphInputs) -> Any:
        """Return what a model reads of a batch besides, as ``GraphInputs.extra``."""
        return None

    def check_graph(self, data: Any, place: str) -> None:
        """Raise if a graph cannot be used, before anything is computed or written.

        Args:
            data: The graph.
            place: What to call it.

        Raises:
            GraphInputError: If so; says what to do.
        """
        check_pairs(self, [int(data.num_nodes)], place)

    def loss_sum(
        self,
        data: Any,
        y: Tensor,
        mask: Tensor,
        objective: Any,
        weight: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the loss to descend, summed over present targets, and their number.

        Bounds of targets that a batch holds count where they are violated. The loss is
        that of the task, unless a model brings one of its own.

        Args:
            data: A batch.
            y: Its targets.
            mask: Where they are present.
            objective: Has ``kind``, ``loss_sum(out, y, mask, weight)`` and
                ``weights(y, weight)``.
            weight: Of every row of ``y``, if they differ.
        """
        out = self(data)
        bounds = {"bound": data[Y_BOUND]} if Y_BOUND in data else {}
        total: tuple[Tensor, Tensor] = objective.loss_sum(
            out, y, mask, weight, **bounds
        )
        return total

    def forward(self, data: Any) -> Tensor:
        """Return ``[G, out_channels]``, or ``[N, out_channels]`` for nodes.

        Args:
            data: A PyG ``Data`` or ``Batch``, or its :meth:`prepare`.

        Raises:
            GraphInputError: If the data lacks something that the model reads.
        """
        inputs = data if isinstance(data, GraphInputs) else self.prepare(data)
        return self.compute(inputs)

    @torch.compiler.disable
    def prepare(self, data: Any) -> GraphInputs:
        """Return the tensors of ``data`` that the model computes with.

        Raises:
            GraphInputError: If the data lacks something that the model reads.
        """
        return graph_inputs(data, self)

    def compute(self, inputs: GraphInputs) -> Tensor:
        """Return the output from prepared tensors; ``torch.compile`` takes it whole."""
        out: Tensor = self.head(self.represent(inputs))
        if self.skip is None:
            return out
        linear: Tensor = self.skip(inputs)
        if inputs.seeds is not None:
            linear = linear[inputs.seeds]
        return out + linear

    def represent(self, inputs: GraphInputs) -> Tensor:
        """Return what the last linear layer reads, ``[G, C]`` or ``[N, C]``."""
        z: Tensor = self.pooled_scale(self.pool(inputs))
        if inputs.graph_x is not None and self.branches:
            z = torch.cat([z, inputs.graph_x], dim=1)
        z = self.drop(z)
        if self.lift is not None:
            z = self.drop(activate(self.lift(z), self.options.activation))
        return z

    def pool(self, inputs: GraphInputs) -> Tensor:
        """Return the branches side by side, read out for graphs."""
        parts: list[Tensor] = []
        if self.level == "graph":
            for branch, readout in zip(self.branches, self.readouts, strict=True):
                pool = None
                if getattr(branch, "pools", False) and isinstance(
                    readout, GraphReadout
                ):
                    pool = readout.row_pool(inputs.graphs)
                if pool is None:
                    parts.append(readout(branch(inputs), inputs.graphs))  # [G, C]
                else:
                    parts.append(branch(inputs, pool))
        else:
            parts = [branch(inputs) for branch in self.branches]  # each [N, C]
        if inputs.seeds is not None and self.level != "graph":
            parts = [self._at(part, inputs.seeds) for part in parts]  # each [B, C]
        if inputs.pair_walks is not None:
            parts.append(inputs.pair_walks)
        if not parts:
            sizes = inputs.graphs if self.level == "graph" else inputs.hops.hop(1)
            return self.head.weight.new_zeros(len(sizes.row_sizes()), 0)
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def _at(self, part: Tensor, seeds: Tensor) -> Tensor:
        """Return rows of nodes; of pairs, products and distances of the two rows."""
        if self.level == "node":
            return part[seeds]
        u, v = part[seeds[:, 0]], part[seeds[:, 1]]
        return torch.cat([u * v, (u - v).abs()], dim=1)

    @torch.no_grad()
    def fit_inputs(self, batches: Callable[[], Iterable[Any]]) -> None:
        r"""Fit what is fixed before training to the training graphs.

        That is the scale of features of graphs and of encodings (``standardize``), the
        axes of ``skip``, and the scale of pooled vectors of the untrained network
        (``pooled="frozen"``):
        :math:`z = (p - \mu) / (\sigma \sqrt{C})` for C of them before a linear head, so
        that what a step changes does not grow with the width. A model that was never
        fitted takes its inputs as they are.

        Args:
            batches: Gives the training graphs in batches, every time it is called.

        Raises:
            GraphInputError: If the data lacks something that the model reads.
        """

        def inputs() -> Iterator[GraphInputs]:
            return (self.prepare(batch) for batch in batches())

        was_training = self.training
        self.eval()
        try:
            if self.graph_scale is not None:
                width = self.graph_channels
                self.graph_scale.fit(
                    lambda: (graph_features(batch, width) for batch in batches())
                )
            for part in (*self.branches, self.skip):
                fit = getattr(part, "fit_inputs", None)
                if fit is not None:
                    fit(inputs)
            if self.pooled_scale.scale is not None:
                self.pooled_scale.fit(lambda: (self.pool(part) for part in inputs()))
                scale = self.pooled_scale.scale
                scale[scale.isinf()] = 1.0  # what does not vary yet may be learned
                if self.lift is None:  # the head's share is that of one feature
                    self.pooled_scale.scale *= self.pooled_scale.num_features**0.5
        finally:
            self.train(was_training)

    def fit_at_once(
        self,
        objective: Any,
        train: Iterable[Any],
        val: Iterable[Any],
        every: Iterable[Any],
        kept: dict[Any, Any],
    ) -> None:
        """Fit a model without epochs that says ``fits_itself``.

        Args:
            objective: As for :meth:`loss_sum`, with ``link``, ``loss`` and
                ``wanted(y)``, what the outputs should be.
            train: Batches to fit.
            val: Batches to choose settings by; there may be none.
            every: Batches of all graphs.
            kept: Anything that the fits on other parts of the same graphs can use,
                empty at first.
        """
        raise NotImplementedError(f"{type(self).__name__} needs fit_at_once().")

    def check_task(self, link: Link, num_graphs: int) -> None:
        """Refuse a task that the model cannot learn; most learn any.

        Args:
            link: What turns outputs into predictions.
            num_graphs: Of the dataset.

        Raises:
            ConfigError: If so.
            GraphInputError: If there are too many graphs.
        """

    def reset_parameters(self) -> None:
        reset_children(self)
        self._start_at_zero()

    def _start_at_zero(self) -> None:
        """Let a network with frozen scales begin with the output 0."""
        if self.options.pooled == "frozen":
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)

    @property
    def precision(self) -> str:
        """The type that it computes in, such as ``"float32"``."""
        return str(next(self.parameters()).dtype).removeprefix("torch.")

    @property
    def device(self) -> torch.device:
        """The device that it computes on."""
        return next(self.parameters()).device

    @property
    def num_parameters(self) -> int:
        """Number of learned numbers."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)

    def to_config(self) -> dict[str, Any]:
        """Return the model's name and constructor arguments as plain JSON values.

        :func:`~sekgnn.models.build_model` makes the model of them again.
        """
        return {"model": self.name, **plain(self.arguments)}

    def __repr__(self) -> str:
        """Every constructor argument, and the number of parameters."""
        args = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"{type(self).__name__}({args})  # {self.num_parameters:,} parameters"


def check_pairs(model: GraphModel, sizes: Sequence[int], where: str) -> None:
    """Refuse graphs whose pairs of nodes would not fit in memory together.

    Args:
        model: That may compute with all pairs.
        sizes: Numbers of nodes.
        where: What to call the graphs.

    Raises:
        GraphInputError: With the memory they would take.
    """
    if not model.needs_pairs or not sizes:
        return
    pairs = sum(size * size for size in sizes)
    bytes_each = model.head.weight.element_size()
    needed = 4 * pairs * model.hidden_channels * bytes_each  # a block keeps more
    batch = f"a batch of {len(sizes)} graphs" if len(sizes) > 1 else "a graph"
    check_memory(
        needed,
        f"{where}: a model of all pairs of nodes, on {batch} of up to {max(sizes):,},",
        "use sek-gin, a smaller batch_size or smaller graphs",
    )


class _Models(Registry[nn.Module]):
    """Models by name, each with its kind."""

    def add(self, name: str, cls: Any) -> type[nn.Module]:
        model = super().add(name, cls)
        kind = MODEL_KINDS.setdefault(name, OWN)
        if issubclass(model, GraphModel):
            model.kind = kind
            _describe(model)
        return model

    def forget(self, name: str) -> None:
        super().forget(name)
        del MODEL_KINDS[name]


MODELS = _Models("model", nn.Module, MODEL_HOMES)
"""Every model by name."""


def register_model(name: str) -> Callable[[C], C]:
    """Make a model known by name, for configs, the command line and model files.

    It is a subclass of :class:`GraphModel`, or any module whose constructor takes what
    it needs of ``in_channels``, ``out_channels``, ``encoding``, ``edge_channels``,
    ``level`` and ``num_hops``, and options of its own with defaults; its ``forward``
    gets a batch with ``x``, ``edge_index``, ``edge_attr``, ``hop_edge_index``,
    ``hop_order``, ``sub_enc``, ``batch`` and ``ptr``.

    Args:
        name: How to call it.

    Raises:
        ConfigError: If the name is taken, or no module is decorated.
    """
    return MODELS.register(name)


class _Head(nn.Linear):
    """A linear layer; without inputs, a bias that starts at zero."""

    def reset_parameters(self) -> None:
        if self.in_features:
            super().reset_parameters()
        else:
            nn.init.zeros_(self.bias)


def _describe(cls: type[GraphModel]) -> None:
    """Set signature and docstring from the options of the model."""
    default = None if cls.kind is OWN else inspect.Parameter.empty
    general = signature_of(cls.kind, encoding=default)
    if "__init__" in vars(cls):
        own = list(inspect.signature(cls.__init__).parameters.values())[1:]
        passed_on = any(p.kind is p.VAR_KEYWORD for p in own)
        own = [p for p in own if p.kind is not p.VAR_KEYWORD]
        names = {p.name for p in own}
        if passed_on:
            own += [p.replace(kind=p.KEYWORD_ONLY) for p in general.parameters.values()
                    if p.name not in names]  # fmt: skip
        general = inspect.Signature(own)
    elif cls.kind is not OWN:
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "") + arguments_doc(cls.kind)
    cls.__signature__ = general  # type: ignore[attr-defined]


def _checked(
    encoding: object, kind: ModelKind, model: str
) -> SubstructureEncoding | None:
    """Return the encoding if the model can read it."""
    if encoding is None:  # given as such, since it has no default
        return None
    if "encoding" not in kind.parts:
        raise ConfigError(f"model {model!r} reads no encoding; leave it out.")
    if not isinstance(encoding, SubstructureEncoding):
        raise ConfigError(
            f"encoding must be that of the transform, such as WalkEncoding(), got "
            f"{encoding!r}; KHopGNN and GIN work without one."
        )
    return encoding
