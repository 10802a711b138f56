"""``sekgnn encode``: from graphs to encodings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import typer

from sekgnn.checks import check_choice
from sekgnn.cli.failures import resumable
from sekgnn.cli.options import (
    JSON,
    KERNEL_THREADS,
    QUIET,
    name_and_value,
    option,
    with_flags,
)
from sekgnn.cli.printing import note, progress_bar, say, say_json
from sekgnn.encoding.substructure import ENCODINGS
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError
from sekgnn.graphs.read_options import ReadOptions

_READING = fields(ReadOptions)
_SHOWN = 10  # skipped rows listed in a note
_COUNTED = ("graphs", "nodes", "edges", "left_out")  # of every shard


@with_flags({"How to read the input": _READING, "Walks": fields(WalkEncoding)})
def encode(
    sources: list[Path] = typer.Argument(
        ...,
        metavar="INPUT...",
        show_default=False,
        help="graphs: graph6, edge list, npz, graph file (.csr), table of SMILES, "
        "JSON lines or TU folder; several for a folder of shards",
    ),
    output: Path = option(
        ...,
        "file to write, .npz or .parquet, which replaces an existing one when "
        "complete; or folder for shards of graphs, or of the nodes of a graph file "
        "(.csr), which the same command continues",
        "--output",
        "-o",
    ),
    encoding: str = option(
        "walks",
        f"substructure encoding f: {', '.join(ENCODINGS)}, or package.module:Class",
    ),
    encoding_options: list[str] | None = option(
        None, "further parameters of the encoding, as name=value"
    ),
    preset: str | None = option(
        None,
        "preset, which other options override: paper, the encoding of its released "
        "code",
        choices=("paper",),
    ),
    backend: str = option(
        "auto",
        "how walks are computed: auto (exact), dense, spectral, push, or "
        "sampled (estimates with standard errors)",
    ),
    num_walks: int = option(
        256, "number of walks from every node and shell, with sampled"
    ),
    seed: int = option(0, "seed of the walks, with sampled"),
    dtype: str = option(
        "float64", "precision of the encodings", choices=("float32", "float64")
    ),
    force: bool = option(False, "encode even if it may take hours", "--force"),
    target: list[str] | None = option(
        None, "columns or keys to keep in shards, to train on"
    ),
    shard_size: int | None = option(None, "number of graphs per shard", shown="4096"),
    engine: str = option(
        "serial", "where shards are made: serial, in this process, or dask, by workers"
    ),
    scheduler: str | None = option(
        None, "address or file of a running Dask scheduler", shown="one on this machine"
    ),
    workers: int | None = option(
        None,
        "Dask workers to start on this machine",
        shown="one per usable core",
        low=1,
    ),
    threads: int | None = KERNEL_THREADS,
    json: bool = JSON,
    quiet: bool = QUIET,
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
    the input is never in memory as a whole.
    """
    from sekgnn.encoding import make_encoding
    from sekgnn.encoding.costs import patient
    from sekgnn.encoding.encoder import BACKENDS
    from sekgnn.encoding.encoding_file import (
        WRITERS,
        check_backend,
        check_output,
        write_encodings,
    )
    from sekgnn.graphs.records import read_all
    from sekgnn.graphs.table import row_place
    from sekgnn.kernel import clock

    read = {item.name: keys.pop(item.name) for item in _READING if item.name in keys}
    check_choice("--engine", engine, ("serial", "dask"))
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in keys.items()}
    pairs = (name_and_value("--encoding-options", t) for t in encoding_options or ())
    values |= dict(pairs)
    if preset is None:
        made = make_encoding(encoding, **values)
    else:
        made = make_encoding({**WalkEncoding.paper().to_dict(), **values})
    check_backend(backend, made, num_walks, seed)
    bar = progress_bar("encoding", shown=not (quiet or json))
    kept = {"--target": target, "--shard-size": shard_size}
    cluster = {"--scheduler": scheduler, "--workers": workers}
    if not output.suffix or (output.is_dir() and output.suffix not in WRITERS):
        _check_engine(engine, cluster, threads)
        work: Callable[..., Any]
        if sources[0].suffix.lower() == ".csr":
            from sekgnn.encoding import node_ranges
            from sekgnn.graphs.graph_file import read_graph_file

            source = _only(sources, output, kept)
            node_ranges.check_ranges(made)
            walks: Any = made
            way = "push" if backend == "auto" else backend
            plan = node_ranges.RangePlan(walks, way, dtype, num_walks, seed)
            file = read_graph_file(source)
            encode_all = node_ranges.encode_graph_file
            work = partial(encode_all, file, plan, output, threads=threads)
        else:
            from sekgnn.encoding.sharded import encode_shards

            check_choice("--backend for a folder of shards", backend, BACKENDS)
            options = {"dtype": dtype, "backend": backend, "force": force, **read}
            if shard_size is not None:
                options["shard_size"] = shard_size
            options |= {"targets": target or (), "threads": threads}
            work = partial(encode_shards, sources, output, made, **options)
        dask, began = _client(engine, scheduler, workers), clock()
        with patient(force), resumable(), dask as client, bar as progress:
            encoded = work(client=client, progress=progress)
        _report(encoded, clock() - began, output, json, quiet)
        return
    asked = {**kept, "--engine dask": engine == "dask", **cluster}
    source = _only(sources, output, asked)
    check_output(output, source)
    records, skipped = read_all(source, ReadOptions(**read), features=False)
    table = any(record.text is not None for record in records)
    with patient(force), bar as progress:
        result = write_encodings(
            [record.graph for record in records],
            made,
            output,
            rows=[record.row for record in records] if table else None,
            backend=backend,
            dtype=dtype,
            num_walks=num_walks,
            seed=seed,
            threads=threads,
            progress=progress,
        )
    if json:
        from sekgnn.graphs.molecules import shown_smiles

        left_out = [
            {"row": number, "line": line, "smiles": shown_smiles(str(values[0]))}
            for number, line, values in skipped
        ]
        say_json({**result.to_dict(), "skipped": left_out})
        return
    if skipped:
        listed = [f"{row_place(row)}: {row[2][0]!r}" for row in skipped[:_SHOWN]]
        if len(skipped) > _SHOWN:
            listed.append(f"and {len(skipped) - _SHOWN} more")
        many = f"left out {len(skipped)} SMILES that cannot be read"
        note(f"{many}: {'; '.join(listed)}")
    if not quiet:
        say(result.sentence())


def _only(sources: list[Path], output: Path, asked: dict[str, Any]) -> Path:
    """Return the only source of an output file; ``asked`` options need a folder."""
    needs = ["several inputs"] if len(sources) > 1 else []
    needs += [name for name, value in asked.items() if value]
    if needs:
        raise ConfigError(
            f"{output} is a file, and {needs[0]} needs a folder of shards; give a "
            "folder as --output."
        )
    return sources[0]


def _check_engine(engine: str, cluster: dict[str, Any], threads: int | None) -> None:
    flags = [flag for flag, value in cluster.items() if value is not None]
    if flags and engine != "dask":
        raise ConfigError(f"{flags[0]} is for --engine dask.")
    if len(flags) == 2:
        raise ConfigError("give --scheduler or --workers, not both.")
    if threads is not None and engine == "dask":
        raise ConfigError("a Dask worker has one thread per task; leave --threads out.")


@contextmanager
def _client(engine: str, scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Yield a Dask client, or ``None`` without Dask."""
    if engine == "serial":
        yield None
        return
    from sekgnn.encoding.dask_engine import is_open, open_client

    with open_client(scheduler, workers) as client:
        if is_open(client):
            note(
                f"{client.scheduler.address} asks for no key: anyone who reaches it "
                "can run code as you; give scheduler, workers and client certificates "
                "(docs/scale.md, Who may use the workers)."
            )
        yield client


def _report(
    encoded: Any, seconds: float, output: Path, json: bool, quiet: bool
) -> None:
    """Print the contents of a folder: encodings of nodes, or shards of graphs."""
    facts: dict[str, Any]
    if hasattr(encoded, "shape"):
        facts = {"shape": list(encoded.shape), "dtype": str(encoded.dtype)}
        nodes, channels, length = encoded.shape
        sentence = (
            f"encoded {nodes} nodes, {channels} channels x {length} steps, "
            f"{encoded.dtype}, in {seconds:.1f} s\nwrote {output}"
        )
    else:
        lines = encoded.manifest["files"]
        facts = {name: sum(line[name] for line in lines) for name in _COUNTED}
        facts["shards"] = len(lines)
        sentence = (
            f"encoded {facts['graphs']} graphs ({facts['nodes']} nodes, "
            f"{facts['edges']} edges) in {seconds:.2f} s, starting and checking "
            f"included\nwrote {len(lines)} shards to {output}"
        )
    if json:
        say_json({**facts, "seconds": seconds, "output": str(output)})
        return
    if facts.get("left_out"):
        note(f"left out {facts['left_out']} SMILES that cannot be read")
    if not quiet:
        say(sentence)
