"""``sekgnn encode``: graphs in, encodings out."""

from __future__ import annotations

import json as json_format
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
_COUNTED = ("graphs", "nodes", "edges", "left_out")  # of every shard


@with_flags(
    (*_READING, *_WALKS),
    lambda item: "How to read the input" if item in _READING else "Walks",
)
def encode(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT...",
            show_default=False,
            help="graphs: graph6, edge list, npz, graph file (.csr), table of SMILES, "
            "JSON lines or TU folder; several for a folder of shards",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            show_default=False,
            help="file to write, .npz or .parquet, which replaces an existing one "
            "when complete; or folder for shards of graphs, or of the nodes of a graph "
            "file (.csr), to which the same command adds what is missing",
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
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="columns or keys to keep in shards, to train on", show_default="none"
        ),
    ] = None,
    shard_size: Annotated[
        int | None, typer.Option(help="graphs of a shard", show_default="4096")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(help="who makes shards: serial, this process, or dask, workers"),
    ] = "serial",
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="address or file of a running Dask scheduler",
            show_default="one on this machine",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Dask workers to start on this machine",
            show_default="one per usable core",
        ),
    ] = None,
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

    A folder holds shards for any number of graphs, which sekgnn train reads:
    the input is never whole in memory.
    """
    from sekgnn.checks import check_choice, check_positive
    from sekgnn.cli.encoding_job import WRITERS, check_backend, check_output, run_job
    from sekgnn.cli.progress import progress_bar
    from sekgnn.encoding.costs import patient
    from sekgnn.encoding.tasks import BACKENDS
    from sekgnn.graphs.records import read_all

    read = {item.name: keys.pop(item.name) for item in _READING if item.name in keys}
    check_choice("--dtype", dtype, ("float32", "float64"))
    check_choice("--engine", engine, ("serial", "dask"))
    if threads is not None:
        check_positive("--threads", threads)
    made = _encoding(encoding, preset, encoding_options or [], keys)
    check_backend(backend, made, num_walks, seed)
    asked = {
        "--target": target,
        "--shard-size": shard_size,
        "--engine dask": engine == "dask",
        "--scheduler": scheduler,
        "--workers": workers,
    }
    if not output.suffix or (output.is_dir() and output.suffix not in WRITERS):
        _check_engine(engine, scheduler, workers, threads)
        cluster = None if engine == "serial" else (scheduler, workers)
        if sources[0].suffix.lower() == ".csr":
            asked = {"--target": target, "--shard-size": shard_size}
            _encode_ranges(
                _only(sources, output, asked), output, made, backend, dtype, num_walks,
                seed, threads, force, cluster, json, quiet,
            )  # fmt: skip
            return
        check_choice("--backend for a folder of shards", backend, BACKENDS)
        _shards(
            sources,
            output,
            made,
            {"dtype": dtype, "backend": backend, "force": force, "threads": threads}
            | {"targets": target or (), **read}
            | ({} if shard_size is None else {"shard_size": shard_size}),
            cluster,
            json,
            quiet,
        )
        return
    source = _only(sources, output, asked)
    check_output(output, source)
    records, skipped = read_all(source, ReadOptions(**read), features=False)
    table = any(record.text is not None for record in records)
    rows = [record.row for record in records] if table else None
    bar = progress_bar("encoding", shown=not (quiet or json))
    with patient(force), bar as progress:
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
    cluster: tuple[str | None, int | None] | None,
    json: bool,
    quiet: bool,
) -> None:
    """Encode a graph file into the shards of a folder."""
    from sekgnn.cli.failures import resumable
    from sekgnn.cli.progress import progress_bar
    from sekgnn.encoding.costs import patient
    from sekgnn.encoding.node_ranges import RangePlan, check_ranges, encode_graph_file
    from sekgnn.graphs.graph_file import read_graph_file
    from sekgnn.kernel import clock

    check_ranges(encoding)
    walks: Any = encoding
    plan = RangePlan(
        walks, "push" if backend == "auto" else backend, dtype, num_walks, seed
    )
    began, file = clock(), read_graph_file(source)
    shown = not (quiet or json)
    with patient(force), resumable(), _open(cluster, shown) as client:
        with progress_bar("encoding", shown=shown) as progress:
            done = encode_graph_file(
                file, plan, folder, threads=threads, client=client, progress=progress
            )
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


def _only(sources: list[Path], output: Path, asked: dict[str, Any]) -> Path:
    """Return the one source of a file, for which none of ``asked`` has a meaning."""
    from sekgnn.errors import ConfigError

    needs = [name for name, value in asked.items() if value]
    if len(sources) > 1:
        needs.insert(0, "several inputs")
    if needs:
        raise ConfigError(
            f"{output} is a file, and {needs[0]} needs a folder of shards; give a "
            "folder as --output."
        )
    return sources[0]


def _check_engine(
    engine: str, scheduler: str | None, workers: int | None, threads: int | None
) -> None:
    from sekgnn.checks import check_positive
    from sekgnn.errors import ConfigError

    flags = {"--scheduler": scheduler, "--workers": workers}
    given = [flag for flag, value in flags.items() if value is not None]
    if given and engine != "dask":
        raise ConfigError(f"{given[0]} is for --engine dask.")
    if len(given) == 2:
        raise ConfigError("give --scheduler or --workers, not both.")
    if workers is not None:
        check_positive("--workers", workers)
    if threads is not None and engine == "dask":
        raise ConfigError("a Dask worker has one thread per task; leave --threads out.")


@contextmanager
def _open(cluster: tuple[str | None, int | None] | None, shown: bool) -> Iterator[Any]:
    """Give a client of the cluster, and say where its dashboard is, or ``None``."""
    from sekgnn.cli.failures import note
    from sekgnn.encoding.dask_engine import open_client

    if cluster is None:
        yield None
        return
    with open_client(*cluster) as client:
        if shown:
            note(f"dashboard at {client.dashboard_link} (its pages need bokeh)")
        yield client


def _shards(
    sources: list[Path],
    output: Path,
    encoding: SubstructureEncoding,
    options: dict[str, Any],
    cluster: tuple[str | None, int | None] | None,
    json: bool,
    quiet: bool,
) -> None:
    """Encode into a folder of shards, on the workers of a cluster if there is one."""
    from sekgnn.cli.failures import note, resumable
    from sekgnn.cli.progress import progress_bar
    from sekgnn.encoding.sharded import encode_shards
    from sekgnn.kernel import clock

    began, shown = clock(), not (quiet or json)
    with resumable(), _open(cluster, shown) as client:
        with progress_bar("encoding", shown=shown) as progress:
            found = encode_shards(
                sources, output, encoding, client=client, progress=progress, **options
            )
    lines, seconds = found.manifest["shards"], clock() - began
    sums = {name: sum(line[name] for line in lines) for name in _COUNTED}
    if json:
        rest = {"shards": len(lines), "seconds": seconds, "output": str(output)}
        say(json_format.dumps({**sums, **rest}))
        return
    if sums["left_out"]:
        note(f"left out {sums['left_out']} SMILES that cannot be read")
    if not quiet:
        say(
            f"encoded {sums['graphs']} graphs ({sums['nodes']} nodes, {sums['edges']} "
            f"edges) in {seconds:.2f} s, starting and checking included\n"
            f"wrote {len(lines)} shards to {output}"
        )
