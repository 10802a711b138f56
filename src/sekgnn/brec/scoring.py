"""The BREC score of any PyG model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace

import torch
import torch_geometric

from sekgnn._version import __version__
from sekgnn.brec.comparison import MakeModel, Transform, compare, pair_fingerprint
from sekgnn.brec.protocol import RPCProtocol
from sekgnn.brec.record import read_record, write_record
from sekgnn.brec.result import BRECScore
from sekgnn.datasets.brec import BREC, BRECPair
from sekgnn.errors import ConfigError
from sekgnn.parallel import Progress


def score(
    make_model: MakeModel,
    *,
    pairs: Iterable[BRECPair] | None = None,
    root: str | os.PathLike[str] | None = None,
    transform: Transform | None = None,
    protocol: RPCProtocol | None = None,
    record: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    device: str | torch.device = "cpu",
) -> BRECScore:
    r"""Count the pairs of BREC that a model tells apart.

    BREC's reliable paired comparison (Wang and Zhang, "An Empirical Study of Realized
    GNN Expressiveness", ICML 2024). For every pair a fresh model is trained on
    relabelled copies of both graphs to give them different outputs. Then Hotelling's T²
    asks whether the outputs differ by more than relabelling makes them differ, and, as
    a check of reliability, the same for copies of *one* graph. A pair counts if T² is
    above the threshold for the pair and below it for the single graph.

    Written anew from the description; where it differs from the released code:

    * T² has its factor q and a floor for rounding errors instead of a pseudoinverse
      (:mod:`sekgnn.brec.hotelling`); ``RPCProtocol(statistic="released")`` has neither.
    * A pair that fails the reliability check does not count. The released code counts
      it and subtracts the number of failures, counted or not, at the end.
    * The threshold follows the output dimension; the released 72.34 holds for 16.
    * Copies and weights follow from the seed and the number of the pair, so a pair's
      result does not depend on which others are scored. Copies need not be different.
    * A model without trainable weights is compared as it is.

    By the nature of a 5 % test, a model whose output is random fails the reliability
    check in about one pair of twenty (in fewer if its outputs scatter in fewer than d
    directions), so over all of BREC it is sure to fail; one that respects isomorphism
    never does. The result also has the ``spread`` of the outputs
    among copies of one graph, which shows chance in a single pair.

    Args:
        make_model: Returns a new ``nn.Module``, which takes a PyG ``Batch`` and returns
            ``[num_graphs, d]``, d = 16 in BREC and in any case below
            ``protocol.copies``.
        pairs: The pairs to score; all of BREC if left out.
        root: The data folder for this; by default what ``SEKGNN_DATA`` names.
        transform: Applied once to the ``Data`` of each copy, as
            :class:`~sekgnn.transforms.AddSubstructureEncoding`. It must not depend on
            the order of nodes.
        protocol: The settings; BREC's own by default.
        record: A JSON file, written after each pair. If it exists, its pairs are taken
            from it, provided model, transform and protocol print as they did: an
            interrupted run goes on and ends with the same result.
        progress: Called with (done, total) pairs.
        device: Where the model runs.

    Returns:
        The result for every pair; ``print(result.table())`` shows the counts.

    Raises:
        ConfigError: If the model's output has a wrong shape or is not finite, two pairs
            have the same number, or the record belongs to another run.
        DataNotFoundError: If ``pairs`` is left out and BREC's file is missing.
        OutputError: If the record cannot be written.
    """
    chosen = list(BREC(root) if pairs is None else pairs)
    graphs = {pair.index: pair_fingerprint(pair) for pair in chosen}
    if len(graphs) < len(chosen):
        raise ConfigError("two pairs have the same index; number them differently.")
    settings = RPCProtocol() if protocol is None else protocol
    result = BRECScore(
        model=_printed(_example(make_model)),
        transform=None if transform is None else _printed(transform),
        protocol=settings,
        versions=_versions(),
        pairs=(),
    )
    done = {} if record is None else read_record(record, result, graphs)
    finished = sum(index in done for index in graphs)
    if progress is not None and finished:
        progress(finished, len(chosen))
    for pair in chosen:
        if pair.index in done:
            continue
        done[pair.index] = compare(
            make_model, pair, settings, transform=transform, device=device
        )
        if record is not None:
            write_record(record, result, done)
        finished += 1
        if progress is not None:
            progress(finished, len(chosen))
    return replace(result, pairs=tuple(done[index] for index in graphs))


def _example(make_model: MakeModel) -> torch.nn.Module:
    """Return one model, without using up random numbers."""
    with torch.random.fork_rng([]):
        model = make_model()
    if not isinstance(model, torch.nn.Module):
        raise ConfigError(
            f"make_model must return an nn.Module, got {type(model).__name__}; pass "
            "the function that makes the model."
        )
    return model


def _printed(thing: object) -> str:
    """Return how ``thing`` prints, without addresses, which change with every run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))


def _versions() -> dict[str, str]:
    """Return the versions that may change the numbers."""
    return {
        "sekgnn": __version__,
        "torch": str(torch.__version__),
        "torch_geometric": str(torch_geometric.__version__),
    }
