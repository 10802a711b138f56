"""The memory of a verdict is measured, where the system tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.brec_memory import peak_memory

from sekgnn.graphs import csl_graph
from sekgnn.wl import ThreeFWL

PAIR = csl_graph(41, 2), csl_graph(41, 3)


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="only Linux tells"
)
def test_triples_take_more_than_nodes() -> None:
    """3-FWL keeps at least one colour of 16 bytes for each of 2 n³ triples.

    1-WL on so few nodes may fit into memory that the process has already.
    """
    nodes, triples = (peak_memory(key, *PAIR) for key in ("1wl", "3fwl"))
    assert 0 <= nodes < triples
    assert 2 * 41**3 * 16 <= triples <= ThreeFWL().memory([41, 41]) * 2
