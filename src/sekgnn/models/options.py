"""The options of the networks, each once: meaning, choices, default; loads no torch.

Constructors, estimators, run configs and flags are made from what stands here. A new
option is a field of :class:`ModelOptions`, or of the class of the one model that needs
it, and its use in a layer or encoder.
"""

from __future__ import annotations

import inspect
import json
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, get_args

from sekgnn.checks import MOST_LEVELS, check_choice, nearest
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

Level = Literal["graph", "node", "link"]
Link = Literal["none", "softmax", "sigmoid"]
"""What turns outputs into predictions: numbers, classes, or labels one by one."""
LINKS: tuple[Link, ...] = get_args(Link)


def option(
    help: str,
    default: Any,
    choices: Any = None,
    *,
    part: str = "",
    unset: str = "",
    **limits: float,
) -> Any:
    """Return a field of :class:`ModelOptions`, or of what extends it.

    Args:
        help: What it does, for constructors, configs and flags.
        default: What it is if left out; the first choice if ``None``.
        choices: A ``Literal`` type.
        part: What a model must have for the option to mean something; ``"all"`` for
            every network, nothing for those that a model's own class adds.
        unset: What ``None`` means, in words.
        **limits: Of a number: at least ``low`` or ``above``, at most ``high`` or
            ``below`` a bound.
    """
    known = get_args(choices)
    default = known[0] if known and default is None else default
    about = {"part": part, "help": help, "choices": known, "unset": unset}
    return field(default=default, metadata={**about, **limits})


@dataclass(frozen=True)
class ModelOptions:
    """The options that most networks share; a model has those of its parts.

    A model that needs more extends this class, and its :class:`ModelKind` says so.

    Raises:
        ConfigError: If a value cannot work.
    """

    hidden_channels: int = option("width of every layer", 64, part="all", low=1)
    num_layers: int = option(
        "L, number of layers", 3, part="all", low=1, high=MOST_LEVELS
    )
    num_hops: int = option(
        "K, number of hops of message passing, or radius of its ego-nets",
        3,
        part="hops",
        low=1,
        high=MOST_LEVELS,
    )
    message: str = option(
        "message that is sent: gin, gine, gcn, gine_plus or package.module:name of "
        "your own",
        "gin",
        part="message",
    )
    update: Update = option(
        "how a hop's messages are transformed", None, Update, part="message"
    )
    combine: Combine = option("how hops are combined", None, Combine, part="combine")
    share_hops: bool = option(
        "use one update for all hops of a layer", False, part="message"
    )
    inject: Inject = option(
        "where the encoding enters, at every layer or the input",
        None,
        Inject,
        part="inject",
    )
    fusion: Fusion = option(
        "how the encoding's channels are fused", None, Fusion, part="fusion"
    )
    standardize: Standardize = option(
        "shift and scale the encoding to mean 0 and variance 1 over the training "
        "graphs, or rotate it to its principal axes as well",
        None,
        Standardize,
        part="fusion",
    )
    skip: bool = option(
        "add a linear layer from pooled encodings straight to the output",
        False,
        part="skip",
    )
    jump: Jump = option("how the outputs of layers are joined", None, Jump, part="jump")
    readout: str = option(
        "how a graph's nodes are pooled: sum, mean, max, attention, set2set, or "
        "several as in sum+mean",
        "sum",
        part="readout",
    )
    pooled: Pooled = option(
        "leave pooled vectors as they are, or centre and scale them by what they were "
        "before training and start the head at zero",
        None,
        Pooled,
        part="head",
    )
    head: Head = option(
        "head of the network, one linear layer or two", None, Head, part="head"
    )
    activation: Activation = option(
        "activation inside and between layers", None, Activation, part="mlp"
    )
    norm: Norm = option("kind of normalisation", None, Norm, part="mlp")
    dropout: float = option(
        "dropout probability, after every layer and before the head",
        0.0,
        part="all",
        low=0,
        below=1,
    )

    def __post_init__(self) -> None:
        """Check every value."""
        check_fields(self)


def check_fields(config: Any) -> None:
    """Check the fields of a frozen dataclass by their types and what else is said.

    Of their metadata, ``choices`` are all values there are; numbers are at least
    ``low`` or ``above``, at most ``high`` or ``below`` a bound.

    Raises:
        ConfigError: If a value cannot work.
    """
    for item in fields(config):
        value = typed_value(item.name, getattr(config, item.name), item.type)
        object.__setattr__(config, item.name, value)
        if value is None:
            continue
        if item.metadata.get("choices"):
            for one in value if "tuple" in str(item.type) else (value,):
                check_choice(item.name, one, item.metadata["choices"])
        _check_range(item.name, value, item.metadata)


def typed_value(name: str, value: Any, annotation: Any) -> Any:
    """Return ``value`` in the type of its key, or raise."""
    kinds = str(annotation).split(" | ")
    if value is None and "None" in kinds:
        return None
    want = kinds[0]
    if want[0].isupper() or want.startswith("tuple[tuple"):  # a Literal: its choices
        return value
    if want.startswith("tuple"):
        inner = str if "str" in want else int
        for item in value:
            if not isinstance(item, inner) or isinstance(item, bool):
                raise ConfigError(f"{name} must hold {inner.__name__}, got {item!r}.")
        return value
    if "tuple[bool, ...]" in kinds and isinstance(value, list | tuple):
        if value and all(isinstance(item, bool) for item in value):
            return tuple(value) if len(value) > 1 else value[0]
        raise ConfigError(f"{name} must be true, false or both, got {value!r}.")
    if want == "bool" and isinstance(value, bool):
        return value
    if want == "str" and isinstance(value, str):
        return value
    if want == "int" and isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if want == "float" and not isinstance(value, bool):
        try:  # YAML reads 1e-3, without a dot, as a string
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    words = {"bool": "true or false", "str": "a string", "int": "an integer"}
    raise ConfigError(f"{name} must be {words.get(want, 'a number')}, got {value!r}.")


_LIMITS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "low": ("at least", operator.ge),
    "above": ("above", operator.gt),
    "high": ("at most", operator.le),
    "below": ("below", operator.lt),
}


def _check_range(name: str, value: Any, about: Mapping[str, Any]) -> None:
    """Raise if a number is outside its range, or not a number."""
    limits = {limit: about[limit] for limit in _LIMITS if limit in about}
    words = [f"{_LIMITS[limit][0]} {bound}" for limit, bound in limits.items()]
    if isinstance(value, float) and not {"high", "below"} & limits.keys():
        words.append("finite")
    holds = all(_LIMITS[limit][1](value, bound) for limit, bound in limits.items())
    if limits and not (holds and value != math.inf):
        raise ConfigError(f"{name} must be {' and '.join(words)}, got {value!r}.")


@dataclass(frozen=True)
class About:
    """What is known of a model, for people who choose one.

    Attributes:
        family: Its kind, in a word or two.
        paper: Who published it.
        equation: What it computes, in one line.
        bound: The exact test that separates whatever it can separate where nodes have
            no features; ``None`` of one that reads more than the graph.
        tables: Tables of the SEK-GNN paper that have it.
    """

    family: str
    paper: str
    equation: str
    bound: str | None
    tables: tuple[int, ...] = ()


@dataclass(frozen=True)
class ModelKind:
    """What a model is made of, and so which options it has; and what is known of it.

    Attributes:
        parts: Parts of :func:`option`, besides those of all networks.
        defaults: Where they differ from :class:`ModelOptions`.
        fixed: Options that it does not have, but its encoders read.
        options_type: The class of its options, with those that it alone has.
        network: Whether it is one.
        lacks: Parts of all networks that it does not have.
        edges: Whether it reads edge features.
        coordinates: Whether it reads positions of nodes in space, ``pos``.
        chooses: What a model without epochs chooses on validation graphs, in words.
        about: What is known of it; ``None`` of a model of your own.
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
        return self.options_type(**{**self.fixed, **own, **given})


class ModelKinds(Mapping[str, ModelKind]):
    """What is known of every model, by name; those of catalogues when first asked for.

    A catalogue is a module of this package that describes models
    (:func:`describe_models`) without importing them.
    """

    def __init__(self, *catalogues: str) -> None:
        """Know only which catalogues there are."""
        self._catalogues = catalogues
        self._kinds: dict[str, ModelKind] = {}
        self._homes: dict[str, str] = {}

    def _read(self) -> dict[str, ModelKind]:
        for module in self._catalogues:
            import_module(module)
        return self._kinds

    def __getitem__(self, name: str) -> ModelKind:
        return self._kinds[name] if name in self._kinds else self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def homes(self) -> Mapping[str, str]:
        """Return the modules that register models when imported, by model."""
        self._read()
        return self._homes

    def add(self, name: str, kind: ModelKind, home: str = "") -> None:
        """Keep what is known of a model, and the module that registers it, if any."""
        self._kinds[name] = kind
        if home:
            self._homes[name] = home

    def forget(self, name: str) -> None:
        """Drop what is known of a model."""
        del self._kinds[name]
        self._homes.pop(name, None)


MODEL_KINDS = ModelKinds("sekgnn.models.kinds", "sekgnn.paper.kinds")
"""Every model by name; ``describe_models`` and ``register_model`` add to them."""


def describe_models(home: str, kinds: Mapping[str, ModelKind]) -> None:
    """Say what models are made of before the module that registers them is imported.

    Args:
        home: That module; it is imported when one of the models is first asked for.
        kinds: The models by name.
    """
    for name, kind in kinds.items():
        MODEL_KINDS.add(name, kind, home)


OWN = ModelKind()
"""Of a model of your own that is made of branches: it has all shared options."""


def all_options() -> dict[str, Field[Any]]:
    """Return the options of all models by name, those that most share first."""
    further = [kind.options_type for kind in MODEL_KINDS.values()]
    types: list[type[ModelOptions]] = [ModelOptions, *further]
    return {item.name: item for each in types for item in fields(each)}


def model_costs() -> dict[str, dict[str, float]]:
    """Return what an epoch of a model costs relative to ``gin``.

    ``seconds`` and peak ``memory``, as ``benchmarks/models.py`` measured them on
    PROTEINS; a model that was not measured is absent.
    """
    text = Path(__file__).with_name("costs.json").read_text("utf-8")
    found: dict[str, dict[str, float]] = json.loads(text)
    return found


def shown_default(name: str) -> str:
    """Return the default of an option, and of the models where it differs.

    Example:
        >>> shown_default("readout")
        'sum; set2set for mpnn'
    """
    item = all_options()[name]
    general = item.default
    words = [f"no-{name.replace('_', '-')}" if general is False else str(general)]
    words = [item.metadata["unset"]] if general is None else words
    others: dict[Any, list[str]] = {}
    for model, kind in MODEL_KINDS.items():
        own = kind.options().get(name, general)
        if own != general:
            others.setdefault(own, []).append(model)
    words += [f"{own} for {', '.join(models)}" for own, models in others.items()]
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
    types = {item.name: item.type for item in fields(kind.options_type)}
    first = [inspect.Parameter("in_channels", must, annotation="int"),
             inspect.Parameter("out_channels", must, annotation="int")]  # fmt: skip
    if "encoding" in kind.parts:
        first.append(
            inspect.Parameter(
                "encoding", must, default=encoding, annotation="SubstructureEncoding"
            )
        )
    rest: list[tuple[str, Any, str]] = [
        ("graph_channels", 0, "int"),
        ("level", "graph", "Level"),
    ]
    if kind.edges:
        rest.insert(0, ("edge_channels", 0, "int"))
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
    known = {item.name: item.metadata for item in fields(kind.options_type)}
    for name, value in kind.options().items():
        help, choices = known[name]["help"], known[name]["choices"]
        words = f": {', '.join(choices[:-1])} or {choices[-1]}" if choices else ""
        lines.append(f"{name}: {help[0].upper()}{help[1:]}{words} (default {value!r}).")
    if kind.edges:
        lines.append("edge_channels: Width of ``edge_attr``; 0 where it is not read.")
    lines += [
        "graph_channels: Width of ``graph_x``, features of graphs; 0 for none.",
        'level: One output per ``"graph"``, per ``"node"`` (or seed, where a batch has '
        'seeds) or per ``"link"``, a pair of seeds.',
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"\n\nArgs:\n{body}\n\nRaises:\n    ConfigError: If a value cannot work.\n"
