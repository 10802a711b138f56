"""One process that does trials of a study until there are enough."""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from sekgnn.errors import ConfigError
from sekgnn.search.samplers import make_pruner, make_sampler
from sekgnn.search.space import SearchSpace
from sekgnn.search.storage import storage_errors
from sekgnn.search.turns import (
    REASON,
    SLOT,
    SignsOfLife,
    Turns,
    holds_slot,
    is_counted,
)
from sekgnn.search.validation import Outcome, Validation
from sekgnn.training.config import RunConfig
from sekgnn.training.learner import NotFiniteError

WAIT_SECONDS = 0.5
_HOPELESS = (NotFiniteError, ConfigError, MemoryError, torch.cuda.OutOfMemoryError)


class Worker:
    """Asks for trials, trains them, tells what came out.

    Args:
        study: Optuna's study.
        url: Of its storage, for messages.
        base: Config without the keys that are searched over.
        space: What to search over.
        validation: Data and splits.
        sampler: ``"tpe"``, ``"random"`` or ``"grid"``.
        pruner: ``"median"``, ``"hyperband"`` or ``"none"``.
    """

    def __init__(
        self,
        study: Any,
        url: str,
        base: RunConfig,
        space: SearchSpace,
        validation: Validation,
        sampler: str,
        pruner: str,
    ) -> None:
        """Keep the parts."""
        self.study, self.url = study, url
        self.base, self.space, self.validation = base, space, validation
        self.sampler = sampler
        self.turns = Turns(study)
        study.pruner = make_pruner(pruner, base.epochs, len(validation.splits))

    def work(
        self,
        trials: int,
        deadline: float | None = None,
        tell: Callable[[int], None] | None = None,
    ) -> None:
        """Do trials until the study has ``trials`` that are done, by whomever.

        Args:
            trials: How many, those of earlier calls and other processes included.
            deadline: No trial is begun after this time (``time.monotonic()``).
            tell: Called with the number of trials that are done.

        Raises:
            OutputError: If the study cannot be read or written.
        """
        while True:
            with storage_errors(self.url):
                known = self.turns.trials()
            if tell is not None:
                tell(sum(map(is_counted, known)))
            if sum(map(is_counted, known)) >= trials:
                return
            if deadline is not None and time.monotonic() >= deadline:
                return
            if not _parent_lives():
                raise SystemExit(1)
            if len({t.user_attrs[SLOT] for t in known if holds_slot(t)}) >= trials:
                time.sleep(WAIT_SECONDS)  # for others, who may yet fail
                continue
            with storage_errors(self.url):
                self._do_one(trials)

    def _do_one(self, trials: int) -> None:
        """Do one trial, if there is still one to do."""
        from optuna.exceptions import TrialPruned, UpdateFinishedTrialError
        from optuna.trial import TrialState

        trial = self.study.ask()
        try:
            slot = self.turns.take(trial)
            if slot >= trials:
                self.turns.fail(trial, "not needed: others were faster")
                return
            self.study.sampler = make_sampler(
                self.sampler, self.space, _slot_seed(self.base.seed, slot), slot,
                self.base.seed,
            )  # fmt: skip
            point = self.space.suggest(trial)
            with SignsOfLife(self.study, trial):
                outcome = self._train(trial, point)
            self._note(trial, outcome)
            self.study.tell(trial, outcome.value, skip_if_finished=True)
        except TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED, skip_if_finished=True)
        except UpdateFinishedTrialError:
            return  # this process seemed gone, and another has taken the slot
        except _HOPELESS as error:
            trial.set_user_attr(REASON, str(error) or "not enough memory")
            self.study.tell(trial, state=TrialState.PRUNED, skip_if_finished=True)
        except RuntimeError as error:
            if "allocate memory" not in str(error):  # of torch, on the CPU
                self.turns.fail(trial, f"interrupted by {type(error).__name__}")
                raise
            trial.set_user_attr(REASON, "not enough memory")
            self.study.tell(trial, state=TrialState.PRUNED, skip_if_finished=True)
        except BaseException as error:
            self.turns.fail(trial, f"interrupted by {type(error).__name__}")
            raise

    def _train(self, trial: Any, point: dict[str, Any]) -> Outcome:
        """Train a point, if it is possible at all.

        Raises:
            TrialPruned: If others did better at the same epoch.
        """
        from optuna.exceptions import TrialPruned

        def report(epoch: int, value: float) -> None:
            trial.report(value, epoch)
            if trial.should_prune():
                raise TrialPruned

        outcome = self.validation.value(self.space.config(self.base, point), report)
        if not math.isfinite(outcome.value):
            raise NotFiniteError(f"the validation value is {outcome.value}.")
        return outcome

    @staticmethod
    def _note(trial: Any, outcome: Outcome) -> None:
        trial.set_user_attr("best_epochs", list(outcome.epochs))
        trial.set_user_attr("num_parameters", outcome.num_parameters)
        trial.set_user_attr("training_seconds", round(outcome.seconds, 3))


def _slot_seed(seed: int, slot: int) -> int:
    """Return the seed of a slot's random choices, whoever makes them."""
    return int(np.random.SeedSequence([seed, slot, 7]).generate_state(1)[0])


def _parent_lives() -> bool:
    parent = multiprocessing.parent_process()
    return parent is None or parent.is_alive()
