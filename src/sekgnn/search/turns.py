"""Who does which trial, when any number of processes share a study.

A study has slots 0, 1, 2, ...; a trial takes the first that is free. Trials take theirs
in the order of their numbers, which the storage hands out: each waits until all before
it have one. So no slot is taken twice, whatever storage there is and however the
processes are spread over machines.

A trial whose process is gone gives its slot back. Processes of this machine are looked
up; others are gone if their sign of life has not changed for a while (no two clocks are
compared).
"""

from __future__ import annotations

import os
import platform
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

OWNER = "owner"
SLOT = "slot"
ALIVE = "alive"
REASON = "reason"
BEAT_SECONDS = 10.0
GRACE_SECONDS = 90.0
_POLL_SECONDS = 0.05


def me() -> dict[str, Any]:
    """Return what tells this process from all others."""
    return {
        "machine": _machine(),
        "pid": os.getpid(),
        "started": _started(os.getpid()),
    }


class Turns:
    """The slots of a study, as one process sees them.

    Args:
        study: Optuna's study.
    """

    def __init__(self, study: Any) -> None:
        """Look at nothing yet."""
        self.study = study
        self._seen: dict[int, tuple[Any, float]] = {}

    def trials(self) -> list[Any]:
        """Return all trials, after those whose process is gone have been failed."""
        from optuna.trial import TrialState

        found = self._all()
        gone = [t for t in found if t.state == TrialState.RUNNING and self._is_gone(t)]
        for trial in gone:
            self.fail(trial, "its process is gone")
        return self._all() if gone else found

    def fail(self, trial: Any, reason: str) -> None:
        """Give up a trial; another one takes its slot."""
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        storage, number = self.study._storage, trial._trial_id
        with suppress(UpdateFinishedTrialError):  # somebody else was faster
            storage.set_trial_user_attr(number, REASON, reason)
            storage.set_trial_state_values(number, state=TrialState.FAIL)

    def take(self, trial: Any) -> int:
        """Return the slot of a new trial, after waiting for those before it.

        Raises:
            UpdateFinishedTrialError: If others believed this process to be gone.
        """
        trial.set_user_attr(OWNER, me())
        while True:
            before = [t for t in self.trials() if t.number < trial.number]
            if all(t.state.is_finished() or SLOT in t.user_attrs for t in before):
                break
            time.sleep(_POLL_SECONDS)
        taken = {t.user_attrs[SLOT] for t in before if holds_slot(t)}
        slot = next(i for i in range(len(taken) + 1) if i not in taken)
        trial.set_user_attr(SLOT, slot)
        return slot

    def _all(self) -> list[Any]:
        found: list[Any] = self.study.get_trials(deepcopy=False)
        return found

    def _is_gone(self, trial: Any) -> bool:
        owner = trial.user_attrs.get(OWNER)
        if owner is not None and owner["machine"] == _machine():
            if _started(owner["pid"]) != owner["started"]:
                return True
        sign = (owner is None, trial.user_attrs.get(SLOT), trial.user_attrs.get(ALIVE))
        now = time.monotonic()
        last, since = self._seen.get(trial.number, (None, now))
        if sign != last:
            self._seen[trial.number] = (sign, now)
            return False
        return now - since > GRACE_SECONDS


class SignsOfLife:
    """Shows the others that a trial is being worked on, while the block lasts.

    Args:
        study: Optuna's study.
        trial: The trial.
    """

    def __init__(self, study: Any, trial: Any) -> None:
        """Start nothing yet."""
        self._storage, self._number = study._storage, trial._trial_id
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        """Start."""
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        """Stop."""
        self._end.set()
        self._thread.join()

    def _beat(self) -> None:
        count = 0
        while not self._end.wait(BEAT_SECONDS):
            count += 1
            with suppress(Exception):  # the training itself will notice
                self._storage.set_trial_user_attr(self._number, ALIVE, count)


def holds_slot(trial: Any) -> bool:
    """Tell whether a trial keeps its slot: it is being done, or has an end."""
    from optuna.trial import TrialState

    return trial.state != TrialState.FAIL and SLOT in trial.user_attrs


def is_counted(trial: Any) -> bool:
    """Tell whether a trial is one of those that were wished for, and done."""
    return holds_slot(trial) and trial.state.is_finished()


def _machine() -> str:
    """Return a name for the set of processes that can see each other."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _started(pid: int) -> str | None:
    """Return when a process was started, in some unit; ``None`` if it is gone."""
    try:
        # the name, in brackets, may hold anything
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return None
    try:  # no such folder here: take a living process for the right one
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return "?"
