"""Prepared copies of datasets, made once and whole."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

from sekgnn.errors import OutputError
from sekgnn.files import CACHE_VARIABLE


def build_folder(target: Path, build: Callable[[Path], object]) -> None:
    """Fill a new folder that becomes ``target`` only when complete.

    Several processes may build one folder at a time: the first to finish wins, and the
    others find it done.

    Args:
        target: The folder; its parents are made. If it exists, it is left as it is.
        build: Fills the folder it is given, which exists.

    Raises:
        OutputError: If the operating system refuses to write.
    """
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        draft.mkdir(parents=True)
    except OSError as error:
        raise OutputError(
            f"cannot write to the cache folder {target.parent}: {error.strerror}; set "
            f"{CACHE_VARIABLE} (or cache_dir) to a folder you may write to."
        ) from error
    try:
        build(draft)
        try:
            draft.rename(target)
        except OSError:
            if not target.is_dir():  # else another process was faster
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
