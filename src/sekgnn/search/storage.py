"""Where a study is kept: opened quietly, its errors in one line."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from sekgnn.errors import ConfigError, OutputError
from sekgnn.graphs.extras import require

Direction = Literal["minimize", "maximize"]
DATABASE_FILE = "study.db"
IDENTITY = "sekgnn"
"""User attribute of a study that says what its trials have in common."""

_LOCK_SECONDS = 60.0  # how long SQLite waits for another process that writes
_ATTEMPTS = 5


def default_storage(folder: Path) -> str:
    """Return the URL of the SQLite file in a folder."""
    return f"sqlite:///{(folder / DATABASE_FILE).resolve()}"


@contextmanager
def quiet_optuna() -> Iterator[Any]:
    """Yield the package, with its log and its hints switched off.

    Raises:
        MissingExtraError: If it is not installed.
    """
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
    """Turn what the database raises into an error that says what to do.

    Raises:
        OutputError: If the study cannot be read or written.
    """
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
            "or check the storage, and repeat the command to go on."
        ) from error


def open_storage(url: str) -> Any:
    """Return Optuna's storage of a URL; a ``.log`` or ``.journal`` file is a journal.

    Raises:
        ConfigError: If the URL is none, or its driver is missing.
    """
    import optuna
    from optuna.storages.journal import JournalFileBackend
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    if "://" not in url:
        if Path(url).suffix not in (".log", ".journal"):
            raise ConfigError(
                f"storage must be a URL such as sqlite:///study.db or "
                f"postgresql://user@host/name, or a journal file that ends with .log, "
                f"got {url!r}."
            )
        backend = JournalFileBackend(os.fspath(url))
        return optuna.storages.JournalStorage(backend)
    options: dict[str, Any] = {}
    if url.startswith("sqlite"):
        options = {"connect_args": {"timeout": _LOCK_SECONDS}}
    for left in reversed(range(_ATTEMPTS)):
        try:
            return optuna.storages.RDBStorage(url, engine_kwargs=dict(options))
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


def open_study(
    url: str, name: str, direction: Direction, identity: dict[str, Any]
) -> Any:
    """Return the study of that name, new or with its earlier trials.

    Args:
        url: Of the storage.
        name: Of the study.
        direction: ``"minimize"`` or ``"maximize"``.
        identity: What all its trials have in common.

    Raises:
        ConfigError: If it is a study of something else.
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
        there = study.user_attrs.get(IDENTITY)
        if there is None:
            if study.get_trials(deepcopy=False):
                raise ConfigError(
                    f"study {name!r} in {shown(url)} was not made by sekgnn search; "
                    "choose another name."
                )
            study.set_user_attr(IDENTITY, identity)
            there = study.user_attrs.get(IDENTITY)
    check_identity(there, identity, name)
    return study


def check_identity(there: Any, here: dict[str, Any], name: str) -> None:
    """Raise if a study is of another base config, space or data.

    Raises:
        ConfigError: If so; names what differs.
    """
    if there == here:
        return
    differences = []
    for part in sorted(set(there) | set(here)):
        a, b = there.get(part), here.get(part)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            differences += [
                f"{k} of the {part} ({a.get(k)!r} there, {b.get(k)!r} here)"
                for k in {**a, **b}
                if a.get(k) != b.get(k)
            ]
        elif part == "data":
            differences.append("the training and validation graphs")
        else:
            differences.append(f"{part} ({a!r} there, {b!r} here)")
    raise ConfigError(
        f"study {name!r} is a search of something else: {'; '.join(differences[:3])}. "
        "Choose another output or study name, or repeat its own command."
    )


def shown(url: str) -> str:
    """Return a URL without its password."""
    head, at, tail = url.rpartition("@")
    if not at or "://" not in head:
        return url
    scheme, _, user = head.partition("://")
    return f"{scheme}://{user.split(':')[0]}@{tail}"
