"""Writing is all or nothing, whatever interrupts it, and says why it failed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from sekgnn.errors import OutputError
from sekgnn.files import atomic_path, write_atomically


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def no_space(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_writes_and_replaces(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    for content in (b"old", b"new"):
        write_atomically(file, lambda f, c=content: f.write(c))  # type: ignore[misc]
        assert file.read_bytes() == content
    assert names(tmp_path) == ["a.txt"]
    with atomic_path(tmp_path / "figure.png") as draft:
        assert (draft.suffix, draft.parent) == (".png", tmp_path)
        assert not (tmp_path / "figure.png").exists()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, OSError])
def test_interrupted_in_the_middle(tmp_path: Path, error: type[BaseException]) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"old")

    def writer(f: BinaryIO) -> None:
        f.write(b"half of the new")
        f.flush()
        raise error("stop")

    with pytest.raises(error, match="stop"):
        write_atomically(file, writer)
    assert file.read_bytes() == b"old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_disk_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"old")
    monkeypatch.setattr(os, call, no_space)
    with pytest.raises(OutputError, match=r"a\.txt: No space.*; free some") as caught:
        write_atomically(file, lambda f: f.write(b"new"))
    assert caught.value.errno == errno.ENOSPC
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == b"old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_disk_full_for_real(tmp_path: Path) -> None:
    def writer(f: BinaryIO) -> None:
        with open("/dev/full", "wb") as full:  # every write fails
            full.write(b"x")

    with pytest.raises(OutputError, match="No space left"):
        write_atomically(tmp_path / "a.txt", writer)
    assert names(tmp_path) == []


def test_content_is_on_disk_before_the_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    real: dict[str, Any] = {"fsync": os.fsync, "replace": os.replace}

    def spy(name: str) -> Any:
        def call(*args: Any) -> Any:
            calls.append(name)
            return real[name](*args)

        return call

    for name in real:
        monkeypatch.setattr(os, name, spy(name))
    write_atomically(tmp_path / "a.txt", lambda f: f.write(b"x"))
    assert calls == ["fsync", "replace"]


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, words in (
        (tmp_path / "nowhere" / "a.txt", "create"),
        (tmp_path, "it is a folder"),
        (tmp_path / "pipe", "not a regular file"),
    ):
        with pytest.raises(OutputError, match=words):
            write_atomically(path, lambda f: f.write(b"x"))
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("name", ["a" * 251 + ".txt", "é" * 127, "a" * 300])
def test_long_names(tmp_path: Path, name: str) -> None:
    """What the system can name can be written; the rest is explained."""
    if len(os.fsencode(name)) <= 255:
        write_atomically(tmp_path / name, lambda f: f.write(b"x"))
        assert names(tmp_path) == [name]
        return
    with pytest.raises(OutputError, match="shorter name"):
        write_atomically(tmp_path / name, lambda f: f.write(b"x"))
    assert names(tmp_path) == []


def test_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "a.txt")
    write_atomically(tmp_path / "link.txt", lambda f: f.write(b"x"))
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "a.txt").read_bytes() == b"x"


def test_many_writers_at_once(tmp_path: Path) -> None:
    """Some whole content wins."""
    file = tmp_path / "a.txt"
    contents = [bytes([65 + i]) * 100_000 for i in range(8)]
    threads = [
        threading.Thread(
            target=write_atomically, args=(file, lambda f, c=content: f.write(c))
        )
        for content in contents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read_bytes() in contents
    assert names(tmp_path) == ["a.txt"]


def test_drafts_that_killed_processes_left_are_removed(tmp_path: Path) -> None:
    """Those of the same file, which nobody writes any more, and nothing else."""
    file = tmp_path / "model.npz"
    code = (
        "import os, signal, sys; from sekgnn.files import atomic_path\n"
        f"with atomic_path({str(file)!r}) as draft:\n"
        "    draft.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    drafts = names(tmp_path)
    assert len(drafts) == 1
    others = [
        ".notes.tmp",
        ".model.tmp.npz",
        ".model.0123456789abcdef.tmp.txt",
        ".other.0123456789abcdef.tmp.npz",
        ".model.0123456789abcdeg.tmp.npz",
    ]
    for name in others:
        (tmp_path / name).write_text("mine")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / drafts[0]).write_text("mine")
    with atomic_path(file) as draft:
        draft.write_text("first")
        write_atomically(file, lambda f: f.write(b"second"))  # leaves the first alone
        assert draft.read_text() == "first"
    assert file.read_text() == "first"
    assert names(tmp_path) == sorted([*others, "below", "model.npz"])
    assert names(tmp_path / "below") == drafts
