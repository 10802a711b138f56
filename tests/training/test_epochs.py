"""Checkpoints are written whole or not at all, and reading one runs no code."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from sekgnn.errors import ModelFileError, OutputError
from sekgnn.training.epochs import read_checkpoint, write_checkpoint

CONTENT = {
    "model": {"w": torch.arange(3.0)},
    "optimizer": {"state": {}, "param_groups": []},
    "best": {"w": torch.arange(3.0)},
    "curves": {"lr": [0.1, 0.1], "train_loss": [0.3, float("nan")]},
    "seconds": 1.5,
    "scale": [1.0],
}


class Trap:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "last.ckpt"
    write_checkpoint(CONTENT, path)
    return path


def test_what_is_written_comes_back(file: Path) -> None:
    saved = read_checkpoint(file)
    assert torch.equal(saved["model"]["w"], torch.arange(3.0))
    assert saved["seconds"] == 1.5
    assert [p.name for p in file.parent.iterdir()] == [file.name]
    file.unlink()
    with pytest.raises(ModelFileError, match="there is no checkpoint"):
        read_checkpoint(file)


@pytest.mark.parametrize("keep", [0, 1, 100, -1, -200])
def test_a_cut_file_is_refused(file: Path, keep: int) -> None:
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(ModelFileError, match=r"damaged.*remove it to start"):
        read_checkpoint(file)


@pytest.mark.parametrize("content", [b"hello", b"PK\x03\x04 no zip", b"\x80\x04K\x01."])
def test_foreign_files_are_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"last\.ckpt"):
        read_checkpoint(file)


@pytest.mark.parametrize(
    "content", [[1, 2], {"epoch": 3}, torch.ones(2), {**CONTENT, "more": 1}]
)
def test_files_that_hold_something_else_are_refused(file: Path, content: Any) -> None:
    torch.save(content, file)
    with pytest.raises(ModelFileError, match="not a checkpoint of a run"):
        read_checkpoint(file)


@pytest.mark.parametrize("zipped", [True, False])
def test_code_in_a_file_is_not_run(file: Path, zipped: bool) -> None:
    trap = Trap(file.parent / "caught")
    content = {**CONTENT, "seconds": trap}
    if zipped:
        torch.save(content, file)
    else:
        file.write_bytes(pickle.dumps(content))
    with pytest.raises(ModelFileError, match="was not written by sekgnn"):
        read_checkpoint(file)
    assert not trap.path.exists()
    pickle.loads(pickle.dumps(trap))  # the trap works
    assert trap.path.exists()


def no_space(*_: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_keeps_the_older_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    before = file.read_bytes()
    monkeypatch.setattr(os, call, no_space)
    with pytest.raises(OutputError, match="No space left"):
        write_checkpoint({**CONTENT, "seconds": 2.5}, file)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_a_disk_that_fills_up_while_writing_keeps_the_older_file(file: Path) -> None:
    """The kernel refuses bytes beyond a limit, in the middle of torch's writing."""
    import resource
    import signal

    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(OutputError, match="cannot write"):
            write_checkpoint({**CONTENT, "more": torch.ones(100_000)}, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == [file.name]
