"""The folder of a run: its files, and whose it is."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from sekgnn.errors import ConfigError, OutputError, ResumeWarning
from sekgnn.files import visible_names, write_files
from sekgnn.parsing import parse_yaml
from sekgnn.training.config import RunConfig

CONFIG_FILE = "config.yaml"
DATA_FILE = "data.sha256"
FOLD_FILE = "fold.json"
MODEL_FILE = "model.safetensors"
CHECKPOINT_FILE = "last.ckpt"
CURVES_FILE = "metrics.csv"
_LOCK_FILE = ".lock"
_THREADS_FILE = ".threads"


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the keys in a YAML file.

    Raises:
        ConfigError: If it cannot be read or is not a mapping of keys to values.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        values = parse_yaml(text)
    except OSError as error:
        raise ConfigError(f"cannot read the config {path}: {error.strerror}.") from None
    except ValueError as error:
        raise ConfigError(f"the config {path} is not valid YAML: {error}") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"the config {path} must hold lines such as 'epochs: 100'.")
    return values


def json_yaml(keys: Mapping[str, Any]) -> str:
    """Return keys as YAML, one per line; values are JSON, which is YAML, too."""
    lines = (f"{k}: {json.dumps(v, ensure_ascii=False)}" for k, v in keys.items())
    return "\n".join(lines)


def write_config(config: RunConfig, folder: Path) -> None:
    """Write ``config.yaml`` to a run's folder."""
    text = yaml.safe_dump(config.to_dict(), sort_keys=False, allow_unicode=True)
    write_files(folder, {CONFIG_FILE: text.encode()})


def fold_folders(folder: Path, count: int) -> list[Path]:
    """Return the folders of a run's folds; a single one needs none of its own."""
    return [folder] if count == 1 else _numbered(folder, "fold", count)


def member_folders(folder: Path, count: int) -> list[Path]:
    """Return the folders of the networks of a training; one needs none of its own."""
    return [folder] if count == 1 else _numbered(folder, "member", count)


def point_folders(folder: Path, count: int) -> list[Path]:
    """Return where a training tries the points of a grid; they go when it ends."""
    return _numbered(folder, "point", count)


def _numbered(folder: Path, word: str, count: int) -> list[Path]:
    width = max(2, len(str(count)))  # their order is that of their names
    return [folder / f"{word}-{i:0{width}d}" for i in range(1, count + 1)]


def check_same_config(config: RunConfig, folder: Path) -> None:
    """Raise ConfigError if the folder holds a run of another config, or no run."""
    names = visible_names(folder)
    if not names:
        return
    if CONFIG_FILE not in names:
        raise ConfigError(
            f"{folder} is neither a run folder nor empty (it holds {names[0]}); choose "
            "another output."
        )
    other = RunConfig.from_dict(read_config(folder / CONFIG_FILE))
    different = config.differences(other)
    if different:
        shown = ", ".join(
            f"{name} ({getattr(other, name)!r} there, {getattr(config, name)!r} here)"
            for name in different[:3]
        )
        raise ConfigError(
            f"{folder} holds a run of another config: {shown}. Choose another output, "
            "or continue that run with its own config.yaml."
        )


def check_same_data(fingerprint: str, folder: Path) -> None:
    """Raise ConfigError if the run was begun with other data; else note these."""
    file = folder / DATA_FILE
    if not file.is_file():
        write_files(folder, {DATA_FILE: fingerprint.encode()})
    elif file.read_bytes() != fingerprint.encode():
        raise ConfigError(
            f"the data has changed since the run in {folder} was begun; choose another "
            "output, or put the data back."
        )


class FolderInUseError(ConfigError):
    """Another process is at work in a run's folder."""


def is_in_use(folder: Path) -> bool:
    """Tell whether a process holds a run's folder at this moment."""
    if not (folder / _LOCK_FILE).is_file():
        return False
    try:
        with locked(folder):
            return False
    except FolderInUseError:
        return True


def note_threads(count: int, folder: Path) -> list[int]:
    """Add to the numbers of threads a run was trained with so far, and return them.

    The order of additions, and with it the last digits of all numbers, depends on it.

    Warns:
        ResumeWarning: If there were others before.

    Raises:
        OutputError: If the note cannot be written.
    """
    file = folder / _THREADS_FILE
    try:
        before = [int(word) for word in file.read_text("utf-8").split()]
    except (OSError, ValueError):  # none yet, or not ours to trust
        before = []
    if before and before[-1] != count:
        text = (
            f"the run in {folder} was begun with --threads {before[-1]} and goes on "
            f"with {count}: its numbers may differ in the last digits from those of a "
            "run that was not interrupted."
        )
        warnings.warn(text, ResumeWarning, stacklevel=3)
    if not before or before[-1] != count:
        before.append(count)
        write_files(folder, {_THREADS_FILE: " ".join(map(str, before)).encode()})
    return before


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run's folder, which must exist, for this process alone.

    The lock belongs to the process: it is gone when the process is, however it ends.

    Raises:
        FolderInUseError: If another process holds it.
        ConfigError: If it holds links.
        OutputError: If the folder cannot be written to.
    """
    visible_names(folder)
    path = folder / _LOCK_FILE
    try:
        file = path.open("a+b")
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror}.") from error
    with file:
        try:
            _lock(file.fileno())
        except OSError:
            raise FolderInUseError(
                f"{folder} is in use by another process; wait for it, or choose "
                "another output."
            ) from None
        yield


def _lock(descriptor: int) -> None:
    """Take an exclusive lock at once, or raise ``OSError``."""
    if os.name == "nt":  # pragma: no cover
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
