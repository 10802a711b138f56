"""Runs that differ in the seed alone, and what they have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from sekgnn.checks import check_positive
from sekgnn.errors import ConfigError
from sekgnn.training.config import RunConfig
from sekgnn.training.run import train
from sekgnn.training.run_folder import CONFIG_FILE
from sekgnn.training.run_record import RunRecord


class Repeated(NamedTuple):
    """A metric over several runs.

    Attributes:
        metric: Such as ``test_mae``.
        values: Of every run.
        mean: Of the values.
        error: Standard error of the mean: the standard deviation (ddof 1) over the
            square root of their number.
    """

    metric: str
    values: tuple[float, ...]
    mean: float
    error: float


def train_repeats(
    config: RunConfig, folder: Path, count: int, **options: Any
) -> dict[Path, RunRecord]:
    """Train ``count`` runs, from the config's seed upwards; the same call continues.

    The seed draws splits, unless they are given, and weights, so that all that chance
    decides differs.

    Args:
        config: Of the first run.
        folder: For the run folders ``seed-0``, ``seed-1``, ...
        count: Number of runs.
        **options: Of :func:`~sekgnn.training.train`.

    Raises:
        ConfigError: If the folder is a run itself, or as :func:`train`.
    """
    check_positive("repeats", count)
    if (folder / CONFIG_FILE).is_file():
        raise ConfigError(
            f"{folder} holds a single run; choose another output for repeats."
        )
    records = {}
    for seed in range(config.seed, config.seed + count):
        place = folder / f"seed-{seed}"
        train(output=place, config=replace(config, seed=seed), **options)
        records[place] = RunRecord.load(place)
    return records


def repeated_results(records: Sequence[RunRecord]) -> list[Repeated]:
    """Return every metric of the runs' own protocol, with its mean and error."""
    out = []
    for result in records[0].results:
        if result.protocol != records[0].protocol:
            continue
        values = tuple(one.result(result.metric).value for one in records)
        error = math.nan
        if len(values) > 1:
            error = stdev(values) / math.sqrt(len(values))
        out.append(Repeated(result.metric, values, fmean(values), error))
    return out
