"""The exact scoreboard: which pairs of BREC a Weisfeiler-Lehman test separates."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from sekgnn.brec.counts import by_category, count_table
from sekgnn.checks import check_positive
from sekgnn.datasets.brec import BREC, BRECPair
from sekgnn.graphs.families import cycle_graph, path_graph
from sekgnn.graphs.graph import Graph
from sekgnn.graphs.labelled import LabelledGraph
from sekgnn.parallel import Progress, run_chunks
from sekgnn.parsing import read_as
from sekgnn.wl.batch import Batch
from sekgnn.wl.by_name import make_test
from sekgnn.wl.refinement import Refinement, WLTest, refine


@dataclass(frozen=True)
class ExactPair:
    """What a test said of one pair.

    Attributes:
        round: The round in which the graphs were told apart; ``None`` for never.
        false_separations: Relabelled copies that were told apart from their graph,
            in the rounds that decided the pair.
        seconds: Time of the verdict in its thread, copies left out.
    """

    index: int
    category: str
    round: int | None
    false_separations: int
    seconds: float

    @property
    def separated(self) -> bool:
        """Whether the graphs were told apart."""
        return self.round is not None


@dataclass(frozen=True)
class ExactScore:
    """The score of a test on some or all pairs of BREC.

    Attributes:
        test: The test's name and parameters.
        title: The test in words.
        copies: Relabelled copies that each graph was compared with.
        seed: Of the copies.
        seconds: Time of all verdicts together, thread by thread.
        pairs: One entry per pair, in the order in which they were given.
    """

    DERIVED: ClassVar = ("separated", "false_separations", "by_category")
    test: dict[str, Any]
    title: str
    copies: int
    seed: int
    seconds: float
    pairs: tuple[ExactPair, ...]

    @property
    def separated(self) -> int:
        """Number of pairs told apart."""
        return sum(pair.separated for pair in self.pairs)

    @property
    def false_separations(self) -> int:
        """Number of relabelled copies told apart from their graph; must be 0."""
        return sum(pair.false_separations for pair in self.pairs)

    def by_category(self) -> dict[str, tuple[int, ...]]:
        """Return (separated, pairs) of the categories that occur."""
        return by_category(self.pairs, "separated")

    def table(self) -> str:
        """Return the counts as text."""
        total = self.separated, len(self.pairs)
        lines = count_table(("separated", "of"), self.by_category(), total)
        return "\n".join([*lines, "", self.sentence()])

    def sentence(self) -> str:
        """Say how long it took, and whether copies were told apart."""
        graphs = 2 * len(self.pairs)
        return (
            f"{self.title}: {self.separated} of {len(self.pairs)} pairs in "
            f"{self.seconds:.1f} s; {self.false_separations} false separations among "
            f"{graphs * self.copies} relabelled copies."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return asdict(self) | {
            "separated": self.separated,
            "false_separations": self.false_separations,
            "by_category": {k: list(v) for k, v in self.by_category().items()},
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> ExactScore:
        """Return what :meth:`to_dict` gave."""
        return read_as(cls, content)


def score_exact(
    test: str | WLTest,
    *,
    after: Sequence[WLTest] = (),
    pairs: Iterable[BRECPair] | None = None,
    data_root: str | os.PathLike[str] | None = None,
    copies: int = 1,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> ExactScore:
    """Run a test on the pairs of BREC, and on relabelled copies of every graph.

    Args:
        test: A name of :data:`sekgnn.wl.TESTS`, or a test.
        after: Tests, the cheapest first, that are asked before: each is asked only of
            the pairs that those before it leave together, and so is ``test``.
        pairs: The pairs; all 400 by default.
        data_root: The data folder; by default what ``SEKGNN_DATA`` names.
        copies: Relabelled copies of each graph that must not be separated from it.
        seed: Of the copies.
        threads: Threads; ``None`` for all usable cores.
        progress: Called with (done, total) pairs.
        parameters: Of the test, when it is given by name.

    Raises:
        DataNotFoundError: If BREC is not there.
        ConfigError: If the test or a parameter is unknown.
    """
    chosen = make_test(test, **parameters)
    check_positive("copies", copies, 0)
    check_positive("seed", seed, 0)
    wanted = tuple(BREC(data_root) if pairs is None else pairs)
    tests = (*after, chosen)
    for each in tests:
        for pair in wanted:
            each.check_memory([pair.first.num_nodes, pair.second.num_nodes])
        refine(each, _batch(path_graph(3), cycle_graph(3)), threads=1)  # compiles
    order = np.argsort([-pair.first.num_nodes for pair in wanted], kind="stable")
    done: dict[int, ExactPair] = {}

    def work(start: int, stop: int) -> None:
        for i in order[start:stop].tolist():
            done[i] = _score_pair(tests, wanted[i], copies, seed)

    chunks = [(i, i + 1) for i in range(len(wanted))]
    run_chunks(work, chunks, threads, progress)
    scored = tuple(done[i] for i in range(len(wanted)))
    return ExactScore(
        described(chosen, after),
        ", then ".join(str(each) for each in tests),
        copies,
        seed,
        round(sum(pair.seconds for pair in scored), 3),
        scored,
    )


def described(test: WLTest, after: Sequence[WLTest]) -> dict[str, Any]:
    """Return a test and those asked before it as plain JSON values."""
    before = {"after": [each.to_dict() for each in after]} if after else {}
    return test.to_dict() | before


def relabelled(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return ``graph`` under random new names.

    Example:
        >>> from sekgnn.graphs import path_graph
        >>> sorted(relabelled(path_graph(3), np.random.default_rng(0)).degrees.tolist())
        [1, 1, 2]
    """
    return graph.relabel(rng.permutation(graph.num_nodes))


def _score_pair(
    tests: Sequence[WLTest], pair: BRECPair, copies: int, seed: int
) -> ExactPair:
    rng = np.random.default_rng([seed, pair.index])
    graphs = pair.first, pair.second
    renamed = [[relabelled(graph, rng) for graph in graphs] for _ in range(copies)]
    round_, wrong, seconds = None, 0, 0.0
    for test in tests:
        begin = time.thread_time()
        run = _verdict(test, *graphs)
        seconds += time.thread_time() - begin
        wrong += sum(_differences(run, _verdict(test, *both)) for both in renamed)
        round_ = run.separated_at(0, 1)
        if round_ is not None:
            break
    return ExactPair(pair.index, pair.category, round_, wrong, round(seconds, 6))


def _verdict(test: WLTest, *graphs: Graph) -> Refinement:
    batch = _batch(*graphs)
    return refine(test, batch, keep_history=False, stop_when_apart=True, threads=1)


def _differences(run: Refinement, again: Refinement) -> int:
    """Return how many of two graphs are told apart from their copies.

    Colours are the same in every run, so that the copies are refined by themselves and
    compared round by round. If all rounds that both runs have agree, they stopped at
    the same one.
    """
    rounds = min(len(run.digests), len(again.digests))
    differ = run.digests[:rounds] != again.digests[:rounds]  # [rounds, 2, 2]
    return int(differ.any(axis=(0, 2)).sum())


def _batch(*graphs: Graph) -> Batch:
    return Batch.of(LabelledGraph(graph) for graph in graphs)
