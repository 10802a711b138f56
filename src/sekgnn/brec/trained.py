"""The scoreboard of trained networks: recipes, their rows, and the record of those."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch_geometric.transforms import Compose

from sekgnn.brec.counts import json_rows
from sekgnn.brec.model_score import BRECScore, RPCProtocol
from sekgnn.brec.scoring import score, unscored
from sekgnn.datasets.brec import BREC
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.pyg import as_data
from sekgnn.errors import ConfigError, OutputError
from sekgnn.graphs import path_graph
from sekgnn.models import GraphModel, build_model
from sekgnn.parallel import Progress
from sekgnn.parsing import parse_as
from sekgnn.training.build import make_model
from sekgnn.training.config import RunConfig
from sekgnn.transforms import AddKHopEdges, AddSubstructureEncoding

OUT_CHANNELS = 16
"""Numbers that a network gives for a graph, as in BREC."""


@dataclass(frozen=True)
class Recipe:
    """A network and its options, the same for all pairs.

    Attributes:
        config: Name and arguments, as ``model.to_config()`` gives them.
        dtype: Precision of the network and of the encodings that it reads.
    """

    config: Mapping[str, Any]
    dtype: str = "float32"

    @classmethod
    def of(cls, config: RunConfig) -> Recipe:
        """Return the recipe of a run's config: its keys of model, encoding and dtype.

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
                "targets, of which there are none; choose another model."
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
        """Return the transform that writes what the network reads."""
        model = self.make_model()
        steps: list[Any] = []
        if model.encoding is not None:
            steps.append(AddSubstructureEncoding(model.encoding, dtype=self.dtype))
        if model.num_hops > 1:
            steps.append(AddKHopEdges(model.num_hops))
        return Compose(steps)


@dataclass(frozen=True)
class TrainedRow:
    """One recipe and its score, by both statistics, pair by pair.

    Attributes:
        subset: Numbers of the pairs that the recipe was chosen on; ``None`` if it was
            not chosen on pairs of BREC.
    """

    DERIVED: ClassVar = ("outside",)
    name: str
    recipe: Recipe
    subset: tuple[int, ...] | None
    score: BRECScore

    @property
    def outside(self) -> BRECScore:
        """The score on the pairs that the recipe was not chosen on."""
        return self.score.without(self.subset or ())


@dataclass(frozen=True)
class TrainedBoard:
    """The rows of all recipes, in the order in which they were first run."""

    rows: tuple[TrainedRow, ...]

    def with_row(self, row: TrainedRow) -> TrainedBoard:
        """Return the board with a row added, or in the place of one of its name."""
        rows = {each.name: each for each in self.rows} | {row.name: row}
        return TrainedBoard(tuple(rows.values()))

    def to_json(self) -> str:
        """Return everything as JSON text, a line per row."""
        rows = [
            {
                "name": row.name,
                "recipe": asdict(row.recipe),
                "subset": row.subset,
                "outside": row.outside.counts()._asdict(),
                "score": row.score.to_dict(),
            }
            for row in self.rows
        ]
        return json_rows({}, "rows", rows)

    @classmethod
    def from_json(cls, text: str) -> TrainedBoard:
        """Return what :meth:`to_json` wrote; raise ValueError for another text."""
        return parse_as(cls, text)

    @classmethod
    def read(cls, path: Path) -> TrainedBoard:
        """Return the board in a file; an empty one if there is none."""
        if not path.exists():
            return cls(())
        try:
            return cls.from_json(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise OutputError(
                f"{path} cannot be added to: {error}. Choose another file."
            ) from error


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
) -> TrainedBoard:
    """Score a recipe, and return the board of a file, if there is one, with its row.

    Pairs that the file has of the recipe are not run again. Finished pairs are kept in
    :func:`pairs_folder`, which is to be removed when the board is written. ``subset``
    are numbers of the pairs that the recipe was chosen on.

    Raises:
        ConfigError: If the row of that name is of another recipe, there are no pairs,
            or as :func:`~sekgnn.brec.score`.
        OutputError: If the file holds something else, or pairs cannot be written.
    """
    if not pairs:
        raise ConfigError("there are no such pairs; choose others.")
    settings = RPCProtocol() if protocol is None else protocol
    transform = recipe.transform()
    found = unscored(recipe.make_model, transform, settings)
    before = {row.name: row for row in TrainedBoard.read(output).rows}.get(name)
    if before is not None:
        where = f"the row {name!r} of {output}"
        if before.recipe.dtype != recipe.dtype:
            raise ConfigError(f"{where} has another dtype; give this one another name.")
        found.check_same(before.score, where)
        found = before.score
        subset = before.subset if subset is None else subset
    done = {pair.index: pair for pair in found.pairs}
    left = [pair for pair in pairs if pair.index not in done]
    if left:
        new = score(
            recipe.make_model,
            pairs=left,
            transform=transform,
            protocol=settings,
            record=pairs_folder(output, name),
            jobs=jobs,
            progress=progress,
        )
        done |= {pair.index: pair for pair in new.pairs}
        commits = dict.fromkeys((*found.commits, *new.commits))
        found = replace(
            new,
            commits=tuple(commits),
            pairs=tuple(done[index] for index in sorted(done)),
        )
    row = TrainedRow(name, recipe, subset, found)
    return TrainedBoard.read(output).with_row(row)  # others may have written since


def pairs_folder(output: Path, name: str) -> Path:
    """Return where the finished pairs of a row are kept until the row is written."""
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    return output.with_name(f"{output.stem}.{digest}.partial")


def pair_numbers(text: str) -> tuple[int, ...]:
    """Return numbers of pairs, in order, from a text or from a file that holds one.

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
    """Return numbers of pairs as :func:`pair_numbers` reads them.

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
    return ",".join("-".join(map(str, both)) for both in ends)
