"""From a config and data to a model: encoding, options, first weights."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from sekgnn.checks import nearest, require
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.encoding.substructure import SubstructureEncoding, encoding_from_dict
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs.molecules import molecule_numbers
from sekgnn.models import MODELS, GraphModel, build_model
from sekgnn.models.hop_encoder import GINE_PLUS
from sekgnn.models.model_file import ModuleModel
from sekgnn.models.options import ModelOptions
from sekgnn.nn.messages import reads_edges
from sekgnn.training.config import NO_ENCODING, RunConfig
from sekgnn.training.objective import Objective, read_models

_OUTPUT = ("head.", "skip.weight")
"""Weights that belong to the targets, not to the graphs."""


def make_encoding_of(config: RunConfig) -> SubstructureEncoding | None:
    """Return the encoding that a config describes; ``None`` for ``"none"``.

    Raises:
        ConfigError: If its keys cannot work together.
    """
    options = dict(config.encoding_options)
    walks = {f.name: getattr(config, f.name) for f in fields(WalkEncoding)}
    if config.encoding != WalkEncoding.name:
        default = RunConfig()
        for name, value in walks.items():
            if value != getattr(default, name):
                raise ConfigError(
                    f"{name} is a key of walks; give {config.encoding!r} its "
                    f"parameters in encoding_options, as in {name}={value}."
                )
        if config.encoding == NO_ENCODING:
            return None
        return encoding_from_dict({**options, "encoding": config.encoding})
    if options:
        raise ConfigError(
            f"the parameters of walks are keys of their own: {', '.join(options)} does "
            "not belong in encoding_options."
        )
    if set(config.scope) == {"graph"}:
        del walks["radius"]
    return WalkEncoding(**walks)


def model_config(config: RunConfig, data: GraphTask) -> dict[str, Any]:
    """Return the config of the model for ``data``: widths, kind of head, options.

    Raises:
        ConfigError: If an option is set that the model does not have.
    """
    cls: Any = MODELS.known(config.model)
    known = inspect.signature(cls).parameters
    given = {
        "in_channels": data.num_features,
        "out_channels": data.num_outputs,
        "level": data.level,
    }
    width = len(data.graph_feature_names)
    if data.texts is not None and width:  # those that only trees read come last
        read = config.descriptors.split("+")
        for name in set(config.carried.split("+")) - {*read, "none"}:
            width -= len(molecule_numbers(name)[0])
    if width:
        given["graph_channels"] = width
        if "graph_channels" not in known:
            raise ConfigError(
                f"model {cls.name!r} has no argument graph_channels; leave features "
                "and descriptors out, or choose another model."
            )
    values = {"model": cls.name, **{k: v for k, v in given.items() if k in known}}
    if data.level != "graph" and "level" not in known:
        raise ConfigError(
            f"model {cls.name!r} has no argument level, and {data.name} has targets of "
            "nodes; give it one, or choose another model."
        )
    if "encoding" in known:
        encoding = make_encoding_of(config)
        if data.encoding is not None and encoding == make_encoding_of(RunConfig()):
            encoding = data.encoding
        values["encoding"] = None if encoding is None else encoding.to_dict()
    options = {item.name: getattr(config, item.name) for item in fields(ModelOptions)}
    options = {name: value for name, value in options.items() if value is not None}
    options |= dict(config.model_options)
    for option in options:
        if option not in known or option in values:
            near = nearest(option, [name for name in known if name not in values])
            raise ConfigError(
                f"model {config.model!r} has no {option}; leave it out.{near}"
            )
    values |= options
    if "edge_channels" not in known:
        if config.edge_features:
            raise ConfigError(f"model {config.model!r} reads no edge features.")
    elif config.edge_features or config.edge_features is None:
        values["edge_channels"] = data.edge_channels
        if config.edge_features and not data.edge_channels:
            raise ConfigError(f"{data.name} has no edge features; leave them out.")
        message = values.get("message", getattr(known.get("message"), "default", None))
        if config.edge_features is None and message not in (None, GINE_PLUS):
            values["edge_channels"] *= reads_edges(message)
    return values


def make_model(config: RunConfig, data: GraphTask, seed: int) -> GraphModel:
    """Return a new model, its weights drawn from ``seed``.

    torch's own random state is left as it was.

    Raises:
        ConfigError: If a key of the model or the encoding cannot work.
        MissingExtraError: If a package is needed and not installed.
    """
    values = model_config(config, data)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build_model(values)
    for module, extra in model.packages:
        require(module, extra)  # now, before anything is written
    dtype = config.dtype or ("float32" if model.learns else "float64")
    if config.closed_form in ("before", "both") and model.skip is None:
        raise ConfigError(
            f"closed_form={config.closed_form!r} solves the skip before training, and "
            f"model {config.model!r} has none; set skip, or use 'after'."
        )
    foreign = isinstance(model, ModuleModel) or not isinstance(
        model.head, torch.nn.Linear
    )
    if config.closed_form != "none" and foreign:
        raise ConfigError(
            "closed_form solves the last linear layer of the models of this library; "
            f"leave it out for {config.model!r}."
        )
    return model.to(getattr(torch, dtype))


def start_from(
    model: GraphModel, note: Objective, path: str | Path, member: int = 0
) -> None:
    r"""Give a model the weights of another run.

    What was fitted to the inputs there, such as the scale of encodings, is taken with
    them. The last layer is taken only if the targets are the same; with :math:`\mu` and
    :math:`\sigma` of the targets there and here it becomes :math:`(o \sigma_0 + \mu_0 -
    \mu) / \sigma`, so that predictions are those of the other run before anything is
    learned. Of several networks, number ``member`` is taken, and the first again after
    the last.

    Raises:
        ModelFileError: If there is no model.
        ConfigError: If it is a different network, or reads different features.
    """
    networks = [pair for pair in read_models(Path(path)) if pair[0].learns]
    if not networks:
        raise ConfigError(f"start_from {path} holds no network to start from.")
    other, before = networks[member % len(networks)]
    _check_same(model.to_config(), other.to_config(), path)
    for name in ("feature_names", "edge_feature_names", "graph_feature_names"):
        if getattr(before, name) != getattr(note, name):
            raise ConfigError(
                f"start_from {path} was trained on other features ({name} differ)."
            )
    keys = ("kind", "targets", "classes", "loss")
    same = all(getattr(before, key) == getattr(note, key) for key in keys)
    weights = {
        name: value
        for name, value in other.state_dict().items()
        if same or not name.startswith(_OUTPUT)
    }
    model.load_state_dict(weights, strict=False)
    if same and note.mean:
        _rescale(model, before, note)


def freeze(model: GraphModel) -> None:
    """Let a network keep all weights but those of its head and skip."""
    for module in (model.branches, model.readouts):
        module.requires_grad_(False)


def _check_same(wanted: dict[str, Any], given: dict[str, Any], path: Any) -> None:
    names = [
        name
        for name in dict.fromkeys([*wanted, *given])
        if name != "out_channels" and wanted.get(name) != given.get(name)
    ]
    if names:
        shown = ", ".join(
            f"{name} ({given.get(name)!r} there, {wanted.get(name)!r} here)"
            for name in names[:3]
        )
        raise ConfigError(
            f"start_from {path} is another network: {shown}. Use its keys, which stand "
            "in its config.yaml."
        )


@torch.no_grad()
def _rescale(model: GraphModel, before: Objective, note: Objective) -> None:
    """Let outputs mean the same in the scale of other training targets."""
    old_mean, old_scale, mean, scale = (
        torch.tensor(values, dtype=torch.float64)
        for values in (before.mean, before.scale, note.mean, note.scale)
    )
    ratio = (old_scale / scale).unsqueeze(1)
    model.head.weight.mul_(ratio)
    model.head.bias.copy_((model.head.bias * old_scale + old_mean - mean) / scale)
    if model.skip is not None:
        model.skip.weight.mul_(ratio)
