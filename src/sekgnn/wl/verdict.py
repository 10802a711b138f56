"""The verdict of a test on two graphs, and its reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sekgnn.digest import colour_text, number_colours
from sekgnn.files import write_atomically
from sekgnn.parameters import make
from sekgnn.wl.encodings.base import Encoding, against, make_exact_encoding
from sekgnn.wl.refinement import (
    TESTS,
    UNKNOWN_DIFFERENCE,
    Batch,
    Refinement,
    Source,
    WLTest,
    refine,
)

_SHOWN_CLASSES = 50
_SHOWN_REASONS = 3
_SHOWN_KINDS = 6
_MAX_LINES = 40


def make_test(test: str | WLTest, **parameters: Any) -> WLTest:
    """Return a test by name of :data:`TESTS`, or ``package.module:Class`` of your own.

    A test is returned as it is. The parameter ``encodings`` may hold encodings, their
    names, or dictionaries of ``to_dict``.

    Raises:
        ConfigError: If the name or a parameter is unknown; the nearest is suggested.

    Example:
        >>> make_test("khop", num_hops=2)
        KHopWL(num_hops=2, kernel='shortest_path')
    """
    if "encodings" in parameters:
        encodings = parameters["encodings"]
        single = isinstance(encodings, str | Mapping | Encoding)
        chosen = [encodings] if single else encodings
        parameters["encodings"] = tuple(make_exact_encoding(item) for item in chosen)
    made: WLTest = make(TESTS, test, WLTest, parameters)
    return made


def compare(
    first: Any,
    second: Any,
    test: str | WLTest = "sek",
    *,
    node_labels: Any = None,
    edge_labels: Any = None,
    names: tuple[str, str] = ("first", "second"),
    threads: int | None = None,
    **parameters: Any,
) -> Verdict:
    """Ask a test whether it separates two graphs, and why.

    Args:
        first: Any graph: PyG ``Data``, networkx, rdkit ``Mol``, graph6 text, ...
        second: The other.
        test: A name of :data:`sekgnn.wl.TESTS`, or a test.
        node_labels: Name of the attribute that holds node labels (``"x"`` of a PyG
            ``Data``); labels of a ``LabelledGraph`` and atoms of a ``Mol`` always
            count.
        edge_labels: Likewise for edges (``"edge_attr"``).
        names: Names of the graphs.
        threads: Threads; ``None`` for all usable cores.
        parameters: Parameters of a named test.

    Raises:
        GraphInputError: If a graph is wrong, or too large for the test.
        ConfigError: If the test or a parameter is unknown.

    Example:
        >>> from sekgnn.graphs import rook_graph, shrikhande_graph
        >>> compare(rook_graph(4), shrikhande_graph(), "2fwl").separated
        False
        >>> compare(rook_graph(4), shrikhande_graph(), "sek").separated
        True
    """
    chosen = make_test(test, **parameters)
    batch = Batch.of([first, second], node_labels=node_labels, edge_labels=edge_labels)
    return Verdict(refine(chosen, batch, threads=threads), names)


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether a test separates two graphs, and why.

    Attributes:
        run: The refinement of both graphs together, with its history.
        names: Names of the graphs.
    """

    run: Refinement
    names: tuple[str, str] = ("first", "second")

    @property
    def separated(self) -> bool:
        """Whether the test tells the graphs apart; then they are not isomorphic."""
        return self.round is not None

    @cached_property
    def round(self) -> int | None:
        """The first round in which the colours differ, or ``None``."""
        return self.run.separated_at(0, 1)

    @property
    def rounds(self) -> int:
        """Rounds until the colouring was stable."""
        return self.run.rounds

    @property
    def seconds(self) -> float:
        """Time taken."""
        return self.run.seconds

    @cached_property
    def words(self) -> ColourWords:
        """Names and meanings of colours."""
        return ColourWords(self.run)

    def histogram(self, round: int) -> NDArray[np.int64]:
        """Return the count of each colour of a round in either graph, ``[C, 2]``.

        Colours are in the order of :attr:`words`.
        """
        classes, ptr = self.words.classes[round], self.run.colouring.ptr
        count = int(classes.max(initial=-1)) + 1
        by_graph = [classes[ptr[g] : ptr[g + 1]] for g in (0, 1)]
        return np.stack([np.bincount(p, minlength=count) for p in by_graph], axis=1)

    @cached_property
    def witness(self) -> int | None:
        """An object of the colour with the largest imbalance, which separates."""
        if self.round is None:
            return None
        counts = self.histogram(self.round)
        best = int(np.abs(counts[:, 0] - counts[:, 1]).argmax())
        return int(np.flatnonzero(self.words.classes[self.round] == best)[0])

    @cached_property
    def counterpart(self) -> int | None:
        """An object of the other graph with the witness's colour one round before."""
        if self.witness is None or self.round is None:
            return None
        ptr, classes = self.run.colouring.ptr, self.words.classes
        other = 1 if self.witness < ptr[1] else 0
        theirs = np.arange(ptr[other], ptr[other + 1])
        if not theirs.size:
            return None
        now = classes[self.round]
        theirs = theirs[now[theirs] != now[self.witness]]
        if self.round:
            before = classes[self.round - 1]
            theirs = theirs[before[theirs] == before[self.witness]]
        if not theirs.size:
            return None
        # the colour whose deficit comes nearest to the surplus of the witness's
        counts = self.histogram(self.round)
        surplus = counts[:, 0] - counts[:, 1]
        balance = np.abs(surplus[now[theirs]] + surplus[now[self.witness]])
        return int(theirs[balance.argmin()])

    def sentence(self) -> str:
        """Return the verdict in one sentence."""
        first, second = self.names
        test = self.run.test
        if self.round is None:
            rounds = f"{self.rounds} round{'' if self.rounds == 1 else 's'}"
            apart = f"{test} does not separate {first} and {second}"
            return f"{apart} (stable after {rounds})."
        sizes = self.run.batch.sizes
        if sizes[0] != sizes[1]:
            return (
                f"{test} separates {first} and {second} at round 0: they have "
                f"{sizes[0]} and {sizes[1]} nodes."
            )
        return f"{test} separates {first} and {second} at round {self.round}."

    def explain(self) -> str:
        """Return the verdict and its reason, for people."""
        lines = [self.sentence()]
        objects = self.run.test.objects
        first, second = self.names
        if self.round is None and self.run.test.complete:
            return f"{lines[0]}\nRenaming the nodes of one graph makes it the other."
        if self.round is None:
            counts = self.run.class_counts[self.rounds]
            alike = f"Both have the same {counts} colours of {objects}, equally often"
            if counts == 1:
                alike = f"All {objects} of both have the same colour"
            return (
                f"{lines[0]}\n{alike}, and no further round would change that. They "
                "may still differ: a stronger test may tell."
            )
        assert self.witness is not None
        number = int(self.words.classes[self.round][self.witness])
        counts = self.histogram(self.round)[number].tolist()
        lines.append(
            f"Colour {self.words.name(number, self.round)} is that of {counts[0]} "
            f"{objects} of {first} and {counts[1]} of {second}. It means:"
        )
        meaning = self.words.meaning(self.witness, self.round)
        lines += [f"  {line}" for line in meaning]
        if self.counterpart is not None:
            mine, theirs = self._label(self.witness), self._label(self.counterpart)
            lines.append(f"What differs, {mine} against {theirs}:")
            why = self.words.difference(self.witness, self.counterpart, self.round)
            lines += [f"  {line}" for line in why[:_SHOWN_REASONS]]
            if len(why) > _SHOWN_REASONS:
                lines.append(f"  and {len(why) - _SHOWN_REASONS} more")
        return "\n".join(lines)

    def _label(self, item: int) -> str:
        graph, nodes = self.run.colouring.locate(item)
        if self.run.test.objects == "graphs":
            return self.names[graph]
        what = "node" if len(nodes) == 1 else "nodes"
        return f"{what} {', '.join(map(str, nodes))} of {self.names[graph]}"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict and its numbers as plain JSON values."""
        run = self.run
        last = len(run.history) - 1
        distinct, counts = number_colours(run.history[last])[0], self.histogram(last)
        order = np.argsort(-counts.sum(axis=1), kind="stable")[:_SHOWN_CLASSES]
        out: dict[str, Any] = {
            **run.test.to_dict(),
            "graphs": list(self.names),
            "num_nodes": run.batch.sizes,
            "separated": self.separated,
            "round": self.round,
            "rounds": self.rounds,
            "stable": run.stable,
            "objects": run.test.objects,
            "class_counts": list(run.class_counts),
            "seconds": round(self.seconds, 6),
            "stable_histogram": {
                "num_colours": len(distinct),
                "most_frequent": [
                    {"digest": colour_text(distinct[i]), "counts": counts[i].tolist()}
                    for i in order.tolist()
                ],
            },
            "colour": None,
        }
        if self.round is not None and self.witness is not None:
            number = int(self.words.classes[self.round][self.witness])
            graph, nodes = run.colouring.locate(self.witness)
            out["colour"] = {
                "digest": colour_text(run.history[self.round][self.witness]),
                "counts": self.histogram(self.round)[number].tolist(),
                "graph": graph,
                "nodes": nodes,
                "meaning": self.words.meaning(self.witness, self.round),
                "difference": []
                if self.counterpart is None
                else self.words.difference(self.witness, self.counterpart, self.round),
            }
        return out

    def to_json(self) -> str:
        """Return :meth:`to_dict` as one JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def certificate(self) -> dict[str, Any]:
        """Return a certificate, which ``check_certificate.py`` checks independently.

        Raises:
            ConfigError: If the test, or an encoding of it, has no certificates.
            GraphInputError: If the graphs are too large.
        """
        from sekgnn.wl.certificate import certificate

        return certificate(self)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw both graphs side by side, coloured by class, one row per round.

        Nodes of a class with different counts in the two graphs get a thick ring. Tests
        on pairs or triples show the class of (v, v) or (v, v, v). Molecules are drawn
        as such. Strongly regular graphs, whose structure no layout shows, are drawn
        around the node that tells them apart, with the edges among its neighbours
        highlighted.

        Args:
            path: File of the picture, in the format of its suffix; ``None`` to only
                return the figure.

        Returns:
            The ``matplotlib`` figure.

        Raises:
            GraphInputError: If a graph is too large to be drawn.
        """
        from sekgnn.wl.drawing import draw_verdict

        return draw_verdict(self, path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a page to explore both graphs, with this and other tests.

        It is one file that needs neither network nor server: both graphs coloured by
        class, round by round, for this test and those of
        :func:`sekgnn.wl.ladder.explored`, and the walks around every node.

        Args:
            path: File of the page; ``None`` to only return it.

        Raises:
            GraphInputError: If a graph has more than 200 nodes.
        """
        from sekgnn.wl.explorer.page import page_content, page_of

        page = page_of(page_content(self))
        if path is not None:
            write_atomically(path, lambda file: file.write(page.encode()))
        return page

    def __repr__(self) -> str:
        return f"<Verdict: {self.sentence()}>"


class ColourWords:
    """Names for the colours of a refinement with its history.

    The colours of a round are called A, B, ..., Z, AA, ... in order of appearance, in
    the first graph, then in the next, followed by the round: A0, B0, A1.
    """

    def __init__(self, run: Refinement) -> None:
        self._run = run

    @cached_property
    def classes(self) -> list[NDArray[np.int64]]:
        """The class number of every object in every round."""
        return [number_colours(colours)[1] for colours in self._run.history]

    def name(self, number: int, round: int) -> str:
        """Return the name of a colour of a round."""
        letters = ""
        rest = number + 1
        while rest:
            rest, letter = divmod(rest - 1, 26)
            letters = chr(65 + letter) + letters
        return f"{letters}{round}"

    def meaning(self, item: int, round: int) -> list[str]:
        """Describe the meaning of an object's colour in a round, down to round 0."""
        lines: list[str] = []
        pending, explained = [(item, round)], set()
        while pending and len(lines) < _MAX_LINES:
            item, round = pending.pop(0)
            number = int(self.classes[round][item])
            if (number, round) in explained:
                continue
            explained.add((number, round))
            head, *facts = self._facts(item, round)
            lines.append(f"{self.name(number, round)}: {head}")
            lines += [f"    {fact}" for fact in facts]
            if round:
                pending.append((item, round - 1))
        return lines

    def _facts(self, item: int, round: int) -> list[str]:
        """Return the facts of an object's colour."""
        if round == 0:
            count, objects = self._run.class_counts[0], self._run.test.objects
            unknown = f"one of {count} first colours of {objects}"
            return self._run.colouring.first_words(item) or [
                f"all {objects} alike" if count == 1 else unknown
            ]
        before = self.name(int(self.classes[round - 1][item]), round - 1)
        multisets = [
            f"{source.phrase} {counted(self.multiset(source, round - 1))}"
            for source in self._run.colouring.sources(item)
        ]
        return [f"was {before}", *multisets]

    def multiset(self, source: Source, round: int) -> Counter[str]:
        """Return the colours of a source's members in a round, by name."""
        out: Counter[str] = Counter()
        marks = source.marks or [""] * len(source.members)
        for mark, row in zip(marks, source.members.tolist(), strict=True):
            names = [self.name(int(self.classes[round][i]), round) for i in row]
            joined = names[0] if len(names) == 1 else f"({', '.join(names)})"
            out[f"{mark}{joined}"] += 1
        return out

    def difference(self, item: int, other: int, round: int) -> list[str]:
        """Describe why two objects have different colours in a round."""
        colouring = self._run.colouring
        if round == 0:
            return colouring.first_difference(item, other) or [UNKNOWN_DIFFERENCE]
        if self.classes[round - 1][item] != self.classes[round - 1][other]:
            return self.difference(item, other, round - 1)
        mine, theirs = (
            {source.phrase: self.multiset(source, round - 1) for source in sources}
            for sources in (colouring.sources(item), colouring.sources(other))
        )
        none: Counter[str] = Counter()
        out = [
            f"{phrase}: {against(a, b, counted)}"
            for phrase in dict.fromkeys([*mine, *theirs])
            if (a := mine.get(phrase, none)) != (b := theirs.get(phrase, none))
        ]
        if out:
            return out
        if mine:
            return [f"the same multisets, but {colouring.beyond_sources}"]
        return [f"their colours of round {round} differ"]


def counted(values: Counter[str]) -> str:
    """Return a multiset of names as text.

    Example:
        >>> counted(Counter(["A0", "A0", "B0"]))
        '{2 × A0, 1 × B0}'
    """
    items = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{n} × {name}" for name, n in items[:_SHOWN_KINDS]]
    if len(items) > _SHOWN_KINDS:
        shown.append(f"{len(items) - _SHOWN_KINDS} more kinds")
    return "{" + ", ".join(shown) + "}"
