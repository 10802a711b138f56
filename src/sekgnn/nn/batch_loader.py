"""The one loader: batches of any source, in an order and with samples of a seed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from sekgnn.checks import check_positive, check_seed
from sekgnn.errors import ConfigError

WINDOW = 8
"""Blocks whose items are mixed in training; fewer shards than are mapped at a time."""


class BatchSource:
    """What batches are made of: items by number, which are graphs, nodes or pairs.

    A source never changes; where hops are sampled, :meth:`draw` returns another one.
    """

    @property
    def num_items(self) -> int:
        """The number of items."""
        raise NotImplementedError

    def batch(self, numbers: Sequence[int]) -> Any:
        """Return the batch of some items, which holds ``graph_number``."""
        raise NotImplementedError

    def draw(self, seed: int) -> BatchSource:
        """Return the same with the samples of ``seed``; itself if nothing is sampled.

        What is in memory is shared.
        """
        raise NotImplementedError

    def blocks(self, chosen: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return which items lie together and are to be read together, if any do."""
        return None

    def batches(
        self,
        chosen: NDArray[np.int64],
        batch_size: int,
        seed: int | None = None,
        *,
        rank: int = 0,
        world: int = 1,
        num_workers: int = 0,
    ) -> BatchLoader:
        """Return a loader of the items ``chosen``.

        With a ``seed``, of the order and the sample of every epoch, it is for training;
        without, order and sample stay, for evaluation. ``batch_size`` is that of all
        ``world`` processes together, of which this is number ``rank``.
        """
        order = EpochBatches(chosen, batch_size, seed, rank, world, self.blocks(chosen))
        return BatchLoader(
            self, seed or 0, seed is not None, order, num_workers=num_workers
        )


class EpochBatches:
    """Which items are in which batch; epoch e depends on (seed, e) alone.

    Every batch is shared out among all processes, so that the batches of an epoch, and
    with them the gradients, are the same however many processes there are. What is left
    over for a last batch joins the one before if it is too small to share out.
    Arguments are those of :meth:`BatchSource.batches`. With ``blocks``, the shard of
    every chosen graph, blocks are put in random order and graphs are mixed within
    ``WINDOW`` of them at a time, so that few shards are read at a time.
    """

    def __init__(
        self,
        chosen: NDArray[np.int64],
        batch_size: int,
        seed: int | None,
        rank: int = 0,
        world: int = 1,
        blocks: NDArray[np.int64] | None = None,
    ) -> None:
        self.chosen = np.asarray(chosen, dtype=np.int64)
        self.batch_size = batch_size
        self.seed, self.rank, self.world = seed, rank, world
        self.blocks = blocks
        self.epoch = 0
        count = self.chosen.size
        self.starts = list(range(0, count, batch_size))
        if len(self.starts) > 1 and count - self.starts[-1] < max(world, 2):
            self.starts.pop()

    def set_epoch(self, epoch: int) -> None:
        """Make ``epoch`` the next one."""
        self.epoch = epoch

    def sample_seed(self) -> int:
        """Return the seed of the samples of this epoch."""
        state = np.random.SeedSequence([self.seed or 0, self.epoch, 1])
        return int(state.generate_state(1, np.uint64)[0])

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield this process's part of every batch."""
        order = self.chosen
        if self.seed is not None:
            state = np.random.SeedSequence([self.seed, self.epoch])
            rng = np.random.default_rng(state)
            order = rng.permutation(order) if self.blocks is None else self._mixed(rng)
        for start, stop in itertools.pairwise([*self.starts, order.size]):
            share = order[start:stop][self.rank :: self.world]
            if self.blocks is not None:
                share = np.sort(share)  # a shard after the other
            # fewer graphs than processes: some evaluate one twice, see Predictions
            yield share.tolist() if share.size else order[start : start + 1].tolist()

    def _mixed(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the chosen graphs, window after window of blocks."""
        assert self.blocks is not None
        turn = rng.permutation(int(self.blocks.max(initial=0)) + 1)
        window = turn[self.blocks] // WINDOW
        return self.chosen[np.lexsort((rng.random(window.size), window))]


class BatchLoader(DataLoader[Any]):
    """Loads batches of a source, in an order and with samples that a seed fixes.

    Args:
        source: What batches are made of.
        seed: Of order and samples. Epoch e depends on (seed, e) alone.
        resample: Draw new samples in every epoch.
        order: Which items are in which batch of an epoch; by default what PyTorch's
            samplers say (``batch_size``, ``shuffle``, ...), one epoch per iteration.
        **kwargs: As for ``torch.utils.data.DataLoader``.

    Raises:
        ConfigError: If a parameter cannot work.
    """

    def __init__(
        self,
        source: BatchSource,
        seed: int = 0,
        resample: bool = False,
        order: EpochBatches | None = None,
        **kwargs: Any,
    ) -> None:
        if resample and kwargs.get("persistent_workers"):
            raise ConfigError(
                "persistent workers would keep the neighbours of the first epoch; "
                "use persistent_workers=False or resample=False."
            )
        self.source, self.seed, self.resample = source, check_seed(seed), resample
        self.epoch = 0
        if order is not None:
            self.order = order
            kwargs["batch_sampler"] = order
        super().__init__(
            cast("Any", range(source.num_items)),
            collate_fn=source.batch,
            generator=torch.Generator(),  # else every epoch would draw from torch's
            **kwargs,
        )

    def __iter__(self) -> Any:
        """Start an epoch, with its own samples."""
        sample = self._start_epoch()
        if self.resample:
            self.collate_fn = self.source.draw(sample).batch
        return super().__iter__()

    def _start_epoch(self) -> int:
        """Return the seed of its samples."""
        if isinstance(self.batch_sampler, EpochBatches):
            return self.batch_sampler.sample_seed()
        state = np.random.SeedSequence([self.seed, self.epoch])
        order, sample = state.generate_state(2, np.uint64).tolist()
        self.generator.manual_seed(order)
        self.epoch += 1
        return int(sample)

    def set_epoch(self, epoch: int) -> None:
        """Make ``epoch`` the next one, to continue or repeat a run."""
        self.epoch = check_positive("epoch", epoch, minimum=0)
