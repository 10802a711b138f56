"""The options of the networks, each once: meaning, choices, default; loads no torch.

Constructors, estimators, run configs and flags are made from what stands here. A new
option is a field of :class:`ModelOptions` and its use in a layer or encoder.
"""

from __future__ import annotations

import inspect
import json
import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from sekgnn.checks import MOST_LEVELS, check_choice, check_positive, nearest
from sekgnn.errors import ConfigError
from sekgnn.nn.choices import (
    Activation,
    Base,
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
_VALIDATED = "chosen on validation graphs"
_LEVELS = ("num_hops", "num_layers", "rounds", "blocks", "mlp_layers", "return_steps")
LINKS: tuple[Link, ...] = get_args(Link)


def option(
    part: str, help: str, default: Any, choices: Any = None, unset: str = ""
) -> Any:
    """Return a field of :class:`ModelOptions`.

    Args:
        part: What a model must have for the option to mean something; ``"all"`` for
            every network.
        help: What it does, for constructors, configs and flags.
        default: What it is if left out; the first choice if ``None``.
        choices: A ``Literal`` type.
        unset: What ``None`` means, in words.
    """
    known = get_args(choices)
    default = known[0] if known and default is None else default
    return field(
        default=default,
        metadata={"part": part, "help": help, "choices": known, "unset": unset},
    )


@dataclass(frozen=True)
class ModelOptions:
    """Every option of the networks; a model has those of its parts.

    Raises:
        ConfigError: If a value cannot work.
    """

    hidden_channels: int = option("all", "width of every layer", 64)
    num_layers: int = option("all", "L, number of layers", 3)
    num_hops: int = option(
        "hops", "K, number of hops of message passing, or radius of its ego-nets", 3
    )
    message: str = option(
        "message",
        "message that is sent: gin, gine, gcn, gine_plus or package.module:name of "
        "your own",
        "gin",
    )
    update: Update = option(
        "message", "how a hop's messages are transformed", None, Update
    )
    combine: Combine = option("combine", "how hops are combined", None, Combine)
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
        "how a graph's nodes are pooled: sum, mean, max, attention, set2set, or "
        "several as in sum+mean",
        "sum",
    )
    pooled: Pooled = option(
        "head",
        "leave pooled vectors as they are, or centre and scale them by what they were "
        "before training and start the head at zero",
        None,
        Pooled,
    )
    head: Head = option(
        "head", "head of the network, one linear layer or two", None, Head
    )
    activation: Activation = option(
        "mlp", "activation inside and between layers", None, Activation
    )
    norm: Norm = option("mlp", "kind of normalisation", None, Norm)
    dropout: float = option(
        "all", "dropout probability, after every layer and before the head", 0.0
    )
    towers: int = option("towers", "towers of a PNA layer, which share its width", 1)
    sort_nodes: int = option(
        "sort", "nodes of a graph that are read after sorting (DGCNN)", 30
    )
    shortest_paths: bool = option(
        "paths", "tell messages how many shortest paths they can take (KP-GIN)", False
    )
    inner_layers: int = option(
        "inner", "layers inside the ego-nets of one layer (GIN-AK+)", 2
    )
    base: Base = option(
        "base", "sets of nodes that the network in an ego-net joins", None, Base
    )
    order_size: int = option(
        "orderings", "nodes of an ordering that are read (Deep LRP)", 3
    )
    num_capsules: int = option("capsules", "capsules of a layer (CapsGNN)", 8)
    n_estimators: int = option("trees", "number of trees in a forest", 300)
    max_depth: int | None = option(
        "trees", "largest depth of a tree in a forest", None, unset="unlimited"
    )
    min_samples_leaf: int = option(
        "trees", "smallest number of training rows in a leaf of a tree", 1
    )
    svm_c: float | None = option(
        "kernel",
        "C of a support vector machine, over the mean of k(G, G)",
        None,
        unset=_VALIDATED,
    )
    gamma: float | None = option(
        "distance", "γ of a kernel exp(-γ d) of distances d", None, unset=_VALIDATED
    )
    rounds: int | None = option(
        "colours",
        "rounds in which a kernel refines colours",
        None,
        unset=f"{_VALIDATED}; 2 for fgw",
    )
    alpha: float = option(
        "transport", "weight of structure against colours in fgw, 0 to 1", 0.5
    )
    return_steps: int = option("returns", "length of the walks of retgk", 50)
    blocks: int | None = option(
        "tangent", "number of blocks of gntk", None, unset=_VALIDATED
    )
    mlp_layers: int = option("tangent", "layers of the perceptron of a gntk block", 2)
    degree_scale: bool = option(
        "tangent", "average over neighbours in gntk, or else add them up", True
    )

    def __post_init__(self) -> None:
        """Check every value."""
        for item in fields(self):
            value = getattr(self, item.name)
            if item.type == "int" or (item.type == "int | None" and value is not None):
                most = MOST_LEVELS if item.name in _LEVELS else None
                checked = check_positive(item.name, value, maximum=most)
                object.__setattr__(self, item.name, checked)
            if item.metadata["choices"]:
                check_choice(item.name, value, item.metadata["choices"])
        for name in ("share_hops", "skip", "shortest_paths", "degree_scale"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(
                    f"{name} must be true or false, got {getattr(self, name)!r}."
                )
        dropout: object = self.dropout
        real = isinstance(dropout, numbers.Real) and not isinstance(dropout, bool)
        if not real or not 0 <= float(self.dropout) < 1:
            raise ConfigError(f"dropout must be a number in [0, 1), got {dropout!r}.")
        object.__setattr__(self, "dropout", float(self.dropout))
        for name in ("svm_c", "gamma", "alpha"):
            self._check_above_zero(name, 1.0 if name == "alpha" else math.inf)

    def _check_above_zero(self, name: str, high: float) -> None:
        """Refuse what is not a number above 0, up to a bound."""
        value: object = getattr(self, name)
        if value is None:
            return
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not real or not 0 < float(getattr(self, name)) <= high or value == math.inf:
            bound = "" if high == math.inf else f" and at most {high:g}"
            raise ConfigError(f"{name} must be above 0{bound}, got {value!r}.")
        object.__setattr__(self, name, float(getattr(self, name)))


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
    network: bool = True
    lacks: tuple[str, ...] = ()
    edges: bool = True
    coordinates: bool = False
    chooses: str = ""
    about: About | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of the model and their defaults."""
        shared = ("all", "readout", "head", "mlp") if self.network else ()
        parts = {*self.parts, *shared} - {*self.lacks}
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


MODEL_KINDS = ModelKinds("sekgnn.paper.kinds")
"""Every model by name; ``describe_models`` and ``register_model`` add to them."""


def describe_models(home: str, kinds: Mapping[str, ModelKind]) -> None:
    """Say what models are made of before the module that registers them is imported.

    Args:
        home: That module; it is imported when one of the models is first asked for.
        kinds: The models by name.
    """
    for name, kind in kinds.items():
        MODEL_KINDS.add(name, kind, home)


describe_models(
    "sekgnn.models.networks",
    {
        "sek-gin": ModelKind(
            ("hops", "combine", "inject", "encoding", "fusion", "skip", "jump"),
            fixed={"message": "gine_plus"},
            about=About(
                "K-hop",
                "Yao et al., KDD 2023",
                "[SEK-GNN with GINE+ ‖ GIN], one linear head",
                "sek",
                (1, 2, 3, 4, 5),
            ),
        ),
        "sek-ppgn": ModelKind(
            ("hops", "combine", "encoding", "fusion", "skip"),
            {"combine": "sum"},
            about=About(
                "pairs of nodes",
                "Yao et al., KDD 2023",
                "[one SEK layer (GIN) ‖ PPGN], one linear head",
                "sek2fwl",
                (1,),
            ),
        ),
        "sek-gnn": ModelKind(
            about=About(
                "K-hop",
                "Yao et al., KDD 2023",
                "h'_v = COMBINE_k UPDATE_k(MESSAGE_k(h_v, f_v, {(h_u, f_u): u in "
                "N_k(v)}))",
                "sek",
            )
        ),
        "k-gin": ModelKind(
            ("hops", "combine", "message", "skip", "jump"),
            {"message": "gine_plus"},
            about=About(
                "K-hop",
                "Brossard et al., 2020; Feng et al., NeurIPS 2022",
                "h'_v = MLP((1+ε) h_v + Σ_k θ_k Σ_{u in N_k(v)} ReLU(h_u^(L-k)))",
                "khop",
                (1,),
            ),
        ),
        "gin": ModelKind(
            ("skip", "jump"),
            {"jump": "last"},
            {"num_hops": 1, "combine": "sum"},
            about=About(
                "message passing",
                "Xu et al., ICLR 2019",
                "h'_v = MLP((1+ε) h_v + Σ_u h_u)",
                "1wl",
                (1, 2),
            ),
        ),
        "ppgn": ModelKind(
            (),
            fixed={"num_hops": 1},
            about=About(
                "pairs of nodes",
                "Maron et al., NeurIPS 2019",
                "X'_vu = MLP([X_vu ‖ Σ_w MLP(X)_vw ∘ MLP(X)_wu])",
                "2fwl",
                (1, 3),
            ),
        ),
        "ridge": ModelKind(
            ("encoding", "readout"),
            fixed={"num_hops": 1, "skip": True},
            network=False,
            chooses="the penalty",
            about=About(
                "closed form",
                "this library",
                "y = W pool_v [1, d_v, d_v²] ⊗ [1, f_v, x_v, Σ_u e_uv]",
                "sek",
            ),
        ),
    },
)
describe_models(
    "sekgnn.models.forest",
    {
        "forest": ModelKind(
            ("encoding", "trees"),
            fixed={"num_hops": 1},
            network=False,
            about=About(
                "trees",
                "this library",
                "extremely randomised trees of pool_v [1, f_v, x_v, Σ_u e_uv]",
                "sek",
            ),
        ),
    },
)

OWN = ModelKind()
"""Of a model of your own that is made of branches: it has all options."""


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
    item = next(item for item in fields(ModelOptions) if item.name == name)
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
    types = {item.name: item.type for item in fields(ModelOptions)}
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
    known = {item.name: item.metadata for item in fields(ModelOptions)}
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
