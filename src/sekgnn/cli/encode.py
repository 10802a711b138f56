"""``sekgnn encode``: graphs in, encodings out."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sekgnn.cli.encoding_job import JobResult
    from sekgnn.encoding.spec import WalkEncoding

_SPEC = "What to compute"
_INPUT = "How to read the input"
_SHOWN = 10  # skipped rows spelt out in a note


def encode(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            show_default=False,
            help="graph6 file, edge list, npz, table of SMILES, or TU folder",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            show_default=False,
            help=".npz or .parquet file; an existing one is replaced once the new one "
            "is complete",
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            help="graph6, edges, npz, smiles or tu; by default the suffix tells",
            rich_help_panel=_INPUT,
        ),
    ] = None,
    undirected: Annotated[
        str,
        typer.Option(
            help="edges listed in one direction only: error, or add the other",
            rich_help_panel=_INPUT,
        ),
    ] = "error",
    loops: Annotated[
        str,
        typer.Option(
            help="self-loops in the input: drop or error", rich_help_panel=_INPUT
        ),
    ] = "drop",
    smiles: Annotated[
        str,
        typer.Option(help="column that holds the SMILES", rich_help_panel=_INPUT),
    ] = "smiles",
    skip_invalid: Annotated[
        bool,
        typer.Option(
            "--skip-invalid",
            help="leave out SMILES that cannot be read, and list them",
            rich_help_panel=_INPUT,
        ),
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            help="paper: what the paper's code computes; the options below change it",
            rich_help_panel=_SPEC,
        ),
    ] = None,
    num_shells: Annotated[
        int | None,
        typer.Option(
            help="K, shells around a node", show_default="3", rich_help_panel=_SPEC
        ),
    ] = None,
    walk_length: Annotated[
        int | None,
        typer.Option(
            help="l, steps of the walk", show_default="16", rich_help_panel=_SPEC
        ),
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="where the walk lives: graph, ego or internal; may be repeated",
            show_default="graph",
            rich_help_panel=_SPEC,
        ),
    ] = None,
    radius: Annotated[
        list[int] | None,
        typer.Option(
            help="h of scopes ego and internal; may be repeated",
            show_default="K",
            rich_help_panel=_SPEC,
        ),
    ] = None,
    aggregate: Annotated[
        str | None,
        typer.Option(
            help="over a shell: sum, mean, landing or moments",
            show_default="sum",
            rich_help_panel=_SPEC,
        ),
    ] = None,
    merge: Annotated[
        str | None,
        typer.Option(
            help="of the channels: concat, parts or mean",
            show_default="concat",
            rich_help_panel=_SPEC,
        ),
    ] = None,
    self_loops: Annotated[
        bool | None,
        typer.Option(
            "--self-loops/--no-self-loops",
            help="walk on A + I or on A",
            show_default="self-loops",
            rich_help_panel=_SPEC,
        ),
    ] = None,
    backend: Annotated[
        str, typer.Option(help="auto, dense, spectral or push")
    ] = "auto",
    dtype: Annotated[str, typer.Option(help="float32 or float64")] = "float64",
    threads: Annotated[
        int | None, typer.Option(help="threads", show_default="all usable cores")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="no progress bar, no summary")
    ] = False,
) -> None:
    """Compute the substructure encoding of every node of every graph.

    An .npz file holds encoding (nodes x channels x steps), node_ptr (where
    each graph's nodes begin), channels (their names), spec (JSON) and, for
    SMILES, rows (the data row of each graph, from 1).

    A .parquet file holds one row per node: graph, node, for SMILES row, and
    one column channel/t for each number; the spec is in its metadata.
    """
    from sekgnn.checks import check_choice, check_positive
    from sekgnn.cli.encoding_file import check_output
    from sekgnn.cli.encoding_job import check_backend, read_input, run_job
    from sekgnn.cli.progress import progress_bar
    from sekgnn.graphs import FORMATS

    check_output(output, source)
    if format is not None:
        check_choice("--format", format, FORMATS)
    check_choice("--dtype", dtype, ("float32", "float64"))
    if threads is not None:
        check_positive("--threads", threads)
    spec = _build_spec(
        preset, num_shells, walk_length, scope, radius, aggregate, merge, self_loops
    )
    check_backend(backend, spec)
    graphs = read_input(
        source,
        format=format,
        undirected=undirected,
        loops=loops,
        smiles=smiles,
        skip_invalid=skip_invalid,
    )
    with progress_bar("encoding", shown=not (quiet or json)) as progress:
        result = run_job(
            graphs,
            spec,
            output,
            backend=backend,
            dtype=dtype,
            threads=threads,
            progress=progress,
        )
    if result.skipped and not json:
        _note_skipped(result)
    if json:
        typer.echo(json_format.dumps(result.to_dict()))
    elif not quiet:
        typer.echo(result.sentence())


def _build_spec(
    preset: str | None,
    num_shells: int | None,
    walk_length: int | None,
    scope: list[str] | None,
    radius: list[int] | None,
    aggregate: str | None,
    merge: str | None,
    self_loops: bool | None,
) -> WalkEncoding:
    """Return the preset, or the default, with what was asked for put in."""
    from dataclasses import replace

    from sekgnn.checks import check_choice, check_positive
    from sekgnn.encoding.spec import AGGREGATES, MERGES, SCOPES, WalkEncoding

    changes: dict[str, Any] = {}
    if num_shells is not None:
        changes["num_shells"] = check_positive("--num-shells", num_shells)
    if walk_length is not None:
        changes["walk_length"] = check_positive("--walk-length", walk_length)
    if scope:
        changes["scope"] = tuple(check_choice("--scope", s, SCOPES) for s in scope)
    if radius:
        changes["radius"] = tuple(check_positive("--radius", h) for h in radius)
    if aggregate is not None:
        changes["aggregate"] = check_choice("--aggregate", aggregate, AGGREGATES)
    if merge is not None:
        changes["merge"] = check_choice("--merge", merge, MERGES)
    if self_loops is not None:
        changes["self_loops"] = self_loops
    if preset is None:
        return WalkEncoding(**changes)
    check_choice("--preset", preset, ("paper",))
    return replace(WalkEncoding.paper(), **changes)


def _note_skipped(result: JobResult) -> None:
    from sekgnn.cli.failures import note

    shown = "; ".join(
        f"{row.place}: {row.values[0]!r}" for row in result.skipped[:_SHOWN]
    )
    more = len(result.skipped) - _SHOWN
    tail = f"; and {more} more" if more > 0 else ""
    note(f"left out {len(result.skipped)} SMILES that cannot be read: {shown}{tail}")
