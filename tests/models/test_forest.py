"""A forest of tensors is scikit-learn's; files hold whole trees or are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from tests.nn.helpers import SPEC, dressed, relabel
from tests.small_graphs import empty_graph
from tests.transforms.helpers import mixed_graphs
from torch import Tensor
from torch_geometric.data import Batch

from sekgnn.errors import ModelFileError
from sekgnn.graphs import csl_graph, cycle_graph, path_graph, petersen_graph
from sekgnn.models import Forest, load_model, save_model
from sekgnn.models.forest import DecisionTrees

FIXED: dict[str, Any] = {"max_features": "sqrt", "random_state": 3, "n_estimators": 9}


def forest(out_channels: int = 2, **options: Any) -> Forest:
    return Forest(
        3, out_channels, SPEC, edge_channels=2, n_estimators=9, **options
    ).double()


def table(model: Forest, rows: int = 60) -> Tensor:
    """Return vectors with many ties."""
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(rows, model.features.num_features, generator=draw).double()
    x[:, ::2] = x[:, ::2].round()
    return x


def near(model: Forest, x: Tensor) -> Tensor:
    """Return vectors at the thresholds, and at the next numbers on both sides."""
    trees = model.trees
    asked = trees.left != torch.arange(len(trees.left))
    step = x[:1].repeat(int(asked.sum()), 1)
    at = trees.threshold[asked].float()
    rows = []
    for side in (-torch.inf, torch.inf):
        beside = torch.nextafter(at, torch.full_like(at, side))
        for values in (at, beside):
            rows.append(
                step.scatter(1, trees.feature[asked].long()[:, None],
                             values.double()[:, None])
            )  # fmt: skip
    return torch.cat([x, *rows])


def test_a_stump_by_hand() -> None:
    """At the threshold, also after rounding to float32, one goes to the left."""
    trees = DecisionTrees(2, 1)
    tree = {
        "feature": torch.tensor([1, 0, 0]),
        "threshold": torch.tensor([1.0, 0.0, 0.0]),
        "left": torch.tensor([1, 1, 2]),
        "right": torch.tensor([2, 1, 2]),
        "value": torch.tensor([[0.0], [-3.0], [5.0]]),
        "start": torch.tensor([0]),
        "column": torch.tensor([0]),
    }
    trees.set_trees([tree])
    x = torch.tensor([[9, 1.0], [9, 1 + 1e-12], [-9, 1.001], [9, -7]]).double()
    assert trees(x).flatten().tolist() == [-3.0, -3.0, 5.0, -3.0]
    assert trees(x[:0]).shape == (0, 1)


def test_classes_are_those_of_scikit_learn() -> None:
    """Probabilities, though the trees are grown on indicators of the classes."""
    model = forest(3)
    x = table(model)
    y = (3 * x[:, 1].sigmoid() + 0.3 * x[:, 3]).long().clamp(0, 2)
    model.grow(x, y, torch.ones(len(y), 1, dtype=torch.bool), "softmax", 3)
    theirs = ExtraTreesClassifier(**FIXED).fit(x.numpy(), y.numpy())
    more = near(model, x)
    found = model.trees(more)
    np.testing.assert_allclose(found, theirs.predict_proba(more.numpy()), atol=1e-12)
    back = model.link_outputs(found).softmax(1)
    torch.testing.assert_close(back, found, rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"max_depth": 2}, {"min_samples_leaf": 4}])
@pytest.mark.parametrize("missing", [False, True])
def test_numbers_are_those_of_scikit_learn(
    options: dict[str, int], missing: bool
) -> None:
    """Of all targets together, or each of the rows where it is present."""
    model = forest(2, **options)
    x = table(model)
    y = torch.stack([x[:, 1].square(), x[:, 5].sin() + 2], dim=1)
    mask = torch.ones(60, 2, dtype=torch.bool)
    if missing:
        mask[::4, 1] = False
    model.grow(x, y, mask, "none", 3)
    more = near(model, x)
    theirs = []
    for here, columns in (
        [(mask[:, c], [c]) for c in range(2)] if missing else [(mask[:, 0], [0, 1])]
    ):
        grown = ExtraTreesRegressor(**FIXED, **options)
        grown.fit(x[here].numpy(), y[here][:, columns].squeeze(1).numpy())
        theirs.append(grown.predict(more.numpy()).reshape(len(more), -1))
    np.testing.assert_allclose(
        model.trees(more), np.concatenate(theirs, axis=1), atol=1e-12
    )


def test_labels_nobody_knows_have_even_odds() -> None:
    model = forest(2)
    x, y = table(model), torch.zeros(60, 2)
    y[::2] = 1
    mask = torch.tensor([True, False]).expand(60, 2)
    model.grow(x, y, mask, "sigmoid", 3)
    out = model.link_outputs(model.trees(x)).sigmoid()
    assert out[:, 1].tolist() == [0.5] * 60
    torch.testing.assert_close(out[:, 0], y[:, 0].double())  # each row has its leaf


def grown(level: str = "graph") -> tuple[Forest, Any]:
    """Return a forest that was grown on a few graphs, and these."""
    graphs = [g for g in mixed_graphs() if g.num_nodes]
    graphs += [petersen_graph(), csl_graph(11, 2), empty_graph(3)]
    graphs += [make(n) for n in range(4, 9) for make in (path_graph, cycle_graph)]
    items = dressed(graphs)
    model = forest(level=level).eval()
    vectors = model.features(model.prepare(Batch.from_data_list(items)))
    y = torch.arange(len(vectors)) % 2
    model.grow(vectors, y, torch.ones(len(y), 1, dtype=torch.bool), "softmax", 0)
    return model, items


@pytest.mark.parametrize("level", ["graph", "node"])
def test_names_and_batches_of_graphs_change_nothing(level: str) -> None:
    model, items = grown(level)
    together = model(Batch.from_data_list(items))
    alone = [model(item) for item in items]
    torch.testing.assert_close(torch.cat(alone), together, rtol=0, atol=1e-12)
    for item, out in zip(items, alone, strict=True):
        perm = torch.randperm(
            item.num_nodes, generator=torch.Generator().manual_seed(5)
        )
        other = model(relabel(item, perm.tolist()))
        other = other[perm] if level == "node" else other
        torch.testing.assert_close(other, out, rtol=0, atol=1e-12)


def test_a_file_holds_the_whole_forest(tmp_path: Path) -> None:
    model, items = grown()
    save_model(model, tmp_path / "forest.safetensors")
    loaded = load_model(tmp_path / "forest.safetensors")
    batch = Batch.from_data_list(items)
    assert torch.equal(loaded(batch), model(batch))
    assert loaded.to_config() == model.to_config()


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("left", 5, 4),  # round and round
        ("right", 0, 10**6),
        ("feature", 0, -1),
        ("feature", 0, 10**6),
        ("start", 1, 10**6),
        ("column", 0, 1),
    ],
)
def test_trees_that_lead_nowhere_are_refused(
    name: str, place: int, value: int, tmp_path: Path
) -> None:
    model, _ = grown()
    getattr(model.trees, name)[place] = value
    save_model(model, tmp_path / "forest.safetensors")
    with pytest.raises(ModelFileError, match="not decision trees"):
        load_model(tmp_path / "forest.safetensors")


def test_tensors_of_other_sizes_are_refused(tmp_path: Path) -> None:
    for name in DecisionTrees.KINDS:
        model, _ = grown()
        setattr(model.trees, name, getattr(model.trees, name)[:-1])
        save_model(model, tmp_path / "forest.safetensors")
        with pytest.raises(ModelFileError, match="not decision trees"):
            load_model(tmp_path / "forest.safetensors")
