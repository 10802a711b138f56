"""The memory of a verdict is measured, where the system tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.brec.exact_cases import NodeNumbers

from sekgnn.brec import peak_memory as module
from sekgnn.brec.board import BOARD
from sekgnn.brec.peak_memory import peak_memory
from sekgnn.graphs import csl_graph
from sekgnn.wl import OneWL, ThreeFWL

PAIR = csl_graph(41, 2), csl_graph(41, 3)
linux = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="only Linux tells"
)


@linux
def test_triples_take_more_than_nodes() -> None:
    """3-FWL keeps at least one colour of 16 bytes for each of 2 n³ triples.

    1-WL on so few nodes may fit into memory that the process has already.
    """
    nodes, triples = (peak_memory(test, *PAIR) for test in (OneWL(), ThreeFWL()))
    assert nodes is not None and triples is not None
    assert 0 <= nodes < triples
    assert 2 * 41**3 * 16 <= triples <= ThreeFWL().memory([41, 41]) * 2


@linux
def test_a_test_with_encodings_survives_the_journey() -> None:
    entry = next(entry for entry in BOARD if entry.key == "marking_internal2")
    assert peak_memory(entry.test, *PAIR) is not None


def test_none_where_it_cannot_be_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that a new process does not know; a system that does not tell."""
    assert peak_memory(NodeNumbers(), *PAIR) is None
    monkeypatch.setattr(module, "_STATUS", tmp_path / "status")
    assert peak_memory(OneWL(), *PAIR) is None
