"""Tables with a heading: chosen columns, places of rows, faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from sekgnn.errors import GraphInputError
from sekgnn.graphs.table import read_table


def test_columns_in_the_order_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b'\xef\xbb\xbfa, b ,c\r\n1," 2\n ",3\r\n\r\n4,5,\r\n')
    rows = list(read_table(file, ["c", "a", "b"]))
    assert [row.values for row in rows] == [("3", "1", "2"), ("", "4", "5")]
    assert [row.place for row in rows] == ["row 1 (line 2)", "row 2 (line 5)"]


def test_parquet_keeps_types(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1.5, None], "b": ["x", "y"]}), file)
    rows = list(read_table(file, ["b", "a"]))
    assert [row.values for row in rows] == [("x", 1.5), ("y", None)]
    assert rows[1].place == "row 2"
    with pytest.raises(GraphInputError, match=r"no column 'B'.*Did you mean 'b'"):
        list(read_table(file, ["B"]))


def test_a_missing_column_and_the_hint(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("activity,y\n1,2\n")
    message = r"no column 'activty'; .*Did you mean 'activity'\? Name it\.$"
    with pytest.raises(GraphInputError, match=message):
        list(read_table(file, ["activty"], "Name it."))
    with pytest.raises(
        GraphInputError, match=r"its columns are \['activity', 'y'\]\.$"
    ):
        list(read_table(file, ["q"]))
