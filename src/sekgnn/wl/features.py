"""Colour counts as features for scikit-learn, and the kernel they span."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sekgnn.checks import check_positive
from sekgnn.digest import Colours, colour_text, number_colours
from sekgnn.errors import GraphInputError
from sekgnn.wl.refinement import Batch, WLTest, refine
from sekgnn.wl.verdict import make_test


class WLFeatures(TransformerMixin, BaseEstimator):
    r"""Count the colours of every graph: the features of the Weisfeiler-Lehman kernel.

    Column c of a graph is the number of its nodes (or pairs) whose colour, in one of
    the rounds 0..R, is c. Colours of no training graph are ignored when transforming.
    Colours are canonical, so fitting and transforming may happen in different
    processes.

    Args:
        test: A name of :data:`sekgnn.wl.TESTS`, or a test.
        rounds: R.
        node_labels: Name of the attribute that holds node labels, or ``None``.
        edge_labels: Likewise for edges.
        parameters: Parameters of the test, when it is given by name.

    Attributes:
        colours_: The colours of the columns, uint64 ``[C_r, 2]`` for each round r.

    Example:
        >>> from sekgnn.graphs import cycle_graph, path_graph
        >>> graphs = [cycle_graph(3), path_graph(3)]
        >>> WLFeatures(rounds=1).fit_transform(graphs).toarray()
        array([[3, 3, 0],
               [3, 1, 2]])
    """

    def __init__(
        self,
        test: str | WLTest = "1wl",
        rounds: int = 3,
        node_labels: str | None = None,
        edge_labels: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        """Keep the parameters unchanged, as scikit-learn requires."""
        self.test = test
        self.rounds = rounds
        self.node_labels = node_labels
        self.edge_labels = edge_labels
        self.parameters = parameters

    def fit(self, X: Sequence[Any], y: Any = None) -> WLFeatures:
        """Learn the colours of the columns."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> sp.csr_array:
        """Learn the colours and count them, in one refinement."""
        if not len(X):
            raise GraphInputError("there are no graphs to learn colours from.")
        history, ptr = self._refine(X)
        self.colours_ = [number_colours(colours)[0] for colours in history]
        return self._count(history, ptr)

    def transform(self, X: Sequence[Any]) -> sp.csr_array:
        """Return the colour counts, int64 ``[G, C]``, sparse."""
        check_is_fitted(self)
        return self._count(*self._refine(X))

    def _refine(self, graphs: Sequence[Any]) -> tuple[list[Colours], NDArray[np.int64]]:
        """Return the colours of rounds 0..R, and the first object of each graph.

        Stable colours are refined, too, so there are always R + 1 rounds.
        """
        batch = Batch.of(
            graphs, node_labels=self.node_labels, edge_labels=self.edge_labels
        )
        rounds = check_positive("rounds", self.rounds, 0)
        test = make_test(self.test, **(self.parameters or {}))
        run = refine(test, batch, max_rounds=rounds)
        history = list(run.history)
        while len(history) <= rounds:
            history.append(run.colouring.step(history[-1]))
        return history, run.colouring.ptr

    def _count(self, history: list[Colours], ptr: NDArray[np.int64]) -> sp.csr_array:
        graph = np.repeat(np.arange(ptr.size - 1, dtype=np.int32), np.diff(ptr))
        blocks = []
        for learned, colours in zip(self.colours_, history, strict=True):
            _, numbers = number_colours(np.concatenate([learned, colours]))
            column = numbers[len(learned) :].astype(np.int32)
            seen = column < len(learned)
            ones = np.ones(np.count_nonzero(seen), dtype=np.int64)
            shape = ptr.size - 1, len(learned)
            blocks.append(sp.coo_array((ones, (graph[seen], column[seen])), shape))
        counts: sp.csr_array = sp.hstack(blocks, format="csr")
        return counts

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name per column: the round and the colour's digest."""
        check_is_fitted(self)
        names = [
            f"round{round}_{colour_text(colour)}"
            for round, learned in enumerate(self.colours_)
            for colour in learned
        ]
        return np.array(names, dtype=object)


def kernel_matrix(
    graphs: Sequence[Any],
    others: Sequence[Any] | None = None,
    *,
    normalize: bool = True,
    **parameters: Any,
) -> NDArray[np.float64]:
    r"""Return the Weisfeiler-Lehman subtree kernel, of any test.

    .. math:: k(G, H) = \sum_{r=0}^{R} \sum_c n_{r,c}(G)\, n_{r,c}(H)

    Args:
        graphs: G graphs.
        others: The columns, H graphs; ``None`` for the same ones.
        normalize: Divide by :math:`\sqrt{k(G, G)\, k(H, H)}`.
        parameters: Of :class:`WLFeatures`.

    Returns:
        float64 ``[G, H]``, for ``SVC(kernel="precomputed")``.

    Example:
        >>> from sekgnn.graphs import cycle_graph, path_graph
        >>> kernel_matrix([cycle_graph(4), path_graph(4)], rounds=1, normalize=False)
        array([[32., 24.],
               [24., 24.]])
    """
    both = [*graphs, *(others or [])]
    counts = WLFeatures(**parameters).fit_transform(both).astype(np.float64)
    if normalize:
        length = np.sqrt(counts.multiply(counts).sum(axis=1))
        length[length == 0] = 1  # graphs without nodes stay 0
        counts = sp.csr_array(sp.diags_array(1 / length) @ counts)
    left = counts[: len(graphs)]
    right = left if others is None else counts[len(graphs) :]
    product: NDArray[np.float64] = (left @ right.T).toarray()
    return product
