"""Weights of another run to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from sekgnn.errors import ConfigError
from sekgnn.models import GraphModel, load_models
from sekgnn.models.model_file import read_about
from sekgnn.training.run_folder import model_files
from sekgnn.training.task_note import TaskNote

_OUTPUT = ("head.", "skip.weight")
"""Weights that belong to the targets, not to the graphs."""


def start_from(
    model: GraphModel, note: TaskNote, path: str | Path, member: int = 0
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
    networks = _networks(Path(path))
    other, before = networks[member % len(networks)]
    _check_same(model.to_config(), other.to_config(), path)
    for name in ("feature_names", "edge_feature_names", "graph_feature_names"):
        if getattr(before, name) != getattr(note, name):
            raise ConfigError(
                f"start_from {path} was trained on other features ({name} differ)."
            )
    same = (before.kind, before.targets, before.classes, before.loss) == (
        note.kind,
        note.targets,
        note.classes,
        note.loss,
    )
    weights = {
        name: value
        for name, value in other.state_dict().items()
        if same or not name.startswith(_OUTPUT)
    }
    model.load_state_dict(weights, strict=False)
    if same and note.mean:
        _rescale(model, before, note)


def _networks(place: Path) -> list[tuple[GraphModel, TaskNote]]:
    """Return the networks of a run, of all its folds, or of a model file."""
    files = [place]
    if place.is_dir():
        folders = [place, *sorted(place.glob("fold-*"))]
        files = [file for folder in folders for file in model_files(folder)]
    found = []
    for file in files:
        note = TaskNote.from_dict(read_about(file).get("task", {}))
        found += [(model, note) for model in load_models(file) if model.learns]
    if not found:
        raise ConfigError(f"start_from {place} holds no network to start from.")
    return found


def freeze(model: GraphModel) -> None:
    """Let a network keep all weights but those of its head and skip."""
    for part in (model.branches, model.readouts):
        part.requires_grad_(False)


def _check_same(wanted: dict[str, Any], found: dict[str, Any], path: Any) -> None:
    names = [
        name
        for name in dict.fromkeys([*wanted, *found])
        if name != "out_channels" and wanted.get(name) != found.get(name)
    ]
    if names:
        shown = ", ".join(
            f"{name} ({found.get(name)!r} there, {wanted.get(name)!r} here)"
            for name in names[:3]
        )
        raise ConfigError(
            f"start_from {path} is another network: {shown}. Use its keys, which stand "
            "in its config.yaml."
        )


@torch.no_grad()
def _rescale(model: GraphModel, before: TaskNote, note: TaskNote) -> None:
    """Let outputs mean the same in the scale of other training targets."""
    kind: dict[str, Any] = {"dtype": model.head.weight.dtype}
    old_mean, old_scale = (torch.tensor(v, **kind) for v in (before.mean, before.scale))
    mean, scale = (torch.tensor(v, **kind) for v in (note.mean, note.scale))
    ratio = (old_scale / scale).unsqueeze(1)
    model.head.weight.mul_(ratio)
    model.head.bias.copy_((model.head.bias * old_scale + old_mean - mean) / scale)
    if model.skip is not None:
        model.skip.weight.mul_(ratio)
