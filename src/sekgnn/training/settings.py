"""The config of a run: presets, files and flags, and what is chosen beside them."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError
from sekgnn.training.config import RunConfig, config_fields
from sekgnn.training.run_folder import CONFIG_FILE, read_config

_OWN_KEYS = ("model", "message", "encoding")
_PRESETS = Path(__file__).with_name("presets")
PLAIN = "plain"
PRESET_NAMES = (*sorted(file.stem for file in _PRESETS.glob("*.yaml")), PLAIN)
"""Of the presets of training, which lie beside this file; plain is none of them."""

# What is chosen for a table of molecules where nothing is said, by the trials of
# ``python -m studies.peers`` and ``results/defaults``. A sum over atoms grows with the
# molecule and fails on larger ones than those of training; the mean does not. Trees on
# descriptors are the strongest simple models of small tables, and err otherwise than
# networks do.
NETWORK: dict[str, Any] = {
    "readout": "mean", "dropout": 0.1, "optimizer": "adamw", "lr": 0.002,
    "weight_decay": 0.01, "schedule": "cosine", "epochs": 60,
}  # fmt: skip
"""Of one network, for any number of molecules."""
BLEND: dict[str, Any] = {"ensemble": 3, "blend": ["forest", "boosting"]}
MOST_BLENDED = 10_000
"""Molecules up to which several networks and trees are affordable."""
# Chosen for nodes and links of one graph, by the trials of ``docs/huge_graph.md``.
# Three layers over hops of ten nodes reach the whole of a graph of 50,000 nodes, batch
# after batch, and exact encodings of as many nodes take minutes.
SEEDS: dict[str, Any] = {
    "num_layers": 2, "batch_size": 512, "lr": 0.005, "schedule": "cosine"
}  # fmt: skip
SEED_NEIGHBORS = {"nodes": 10, "pairs": 5}
"""Walks between the two nodes of a pair, which all models read, say most of links."""
SEED_MODEL = "gin"
"""Where neither model nor encoding is given."""
_SEED_STEPS = 1000  # at least, where 100 epochs have as many
_INSTEAD = {
    "model", "optimizer", "grid", "encoding", "refit", "keep", "start_from", "devices",
    "num_machines", "closed_form", "protocol",
}  # fmt: skip
"""Keys of a user who knows what to train: nothing is chosen beside them."""
_SHARED = {"add_hydrogens", "stereo", "features", "descriptors", "ensemble", "blend"}
"""Keys that a run shares with the one it starts from, beside those of the model."""


def load_preset(name: str) -> dict[str, Any]:
    """Return the config keys of a preset.

    Raises:
        ConfigError: If there is none of this name; lists those there are.

    Example:
        >>> load_preset("small")["schedule"]
        'cosine'
    """
    check_choice("preset", name, PRESET_NAMES)
    return {} if name == PLAIN else read_config(_PRESETS / f"{name}.yaml")


def load_config(
    base: str | os.PathLike[str] | RunConfig | None,
    changes: Mapping[str, Any],
    preset: str | Mapping[str, Any] | None = None,
) -> RunConfig:
    """Return a config, or that of a YAML file or the default one, with other keys.

    A file imports nothing; of ``changes``, which a user typed, ``package.module:Class``
    is imported (:func:`import_typed`). Both change the keys of ``preset``, whose
    ``refit`` is left out where nothing can be refitted: with another protocol, or if
    the best epoch is kept.

    Raises:
        ConfigError: If the file, a key or the preset is wrong.
    """
    if isinstance(base, RunConfig):
        if preset is not None:
            raise ConfigError(
                "a RunConfig has a value for every key, so a preset would change "
                "nothing; give preset with a YAML file, or with keys alone."
            )
        values: Mapping[str, Any] = base.to_dict()
    else:
        values = {} if base is None else read_config(base)
    own = {**_underscored(values), **_underscored(import_typed(changes))}
    if preset is None:
        return RunConfig.from_dict(own)
    begun = load_preset(preset) if isinstance(preset, str) else preset
    keys = {**begun, **own}
    validates = keys.get("protocol", "holdout") in ("holdout", "nested")
    if "refit" not in own and not (validates and keys.get("keep") == "last"):
        keys.pop("refit", None)
    return RunConfig.from_dict(keys)


def _underscored(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys as they are spelled in Python; files and flags may have hyphens."""
    return {str(name).replace("-", "_"): value for name, value in keys.items()}


def molecule_defaults(
    config: RunConfig, given: Collection[str]
) -> tuple[dict[str, Any], str]:
    """Return keys for the molecules that a config names, and what they make, in words.

    Nothing for other data, and where the given keys say how to train.
    """
    from sekgnn.graphs.records import graph_format
    from sekgnn.graphs.table import columns_of, data_rows

    path = Path(config.data)
    if not _INSTEAD.isdisjoint(given) or not path.is_file():
        return {}, ""
    if path.suffix == ".smi" or graph_format(path) != "smiles":
        return {}, ""
    hint = "Name the one with the SMILES with smiles (--smiles)."
    count = sum(1 for _ in data_rows(path, columns_of(config.smiles), hint))
    if count > MOST_BLENDED:
        return dict(NETWORK), f"{count:,} molecules: one network"
    trees = " and ".join(BLEND["blend"])
    return {**NETWORK, **BLEND}, (
        f"{count:,} molecules: {BLEND['ensemble']} networks blended with {trees}; "
        f"--preset {PLAIN} for one network"
    )


def packed_defaults(
    config: RunConfig, given: Collection[str]
) -> tuple[dict[str, Any], str]:
    """Return keys for nodes or links of one packed graph, and what they make, in words.

    Nothing for other data, and where the given keys say how to train.
    """
    from sekgnn.datasets.node_task import HELD_OUT
    from sekgnn.graphs.graph_file import read_graph_file

    named = _INSTEAD - {"model", "encoding"}
    stays = not config.has_epochs or not named.isdisjoint(given)
    if stays or config.things == "graphs" or not Path(config.data).is_file():
        return {}, ""
    graph = read_graph_file(config.data, check=False).graph
    seeds, about = graph.num_nodes, f"{graph.num_nodes:,} nodes"
    if config.things == "pairs":
        seeds = int(2 * HELD_OUT * graph.num_edges)
        about = f"links among {graph.num_edges:,} edges"
    chosen = {**SEEDS, "max_neighbors": SEED_NEIGHBORS[config.things]}
    sections = {item.name: item.metadata["section"] for item in config_fields()}
    if not any(sections.get(name, "model") in ("model", "encoding") for name in given):
        chosen["model"] = SEED_MODEL
    batches = max(seeds // SEEDS["batch_size"], 1)
    chosen["epochs"] = min(max(_SEED_STEPS // batches, 5), 100)
    chosen = {name: value for name, value in chosen.items() if name not in given}
    words = ", ".join(f"{name} {value}" for name, value in chosen.items())
    return chosen, f"{about}: {words}; --preset {PLAIN} for other data's"


def chosen_config(
    base: str | os.PathLike[str] | RunConfig | None,
    keys: Mapping[str, Any],
    preset: str | None = None,
) -> tuple[RunConfig, str]:
    """Return the config of a run, and a sentence about what was chosen for it, if any.

    A run that starts from another (``start_from``) has its architecture, where nothing
    else is given.

    Takes and raises what :func:`load_config` does.
    """
    if isinstance(base, RunConfig):
        return load_config(base, keys, preset), ""
    given = _underscored({**({} if base is None else read_config(base)), **keys})
    start = given.get("start_from")
    if start is not None:
        begun = {**_architecture(start), **load_preset(preset or PLAIN)}
        return load_config(base, keys, begun), ""
    config = load_config(base, keys, preset)
    if preset is not None:
        return config, ""
    chosen, words = molecule_defaults(config, given)
    if not chosen:
        chosen, words = packed_defaults(config, given)
    return (load_config(base, keys, chosen), words) if chosen else (config, "")


def _architecture(run: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what the networks of a run are and read; nothing of a model file alone."""
    file = Path(run) / CONFIG_FILE
    if not file.is_file():
        return {}
    sections = {item.name: item.metadata["section"] for item in config_fields()}
    return {
        name: value
        for name, value in RunConfig.from_dict(read_config(file)).to_dict().items()
        if sections.get(name) in ("model", "encoding") or name in _SHARED
    }


def import_typed(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys that a user typed, with what they import by its registered name.

    Raises:
        ConfigError: If it cannot be imported, or is something else.
    """
    return {
        key: own_names()[key].find(value).name if _is_path(key, value) else value
        for key, value in keys.items()
    }


def check_imported(keys: Mapping[str, Any]) -> None:
    """Raise ConfigError if keys of a file name what would have to be imported."""
    for key, value in keys.items():
        if _is_path(key, value):
            own_names()[key].known(value)


def own_names() -> dict[str, Any]:
    """Return what is known by name, for every key that a user's own may be named in."""
    from sekgnn.encoding.substructure import ENCODINGS
    from sekgnn.models.graph_model import MODELS
    from sekgnn.nn.messages import MESSAGES

    return {"model": MODELS, "message": MESSAGES, "encoding": ENCODINGS}


def _is_path(key: str, value: object) -> bool:
    """Return whether a key's value is an import path; quick, it loads no torch."""
    return key in _OWN_KEYS and isinstance(value, str) and ":" in value
