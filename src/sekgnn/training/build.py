"""From a config and data to a model and its encoding."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from sekgnn.encoding.spec import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.models import MODELS, GraphModel, build_model
from sekgnn.training.config import MODEL_NAMES, RunConfig
from sekgnn.training.learning_data import LearningData

_OPTIONS = (
    "hidden_channels",
    "num_layers",
    "num_hops",
    "message",
    "update",
    "combine",
    "share_hops",
    "inject",
    "fusion",
    "jump",
    "readout",
    "norm",
    "dropout",
)


def encoding_spec(config: RunConfig) -> WalkEncoding:
    """Return the encoding that a config describes.

    Raises:
        ConfigError: If its keys cannot work together.
    """
    values: dict[str, Any] = {
        "num_shells": config.num_shells,
        "walk_length": config.walk_length,
        "scope": config.scope,
        "aggregate": config.aggregate,
        "merge": config.merge,
        "self_loops": config.self_loops,
    }
    if set(config.scope) != {"graph"}:
        values["radius"] = config.radius
    return WalkEncoding(**values)


def model_config(config: RunConfig, data: LearningData) -> dict[str, Any]:
    """Return the config of the model for ``data``: widths, kind of head, options.

    Raises:
        ConfigError: If an option is set that the model does not have.
    """
    name = MODEL_NAMES[config.model]
    known = inspect.signature(MODELS[name].__init__).parameters
    values: dict[str, Any] = {
        "model": name,
        "in_channels": data.task.num_features,
        "out_channels": data.task.num_outputs,
        "level": data.level,
    }
    if "encoding" in known:
        values["encoding"] = encoding_spec(config).to_dict()
    for option in _OPTIONS:
        value = getattr(config, option)
        if value is None:
            continue
        if option not in known:
            raise ConfigError(f"model {config.model!r} has no {option}; leave it out.")
        values[option] = value
    if config.edge_features or config.edge_features is None:
        values["edge_channels"] = data.edge_channels
        if config.edge_features and not data.edge_channels:
            raise ConfigError(f"{data.name} has no edge features; leave them out.")
        message = values.get("message", getattr(known.get("message"), "default", None))
        if config.edge_features is None and message in ("gin", "gcn"):
            values["edge_channels"] = 0  # these messages do not read them
    return values


def make_model(config: RunConfig, data: LearningData, seed: int) -> GraphModel:
    """Return a new model, its weights drawn from ``seed``.

    torch's own random state is left as it was.

    Raises:
        ConfigError: If a key of the model or the encoding cannot work.
    """
    values = model_config(config, data)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build_model(values)
