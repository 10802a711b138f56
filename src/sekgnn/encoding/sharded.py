"""Encode any number of graphs: each part of the input becomes a shard of a folder."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from sekgnn._version import __version__
from sekgnn.array_file import Content, begin_folder, complete_folder, make_listed_file
from sekgnn.checks import check_positive
from sekgnn.encoding.costs import patient
from sekgnn.encoding.dask_engine import run_tasks
from sekgnn.encoding.encoder import Encoding, encode
from sekgnn.encoding.substructure import SubstructureEncoding, make_encoding
from sekgnn.errors import ConfigError, GraphInputError, GraphInputWarning
from sekgnn.graphs.packed import GRAPH_ARRAYS, PackedGraphs
from sekgnn.graphs.read_options import DEFAULTS, MOLECULE_OPTIONS, ReadOptions
from sekgnn.graphs.records import (
    graph_format,
    input_parts,
    invalid_smiles,
    read_records,
)
from sekgnn.graphs.shards import (
    FORMAT,
    Shard,
    ShardManifest,
    Shards,
    num_present,
    open_shard,
    read_manifest,
    record_arrays,
)
from sekgnn.graphs.table import Part, Row
from sekgnn.parallel import Progress

SHARD_SIZE = 4096
"""Graphs of a shard."""

_MOST_NOTES = 3  # warnings kept per shard


class Task(NamedTuple):
    """A part of the input that becomes a shard."""

    number: int  # of the shard, from 0
    path: str
    part: Part  # the rows
    digest: str  # SHA-256 of the bytes they are read from

    def __str__(self) -> str:
        return f"shard {self.number} ({self.path}, from row {self.part.row + 1})"


@dataclass(frozen=True)
class ShardJob:
    """Makes shards; called with a task, it returns the shard's line of the manifest."""

    folder: str  # of the shards
    encoding: SubstructureEncoding
    options: ReadOptions = DEFAULTS  # how to read the input
    targets: tuple[str, ...] = ()  # columns or keys to keep
    dtype: str = "float64"
    backend: str = "auto"
    force: bool = False  # encode even if it may take hours
    threads: int | None = 1  # of one task

    def parameters(self) -> dict[str, Any]:
        """Return all that affects the content of shards, as plain JSON values."""
        return {
            "sekgnn": __version__,
            **self.encoding.identity(),
            "options": json.loads(json.dumps(asdict(self.options), default=list)),
            "targets": list(self.targets),
            "dtype": self.dtype,
            "backend": self.backend,
        }

    def __call__(self, task: Task) -> dict[str, Any]:
        """Write a shard, all or nothing, unless it exists and is intact."""
        folder = Path(self.folder)
        return make_listed_file(
            folder,
            f"shard-{task.number:05d}",
            [self.parameters(), task.digest, task.part[:4]],
            lambda: self._content(task),
            lambda header, arrays: Shard(folder / header["file"], header, arrays),
        )

    def _content(self, task: Task) -> Content:
        """Read and encode a part of the input."""
        invalid: list[Row] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", GraphInputWarning)
            records = list(
                read_records(
                    task.path,
                    self.options,
                    self.targets,
                    on_invalid=invalid.append,
                    part=task.part,
                )
            )
        if invalid and not self.options.skip_invalid:
            raise invalid_smiles(task.path, self.options.smiles, invalid)
        targets = list(self.targets or (records[0].targets if records else ()))
        arrays = record_arrays(records, targets)
        packed = PackedGraphs.over(*(arrays[name] for name in GRAPH_ARRAYS))
        # eigenvectors depend on the number of threads that BLAS has
        with patient(self.force), threadpool_limits(1, "blas"):
            arrays["values"] = encode(
                packed,
                self.encoding,
                backend=self.backend,  # type: ignore[arg-type]
                dtype=self.dtype,
                threads=self.threads,
            )
        numbers = range(len(targets))
        header = {
            "graphs": len(records),
            "nodes": packed.num_nodes,
            "edges": int(arrays["indices"].size) // 2,
            "row": task.part.row + 1,
            "left_out": len(invalid),
            "features": [arrays[n].shape[1] for n in ("x", "edge_attr") if n in arrays],
            "notes": [str(warning.message) for warning in caught[:_MOST_NOTES]],
            "targets": [num_present(arrays[f"target {i}"]) for i in numbers],
            "columns": {
                "targets": targets,
                "names": records[0].names if records else (None, None),
            },
        }
        return header, arrays


def encode_shards(
    sources: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    output: str | os.PathLike[str],
    encoding: Encoding | None = None,
    *,
    targets: Sequence[str] = (),
    shard_size: int = SHARD_SIZE,
    dtype: str = "float64",
    backend: str = "auto",
    force: bool = False,
    threads: int | None = None,
    client: Any = None,
    progress: Progress | None = None,
    on_shard: Callable[[dict[str, Any]], object] | None = None,
    **options: Any,
) -> Shards:
    """Encode any number of graphs into a folder of shards.

    The input is read once and cut into parts; each part is parsed, encoded and written
    by itself, here or by a worker. Existing intact shards are kept, so the same call
    continues an interrupted one, and every byte is the same whoever wrote it. A
    complete folder stays until the one of a changed input is complete, too.

    Args:
        sources: Files or folders, as for :func:`~sekgnn.graphs.read_graphs`; workers
            read them, too.
        output: The folder; made if it is missing. Workers write there.
        encoding: What to compute; walks if left out.
        targets: Columns or keys to keep for training; a TU folder has its own.
        shard_size: Graphs of a shard. Where graphs are lines of text, a shard also ends
            at 8 MiB of it.
        dtype: ``"float32"`` or ``"float64"``.
        backend: As for :func:`~sekgnn.encode`.
        force: Encode even if it may take hours.
        threads: Threads, without a client; ``None`` for all usable cores. On a worker a
            task has one.
        client: A ``distributed.Client`` whose workers encode; ``None`` encodes in this
            process.
        progress: Called with (done, total), parts of the input.
        on_shard: Called with the manifest's line of every shard as it is finished.
        **options: Of :class:`~sekgnn.graphs.ReadOptions`.

    Returns:
        The graphs of the folder.

    Raises:
        ConfigError: If a parameter cannot work, the folder holds something else, or
            workers cannot be used.
        GraphInputError: If the input is wrong.
        OutputError: If a file cannot be written.
        ConnectionError: If the scheduler is gone.

    Warns:
        GraphInputWarning: If graphs had to be changed.
    """
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    paths = [Path(path).absolute() for path in sources]
    chosen = ReadOptions(**options)
    job = ShardJob(
        str(Path(output).absolute()),
        make_encoding(encoding),
        chosen,
        tuple(targets),
        dtype,
        backend,
        force,
        threads if client is None else 1,
    )
    check_positive("shard_size", shard_size)
    forms = [graph_format(path, chosen.format) for path in paths]
    if job.encoding.ragged:
        raise ConfigError(
            f"encoding {job.encoding.name!r} is ragged and cannot be written to shards."
        )
    if "tu" in forms and targets:
        raise ConfigError("a TU folder has its own targets; leave target out.")
    for path, form in zip(paths, forms, strict=True):
        if form in ("graph6", "npz", "edges") and targets:
            raise ConfigError(f"{path} holds no targets; leave target out.")
    parameters = {**job.parameters(), "shard_size": shard_size}
    parameters["inputs"] = [path.name for path in paths]
    manifest = {
        "format": FORMAT,
        "parameters": parameters,
        "reader": _reader(forms, chosen, paths),
    }
    for path, form in zip(paths, forms, strict=True):  # before anything is written
        if form in ("smiles", "json"):
            ignored = read_records(path, chosen, targets, on_invalid=lambda row: None)
            next(ignored, None)
    folder = Path(output)
    begin_folder(folder, manifest, ShardManifest)
    total = sum(map(_num_bytes, paths))
    done = 0

    def report(task: Task, line: dict[str, Any]) -> None:
        nonlocal done
        done += task.part.weight
        if on_shard is not None:
            on_shard(line)
        if progress is not None:
            progress(min(done, total), total)

    tasks = _tasks(paths, job, shard_size)
    packages = [("rdkit", "mol")] if "smiles" in forms else []
    lines = run_tasks(job, tasks, client, packages, report)
    if progress is not None and done < total:
        progress(total, total)
    columns = _checked(folder, lines, paths)
    for note in dict.fromkeys(note for line in lines for note in line["notes"]):
        warnings.warn(note, GraphInputWarning, stacklevel=2)
    complete_folder(folder, {**manifest, **columns}, lines)
    return Shards(folder)


def _reader(
    forms: Sequence[str], options: ReadOptions, paths: Sequence[Path]
) -> dict[str, Any]:
    """Return the options to read more graphs like these, for models trained on them."""
    if forms[0] == "shards":
        reader: dict[str, Any] = read_manifest(paths[0])["reader"]
        return reader
    if forms[0] != "smiles":
        return {"format": forms[0]}
    names = ("smiles", *MOLECULE_OPTIONS)
    return {"format": "smiles", **{name: getattr(options, name) for name in names}}


def _tasks(paths: Sequence[Path], job: ShardJob, size: int) -> Iterator[Task]:
    """Yield the parts of all inputs, each cut or read only when it is needed."""
    number = 0
    for path in paths:
        for part, digest in input_parts(path, job.options, size, job.targets):
            yield Task(number, str(path), part, digest)
            number += 1


def _num_bytes(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def _checked(
    folder: Path, lines: Sequence[dict[str, Any]], paths: Sequence[Path]
) -> dict[str, Any]:
    """Return the names of targets and features, which all shards must share."""
    source = ", ".join(map(str, paths))
    filled = [line for line in lines if line["graphs"]]
    if not filled:
        raise GraphInputError(f"{source}: no graphs to encode.")
    columns = open_shard(folder / filled[0]["file"]).columns
    for line in filled:
        if line["features"] != filled[0]["features"]:
            raise GraphInputError(
                f"{folder / line['file']} has {line['features']} node and edge "
                f"features, but {filled[0]['features']} in {filled[0]['file']}; all "
                "graphs need the same."
            )
    for number, name in enumerate(columns["targets"]):
        if not any(line["targets"][number] for line in filled):
            raise GraphInputError(f"{source}: no graph has a target {name!r}.")
    return dict(columns)
