"""Scores of Weisfeiler-Lehman tests on BREC: of one, or of the whole scoreboard."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sekgnn.brec.record import (
    AnyScore,
    BRECScore,
    ExactPair,
    plain,
    read_scores,
    to_json,
)
from sekgnn.checks import check_positive, check_seed
from sekgnn.datasets.wl_benchmarks import BREC, BRECPair
from sekgnn.errors import ConfigError
from sekgnn.files import write_files
from sekgnn.graphs.families import cycle_graph, path_graph
from sekgnn.graphs.graph import Graph
from sekgnn.parallel import Progress, run_chunks, usable_cores
from sekgnn.provenance import package_versions, source_commit
from sekgnn.wl.ladder import BOARD, Rung
from sekgnn.wl.refinement import Batch, Refinement, WLTest, refine
from sekgnn.wl.verdict import make_test

_PACKAGES = ("sekgnn", "numpy", "numba", "igraph")


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
) -> BRECScore[ExactPair]:
    """Run a test on the pairs of BREC, and on relabelled copies of every graph.

    Args:
        test: A name of :data:`sekgnn.wl.TESTS`, or a test.
        after: Tests to run first, the cheapest first: each one, and then ``test``, sees
            only the pairs that earlier ones do not separate.
        pairs: The pairs; all 400 by default.
        data_root: The data folder; by default ``SEKGNN_DATA``.
        copies: Relabelled copies per graph, which must not be separated from it.
        seed: Seed of the copies.
        threads: Number of threads; ``None`` for all usable cores.
        progress: Called with (done, total) pairs.
        parameters: Parameters of a test given by name.

    Raises:
        DataNotFoundError: If BREC is missing.
        ConfigError: If the test or a parameter is unknown.
    """
    tests = (*after, make_test(test, **parameters))
    check_positive("copies", copies, 0)
    check_seed(seed)
    chosen = tuple(BREC(data_root) if pairs is None else pairs)
    for wl_test in tests:
        for pair in chosen:
            wl_test.check_memory([pair.first.num_nodes, pair.second.num_nodes])
        refine(
            wl_test, Batch.of((path_graph(3), cycle_graph(3))), threads=1
        )  # compiles
    order = np.argsort([-pair.first.num_nodes for pair in chosen], kind="stable")
    done: dict[int, ExactPair] = {}

    def work(start: int, stop: int) -> None:
        for i in order[start:stop].tolist():
            done[i] = _score_pair(tests, chosen[i], copies, seed)

    run_chunks(work, [(i, i + 1) for i in range(len(chosen))], threads, progress)
    return replace(
        unscored(tests, copies, seed), pairs=tuple(done[i] for i in range(len(chosen)))
    )


def unscored(tests: Sequence[WLTest], copies: int, seed: int) -> BRECScore[ExactPair]:
    """Return the score of the last of some tests, run in order, without pairs."""
    title, commit = ", then ".join(map(str, tests)), source_commit()
    return BRECScore(
        name=tests[-1].name,
        label=title,
        model=title,
        settings={
            "tests": plain([test.to_dict() for test in tests]),
            "copies": copies,
            "seed": seed,
        },
        versions=package_versions(_PACKAGES),
        commits=(commit,) if commit else (),
        machine=f"{platform.machine()}, {usable_cores()} cores",
    )


def run_board(
    rungs: Sequence[Rung] = BOARD,
    *,
    pairs: BREC | None = None,
    data_root: str | os.PathLike[str] | None = None,
    copies: int = 1,
    seed: int = 0,
    partial: Path | None = None,
    threads: int | None = None,
    progress: Callable[[str], Progress | None] | None = None,
) -> tuple[AnyScore, ...]:
    """Score every rung of the scoreboard.

    Finished scores are kept in ``partial``, and reused if pairs, copies, seed, versions
    and commit agree. ``progress`` is called with each label and returns a progress
    callback.

    Raises:
        ConfigError: If there are no pairs.
        OutputError: If ``partial`` is no such record.
    """
    chosen = BREC(data_root) if pairs is None else pairs
    if not chosen:
        raise ConfigError("the scoreboard needs at least one pair.")
    chosen_indices = [pair.index for pair in chosen]
    earlier: dict[str, AnyScore] = {}
    cure = "Remove it to start again."
    if partial is not None:
        earlier = {s.name: s for s in read_scores(partial, cure, trained=False)}
    scores: list[AnyScore] = []
    for rung in rungs:
        new = unscored((*rung.after, rung.test), copies, seed)
        earlier = {name: old for name, old in earlier.items() if _same_code(old, new)}
        score = earlier.pop(rung.key, new)
        indices = [pair.index for pair in score.pairs]
        if indices != chosen_indices or score.settings != new.settings:
            fresh = score_exact(
                rung.test,
                after=rung.after,
                pairs=chosen,
                copies=copies,
                seed=seed,
                threads=threads,
                progress=None if progress is None else progress(rung.label),
            )
            score = replace(fresh, name=rung.key, label=rung.label, memory=rung.memory)
        scores.append(score)
        if partial is not None:
            text = to_json([*scores, *earlier.values()])
            write_files(partial.parent, {partial.name: text.encode()})
    return tuple(scores)


def _same_code(old: AnyScore, new: AnyScore) -> bool:
    return (old.versions, old.commits) == (new.versions, new.commits)


def relabelled(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return ``graph`` with its nodes permuted at random."""
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
    return ExactPair(pair.index, pair.category, round(seconds, 6), round_, wrong)


def _verdict(test: WLTest, *graphs: Graph) -> Refinement:
    batch = Batch.of(graphs)
    return refine(test, batch, keep_history=False, stop_when_apart=True, threads=1)


def _differences(run: Refinement, again: Refinement) -> int:
    """Return the number of graphs, 0 to 2, that are separated from their copies.

    Colours are the same in every run, so copies are refined on their own and compared
    round by round. If all common rounds agree, both runs stopped at the same one.
    """
    rounds = min(len(run.digests), len(again.digests))
    differ = run.digests[:rounds] != again.digests[:rounds]  # [rounds, 2, 2]
    return int(differ.any(axis=(0, 2)).sum())
