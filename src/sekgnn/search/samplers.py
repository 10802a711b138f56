"""How points are proposed, and when a hopeless training is stopped."""

from __future__ import annotations

from typing import Any

import numpy as np

from sekgnn.checks import check_choice
from sekgnn.errors import ConfigError
from sekgnn.search.space import SearchSpace

SAMPLERS = ("tpe", "random", "grid")
PRUNERS = ("median", "hyperband", "none")


def check_sampler(name: str, space: SearchSpace) -> None:
    """Raise if there is no such sampler, or the space is not for it.

    Raises:
        ConfigError: If so.
    """
    check_choice("sampler", name, SAMPLERS)
    if name == "grid" and space.size is None:
        raise ConfigError(
            "sampler grid needs a finite space; list choices instead of a range, or "
            "give the range a step."
        )


def make_sampler(
    name: str, space: SearchSpace, seed: int, slot: int, grid_seed: int
) -> Any:
    """Return the sampler of one trial.

    It depends on the slot of the trial alone, so that a continued search, or one of
    several processes, does not repeat the random numbers of another.

    Args:
        name: ``"tpe"``, ``"random"`` or ``"grid"``.
        space: What is searched over.
        seed: Of this slot.
        slot: Number of the trial among those that count; the point of a grid.
        grid_seed: Of the order of the grid, the same for all slots.
    """
    import optuna

    if name == "tpe":
        return optuna.samplers.TPESampler(seed=seed)
    if name == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    points = list(space.points())
    order = np.random.default_rng(grid_seed).permutation(len(points))
    return _given(space.labels(points[order[slot]]))


def make_pruner(name: str, epochs: int, folds: int) -> Any:
    """Return a pruner for trainings of that length.

    Args:
        name: ``"median"``, ``"hyperband"`` or ``"none"``.
        epochs: Of one fold.
        folds: Number of trainings, one after the other.
    """
    import optuna

    check_choice("pruner", name, PRUNERS)
    total = epochs * folds
    if name == "median":
        return optuna.pruners.MedianPruner(
            n_startup_trials=5, n_warmup_steps=epochs // 10
        )
    if name == "hyperband":
        return optuna.pruners.HyperbandPruner(
            min_resource=max(1, total // 27), max_resource=total
        )
    return optuna.pruners.NopPruner()


def _given(values: dict[str, Any]) -> Any:
    """Return a sampler that proposes what it is given."""
    import optuna

    class Given(optuna.samplers.BaseSampler):
        def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
            return {}

        def sample_relative(
            self, study: Any, trial: Any, search_space: Any
        ) -> dict[str, Any]:
            return {}

        def sample_independent(
            self, study: Any, trial: Any, param_name: str, param_distribution: Any
        ) -> Any:
            return values[param_name]

    return Given()
