"""Training graphs that look alike: no network explodes, on them or on odd ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from sekgnn.datasets import Split, networkx_task
from sekgnn.errors import GraphInputWarning
from sekgnn.training.config import RunConfig
from sekgnn.training.training import Training


def cubic(i: int) -> Any:
    return nx.random_regular_graph(3, 18, seed=i)


def strongly_regular(i: int) -> Any:
    parts = [
        lambda: nx.line_graph(nx.complete_bipartite_graph(4, 4)),
        nx.petersen_graph,
        lambda: nx.line_graph(nx.complete_graph(6)),
    ]
    return nx.convert_node_labels_to_integers(parts[i % 3]())


def rook(i: int) -> Any:
    return strongly_regular(0)


def circulant(i: int) -> Any:
    return nx.circulant_graph(8 + i % 9, [1, 2 + i % 3])


def nearly_cubic(i: int) -> Any:
    return nx.gnp_random_graph(18, 0.2, seed=i) if i % 30 == 7 else cubic(i)


ODD = [
    nx.random_regular_graph(5, 18, seed=0),
    nx.disjoint_union(nx.cycle_graph(9), nx.path_graph(9)),
    nx.star_graph(17),
    nx.empty_graph(1),
    nx.empty_graph(6),
    nx.complete_graph(12),
    nx.star_graph(60),
]


def squares(graph: Any) -> float:
    return 10 * float(np.mean(list(nx.square_clustering(graph).values())))


def of_sizes(train: int, val: int, test: int) -> Split:
    cuts = np.arange(train + val + test)
    return Split(cuts[:train], cuts[train : train + val], cuts[train + val :])


def standardised(trained: Any, part: str) -> torch.Tensor:
    goal = trained.note
    found = goal.predictions(trained.evaluate(part).out)
    out: torch.Tensor = (found - goal.mean[0]) / goal.scale[0]
    return out


@pytest.mark.filterwarnings("ignore::sekgnn.errors.GraphInputWarning")
@pytest.mark.parametrize(
    "family", [cubic, strongly_regular, rook, circulant, nearly_cubic]
)
@pytest.mark.parametrize("more", [{}, {"pooled": "frozen"}, {"model": "ridge"}])
def test_predictions_are_bounded_by_the_training_targets(
    family: Callable[[int], Any], more: dict[str, Any]
) -> None:
    """Of graphs like them within 20 standard deviations, of any others within 1e4."""
    graphs = [family(i) for i in range(110)]
    graphs[100:100] = ODD
    draw = np.random.default_rng(0)
    y = [squares(graph) + 0.1 * draw.normal() for graph in graphs]
    config = RunConfig(epochs=12, keep="last", lr=3e-3, **more)
    split = of_sizes(100, len(ODD), 10)
    training = Training(config, networkx_task(graphs, y), splits=[split])
    trained = training.fit()
    assert standardised(trained, "test").abs().max() < 20
    assert standardised(trained, "val").abs().max() < 1e4
    assert max(trained.curves["val_loss"]) < 1e7


def test_a_validation_loss_that_is_off_by_far_is_noted_with_its_cause() -> None:
    graphs = [cubic(i) for i in range(50)] + ODD
    data = networkx_task(graphs, [squares(graph) for graph in graphs])
    split = of_sizes(50, len(ODD), 0)
    config = RunConfig(epochs=3, hidden_channels=8)
    with pytest.warns(GraphInputWarning, match="unlike all training graphs"):
        Training(config, data, splits=[split]).fit()


def test_regular_graphs_are_learned_with_defaults() -> None:
    graphs = [cubic(i) for i in range(480)]
    data = networkx_task(graphs, [squares(graph) for graph in graphs])
    split = of_sizes(380, 50, 50)
    training = Training(RunConfig(epochs=20), data, splits=[split])
    trained = training.fit()
    r2 = trained.evaluate().metrics(trained.note)["r2"]
    assert r2 > 0.85
    assert max(trained.curves["val_loss"]) < 10
