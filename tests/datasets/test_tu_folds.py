"""Files of folds: what they hold, and files that are not right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sekgnn.datasets import PAPER_STATISTICS, tu_folds
from sekgnn.errors import ConfigError, DataNotFoundError, GraphInputError


@pytest.mark.dataset
@pytest.mark.parametrize(
    ("name", "tested"),
    [
        ("MUTAG", 180),
        ("PTC_MR", 340),
        ("PROTEINS", 1110),
        ("ENZYMES", 600),
        ("IMDB-BINARY", 1000),
        ("IMDB-MULTI", 1500),
    ],
)
def test_the_files(name: str, tested: int, data_root: Path) -> None:
    folds = tu_folds(name, data_root)
    everything = np.concatenate([test for _, test in folds])
    assert len(folds) == 10
    assert everything.size == np.unique(everything).size == tested
    for train, test in folds:
        assert train.size + test.size == PAPER_STATISTICS[name].graphs[0]
        assert not set(train.tolist()) & set(test.tolist())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tu" / "MUTAG" / "fold_idx"
    folder.mkdir(parents=True)
    for number in range(1, 11):
        test = [2 * number, 2 * number + 1]
        train = [i for i in range(188) if i not in test]
        for part, values in (("train", train), ("test", test)):
            text = "".join(f"{i}\r\n" for i in values)
            (folder / f"{part}_idx-{number}.txt").write_bytes(text.encode())
    return tmp_path


def test_windows_line_ends_are_read(root: Path) -> None:
    folds = tu_folds("MUTAG", root)
    assert [test.tolist() for _, test in folds[:2]] == [[2, 3], [4, 5]]
    assert folds[0][0].tolist()[:3] == [0, 1, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n188\n", r"test_idx-3\.txt, line 2: '188' is not a position in 0\.\.187"),
        ("-1\n", "line 1: '-1' is not a position"),
        ("1.5\n", r"line 1: '1\.5' is not a position"),
        ("6\n\n6\n", "line 3: graph 6 is also in line 1"),
        ("\n", r"test_idx-3\.txt is empty"),
        ("6\n9\n", "graph 9 is in training and test of fold 3"),
    ],
)
def test_wrong_files(text: str, message: str, root: Path) -> None:
    (root / "tu" / "MUTAG" / "fold_idx" / "test_idx-3.txt").write_text(text)
    with pytest.raises(GraphInputError, match=message):
        tu_folds("MUTAG", root)


def test_missing_files(root: Path) -> None:
    (root / "tu" / "MUTAG" / "fold_idx" / "train_idx-10.txt").unlink()
    with pytest.raises(DataNotFoundError, match=r"train_idx-10\.txt does not exist"):
        tu_folds("MUTAG", root)
    with pytest.raises(DataNotFoundError, match="folds for BZR, draw stratified"):
        tu_folds("BZR", root)
    with pytest.raises(ConfigError, match="name must be one of"):
        tu_folds("NCI1", root)
