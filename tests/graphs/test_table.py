"""Tables with a heading: chosen columns, places of rows, faults."""

from __future__ import annotations

import csv
import io
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sekgnn.errors import GraphInputError
from sekgnn.graphs.table import data_rows, read_text, text_lines

fields = st.text(st.sampled_from("ab ,;\t\"'\r\n\u00e9\u2028"), max_size=5)


def test_columns_in_the_order_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b'\xef\xbb\xbfa, b ,c\r\n1," 2\n ",3\r\n\r\n4,5,\r\n')
    rows = list(data_rows(file, ["c", "a", "b"]))
    assert [row[2] for row in rows] == [("3", "1", "2"), ("", "4", "5")]
    assert [row[:2] for row in rows] == [(1, 2), (2, 5)]


def test_parquet_keeps_types(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1.5, None], "b": ["x", "y"]}), file)
    rows = list(data_rows(file, ["b", "a"]))
    assert [row[2] for row in rows] == [("x", 1.5), ("y", None)]
    assert rows[1][:2] == (2, None)
    with pytest.raises(GraphInputError, match=r"no column 'B'.*Did you mean 'b'"):
        list(data_rows(file, ["B"]))


def test_parquet_names_that_are_not_utf8(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"smiles": ["C"]}), file, store_schema=False)
    file.write_bytes(file.read_bytes().replace(b"smiles", b"sm\xe9les"))
    with pytest.raises(GraphInputError, match="Parquet"):
        list(data_rows(file, ["smiles"]))


def test_a_missing_column_and_the_hint(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("activity,y\n1,2\n")
    message = r"no column 'activty'; .*Did you mean 'activity'\? Name it\.$"
    with pytest.raises(GraphInputError, match=message):
        list(data_rows(file, ["activty"], "Name it."))
    with pytest.raises(GraphInputError, match=r"\['activity', 'y'\]\.$"):
        list(data_rows(file, ["q"]))


@given(
    st.lists(st.tuples(fields, fields).filter(any), max_size=6),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\ufeff"]),
    st.integers(0, 2),
    st.booleans(),
)
def test_any_fields_come_back_with_their_lines(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    delimiter: str,
    end: str,
    mark: str,
    blank: int,
    last_end: bool,
) -> None:
    """A row starts on the line that follows as many line ends as are before it."""
    out, lines = io.StringIO(newline=""), []
    writer = csv.writer(out, "excel", delimiter=delimiter, lineterminator=end)
    out.write(end * blank)
    writer.writerow(["a", "b"])
    quoting = csv.writer(
        out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL
    )
    for row in rows:
        out.write(end * blank)
        lines.append(1 + len(re.findall("\r\n|\r|\n", out.getvalue())))
        quoting.writerow(row)
    file = tmp_path_factory.mktemp("table") / "a.csv"
    text = mark + (out.getvalue() if last_end else out.getvalue().removesuffix(end))
    file.write_bytes(text.encode())
    table_rows = list(data_rows(file, ["b", "a"]))
    assert [row[2] for row in table_rows] == [(b.strip(), a.strip()) for a, b in rows]
    assert [row[1] for row in table_rows] == lines
    assert [row[0] for row in table_rows] == list(range(1, len(rows) + 1))


@given(st.integers(0, 9000), st.binary(max_size=12), st.sampled_from(["", "\n"]))
def test_lines_are_those_of_the_whole_text(
    tmp_path_factory: pytest.TempPathFactory, far: int, tail: bytes, newline: str
) -> None:
    """Or the same byte is named, however far into the file it is."""
    file = tmp_path_factory.mktemp("text") / "a.txt"
    file.write_bytes(b"a\n" + "\u00e9".encode() * far + tail)
    try:
        text = read_text(file)
    except GraphInputError as error:
        with pytest.raises(GraphInputError, match=f"^{re.escape(str(error))}$"):
            list(text_lines(file, newline))  # type: ignore[arg-type]
    else:
        lines = list(text_lines(file, newline))  # type: ignore[arg-type]
        assert "".join(lines) == text
        pattern = "\r\n|\r|\n" if newline == "" else "\n"
        assert [line for line in re.split(pattern, text) if line] == [
            line.rstrip("\r\n" if newline == "" else "\n")
            for line in lines
            if line.strip("\r\n" if newline == "" else "\n")
        ]


def test_the_byte_is_counted_from_the_start_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"\xef\xbb\xbfa\n\xff\n")
    with pytest.raises(GraphInputError, match=r"not UTF-8.*\(byte 5\)"):
        list(data_rows(file, ["a"]))


def test_a_device_that_fails() -> None:
    memory = Path("/proc/self/mem")  # its first page can never be read
    if not memory.exists():
        pytest.skip("needs Linux")
    with pytest.raises(GraphInputError, match="cannot be read"):
        list(text_lines(memory))


def test_a_field_that_is_too_long(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for text, line in (("C" * 131_073, 2), ('"' + "C\n" * 70_000, 65_538)):
        file.write_text(f"a\n{text}")
        message = rf"line {line}: field larger than field limit.*need a Parquet file"
        with pytest.raises(GraphInputError, match=message):
            list(data_rows(file, ["a"]))


def test_rows_come_before_the_end_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"a,b\n" + b"1,2\n" * 30_000 + b"1,\xff\n1,2,3\n")
    rows = data_rows(file, ["b"])
    assert next(rows)[2] == ("2",)
    with pytest.raises(GraphInputError, match=r"\(byte 120006\)"):
        list(rows)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    csv_file, parquet_file = tmp_path / "a.csv", tmp_path / "a.parquet"
    with open(csv_file, "w") as out:
        out.write("a,note\n")
        out.writelines(f"{i},{'x' * 300}\n" for i in range(30_000))
    values = [f"{i} {'x' * 300}" for i in range(30_000)]
    pq.write_table(pa.table({"a": values}), parquet_file, compression="none")
    del values
    for file in (csv_file, parquet_file):
        list(zip(data_rows(file, ["a"]), range(5), strict=False))  # imports
        tracemalloc.start()
        try:
            count = sum(1 for _ in data_rows(file, ["a"]))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert count == 30_000
        assert peak < file.stat().st_size / 5


def test_parquet_rows_are_counted_over_batches_and_row_groups(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "a.parquet"
    table = pa.table({"a": list(range(5000)), "b": ["x"] * 5000})
    pq.write_table(table, file, row_group_size=1500)
    rows = list(data_rows(file, ["a", "a"]))
    assert [(row[0], row[2]) for row in rows] == [(i + 1, (i, i)) for i in range(5000)]
