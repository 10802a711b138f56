"""The options of the models, each defined once; loads no torch.

Constructors, estimators, run configs and flags derive from the fields here. To add an
option, add a field to :class:`ModelOptions`, or to the options class of the one model
that needs it, and use it in a layer or encoder.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from sekgnn.checks import MOST_LEVELS, nearest
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
from sekgnn.parameters import check_fields, parameter

Level = Literal["graph", "node", "link"]
Link = Literal["none", "softmax", "sigmoid"]
"""How outputs become predictions: numbers, one class, or independent labels."""
LINKS: tuple[Link, ...] = get_args(Link)


@dataclass(frozen=True)
class ModelOptions:
    """The options that most networks share.

    The ``part`` of a field is what a model must have for the option to apply: ``"all"``
    for every network. A model with options of its own extends this class with fields
    that have no ``part``, and its :class:`ModelKind` names the subclass.

    Raises:
        ConfigError: If a value cannot work.
    """

    hidden_channels: int = parameter(64, "width of every layer", part="all", low=1)
    num_layers: int = parameter(
        3, "L, number of layers", part="all", low=1, high=MOST_LEVELS
    )
    num_hops: int = parameter(
        3,
        "K, number of hops of message passing, or radius of its ego-nets",
        part="hops",
        low=1,
        high=MOST_LEVELS,
    )
    message: str = parameter(
        "gin",
        "message: gin, gine, gcn, gine_plus or package.module:name of your own",
        part="message",
    )
    update: Update = parameter(
        "mlp", "how a hop's messages are transformed", Update, part="message"
    )
    combine: Combine = parameter(
        "geometric", "how hops are combined", Combine, part="combine"
    )
    share_hops: bool = parameter(
        False, "use one update for all hops of a layer", part="message"
    )
    inject: Inject = parameter(
        "every",
        "where the encoding enters, at every layer or the input",
        Inject,
        part="inject",
    )
    fusion: Fusion = parameter(
        "concat", "how the encoding's channels are fused", Fusion, part="fusion"
    )
    standardize: Standardize = parameter(
        "scale",
        "shift and scale the encoding to mean 0 and variance 1 over the training "
        "graphs, or rotate it to its principal axes as well",
        Standardize,
        part="fusion",
    )
    skip: bool = parameter(
        False,
        "add a linear layer from pooled encodings straight to the output",
        part="skip",
    )
    jump: Jump = parameter(
        "attention", "how the outputs of layers are joined", Jump, part="jump"
    )
    readout: str = parameter(
        "sum",
        "how a graph's nodes are pooled: sum, mean, max, attention, set2set, or "
        "several as in sum+mean",
        part="readout",
    )
    pooled: Pooled = parameter(
        "plain",
        "leave pooled vectors as they are, or centre and scale them by their "
        "statistics before training and start the head at zero",
        Pooled,
        part="head",
    )
    head: Head = parameter(
        "linear", "head of the network, one linear layer or two", Head, part="head"
    )
    activation: Activation = parameter(
        "relu", "activation inside and between layers", Activation, part="mlp"
    )
    norm: Norm = parameter("batch", "kind of normalisation", Norm, part="mlp")
    dropout: float = parameter(
        0.0,
        "dropout probability, after every layer and before the head",
        part="all",
        low=0,
        below=1,
    )

    def __post_init__(self) -> None:
        """Check every value."""
        check_fields(self)


@dataclass(frozen=True)
class About:
    """Facts that help to choose a model.

    Attributes:
        family: Its kind, in a word or two.
        paper: Who published it.
        equation: What it computes, in one line.
        bound: The exact test that bounds its power on graphs without node features;
            ``None`` for a model that reads more than the graph.
        tables: Tables of the SEK-GNN paper that list it.
    """

    family: str
    paper: str
    equation: str
    bound: str | None
    tables: tuple[int, ...] = ()


@dataclass(frozen=True)
class ModelKind:
    """The parts of a model, hence its options, and facts about it.

    Attributes:
        parts: Its parts, besides those that all networks have.
        defaults: Defaults that differ from those of :class:`ModelOptions`.
        fixed: Values of options that it lacks but its encoders read.
        options_type: The class of its options, with those of this model alone.
        network: Whether it is a network.
        lacks: Parts of all networks that it lacks.
        edges: Whether it reads edge features.
        coordinates: Whether it reads positions of nodes in space, ``pos``.
        chooses: What a model without epochs chooses on validation graphs, in words.
        about: Facts about it; ``None`` for your own models.
    """

    parts: tuple[str, ...] = (
        "hops", "combine", "message", "inject", "encoding", "fusion", "skip", "jump"
    )  # fmt: skip
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    options_type: type[ModelOptions] = ModelOptions
    network: bool = True
    lacks: tuple[str, ...] = ()
    edges: bool = True
    coordinates: bool = False
    chooses: str = ""
    about: About | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of the model and their defaults."""
        shared = ("all", "readout", "head", "mlp") if self.network else ()
        parts = {"", *self.parts, *shared} - {*self.lacks}
        return {
            item.name: self.defaults.get(item.name, item.default)
            for item in fields(self.options_type)
            if item.metadata.get("part", "") in parts
        }

    def make(self, model: str, given: Mapping[str, Any]) -> ModelOptions:
        """Return the options, with the given values in place of defaults.

        Raises:
            ConfigError: If one is unknown, or a value cannot work.
        """
        known = self.options()
        for name in given:
            if name not in known:
                raise ConfigError(
                    f"model {model!r} has no option {name!r}; it has "
                    f"{', '.join(known)}.{nearest(name, known)}"
                )
        return self.options_type(**{**self.fixed, **known, **given})


MODEL_KINDS: dict[str, ModelKind] = {}
"""Every model by name; ``describe_models`` and ``register_model`` add to it."""
MODEL_HOMES: dict[str, str] = {}
"""The modules that register models when imported, by model."""


def describe_models(home: str, kinds: Mapping[str, ModelKind]) -> None:
    """Describe models before the module that registers them is imported.

    Args:
        home: That module; it is imported when one of the models is first asked for.
        kinds: The models by name.
    """
    MODEL_KINDS.update(kinds)
    MODEL_HOMES.update(dict.fromkeys(kinds, home))


OWN = ModelKind()
"""The kind of your own models, unless you describe them: all shared options."""


def all_options() -> dict[str, Field[Any]]:
    """Return the options of all models by name, the shared ones first."""
    types = [ModelOptions]
    types += [kind.options_type for kind in MODEL_KINDS.values()]
    return {item.name: item for each in types for item in fields(each)}


def model_costs() -> dict[str, dict[str, float]]:
    """Return the ``seconds`` and peak ``memory`` of an epoch, relative to ``gin``.

    ``benchmarks/models.py`` measured them on PROTEINS; a model that it did not measure
    is absent.
    """
    text = Path(__file__).with_name("costs.json").read_text("utf-8")
    costs: dict[str, dict[str, float]] = json.loads(text)
    return costs


def model_facts() -> list[dict[str, Any]]:
    """Return the facts about every model as plain JSON values."""
    costs = model_costs()
    rows: list[dict[str, Any]] = []
    for name, kind in MODEL_KINDS.items():
        reads = {
            "encoding": "encoding" in kind.parts,
            "edge_features": kind.edges,
            "coordinates": kind.coordinates,
        }
        row: dict[str, Any] = {"name": name, "reads": reads, "options": kind.options()}
        if kind.about is not None:
            row |= asdict(kind.about) | {"tables": list(kind.about.tables)}
        rows.append({**row, "cost": costs.get(name)})
    return rows


def shown_default(name: str) -> str:
    """Return the default of an option in words, with the models where it differs.

    Example:
        >>> shown_default("readout")
        'sum; set2set for mpnn'
    """
    item = all_options()[name]
    general = item.default
    words = [f"no-{name.replace('_', '-')}" if general is False else str(general)]
    words = [item.metadata["shown"]] if general is None else words
    others: dict[Any, list[str]] = {}
    for model, kind in MODEL_KINDS.items():
        default = kind.options().get(name, general)
        if default != general:
            others.setdefault(default, []).append(model)
    words += [f"{value} for {', '.join(models)}" for value, models in others.items()]
    return "; ".join(words)


def signature_of(kind: ModelKind, *, encoding: Any) -> inspect.Signature:
    """Return the signature of a model's constructor.

    Args:
        kind: The model.
        encoding: Default of ``encoding``; ``Parameter.empty`` if it is required.
    """
    types = {item.name: item.type for item in fields(kind.options_type)}
    required = inspect.Parameter.empty
    first: list[tuple[str, Any, Any]] = [
        ("in_channels", required, "int"),
        ("out_channels", required, "int"),
    ]
    if "encoding" in kind.parts:
        first.append(("encoding", encoding, "SubstructureEncoding"))
    named = [(name, value, types[name]) for name, value in kind.options().items()]
    if kind.edges:
        named.append(("edge_channels", 0, "int"))
    named += [("graph_channels", 0, "int"), ("level", "graph", "Level")]
    parameters = [
        inspect.Parameter(name, how, default=default, annotation=annotation)
        for how, group in (
            (inspect.Parameter.POSITIONAL_OR_KEYWORD, first),
            (inspect.Parameter.KEYWORD_ONLY, named),
        )
        for name, default, annotation in group
    ]
    return inspect.Signature(parameters)


def arguments_doc(kind: ModelKind) -> str:
    """Return the ``Args`` section of a model's docstring."""
    lines = [
        "in_channels: Width of ``x``; 0 if graphs have no node features.",
        "out_channels: Width of the output.",
    ]
    if "encoding" in kind.parts:
        lines.append("encoding: That of ``sub_enc``, as given to the transform.")
    known = {item.name: item.metadata for item in fields(kind.options_type)}
    for name, value in kind.options().items():
        help, choices = known[name]["help"], known[name]["choices"]
        words = f": {', '.join(choices[:-1])} or {choices[-1]}" if choices else ""
        lines.append(f"{name}: {help[0].upper()}{help[1:]}{words} (default {value!r}).")
    if kind.edges:
        lines.append("edge_channels: Width of ``edge_attr``; 0 if it is not read.")
    lines += [
        "graph_channels: Width of ``graph_x``, features of graphs; 0 for none.",
        'level: One output per ``"graph"``, per ``"node"`` (or seed, where a batch has '
        'seeds) or per ``"link"``, a pair of seeds.',
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"\n\nArgs:\n{body}\n\nRaises:\n    ConfigError: If a value cannot work.\n"


for _catalogue in ("sekgnn.models.kinds", "sekgnn.paper.kinds"):
    import_module(_catalogue)  # they describe models with the names defined above
