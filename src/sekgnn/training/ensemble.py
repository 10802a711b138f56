"""The models of one training: some to average, or the best of a grid."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from sekgnn.files import make_folder, write_files
from sekgnn.parallel import Progress
from sekgnn.training.loop import EpochReport, NotFiniteError
from sekgnn.training.run_folder import (
    CURVES_FILE,
    FOREST_FOLDER,
    MODEL_FILE,
    member_folders,
    point_folders,
)
from sekgnn.training.run_record import is_better_high
from sekgnn.training.training import Trained, Training


def fit_members(
    training: Training,
    number: int = 0,
    output: Path | None = None,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
) -> list[Trained]:
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
        members.append(
            training.fit(number, member, output=place, progress=tell, report=report)
        )
    if config.with_forest:
        edges = bool(training.model_config.get("edge_channels"))
        other = replace(config.without_network("forest"), edge_features=edges)
        place = None if output is None else output / FOREST_FOLDER
        if place is not None:
            make_folder(place)
        members.append(training.change(other).fit(number, output=place))
    return members


def fit_points(
    training: Training,
    number: int,
    output: Path,
    *,
    progress: Progress | None = None,
    report: EpochReport | None = None,
) -> tuple[Trained, list[dict[str, Any]]]:
    """Fit every point of the config's grid to one split and take the best.

    That is the one whose kept epoch has the best monitor on the validation graphs of
    this split, of equal ones the first. Test graphs are not looked at. Every point has
    the seeds of a network without a grid; one whose loss is not finite drops out. Takes
    and raises what :meth:`Training.fit` does.

    Returns:
        The model that was chosen, whose files are in ``output``, and what was
        tried: see :class:`~sekgnn.training.FoldRecord`.
    """
    config, monitor = training.config, f"val_{training.config.monitor}"
    sign = 1 if is_better_high(monitor) else -1
    places = point_folders(output, len(config.points))
    tried: list[dict[str, Any]] = []
    best: Trained | None = None
    chosen, top = 0, -math.inf
    for i, (point, place) in enumerate(zip(config.points, places, strict=True)):
        own = training.change(config.at(point))
        make_folder(place)
        tell = _part(progress, i, len(places))
        try:
            found = own.fit(number, output=place, progress=tell, report=report)
        except NotFiniteError as error:
            why = {"failed": str(error), "seconds": 0.0}
            tried.append({"point": point, "chosen": False, **why})
            if best is None and i == len(places) - 1:
                raise
            continue
        value = found.curves[monitor][found.kept_epoch - 1]
        tried.append({
            "point": point, "chosen": False, "kept_epoch": found.kept_epoch,
            monitor: value, "seconds": found.seconds,
        })  # fmt: skip
        rank = -math.inf if math.isnan(value) else sign * value
        if best is None or rank > top:
            best, chosen, top = found, i, rank
    assert best is not None  # as the last point would have raised
    tried[chosen]["chosen"] = True
    files = (MODEL_FILE, CURVES_FILE)
    write_files(output, {name: (places[chosen] / name).read_bytes() for name in files})
    return best, tried


def _part(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return what to tell about part ``number``, from 0, of equal parts of a whole."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, count * total)
