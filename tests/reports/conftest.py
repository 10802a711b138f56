"""What tests of figures look at: the figures, before they become pixels."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Return the list of figures that are saved from now on."""
    saved: list[Figure] = []
    save = Figure.savefig

    def keep(self: Figure, *args: Any, **options: Any) -> None:
        save(self, *args, **options)
        saved.append(self)

    monkeypatch.setattr(Figure, "savefig", keep)
    return saved
