"""Recipes of networks, their scores in a file, and indices of pairs as text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.transforms import Compose

from sekgnn.brec.networks import score as score_network
from sekgnn.brec.networks import unscored
from sekgnn.brec.protocol import RPCProtocol
from sekgnn.brec.record import AnyScore, plain, read_scores
from sekgnn.datasets.graph_task import GraphTask, as_data
from sekgnn.datasets.wl_benchmarks import BREC
from sekgnn.errors import ConfigError
from sekgnn.graphs import path_graph
from sekgnn.models import GraphModel, build_model
from sekgnn.parallel import Progress
from sekgnn.training.build import make_model
from sekgnn.training.config import RunConfig
from sekgnn.transforms import AddKHopEdges, AddSubstructureEncoding

OUT_CHANNELS = 16
"""Outputs of a network per graph, as in BREC."""


@dataclass(frozen=True)
class Recipe:
    """A network and its options, the same for all pairs of BREC.

    Attributes:
        config: Name and arguments, as from ``model.to_config()``.
        dtype: Precision of the network and its encodings.
    """

    config: Mapping[str, Any]
    dtype: str = "float32"

    @classmethod
    def of(cls, config: RunConfig) -> Recipe:
        """Return the recipe of a config: its keys of model, encoding and dtype.

        Raises:
            ConfigError: If a value cannot work, or the model is not trained in epochs.
        """
        names = tuple(str(i) for i in range(OUT_CHANNELS))
        present = np.ones((1, OUT_CHANNELS), np.bool_)
        example = (as_data(path_graph(2)),)
        data = GraphTask(
            example, "regression", names, None, present, ("",), name="BREC"
        )
        model = make_model(config, data, seed=0)
        if not model.learns:
            raise ConfigError(
                f"BREC trains networks, and {config.model!r} is fitted at once to "
                "targets, which BREC does not have; choose another model."
            )
        if model.options.pooled == "frozen":
            raise ConfigError(
                'pooled="frozen" starts with the output 0 for all graphs, whose cosine '
                "is 0 already, so BREC would train nothing; leave it out."
            )
        return cls(model.to_config(), model.precision)

    def make_model(self) -> GraphModel:
        """Return a new network."""
        return build_model(self.config).to(getattr(torch, self.dtype))

    def transform(self) -> Compose:
        """Return the transform that adds the network's encodings and hops."""
        model = self.make_model()
        steps: list[Any] = []
        if model.encoding is not None:
            steps.append(AddSubstructureEncoding(model.encoding, dtype=self.dtype))
        if model.num_hops > 1:
            steps.append(AddKHopEdges(model.num_hops))
        return Compose(steps)


def run_recipe(
    name: str,
    recipe: Recipe,
    output: Path,
    *,
    pairs: BREC,
    protocol: RPCProtocol | None = None,
    subset: tuple[int, ...] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[AnyScore, ...]:
    """Score a recipe, and return its score with the others in a file, if any.

    Pairs of the recipe in the file are not run again. Finished pairs are kept in
    :func:`pairs_folder` until the scores are written. ``subset`` are the indices of the
    pairs on which the recipe was chosen.

    Raises:
        ConfigError: If the score of that name belongs to another recipe, there are no
            pairs, or as :func:`~sekgnn.brec.score`.
        OutputError: If the file has other contents, or pairs cannot be written.
    """
    if not pairs:
        raise ConfigError("there are no such pairs; choose others.")
    settings = RPCProtocol() if protocol is None else protocol
    transform = recipe.transform()
    score = unscored(recipe.make_model, transform, settings)
    identity = score.settings | {"config": plain(recipe.config)}
    score = replace(score, name=name, label=name, settings=identity, subset=subset)
    earlier = _scores(output).get(name)
    if earlier is not None:
        score.check_same(earlier, f"the row {name!r} of {output}")
        score = replace(earlier, subset=earlier.subset if subset is None else subset)
    done = {pair.index: pair for pair in score.pairs}
    missing = [pair for pair in pairs if pair.index not in done]
    if missing:
        new = score_network(
            recipe.make_model,
            pairs=missing,
            transform=transform,
            protocol=settings,
            record=pairs_folder(output, name),
            jobs=jobs,
            progress=progress,
        )
        done |= {pair.index: pair for pair in new.pairs}
        score = replace(
            score,
            versions=new.versions,
            commits=tuple(dict.fromkeys((*score.commits, *new.commits))),
            pairs=tuple(done[index] for index in sorted(done)),
        )
    scores = _scores(output) | {name: score}  # another process may have written
    return tuple(scores.values())


def _scores(output: Path) -> dict[str, AnyScore]:
    scores = read_scores(output, "Choose another file.", trained=True)
    return {score.name: score for score in scores}


def pairs_folder(output: Path, name: str) -> Path:
    """Return the folder for finished pairs of an unfinished score."""
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return output.with_name(f"{output.stem}.{digest}.partial")


def pair_numbers(text: str) -> tuple[int, ...]:
    """Return indices of pairs, in order, from a text or a file.

    Raises:
        ConfigError: If it is not of the form ``0-59,110``.

    Example:
        >>> pair_numbers("110, 0-2")
        (0, 1, 2, 110)
    """
    file = Path(text)
    words = (file.read_text("utf-8") if file.is_file() else text).replace(",", " ")
    numbers: set[int] = set()
    for word in words.split():
        bounds = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
        if bounds is None:
            raise ConfigError(
                f"numbers of pairs are written like 0-59,110, or in a file, got "
                f"{word!r}."
            )
        first, last = bounds.groups()
        numbers.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(numbers))


def pair_text(numbers: Iterable[int]) -> str:
    """Return indices of pairs as text for :func:`pair_numbers`.

    Example:
        >>> pair_text([0, 1, 2, 5, 110])
        '0-2,5,110'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    ends = (dict.fromkeys((run[0], run[-1])) for run in runs)
    return ",".join("-".join(map(str, bounds)) for bounds in ends)
