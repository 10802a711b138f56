"""Text files, whole or line by line: tables (also Parquet) and JSON lines."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sekgnn.checks import check_positive, nearest
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs.cleaning import SelfLoops, check_num_nodes, located
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.graph_record import GraphRecord, feature_rows
from sekgnn.parallel import even_chunks
from sekgnn.parsing import parse_json

_BATCH_ROWS = 1024  # rows of a Parquet file in memory at a time
_BUFFER_BYTES = 2**18  # read-ahead in each of its columns, instead of whole row groups

Column = str | int
"""A column of a table: its heading, or its number from 0 where headings repeat."""

Row = tuple[int, int | None, tuple[Any, ...]]
"""The number of a row from 1, without headings and blank lines; its first line, from 1,
``None`` in Parquet; and its values: stripped strings, of any type in Parquet."""


def row_place(row: Row) -> str:
    """Return number and line of a row, for messages."""
    number, line, _ = row
    return f"row {number}" + ("" if line is None else f" (line {line})")


class Part(NamedTuple):
    """Consecutive rows of a file.

    Start and stop are bytes, or rows from 0 in Parquet files and in formats that cannot
    be cut, whose parts hold records.
    """

    start: int
    stop: int
    row: int = 0  # number of rows before the part
    line: int = 0  # number of lines before it
    weight: int = 0  # bytes of the input, about
    records: tuple[GraphRecord, ...] = ()


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file, without a BOM; errors name the cause."""
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
    """Return the UTF-8 text of a file, without a byte order mark."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise GraphInputError(
            f"{path} is not UTF-8 text (byte {error.start}); is it a binary file?"
        ) from None


def columns_of(smiles: str | Sequence[str]) -> tuple[str, ...]:
    """Return the columns that hold SMILES: one, or several."""
    return (smiles,) if isinstance(smiles, str) else tuple(smiles)


def data_rows(
    path: str | Path,
    columns: Sequence[Column],
    hint: str = "",
    part: Part | None = None,
) -> Iterator[Row]:
    """Yield the rows of a table, or of a part of it, in constant memory.

    The file is Parquet, or text with a heading and columns separated by commas,
    semicolons or tabs, with any line ends, and perhaps a byte order mark. Rows are read
    lazily, and so are faults raised; ``hint`` is added to the error if the first of the
    columns is missing.

    Raises:
        GraphInputError: If the file or a column is missing, or a row has a wrong number
            of fields or one of more than ``csv.field_size_limit()`` characters.
    """
    if Path(path).suffix.lower() == ".parquet":
        return _parquet_rows(path, columns, hint, part)
    return _csv_rows(path, columns, hint, part)


def table_headings(path: str | Path) -> list[str]:
    """Return the headings of a table for :func:`data_rows`."""
    if Path(path).suffix.lower() == ".parquet":
        with _parquet_file(path) as file:
            return list(file.schema_arrow.names)
    for fields, _ in _csv_fields(path, text_lines(path)):
        return [name.strip() for name in fields]
    raise GraphInputError(f"{path} is empty; expected a header.")


def table_parts(path: str | Path, size: int, limit: int) -> Iterator[tuple[Part, str]]:
    """Cut a table into parts of ``size`` rows, each with a SHA-256 of its content.

    A part of a text file also ends with the row that reaches ``limit`` bytes.

    Raises:
        GraphInputError: As :func:`data_rows`, lazily.
    """
    if Path(path).suffix.lower() != ".parquet":
        lines = _Counted(path, "")
        rows = _csv_fields(path, lines)
        yield from lines.parts((1 for _ in rows), size, limit, header=True)
        return
    with _parquet_file(path) as file:
        count = file.metadata.num_rows
    total = Path(path).stat().st_size
    digest = hashlib.sha256()
    with open_binary(path) as content:
        while piece := content.read(1 << 20):
            digest.update(piece)
    for start, stop in even_chunks(count, size):
        weight = total * stop // count - total * start // count
        yield Part(start, stop, start, 0, weight), digest.hexdigest()


def line_parts(
    path: str | Path, size: int, limit: int, newline: Literal["", "\n"], skip: str = ""
) -> Iterator[tuple[Part, str]]:
    """Cut a text file of one graph per line into parts, as :func:`table_parts` does.

    Blank lines and lines equal to ``skip`` do not count.
    """
    lines = _Counted(path, newline)
    rows = (1 for line in lines if line.strip() not in ("", skip))
    yield from lines.parts(rows, size, limit)


class _Counted:
    """An iterator over lines that counts them and their bytes, and hashes them."""

    def __init__(self, path: str | Path, newline: Literal["", "\n"]) -> None:
        self.lines = text_lines(path, newline)
        with open_binary(path) as file:
            mark = file.read(len(codecs.BOM_UTF8))
        self.bytes = len(mark) if mark == codecs.BOM_UTF8 else 0
        self.line = 0
        self.digest = hashlib.sha256()

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        content = line.encode()
        self.bytes += len(content)
        self.line += 1
        self.digest.update(content)
        return line

    def parts(
        self, rows: Iterator[object], size: int, limit: int, header: bool = False
    ) -> Iterator[tuple[Part, str]]:
        """Cut ``rows``, an iterator over these lines, into parts with their SHA-256.

        A ``header`` enters the digest of the first part only.
        """
        if header:
            next(rows, None)
        start, line, row, count = self.bytes, self.line, 0, 0
        for _ in rows:
            count += 1
            length = self.bytes - start
            if count == size or length >= limit:
                part = Part(start, self.bytes, row, line, length)
                yield part, self.digest.hexdigest()
                start, line, row, count = self.bytes, self.line, row + count, 0
                self.digest = hashlib.sha256()
        if count:
            part = Part(start, self.bytes, row, line, self.bytes - start)
            yield part, self.digest.hexdigest()


def text_lines(
    path: str | Path, newline: Literal["", "\n"] = "", part: Part | None = None
) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 text, ends included, without a byte order mark.

    With the newline ``""`` a line ends at ``\n``, ``\r`` or ``\r\n``, with ``"\n"`` at
    ``\n`` only.

    Raises:
        GraphInputError: If it cannot be read or is not text, lazily.
    """
    content = open_binary(path)
    with io.TextIOWrapper(content, encoding="utf-8-sig", newline=newline) as file:
        try:
            if part is None:
                yield from file
                return
            content.seek(part.start)
            piece = content.read(part.stop - part.start).decode("utf-8")
            yield from io.StringIO(piece, newline=newline)
        except UnicodeDecodeError as error:
            byte = content.tell() - len(error.object) + error.start
            raise GraphInputError(
                f"{path} is not UTF-8 text (byte {byte}); is it a binary file?"
            ) from None
        except OSError as error:
            cause = error.strerror
            raise GraphInputError(f"{path} cannot be read: {cause}.") from error


def open_binary(path: str | Path) -> BinaryIO:
    """Open a file for reading; raises what :func:`read_bytes` does."""
    try:
        return open(path, "rb")
    except OSError:
        read_bytes(path)  # raises an error that names the cause
        raise


def _csv_rows(
    path: str | Path, columns: Sequence[Column], hint: str, part: Part | None
) -> Iterator[Row]:
    rows = _csv_fields(path, text_lines(path))
    heading = next(rows, None)
    if heading is None:
        expected = ", ".join(map(repr, columns))
        raise GraphInputError(f"{path} is empty; expected a header with {expected}.")
    names = [name.strip() for name in heading[0]]
    indices = _column_indices(path, columns, names, hint)
    rows_before = 0
    if part is not None:
        rows.close()
        lines, rows_before = text_lines(path, part=part), part.row
        rows = _csv_fields(path, lines, len(names), part.line)
    for row, (fields, line) in enumerate(rows, start=rows_before + 1):
        yield row, line, tuple(fields[p].strip() for p in indices)


def _csv_fields(
    path: str | Path, lines: Iterator[str], width: int = 0, lines_before: int = 0
) -> Generator[tuple[list[str], int]]:
    """Yield the fields of every row that is not blank, and its first line.

    Rows have ``width`` fields, by default as many as the first; ``lines_before`` lines
    precede them.

    This is not pyarrow's reader, which reports neither the line of a row nor the byte
    of a fault, and accepts text after a quote and quotes that are never closed.
    """
    filled = (line for line in text_lines(path) if line.strip("\r\n"))
    delimiter = max(",;\t", key=next(filled, ",").count)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line = lines_before
    try:
        for fields in reader:
            begin, line = line + 1, lines_before + reader.line_num
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
        line = lines_before + reader.line_num
        raise GraphInputError(
            f"{path}, line {line}: {error}; is a quote left open?{advice}"
        ) from error


def _parquet_rows(
    path: str | Path, columns: Sequence[Column], hint: str, part: Part | None
) -> Iterator[Row]:
    with _parquet_file(path) as file:
        names = list(file.schema_arrow.names)
        column_names = [names[p] for p in _column_indices(path, columns, names, hint)]
        chosen = list(dict.fromkeys(column_names))
        start, stop = (0, file.metadata.num_rows) if part is None else part[:2]
        row = 0
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if row >= stop or row + count <= start:
                row += count
                continue
            for batch in file.iter_batches(_BATCH_ROWS, [group], columns=chosen):
                skip, keep = max(0, start - row), min(stop - row, batch.num_rows)
                if skip < keep:
                    piece = batch.slice(skip, keep - skip)
                    values = [piece.column(name).to_pylist() for name in column_names]
                    rows = enumerate(zip(*values, strict=True), row + skip + 1)
                    for number, fields in rows:
                        yield number, None, fields
                row += batch.num_rows


@contextmanager
def _parquet_file(path: str | Path) -> Iterator[Any]:
    """Open a Parquet file; errors in the block become a :class:`GraphInputError`."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    with open_binary(path) as content:
        try:
            yield ParquetFile(content, buffer_size=_BUFFER_BYTES, pre_buffer=False)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            cause = " ".join(str(error).split())
            raise GraphInputError(
                f"{path} is not a readable Parquet file ({cause}); it may be cut short."
            ) from error


def _column_indices(
    path: str | Path, columns: Sequence[Column], names: list[str], hint: str
) -> list[int]:
    """Return the indices of the columns; an error lists those of the table."""
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


def json_records(
    path: str | Path,
    targets: Sequence[str] = (),
    *,
    loops: SelfLoops = "drop",
    part: Part | None = None,
) -> Iterator[GraphRecord]:
    """Yield lines such as ``{"edges": [[0, 1], [1, 2]], "num_nodes": 4, "y": 1}``.

    ``edges`` lists each edge once or in both directions, nodes from 0; ``num_nodes`` is
    needed unless ``x`` (one list of numbers per node) is given. Blank lines are
    skipped. ``targets`` are keys to keep; a line may lack some.

    Raises:
        GraphInputError: If a line is wrong, lazily; names line and key. After the last
            line, if no line of the file has a target.
    """
    row, lines_before = (0, 0) if part is None else (part.row, part.line)
    seen: set[str] = set()
    first: list[str] = []
    lines = text_lines(path, "\n", part)
    for number, line in enumerate(lines, start=lines_before + 1):
        if not line.strip():
            continue
        row += 1
        location = f"{path}, line {number}"
        try:
            values = parse_json(line)
        except ValueError as error:
            raise GraphInputError(f"{location}: not valid JSON ({error}).") from None
        if not isinstance(values, dict) or "edges" not in values:
            raise GraphInputError(
                f"{location}: an object with the key 'edges' is needed."
            )
        first = first or sorted(values)
        kept_values = {name: values[name] for name in targets if name in values}
        seen |= kept_values.keys()
        graph, x = _graph(values, location, loops)
        yield GraphRecord(graph, f"line {number}", row, x, targets=kept_values)
    for name in targets if row and part is None else ():
        if name not in seen:
            raise GraphInputError(
                f"{path} has no key {name!r}; the keys of its first line are {first}."
            )


def _graph(
    values: dict[str, Any], location: str, loops: SelfLoops
) -> tuple[Graph, NDArray[np.float32] | None]:
    x = None
    if values.get("x") is not None:
        x = feature_rows(values["x"], location)
    num_nodes = values.get("num_nodes", None if x is None else len(x))
    if num_nodes is None:
        raise GraphInputError(
            f"{location}: neither 'num_nodes' nor 'x' is given; isolated nodes would "
            "be lost."
        )
    try:
        check_num_nodes(check_positive("num_nodes", num_nodes, 0, None))
    except (ConfigError, GraphInputError) as error:
        raise GraphInputError(f"{location}: {error}") from None
    if x is not None and len(x) != num_nodes:
        raise GraphInputError(
            f"{location}: 'x' has {len(x)} rows, but there are {num_nodes} nodes."
        )
    edges = values["edges"]
    pairs = isinstance(edges, list) and all(
        isinstance(edge, list)
        and len(edge) == 2
        and all(isinstance(end, int) and not isinstance(end, bool) for end in edge)
        and all(0 <= end < num_nodes for end in edge)
        for edge in edges
    )
    if not pairs:
        raise GraphInputError(
            f"{location}: 'edges' must be a list of pairs [u, v] of nodes in "
            f"0..{num_nodes - 1}."
        )
    index = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    with located(location):
        graph = Graph.from_edge_index(index, num_nodes, undirected="add", loops=loops)
    return graph, x
