"""Files written whole or not at all, the cache folder, and cells of tables."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from sekgnn.errors import ConfigError, OutputError

try:
    import fcntl
except ImportError:  # pragma: no cover, Windows
    fcntl = None  # type: ignore[assignment]

_TOKEN_BYTES = 8
_CURES = {
    errno.ENOSPC: "free some space or write to another disk",
    errno.EDQUOT: "free some of your quota or write to another disk",
    errno.EACCES: "choose a folder you may write to",
    errno.EPERM: "choose a folder you may write to",
    errno.EROFS: "choose a folder you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
}

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # first characters of formulas

CACHE_VARIABLE = "SEKGNN_CACHE"
"""The environment variable that names the folder for prepared data and kernels."""


def cache_folder(cache_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder for prepared data and kernels; it need not exist yet.

    By default that of ``SEKGNN_CACHE``, else ``sekgnn`` below ``XDG_CACHE_HOME``,
    ``LOCALAPPDATA`` (Windows) or ``~/.cache``.
    """
    named = cache_dir or os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    local = "LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME"
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get(local)
    return (Path(home) if home else Path.home() / ".cache") / "sekgnn"


def check_private(
    path: Path, root: Path | None = None, remove: Path | None = None
) -> None:
    """Refuse a folder or file that others could have written, or could replace.

    Checks ``path`` and every folder around it up to ``root``, or up to the nearest one
    above that exists; for a link, both the link and its target. A group without other
    members does not count.

    Args:
        path: The file or folder to read, whether it exists or not.
        root: The outermost folder to check; by default ``path`` itself.
        remove: The path that the message advises to remove; by default ``path``.

    Raises:
        OutputError: If others may write to one of them, or own it.
    """
    if os.name != "posix":  # elsewhere modes do not describe others' rights
        return
    full, top = path.absolute(), (root or path).absolute()
    for level in (full, *full.parents):
        if not os.path.lexists(level):
            continue
        above = top not in level.parents  # the root, or beyond
        fault = _not_private(level, sticky=above and level != full)
        if fault:
            target = remove or path
            cures = []
            if os.path.lexists(target):
                cures.append(f"remove {target} ('rm -r {target}')")
            if target.absolute() not in (level, *level.parents):
                cures.append(f"run 'chmod go-w {level}'")
            raise OutputError(
                f"the cache folder {level} {fault}, so others could change what is "
                f"read from it; {' and '.join(cures)}, or set {CACHE_VARIABLE} to a "
                "folder of your own."
            )
        if above:
            return


def is_private(status: os.stat_result) -> bool:
    """Return whether nobody else owns a file or may write to it."""
    loose = status.st_mode & stat.S_IWOTH or (
        status.st_mode & stat.S_IWGRP and not _only_mine(status.st_gid)
    )
    return os.name != "posix" or (status.st_uid in (0, os.geteuid()) and not loose)


def _not_private(path: Path, sticky: bool) -> str:
    """Describe how others control a path; ``sticky`` allows a folder such as /tmp."""
    try:
        link, target = path.lstat(), path.stat()
    except FileNotFoundError:  # a link to nothing
        return "is a link that leads nowhere"
    if {link.st_uid, target.st_uid} - {0, os.geteuid()}:
        return "belongs to somebody else"
    if is_private(target) or (sticky and target.st_mode & stat.S_ISVTX):
        return ""
    return "can be written to by others"


def _only_mine(gid: int) -> bool:
    """Return whether a group is the user's private group, without other members.

    A private group has the user's name. Members are no evidence: a primary group that
    many users share may list none.
    """
    import grp
    import pwd

    try:
        me, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:  # as in containers, where groups may have no names
        return False
    mine = me.pw_gid == gid and group.gr_name == me.pw_name
    return mine and set(group.gr_mem) <= {me.pw_name}


def make_private(folder: Path) -> None:
    """Make a folder and its missing parents, readable by nobody else.

    Raises:
        OSError: If it cannot be made.
    """
    for level in (*reversed(folder.parents), folder):
        if not level.exists():
            level.mkdir(mode=0o700, exist_ok=True)


def make_folder(folder: Path, cure: str = "choose another output") -> Path:
    """Make a folder and its parents where missing, or raise an error with a cure."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make the folder {folder}: {error.strerror}; {cure}."
        ) from error
    return folder


def visible_names(folder: Path) -> list[str]:
    """Return the sorted names in an output folder, without hidden files.

    A folder made by somebody else may hold links, through which continued work would
    write to files elsewhere.

    Raises:
        ConfigError: If it is a file, or holds anything but files and folders, at any
            depth.
    """
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise ConfigError(f"{folder} is a file, not a folder; choose another output.")
    odd, folders = [], [str(folder)]
    while folders:
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    odd.append(entry.path)
    _refuse_odd(folder, odd)
    return sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))


def _refuse_odd(folder: Path, odd: Sequence[str]) -> None:
    if odd:
        names = ", ".join(os.path.relpath(path, folder) for path in sorted(odd)[:3])
        more = f" and {len(odd) - 3} more" if len(odd) > 3 else ""
        raise ConfigError(
            f"{folder} holds what is neither a file nor a folder, such as a link that "
            f"leads elsewhere: {names}{more}. Remove it, or choose another output."
        )


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a draft, which becomes ``path`` only when complete.

    The draft is an empty file in the same folder, with the same suffix. If the block
    succeeds, its content is forced to disk and the draft is renamed to ``path``,
    replacing an older file at once. If it fails, Ctrl-C included, the draft is removed
    and the older file is unchanged; the draft of a killed process is removed by the
    next one that writes the same path. Several processes may write one path at a time:
    each has its own draft, and the last to finish wins. A symbolic link is followed.

    Raises:
        OutputError: If the folder is missing, or the operating system refuses to write.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with atomic_path(Path(folder) / "a.txt") as draft:
        ...         _ = draft.write_text("whole")
        ...     (Path(folder) / "a.txt").read_text()
        'whole'
    """
    target = check_target(path)
    draft, held = None, None
    try:
        _remove_drafts(target)
        draft, held = _new_draft(target)
        yield draft
        with draft.open("r+b") as file:
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:
        raise _explained(error, path) from error
    finally:
        if draft is not None:
            with suppress(OSError):
                draft.unlink()
        if held is not None:
            held.close()


def _new_draft(target: Path) -> tuple[Path, BinaryIO]:
    """Return an empty draft and its file, locked while that is open."""
    while True:
        # cut the stem: with the token added, a long name could exceed the limit
        token = secrets.token_hex(_TOKEN_BYTES)
        draft = target.with_name(f".{target.stem[:40]}.{token}.tmp{target.suffix}")
        held = draft.open("xb")
        if _lock(held) and draft.exists():  # else another process removed it
            return draft, held
        held.close()


def _remove_drafts(target: Path) -> None:
    """Remove the drafts of killed processes, and nothing else."""
    start, end = f".{target.stem[:40]}.", f".tmp{target.suffix}"
    form = re.compile(
        re.escape(start) + rf"[0-9a-f]{{{2 * _TOKEN_BYTES}}}" + re.escape(end)
    )
    with suppress(OSError), os.scandir(target.parent) as entries:
        drafts = [Path(entry.path) for entry in entries if form.fullmatch(entry.name)]
        for draft in drafts if fcntl is not None else ():
            with suppress(OSError), draft.open("r+b") as file:
                if _lock(file):  # nobody is writing it
                    draft.unlink()


def _lock(file: BinaryIO) -> bool:
    """Lock a file for this process, unless another holds it; return whether it did.

    The lock ends with the process.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a disk without locks
        return True
    return True


def write_atomically(
    path: str | os.PathLike[str], content: bytes | Callable[[BinaryIO], object]
) -> None:
    """Write bytes, or the output of a function, to :func:`atomic_path`."""
    with atomic_path(path) as draft, draft.open("wb") as file:
        file.write(content) if isinstance(content, bytes) else content(file)


def write_files(folder: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write several files to an existing folder, each all or nothing.

    Raises:
        ConfigError: If one of them is a link; then nothing is written.
        OutputError: As :func:`atomic_path`; files before that one are written.
    """
    paths = (os.path.join(folder, name) for name in files)
    _refuse_odd(Path(folder), [path for path in paths if os.path.islink(path)])
    for name, content in files.items():
        write_atomically(Path(folder) / name, content)


def check_target(path: str | os.PathLike[str]) -> Path:
    """Return the path of an output file, with links followed.

    Raises:
        OutputError: If its folder is missing or read-only, or something else is there.
    """
    target = Path(os.path.realpath(path))
    folder = target.parent
    if not folder.is_dir():
        raise OutputError(
            f"cannot write {path}: the folder {folder} does not exist; create it first."
        )
    if not os.access(folder, os.W_OK):
        raise OutputError(
            f"cannot write {path}: the folder {folder} is not writable; choose another."
        )
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target
    except OSError as error:
        raise _explained(error, path) from error
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise OutputError(f"cannot write {path}: it is {kind}; choose another name.")
    return target


def _explained(error: OSError, path: str | os.PathLike[str]) -> OutputError:
    """Return ``error`` in one line with cause and cure."""
    if isinstance(error, OutputError):
        return error
    cause = error.strerror or str(error)
    cure = _CURES.get(error.errno or 0, "check the disk or write elsewhere")
    explained = OutputError(
        f"cannot write {path}: {cause}; {cure}. An earlier file there is unchanged."
    )
    explained.errno = error.errno
    return explained


def as_cell(value: Any) -> Any:
    """Return a value for a CSV file that spreadsheets do not read as a formula.

    Text that begins like a formula and is not a number is prefixed with an apostrophe,
    which spreadsheets do not show.

    Example:
        >>> as_cell("=1+1"), as_cell("-1.5"), as_cell("-CCO"), as_cell(None)
        ("'=1+1", '-1.5', "'-CCO", '')
    """
    if value is None:
        return ""
    if isinstance(value, str) and value[:1] in _FORMULA:
        try:
            float(value)
        except ValueError:
            return f"'{value}"
    return value


def from_cell(text: str) -> str:
    """Return the text of a cell of :func:`as_cell`."""
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULA else text
