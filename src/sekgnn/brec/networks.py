"""The BREC score of any PyG model: train on each pair, then compare outputs."""

from __future__ import annotations

import copy
import os
import pickle
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from sekgnn.brec.exact import relabelled
from sekgnn.brec.hotelling import (
    epsilon_for,
    hotelling_t2,
    relative_spread,
    released_t2,
)
from sekgnn.brec.protocol import RPCProtocol
from sekgnn.brec.record import (
    BRECScore,
    TrainedPair,
    pair_file,
    plain,
    to_json,
    with_finished_pairs,
)
from sekgnn.checks import check_positive
from sekgnn.datasets.graph_task import as_data
from sekgnn.datasets.wl_benchmarks import BREC, BRECPair
from sekgnn.errors import ConfigError
from sekgnn.files import make_folder, write_files
from sekgnn.graphs import Graph
from sekgnn.kernel import cpu_clock
from sekgnn.parallel import Progress
from sekgnn.provenance import package_versions, source_commit
from sekgnn.training.processes import run_processes
from sekgnn.training.run_folder import locked

MakeModel = Callable[[], nn.Module]
"""Returns a new model: it takes a PyG ``Batch`` and returns ``[num_graphs, d]``."""

Transform = Callable[[Data], Data]
"""Prepares the ``Data`` of one graph for the model."""


def score(
    make_model: MakeModel,
    *,
    pairs: Iterable[BRECPair] | None = None,
    data_root: str | os.PathLike[str] | None = None,
    transform: Transform | None = None,
    protocol: RPCProtocol | None = None,
    record: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    device: str | torch.device = "cpu",
) -> BRECScore[TrainedPair]:
    r"""Count the pairs of BREC that a model separates.

    BREC's reliable paired comparison (Wang and Zhang, "An Empirical Study of Realized
    GNN Expressiveness", ICML 2024). For every pair a fresh model is trained on
    relabelled copies of both graphs to give them different outputs. Then Hotelling's T²
    tests whether the outputs differ by more than relabelling explains, and, as a check
    of reliability, whether copies of *one* graph do. A pair counts if T² is above the
    threshold for the pair and below it for the single graph.

    Differences from the released code:

    * T² has its factor q and a floor for rounding errors instead of a pseudoinverse
      (:mod:`sekgnn.brec.hotelling`). The statistic and the count of the released code
      are computed as well.
    * A pair that fails the reliability check does not count. The released code counts
      it and subtracts the number of failures, counted or not, at the end.
    * The threshold follows the output dimension; the released 72.34 holds for 16.
    * Copies and weights follow from the seed and the index of the pair, so its result
      does not depend on the other pairs. Copies need not be distinct.
    * A model without trainable weights is not trained.
    * A model with a method ``fit_inputs``, such as
      :class:`~sekgnn.models.GraphModel`, first fits the scale of its inputs to copies
      of both graphs.

    A model with random outputs fails the reliability check, a 5 % test, in about one
    pair of twenty (fewer if its outputs scatter in fewer than d directions), so it
    surely fails over all of BREC; an invariant model never does. The ``spread`` of the
    outputs among copies of one graph reveals randomness in a single pair.

    Args:
        make_model: Returns a new ``nn.Module``, which takes a PyG ``Batch`` and returns
            ``[num_graphs, d]``, with d below ``protocol.copies``, and 16 in BREC.
        pairs: The pairs to score; by default all of BREC.
        data_root: The data folder; by default ``SEKGNN_DATA``.
        transform: Applied once to the ``Data`` of each copy, such as
            :class:`~sekgnn.transforms.AddSubstructureEncoding`. It must not depend on
            the order of nodes. Its results are cast to the model's precision.
        protocol: The settings; by default those of BREC.
        record: A folder for a small file per finished pair. Its pairs are not trained
            again if model, transform and protocol have the same ``repr``, so an
            interrupted run continues with the same result.
        jobs: Number of processes; with several, ``make_model`` and ``transform`` must
            be defined at the top of a module.
        progress: Called with (done, total) pairs.
        device: Device of the model.

    Returns:
        The result for every pair; ``print(result.table())`` shows the counts.

    Raises:
        ConfigError: If the model's output has a wrong shape or is not finite, two pairs
            have the same index, the record belongs to another run, or the model cannot
            be sent to other processes.
        DataNotFoundError: If ``pairs`` is left out and BREC's file is missing.
        OutputError: If the record cannot be written.
    """
    chosen = list(BREC(data_root) if pairs is None else pairs)
    graphs = {pair.index: pair_fingerprint(pair) for pair in chosen}
    if len(graphs) < len(chosen):
        raise ConfigError("two pairs have the same index; number them differently.")
    settings = RPCProtocol() if protocol is None else protocol
    check_positive("jobs", jobs)
    if jobs > 1:
        _check_sent(make_model, transform)
    result = unscored(make_model, transform, settings)
    with _folder(record) as folder, locked(folder):
        result = with_finished_pairs(result, folder, graphs)
        done = {pair.index for pair in result.pairs}
        waiting = [pair for pair in chosen if pair.index not in done]

        def report() -> None:
            count = sum(pair_file(folder, index).exists() for index in graphs)
            if progress is not None and count:
                progress(count, len(chosen))

        work = make_model, settings, transform, device, folder, result
        if done:
            report()
        if jobs == 1:
            for pair in waiting:
                _score_share(*work, [pair])
                report()
        elif waiting:  # every process gets large and small pairs
            waiting.sort(key=lambda pair: -pair.first.num_nodes)
            shares = [waiting[i::jobs] for i in range(min(jobs, len(waiting)))]
            run_processes(_score_share, [(*work, share) for share in shares], report)
        return with_finished_pairs(result, folder, graphs)


def unscored(
    make_model: MakeModel, transform: Transform | None, protocol: RPCProtocol
) -> BRECScore[TrainedPair]:
    """Return the score of a model, without pairs."""
    model, commit = _example(make_model), source_commit()
    return BRECScore(
        name=type(model).__name__,
        label=type(model).__name__,
        model=_printed(model),
        settings={
            "dtype": str(_precision(model)).removeprefix("torch."),
            "transform": None if transform is None else _printed(transform),
            "protocol": plain(asdict(protocol)),
        },
        versions=package_versions(("sekgnn", "torch", "torch_geometric")),
        commits=(commit,) if commit else (),
    )


def _score_share(
    make_model: MakeModel,
    protocol: RPCProtocol,
    transform: Transform | None,
    device: str | torch.device,
    folder: Path,
    score: BRECScore[TrainedPair],
    pairs: Sequence[BRECPair],
) -> None:
    """Score some pairs, perhaps in a new process, and write each on completion."""
    for pair in pairs:
        done = compare(make_model, pair, protocol, transform=transform, device=device)
        text = to_json([replace(score, pairs=(done,))])
        write_files(folder, {pair_file(folder, pair.index).name: text.encode()})


@contextmanager
def _folder(record: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield the folder of finished pairs, or a temporary one."""
    if record is not None:
        yield make_folder(Path(record))
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _check_sent(*things: object) -> None:
    """Raise ConfigError if these objects cannot be sent to other processes."""
    try:
        pickle.dumps(things)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigError(
            "jobs above 1 need a make_model and a transform that other processes can "
            f"import; define them at the top of a module, or use one job ({error})."
        ) from error


def _example(make_model: MakeModel) -> torch.nn.Module:
    """Return a model, leaving torch's random state as it is."""
    with torch.random.fork_rng([]):
        model = make_model()
    if not isinstance(model, torch.nn.Module):
        raise ConfigError(
            f"make_model must return an nn.Module, got {type(model).__name__}; pass "
            "the function that makes the model."
        )
    return model


def _printed(thing: object) -> str:
    """Return the ``repr`` without addresses, which change with every run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))


def compare(
    make_model: MakeModel,
    pair: BRECPair,
    protocol: RPCProtocol,
    *,
    transform: Transform | None = None,
    device: str | torch.device = "cpu",
) -> TrainedPair:
    """Train a new model to separate the two graphs, then test whether it does.

    The random numbers of torch, and of the GPU in use, are seeded from
    ``protocol.seed`` and ``pair.index`` and restored afterwards; a model with another
    source of randomness is not repeatable. ``transform`` is applied once to the
    ``Data`` of each copy, which has ``x`` (ones, ``[n, 1]``), ``edge_index`` and
    ``num_nodes``.

    Raises:
        ConfigError: If the model's output is not ``[num_graphs, d]`` of finite numbers
            with d below ``protocol.copies``.
    """
    begin = cpu_clock()
    device = torch.device(device)
    drawing, training = np.random.SeedSequence([protocol.seed, pair.index]).spawn(2)
    rng = np.random.default_rng(drawing)
    different, alike = draw_copies(pair, protocol.copies, rng)
    gpus = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(gpus):
        torch.manual_seed(int(training.generate_state(1, np.uint64)[0]))
        model = make_model().to(device)
        size = protocol.batch_size
        batches = _batches(different, size, transform, model, device)
        fit = getattr(model, "fit_inputs", None)
        if fit is not None:
            fit(lambda: batches[:1])  # equally many copies of both graphs
        loss, epochs = _train(model, batches, protocol, pair.index)
        outputs = _outputs(model, batches, pair.index)  # [2 q, d]
        batches = _batches(alike, size, transform, model, device)
        copies = _outputs(model, batches, pair.index)  # [2 q, d]
    epsilon = protocol.epsilon or epsilon_for(outputs)
    apart = outputs[0::2], outputs[1::2]  # each [q, d]
    alone = copies[0::2], copies[1::2]
    return TrainedPair(
        index=pair.index,
        category=pair.category,
        graphs=pair_fingerprint(pair),
        t2=hotelling_t2(*apart, epsilon=epsilon),
        t2_reliability=hotelling_t2(*alone, epsilon=epsilon),
        released_t2=released_t2(*apart),
        released_reliability=released_t2(*alone),
        spread=relative_spread(copies),
        threshold=protocol.threshold_for(outputs.shape[1]),
        epsilon=epsilon,
        loss=loss,
        epochs=epochs,
        seconds=round(cpu_clock() - begin, 3),
    )


def draw_copies(
    pair: BRECPair, count: int, rng: np.random.Generator
) -> tuple[list[Graph], list[Graph]]:
    """Draw the relabelled copies of one pair that a model sees, q of each graph.

    Relabellings are uniform and independent. (Upstream keeps the original as first copy
    and requires distinct adjacency matrices, which a very symmetric graph does not
    have.) The graph of the reliability check is a coin flip, as upstream.

    Returns:
        2 q alternating copies of the first and the second graph: entries 0 and 1 are
        compared, 2 and 3, and so on. And 2 q copies of one of the graphs, compared
        likewise; a model that separates these is not reliable.
    """
    originals = [graph for _ in range(count) for graph in (pair.first, pair.second)]
    single = (pair.first, pair.second)[int(rng.integers(2))]
    shown = [relabelled(graph, rng) for graph in originals]
    return shown, [relabelled(single, rng) for _ in range(2 * count)]


def pair_fingerprint(pair: BRECPair) -> str:
    """Return a short digest of both graphs."""
    return f"{pair.first.fingerprint()[:16]}-{pair.second.fingerprint()[:16]}"


def _batches(
    graphs: Sequence[Graph],
    size: int,
    transform: Transform | None,
    model: nn.Module,
    device: torch.device,
) -> list[Batch]:
    """Collate the copies in the model's precision, ``size`` at a time, in order."""
    data = [as_data(graph) for graph in graphs]
    if transform is not None:
        data = [transform(item) for item in data]
    kind = _precision(model)

    def cast(value: Tensor) -> Tensor:
        return value.to(device, kind if value.is_floating_point() else value.dtype)

    return [
        Batch.from_data_list(data[start : start + size]).apply(cast)
        for start in range(0, len(data), size)
    ]


def _precision(model: nn.Module) -> torch.dtype:
    return next((weight.dtype for weight in model.parameters()), torch.float32)


def _train(
    model: nn.Module, batches: list[Batch], protocol: RPCProtocol, index: int
) -> tuple[float | None, int]:
    """Train, and return the last epoch's mean loss and the number of epochs."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    if not weights or protocol.epochs == 0:
        return None, 0
    optimizer = torch.optim.Adam(
        weights, lr=protocol.lr, weight_decay=protocol.weight_decay
    )
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    objective = nn.CosineEmbeddingLoss(margin=protocol.margin)
    model.train()
    mean = float("inf")
    for epoch in range(1, protocol.epochs + 1):
        total, seen = 0.0, 0
        for output in _forward(model, batches, index):  # [B, d]
            first, second = output[0::2], output[1::2]  # [B / 2, d]
            apart = -torch.ones(len(first), device=output.device)
            loss = objective(first, second, apart)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += len(first) * float(loss.detach())
            seen += len(first)
            if _decided(output.detach(), protocol):
                return total / seen, epoch
        mean = total / protocol.copies
        if mean < protocol.stop_loss:
            return mean, epoch
        scheduler.step(mean)
    return mean, protocol.epochs


def _decided(output: Tensor, protocol: RPCProtocol) -> bool:
    r"""Return whether training can stop after a batch ``[B, d]``.

    That is :math:`|\bar x - \bar y| / s` with s the root mean square of all entries, as
    in T², above ``protocol.decided`` or below the size of rounding errors.
    """
    if protocol.decided is None:
        return False
    values = output.double().cpu()
    size = float(values.square().mean().sqrt())
    distance = float((values[0::2] - values[1::2]).mean(0).norm())
    epsilon = protocol.epsilon or epsilon_for(output.cpu().numpy())
    return distance > protocol.decided * size or distance < epsilon * size or size == 0


@torch.no_grad()
def _outputs(model: nn.Module, batches: list[Batch], index: int) -> NDArray[Any]:
    """Return the outputs for all copies in evaluation mode, ``[2 q, d]``.

    The type is float64 if the model's is, else float32.
    """
    model.eval()
    outputs = torch.cat([output.cpu() for output in _forward(model, batches, index)])
    return (outputs if outputs.dtype == torch.float64 else outputs.float()).numpy()


def _forward(
    model: nn.Module, batches: Iterable[Batch], index: int
) -> Iterator[Tensor]:
    """Yield the checked output for a copy of every batch."""
    for batch in batches:
        output: Any = model(copy.copy(batch))
        shape = list(output.shape) if isinstance(output, Tensor) else type(output)
        if not isinstance(output, Tensor) or output.ndim != 2:
            raise ConfigError(
                f"the model must return a tensor [num_graphs, d], got {shape}; end it "
                "with a readout over nodes."
            )
        if len(output) != batch.num_graphs:
            raise ConfigError(
                f"the model returned {shape} for {batch.num_graphs} graphs; one row "
                "per graph is needed (is a readout over nodes missing?)."
            )
        if not bool(torch.isfinite(output).all()):
            raise ConfigError(
                f"the model's output for pair {index} is NaN or infinite; lower the "
                "learning rate or normalise."
            )
        yield output
