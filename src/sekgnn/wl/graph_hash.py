"""A canonical hash of a graph, as fine as a test can see."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sekgnn.errors import ConfigError
from sekgnn.wl.batch import as_batch
from sekgnn.wl.colouring import WLTest
from sekgnn.wl.isomorphism import Isomorphism
from sekgnn.wl.refinement import refine
from sekgnn.wl.registry import make_test


def wl_hash(
    graph: Any,
    test: str | WLTest = "1wl",
    *,
    node_labels: Any = None,
    edge_labels: Any = None,
    threads: int | None = None,
    **parameters: Any,
) -> str:
    """Return a hash that two graphs share exactly when the test cannot separate them.

    It does not depend on the order of nodes, the process, the machine or the version
    of this library (a change would get a new prefix than ``wl1:``). Hashes of
    different tests, or of other parameters, are never equal.

    The hash is taken of the round that confirms the graph's own stable colouring: two
    graphs that agree there would agree for ever if refined together.

    Args:
        graph: As in :func:`~sekgnn.wl.comparison.compare`.
        test: Likewise; not ``"isomorphism"``, whose canonical form is igraph's.
        node_labels: Likewise.
        edge_labels: Likewise.
        threads: Likewise.
        parameters: Likewise.

    Raises:
        ConfigError: If the test is unknown, or is isomorphism.

    Example:
        >>> from sekgnn.graphs import cycle_graph
        >>> renamed = cycle_graph(6).relabel([3, 1, 2, 0, 5, 4])
        >>> wl_hash(renamed) == wl_hash(cycle_graph(6))
        True
    """
    chosen = make_test(test, **parameters)
    if isinstance(chosen, Isomorphism):
        raise ConfigError(
            "the canonical form of isomorphism may change with igraph's version; hash "
            "with another test, or compare with isomorphism."
        )
    batch = as_batch([graph], node_labels=node_labels, edge_labels=edge_labels)
    run = refine(chosen, batch, keep_history=False, threads=threads)
    digest = hashlib.sha256(json.dumps(chosen.to_dict(), sort_keys=True).encode())
    digest.update(f"|{run.rounds}|{batch.has_node_labels}|".encode())
    digest.update(str(batch.has_edge_labels).encode())
    digest.update(run.digests[-1, 0].astype("<u8").tobytes())
    return f"wl1:{digest.hexdigest()[:32]}"
