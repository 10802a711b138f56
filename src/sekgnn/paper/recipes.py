"""The runs of the paper's tables, each a name and a config.

One definition per table instead of a file per run: ``docs/reproduce.md`` lists where
they follow the paper, ``sekgnn reproduce TABLE --show RUN`` prints a config, and
``--configs FOLDER`` writes all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from sekgnn.checks import nearest
from sekgnn.datasets.root import PAPER_STATISTICS
from sekgnn.errors import ConfigError
from sekgnn.models.options import MODEL_KINDS, model_costs
from sekgnn.training.config import RunConfig

TABLES = {
    "table1": "exp:syn",
    "table2": "exp:tudataset",
    "table3": "exp:qm9",
    "table4": "exp:ab_study1",
    "table5": "exp:ab_study2",
}
"""Labels of the tables in the paper's source."""

PATTERNS = ("triangle", "tailed_triangle", "star3", "cycle4")
PROPERTIES = ("is_connected", "diameter", "spectral_radius")
TU = (
    "MUTAG", "PTC_MR", "PROTEINS", "ENZYMES", "BZR", "COX2", "IMDB-BINARY",
    "IMDB-MULTI",
)  # fmt: skip
QM9 = ("mu", "alpha", "homo", "lumo", "gap", "r2", "zpve", "u0", "u", "h", "g", "cv")
COLUMNS = {"table1": (*PROPERTIES, *PATTERNS), "table2": TU, "table3": QM9}
"""Columns of the tables with a row per system, in the paper's order."""
STEPS = (0, 8, 16, 24, 32)
KERNELS = ("wl", "wwl", "retgk", "gntk", "fgw")
_ATTRIBUTED = ("PROTEINS", "ENZYMES", "BZR", "COX2")
_SORTED = {  # DGCNN's k: the 60% quantile of the graph sizes
    "MUTAG": 19, "PTC_MR": 15, "PROTEINS": 32, "ENZYMES": 36, "BZR": 36, "COX2": 42,
    "IMDB-BINARY": 18, "IMDB-MULTI": 11,
}  # fmt: skip
_ABLATED_TU = ("IMDB-BINARY", "PROTEINS", "BZR", "MUTAG")

Keys = dict[str, Any]
_WALKS: Keys = {
    "scope": ["graph", "internal"], "radius": [1], "num_shells": 3, "walk_length": 16,
}  # fmt: skip
_COUNTING: Keys = {
    "readout": "sum", "norm": "none", "batch_size": 64, "lr": 0.001,
    "weight_decay": 1e-6, "plateau_patience": 15, "plateau_factor": 0.75,
}  # fmt: skip
_PROPERTY: Keys = {
    "readout": "sum", "batch_size": 128, "lr": 0.008, "weight_decay": 5e-7,
    "plateau_patience": 10, "plateau_factor": 0.5,
}  # fmt: skip
_SEK_GIN: Keys = {
    "hidden_channels": 64, "num_layers": 5, "jump": "attention",
    "combine": "geometric", "epochs": 350,
}  # fmt: skip
_GNN_AK: Keys = {  # its train/counting.py and configs: GIN, PNA, GIN-AK+
    "hidden_channels": 128, "num_layers": 6, "num_hops": 3, "inner_layers": 1,
    "jump": "sum", "readout": "sum", "head": "mlp", "batch_size": 128, "lr": 0.001,
    "plateau_patience": 50, "plateau_factor": 0.5, "epochs": 210, "baseline": False,
}  # fmt: skip
_KP_GNN: Keys = {  # its train_structure_counting.py
    "hidden_channels": 96, "num_layers": 3, "jump": "concat", "readout": "sum",
    "combine": "geometric", "shortest_paths": True, "batch_size": 128, "lr": 0.01,
    "weight_decay": 3e-7, "plateau_patience": 10, "plateau_factor": 0.5,
    "grid": {"num_hops": [1, 2, 3, 4]}, "epochs": 250, "baseline": False,
}  # fmt: skip
_KP_GNN_PROPERTY: Keys = {
    **_KP_GNN, "num_layers": 6, "num_hops": 6, "readout": "attention", "grid": {},
}  # fmt: skip
_PAIRS: Keys = {  # the network of the authors' run_graphcount_ppgn.py
    "hidden_channels": 40, "num_layers": 5, "num_hops": 3, "combine": "sum",
    "readout": "sum", "norm": "none", "batch_size": 64, "lr": 0.001, "baseline": False,
}  # fmt: skip
_LBFGS_WALKS: Keys = {
    "scope": ["graph", "internal"], "radius": [1, 2], "num_shells": 2,
    "walk_length": 6, "aggregate": "moments",
}  # fmt: skip
_LBFGS: Keys = {
    "hidden_channels": 32, "num_layers": 2, "jump": "concat", "readout": "sum",
    "norm": "none", "activation": "silu", "skip": True, "pooled": "frozen",
    "dtype": "float64", "optimizer": "lbfgs", "epochs": 60, "batch_size": 512,
}  # fmt: skip
_CLOSED_FORM: dict[str, Keys] = {
    "is_connected": {
        "readout": "sum+mean", "scope": ["graph"], "num_shells": 1, "walk_length": 32,
        "first_step": 0, "shell_sizes": 24, "self_loops": False, "loss": "bce",
    },
    "diameter": {
        "readout": "max", "scope": ["graph"], "num_shells": 24, "walk_length": 1,
        "first_step": 0, "aggregate": "mean",
    },
    "spectral_radius": {
        "readout": "mean+std+max", "scope": ["graph"], "num_shells": 2,
        "walk_length": 16, "aggregate": "moments",
    },
}  # fmt: skip
_LBFGS_PROPERTY: dict[str, Keys] = {
    "is_connected": {"readout": "sum+mean", "loss": "bce"},
    "diameter": {"readout": "max"},
    "spectral_radius": {"readout": "mean+max"},
}
_TU_AUTHORS: Keys = {
    "hidden_channels": 40, "num_layers": 3, "num_hops": 3, "combine": "geometric",
    "jump": "concat", "readout": "sum", "lr": 0.008, "weight_decay": 1e-6,
    "schedule": "step", "plateau_patience": 50, "plateau_factor": 0.5,
    "dropout": 0.5, "batch_size": 64, "epochs": 350,
}  # fmt: skip
_TU_OTHERS: Keys = {**_TU_AUTHORS, "shortest_paths": True}
_TU_GIN: Keys = {
    **_TU_AUTHORS, "hidden_channels": 64, "num_layers": 4, "lr": 0.01,
    "weight_decay": 0.0, "batch_size": 32,
}  # fmt: skip
_TU_FIXED: Keys = {
    "hidden_channels": 16, "num_layers": 2, "num_hops": 3, "jump": "attention",
    "optimizer": "adamw", "lr": 0.002, "schedule": "cosine", "epochs": 40,
    "batch_size": 32, "ensemble": 3, "baseline": False,
}  # fmt: skip
_ENZYMES: Keys = {"hidden_channels": 64, "epochs": 120}
"""Chosen within training folds: ``results/training/enzymes.md``."""
_TU_GRID: Keys = {
    **_TU_FIXED, "ensemble": 1, "keep": "last", "num_layers": None, "num_hops": None,
    "jump": None,
}  # fmt: skip
_GRID: Keys = {
    "num_hops": [1, 2, 3, 4], "num_layers": [1, 2, 3, 4],
    "combine": ["sum", "geometric"], "jump": ["sum", "concat"],
}  # fmt: skip
_AUTHORS_EPOCHS = {  # Table 1: GNN-AK's and KP-GNN's code, the paper's section 7.1
    "gin": 210, "pna": 210, "ppgn": 210, "gin-ak+": 210,
    "k-gin": 250, "kp-gin+": 250, "sek-gin": 350,
}  # fmt: skip
_FEWER_EPOCHS = {  # by row, on counts or not: half an hour of a core
    ("pna", False): 65, ("gin-ak+", True): 85, ("gin-ak+", False): 28,
    ("ppgn", False): 150, ("sek-ppgn", True): 400, ("sek-ppgn", False): 150,
}  # fmt: skip
_TOGETHER = ("pna", "gin-ak+")
"""Rows with one network for all four counts, as in GNN-AK's code."""
_GRID_POINTS = 12  # of the 64 for SEK-GIN; GIN has only 8
_QM9_WALKS: Keys = {
    "scope": ["graph", "internal"], "radius": [1, 2], "num_shells": 3,
    "walk_length": 8, "aggregate": "moments",
}  # fmt: skip
_QM9_NETWORK: Keys = {
    "hidden_channels": 96, "num_layers": 4, "num_hops": 3, "jump": "attention",
    "readout": "sum", "batch_size": 128,
    "lr": 0.001, "loss": "mae", "epochs": 40, "schedule": "cosine", "baseline": False,
}  # fmt: skip
_QM9_REST: Keys = {
    **_QM9_NETWORK, "hidden_channels": 128, "head": "mlp", "epochs": 70, "skip": True,
}  # fmt: skip
_HEAVY = "_heavy"  # suffix of a dataset: hydrogens are not nodes
_ATTRIBUTES = "_attributes"  # suffix of a dataset: node attributes are read
_STEPS: Keys = {
    "fusion": "weighted", "scope": ["graph"], "num_shells": 5, "aggregate": "landing",
    "merge": "parts",
}  # fmt: skip

# seconds of one core for a layer of GIN of width 40: per batch, and per node
_STEP, _NODE = 2e-3, 2.5e-6
_PAIR = 1.6e-6  # and of PPGN, of that width, per pair of nodes
_LBFGS_FACTOR = 8  # evaluations of all batches in an epoch
# seconds per pair of graphs, or of nodes
_GRAPH_PAIRS = {"wl": 1e-6, "wwl": 2e-6, "fgw": 5e-4}
_NODE_PAIRS = {"retgk": 8e-9, "gntk": 1.4e-7}
_SVM = 5e-7  # per fold and pair of graphs
_RIDGE, _FOREST = 1e-3, 1.7  # per fold and graph; per fold
_INNER = 4  # factor of a cross-validation, where there are no validation graphs


def _plain(data: str) -> str:
    """Return the name of a dataset without its suffix."""
    return data.removesuffix(_HEAVY).removesuffix(_ATTRIBUTES)


@dataclass(frozen=True)
class Recipe:
    """A run of a table.

    Attributes:
        name: Name of the run and of its folder.
        table: Such as ``"table2"``.
        row: Row of the table: a model or one of our variants.
        column: Dataset or target; empty if the run learns several targets at once.
        keys: Keys of its config that differ from the default.
    """

    name: str
    table: str
    row: str
    column: str
    keys: Mapping[str, Any]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that the run fills."""
        return (self.column,) if self.column else self.config.target

    @property
    def authors_epochs(self) -> int | None:
        """Epochs of the authors of the row's system, if known."""
        if self.table == "table1":
            counts = self.config.data == "counting"
            return (1000 if counts else 800) if self.row == "sek-ppgn" else (
                _AUTHORS_EPOCHS.get(self.row)
            )  # fmt: skip
        named = self.table == "table2" and self.config.protocol in ("xu2019", "nested")
        return 350 if named and self.row in ("gin", "sek-gin") else None

    @cached_property
    def config(self) -> RunConfig:
        """The config of the run."""
        return RunConfig.from_dict(self.keys)

    @cached_property
    def seconds(self) -> float:
        """Estimated time on one core.

        Networks: the measured cost of the model relative to GIN
        (:func:`~sekgnn.models.options.model_costs`), times layers, epochs, trainings
        and the root of the width (for PNA and GIN-AK+ its power 1.5), with constant
        time per batch and node (for PPGN, per pair of nodes). Kernels: all pairs, then
        support vector machines. The constants were fitted to 162 records in
        ``results/runs`` (two shared cores, one thread each): 112 are within a factor of
        2; 37 took longer, mostly because the machine was busy.
        """
        config = self.config
        stats = PAPER_STATISTICS.get(_plain(config.data))
        if stats is None:
            return 60.0
        graphs = stats.graphs[0]  # all, or those for training
        folds = 1 if config.protocol == "holdout" else config.folds
        nodes = graphs * stats.nodes
        nodes /= 2 if config.data.endswith(_HEAVY) else 1
        inner = 1 if config.watched == "val" else _INNER
        if config.model in KERNELS:
            pairs = _GRAPH_PAIRS.get(config.model, 0.0) * graphs**2 / 2
            pairs += _NODE_PAIRS.get(config.model, 0.0) * nodes**2 / 2
            return 1.0 + pairs + inner * folds * _SVM * graphs**2
        if not config.has_epochs:
            ridge = config.model == "ridge"
            return 1.0 + folds * (_RIDGE * graphs * inner if ridge else _FOREST)
        points = config.points if config.grid else [{}] * config.ensemble
        layers = sum(p.get("num_layers", config.num_layers) or 3 for p in points)
        wide = (config.hidden_channels or 40) / 40
        if config.model in ("ppgn", "sek-ppgn"):
            pairs = nodes * stats.nodes
            return folds * layers * config.epochs * _PAIR * pairs * wide
        epoch = _STEP * math.ceil(graphs / config.batch_size) + _NODE * nodes
        heavy = config.model in ("pna", "gin-ak+")
        epoch *= wide ** (1.5 if heavy else 0.5)
        epoch *= model_costs().get(config.model, {}).get("seconds", 2.0)
        epoch *= _LBFGS_FACTOR if config.optimizer == "lbfgs" else 1
        return folds * layers * config.epochs * epoch


def recipes(tables: tuple[str, ...] = tuple(TABLES)) -> list[Recipe]:
    """Return the runs of some tables, in order, of registered models."""
    makers = {
        "table1": _synthetic, "table2": _tu, "table3": _qm9,
        "table4": _steps_synthetic, "table5": _steps_tu,
    }  # fmt: skip
    return [
        recipe
        for table in TABLES
        if table in tables
        for recipe in makers[table]()
        if recipe.keys["model"] in MODEL_KINDS
    ]


def choose(candidates: list[Recipe], only: list[str]) -> list[Recipe]:
    """Return the runs that match models, datasets or targets, and patterns of names.

    Words of one kind are alternatives; a run must match every kind that is given.

    Raises:
        ConfigError: If a word matches no run.
    """
    kinds: tuple[dict[str, set[str]], ...] = ({}, {}, {})
    for recipe in candidates:
        kinds[0].setdefault(str(recipe.keys["model"]).casefold(), set()).add(
            recipe.name
        )
        for word in (*recipe.columns, _plain(str(recipe.keys["data"]))):
            kinds[1].setdefault(word.casefold(), set()).add(recipe.name)
    selected: list[set[str]] = [set(), set(), set()]
    asked = [False] * 3
    for word in only:
        kind = next((i for i in (0, 1) if word.casefold() in kinds[i]), 2)
        names = kinds[kind].get(word.casefold())
        if names is None:
            names = {r.name for r in candidates if fnmatchcase(r.name, word)}
        if not names:
            words = [*kinds[0], *kinds[1], *(r.name for r in candidates)]
            raise ConfigError(
                f"no run behind these tables is of {word!r}; --only takes models, "
                f"datasets, targets and names of runs such as 'MUTAG-*'."
                f"{nearest(word, words)}"
            )
        selected[kind] |= names
        asked[kind] = True
    return [
        recipe
        for recipe in candidates
        if all(
            recipe.name in names
            for names, ask in zip(selected, asked, strict=True)
            if ask
        )
    ]


def _network(model: str, keys: Keys) -> Keys:
    """Return the keys that the model accepts and has no default for."""
    kind = MODEL_KINDS.get(model)
    if kind is None:
        return {"model": model, **keys}
    shared = {"jump", "num_hops", "combine", "readout", "norm", "skip"}
    shared |= {"hidden_channels", "num_layers", "pooled", "activation", "head"}
    shared |= {"inner_layers", "shortest_paths", "standardize"}
    preset = {"hidden_channels", "num_layers", "readout"} & kind.defaults.keys()
    accepted = kind.options().keys() - preset
    return {
        "model": model,
        **{k: v for k, v in keys.items() if k not in shared or k in accepted},
    }


def _synthetic() -> Iterator[Recipe]:
    """Yield Table 1: properties and counts, by the authors' recipes and by ours."""
    for target in (*PROPERTIES, *PATTERNS):
        for row in ("sek-gin", "gin", "pna", "gin-ak+", "k-gin", "kp-gin+", "ppgn",
                    "sek-ppgn"):  # fmt: skip
            if target in PROPERTIES or row not in _TOGETHER:
                yield _synthetic_recipe(row, [target], _by_authors(row, target))
        yield from _synthetic_ours(target)
    for row in _TOGETHER:
        yield _synthetic_recipe(row, [*PATTERNS], _by_authors(row, PATTERNS[0]))


def _synthetic_recipe(
    row: str, targets: list[str], keys: Keys, end: str = ""
) -> Recipe:
    alone = len(targets) == 1
    data = "counting" if targets[0] in PATTERNS else "graph_property"
    name = f"{targets[0] if alone else 'counts'}-{row}{end}"
    config = {"data": data, "target": targets, **keys}
    return Recipe(name, "table1", row, targets[0] if alone else "", config)


def _by_authors(row: str, target: str) -> Keys:
    """Return the recipe of a system's authors, within half an hour.

    Where that means fewer epochs, the learning rate decays by a cosine.
    """
    count = target in PATTERNS
    walks: Keys = {**_WALKS, "standardize": "none"}
    if row in ("gin", "pna", "gin-ak+"):
        keys = {**_GNN_AK, "loss": "mae" if count else "mse"}
    elif row in ("k-gin", "kp-gin+"):
        keys = dict(_KP_GNN if count else _KP_GNN_PROPERTY)
    elif row == "ppgn":  # the rate, batch and epochs are GNN-AK's
        ours = ("batch_size", "plateau_patience", "plateau_factor", "epochs")
        keys = {**_PAIRS, **{key: _GNN_AK[key] for key in ours}}
        keys["loss"] = "mae" if count else "mse"
    elif row == "sek-ppgn":
        keys = {**_PAIRS, **walks, "loss": "mae" if count else "mse"}
    else:
        keys = {**(_COUNTING if count else _PROPERTY), **_SEK_GIN, **walks}
        keys["num_hops"] = 3 if count else 5
    fewer = _FEWER_EPOCHS.get((row, count))
    if fewer is not None:
        keys |= {"epochs": fewer, "schedule": "cosine"}
    return _network(row, keys)


def _synthetic_ours(target: str) -> Iterator[Recipe]:
    """Yield closed-form solutions, and networks trained by L-BFGS."""
    count = target in PATTERNS
    solved = {**_LBFGS_WALKS, "readout": "sum", "self_loops": [True, False],
              "loss": "mae"} if count else _CLOSED_FORM[target]  # fmt: skip
    yield _synthetic_recipe("closed-form", [target], {"model": "ridge", **solved})
    shared = {**_LBFGS, "num_hops": 2, "combine": "sum"}
    if not count:
        shared |= {"epochs": 40, "patience": 10, **_LBFGS_PROPERTY[target]}
    for model in ("gin", "k-gin"):
        keys = _network(model, shared)
        yield _synthetic_recipe(f"{model}-lbfgs", [target], keys)
    sek_gin = {**solved, **shared, "standardize": "scale", "model": "sek-gin"}
    if count:
        sek_gin |= {**_LBFGS_WALKS, "self_loops": True, "loss": "mse"}
    for seed in (0, 1, 2)[: 3 if count else 1]:
        end = f"-seed{seed}" if seed else ""
        keys = {**sek_gin, "seed": seed}
        yield _synthetic_recipe("sek-gin-lbfgs", [target], keys, end)
    if target in ("triangle", "cycle4", "is_connected", "spectral_radius"):
        bare = {**sek_gin, "skip": False}
        yield _synthetic_recipe("sek-gin-lbfgs-no-skip", [target], bare)
        if count:
            bare["standardize"] = "rotate"
            yield _synthetic_recipe("sek-gin-lbfgs-no-skip-rotate", [target], bare)


def _tu() -> Iterator[Recipe]:
    """Yield Table 2: ten folds, one seed, the protocol in the name."""

    def recipe(data: str, row: str, protocol: str, keys: Keys) -> Recipe:
        config = {"data": data, "protocol": protocol, **keys}
        return Recipe(f"{data}-{row}-{protocol}", "table2", row, data, config)

    def attributed(data: str, row: str, protocol: str, keys: Keys) -> Recipe:
        read = {**keys, "data": data + _ATTRIBUTES}
        return recipe(data, f"{row}-attributes", protocol, read)

    networks = ("gin", "sek-gin", "graphsage", "pna", "dgcnn", "capsgnn", "graphsnn",
                "gin-ak+", "kp-gin", "kp-gin+")  # fmt: skip
    for data in TU:
        for protocol in ("fixed", "nested"):
            for model in ("ridge", "forest"):
                yield recipe(data, model, protocol, {"model": model, **_WALKS})
        for protocol in ("xu2019", "nested"):
            for model in KERNELS:
                yield recipe(data, model, protocol, {"model": model})
        fixed = {**_TU_FIXED, **(_ENZYMES if data == "ENZYMES" else {})}
        for model in ("gin", "sek-gin"):
            walks = _WALKS if model == "sek-gin" else {}
            keys = {**_network(model, fixed), **walks}
            yield recipe(data, model, "fixed", keys)
            if data in _ATTRIBUTED:
                yield attributed(data, model, "fixed", keys)
        forest = {**_network("sek-gin", fixed), **_WALKS, "blend": ["forest"]}
        yield recipe(data, "sek-gin-forest", "fixed", forest)
        if data in _ATTRIBUTED:
            alone = {"model": "forest", **_WALKS}
            yield attributed(data, "forest", "fixed", alone)
            yield attributed(data, "sek-gin-forest", "fixed", forest)
        for model in networks:
            keys = _network(model, _TU_GIN if model == "gin" else _TU_OTHERS)
            if model == "sek-gin":
                keys |= {**_WALKS, "standardize": "none"}
            else:
                keys["edge_features"] = False
            if model == "dgcnn":
                keys["sort_nodes"] = _SORTED[data]
            if model not in ("gin", "sek-gin"):  # their runs report simple models
                keys["baseline"] = False
            chosen = {**keys, "monitor": "accuracy"}
            yield recipe(data, model, "xu2019", keys)
            yield recipe(data, model, "nested", chosen)
            if data == "ENZYMES" and model in ("gin", "sek-gin"):  # as GIN's authors do
                yield attributed(data, model, "xu2019", keys)
                yield attributed(data, model, "nested", chosen)
        for model in ("gin", "sek-gin"):
            options = MODEL_KINDS[model].options()
            keys = {
                **_network(model, _TU_GRID),
                "grid": {k: v for k, v in _GRID.items() if k in options},
            }
            if model == "sek-gin":
                keys |= {**_WALKS, "grid_points": _GRID_POINTS}
            yield recipe(data, f"{model}-grid", "nested", keys)


def _qm9() -> Iterator[Recipe]:
    """Yield Table 3: ridge, networks, and networks on the residual of the ridge.

    One model learns all twelve targets, or one where the name says so. GIN, MPNN and
    networks on residuals drop hydrogens, which halves an epoch.
    """

    def recipe(row: str, keys: Keys, target: str = "") -> Recipe:
        config = {"data": "QM9", "target": [target] if target else [*QM9], **keys}
        name = f"QM9-{target}-{row}" if target else f"QM9-{row}"
        return Recipe(name, "table3", row, target, config)

    ridge = {"model": "ridge", "readout": "sum", **_QM9_WALKS, "loss": "mae"}
    yield recipe("ridge", ridge)
    alone = {**_network("sek-gin", _QM9_NETWORK), **_QM9_WALKS}
    both = {
        "data": f"QM9{_HEAVY}",
        **_network("sek-gin", _QM9_REST),
        **_QM9_WALKS,
        "closed_form": "before",
    }
    yield recipe("sek-gin-ridge", both)
    yield recipe("sek-gin", alone)
    for model in ("gin", "mpnn"):
        fewer = {**_QM9_NETWORK, "epochs": 20}
        yield recipe(model, {"data": f"QM9{_HEAVY}", **_network(model, fewer)})
    single = {**both, "activation": "silu", "lr": 0.0005}
    for target in ("u0", "alpha", "gap"):
        yield recipe("sek-gin-ridge-one-target", single, target)
        yield recipe("sek-gin-one-target", alone, target)


def _steps_synthetic() -> Iterator[Recipe]:
    """Yield Table 4: walk lengths on the counts, learned together, and on properties.

    One count is also learned alone, with one walk length.
    """
    shape: Keys = {
        "model": "sek-gin", "hidden_channels": 64, "num_layers": 6, "num_hops": 5,
        "combine": "sum", "jump": "attention", "baseline": False,
    }  # fmt: skip
    counts = {"data": "counting", **shape, **_COUNTING, "epochs": 400}
    yield from _steps("table4", "", {**counts, "target": [*PATTERNS]})
    yield _step("table4", "cycle4", {**counts, "target": ["cycle4"]}, 16)
    for target in PROPERTIES:
        keys = {"data": "graph_property", "target": [target], **shape, **_PROPERTY}
        yield from _steps("table4", target, {**keys, "epochs": 120})


def _steps_tu() -> Iterator[Recipe]:
    """Yield Table 5: walk lengths on TU datasets."""
    for data in _ABLATED_TU:
        keys = {
            "data": data,
            "protocol": "wijesinghe2022",
            "model": "sek-gin",
            **_TU_AUTHORS,
            "num_layers": 2,
            "combine": "sum",
            "baseline": False,
        }
        yield from _steps("table5", data, keys)


def _steps(table: str, column: str, keys: Keys) -> Iterator[Recipe]:
    for steps in STEPS:
        yield _step(table, column, keys, steps)


def _step(table: str, column: str, keys: Keys, steps: int) -> Recipe:
    encoding: Keys = {**_STEPS, "walk_length": steps} if steps else {"encoding": "none"}
    row = f"steps{steps}"
    name = f"{column or 'counts'}-{row}"
    return Recipe(name, table, row, column, {**keys, **encoding})
