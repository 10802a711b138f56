"""Tables of molecules: CSV, TSV, Parquet or ``.smi`` files with a SMILES column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sekgnn.errors import GraphInputError
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.molecules import from_smiles
from sekgnn.graphs.table import read_table
from sekgnn.graphs.text import read_text

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
    entries = _smi_rows(path) if suffix == ".smi" else _table_rows(path, column)
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


def _table_rows(path: str | Path, column: str) -> Iterator[SmilesRow]:
    """Yield the SMILES of a table with a heading; a missing value is an empty text."""
    hint = "Name the one with the SMILES (--smiles-column)."
    for entry in read_table(path, [column], hint):
        value = entry.values[0]
        text = "" if value is None else str(value).strip()
        yield SmilesRow(entry.row, entry.line, text)


def _smi_rows(path: str | Path) -> Iterator[SmilesRow]:
    """Yield the first word of every line."""
    row = 0
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        words = line.split(maxsplit=1)
        if words:
            row += 1
            yield SmilesRow(row, number, words[0])
