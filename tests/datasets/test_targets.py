"""Which task targets make, and what is said of those that make none."""

from __future__ import annotations

import json
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.datasets.targets import (
    MISSING,
    TASK_KINDS,
    TargetColumn,
    encode_targets,
    read_column,
)
from sekgnn.errors import ConfigError, GraphInputError


def encoded(*arguments: Any, **options: Any) -> SimpleNamespace:
    y, fields = encode_targets(*arguments, **options)
    return SimpleNamespace(y=y, **fields)


def column(values: list[Any], name: str = "y") -> TargetColumn:
    return read_column(name, values, [f"row {i + 1}" for i in range(len(values))], "f")


@pytest.mark.parametrize(
    ("values", "kind", "classes", "y"),
    [
        (["0", "1", "1", "0"], "binary", (0, 1), [0, 1, 1, 0]),
        ([1, -1, 1, -1], "binary", (-1, 1), [1, 0, 1, 0]),
        ([True, "False"] * 2, "binary", ("False", "True"), [1, 0] * 2),
        (["cat", "dog", "dog", "cat"], "binary", ("cat", "dog"), [0, 1, 1, 0]),
        (["b", "a", "c"] * 2, "multiclass", ("a", "b", "c"), [1, 0, 2] * 2),
        ([1, "x", "x", "1"], "binary", ("1", "x"), [0, 1, 1, 0]),
        (["7", "007"] * 2, "binary", ("007", "7"), [1, 0] * 2),
        (["1", "true"] * 2, "binary", ("1", "true"), [0, 1] * 2),
        ([1, True] * 2, "binary", ("1", "True"), [0, 1] * 2),
        (["1e3", "1000"] * 2, "binary", ("1000", "1e3"), [1, 0] * 2),
        (["1", "1.0"] * 2, "binary", ("1", "1.0"), [0, 1] * 2),
        (["1.0", "0.0"] * 2, "binary", (0, 1), [1, 0] * 2),
        (["-1", "+1"] * 2, "binary", ("+1", "-1"), [1, 0] * 2),
        (["Na", "K"] * 2, "binary", ("K", "Na"), [1, 0] * 2),
        (["None", "mild", "mild", "None"], "binary", ("None", "mild"), [0, 1, 1, 0]),
        (["0", "None", "1"] * 2, "multiclass", ("0", "1", "None"), [0, 2, 1] * 2),
        (["Inf", "x"] * 2, "binary", ("Inf", "x"), [0, 1] * 2),
        ([2**60, 2**60 + 1] * 2, "binary", (2**60, 2**60 + 1), [0, 1] * 2),
        ([10, 2, 33] * 2, "multiclass", (2, 10, 33), [1, 0, 2] * 2),
        (
            [3, None, 3, "", 5, float("nan"), 5, "NA"],
            "binary",
            (3, 5),
            [0] * 4 + [1, 0, 1, 0],
        ),
    ],
)
def test_classes(values: list[Any], kind: str, classes: Any, y: list[int]) -> None:
    task = encoded([column(values)])
    assert (task.kind, task.classes, task.y.tolist()) == (kind, classes, y)
    assert task.y.dtype == np.int64 and task.mask.shape == (len(values), 1)
    missing = [v is None or v in ("", "NA") or v != v for v in values]
    assert task.mask[:, 0].tolist() == [not m for m in missing]


TEXTS = (
    *("7", "007", "7.0", "7.", "+7", "1e3", "1000", "1000.0", "1", "1.0", "true"),
    *("True", "TRUE", "-0", "0", "0.0", "Na", "NA", "None", "none", "?", "n.a.", "nan"),
    *("Nan", "null", "x", "inf", "1_0", "10", "\u0663", "3", "9" * 17, "9" * 16 + "8"),
    *("", True, False, 1, 0, 1.0, 0.1, "0.1", "0.10", 2**53 + 1, 2**53),
)


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5, unique_by=repr))
def test_no_two_labels_are_merged(kinds: list[Any]) -> None:
    """What is written in two ways is two labels, and a label is what was written."""
    written = {
        str(int(v) if isinstance(v, float) and v.is_integer() else v)
        for v in kinds
        if v not in MISSING
    }
    if len(written) < 2:
        return
    twice = column(kinds * 2)
    task = encoded([twice], "multiclass")
    assert task.classes is not None and len(task.classes) == len(written)
    texts = {str(label) for label in task.classes}
    assert texts == written or texts == {text.removesuffix(".0") for text in written}
    with suppress(GraphInputError):  # of what is no class without kind
        guessed = encoded([twice])
        if guessed.kind != "regression":
            assert guessed.classes == task.classes
    stored = json.loads(json.dumps(task.classes))  # in a model file
    again = encoded([twice], classes=stored)
    assert again.y.tolist() == task.y.tolist() and again.classes == task.classes


def test_words_that_stand_for_missing() -> None:
    """Among labels few and exact; among numbers more, as none of them is a number."""
    values = ["1.5", "NA", "None", "Null", "?", "", float("nan"), None, "2.50"]
    task = encoded([column(values)])
    assert task.kind == "regression"
    assert task.mask[:, 0].tolist() == [True, *[False] * 7, True]
    assert task.y[:, 0].tolist() == [1.5, *[0] * 7, 2.5]
    assert task.missing == {"": 2, "NA": 1, "None": 1, "Null": 1, "?": 1, "nan": 1}
    labels = encoded([column([*MISSING, "a", "b", "Null", "na"] * 2)])
    assert labels.classes == ("Null", "a", "b", "na")
    assert labels.missing == dict.fromkeys(MISSING, 2)
    with pytest.raises(GraphInputError, match="missing"):
        encode_targets([column(["None", "?"])], "regression")


@pytest.mark.parametrize(
    "values",
    [["0.5", "1", "2", "0.5"], list(range(11)) * 2, [1, 2, 3, 4], ["1e3", "-2"]],
)
def test_quantities(values: list[Any]) -> None:
    task = encoded([column(values)])
    assert task.kind == "regression" and task.classes is None
    assert task.y.dtype == np.float64
    assert task.y[:, 0].tolist() == [float(v) for v in values]


def test_several_targets() -> None:
    a, b = column([0, 1, None], "a"), column(["", 1, 0], "b")
    labels = encoded([a, b])
    assert (labels.kind, labels.target_names) == ("multilabel", ("a", "b"))
    assert labels.y.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert labels.mask.tolist() == [[True, False], [True, True], [False, True]]
    assert encoded([a, column([0, 2, 1], "c")]).kind == "regression"
    twos = [column([0, 2, 0], "c"), column([2, 0, 2], "d")]
    assert encoded(twos).kind == "regression"


@given(st.lists(st.floats(-1e6, 1e6, width=32) | st.none(), min_size=3, max_size=20))
def test_regression_keeps_every_number_and_masks_the_rest(values: list[Any]) -> None:
    if all(value is None for value in values):
        with pytest.raises(GraphInputError, match="missing"):
            column(values)
        return
    task = encoded([column(values)], "regression")
    assert task.mask[:, 0].tolist() == [value is not None for value in values]
    assert task.y[:, 0].tolist() == [value or 0.0 for value in values]


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=20))
def test_known_classes_keep_their_numbers(values: list[Any]) -> None:
    """As when a trained model meets new data, in which not every class need occur."""
    if all(value is None for value in values):
        return
    task = encoded([column(values)], classes=["c", "b", "a"])
    assert task.kind == "multiclass" and task.classes == ("c", "b", "a")
    assert task.y.tolist() == ["cba".index(value or "c") for value in values]


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (["", None, "nan"], None, r"^f, target 'y'.*missing"),
        ([1, "inf", 2], None, r"^f, row 2, target 'y': inf"),
        ([1, -np.inf, 2], "regression", "row 2, target 'y': -inf"),
        ([1, [2], 2], None, r"row 2, target 'y'.*needed"),
        ([1.5, "abc", 2.5, 3.5], None, r"row 2, target 'y': 'abc'.*number"),
        ([1.5, "abc", 2.5, 3.5], "regression", r"row 2, target 'y': 'abc'.*number"),
        (["a", "b", "a", "a"], None, r"row 2, target 'y': class 'b'.*one member"),
        ([0, 0, 0, 7], None, r"row 4, target 'y': class 7.*one member"),
        ([4, 4, 4, 4], None, r"4.*nothing to learn"),
        ([0.5, 0.5, None], None, r"0\.5.*nothing to learn"),
        ([0, 1, 2] * 2, "binary", r"'binary'.*found 3: 0, 1, 2"),
        ([1, 1], "multiclass", r"two or more.*found 1"),
        ([0, 2, 1], "multilabel", r"row 2, target 'y': 2.*multilabel"),
    ],
)
def test_wrong_values_are_named(values: list[Any], kind: Any, message: str) -> None:
    with pytest.raises(GraphInputError, match=message):
        encode_targets([column(values)], kind)


def test_wrong_parameters() -> None:
    a, b = column([0, 1, 1, 0], "a"), column([0, 1, 0, 1], "b")
    with pytest.raises(ConfigError, match=r"'binary'.*one target"):
        encode_targets([a, b], "binary")
    with pytest.raises(ConfigError, match="Did you mean 'regression'"):
        encode_targets([a], "regresion")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must be different columns"):
        encode_targets([a, a])
    with pytest.raises(GraphInputError, match=r"row 2, target 'a': class 1.*unknown"):
        encode_targets([a], classes=[0, 2])
    assert encoded([a], "regression").kind == "regression"
    assert encoded([a], "multilabel").y.shape == (4, 1)
    assert set(TASK_KINDS) == {"binary", "multiclass", "multilabel", "regression"}


def test_bounds_among_numbers() -> None:
    """They are kept apart from exact values; labels with such names stay labels."""

    def column(*values: str) -> TargetColumn:
        places = [f"row {i + 1}" for i in range(len(values))]
        return read_column("y", values, places, "file")

    y, fields = encode_targets([column("0.5", ">5", "1.5", "", "<= 0.1", "2.5")])
    assert fields["kind"] == "regression"
    assert y[:, 0].tolist() == [0.5, 5.0, 1.5, 0.0, 0.1, 2.5]
    assert fields["mask"][:, 0].tolist() == [True, False, True, False, False, True]
    assert fields["bounds"] is not None
    assert fields["bounds"][:, 0].tolist() == [0, 1, 0, 0, -1, 0]
    assert fields["missing"] == {"": 1}
    _, fields = encode_targets([column("<5", ">5", "<5", ">5")])
    assert fields["classes"] == ("<5", ">5") and fields["bounds"] is None
    values = ["1", "2", ">2"] * 3
    _, fields = encode_targets([column(*values)])
    assert fields["classes"] == ("1", "2", ">2")
    _, fields = encode_targets([column(*values)], "regression")
    assert fields["bounds"] is not None and fields["mask"].sum() == 6
    with pytest.raises(GraphInputError, match="all values are bounds"):
        encode_targets([column(">1", ">2")], "regression")
    with pytest.raises(GraphInputError, match="float32"):
        encode_targets([column("1", "2.5", ">1e300")], "regression")
