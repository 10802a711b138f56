"""Tables of molecules: CSV, TSV, Parquet or ``.smi`` files with a SMILES column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sekgnn.errors import GraphInputError
from sekgnn.graphs.extras import require
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.molecules import from_smiles
from sekgnn.graphs.text import read_bytes, read_text

_SHOWN = 10  # invalid rows spelt out in an error


@dataclass(frozen=True)
class SmilesRow:
    """One molecule of a table.

    Attributes:
        row: Number of the data row, from 1, headings and blank lines not counted.
        line: Line of the file it starts on, from 1; None in Parquet files.
        text: The SMILES as it stands there.
    """

    row: int
    line: int | None
    text: str

    def __str__(self) -> str:
        """Row, line and text."""
        line = "" if self.line is None else f" (line {self.line})"
        return f"row {self.row}{line}: {self.text!r}"


@dataclass(frozen=True)
class SmilesTable:
    """The molecules of a table as graphs.

    Attributes:
        graphs: One graph for each valid row.
        rows: The data row (from 1) of each graph.
        invalid: The rows that rdkit cannot read.
    """

    graphs: tuple[Graph, ...]
    rows: tuple[int, ...]
    invalid: tuple[SmilesRow, ...]


def read_smiles_table(
    path: str | Path,
    column: str = "smiles",
    *,
    skip_invalid: bool = False,
    add_hydrogens: bool = False,
) -> SmilesTable:
    """Read a table with one molecule per row.

    Args:
        path: A ``.parquet`` file; a ``.smi`` file (no heading, the SMILES is the first
            word of a line); or text with a heading and columns divided by comma,
            semicolon or tab.
        column: The column that holds the SMILES.
        skip_invalid: Leave out rows that rdkit cannot read and list them in the
            result, instead of raising.
        add_hydrogens: Make every hydrogen a node.

    Raises:
        GraphInputError: If the file or column is not there, a row has a wrong number
            of fields, no molecule is left, or SMILES are invalid.
        MissingExtraError: If rdkit, or for Parquet pyarrow, is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        entries = _parquet_rows(path, column)
    elif suffix == ".smi":
        entries = _smi_rows(path)
    else:
        entries = _csv_rows(path, column)
    graphs: list[Graph] = []
    rows: list[int] = []
    invalid: list[SmilesRow] = []
    for entry in entries:
        try:
            graphs.append(from_smiles(entry.text, add_hydrogens=add_hydrogens))
        except GraphInputError:
            invalid.append(entry)
        else:
            rows.append(entry.row)
    if invalid and not skip_invalid:
        raise GraphInputError(_complaint(path, invalid))
    if not graphs:
        raise GraphInputError(f"{path} holds no molecules.")
    return SmilesTable(tuple(graphs), tuple(rows), tuple(invalid))


def _complaint(path: str | Path, invalid: list[SmilesRow]) -> str:
    """Return one message for all invalid rows."""
    lines = [f"{path}: {len(invalid)} SMILES cannot be read by rdkit:"]
    lines += [f"  {entry}" for entry in invalid[:_SHOWN]]
    if len(invalid) > _SHOWN:
        lines.append(f"  and {len(invalid) - _SHOWN} more")
    lines.append(
        "Correct them, or leave them out with --skip-invalid (skip_invalid=True)."
    )
    return "\n".join(lines)


def _csv_rows(path: str | Path, column: str) -> Iterator[SmilesRow]:
    """Yield the rows of a text table; the heading tells the delimiter."""
    text = read_text(path)
    heading = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(",;\t", key=heading.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str] | None = None
    place = row = line = 0
    try:
        for fields in reader:
            begin, line = line + 1, reader.line_num
            if not any(fields):
                continue
            if names is None:
                names = [name.strip() for name in fields]
                place = _column_place(path, column, names)
                continue
            row += 1
            if len(fields) != len(names):
                raise GraphInputError(
                    f"{path}, line {begin}: {len(fields)} fields, but the heading has "
                    f"{len(names)}; quote fields that contain {delimiter!r}."
                )
            yield SmilesRow(row, begin, fields[place].strip())
    except csv.Error as error:
        raise GraphInputError(
            f"{path}, line {reader.line_num}: {error}; is a quote left open?"
        ) from error
    if names is None:
        raise GraphInputError(f"{path} is empty; expected a heading with {column!r}.")


def _smi_rows(path: str | Path) -> Iterator[SmilesRow]:
    """Yield the first word of every line."""
    row = 0
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        words = line.split(maxsplit=1)
        if words:
            row += 1
            yield SmilesRow(row, number, words[0])


def _parquet_rows(path: str | Path, column: str) -> Iterator[SmilesRow]:
    """Yield the rows of a Parquet file; a missing value is an empty text."""
    content = io.BytesIO(read_bytes(path))
    arrow = require("pyarrow", None)
    parquet = require("pyarrow.parquet", None)
    try:
        file = parquet.ParquetFile(content)
        names = list(file.schema_arrow.names)
        _column_place(path, column, names)
        values = file.read(columns=[column]).column(column).to_pylist()
    except (arrow.ArrowException, OSError) as error:
        raise GraphInputError(
            f"{path} is not a readable Parquet file ({error}); it may be cut short."
        ) from error
    for row, value in enumerate(values, start=1):
        yield SmilesRow(row, None, "" if value is None else str(value).strip())


def _column_place(path: str | Path, column: str, names: list[str]) -> int:
    """Return the number of a column, or list those there are."""
    if column not in names:
        raise GraphInputError(
            f"{path} has no column {column!r}; its columns are {names}. Name the one "
            "with the SMILES (--smiles-column)."
        )
    return names.index(column)
