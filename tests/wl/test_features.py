"""Colour counts for scikit-learn, and the kernel they span."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from tests.brute_force_wl import brute_force_rounds
from tests.small_graphs import star
from tests.wl.cases import batches, node_tests

from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph, LabelledGraph, cycle_graph, path_graph
from sekgnn.wl import KHopWL, WLFeatures, WLTest, kernel_matrix

RINGS = [cycle_graph(n) for n in range(4, 10)]
PATHS = [path_graph(n) for n in range(4, 10)]
TRAIN: list[Graph] = [*RINGS, *PATHS]
CLASSES = [0] * 6 + [1] * 6


@given(batches(6, (2, 4)), node_tests(), st.integers(0, 4))
@settings(max_examples=60)
def test_counts_are_those_of_a_counter(
    items: list[LabelledGraph], test: WLTest, rounds: int
) -> None:
    """Rounds behind the stable one repeat its classes."""
    counts = WLFeatures(test, rounds=rounds).fit_transform(items).toarray()
    table = brute_force_rounds(test, items)
    table += [table[-1]] * max(0, rounds + 1 - len(table))
    expected = [
        sorted(
            tuple(Counter(part)[c] for part in numbers)
            for c in {c for part in numbers for c in part}
        )
        for numbers in table[: rounds + 1]
    ]
    columns = sorted(tuple(column) for column in counts.T.tolist())
    assert columns == sorted(c for part in expected for c in part)
    sizes = [item.num_nodes for item in items]
    assert counts.sum(axis=1).tolist() == [(rounds + 1) * n for n in sizes]


@given(batches(6, (2, 4)), st.integers(0, 3), st.randoms())
@settings(max_examples=40)
def test_transform_does_not_depend_on_order(
    items: list[LabelledGraph], rounds: int, rng: object
) -> None:
    features = WLFeatures(rounds=rounds)
    whole = features.fit_transform(items).toarray()
    order = rng.sample(range(len(items)), len(items))  # type: ignore[attr-defined]
    mixed = features.transform([items[i] for i in order]).toarray()
    assert np.array_equal(mixed, whole[order])
    for i, item in enumerate(items):
        assert np.array_equal(features.transform([item]).toarray()[0], whole[i])


def test_unseen_colours_are_left_out() -> None:
    features = WLFeatures(rounds=1).fit([cycle_graph(5)])
    assert features.transform([star(3), path_graph(4)]).toarray().tolist() == [
        [4, 0],
        [4, 2],
    ]
    assert features.transform([path_graph(0)]).toarray().tolist() == [[0, 0]]


def test_scikit_learn_conventions() -> None:
    features = WLFeatures("khop", rounds=2, parameters={"num_hops": 2})
    assert features.get_params() == {
        "test": "khop",
        "rounds": 2,
        "node_labels": None,
        "edge_labels": None,
        "parameters": {"num_hops": 2},
    }
    with pytest.raises(NotFittedError):
        features.transform(TRAIN)
    with pytest.raises(NotFittedError):
        features.get_feature_names_out()
    before = features.fit_transform(TRAIN)
    twin = clone(features)
    assert not hasattr(twin, "colours_")
    assert np.array_equal(twin.fit(TRAIN).transform(TRAIN).toarray(), before.toarray())
    names = features.get_feature_names_out()
    assert len(set(names)) == before.shape[1]
    assert {name.split("_")[0] for name in names} == {"round0", "round1", "round2"}
    given_test = WLFeatures(KHopWL(2), rounds=2).fit_transform(TRAIN)
    assert np.array_equal(given_test.toarray(), before.toarray())
    assert before.dtype == np.int64 and before.has_canonical_format


def test_a_pipeline_learns() -> None:
    model = make_pipeline(WLFeatures(rounds=1), SVC(kernel="linear"))
    search = GridSearchCV(model, {"wlfeatures__rounds": [0, 1]}, cv=3)
    assert search.fit(TRAIN, CLASSES).best_params_ == {"wlfeatures__rounds": 1}
    assert search.predict([cycle_graph(20), path_graph(20)]).tolist() == [0, 1]


def test_fitted_elsewhere() -> None:
    """Colours are canonical: what one process has learnt serves in another."""
    code = (
        "import pickle, sys; from sekgnn.graphs import cycle_graph\n"
        "from sekgnn.wl import WLFeatures\n"
        "f = WLFeatures(rounds=1).fit([cycle_graph(n) for n in range(4, 10)])\n"
        "sys.stdout.buffer.write(pickle.dumps(f))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    theirs = pickle.loads(run.stdout)
    ours = WLFeatures(rounds=1).fit(RINGS)
    assert [*theirs.get_feature_names_out()] == [*ours.get_feature_names_out()]
    counts = theirs.transform(PATHS).toarray()
    assert np.array_equal(counts, ours.transform(PATHS).toarray())


def test_labels_by_name() -> None:
    molecule = nx.path_graph(3)
    nx.set_node_attributes(molecule, {0: "C", 1: "C", 2: "O"}, "atom")
    nx.set_edge_attributes(molecule, {(0, 1): 1, (1, 2): 2}, "bond")
    atoms = WLFeatures(rounds=0, node_labels="atom").fit_transform([molecule])
    assert atoms.toarray().tolist() == [[2, 1]]
    bonds = WLFeatures(rounds=1, edge_labels="bond").fit_transform([molecule])
    assert sorted(bonds.toarray()[0].tolist()) == [1, 1, 1, 3]


def test_bad_input() -> None:
    with pytest.raises(GraphInputError, match="no graphs"):
        WLFeatures().fit([])
    with pytest.raises(ConfigError, match="rounds"):
        WLFeatures(rounds=-1).fit(TRAIN)
    with pytest.raises(ConfigError, match="'radius'"):
        WLFeatures("khop", parameters={"radius": 1}).fit(TRAIN)


@given(batches(6, (1, 4)), st.sampled_from(["1wl", "khop", "2fwl"]))
@settings(max_examples=40)
def test_kernels(items: list[LabelledGraph], test: str) -> None:
    """Products of features, symmetric, positive semi-definite, of unit length."""
    counts = WLFeatures(test, rounds=2).fit_transform(items).toarray().astype(float)
    raw = kernel_matrix(items, test=test, rounds=2, normalize=False)
    assert np.array_equal(raw, counts @ counts.T)
    unit = kernel_matrix(items, test=test, rounds=2)
    length = np.linalg.norm(counts, axis=1)
    here = length > 0
    np.testing.assert_allclose(unit * np.outer(length, length), raw, atol=1e-9)
    np.testing.assert_allclose(unit.diagonal()[here], 1, atol=1e-12)
    assert not unit[~here].any()
    assert np.linalg.eigvalsh((unit + unit.T) / 2).min() > -1e-9
    cross = kernel_matrix(items[:1], items, test=test, rounds=2)
    np.testing.assert_allclose(cross, unit[:1], atol=1e-12)
