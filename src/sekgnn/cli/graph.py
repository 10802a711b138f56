"""``sekgnn graph``: one large graph as a file that is mapped into memory."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from sekgnn.cli.options import JSON, QUIET, ManyValuesCommand, option, with_flags
from sekgnn.cli.printing import progress_bar, say, say_json
from sekgnn.graphs.read_options import ReadOptions

graph = typer.Typer(no_args_is_help=True, help="Make and look at graph files (.csr).")

_RULES = [item for item in fields(ReadOptions) if item.name in ("undirected", "loops")]


@graph.command(cls=ManyValuesCommand)
@with_flags({"How to read the input": _RULES})
def pack(
    source: Path = typer.Argument(
        ..., metavar="EDGES", help="edge list", show_default=False
    ),
    output: Path = typer.Argument(..., help="file to write, .csr", show_default=False),
    arrays: list[str] | None = option(
        None,
        "arrays with a row per node: NAME=FILE.npy, or FILE.npz; x holds "
        "features, train_mask, val_mask and test_mask a split, any other a target",
    ),
    num_nodes: int | None = option(
        None,
        "number of nodes",
        shown="as the list or the arrays say, else the largest id plus 1",
    ),
    json: bool = JSON,
    quiet: bool = QUIET,
    **keys: Any,
) -> None:
    """Pack an edge list of any length into a file that is mapped, never read whole.

    Repeated edges are merged. Memory does not grow with the number of edges.
    """
    from sekgnn.errors import ConfigError
    from sekgnn.graphs.graph_file import SUFFIX, load_arrays, pack_edge_list

    if output.suffix.lower() != SUFFIX:
        raise ConfigError(f"{output}: a graph file ends in {SUFFIX}; rename it.")
    with progress_bar("packing", shown=not (quiet or json)) as progress:
        pack_edge_list(
            source,
            output,
            arrays=load_arrays(arrays or []),
            num_nodes=num_nodes,
            progress=progress,
            **keys,
        )
    if json or not quiet:
        _describe(output, json, check=False)


@graph.command()
def show(
    file: Path = typer.Argument(..., help="graph file (.csr)"),
    json: bool = JSON,
) -> None:
    """Check a graph file against its digest and say what it holds."""
    _describe(file, json, check=True)


def _describe(path: Path, as_json: bool, check: bool) -> None:
    from sekgnn.graphs.graph_file import read_graph_file

    file = read_graph_file(path, check=check)
    arrays = {
        name: f"{array.dtype} {list(array.shape)}" for name, array in file.nodes.items()
    }
    facts = {
        "nodes": file.graph.num_nodes,
        "edges": file.graph.num_edges,
        "largest_degree": int(file.graph.degrees.max(initial=0)),
        "bytes": path.stat().st_size,
        "arrays": arrays,
        "sha256": file.fingerprint,
    }
    if as_json:
        say_json({**facts, "file": str(path)})
        return
    held = ", ".join(f"{name} ({kind})" for name, kind in arrays.items())
    say(
        f"{path}: {facts['nodes']:,} nodes, {facts['edges']:,} edges, largest degree "
        f"{facts['largest_degree']:,}, {path.stat().st_size / 2**20:,.1f} MiB"
        + (f"\narrays: {held}" if held else "")
    )
