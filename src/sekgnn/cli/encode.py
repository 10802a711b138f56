"""``sekgnn encode``: graphs in, encodings out."""

from __future__ import annotations

import json as json_format
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sekgnn.cli.failures import say
from sekgnn.cli.field_flags import name_and_value, with_flags
from sekgnn.cli.shared_options import Json, KernelThreads, Quiet
from sekgnn.encoding.substructure import ENCODINGS
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.graphs.read_options import ReadOptions

if TYPE_CHECKING:
    from sekgnn.encoding import SubstructureEncoding
    from sekgnn.graphs.table import DataRow

_READING, _WALKS = fields(ReadOptions), fields(WalkEncoding)
_SHOWN = 10  # skipped rows listed in a note


@with_flags(
    (*_READING, *_WALKS),
    lambda item: "How to read the input" if item in _READING else "Walks",
)
def encode(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            show_default=False,
            help="graphs: graph6, edge list, npz, graph file (.csr), table of SMILES, "
            "JSON lines or TU folder",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            show_default=False,
            help="file to write, .npz or .parquet; an existing one is replaced once "
            "the new one is complete; of a graph file (.csr) also a folder, which is "
            "filled range by range and continued after an interruption",
        ),
    ],
    encoding: Annotated[
        str,
        typer.Option(
            help=f"substructure encoding f: {', '.join(ENCODINGS)}, or "
            "package.module:Class"
        ),
    ] = "walks",
    encoding_options: Annotated[
        list[str] | None,
        typer.Option(
            help="further parameters of the encoding, as name=value",
            show_default="none",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="preset that other options change: paper, what its released code "
            "computes",
            show_default="none",
        ),
    ] = None,
    backend: Annotated[
        str,
        typer.Option(
            help="how walks are computed: auto (exact), dense, spectral, push, or "
            "sampled (estimates with standard errors)"
        ),
    ] = "auto",
    num_walks: Annotated[
        int,
        typer.Option(help="number of walks from every node and shell, with sampled"),
    ] = 256,
    seed: Annotated[int, typer.Option(help="seed of the walks, with sampled")] = 0,
    dtype: Annotated[
        str, typer.Option(help="precision of the encodings: float32 or float64")
    ] = "float64",
    force: Annotated[
        bool, typer.Option("--force", help="encode even if it may take hours")
    ] = False,
    threads: KernelThreads = None,
    json: Json = False,
    quiet: Quiet = False,
    **keys: Any,
) -> None:
    """Compute the substructure encoding of every node of every graph.

    An .npz file holds values (nodes x channels x length), node_ptr (where
    each graph's nodes begin), channels (their names), encoding (JSON) and,
    for SMILES, rows (the data row of each graph, from 1).

    A .parquet file holds one row per node: graph, node, for SMILES row, and
    one column channel/t for each number; the encoding is in its metadata.
    With --backend sampled a channel of standard errors follows for each.
    """
    from sekgnn.checks import check_choice, check_positive
    from sekgnn.cli.encoding_job import check_backend, check_output, run_job
    from sekgnn.cli.progress import progress_bar
    from sekgnn.graphs.records import read_all

    huge = source.suffix.lower() == ".csr" and not output.suffix
    if not huge:
        check_output(output, source)
    read = {item.name: keys.pop(item.name) for item in _READING if item.name in keys}
    check_choice("--dtype", dtype, ("float32", "float64"))
    if threads is not None:
        check_positive("--threads", threads)
    made = _encoding(encoding, preset, encoding_options or [], keys)
    check_backend(backend, made, num_walks, seed)
    if huge:
        _encode_ranges(
            source, output, made, backend, dtype, num_walks, seed,
            threads, force, json, quiet,
        )  # fmt: skip
        return
    records, skipped = read_all(source, ReadOptions(**read), features=False)
    table = any(record.text is not None for record in records)
    rows = [record.row for record in records] if table else None
    bar = progress_bar("encoding", shown=not (quiet or json))
    with _patient(force), bar as progress:
        result = run_job(
            [record.graph for record in records],
            made,
            output,
            rows=rows,
            backend=backend,
            dtype=dtype,
            num_walks=num_walks,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    if json:
        left_out = [
            {"row": row.row, "line": row.line, "smiles": row.values[0]}
            for row in skipped
        ]
        say(json_format.dumps({**result.to_dict(), "skipped": left_out}))
        return
    if skipped:
        _note_skipped(skipped)
    if not quiet:
        say(result.sentence())


def _encode_ranges(
    source: Path,
    folder: Path,
    encoding: SubstructureEncoding,
    backend: str,
    dtype: str,
    num_walks: int,
    seed: int,
    threads: int | None,
    force: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Encode a graph file into the shards of a folder."""
    from sekgnn.cli.failures import resumable
    from sekgnn.cli.progress import progress_bar
    from sekgnn.encoding.node_ranges import RangePlan, check_ranges, encode_graph_file
    from sekgnn.graphs.graph_file import read_graph_file
    from sekgnn.kernel import clock

    check_ranges(encoding)
    walks: Any = encoding
    plan = RangePlan(
        walks, "push" if backend == "auto" else backend, dtype, num_walks, seed
    )
    began, file = clock(), read_graph_file(source)
    bar = progress_bar("encoding", shown=not (quiet or json))
    with _patient(force), bar as progress, resumable():
        done = encode_graph_file(file, plan, folder, threads=threads, progress=progress)
    seconds = clock() - began
    if json:
        facts = {"shape": list(done.shape), "dtype": dtype, "seconds": seconds}
        say(json_format.dumps({**facts, "output": str(folder)}))
    elif not quiet:
        nodes, channels, length = done.shape
        say(
            f"encoded {nodes} nodes, {channels} channels x {length} steps, {dtype}, in "
            f"{seconds:.1f} s\nwrote {folder}"
        )


def _encoding(
    name: str, preset: str | None, options: list[str], flags: dict[str, Any]
) -> SubstructureEncoding:
    """Return the encoding that the flags describe."""
    from sekgnn.checks import check_choice
    from sekgnn.encoding import make_encoding

    values = {k: tuple(v) if isinstance(v, list) else v for k, v in flags.items()}
    values |= dict(name_and_value("--encoding-options", text) for text in options)
    if preset is None:
        return make_encoding(name, **values)
    check_choice("--preset", preset, ("paper",))
    return make_encoding({**WalkEncoding.paper().to_dict(), **values})


def _note_skipped(skipped: list[DataRow]) -> None:
    from sekgnn.cli.failures import note

    shown = "; ".join(f"{row.place}: {row.values[0]!r}" for row in skipped[:_SHOWN])
    more = len(skipped) - _SHOWN
    tail = f"; and {more} more" if more > 0 else ""
    note(f"left out {len(skipped)} SMILES that cannot be read: {shown}{tail}")


@contextmanager
def _patient(force: bool) -> Iterator[None]:
    """Let an encoding take as long as it needs, if asked to."""
    from sekgnn.encoding import costs

    limit = costs.TIME_LIMIT
    costs.TIME_LIMIT = math.inf if force else limit
    try:
        yield
    finally:
        costs.TIME_LIMIT = limit
