"""The trials of a search: their objective, and how processes share them.

Trials optimise the validation value of a config; no test graph is read. A study has
slots 0, 1, 2, ..., one per trial that counts. Trials choose theirs in the order of
Optuna's numbers, which are unique in every storage, so no slot is taken twice. A failed
trial releases its slot. (With Optuna's queue and grid sampler two processes can take
the same point. Its heartbeat does not work with journals, and misses trials killed
before the first beat.)
"""

from __future__ import annotations

import hashlib
import math
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from sekgnn.datasets.graph_task import GraphTask
from sekgnn.errors import ConfigError
from sekgnn.parallel import Progress
from sekgnn.search.record import SearchRecord
from sekgnn.training.config import RunConfig
from sekgnn.training.run_record import is_better_high
from sekgnn.training.space import SearchSpace
from sekgnn.training.training import Trained, Training

BEAT_SECONDS = 10
GRACE_SECONDS = 60
_WAIT_SECONDS = 0.5

Report = Callable[[int, float], None]
"""Called with the number of epochs over all folds and the current value."""


class Outcome(NamedTuple):
    """The result of a config: the value at the kept epochs, one epoch per fold."""

    value: float
    epochs: tuple[int, ...]
    num_parameters: int
    seconds: float


class Validation:
    """Data and splits of a search, loaded once and shared by its trials.

    Raises:
        ConfigError: If the protocol selects on test graphs, or a key is invalid.
        GraphInputError: If the data is invalid, or cannot be split.
    """

    def __init__(
        self,
        config: RunConfig,
        data_root: str | Path | None = None,
        *,
        data: GraphTask | None = None,
        progress: Progress | None = None,
    ) -> None:
        _check_config(config)
        self.config = config
        self.training = Training(config, data, data_root=data_root)
        self.data, self.splits = self.training.data, self.training.splits
        self.progress = progress

    @property
    def selected_on(self) -> str:
        """The value by which trials are compared, in words."""
        config = self.config
        value = f"the last {config.monitor}"
        if config.keeps_best:
            value = f"the best {config.monitor} over the epochs"
        if config.protocol == "holdout":
            return f"{value}, of the validation graphs"
        return (
            f"the mean over {len(self.splits)} folds of {value}, of the validation "
            "part of each fold's training graphs"
        )

    def fingerprint(self) -> str:
        """Return a SHA-256 of all data a search may use, without test targets."""
        digest = hashlib.sha256()
        indices = [i for split in self.splits for i in (split.train, split.val)]
        for array in indices:
            digest.update(np.sort(array).tobytes() + b"|")
        used = np.unique(np.concatenate(indices))
        digest.update(self.data.subset(used).fingerprint().encode())
        return digest.hexdigest()

    def check(self, config: RunConfig) -> None:
        """Raise ConfigError if a config cannot be trained on this data."""
        self.training.change(config)

    def value(self, config: RunConfig, report: Report | None = None) -> Outcome:
        """Train a config, as ``sekgnn train`` would, and return its validation value.

        ``report`` is called after every epoch with the number of epochs and the value
        so far, averaged over this fold and earlier ones. An error it raises ends the
        training and is passed on.

        Raises:
            ConfigError: If ``config`` is invalid, or the loss is not finite
                (:class:`~sekgnn.training.loop.NotFiniteError`).
            MemoryError: If memory is insufficient, on any device.
        """
        monitor = f"val_{config.monitor}"
        values: list[float] = []
        fits: list[Trained] = []
        try:
            training = self.training.change(config)
            training.prepare(self.progress)
            for number in range(len(self.splits)):
                on_epoch = _reporter(config, values.copy(), report)
                fits.append(training.fit(number, report=on_epoch))
                values.append(fits[-1].curves[monitor][fits[-1].kept_epoch - 1])
        except RuntimeError as error:
            on_cpu = "allocate memory" in str(error)
            if on_cpu or isinstance(error, torch.cuda.OutOfMemoryError):
                raise MemoryError("not enough memory") from error
            raise
        return Outcome(
            sum(values) / len(values),
            tuple(fit.kept_epoch for fit in fits),
            training.num_parameters,
            sum(fit.seconds for fit in fits),
        )


def _reporter(
    config: RunConfig, before: list[float], report: Report | None
) -> Callable[[int, dict[str, float]], None]:
    """Return the callback of one fold; ``before`` holds the values of earlier folds."""
    monitor = f"val_{config.monitor}"
    best = max if is_better_high(monitor) else min
    seen: list[float] = []

    def on_epoch(epoch: int, measured: dict[str, float]) -> None:
        if not math.isnan(measured[monitor]):
            seen.append(measured[monitor])
        if report is not None and seen:
            so_far = [*before, best(seen) if config.keeps_best else seen[-1]]
            report(len(before) * config.epochs + epoch, sum(so_far) / len(so_far))

    return on_epoch


def _check_config(config: RunConfig) -> None:
    """Raise ConfigError unless trials are single networks with validation graphs."""
    if config.watched != "val":
        raise ConfigError(
            "a search compares trials on validation graphs, and with protocol "
            f"{config.protocol!r}{' and refit' * config.refit} there are none; search "
            "with protocol holdout or nested and without refit, and use these for the "
            "config it finds."
        )
    if config.grid:
        raise ConfigError("grid is a search of its own; leave it out.")
    if config.averages or config.devices * config.num_machines > 1:
        raise ConfigError(
            "a search compares single networks, each trained in one process; leave "
            "ensemble, devices and num_machines at 1 and blend out, use them for "
            "the config that the search finds, and start several jobs."
        )


class Worker:
    """Runs trials until the study has enough, whichever process ran them.

    Args:
        study: Optuna's study.
        record: The search: its space, sampler and number of trials.
        validation: The objective.
        ends: Time after which no trial begins, in seconds since the epoch.
        progress: Called with (done, total) trials.
    """

    def __init__(
        self,
        study: Any,
        record: SearchRecord,
        validation: Validation,
        ends: float = math.inf,
        progress: Progress | None = None,
    ) -> None:
        self.study, self.record, self.validation = study, record, validation
        self.config, self.space = validation.config, SearchSpace(record.space)
        self.ends, self.progress = ends, progress
        self._signs: dict[int, tuple[Any, float]] = {}

    def work(self) -> None:
        """Run trials until the study or the time is over."""
        parent = multiprocessing.parent_process()
        while self.unfinished() and time.time() < self.ends:
            if parent is not None and not parent.is_alive():
                raise SystemExit(1)
            live = sum(trial.state.name != "FAIL" for trial in self.trials())
            if live < self.record.requested:
                self._run_trial()
            else:
                time.sleep(_WAIT_SECONDS)  # running trials may still fail

    def unfinished(self) -> bool:
        """Return whether trials are missing, and report progress."""
        total = self.record.requested
        done = sum(t.state.name in ("COMPLETE", "PRUNED") for t in self.trials())
        if self.progress is not None:
            self.progress(min(done, total), total)
        return done < total

    def trials(self) -> list[Any]:
        """Return all trials, after failing those whose process is gone.

        A trial is gone if its sign of life has not changed for :data:`GRACE_SECONDS` of
        this process's clock, so no two clocks are compared.
        """
        from optuna.trial import TrialState

        now = time.monotonic()
        for trial in self.study.get_trials(deepcopy=False):
            if trial.state != TrialState.RUNNING:
                continue
            sign = trial.user_attrs.get("alive"), len(trial.params)
            last, since = self._signs.setdefault(trial.number, (sign, now))
            if sign != last:
                self._signs[trial.number] = sign, now
            elif now - since > GRACE_SECONDS:
                number, fail = trial.number, TrialState.FAIL
                self.study.tell(number, state=fail, skip_if_finished=True)
        return list(self.study.get_trials(deepcopy=False))

    def _run_trial(self) -> None:
        """Run one trial and tell the study how it ended."""
        from optuna.exceptions import TrialPruned, UpdateFinishedTrialError
        from optuna.trial import TrialState

        trial = self.study.ask()
        state, value, reason = TrialState.FAIL, None, None
        try:
            with _signs_of_life(trial):
                slot = self.choose_slot(trial)
                if slot is None:
                    return
                self.study.sampler = self._sampler(slot)
                value = self._value(trial, self.space.suggest(trial))
                state = TrialState.COMPLETE
        except TrialPruned:
            state = TrialState.PRUNED
        except (ConfigError, MemoryError) as error:
            state, reason = TrialState.PRUNED, str(error) or "not enough memory"
        except UpdateFinishedTrialError:  # another process took this one for dead
            pass
        except BaseException as error:
            reason = f"interrupted by {type(error).__name__}"
            raise
        finally:
            if reason is not None:
                with suppress(UpdateFinishedTrialError):
                    trial.set_user_attr("reason", reason)
            self.study.tell(trial, value, state, skip_if_finished=True)

    def choose_slot(self, trial: Any) -> int | None:
        """Return the first free slot, if any, once earlier trials have theirs."""
        while True:
            earlier = [t for t in self.trials() if t.number < trial.number]
            taken = [
                t.user_attrs.get("slot") for t in earlier if t.state.name != "FAIL"
            ]
            if None not in taken:
                break
            time.sleep(0.1)
        slots = range(self.record.requested)
        slot = next((slot for slot in slots if slot not in taken), None)
        if slot is not None:
            trial.set_user_attr("slot", slot)
        return slot

    def _sampler(self, slot: int) -> Any:
        """Return the sampler of one trial, a function of its slot.

        So a continued search, or one of several processes, repeats no random numbers.
        """
        from optuna import samplers

        seed = self.config.seed
        trial_seed = int(np.random.SeedSequence([seed, slot, 7]).generate_state(1)[0])
        if self.record.sampler == "tpe":
            return samplers.TPESampler(seed=trial_seed)
        sampler = samplers.RandomSampler(seed=trial_seed)
        if self.record.sampler == "random":
            return sampler
        points = list(self.space.grid())
        order = np.random.default_rng(seed).permutation(len(points))
        return samplers.PartialFixedSampler(points[order[slot]], sampler)

    def _value(self, trial: Any, point: dict[str, Any]) -> float:
        """Return the validation value of a point, unless it is pruned."""
        from optuna.exceptions import TrialPruned

        def report(epoch: int, value: float) -> None:
            trial.report(value, epoch)
            if trial.should_prune():
                raise TrialPruned

        outcome = self.validation.value(self.config.change(point), report)
        if not math.isfinite(outcome.value):
            raise ConfigError(f"the validation value is {outcome.value}.")
        trial.set_user_attr("kept_epochs", list(outcome.epochs))
        trial.set_user_attr("num_parameters", outcome.num_parameters)
        trial.set_user_attr("seconds", round(outcome.seconds, 3))
        return outcome.value


@contextmanager
def _signs_of_life(trial: Any) -> Iterator[None]:
    """Increment a user attribute of a trial, as a sign of life to other processes."""
    end = threading.Event()

    def beat() -> None:
        count = 0
        while not end.wait(BEAT_SECONDS):
            count += 1
            with suppress(Exception):  # the trial itself will raise it
                trial.set_user_attr("alive", count)

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        end.set()
