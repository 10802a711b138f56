"""Optuna's storages: opened, checked, and with errors that name a cure.

Databases and journal files hold JSON; no storage that unpickles is ever opened.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sekgnn.checks import require
from sekgnn.errors import ConfigError, OutputError
from sekgnn.parsing import parse_json
from sekgnn.search.record import SearchRecord

DATABASE_FILE = "study.db"
_IDENTITY = "sekgnn"  # user attribute of a study: what its trials share
_LOCK_SECONDS = 60.0  # that SQLite waits for another writer


@contextmanager
def quiet_optuna() -> Iterator[Any]:
    """Yield the package with its log and warnings switched off."""
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
    """Turn errors of the database into an OutputError with a cure."""
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
            f"{str(cause).splitlines()[0]}. Its content is unchanged; free some space "
            "or check the storage, and repeat the command to continue."
        ) from error


def open_study(url: str, search: SearchRecord) -> Any:
    """Return the study of a search, new or with its earlier trials.

    Raises:
        ConfigError: If it cannot be opened, or belongs to another search; names the
            difference.
    """
    import optuna

    study = optuna.create_study(
        storage=open_storage(url),
        study_name=search.study_name,
        direction=search.direction,  # type: ignore[arg-type]  # one of its two
        load_if_exists=True,
    )
    expected = search.identity
    if _IDENTITY not in study.user_attrs:
        if study.get_trials(deepcopy=False):
            raise ConfigError(
                f"study {search.study_name!r} in {shown(url)} was not made by sekgnn "
                "search; choose another name."
            )
        study.set_user_attr(_IDENTITY, expected)
    stored = study.user_attrs[_IDENTITY]
    different = [
        f"{key} ({stored.get(key)!r} there, {expected.get(key)!r} here)"
        for key in {**stored, **expected}
        if stored.get(key) != expected.get(key)
    ]
    if different:
        raise ConfigError(
            f"study {search.study_name!r} belongs to another search: "
            f"{'; '.join(different[:3])}. Choose another output or study name, or "
            "repeat its own command."
        )
    return study


def open_storage(url: str, attempts: int = 5) -> Any:
    """Return Optuna's storage of a URL; a ``.log`` or ``.journal`` file is a journal.

    Raises:
        ConfigError: If it is no URL, its driver is missing, or the journal is damaged.
    """
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    try:
        if "://" not in url and Path(url).suffix in (".log", ".journal"):
            _check_last_line(url)
            return JournalStorage(JournalFileBackend(url))
        waits = {"connect_args": {"timeout": _LOCK_SECONDS}}
        return RDBStorage(url, waits if url.startswith("sqlite") else None)
    except OSError:
        raise
    except SQLAlchemyError as error:
        if not isinstance(error, ArgumentError):
            if not attempts:
                raise
            time.sleep(0.2)  # another process may be creating the tables
            return open_storage(url, attempts - 1)
        cause: Exception = error
    except Exception as error:  # a missing driver, or an unreadable journal
        cause = error
    reason = f"{type(cause).__name__}: {cause}".splitlines()[0][:200]
    raise ConfigError(
        f"storage {shown(url)} cannot be opened ({reason}). Give a URL such as "
        "sqlite:///study.db or postgresql://user@host/name, or a journal file that "
        "ends with .log; if it is damaged, put a copy of it back."
    ) from cause


def _check_last_line(journal: str) -> None:
    """Raise ValueError if the last line of a journal is cut short, as by a full disk.

    Optuna would append its next line to it.
    """
    from optuna.storages.journal import JournalFileSymlinkLock

    if not Path(journal).exists():
        return
    lock = JournalFileSymlinkLock(journal)
    lock.acquire()  # another process may be in the middle of a line
    try:
        content = Path(journal).read_bytes()
    finally:
        lock.release()
    try:
        parse_json((content.splitlines() or [b"0"])[-1])
        if content and not content.endswith(b"\n"):
            raise ValueError("it has no end")
    except ValueError as error:
        raise ValueError(f"the last line is cut short: {error}") from None


def shown(url: str) -> str:
    """Return a URL without its password."""
    return re.sub(r"^([^:]+://[^:/@]*):.*@", r"\1@", url)
