"""Where prepared data goes, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from sekgnn.datasets.root import build_folder
from sekgnn.errors import OutputError
from sekgnn.files import cache_folder


def test_the_nearest_choice_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEKGNN_CACHE", str(tmp_path / "a"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert cache_folder(tmp_path / "c") == tmp_path / "c"
    assert cache_folder() == tmp_path / "a"
    monkeypatch.delenv("SEKGNN_CACHE")
    assert cache_folder() == tmp_path / "b" / "sekgnn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "sekgnn"


def test_a_folder_appears_only_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "x" / "y"

    def fail(draft: Path) -> None:
        (draft / "half").write_text("")
        assert not target.exists()
        raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        build_folder(target, fail)
    assert list((tmp_path / "x").iterdir()) == []
    build_folder(target, lambda draft: (draft / "whole").write_text("1"))
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["y"]
    assert (target / "whole").read_text() == "1"


def test_the_first_of_two_builders_wins(tmp_path: Path) -> None:
    target = tmp_path / "y"

    def slow(draft: Path) -> None:
        (draft / "who").write_text("slow")
        build_folder(target, lambda other: (other / "who").write_text("fast"))

    build_folder(target, slow)
    assert (target / "who").read_text() == "fast"
    assert [p.name for p in tmp_path.iterdir()] == ["y"]


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write to the cache folder .*file"):
        build_folder(tmp_path / "file" / "y", lambda draft: None)
