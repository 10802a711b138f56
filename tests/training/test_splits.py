"""Parts are disjoint, complete, of the asked size, and fair to every class."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sekgnn.datasets import GraphTask, Split, list_task
from sekgnn.errors import GraphInputError
from sekgnn.graphs import path_graph
from sekgnn.training.config import RunConfig
from sekgnn.training.data import load_data
from sekgnn.training.run_record import RunRecord
from sekgnn.training.splits import (
    graph_groups,
    group_folds,
    group_split,
    inner_split,
    make_splits,
    random_split,
    read_split,
    stratified_folds,
)

Classes = NDArray[np.int64]


@st.composite
def labelled(draw: st.DrawFn, least: int = 10) -> Classes:
    """Draw the class of every graph, some classes rare."""
    kinds = draw(st.integers(1, 5))
    sizes = draw(st.lists(st.integers(1, 40), min_size=kinds, max_size=kinds))
    classes = np.repeat(np.arange(kinds), sizes)
    classes = np.concatenate([classes, np.zeros(max(0, least - classes.size), int)])
    return np.random.default_rng(draw(st.integers(0, 99))).permutation(classes)


def parts(split: Split) -> list[NDArray[np.int64]]:
    return [split.train, split.val, split.test]


def test_groups_are_as_they_are_written() -> None:
    """``7`` and ``007`` are two groups, ``Na`` is one, and no value is none."""
    task = list_task([path_graph(2)] * 4)
    config = RunConfig(split_by=("group", "g"))

    def groups(*values: Any) -> list[int]:
        found = graph_groups(config, replace(task, columns={"g": values}))
        assert found is not None
        return [int(number) for number in found]

    assert groups("7", "007", "Na", "7") == [0, 1, 2, 0]
    for missing in ("", "NA", None, math.nan):
        with pytest.raises(GraphInputError, match="column"):
            groups("a", missing, "b", "b")


fractions = st.floats(0.1, 0.45)


@given(labelled(), fractions, fractions, st.integers(0, 2**32))
def test_random_parts_are_disjoint_complete_exact_and_fair(
    classes: Classes, val: float, test: float, seed: int
) -> None:
    """Every class is in every part in proportion, to within less than two members."""
    count = classes.size
    split = random_split(count, val, test, seed, classes)
    assert sorted(np.concatenate(parts(split)).tolist()) == list(range(count))
    sizes = (round(count * val), round(count * test))
    assert split.sizes == (count - sum(sizes), *sizes)
    for label in np.unique(classes):
        members = (classes == label).sum()
        for part in parts(split):
            fair = members * part.size / count
            assert abs((classes[part] == label).sum() - fair) < 2


def test_two_equal_classes_are_both_in_small_parts() -> None:
    """Forty graphs, four for test: two of each class, whatever the seed."""
    classes = np.arange(40) % 2
    for seed in range(20):
        for part in parts(random_split(40, 0.1, 0.1, seed, classes))[1:]:
            assert classes[part].sum() == 2


@given(labelled(), st.integers(2, 10), st.integers(0, 2**32))
def test_folds_are_disjoint_complete_and_stratified(
    classes: Classes, folds: int, seed: int
) -> None:
    """Sizes, and members of every class, differ by at most one."""
    tests = stratified_folds(classes.size, folds, seed, classes)
    assert len(tests) == folds
    assert sorted(np.concatenate(tests).tolist()) == list(range(classes.size))
    assert np.ptp([test.size for test in tests]) <= 1
    for label in np.unique(classes):
        assert np.ptp([(classes[test] == label).sum() for test in tests]) <= 1


@given(labelled(), st.floats(0.05, 0.9), st.integers(0, 2**32))
def test_inner_parts_are_disjoint_complete_exact_and_fair(
    classes: Classes, fraction: float, seed: int
) -> None:
    """The validation part has the asked size, also where 1 / fraction is odd."""
    train = np.arange(classes.size) * 3  # positions in a larger dataset
    everything = np.repeat(classes, 3)
    rest, val = inner_split(train, fraction, seed, everything)
    assert sorted([*rest.tolist(), *val.tolist()]) == train.tolist()
    assert abs(val.size - train.size * fraction) < 1 + 1e-9
    for label in np.unique(classes):
        fair = (classes == label).sum() * fraction
        assert abs((everything[val] == label).sum() - fair) < 1 + 1e-9


@given(labelled(), st.integers(0, 1000))
def test_a_seed_fixes_everything_and_another_changes_it(
    classes: Classes, seed: int
) -> None:
    count = classes.size
    first = random_split(count, 0.2, 0.2, seed, classes)
    again = random_split(count, 0.2, 0.2, seed, classes)
    for a, b in zip(parts(first), parts(again), strict=True):
        assert np.array_equal(a, b)
    folds = stratified_folds(count, 2, seed, classes)
    assert all(map(np.array_equal, folds, stratified_folds(count, 2, seed, classes)))
    others = {tuple(random_split(count, 0.2, 0.2, s, classes).test) for s in range(20)}
    assert len(others) > 1


def test_names_of_classes_that_keep_their_order_change_nothing() -> None:
    classes = np.random.default_rng(0).integers(0, 3, 50)
    renamed = np.array([10, 20, 70])[classes]
    for a, b in zip(
        stratified_folds(50, 4, 1, classes),
        stratified_folds(50, 4, 1, renamed),
        strict=True,
    ):
        assert np.array_equal(a, b)
    first, second = (random_split(50, 0.2, 0.2, 1, c) for c in (classes, renamed))
    assert all(map(np.array_equal, parts(first), parts(second)))


def test_corners() -> None:
    with pytest.raises(GraphInputError, match="too few"):
        random_split(2, 0.1, 0.1, 0)
    assert random_split(3, 0.4, 0.4, 0, np.zeros(3, int)).sizes == (1, 1, 1)
    assert [fold.size for fold in stratified_folds(2, 2, 0)] == [1, 1]
    with pytest.raises(GraphInputError, match="folds"):
        stratified_folds(2, 3, 0)
    rest, val = inner_split(np.array([4, 7]), 0.1, 0)
    assert (rest.size, val.size) == (1, 1)


def test_a_split_is_read_as_it_stands_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "split.json"
    file.write_bytes(b'\xef\xbb\xbf{"train": [3, 0],\r\n "val": [1], "test": [4]}')
    split = read_split(file, 5)
    assert [part.tolist() for part in parts(split)] == [[3, 0], [1], [4]]


@pytest.mark.parametrize(
    "text",
    [
        '[{"train": [0, 1, 2, 4], "val": [3], "test": [5]}]',
        '[{"train": "0-2,4", "val": "3", "test": "5"}]',
    ],
)
def test_a_split_of_chemprop(tmp_path: Path, text: str) -> None:
    """As it writes them, and as it reads them."""
    file = tmp_path / "splits.json"
    file.write_text(text)
    split = read_split(file, 6)
    assert [part.tolist() for part in parts(split)] == [[0, 1, 2, 4], [3], [5]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "JSON"),
        ("[1, 2]", "object"),
        ('{"train": [0], "val": [1]}', "test is missing"),
        ('{"train": [0], "val": [], "test": [1]}', "'val' is empty"),
        ('{"train": [0, 1], "val": [1], "test": [2]}', "graph 1"),
        ('{"train": [0, 0], "val": [1], "test": [2]}', "graph 0"),
        ('{"train": [-1], "val": [1], "test": [2]}', "-1"),
        ('{"train": [0], "val": [1], "test": [5]}', "position"),
        ('{"train": [0.0], "val": [1], "test": [2]}', "integer"),
        ('{"train": [true], "val": [2], "test": [3]}', "True"),
        ('{"train": "0;1", "val": [2], "test": [3]}', "invalid literal"),
        ('{"train": "0-1", "val": [2], "test": "4-9"}', "range"),
        ('{"train": "1-0", "val": [2], "test": [3]}', "range"),
        ('[{"train": [0]}, {"train": [1]}]', "list of 2 splits"),
        ('[{"train": "0-3,0-3,0-3", "val": [4], "test": [4]}]', "twice"),
    ],
)
def test_a_wrong_split_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "split.json"
    file.write_text(text)
    with pytest.raises(GraphInputError, match=message):
        read_split(file, 5)


def test_a_split_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(GraphInputError, match="cannot read"):
        read_split(tmp_path / "no.json", 5)
    file = tmp_path / "split.json"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GraphInputError, match="JSON"):
        read_split(file, 5)


@pytest.mark.parametrize(
    ("fraction", "count"),
    [(0.07, 100), (0.14, 50), (0.28, 25), (0.65, 20), (0.17, 300)],
)
def test_rounding_never_leaves_the_graphs(fraction: float, count: int) -> None:
    """Steps of 1 / fraction may end exactly at the number of graphs."""
    train, val = inner_split(np.arange(count), fraction, seed=0)
    assert sorted([*train, *val]) == list(range(count))
    assert abs(val.size - fraction * count) <= 1


@given(st.lists(st.integers(0, 12), min_size=3, max_size=60), st.integers(0, 99))
def test_no_group_is_on_both_sides(labels: list[int], seed: int) -> None:
    """Parts are complete, and of small groups as large as asked for."""
    _, groups = np.unique(labels, return_inverse=True)
    count = groups.max() + 1
    if count < 3:
        with pytest.raises(GraphInputError, match="too few"):
            group_split(groups, 0.2, 0.2, seed)
        return
    split = group_split(groups, 0.2, 0.2, seed)
    assert sorted(np.concatenate(parts(split)).tolist()) == list(range(groups.size))
    owners = [set(groups[part].tolist()) for part in parts(split)]
    assert all(owners) and sum(map(len, owners)) == count
    wanted = round(0.2 * groups.size)
    sizes = np.bincount(groups)
    if sizes.max() <= wanted // 2:
        assert abs(split.test.size - wanted) <= sizes.max() / 2
        assert abs(split.val.size - wanted) <= sizes.max() / 2
    folds = group_folds(groups, 2, seed)
    assert sorted(np.concatenate(folds).tolist()) == list(range(groups.size))
    assert not {*groups[folds[0]]} & {*groups[folds[1]]}
    assert abs(folds[0].size - folds[1].size) <= sizes.max()


RUNS = Path(__file__).parents[2] / "results" / "runs"


@pytest.mark.dataset
@pytest.mark.parametrize(
    "name", sorted({path.name.split("-")[0] for path in RUNS.iterdir()})
)
def test_records_can_be_split_again(name: str, data_root: Path) -> None:
    """Every committed run of a dataset has the parts that its config gives today."""
    known: dict[tuple[str, int], GraphTask] = {}
    for path in RUNS.glob(f"{name}-*"):
        record = RunRecord.load(path)
        config = RunConfig.from_dict(record.config)
        if config.data.startswith("QM9"):  # its graphs are not needed, only how many
            fractions = config.val_fraction, config.test_fraction
            splits = [random_split(record.data["graphs"], *fractions, config.seed)]
        else:
            key = config.data, config.data_seed
            if key not in known:
                known[key] = load_data(config, data_root).with_targets()
            splits = make_splits(config, known[key], data_root)
        for split, fold in zip(splits, record.folds, strict=True):
            named = zip(("train", "val", "test"), parts(split), strict=True)
            found = {part: sorted(own.tolist()) for part, own in named if own.size}
            assert found == fold.split
