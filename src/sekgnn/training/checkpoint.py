"""What a training continues from: written whole, and read without running code."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from sekgnn.errors import ModelFileError
from sekgnn.files import write_atomically
from sekgnn.kernel import clock
from sekgnn.models import GraphModel
from sekgnn.training.objective import Goal

_KEYS = {"model", "optimizer", "best", "curves", "seconds", "scale"}


class Pace:
    """Says when to write again, so that writing takes at most a share of the time.

    Args:
        share: Of the time; 1 writes always.
    """

    def __init__(self, share: float = 0.05) -> None:
        """Let the first be written."""
        self.share, self._due = share, 0.0

    @property
    def due(self) -> bool:
        """Whether it is time."""
        return clock() >= self._due

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Measure how long writing takes, which says when it is due again."""
        began = clock()
        yield
        now = clock()
        self._due = now + (now - began) * (1 / self.share - 1)


def write_checkpoint(content: dict[str, Any], path: Path) -> None:
    """Write a checkpoint; if that fails, an older file is unchanged.

    Args:
        content: ``model``, the weights; ``optimizer``, its state; ``best``, the weights
            to keep; ``curves`` and ``seconds`` so far; ``scale`` of the objective.
        path: Where to.

    Raises:
        OutputError: If it cannot be written.
    """
    draft = io.BytesIO()  # torch hides why a disk refuses what it writes
    torch.save(content, draft)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(draft.getbuffer()))


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a checkpoint without running code from it.

    Python's pickle, in which such files are written, can run any code when it is read;
    torch's restricted reader refuses everything but tensors and plain values.

    Raises:
        ModelFileError: If it is missing, cut short, of another version, or holds
            anything but tensors and plain values.
    """
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise ModelFileError(f"there is no checkpoint {path}.") from error
    except Exception as error:  # whatever torch makes of foreign bytes
        # torch's own words advise to load it unsafely
        raise ModelFileError(
            f"the checkpoint {path} is damaged, or holds more than tensors and plain "
            "values and was not written by sekgnn; remove it to start the run again."
        ) from error
    if not isinstance(saved, dict) or saved.keys() != _KEYS:
        raise ModelFileError(
            f"{path} is not a checkpoint of a run, or one of an earlier version; "
            "remove it to start the run again."
        )
    return saved


def check_checkpoint(
    saved: dict[str, Any],
    model: GraphModel,
    objective: Goal,
    path: str | os.PathLike[str],
) -> Goal:
    """Return the objective that a checkpoint goes on with, if it is of this model.

    Torch lets some pass that are not: curves must be of one length, and the weights to
    keep and the means of gradients (which fused optimisers read unchecked) of the
    weights' shapes.

    Raises:
        ModelFileError: If it is of another.
    """
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    learned = [value.shape for value in model.parameters() if value.requires_grad]
    try:
        lengths = {len(curve) for curve in saved["curves"].values()}
        fits = len(lengths) == 1 and {"lr", "train_loss"} <= saved["curves"].keys()
        for weights in (saved["model"], saved["best"]):
            fits &= {name: v.shape for name, v in weights.items()} == shapes
        for number, values in saved["optimizer"]["state"].items():
            means = [values[k] for k in ("exp_avg", "exp_avg_sq") if k in values]
            fits &= all(mean.shape == learned[number] for mean in means)
        scale = tuple(saved["scale"])
        fits &= len(scale) == len(objective.scale)
        fits &= all(isinstance(s, float) and 0 < s < math.inf for s in scale)
    except (KeyError, TypeError, AttributeError, IndexError):
        fits = False
    if not fits:
        raise ModelFileError(
            f"the checkpoint {path} is not of this run; remove it to start the run "
            "again."
        )
    return replace(objective, scale=scale)
