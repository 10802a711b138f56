"""The models of one training whose predictions are averaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sekgnn.files import make_folder
from sekgnn.parallel import Progress
from sekgnn.training.callbacks import EpochReport
from sekgnn.training.run_folder import FOREST_FOLDER, member_folders
from sekgnn.training.training import Trained, Training


class Member(NamedTuple):
    """A fitted model of several.

    Attributes:
        name: Such as ``"network 2"`` or ``"forest"``.
        training: That fitted it, and can evaluate it.
        trained: The model.
    """

    name: str
    training: Training
    trained: Trained


def fit_members(
    training: Training,
    number: int = 0,
    output: Path | None = None,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
) -> list[Member]:
    """Fit the networks of one split and, if the config asks for it, a forest.

    Takes and raises what :meth:`Training.fit` does. The forest reads what the networks
    read.
    """
    config = training.config
    places: list[Path | None] = [None] * config.ensemble
    if output is not None:
        places = [*member_folders(output, config.ensemble)]
    members = []
    for member, place in enumerate(places):
        if place is not None:
            make_folder(place)
        tell = _part(progress, member, len(places))
        found = training.fit(number, member, output=place, progress=tell, report=report)
        members.append(Member(f"network {member + 1}", training, found))
    if config.with_forest:
        edges = bool(training.model_config.get("edge_channels"))
        other = replace(config.without_network("forest"), edge_features=edges)
        place = None if output is None else output / FOREST_FOLDER
        if place is not None:
            make_folder(place)
        forest = training.change(other)
        members.append(Member("forest", forest, forest.fit(number, output=place)))
    return members


def _part(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return what to tell about part ``number``, from 0, of equal parts of a whole."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, count * total)
