"""Folders of array files that are made one by one, and the manifest that lists them.

The manifest (JSON) describes the files and, once all are there, lists the name and
SHA-256 of each. It is written at the beginning, so that the same command can continue
after an interruption and another one is refused, and again at the end: a folder is
complete when its manifest says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from sekgnn.array_file import SUFFIX, Arrays, Content, Header, make_file
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.files import make_folder, visible_names, write_files
from sekgnn.parsing import parse_as

MANIFEST_FILE = "manifest.json"
FORMAT_VERSION = 2
"""Raise it when the layout of manifests changes."""


class Line(TypedDict):
    """The entry of a file in a manifest."""

    file: str
    sha256: str
    key: str


class Manifest(TypedDict):
    """The keys of every manifest, beside ``parameters`` and the lines of ``files``."""

    format: str
    format_version: int
    complete: bool


def line_of(header: Header) -> dict[str, Any]:
    """Return the line of a file: its header without what only readers of it need."""
    return {k: v for k, v in header.items() if k not in ("arrays", "columns")}


def make_listed_file(
    folder: Path,
    stem: str,
    identity: Any,
    make: Callable[[], Content],
    check: Callable[[Header, Arrays], object],
) -> dict[str, Any]:
    """Make a file of a folder unless it is there and whole, and return its line.

    ``identity``, JSON values, is all that its content depends on; the name ends with
    its digest, so that no file takes the place of another. ``make`` and ``check`` are
    the ``make`` and ``use`` of :func:`~sekgnn.array_file.make_file`.
    """
    text = json.dumps(identity, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    name = f"{stem}-{key[:8]}{SUFFIX}"

    def use(header: Header, arrays: Arrays) -> dict[str, Any]:
        check(header, arrays)
        return line_of(header)

    return make_file(folder / name, {"file": name, "key": key}, make, use)


def read_manifest(
    folder: Path, format: str, form: Any, complete: Any = None
) -> dict[str, Any]:
    """Return the manifest of a folder, of the ``TypedDict`` ``form``.

    A complete one must be of the form ``complete``, if that is given.

    Raises:
        GraphInputError: If it is missing, damaged or of another format.
    """
    file = folder / MANIFEST_FILE
    try:
        text = file.read_text(encoding="utf-8")
        head = parse_as(Manifest, text)
        known = head["format"], head["format_version"]
        if known == (format, FORMAT_VERSION):
            chosen = complete if head["complete"] and complete is not None else form
            return dict(parse_as(chosen, text))
        reason = f"it is {known[0]!r}, version {known[1]}"
    except (OSError, ValueError) as error:
        reason = str(error)
    raise GraphInputError(
        f"{file} cannot be read: {reason}; name a folder of {format!r}, version "
        f"{FORMAT_VERSION}, or encode again into a new one."
    )


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest, one file per line."""
    head = {"format_version": FORMAT_VERSION, **manifest}
    rows = ",\n  ".join(json.dumps(line, sort_keys=True) for line in head["files"])
    text = json.dumps({**head, "files": []}, indent=1, sort_keys=True)
    text = text.replace('"files": []', f'"files": [\n  {rows}\n ]')
    write_files(folder, {MANIFEST_FILE: f"{text}\n".encode()})


def complete_folder(
    folder: Path, manifest: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]
) -> None:
    """Write the manifest of a complete folder; remove what was made for another."""
    write_manifest(folder, {**manifest, "complete": True, "files": lines})
    kept = {line["file"] for line in lines}
    for file in folder.glob(f"*{SUFFIX}"):
        if file.name not in kept:
            file.unlink()


def begin_folder(folder: Path, manifest: Mapping[str, Any], form: Any) -> None:
    """Make a folder, or check that it holds the same work, begun earlier.

    A complete folder is left as it is; ``form`` is a ``TypedDict`` of the manifest.

    Raises:
        ConfigError: If it holds something else.
        OutputError: If it cannot be made.
    """
    held = visible_names(make_folder(folder))
    if MANIFEST_FILE in held:
        before = read_manifest(folder, manifest["format"], form)
        for name, value in manifest["parameters"].items():
            old = before["parameters"].get(name)
            if old != value:
                raise ConfigError(
                    f"{folder} was made with other {name} ({old!r}, not {value!r}); "
                    "choose another output, or remove it."
                )
        if before["complete"]:
            return
    elif held:
        raise ConfigError(
            f"{folder} is not empty and holds no {MANIFEST_FILE}; choose another "
            "output."
        )
    write_manifest(folder, {**manifest, "complete": False, "files": []})
