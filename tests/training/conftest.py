"""Caches that do not leak, threads that do not disturb forks, and a small file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.training.helpers import records, write_lines


@pytest.fixture(autouse=True)
def one_thread(own_cache: Path) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Return a file of thirty small graphs with all kinds of targets."""
    return write_lines(tmp_path / "data.jsonl", records())
