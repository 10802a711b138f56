"""Everything a run is made of, as one flat, frozen object.

A key here is a key of a YAML file and a flag of ``sekgnn train``. Importing this file
loads no torch, so that the command line can show its help at once.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, fields, make_dataclass, replace
from typing import TYPE_CHECKING, Any

from sekgnn.checks import check_choice, nearest
from sekgnn.encoding.substructure import ENCODINGS
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.models.options import (
    MODEL_KINDS,
    OWN,
    ModelOptions,
    all_options,
    shown_default,
)
from sekgnn.parameters import check_fields, parameter

NO_ENCODING = "none"
"""As ``encoding``: the networks without f, such as 0 steps in the paper's Table 4."""

SECTIONS = ("data", "protocol", "model", "encoding", "training", "machine")
PROTOCOL_NAMES = ("holdout", "xu2019", "wijesinghe2022", "nested", "fixed")
SPLITS = {"random": 0, "scaffold": 0, "group": 1, "time": 1, "fold": 1}
"""What graphs may be split by, and how many columns it takes."""
DESCRIPTORS = ("none", "rdkit", "morgan", "rdkit+morgan")
SCHEDULES = ("plateau", "cosine", "step", "constant")
LOSSES = ("mse", "mae", "huber", "bce")
OPTIMIZERS = ("adam", "adamw", "lbfgs", "soap")
TREES = ("forest", "boosting")
TREES_READ = "rdkit+morgan"
"""Descriptors that trees beside networks read, of molecules."""
CLOSED_FORMS = ("none", "before", "after", "both")
DTYPES = ("float32", "float64")
DEVICES = ("auto", "cpu", "gpu", "mps")
ACCELERATORS = (*DEVICES, "tpu")
PAIR_KEYS = ("model_options", "encoding_options", "grid")
"""Keys that hold names and values."""
_GONE = ("checkpoint_every", "min_lr")
"""Keys of older files, of which all had the same value or no result depends."""


def key(section: str, help: str, default: Any = None, **more: Any) -> Any:
    """Return a parameter of :class:`RunConfig` that belongs to a section.

    ``free`` in ``more`` says that results do not depend on the key.
    """
    return parameter(default, help, section=section, **more)


def _optional(options: Iterable[Field[Any]]) -> type:
    """Return a class of the same keys, but ``None`` means the model's own default."""
    rows = []
    for item in options:
        kind = str(item.type).removesuffix(" | None")
        kind = kind if kind in ("int", "float", "bool") else "str"
        about = key("model", **{**item.metadata, "shown": shown_default(item.name)})
        rows.append((item.name, f"{kind} | None", about))
    return make_dataclass("_Optional", rows, frozen=True)


if TYPE_CHECKING:
    from sekgnn.training.space import SearchSpace

    _ModelKeys = ModelOptions
else:
    _ModelKeys = _optional(fields(ModelOptions))
_FURTHER = [
    item
    for item in fields(_optional(all_options().values()))
    if item.name not in ModelOptions.__dataclass_fields__
]
"""Options that only some models have, as keys of files and flags."""


def _walk_key(name: str, default: Any = None) -> Any:
    """Return the field of a parameter of walks, described where it is defined."""
    (item,) = (item for item in fields(WalkEncoding) if item.name == name)
    help, choices = item.metadata["help"], item.metadata["choices"]
    default = item.default if default is None else default
    return key("encoding", help, default, choices=choices)


@dataclass(frozen=True)
class RunConfig(_ModelKeys):
    """Data, protocol, model, encoding and training of a run.

    The options that most models share (:class:`~sekgnn.models.ModelOptions`) are keys
    too; ``None`` means the model's own default. Those that only some models have are
    ``model_options``; in files, flags and :meth:`from_dict` they stand beside the
    other keys. Every key is described in :data:`CONFIG_HELP`.

    Raises:
        ConfigError: If a value cannot work, alone or with others.

    Example:
        >>> RunConfig(data="MUTAG", model="gin").protocol
        'holdout'
    """

    data: str = key("data", "name of a dataset, or path of your own file or folder", "")
    level: str = key(
        "data",
        "level of the targets in one packed graph",
        "node",
        choices=("node", "link"),
    )
    target: tuple[str, ...] = key(
        "data", "columns, keys or dataset targets to predict", ()
    )
    kind: str | None = key(
        "data",
        "kind of task: binary, multiclass, multilabel or regression",
        shown="inferred from the targets",
    )
    smiles: str | tuple[str, ...] = key(
        "data",
        "columns that hold SMILES; those of a row are one graph",
        "smiles",
    )
    skip_invalid: bool = key("data", "leave out SMILES that rdkit cannot read", False)
    add_hydrogens: bool = key("data", "add hydrogen atoms as nodes", False)
    stereo: bool = key("data", "tell R from S and E from Z in SMILES", True)
    features: tuple[str, ...] = key(
        "data", "columns or keys of numbers to join to the vector of a graph", ()
    )
    descriptors: str = key(
        "data",
        "rdkit's descriptors, or counts of Morgan's substructures, to join to the "
        "vector of a graph",
        "none",
        choices=DESCRIPTORS,
    )
    sample_weight: str | None = key(
        "data", "column or key that holds how much the loss of a graph weighs"
    )
    generated: bool = key(
        "data", "generate counting or graph_property even if files exist", False
    )
    data_seed: int = key("data", "seed of generated datasets", 0, low=0)

    protocol: str = key(
        "protocol",
        "how graphs are split and the epoch is selected",
        "holdout",
        choices=PROTOCOL_NAMES,
    )
    folds: int = key("protocol", "number of folds", 10, low=2)
    published_folds: bool = key(
        "protocol", "use the folds that come with the TU files", False
    )
    split: str | None = key("protocol", "JSON file with the lists train, val and test")
    split_by: tuple[str, ...] = key(
        "protocol",
        "what may not be in two parts: random (nothing), scaffold (Bemis-Murcko), "
        "group COLUMN; or time COLUMN (the latest graphs test), fold COLUMN (your own)",
        ("random",),
    )
    val_fraction: float = key(
        "protocol",
        "share of graphs used for validation in random splits",
        0.1,
        above=0,
        high=1,
    )
    test_fraction: float = key(
        "protocol",
        "share of graphs used for testing in random splits",
        0.1,
        above=0,
        high=1,
    )
    seed: int = key(
        "protocol", "seed of splits, weights, batches and dropout", 0, low=0
    )
    confidence: float | None = key(
        "protocol",
        "share of new graphs whose interval, or set of classes, is to hold the truth; "
        "conformal, calibrated on half of the validation graphs, which choose nothing",
        shown="no intervals",
        above=0,
        high=0.999,
    )
    adaptive: bool = key(
        "protocol",
        "widen intervals where the models of an ensemble or blend disagree",
        False,
    )
    threshold: str | None = key(
        "protocol",
        "metric of the validation graphs whose best value sets the probability above "
        "which the second of two classes is decided for",
        shown="none, the likelier class",
        choices=("accuracy", "balanced_accuracy", "f1"),
    )
    grid: tuple[tuple[str, Any], ...] = key(
        "protocol",
        "options of the model, each with a list of values to try; of all points the "
        "one with the best monitor on a training's own validation graphs is tested",
        (),
    )
    grid_points: int | None = key(
        "protocol",
        "try only N points of grid, drawn by seed",
        shown="all",
        low=1,
    )
    baseline: bool = key(
        "protocol",
        "beside a network, report what ridge and forest reach on the same splits",
        True,
        free=True,
    )

    model: str = key(
        "model",
        f"model to train: {', '.join(MODEL_KINDS)}, or package.module:Class",
        "sek-gin",
    )
    model_options: tuple[tuple[str, Any], ...] = key(
        "model", "further options of the model, as name=value", ()
    )
    edge_features: bool | None = key(
        "model",
        "let messages read edge features",
        shown="wherever messages can read them",
    )
    max_neighbors: int | None = key(
        "model",
        "sample at most N nodes in every hop of a node",
        shown="all; of one packed graph 10",
    )

    encoding: str = key(
        "encoding",
        f"substructure encoding f: {', '.join(ENCODINGS)}, {NO_ENCODING}, or "
        "package.module:Class",
        "walks",
    )
    encoding_options: tuple[tuple[str, Any], ...] = key(
        "encoding", "parameters of an encoding other than walks, as name=value", ()
    )
    scope: tuple[str, ...] = _walk_key("scope", ("graph", "internal"))
    radius: tuple[int, ...] = _walk_key("radius", (1,))
    walk_length: int = _walk_key("walk_length")
    num_shells: int = _walk_key("num_shells")
    aggregate: str = _walk_key("aggregate")
    merge: str = _walk_key("merge")
    self_loops: bool | tuple[bool, ...] = _walk_key("self_loops")
    first_step: int = _walk_key("first_step")
    shell_sizes: int = _walk_key("shell_sizes")

    epochs: int = key("training", "largest number of epochs", 100, low=1)
    batch_size: int = key(
        "training", "graphs per step, in all processes together", 64, low=1
    )
    optimizer: str = key(
        "training",
        "optimizer (lbfgs takes all training graphs at once)",
        "adam",
        choices=OPTIMIZERS,
    )
    lr: float = key("training", "learning rate", 1e-3, above=0)
    weight_decay: float = key("training", "L2 penalty", 0.0, low=0)
    closed_form: str = key(
        "training",
        "when to solve linear layers, the skip before training or the head after it",
        "none",
        choices=CLOSED_FORMS,
    )
    dtype: str | None = key(
        "training",
        "precision of inputs and weights",
        shown="float64 for models solved in closed form, else float32",
        choices=DTYPES,
    )
    loss: str = key(
        "training",
        "loss of a regression (bce for targets 0 and 1)",
        "mse",
        choices=LOSSES,
    )
    class_weight: str | None = key(
        "training",
        "weight of classes in the loss; balanced makes all equal, however rare",
        shown="none, all graphs weigh the same",
        choices=("balanced",),
    )
    normalize: bool = key(
        "training", "shift and scale targets to mean 0 and variance 1", True
    )
    monitor: str = key("training", "metric that selects the epoch", "loss")
    keep: str | None = key(
        "training",
        "epoch whose weights are kept, the best by monitor or the last",
        shown="best where there are validation graphs, else last",
        choices=("best", "last"),
    )
    refit: bool = key(
        "training", "train on the validation graphs too, with keep=last", False
    )
    start_from: str | None = key(
        "training",
        "run folder or model file whose weights to begin with; its last layer only if "
        "the targets are the same",
        shown="none, random weights",
    )
    freeze: bool = key(
        "training", "train nothing but the head and the skip, after start_from", False
    )
    ensemble: int = key(
        "training",
        "number of networks, from different seeds, whose predictions are averaged",
        1,
        low=1,
    )
    blend: tuple[str, ...] = key(
        "training",
        "models of trees to average predictions with: forest, boosting; weights by the "
        "validation graphs. Of molecules they read rdkit+morgan descriptors",
        (),
    )
    schedule: str = key(
        "training", "how the learning rate changes", "plateau", choices=SCHEDULES
    )
    final_lr: float = key(
        "training", "share of lr at the end of schedule cosine", 0.02, low=0, high=1
    )
    plateau_patience: int = key(
        "training",
        "epochs without improvement before schedule plateau reduces the learning rate, "
        "or epochs after which schedule step does",
        10,
        low=0,
    )
    plateau_factor: float = key(
        "training",
        "factor by which schedules plateau and step reduce the learning rate",
        0.5,
        above=0,
        high=1,
    )
    patience: int | None = key(
        "training",
        "stop after N epochs without improvement",
        shown="never stop early",
        low=1,
    )
    clip: float | None = key(
        "training", "clip gradients to this norm", shown="no clipping", above=0
    )
    tensorboard: bool = key("training", "write TensorBoard logs", False)

    accelerator: str = key(
        "machine", "device to train on", "auto", choices=ACCELERATORS, free=True
    )
    devices: int = key(
        "machine", "number of processes, or GPUs, per machine", 1, free=True, low=1
    )
    num_machines: int = key("machine", "number of machines", 1, free=True, low=1)
    strategy: str = key(
        "machine", "strategy of Lightning Fabric, such as ddp", "auto", free=True
    )
    num_workers: int = key(
        "machine", "number of processes that load batches", 0, free=True, low=0
    )

    def __post_init__(self) -> None:
        """Check what can be checked without data."""
        for name in ("target", "scope", "radius", "split_by", "features", "blend"):
            object.__setattr__(self, name, _as_tuple(name, getattr(self, name)))
        for name in PAIR_KEYS:
            object.__setattr__(self, name, _pairs(name, getattr(self, name)))
        check_fields(self)
        if ":" not in self.model and self.model not in MODEL_KINDS:
            raise ConfigError(
                f"model must be one of {[*MODEL_KINDS]}, or package.module:Class, got "
                f"{self.model!r}.{nearest(self.model, MODEL_KINDS)} Import the module "
                "that registers a model of your own first: sekgnn --import MODULE ..."
            )
        object.__setattr__(self, "model_options", self._checked_options())
        if self.optimizer == "lbfgs":
            for name in ("dropout", "clip", "max_neighbors"):
                if getattr(self, name):
                    raise ConfigError(
                        f"{name} does not work with optimizer lbfgs, whose line search "
                        "needs a fixed loss; leave it out."
                    )
            if self.norm in (None, "batch") and self.has_epochs:
                raise ConfigError(
                    "batch normalisation does not work with optimizer lbfgs, whose "
                    "line search needs a fixed loss; set norm to none or layer."
                )
            if self.devices * self.num_machines > 1:
                raise ConfigError("optimizer lbfgs trains in one process.")
        if self.max_neighbors is not None and not self.has_epochs:
            raise ConfigError(
                f"model {self.model!r} sends no messages; leave max_neighbors out."
            )
        for name in self.features:
            if name in self.target:
                raise ConfigError(
                    f"{name!r} is a target and among features, so the answer would be "
                    "read; leave it out of features."
                )
        if self.val_fraction + self.test_fraction >= 1.0:
            raise ConfigError(
                "val_fraction and test_fraction leave nothing to train on: "
                f"{self.val_fraction:g} + {self.test_fraction:g} is not below 1."
            )
        for name in self.blend:
            check_choice("blend", name, TREES)
        self._check_selection()
        self._check_grid()
        self._check_split_by()
        if self.split is not None and self.protocol != "holdout":
            raise ConfigError("split is for protocol holdout; leave it out.")
        if self.split is not None and self.skip_invalid:
            raise ConfigError(
                "split refers to all graphs of the file, and skip_invalid leaves some "
                "of them out; correct or remove invalid SMILES instead."
            )
        if self.published_folds and self.protocol == "holdout":
            raise ConfigError("published_folds is for protocols with folds.")
        if self.published_folds and self.folds != 10:
            raise ConfigError("there are 10 published folds; leave folds out.")
        if self.strategy.endswith(("_spawn", "_fork", "_notebook")):
            raise ConfigError(
                f"strategy {self.strategy!r} trains in processes whose weights are "
                "lost when they end; use 'ddp' or another strategy."
            )
        if self.devices * self.num_machines > 1 and self.protocol != "holdout":
            raise ConfigError(
                f"protocol {self.protocol!r} trains folds, which cannot be spread over "
                "devices or machines; leave devices and num_machines at 1, and train "
                "folds side by side with jobs."
            )
        if self.devices * self.num_machines > 1 and self.averages:
            raise ConfigError(
                "an ensemble trains its models one after the other in one process; "
                "leave devices and num_machines at 1, or ensemble and blend out."
            )

    def _checked_options(self) -> tuple[tuple[str, Any], ...]:
        """Return ``model_options`` in their types, if it is known what the model has.

        Those that are ``None`` are left out.
        """
        kind = MODEL_KINDS.get(self.model, OWN)
        if kind is OWN:
            return self.model_options
        given = {k: v for k, v in self.model_options if v is not None}
        made = kind.make(self.model, given)
        return tuple((name, getattr(made, name)) for name in given)

    def _check_selection(self) -> None:
        """Raise if the epoch cannot be chosen as the keys say."""
        validates = self.protocol in ("holdout", "nested")
        if self.keep == "best" and not validates:
            raise ConfigError(
                f"protocol {self.protocol!r} has no validation graphs to choose the "
                "best epoch by; leave keep out, or use protocol nested or holdout."
            )
        if self.refit and not (validates and self.keep == "last"):
            raise ConfigError(
                "refit leaves no validation graphs to choose an epoch by: it is for "
                "protocols holdout and nested with keep=last. Add that, or leave refit "
                "out."
            )
        if self.adaptive and (self.confidence is None or not self.averages):
            raise ConfigError(
                "adaptive scales intervals by the spread of several models; add "
                "confidence, and ensemble or blend."
            )
        for name in ("confidence", "threshold"):
            if getattr(self, name) is not None and self.watched != "val":
                raise ConfigError(
                    f"{name} is calibrated on validation graphs; use protocol holdout "
                    "or nested without refit."
                )
        if self.averages and self.watched == "test":
            raise ConfigError(
                f"protocol {self.protocol!r} reads its epoch off the curves of one "
                "network; leave ensemble at 1 and blend out, or use protocol "
                "fixed, nested or holdout."
            )
        if self.closed_form in ("after", "both") and self.watched == "test":
            raise ConfigError(
                f"protocol {self.protocol!r} reads its results off the curves, before "
                "the head is solved; use closed_form none or before, or protocol "
                "nested or fixed."
            )
        if self.averages and not self.has_epochs:
            raise ConfigError(
                f"ensemble and blend are for networks; {self.model!r} is fitted "
                "in one step, so there is nothing to average. Leave them out."
            )
        if self.freeze and self.start_from is None:
            raise ConfigError("freeze keeps the weights of start_from; name a run.")
        if self.start_from is not None and not self.has_epochs:
            raise ConfigError(f"start_from is for networks, {self.model!r} is none.")
        if self.start_from is not None and self.closed_form in ("before", "both"):
            raise ConfigError(
                "closed_form before training solves the skip anew, without what "
                "start_from brings; use none or after."
            )
        if self.patience is not None and not self.keeps_best:
            raise ConfigError(
                "patience waits for a better epoch on validation graphs, and here the "
                "last epoch is kept; leave patience out, or use protocol nested or "
                "holdout with keep=best."
            )

    def _check_grid(self) -> None:
        """Raise if no point could be chosen as the keys say."""
        if not self.grid:
            if self.grid_points is not None:
                raise ConfigError("grid_points draws from grid; name what to try.")
            return
        if self.watched != "val":
            raise ConfigError(
                "the point of a grid is chosen on validation graphs, and with protocol "
                f"{self.protocol!r}{' and refit' * self.refit} there are none; use "
                "protocol nested or holdout without refit."
            )
        alone = self.devices * self.num_machines == 1 and not self.averages
        if not (alone and self.has_epochs):
            raise ConfigError(
                "grid compares single networks, each trained in one process; choose a "
                "network, and leave ensemble, blend, devices and num_machines "
                "out."
            )
        known = MODEL_KINDS.get(self.model, OWN).options()
        for name, _ in self.grid:
            check_choice(f"keys of grid for model {self.model!r}", name, known)
        space = self.space
        for name, values in space.parts.items():
            for value in values:
                self.at({name: value})
        if (self.grid_points or 0) > (space.size or 0):
            raise ConfigError(
                f"grid_points is {self.grid_points}, and grid has {space.size} "
                "points; leave it out to try all."
            )

    @property
    def space(self) -> SearchSpace:
        """The grid as a space."""
        from sekgnn.training.space import SearchSpace  # which knows all keys

        return SearchSpace.from_dict(dict(self.grid))

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points of the grid to try, in its order; the last key runs fastest."""
        found = list(self.space.points())
        if self.grid_points is None:
            return found
        drawn = random.Random(self.seed).sample(range(len(found)), self.grid_points)
        return [found[i] for i in sorted(drawn)]

    def at(self, point: Mapping[str, Any]) -> RunConfig:
        """Return the config of one point, without a grid."""
        return self.change({"grid": {}, "grid_points": None, **point})

    def change(self, keys: Mapping[str, Any]) -> RunConfig:
        """Return the config with other keys, as :meth:`from_dict` takes them."""
        return RunConfig.from_dict({**self.to_dict(), **keys})

    def _check_split_by(self) -> None:
        """Raise if graphs cannot be split as the keys say."""
        how, *columns = self.split_by or ("",)
        check_choice("split_by", how, SPLITS)
        if len(columns) != SPLITS[how]:
            raise ConfigError(
                f"split_by {how} takes {'a column' if SPLITS[how] else 'no column'}, "
                f"got {' '.join(self.split_by)!r}."
            )
        if how == "time" and self.protocol != "holdout":
            raise ConfigError("split_by time has one split; use protocol holdout.")
        if how != "random" and (self.split is not None or self.published_folds):
            raise ConfigError(
                "split, published_folds and split_by each say how to split; give one."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the data that are needed beside its targets."""
        weight = () if self.sample_weight is None else (self.sample_weight,)
        return (*self.split_by[1:], *weight, *self.features)

    def without_network(self, model: str, descriptors: str | None = None) -> RunConfig:
        """Return the config of ``ridge`` or of trees on the same splits.

        They read the same encoding, where learned multisets become moments; or
        ``descriptors`` of molecules instead.
        """
        sections = ["model", "training", "machine"]
        sections += ["encoding"] * (descriptors is not None)
        keys: dict[str, Any] = {
            item.name: item.default
            for item in fields(self)
            if item.metadata["section"] in sections
        }
        keys |= {"grid": (), "grid_points": None}
        kept = ("loss", "normalize", "refit", "keep", "class_weight")
        keys |= {name: getattr(self, name) for name in kept} | {"model": model}
        if self.edge_features is False:
            keys["edge_features"] = False
        if descriptors is not None:
            keys |= {"encoding": NO_ENCODING, "descriptors": descriptors}
        elif self.aggregate == "learned":
            keys["aggregate"] = "moments"
        return replace(self, **keys)

    @property
    def carried(self) -> str:
        """Descriptors that molecules carry: what networks read, then trees as well."""
        parts = [] if self.descriptors == "none" else self.descriptors.split("+")
        if self.blend:
            parts += [part for part in TREES_READ.split("+") if part not in parts]
        return "+".join(parts) or "none"

    @property
    def has_epochs(self) -> bool:
        """Whether the model is a network, or else fitted in one step."""
        return MODEL_KINDS.get(self.model, OWN).network

    @property
    def averages(self) -> bool:
        """Whether predictions are means over several models of a training."""
        return self.ensemble > 1 or bool(self.blend)

    @property
    def watched(self) -> str | None:
        """The part of a split that is measured after every epoch, if any is."""
        if self.protocol in ("xu2019", "wijesinghe2022"):
            return "test"
        return None if self.protocol == "fixed" or self.refit else "val"

    @property
    def validation_chooses(self) -> bool:
        """Whether a model depends on what its validation graphs are."""
        if not self.has_epochs:
            return self.model not in TREES or bool(self.grid)
        steady = self.schedule != "plateau" or self.optimizer == "lbfgs"
        plain = steady and self.closed_form == "none" and not self.grid
        return self.keeps_best or not plain or bool(self.blend)

    @property
    def things(self) -> str:
        """What is split and counted: graphs, or nodes or pairs of one packed graph."""
        from sekgnn.graphs.graph_file import SUFFIX

        if not self.data.lower().endswith(SUFFIX):
            return "graphs"
        return "nodes" if self.level == "node" else "pairs"

    @property
    def keeps_best(self) -> bool:
        """Whether validation graphs choose the kept epoch; else it is the last."""
        return self.watched == "val" and self.keep != "last"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunConfig:
        """Return a config of plain values, as they stand in a YAML or JSON file.

        Options that only some models have may be keys, too; ``None`` leaves them out.

        Raises:
            ConfigError: If a key is unknown, which suggests the nearest, or as for the
                constructor.
        """
        known, options = {item.name for item in fields(cls)}, all_options()
        values = dict(values)
        if values.pop("with_forest", False):  # of older files
            values["blend"] = ["forest"]
        keys: dict[str, Any] = {}
        further: dict[str, Any] = {}
        for name, value in values.items():
            key = str(name).replace("-", "_")
            if key in _GONE:
                continue
            if key in known:
                keys[key] = value
            elif key in options:
                further |= {} if value is None else {key: value}
            else:
                raise ConfigError(
                    f"there is no config key {name!r}."
                    f"{nearest(name, [*known, *options])} "
                    "'sekgnn train --help' lists all keys."
                )
        if further:
            given = dict(_pairs("model_options", keys.get("model_options", ())))
            if twice := given.keys() & further.keys():
                raise ConfigError(
                    f"{', '.join(sorted(twice))} is a key and in model_options; give "
                    "it once."
                )
            keys["model_options"] = {**given, **further}
        return cls(**keys)

    def to_dict(self) -> dict[str, Any]:
        """Return every key as plain JSON values."""
        known, further = {item.name for item in fields(self)}, dict(self.model_options)
        values = {
            item.name: getattr(self, item.name)
            if item.name in known
            else further.pop(item.name)
            for item in config_fields()
            if item.name in known | further.keys()
        }
        values["model_options"] = further.items()
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}
        for name in PAIR_KEYS:
            plain[name] = {
                k: list(v) if isinstance(v, tuple) else v for k, v in values[name]
            }
        return plain

    def differences(self, other: RunConfig) -> list[str]:
        """Return the keys in which the results of two configs may differ.

        Keys that only say on what machine to compute are left out.
        """
        return [
            item.name
            for item in fields(self)
            if not item.metadata.get("free")
            and getattr(self, item.name) != getattr(other, item.name)
        ]


def config_fields() -> list[Field[Any]]:
    """Return the keys of files, section by section: of all models, as fields."""
    order = {name: place for place, name in enumerate(SECTIONS)}
    keys = [*fields(RunConfig), *_FURTHER]
    found = sorted(keys, key=lambda item: item.name != "model")
    return sorted(found, key=lambda item: order[item.metadata["section"]])


CONFIG_HELP: dict[str, str] = {
    item.name: str(item.metadata["help"]) for item in config_fields()
}
"""What every key means."""


def _as_tuple(name: str, value: Any) -> tuple[Any, ...]:
    """Return one value or several as a tuple; ``"a,b"`` are two."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{name} must be a list, got {value!r}.")
    return tuple(value)


def _pairs(name: str, value: Any) -> tuple[tuple[str, Any], ...]:
    """Return a mapping of plain values as pairs, which can be hashed."""
    try:
        found = dict(value)
    except (TypeError, ValueError):
        found = {None: value}
    plain = (str, int, float, bool, type(None))
    for key, item in found.items():
        items = item if isinstance(item, list | tuple) else (item,)
        if not isinstance(key, str) or not all(isinstance(i, plain) for i in items):
            raise ConfigError(
                f"{name} must be a mapping of names to strings, numbers, booleans or "
                f"lists of them, got {value!r}."
            )
    pairs = sorted(found.items())
    return tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in pairs)
