"""A search: many configs, compared on validation graphs, the best one written down."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.checks import check_choice, check_positive
from sekgnn.errors import ConfigError
from sekgnn.parallel import Progress
from sekgnn.provenance import package_versions, source_commit
from sekgnn.search.pool import Job, work_in_processes
from sekgnn.search.record import (
    BEST_FILE,
    RECORD_FILE,
    TABLE_FILE,
    SearchRecord,
    best_of,
    locked_in_turn,
    rows_of,
)
from sekgnn.search.samplers import PRUNERS, check_sampler
from sekgnn.search.space import SearchSpace
from sekgnn.search.storage import (
    DATABASE_FILE,
    default_storage,
    open_study,
    quiet_optuna,
    shown,
    storage_errors,
)
from sekgnn.search.turns import Turns, is_counted
from sekgnn.search.validation import SELECTED_ON, Validation, check_base
from sekgnn.training.config import RunConfig
from sekgnn.training.learning_data import LearningData
from sekgnn.training.objective import is_better_high
from sekgnn.training.run import PACKAGES

STUDY_NAME = "search"
_PROBES = 64  # points of an endless space to try before it is called impossible
_OWN_FILES = (DATABASE_FILE, RECORD_FILE, TABLE_FILE, BEST_FILE, ".lock")


def search(
    base: RunConfig,
    space: SearchSpace,
    folder: str | os.PathLike[str],
    *,
    trials: int | None = None,
    storage: str | None = None,
    study_name: str = STUDY_NAME,
    sampler: str = "tpe",
    pruner: str = "median",
    jobs: int = 1,
    timeout: float | None = None,
    root: str | Path | None = None,
    data: LearningData | None = None,
    encoding_progress: Progress | None = None,
    progress: Progress | None = None,
) -> SearchRecord:
    """Search over ``space`` and write what was found to ``folder``.

    Trials are compared by the validation value of ``base.monitor``; test graphs are not
    looked at. The same call continues a search that was interrupted, and any number of
    processes may work on one study at a time: a call returns when the study has
    ``trials`` that are complete or pruned, whoever did them.

    Args:
        base: Config of the trials, without the keys that are searched over.
        space: What to search over.
        folder: For ``best.yaml``, ``trials.csv``, ``search.json`` and, unless
            ``storage`` is given, ``study.db``; made if it is missing.
        trials: How many there are to be in the end, earlier ones included; ``None`` for
            30, or for the whole space with sampler ``"grid"``.
        storage: URL of an Optuna storage, to spread a search over machines.
        study_name: Name of the study in it.
        sampler: ``"tpe"``, ``"random"`` or ``"grid"``; seeded by ``base.seed``.
        pruner: ``"median"``, ``"hyperband"`` or ``"none"``.
        jobs: Processes to start; 1 works in this one. A script that asks for more
            needs the usual ``if __name__ == "__main__":``.
        timeout: Begin no trial after so many seconds.
        root: The data folder of benchmarks; by default what ``SEKGNN_DATA`` names.
        data: Graphs and targets, if they are loaded already.
        encoding_progress: Called with (done, total) while encodings are computed.
        progress: Called with (done, total) trials.

    Returns:
        The record, which is also in ``folder``.

    Raises:
        ConfigError: If a key cannot work, the protocol selects on test graphs, or
            ``folder`` or the study hold something else.
        GraphInputError: If the data is wrong.
        MissingExtraError: If Optuna is not installed.
        OutputError: If study or files cannot be written.
    """
    place = Path(folder)
    check_base(base)
    space.check(base)
    check_sampler(sampler, space)
    check_choice("pruner", pruner, PRUNERS)
    check_positive("jobs", jobs)
    total = _total(trials, space, sampler)
    if timeout is not None and not timeout > 0:
        raise ConfigError(f"timeout must be above 0 seconds, got {timeout:g}.")
    ends = None if timeout is None else time.time() + timeout
    with quiet_optuna():
        _check_folder(place)
        validation = Validation(base, root, data=data, progress=encoding_progress)
        _check_possible(base, space, validation)
        place.mkdir(parents=True, exist_ok=True)
        job = Job(
            base=base,
            space=space,
            url=storage or default_storage(place),
            name=study_name,
            direction="maximize" if is_better_high(base.monitor) else "minimize",
            identity=_identity(base, space, validation, sampler, pruner),
            sampler=sampler,
            pruner=pruner,
            trials=total,
            ends=ends,
            root=root,
            data=data,
        )
        study = open_study(job.url, job.name, job.direction, job.identity)

        def tell(done: int) -> None:
            if progress is not None:
                progress(min(done, total), total)

        turns = Turns(study)

        def look() -> bool:
            with storage_errors(job.url):
                done = sum(map(is_counted, turns.trials()))
            tell(done)
            return done >= total

        try:
            if jobs == 1:
                job.work(study, validation, tell)
            elif not look():
                work_in_processes(job, jobs, look)
        finally:  # what there is, however it ended
            record = _write(job, turns, validation, place)
    return record


def _write(job: Job, turns: Turns, validation: Validation, place: Path) -> SearchRecord:
    """Write what the study holds now to its folder."""
    with locked_in_turn(place), storage_errors(job.url):
        found = turns.trials()
        rows = rows_of(found, job.space)
        counts = {name: sum(row.state == name for row in rows)
                  for name in ("complete", "pruned", "fail", "running")}  # fmt: skip
        base = job.base
        record = SearchRecord(
            study=job.name,
            storage=shown(job.url),
            base=base.to_dict(),
            space=job.space.to_dict(),
            sampler=job.sampler,
            pruner=job.pruner,
            monitor=f"val_{base.monitor}",
            direction=job.direction,
            selected_on=SELECTED_ON[base.protocol].format(
                monitor=base.monitor, folds=len(validation.splits)
            ),
            data={
                "name": validation.data.name,
                "graphs": len(validation.data.task),
                "fingerprint": job.identity["data"],
            },
            wished=job.trials,
            trials=counts,
            best=best_of(found, rows, job.direction),
            rows=rows,
            versions=package_versions((*PACKAGES, "optuna")),
            commit=source_commit(),
        )
        record.save(place)
    return record


def _total(trials: int | None, space: SearchSpace, sampler: str) -> int:
    """Return the number of trials; a grid has no more than its points."""
    if trials is not None:
        check_positive("trials", trials)
    if sampler == "grid" and space.size is not None:
        return space.size if trials is None else min(trials, space.size)
    return 30 if trials is None else trials


def _check_folder(place: Path) -> None:
    """Raise if a folder holds something else.

    Raises:
        ConfigError: If so.
    """
    if not place.exists():
        return
    if not place.is_dir():
        raise ConfigError(f"{place} is a file; choose another output.")
    found = sorted(p.name for p in place.iterdir())
    foreign = [n for n in found if n not in _OWN_FILES and not n.startswith(".")]
    if foreign and not set(found) & set(_OWN_FILES[:2]):
        raise ConfigError(
            f"{place} is no folder of a search and not empty (it holds {foreign[0]}); "
            "choose another output."
        )


def _check_possible(
    base: RunConfig, space: SearchSpace, validation: Validation
) -> None:
    """Raise if no point of the space can be trained; the first that can is enough.

    Raises:
        ConfigError: The error of the first point.
    """
    first: ConfigError | None = None
    for point in _probes(space):
        try:
            validation.check(space.config(base, point))
            return
        except ConfigError as error:
            first = first or error
    assert first is not None
    raise first


def _probes(space: SearchSpace) -> Any:
    """Return all points of a finite space, or some of an endless one."""
    if space.size is not None:
        return space.points()
    import optuna

    rng = np.random.default_rng(0)
    sampler = optuna.samplers.RandomSampler(seed=int(rng.integers(2**31)))
    draft = optuna.create_study(sampler=sampler)
    return (space.suggest(draft.ask()) for _ in itertools.repeat(None, _PROBES))


def _identity(
    base: RunConfig,
    space: SearchSpace,
    validation: Validation,
    sampler: str,
    pruner: str,
) -> dict[str, Any]:
    """Return what all trials of a study must have in common.

    Data counts by content, not by name, so that paths may differ between machines.
    """
    skipped = {item.name for item in fields(base) if item.metadata.get("free")}
    skipped |= {"data", "split", *space.keys}
    return {
        "base config": {k: v for k, v in base.to_dict().items() if k not in skipped},
        "space": space.to_dict(),
        "order of the space": list(space.keys),  # of the points of a grid, too
        "data": validation.fingerprint(),
        "sampler": sampler,
        "pruner": pruner,
    }
