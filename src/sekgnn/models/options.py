"""The options of the networks, each once: meaning, choices, default; loads no torch.

Constructors, estimators, run configs and flags are made from what stands here. A new
option is a field of :class:`ModelOptions` and its use in a layer or encoder.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from sekgnn.checks import check_choice, check_positive, nearest
from sekgnn.errors import ConfigError
from sekgnn.nn.choices import (
    Activation,
    Combine,
    Fusion,
    Head,
    Inject,
    Jump,
    Norm,
    Pooled,
    Standardize,
    Update,
)

Level = Literal["graph", "node"]


def option(part: str, help: str, default: Any, choices: Any = None) -> Any:
    """Return a field of :class:`ModelOptions`.

    Args:
        part: What a model must have for the option to mean something; ``"all"`` for
            every network.
        help: What it does, for constructors, configs and flags.
        default: What it is if left out; the first choice if ``None``.
        choices: A ``Literal`` type.
    """
    known = get_args(choices)
    default = known[0] if known and default is None else default
    return field(
        default=default, metadata={"part": part, "help": help, "choices": known}
    )


@dataclass(frozen=True)
class ModelOptions:
    """Every option of the networks; a model has those of its parts.

    Raises:
        ConfigError: If a value cannot work.
    """

    hidden_channels: int = option("all", "width of every layer", 64)
    num_layers: int = option("all", "L, number of layers", 3)
    num_hops: int = option("hops", "K, number of hops of message passing", 3)
    message: str = option(
        "message",
        "message that is sent: gin, gine, gcn, gine_plus or package.module:name of "
        "your own",
        "gin",
    )
    update: Update = option(
        "message", "how a hop's messages are transformed", None, Update
    )
    combine: Combine = option("hops", "how hops are combined", None, Combine)
    share_hops: bool = option(
        "message", "use one update for all hops of a layer", False
    )
    inject: Inject = option(
        "inject", "where the encoding enters, at every layer or the input", None, Inject
    )
    fusion: Fusion = option(
        "fusion", "how the encoding's channels are fused", None, Fusion
    )
    standardize: Standardize = option(
        "fusion",
        "shift and scale the encoding to mean 0 and variance 1 over the training "
        "graphs, or rotate it to its principal axes as well",
        None,
        Standardize,
    )
    skip: bool = option(
        "skip", "add a linear layer from pooled encodings straight to the output", False
    )
    jump: Jump = option("jump", "how the outputs of layers are joined", None, Jump)
    readout: str = option(
        "readout",
        "how a graph's nodes are pooled: sum, mean, max, attention, or several as in "
        "sum+mean",
        "sum",
    )
    pooled: Pooled = option(
        "all",
        "leave pooled vectors as they are, or centre and scale them by what they were "
        "before training and start the head at zero",
        None,
        Pooled,
    )
    head: Head = option(
        "all", "head of the network, one linear layer or two", None, Head
    )
    activation: Activation = option(
        "all", "activation inside and between layers", None, Activation
    )
    norm: Norm = option("all", "kind of normalisation", None, Norm)
    dropout: float = option(
        "all", "dropout probability, after every layer and before the head", 0.0
    )
    n_estimators: int = option("trees", "number of trees in a forest", 300)
    max_depth: int | None = option("trees", "largest depth of a tree in a forest", None)
    min_samples_leaf: int = option(
        "trees", "smallest number of training rows in a leaf of a tree", 1
    )

    def __post_init__(self) -> None:
        """Check every value."""
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type == "int" or (item.type == "int | None" and value is not None):
                object.__setattr__(self, item.name, check_positive(item.name, value))
            if item.metadata["choices"]:
                check_choice(item.name, value, item.metadata["choices"])
        for name in ("share_hops", "skip"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(
                    f"{name} must be true or false, got {getattr(self, name)!r}."
                )
        dropout: object = self.dropout
        real = isinstance(dropout, numbers.Real) and not isinstance(dropout, bool)
        if not real or not 0 <= float(self.dropout) < 1:
            raise ConfigError(f"dropout must be a number in [0, 1), got {dropout!r}.")
        object.__setattr__(self, "dropout", float(self.dropout))


OPTION_NAMES = tuple(item.name for item in fields(ModelOptions))


def optional_keys() -> list[tuple[str, str, dict[str, Any]]]:
    """Return name, type and metadata of every option as a key that may be left out."""
    plain = ("int", "float", "bool")
    return [
        (
            item.name,
            f"{kind if kind in plain else 'str'} | None",
            {**item.metadata, "shown": shown_default(item.name)},
        )
        for item in fields(ModelOptions)
        for kind in [str(item.type).removesuffix(" | None")]
    ]


@dataclass(frozen=True)
class ModelKind:
    """What a model is made of, and so which options it has.

    Attributes:
        parts: Parts of :func:`option`, besides those of all networks.
        network: Whether it is one.
        defaults: Where they differ from :class:`ModelOptions`.
        fixed: Options that it does not have, but its encoders read.
    """

    parts: tuple[str, ...] = (
        "hops", "message", "inject", "encoding", "fusion", "skip", "jump"
    )  # fmt: skip
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    network: bool = True

    def options(self) -> dict[str, Any]:
        """Return the options of the model and their defaults."""
        parts = ("all", "readout", *self.parts) if self.network else self.parts
        return {
            item.name: self.defaults.get(item.name, item.default)
            for item in fields(ModelOptions)
            if item.metadata["part"] in parts
        }

    def make(self, model: str, given: Mapping[str, Any]) -> ModelOptions:
        """Return the options with what was given.

        Raises:
            ConfigError: If one is unknown, or a value cannot work.
        """
        own = self.options()
        for name in given:
            if name not in own:
                raise ConfigError(
                    f"model {model!r} has no option {name!r}; it has {', '.join(own)}."
                    f"{nearest(name, own)}"
                )
        return ModelOptions(**{**self.fixed, **own, **given})


MODEL_KINDS: dict[str, ModelKind] = {
    "sek-gin": ModelKind(
        ("hops", "inject", "encoding", "fusion", "skip", "jump"),
        fixed={"message": "gine_plus"},
    ),
    "sek-ppgn": ModelKind(("hops", "encoding", "fusion", "skip"), {"combine": "sum"}),
    "sek-gnn": ModelKind(),
    "k-gin": ModelKind(("hops", "message", "skip", "jump"), {"message": "gine_plus"}),
    "gin": ModelKind(
        ("skip", "jump"), {"jump": "last"}, {"num_hops": 1, "combine": "sum"}
    ),
    "ppgn": ModelKind((), fixed={"num_hops": 1}),
    "ridge": ModelKind(
        ("encoding", "readout"), fixed={"num_hops": 1, "skip": True}, network=False
    ),
    "forest": ModelKind(("encoding", "trees"), fixed={"num_hops": 1}, network=False),
}
"""Every model by name; ``register_model`` adds to them."""

OWN = ModelKind()
"""Of a model of your own that is made of branches: it has all options."""


def shown_default(name: str) -> str:
    """Return the default of an option, and of the models where it differs.

    Example:
        >>> shown_default("jump")
        'attention; last for gin'
    """
    general = next(item.default for item in fields(ModelOptions) if item.name == name)
    words = [f"no-{name.replace('_', '-')}" if general is False else str(general)]
    words = ["unlimited"] if general is None else words
    for model, kind in MODEL_KINDS.items():
        if kind.options().get(name, general) != general:
            words.append(f"{kind.options()[name]} for {model}")
    return "; ".join(words)


def signature_of(kind: ModelKind, *, encoding: Any) -> inspect.Signature:
    """Return the signature of a model's constructor.

    Args:
        kind: The model.
        encoding: Default of ``encoding``; ``Parameter.empty`` where it must be given.
    """
    must, named = (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    )
    types = {item.name: item.type for item in fields(ModelOptions)}
    first = [inspect.Parameter("in_channels", must, annotation="int"),
             inspect.Parameter("out_channels", must, annotation="int")]  # fmt: skip
    if "encoding" in kind.parts:
        first.append(
            inspect.Parameter(
                "encoding", must, default=encoding, annotation="SubstructureEncoding"
            )
        )
    rest = [
        ("edge_channels", 0, "int"),
        ("graph_channels", 0, "int"),
        ("level", "graph", "Level"),
    ]
    own = [(name, value, types[name]) for name, value in kind.options().items()]
    more = [
        inspect.Parameter(name, named, default=value, annotation=annotation)
        for name, value, annotation in [*own, *rest]
    ]
    return inspect.Signature([*first, *more])


def arguments_doc(kind: ModelKind) -> str:
    """Return the ``Args`` section of a model's docstring."""
    lines = [
        "in_channels: Width of ``x``; 0 where graphs have no node features.",
        "out_channels: Width of the output.",
    ]
    if "encoding" in kind.parts:
        lines.append("encoding: What ``sub_enc`` holds, as given to the transform.")
    known = {item.name: item.metadata for item in fields(ModelOptions)}
    for name, value in kind.options().items():
        help, choices = known[name]["help"], known[name]["choices"]
        words = f": {', '.join(choices[:-1])} or {choices[-1]}" if choices else ""
        lines.append(f"{name}: {help[0].upper()}{help[1:]}{words} (default {value!r}).")
    lines += [
        "edge_channels: Width of ``edge_attr``; 0 where it is not read.",
        "graph_channels: Width of ``graph_x``, features of graphs; 0 for none.",
        'level: One output per ``"graph"`` or per ``"node"``.',
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"\n\nArgs:\n{body}\n\nRaises:\n    ConfigError: If a value cannot work.\n"
