"""Colour counts as features for scikit-learn, and the kernel they span."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sekgnn.checks import check_positive
from sekgnn.digest import Colours, number_colours
from sekgnn.errors import GraphInputError
from sekgnn.wl.batch import as_batch
from sekgnn.wl.by_name import make_test
from sekgnn.wl.refinement import Refinement, WLTest, refine


class WLFeatures(TransformerMixin, BaseEstimator):
    r"""Count the colours of every graph: the features of the Weisfeiler-Lehman kernel.

    Column c of a graph is the number of its nodes (or pairs) whose colour, in one of
    the rounds 0..R, is c. Colours that no training graph has are left out when
    transforming. Colours are canonical, so fitting and transforming may happen in
    different processes.

    Args:
        test: A name of :data:`sekgnn.wl.TESTS`, or a test.
        rounds: R.
        node_labels: Name of the attribute that holds node labels, or ``None``.
        edge_labels: Likewise for edges.
        parameters: Parameters of the test, when it is given by name.

    Attributes:
        colours_: The colours of the columns, ``[C, 3]`` as (round, two words).

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
        """Keep the parameters as they are, as scikit-learn asks."""
        self.test = test
        self.rounds = rounds
        self.node_labels = node_labels
        self.edge_labels = edge_labels
        self.parameters = parameters

    def fit(self, X: Sequence[Any], y: Any = None) -> WLFeatures:
        """Learn which colours there are."""
        self._learn(X)
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> sp.csr_array:
        """Learn the colours and count them, in one refinement."""
        return self._count(self._learn(X))

    def transform(self, X: Sequence[Any]) -> sp.csr_array:
        """Return the colour counts, int64 ``[G, C]``, sparse."""
        check_is_fitted(self)
        return self._count(self._refine(X))

    def _refine(self, graphs: Sequence[Any]) -> Refinement:
        batch = as_batch(
            graphs, node_labels=self.node_labels, edge_labels=self.edge_labels
        )
        rounds = check_positive("rounds", self.rounds, 0)
        test = make_test(self.test, **(self.parameters or {}))
        return refine(test, batch, max_rounds=rounds)

    def _learn(self, graphs: Sequence[Any]) -> Refinement:
        if not len(graphs):
            raise GraphInputError("there are no graphs to learn colours from.")
        run = self._refine(graphs)
        self.colours_ = np.concatenate([kept for kept, _ in self._rounds(run)])
        self.n_features_out_ = len(self.colours_)
        return run

    def _rounds(self, run: Refinement) -> Iterator[tuple[Colours, NDArray[np.int64]]]:
        """Yield (round, two words) of each colour and the objects' classes, per round.

        There are exactly ``rounds + 1`` of them: stable colours are refined, too.
        """
        history = list(run.history)
        for round in range(self.rounds + 1):
            if round == len(history):
                history.append(run.colouring.step(history[-1]))
            kept, classes = number_colours(history[round])
            yield np.insert(kept, 0, round, axis=1), classes

    def _count(self, run: Refinement) -> sp.csr_array:
        column = {row.tobytes(): i for i, row in enumerate(self.colours_)}
        ptr = run.colouring.ptr
        graph = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
        rows, cols = [], []
        for kept, classes in self._rounds(run):
            place = np.array([column.get(row.tobytes(), -1) for row in kept], np.int64)
            found = place[classes]
            rows.append(graph[found >= 0])
            cols.append(found[found >= 0])
        row, col = np.concatenate(rows), np.concatenate(cols)
        ones = np.ones(row.size, dtype=np.int64)
        shape = (ptr.size - 1, len(self.colours_))
        counts = sp.coo_array((ones, (row, col)), shape=shape).tocsr()
        small = np.int32 if counts.nnz < 2**31 else np.int64  # what scikit-learn takes
        places = counts.indices.astype(small), counts.indptr.astype(small)
        return sp.csr_array((counts.data, *places), shape=shape)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name per column: the round and the colour's digest."""
        check_is_fitted(self)
        return np.array(
            [f"round{r}_{int(a):016x}{int(b):016x}" for r, a, b in self.colours_],
            dtype=object,
        )


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
    left = counts[: len(graphs)]
    right = left if others is None else counts[len(graphs) :]
    if normalize:
        left, right = _unit_rows(left), _unit_rows(right)
    product: NDArray[np.float64] = (left @ right.T).toarray()
    return product


def _unit_rows(counts: sp.csr_array) -> sp.csr_array:
    """Return the rows at length 1; a graph without nodes stays 0."""
    length = np.sqrt(counts.multiply(counts).sum(axis=1))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return sp.csr_array(sp.diags_array(scale) @ counts)
