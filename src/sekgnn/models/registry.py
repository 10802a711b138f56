"""All models by name, to build them from a config or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError, ModelFileError
from sekgnn.models.gin import GIN
from sekgnn.models.graph_model import GraphModel
from sekgnn.models.model_file import read_config, read_model
from sekgnn.models.ppgn import PPGN
from sekgnn.models.sek_gin import SEKGIN
from sekgnn.models.sek_gnn import SEKGNN, KHopGNN
from sekgnn.models.sek_ppgn import SEKPPGN

MODELS: dict[str, type[GraphModel]] = {
    model.__name__: model for model in (SEKGNN, SEKGIN, SEKPPGN, KHopGNN, GIN, PPGN)
}
"""Every model by the name in its config."""


def build_model(config: Mapping[str, Any]) -> GraphModel:
    """Return a new model from ``model.to_config()`` or values like it.

    Raises:
        ConfigError: If the model or a key is unknown, or a value cannot work.

    Example:
        >>> build_model({"model": "GIN", "in_channels": 3, "out_channels": 2}).level
        'graph'
    """
    name = check_choice("model", config.get("model"), MODELS)
    return MODELS[name].from_config(config)


def load_model(path: str | os.PathLike[str]) -> GraphModel:
    """Return the model in a file, whichever it is, in evaluation mode.

    Raises:
        ModelFileError: If the file is missing, damaged, or of an unknown model.
    """
    name = read_config(path).get("model")
    try:
        kind = MODELS[check_choice("model", name, MODELS)]
    except ConfigError as error:
        raise ModelFileError(f"{path} holds an unknown model: {error}") from error
    return read_model(path, kind)
