"""The models of one training: some to average, or the best of a grid."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from sekgnn.files import write_files
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
    count = config.ensemble
    folders: list[Any] = [None] * count
    if output is not None:
        folders = member_folders(output, count)
    members = [
        training.fit(
            number,
            member,
            output=folder,
            progress=_share(progress, member, count),
            report=report,
        )
        for member, folder in enumerate(folders)
    ]
    if config.with_forest:
        edges = bool(training.model_config.get("edge_channels"))
        other = replace(config.without_network("forest"), edge_features=edges)
        folder = None if output is None else output / FOREST_FOLDER
        members.append(training.change(other).fit(number, output=folder))
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
    folders = point_folders(output, len(config.points))
    tried: list[dict[str, Any]] = []
    best: Trained | None = None
    chosen, top = 0, -math.inf
    for i, (point, folder) in enumerate(zip(config.points, folders, strict=True)):
        candidate = training.change(config.at(point))
        tell = _share(progress, i, len(folders))
        try:
            trained = candidate.fit(number, output=folder, progress=tell, report=report)
        except NotFiniteError as error:
            why = {"failed": str(error), "seconds": 0.0}
            tried.append({"point": point, "chosen": False, **why})
            if best is None and i == len(folders) - 1:
                raise
            continue
        value = trained.curves[monitor][trained.kept_epoch - 1]
        tried.append({
            "point": point, "chosen": False, "kept_epoch": trained.kept_epoch,
            monitor: value, "seconds": trained.seconds,
        })  # fmt: skip
        rank = -math.inf if math.isnan(value) else sign * value
        if best is None or rank > top:
            best, chosen, top = trained, i, rank
    assert best is not None  # as the last point would have raised
    tried[chosen]["chosen"] = True
    files = (MODEL_FILE, CURVES_FILE)
    write_files(output, {name: (folders[chosen] / name).read_bytes() for name in files})
    return best, tried


def _share(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Return the progress of one of several equal fits, from 0, as that of all."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, count * total)
