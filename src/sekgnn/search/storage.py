"""Where a study is kept, and which of its trials have lost their process.

A trial counts up a user attribute while it lives, in databases and journals alike.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from sekgnn.errors import ConfigError, OutputError
from sekgnn.graphs.extras import require
from sekgnn.parsing import parse_json

Direction = Literal["minimize", "maximize"]
DATABASE_FILE = "study.db"
BEAT_SECONDS = 10
GRACE_SECONDS = 60
_IDENTITY = "sekgnn"  # user attribute of a study: what its trials have in common
_ALIVE = "alive"
_LOCK_SECONDS = 60.0  # how long SQLite waits for another process that writes
_ATTEMPTS = 5


@contextmanager
def quiet_optuna() -> Iterator[Any]:
    """Yield the package, with its log and its hints switched off."""
    optuna = require("optuna", "search")
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            warnings.filterwarnings("ignore", ".*is not divisible.*")
            yield optuna
    finally:
        optuna.logging.set_verbosity(level)


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Turn what the database raises into an OutputError that says what to do."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (StorageInternalError, SQLAlchemyError) as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise OutputError(
            f"the study in {shown(url)} cannot be read or written: "
            f"{str(cause).splitlines()[0]}. What it held is unchanged; free some space "
            "or check the storage, and repeat the command to continue."
        ) from error


def open_storage(url: str) -> Any:
    """Return Optuna's storage of a URL; a ``.log`` or ``.journal`` file is a journal.

    Raises:
        ConfigError: If it is not a URL, its driver is missing, or the journal is
            damaged.
    """
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    if is_journal(url):
        _check_complete(Path(url))
        try:
            return JournalStorage(JournalFileBackend(url))
        except OSError:
            raise
        except Exception as error:  # whatever Optuna makes of foreign lines
            cause = f"{type(error).__name__}: {error}"
            raise ConfigError(
                f"the journal {url} is damaged or of something else ({cause[:200]}); "
                "put a copy of it back, or choose another storage."
            ) from error
    if "://" not in url:
        raise ConfigError(
            "storage must be a URL such as sqlite:///study.db or "
            "postgresql://user@host/name, or a journal file that ends with .log, "
            f"got {url!r}."
        )
    waits = {"connect_args": {"timeout": _LOCK_SECONDS}}
    for left in reversed(range(_ATTEMPTS)):
        try:
            return RDBStorage(
                url,
                engine_kwargs=dict(waits) if url.startswith("sqlite") else None,
            )
        except (ArgumentError, ImportError, ValueError) as error:
            cause = str(error).splitlines()[0]
            raise ConfigError(
                f"storage {shown(url)} cannot be opened: {cause}"
            ) from None
        except SQLAlchemyError:  # perhaps another process was making the same tables
            if not left:
                raise
            time.sleep(0.2)
    raise AssertionError("unreachable")


def _check_complete(journal: Path) -> None:
    """Raise if the last line of a journal is cut short; Optuna would write on it.

    Another process may be about to write the rest.
    """
    for _ in range(_ATTEMPTS):
        last = b""
        with suppress(FileNotFoundError), journal.open("rb") as file:
            for last in file:  # noqa: B007
                pass
        if not last:
            return
        with suppress(ValueError):
            parse_json(last.decode("utf-8"))
            if last.endswith(b"\n"):
                return
        time.sleep(0.2)
    raise ConfigError(
        f"the last line of the journal {journal} is damaged, as if a disk had been "
        "full; remove that line to continue, or choose another storage."
    )


def open_study(
    url: str, name: str, direction: Direction, identity: dict[str, Any]
) -> Any:
    """Return the study of that name, new or with its earlier trials.

    ``identity`` is what all its trials have in common.

    Raises:
        ConfigError: If it is a study of something else; names what differs.
        OutputError: If it cannot be read or written.
    """
    import optuna

    with storage_errors(url):
        study = optuna.create_study(
            storage=open_storage(url),
            study_name=name,
            direction=direction,
            load_if_exists=True,
        )
        if _IDENTITY not in study.user_attrs:
            if study.get_trials(deepcopy=False):
                raise ConfigError(
                    f"study {name!r} in {shown(url)} was not made by sekgnn search; "
                    "choose another name."
                )
            study.set_user_attr(_IDENTITY, identity)
        differences = list(_differences(study.user_attrs[_IDENTITY], identity))
    if differences:
        raise ConfigError(
            f"study {name!r} is a search of something else: "
            f"{'; '.join(differences[:3])}. Choose another output or study name, or "
            "repeat its own command."
        )
    return study


def _differences(there: dict[str, Any], here: dict[str, Any]) -> Iterator[str]:
    for part in sorted({*there, *here}):
        a, b = there.get(part), here.get(part)
        if part == "data" and a != b:
            yield "the training and validation graphs"
        elif isinstance(a, dict) and isinstance(b, dict):
            for k in {**a, **b}:
                if a.get(k) != b.get(k):
                    yield f"{k} of the {part} ({a.get(k)!r} there, {b.get(k)!r} here)"
        elif a != b:
            yield f"{part} ({a!r} there, {b!r} here)"


def is_journal(url: str) -> bool:
    """Return whether a storage is a journal file."""
    return "://" not in url and Path(url).suffix in (".log", ".journal")


def shown(url: str) -> str:
    """Return a URL without its password."""
    head, at, tail = url.rpartition("@")
    if not at or "://" not in head:
        return url
    scheme, _, user = head.partition("://")
    return f"{scheme}://{user.split(':')[0]}@{tail}"


@contextmanager
def signs_of_life(trial: Any) -> Iterator[None]:
    """Show other processes that a trial is alive."""
    end = threading.Event()

    def beat() -> None:
        count = 0
        while not end.wait(BEAT_SECONDS):
            count += 1
            with suppress(Exception):  # the training itself will notice
                trial.set_user_attr(_ALIVE, count)

    threading.Thread(target=beat, daemon=True).start()
    try:
        yield
    finally:
        end.set()


class Watch:
    """Fails the trials of a study whose process is gone.

    No two clocks are compared: a trial is gone if its sign of life has not changed for
    :data:`GRACE_SECONDS` of this process's own time. (Optuna's heartbeat does not see
    processes that are killed before their first one, and journals have none.)
    """

    def __init__(self, study: Any) -> None:
        self._study = study
        self._seen: dict[int, tuple[Any, float]] = {}

    def trials(self) -> list[Any]:
        """Return all trials, after those whose process is gone have been failed."""
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        now = time.monotonic()
        for trial in self._study.get_trials(deepcopy=False):
            if trial.state != TrialState.RUNNING:
                continue
            sign = trial.user_attrs.get(_ALIVE), len(trial.params)
            last, since = self._seen.get(trial.number, (None, now))
            if sign != last:
                self._seen[trial.number] = sign, now
            elif now - since > GRACE_SECONDS:
                with suppress(ValueError, UpdateFinishedTrialError):  # others did so
                    self._study.tell(trial.number, state=TrialState.FAIL)
        return list(self._study.get_trials(deepcopy=False))
