"""Caches that do not leak, threads that do not disturb forks, and a small file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.training.helpers import records, write_lines

from sekgnn.files import cache_folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory,
              monkeypatch: pytest.MonkeyPatch) -> Path:  # fmt: skip
    """Keep encodings of tests out of the user's cache; share compiled kernels."""
    folder = tmp_path_factory.mktemp("cache")
    kernels = cache_folder() / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    (folder / "kernels").symlink_to(kernels)
    monkeypatch.setenv("SEKGNN_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Return a file of thirty small graphs with all kinds of targets."""
    return write_lines(tmp_path / "data.jsonl", records())
