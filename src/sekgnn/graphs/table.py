"""Files of text, whole or line by line, and tables: CSV, TSV or Parquet."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

from sekgnn.checks import nearest
from sekgnn.errors import GraphInputError
from sekgnn.graphs.extras import require

_BATCH_ROWS = 1024  # rows of a Parquet file held at once
_BUFFER_BYTES = 2**18  # read ahead in each of its columns, not whole row groups

Column = str | int
"""A column of a table: its heading, or its number from 0 where headings repeat."""


@dataclass(frozen=True)
class DataRow:
    """One row of a table.

    Attributes:
        row: Number of the data row, from 1, headings and blank lines not counted.
        line: Line of the file it starts on, from 1; None in Parquet files.
        values: The chosen columns: stripped strings, in Parquet files any type or None.
    """

    row: int
    line: int | None
    values: tuple[Any, ...]

    @property
    def place(self) -> str:
        """Row and line, for messages."""
        return f"row {self.row}" + ("" if self.line is None else f" (line {self.line})")


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file, without a UTF-8 byte order mark.

    Raises:
        GraphInputError: If there is no such file or it cannot be read.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise GraphInputError(f"{path} does not exist; check the path.") from None
    except IsADirectoryError:
        raise GraphInputError(f"{path} is a folder; a file was expected.") from None
    except OSError as error:
        raise GraphInputError(f"{path} cannot be read: {error.strerror}.") from error
    return content.removeprefix(codecs.BOM_UTF8)


def read_text(path: str | Path) -> str:
    """Return the UTF-8 text of a file, without a byte order mark.

    Raises:
        GraphInputError: If it cannot be read or is not text.
    """
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise GraphInputError(
            f"{path} is not UTF-8 text (byte {error.start}); is it a binary file?"
        ) from None


def data_rows(
    path: str | Path, columns: Sequence[Column], hint: str = ""
) -> Iterator[DataRow]:
    """Yield the rows of a table; memory does not grow with its length.

    Nothing is read before the first row is asked for, and a fault in the file is
    raised only when reading gets there.

    Args:
        path: A ``.parquet`` file, or text with a heading and columns separated by
            commas, semicolons or tabs; any line ends are accepted, and a
            byte order mark.
        columns: Those to return, in this order.
        hint: What to say if the first of them is missing.

    Raises:
        GraphInputError: If the file or a column is not there, or a row has a wrong
            number of fields or one of more than ``csv.field_size_limit()`` characters.
    """
    if Path(path).suffix.lower() == ".parquet":
        return _parquet_rows(path, columns, hint)
    return _csv_rows(path, columns, hint)


def table_headings(path: str | Path) -> list[str]:
    """Return the headings of a table, as :func:`data_rows` reads it.

    Raises:
        GraphInputError: If the file cannot be read or is empty.
    """
    if Path(path).suffix.lower() == ".parquet":
        with open_binary(path) as content, _readable(path):
            parquet = require("pyarrow.parquet", None)
            return list(parquet.ParquetFile(content).schema_arrow.names)
    rows = _csv_fields(path)
    for fields, _ in rows:
        return [name.strip() for name in fields]
    raise GraphInputError(f"{path} is empty; expected a header.")


def text_lines(path: str | Path, newline: Literal["", "\n"] = "") -> Iterator[str]:
    r"""Yield the lines of a UTF-8 text, ends included, without a byte order mark.

    Args:
        path: The file; it is read as the lines are asked for.
        newline: With ``""`` a line ends at ``\n``, ``\r`` or ``\r\n``, with ``"\n"``
            only there.

    Raises:
        GraphInputError: If it cannot be read or is not text, when reading gets there.
    """
    content = open_binary(path)
    with io.TextIOWrapper(content, encoding="utf-8-sig", newline=newline) as file:
        try:
            yield from file
        except UnicodeDecodeError as error:
            byte = content.tell() - len(error.object) + error.start
            raise GraphInputError(
                f"{path} is not UTF-8 text (byte {byte}); is it a binary file?"
            ) from None
        except OSError as error:
            cause = error.strerror
            raise GraphInputError(f"{path} cannot be read: {cause}.") from error


def open_binary(path: str | Path) -> BinaryIO:
    """Open a file to read.

    Raises:
        GraphInputError: If there is no such file or it cannot be read.
    """
    try:
        return open(path, "rb")
    except OSError:
        read_bytes(path)  # says what is wrong
        raise


def _csv_rows(
    path: str | Path, columns: Sequence[Column], hint: str
) -> Iterator[DataRow]:
    """Yield the rows of a text table after its heading."""
    rows = _csv_fields(path)
    heading = next(rows, None)
    if heading is None:
        wanted = ", ".join(map(repr, columns))
        raise GraphInputError(f"{path} is empty; expected a header with {wanted}.")
    names = [name.strip() for name in heading[0]]
    places = _column_places(path, columns, names, hint)
    for row, (fields, line) in enumerate(rows, start=1):
        yield DataRow(row, line, tuple(fields[p].strip() for p in places))


def _csv_fields(path: str | Path) -> Iterator[tuple[list[str], int]]:
    """Yield the fields of every line that is not blank, and where it begins.

    The heading, which comes first, shows the delimiter; later lines have as many
    fields.
    """
    lines = text_lines(path)
    start: list[str] = []  # blank lines and the heading
    for text in lines:
        start.append(text)
        if text.strip("\r\n"):
            break
    delimiter = max(",;\t", key=start[-1].count) if start else ","
    reader = csv.reader(chain(start, lines), delimiter=delimiter, strict=True)
    width = line = 0
    try:
        for fields in reader:
            begin, line = line + 1, reader.line_num
            if not any(fields):
                continue
            width = width or len(fields)
            if len(fields) != width:
                raise GraphInputError(
                    f"{path}, line {begin}: {len(fields)} fields, but the header has "
                    f"{width}; quote fields that contain {delimiter!r}."
                )
            yield fields, begin
    except csv.Error as error:
        advice = " Longer fields need a Parquet file." * ("field limit" in str(error))
        raise GraphInputError(
            f"{path}, line {reader.line_num}: {error}; is a quote left open?{advice}"
        ) from error


def _parquet_rows(
    path: str | Path, columns: Sequence[Column], hint: str
) -> Iterator[DataRow]:
    """Yield the rows of a Parquet file."""
    parquet = require("pyarrow.parquet", None)
    row = 0
    with open_binary(path) as content, _readable(path):
        file = parquet.ParquetFile(content, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        names = list(file.schema_arrow.names)
        wanted = [names[p] for p in _column_places(path, columns, names, hint)]
        chosen = list(dict.fromkeys(wanted))
        for batch in file.iter_batches(_BATCH_ROWS, columns=chosen):
            values = [batch.column(name).to_pylist() for name in wanted]
            for fields in zip(*values, strict=True):
                row += 1
                yield DataRow(row, None, fields)


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Say of what goes wrong inside that the Parquet file cannot be read."""
    arrow = require("pyarrow", None)
    try:
        yield
    except (arrow.ArrowException, OSError) as error:
        cause = " ".join(str(error).split())
        raise GraphInputError(
            f"{path} is not a readable Parquet file ({cause}); it may be cut short."
        ) from error


def _column_places(
    path: str | Path, columns: Sequence[Column], names: list[str], hint: str
) -> list[int]:
    """Return the numbers of the columns, or list those there are."""
    for column in columns:
        if isinstance(column, int):
            continue
        if column not in names:
            longer = [n for n in names if n.startswith((f"{column} ", f"{column}["))]
            near = nearest(column, names)
            if longer:
                near = f" Did you mean {longer[0]!r}? A unit is part of the heading."
            if hint and column == columns[0]:
                near += f" {hint}"
            raise GraphInputError(
                f"{path} has no column {column!r}; its columns are {names}.{near}"
            )
        if names.count(column) > 1:
            raise GraphInputError(
                f"{path} has {names.count(column)} columns {column!r}."
            )
    return [c if isinstance(c, int) else names.index(c) for c in columns]
