"""The encodings of a whole dataset by one compiled call, optionally cached in a file.

The file is named after its content and checked whenever it is read.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor
from torch_geometric.data import Data

from sekgnn import fields
from sekgnn.array_file import (
    SUFFIX,
    Arrays,
    Content,
    DamagedFileError,
    Header,
    cached,
    make_file,
    read_arrays,
)
from sekgnn.encoding.dask_engine import run_tasks
from sekgnn.encoding.encoder import Encoding, encode
from sekgnn.encoding.ragged import PARTS, RaggedEncoding, Values, join_values
from sekgnn.encoding.substructure import SubstructureEncoding
from sekgnn.errors import CacheWarning, ConfigError, GraphInputError, OutputError
from sekgnn.files import make_folder
from sekgnn.graphs import PackedGraphs
from sekgnn.parallel import Progress, even_chunks
from sekgnn.transforms.add_substructure_encoding import AddSubstructureEncoding
from sekgnn.transforms.pyg_data import GraphDataset, attach_encoding, pack_dataset

_PIECE = 4096  # graphs per task

PackedArrays = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]
"""The arrays of :class:`~sekgnn.graphs.PackedGraphs`."""


@dataclass(eq=False, repr=False)
class EncodedDataset(Sequence[Data]):
    """A dataset whose items carry their encoding; made by :func:`encode_dataset`.

    Item i is a shallow copy of ``dataset[i]`` with a copy of its encoding attached, so
    the dataset is not changed, and a ``DataLoader`` takes this instead. For a subset
    use ``torch.utils.data.Subset``.

    Attributes:
        dataset: The encoded dataset.
        encodings: All encodings, ``[N_total, C, L]`` or ragged; mapped from the file if
            there is one.
        node_ptr: Graph i owns rows ``node_ptr[i]:node_ptr[i + 1]``, int64 ``[G + 1]``.
        attr_name: The field of the encoding; ``None``: columns of ``x``.
        cache_file: The file of the encodings; ``None`` if there is none.
        from_cache: Whether they were read from it.
    """

    dataset: GraphDataset
    encodings: Any
    node_ptr: Tensor
    attr_name: str | None = fields.SUB_ENC
    cache_file: Path | None = None
    from_cache: bool = False

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    @overload
    def __getitem__(self, index: int) -> Data: ...
    @overload
    def __getitem__(self, index: slice) -> list[Data]: ...
    def __getitem__(self, index: int | slice) -> Data | list[Data]:
        """Return graph ``index`` with its encoding, or a list for a slice.

        Raises:
            GraphInputError: If the number of nodes of the graph has changed.
        """
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        i = range(len(self))[index]
        data = copy.copy(self.dataset[i])
        start, stop = self.node_ptr[i : i + 2].tolist()
        if data.num_nodes != stop - start:
            raise GraphInputError(
                f"graph {i} has {data.num_nodes} nodes, but had {stop - start} when it "
                "was encoded; a random transform must come after encoding."
            )
        encoding: Tensor | RaggedEncoding
        if isinstance(self.encodings, RaggedEncoding):
            encoding = self.encodings.graph(i, start, stop)
        else:
            encoding = self.encodings[start:stop].clone()  # [n, C, L]
        return attach_encoding(data, encoding, self.attr_name)

    def __repr__(self) -> str:
        ragged = isinstance(self.encodings, RaggedEncoding)
        shape = "ragged" if ragged else list(self.encodings.shape)
        return f"EncodedDataset({len(self)}, encodings={shape})"


def encode_dataset(
    dataset: GraphDataset,
    encoding: Encoding | AddSubstructureEncoding | None = None,
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> EncodedDataset:
    """Encode every graph of a dataset at once.

    Equal to the transform on every ``dataset[i]``, but packs all graphs and runs one
    compiled call on all cores.

    Args:
        dataset: A PyG dataset (in memory or on disk), a subset of one, or a list of
            ``Data``. Its own transform is applied, and must not be random.
        encoding: An encoding, its name, or a transform, which also determines how edges
            are read and what is written; walks by default.
        cache_dir: Folder for the result, made if it is missing. The file is named after
            a hash of all parameters and all graphs, so it can never serve others, and
            its checksum is verified when it is read. A damaged one is replaced.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) units of work; not called after a hit.
        client: A ``distributed.Client`` whose workers encode, each task a few thousand
            graphs into a file in ``cache_dir``, which they must see, too. For graphs
            that do not fit in memory see :func:`~sekgnn.encoding.encode_shards`.

    Raises:
        ConfigError: If a parameter cannot work, or workers cannot be used.
        GraphInputError: If the dataset is empty, or a graph unusable; names the graph.
        OutputError: If ``cache_dir`` cannot be made; before anything is computed.

    Warns:
        CacheWarning: If a cache was damaged, or cannot be written (the disk is full).
            The result is right and returned all the same.

    Example:
        >>> edge_index = torch.tensor([[0, 1], [1, 0]])
        >>> graphs = [Data(edge_index=edge_index, num_nodes=n) for n in (2, 3)]
        >>> from sekgnn import WalkEncoding
        >>> encoded = encode_dataset(graphs, WalkEncoding(num_shells=1, walk_length=4))
        >>> encoded[1].sub_enc.shape
        torch.Size([3, 4, 4])
    """
    transform = encoding
    if not isinstance(transform, AddSubstructureEncoding):
        transform = AddSubstructureEncoding(transform)
    folder = None
    if cache_dir is not None:
        cure = "choose another cache_dir, or None to do without"
        folder = make_folder(Path(cache_dir), cure)
    packed = pack_dataset(dataset, transform.undirected, transform.loops, threads)
    values, file, hit = encode_cached(
        packed,
        transform.encoding,
        folder,
        dtype=transform.numpy_dtype,
        threads=threads,
        progress=progress,
        client=client,
    )
    node_ptr = torch.tensor(packed.node_ptr)
    return EncodedDataset(dataset, values, node_ptr, transform.attr_name, file, hit)


def encode_cached(
    packed: PackedGraphs,
    encoding: SubstructureEncoding,
    folder: Path | None,
    *,
    dtype: DTypeLike = np.float32,
    threads: int | None = None,
    progress: Progress | None = None,
    client: Any = None,
) -> tuple[Tensor | RaggedEncoding, Path | None, bool]:
    """Return the encodings of packed graphs, their file, and whether it existed.

    The rest is as for :func:`encode_dataset`; the ``folder`` of the cache must exist.
    Encodings are mapped from the file, also from a new one: they may be large.
    """
    about = None if folder is None else _cache_header(packed, encoding, np.dtype(dtype))
    kind = type(encoding).__name__
    if client is not None and about is None:
        raise ConfigError(
            "workers write encodings to files; give cache_dir, a folder that all see, "
            f"and define {kind} in a file, so that changes to it are noticed."
        )

    def compute() -> Values:
        if client is not None and folder is not None:
            return _on_workers(packed, encoding, folder, dtype, progress, client)
        values: Values = encode(
            packed, encoding, dtype=dtype, threads=threads, progress=progress
        )
        return values

    def use(header: Header, arrays: Arrays) -> Values:
        return encoding.checked(_values_of(arrays), packed.num_nodes)

    file, hit = None, False
    if folder is None or about is None:
        if folder is not None:
            warnings.warn(
                f"the encodings are not cached: the source of {kind} is not available, "
                "so changes to it would go unnoticed; define it in a file.",
                CacheWarning,
                stacklevel=3,
            )
        values = compute()
    else:
        path = folder / f"{about['key']}{SUFFIX}"
        values, file, hit = cached(path, about, lambda: _content_of(compute()), use)
    whole = values if isinstance(values, RaggedEncoding) else torch.from_numpy(values)
    return whole, file, hit


def _content_of(values: Values) -> Content:
    if isinstance(values, RaggedEncoding):
        return {}, {name: getattr(values, name) for name in PARTS}
    return {}, {"values": values}


def _values_of(arrays: Arrays) -> Values:
    if set(arrays) == set(PARTS):
        return RaggedEncoding(*(arrays[name] for name in PARTS))
    if "values" not in arrays:
        raise DamagedFileError("it holds no encodings")
    return arrays["values"]


def _cache_header(
    packed: PackedGraphs, encoding: SubstructureEncoding, dtype: np.dtype[Any]
) -> Header | None:
    """Return the header of the file of encodings of these graphs.

    Its ``key`` is the SHA-256 of all that affects the result: the encoding's identity
    and the graphs. ``None`` if the source of the encoding is not available.
    """
    parameters = {**encoding.identity(), "dtype": dtype.name}
    if parameters["source"] is None:
        return None
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode())
    for array, kind in (
        (packed.node_ptr, "<i8"),
        (packed.indptr, "<i8"),
        (packed.indices, "<i4"),
    ):
        digest.update(array.size.to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(array, dtype=kind).data)
    return {"key": digest.hexdigest(), "parameters": parameters}


def _encode_piece(
    folder: Path,
    encoding: SubstructureEncoding,
    dtype: np.dtype[Any],
    task: tuple[int, PackedArrays],
) -> Path:
    """Encode some graphs of a dataset into a file, and return it."""
    piece = PackedGraphs.over(*task[1])
    about = _cache_header(piece, encoding, dtype)
    assert about is not None  # encode_cached has looked
    file = folder / f"{about['key']}{SUFFIX}"
    make_file(
        file,
        about,
        lambda: _content_of(encode(piece, encoding, dtype=dtype, threads=1)),
        lambda _, arrays: encoding.checked(_values_of(arrays), piece.num_nodes),
    )
    return file


def _on_workers(
    packed: PackedGraphs,
    encoding: SubstructureEncoding,
    folder: Path,
    dtype: DTypeLike,
    progress: Progress | None,
    client: Any,
) -> Values:
    """Return the encodings of packed graphs, computed piece by piece on workers."""
    job = partial(_encode_piece, folder.absolute(), encoding, np.dtype(dtype))
    bounds = even_chunks(packed.num_graphs, _PIECE)
    pieces = (packed.take(np.arange(*chunk))[0] for chunk in bounds)
    tasks = enumerate((p.node_ptr, p.indptr, p.indices) for p in pieces)
    done = count(1)

    def report(*_: object) -> None:
        if progress is not None:
            progress(next(done), len(bounds))

    files = run_tasks(job, tasks, client, report=report)
    try:
        pieces_of_values = [_values_of(read_arrays(file)[1]) for file in files]
    except FileNotFoundError as error:
        raise OutputError(
            f"{error.filename} is not here: workers and client must see the same "
            "cache_dir."
        ) from None
    whole = join_values(pieces_of_values)
    for file in files if len(files) > 1 else ():
        file.unlink(missing_ok=True)
    return whole
