"""Comparing graphs: two with a reason, or a whole list at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.wl.batch import as_batch
from sekgnn.wl.colouring import WLTest
from sekgnn.wl.refinement import refine
from sekgnn.wl.registry import make_test
from sekgnn.wl.verdict import Verdict


def compare(
    first: Any,
    second: Any,
    test: str | WLTest = "sek",
    *,
    node_labels: Any = None,
    edge_labels: Any = None,
    names: tuple[str, str] = ("first", "second"),
    threads: int | None = None,
    **parameters: Any,
) -> Verdict:
    """Ask a test whether it separates two graphs, and why.

    Args:
        first: Any graph: PyG ``Data``, networkx, rdkit ``Mol``, graph6 text, ...
        second: The other.
        test: A name of :data:`sekgnn.wl.TESTS`, or a test.
        node_labels: Name of the attribute that holds node labels (``"x"`` of a PyG
            ``Data``); labels of a ``LabelledGraph`` and atoms of a ``Mol`` always
            count.
        edge_labels: Likewise for edges (``"edge_attr"``).
        names: What to call the graphs.
        threads: Threads; ``None`` for all usable cores.
        parameters: Of the test, when it is given by name.

    Raises:
        GraphInputError: If a graph is wrong, or too large for the test.
        ConfigError: If the test or a parameter is unknown.

    Example:
        >>> from sekgnn.graphs import rook_graph, shrikhande_graph
        >>> compare(rook_graph(4), shrikhande_graph(), "2fwl").separated
        False
        >>> compare(rook_graph(4), shrikhande_graph(), "sek").separated
        True
    """
    chosen = make_test(test, **parameters)
    batch = as_batch([first, second], node_labels=node_labels, edge_labels=edge_labels)
    return Verdict(refine(chosen, batch, threads=threads), names)


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

    Args:
        graphs: As in :func:`compare`.
        test: As in :func:`compare`.
        node_labels: As in :func:`compare`.
        edge_labels: As in :func:`compare`.
        threads: As in :func:`compare`.
        parameters: As in :func:`compare`.

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
