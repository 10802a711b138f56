"""The reliable paired comparison of one pair: train, then compare."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from sekgnn.brec.copies import draw_copies
from sekgnn.brec.hotelling import hotelling_t2, relative_spread, released_t2
from sekgnn.brec.protocol import RPCProtocol
from sekgnn.brec.result import PairScore
from sekgnn.datasets.brec import BRECPair
from sekgnn.datasets.pyg import as_data
from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph

MakeModel = Callable[[], nn.Module]
"""Returns a new model: it takes a PyG ``Batch`` and returns ``[num_graphs, d]``."""

Transform = Callable[[Data], Data]
"""Adds to the ``Data`` of one graph what the model needs."""


def compare(
    make_model: MakeModel,
    pair: BRECPair,
    protocol: RPCProtocol,
    *,
    transform: Transform | None = None,
    device: str | torch.device = "cpu",
) -> PairScore:
    """Train a new model to tell the two graphs apart, then test whether it does.

    The random numbers of torch are seeded from ``protocol.seed`` and ``pair.index``,
    and put back afterwards; so are those of the GPU, if that is the device. A model
    that draws from elsewhere is not repeatable.

    Args:
        make_model: Called once, after seeding.
        pair: The two graphs.
        protocol: The settings.
        transform: Applied once to the ``Data`` of each copy, which has ``x`` (ones,
            ``[n, 1]``), ``edge_index`` and ``num_nodes``.
        device: Where the model runs.

    Raises:
        ConfigError: If the model's output is no ``[num_graphs, d]`` of finite numbers
            with d below ``protocol.copies``.
    """
    place = torch.device(device)
    drawing, training = np.random.SeedSequence([protocol.seed, pair.index]).spawn(2)
    copies = draw_copies(pair, protocol.copies, np.random.default_rng(drawing))
    with torch.random.fork_rng(_gpus(place)):
        torch.manual_seed(int(training.generate_state(1, np.uint64)[0]))
        model = make_model().to(place)
        size = protocol.batch_size
        batches = _batches(copies.pair, size, transform, place)
        loss, epochs = _train(model, batches, protocol, pair.index)
        shown = _outputs(model, batches, pair.index)  # [2 q, d]
        batches = _batches(copies.reliability, size, transform, place)
        same = _outputs(model, batches, pair.index)  # [2 q, d]
    return PairScore(
        index=pair.index,
        category=pair.category,
        graphs=pair_fingerprint(pair),
        t2=_statistic(shown, protocol),
        t2_reliability=_statistic(same, protocol),
        spread=relative_spread(same),
        threshold=protocol.threshold_for(shown.shape[1]),
        loss=loss,
        epochs=epochs,
    )


def pair_fingerprint(pair: BRECPair) -> str:
    """Return a short text that changes with either graph."""
    return f"{pair.first.fingerprint()[:16]}-{pair.second.fingerprint()[:16]}"


def _gpus(place: torch.device) -> list[int]:
    """Return the GPUs whose random state must be put back."""
    if place.type != "cuda":
        return []
    return [torch.cuda.current_device() if place.index is None else place.index]


def _batches(
    graphs: Sequence[Graph],
    size: int,
    transform: Transform | None,
    place: torch.device,
) -> list[Batch]:
    """Collate the copies, ``size`` at a time, in order."""
    data = [as_data(graph) for graph in graphs]
    if transform is not None:
        data = [transform(item) for item in data]
    return [
        Batch.from_data_list(data[start : start + size]).to(place)
        for start in range(0, len(data), size)
    ]


def _train(
    model: nn.Module, batches: list[Batch], protocol: RPCProtocol, index: int
) -> tuple[float | None, int]:
    """Train, and return the last epoch's mean loss and the number of epochs."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    if not weights or protocol.epochs == 0:
        return None, 0
    optimizer = torch.optim.Adam(
        weights, lr=protocol.learning_rate, weight_decay=protocol.weight_decay
    )
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    objective = nn.CosineEmbeddingLoss(margin=protocol.margin)
    model.train()
    mean = float("inf")
    for epoch in range(1, protocol.epochs + 1):
        total = 0.0
        for output in _forward(model, batches, index):  # [B, d]
            first, second = output[0::2], output[1::2]  # [B / 2, d]
            apart = -torch.ones(len(first), device=output.device)
            loss = objective(first, second, apart)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += len(first) * float(loss.detach())
        mean = total / protocol.copies
        if mean < protocol.stop_loss:
            return mean, epoch
        scheduler.step(mean)
    return mean, protocol.epochs


@torch.no_grad()
def _outputs(model: nn.Module, batches: list[Batch], index: int) -> NDArray[np.float64]:
    """Return the outputs for all copies, ``[2 q, d]``, in evaluation mode."""
    model.eval()
    parts = [output.double().cpu() for output in _forward(model, batches, index)]
    return torch.cat(parts).numpy()


def _forward(
    model: nn.Module, batches: Iterable[Batch], index: int
) -> Iterator[Tensor]:
    """Yield the checked output for each batch, of which the model gets a copy."""
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


def _statistic(outputs: NDArray[np.float64], protocol: RPCProtocol) -> float:
    """Return T² between even and odd rows."""
    first, second = outputs[0::2], outputs[1::2]  # [q, d]
    if protocol.statistic == "released":
        return released_t2(first, second)
    return hotelling_t2(first, second, epsilon=protocol.epsilon)
