"""Each equation of the paper stands in one place of the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "sekgnn"
PLACES = {
    1: "encoding/reference.py",
    2: "wl/hop_wl.py",
    3: "wl/sek.py",
    4: "wl/sek.py",
    5: "wl/sek.py",
    6: "nn/sek_conv.py",
}


@pytest.mark.parametrize("number", PLACES)
def test_an_equation_is_found_once(number: int) -> None:
    files = [
        path.relative_to(SOURCE).as_posix()
        for path in sorted(SOURCE.rglob("*.py"))
        for _ in re.findall(rf"Eq\. {number}\b", path.read_text("utf-8"))
    ]
    assert files == [PLACES[number]]
