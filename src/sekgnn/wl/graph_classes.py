"""Sorting graphs into the classes of a test: a whole list, or by a canonical hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.errors import ConfigError
from sekgnn.wl.batch import as_batch
from sekgnn.wl.by_name import make_test
from sekgnn.wl.colouring import WLTest
from sekgnn.wl.isomorphism import Isomorphism
from sekgnn.wl.refinement import refine


def partition(
    graphs: Sequence[Any],
    test: str | WLTest = "sek",
    *,
    node_labels: Any = None,
    edge_labels: Any = None,
    threads: int | None = None,
    **parameters: Any,
) -> NDArray[np.int64]:
    """Sort graphs into the classes that a test cannot tell apart.

    Graphs and all arguments are those of :func:`~sekgnn.wl.verdict.compare`.

    Returns:
        The class of every graph, int64 ``[G]``, numbered from 0 in order of appearance.

    Example:
        >>> from sekgnn.graphs import cycle_graph, path_graph
        >>> graphs = [cycle_graph(6), path_graph(6), cycle_graph(6)]
        >>> partition(graphs, "1wl").tolist()
        [0, 1, 0]
    """
    chosen = make_test(test, **parameters)
    batch = as_batch(graphs, node_labels=node_labels, edge_labels=edge_labels)
    run = refine(chosen, batch, keep_history=False, threads=threads)
    return run.graph_classes()


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

    Arguments are those of :func:`~sekgnn.wl.verdict.compare`; the test must not be
    ``"isomorphism"``, whose canonical form is igraph's.

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
    content = json.dumps(chosen.to_dict(), sort_keys=True)
    digest = hashlib.sha256(content.encode())
    digest.update(f"|{run.rounds}|{batch.has_node_labels}|".encode())
    digest.update(str(batch.has_edge_labels).encode())
    digest.update(run.digests[-1, 0].astype("<u8").tobytes())
    return f"wl1:{digest.hexdigest()[:32]}"
