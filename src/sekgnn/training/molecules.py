"""What ``sekgnn train`` chooses for a table of molecules if it is told nothing else.

The choice was made by ``python -m studies.peers`` and the trials in
``results/defaults``. A sum over atoms grows with the molecule and fails on larger ones
than those of training; the mean does not. Trees on descriptors are the strongest simple
models of small tables, and err otherwise than networks do.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sekgnn.datasets.read_task import task_format
from sekgnn.graphs.table import data_rows
from sekgnn.training.config import RunConfig, config_fields
from sekgnn.training.run_folder import (
    CONFIG_FILE,
    PLAIN,
    load_config,
    load_preset,
    read_config,
)

NETWORK: dict[str, Any] = {
    "readout": "mean", "dropout": 0.1, "optimizer": "adamw", "lr": 0.002,
    "weight_decay": 0.01, "schedule": "cosine", "epochs": 60,
}  # fmt: skip
"""Of one network, for any number of molecules."""
BLEND: dict[str, Any] = {"ensemble": 3, "blend": ["forest", "boosting"]}
MOST_BLENDED = 10_000
"""Molecules up to which several networks and trees are affordable."""
_INSTEAD = {
    "model", "optimizer", "grid", "encoding", "refit", "keep", "start_from", "devices",
    "num_machines", "closed_form", "protocol",
}  # fmt: skip
"""Keys of a user who knows what to train: nothing is chosen beside them."""
_SHARED = {"add_hydrogens", "features", "descriptors", "ensemble", "blend"}
"""Keys that a run shares with the one it starts from, beside those of the model."""


def molecule_defaults(
    config: RunConfig, given: Collection[str]
) -> tuple[dict[str, Any], str]:
    """Return keys for the molecules that a config names, and what they make, in words.

    Nothing for other data, and where the given keys say how to train.
    """
    given = {name.replace("-", "_") for name in given}
    path = Path(config.data)
    if given & _INSTEAD or not path.is_file():
        return {}, ""
    if path.suffix == ".smi" or task_format(path) != "smiles":
        return {}, ""
    hint = "Name the one with the SMILES with smiles (--smiles)."
    count = sum(1 for _ in data_rows(path, [config.smiles], hint))
    if count > MOST_BLENDED:
        return dict(NETWORK), f"{count:,} molecules: one network"
    trees = " and ".join(BLEND["blend"])
    return {**NETWORK, **BLEND}, (
        f"{count:,} molecules: {BLEND['ensemble']} networks blended with {trees}; "
        f"--preset {PLAIN} for one network"
    )


def chosen_config(
    base: str | os.PathLike[str] | RunConfig | None,
    keys: Mapping[str, Any],
    preset: str | None = None,
) -> tuple[RunConfig, str]:
    """Return the config of a run, and a sentence about what was chosen for it, if any.

    A run that starts from another (``start_from``) has its architecture, where nothing
    else is given.

    Takes and raises what :func:`~sekgnn.training.run_folder.load_config` does.
    """
    if isinstance(base, RunConfig):
        return load_config(base, keys, preset), ""
    given = {**({} if base is None else read_config(base)), **keys}
    start = given.get("start_from", given.get("start-from"))
    if start is not None:
        begun = {**_architecture(start), **load_preset(preset or PLAIN)}
        return load_config(base, keys, begun), ""
    config = load_config(base, keys, preset)
    if preset is not None:
        return config, ""
    chosen, words = molecule_defaults(config, given)
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
