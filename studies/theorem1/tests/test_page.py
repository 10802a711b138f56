"""The page and figure on Theorem 1 show the record's numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import studies.theorem1
from studies.theorem1.counts import Theorem1Config, Theorem1Record
from studies.theorem1.figure import theorem1_png
from studies.theorem1.page import (
    main_cell,
    percent,
    power,
    scientific,
    summary,
    theorem1_page,
)
from studies.theorem1.simulation import run_theorem1


@pytest.fixture(scope="module")
def record() -> Theorem1Record:
    config = Theorem1Config(
        nodes=(46, 60), degrees=(3, 4), radii=(1, 2, 3, 5), graphs=3, seed=2
    )
    return run_theorem1(config, threads=1)


def tables(page: str) -> dict[str, list[dict[str, str]]]:
    """Read the tables back: heading to rows."""
    rows_by_heading: dict[str, list[dict[str, str]]] = {}
    for section in page.split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        lines = [x for x in body.splitlines() if x.startswith("|")]
        cells = [[c.strip() for c in x.strip("|").split("|")] for x in lines]
        if cells:
            rows_by_heading[heading] = [
                dict(zip(cells[0], row, strict=True)) for row in cells[2:]
            ] if "counterexamples" not in heading else []  # fmt: skip
    return rows_by_heading


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_every_table_repeats_the_record(record: Theorem1Record) -> None:
    sections = tables(theorem1_page(record))
    by_size = {(c.nodes, c.degree): c for c in record.cells}
    bound = sections["At the theorem's own K"]
    assert [(r["n"], r["r"]) for r in bound] == [("46", "3"), ("60", "3")]
    for row in bound:
        cell = by_size[int(row["n"]), int(row["r"])]
        h = cell.counts(5)
        assert h is not None
        assert number(row["different pairs"]) == cell.pairs - h.isomorphic
        collisions = cell.alike[9] - h.alike_isomorphic[9]
        assert number(row["collisions at 2K"]) == collisions
        assert row["in range"] == "yes"
        assert number(row["at 2K + 1"]) == cell.alike[10] - h.alike_isomorphic[10]
    hops = sections["Told apart by t returns, n = 60, r = 3"]
    cell = by_size[60, 3]
    assert [row["K"] for row in hops] == ["1", "2", "3", "5"]
    for row, h in zip(hops, cell.radii, strict=True):
        different, t = cell.pairs - h.isomorphic, 2 * h.radius
        assert number(row["ego-nets"]) == h.types
        for column, step in (("t = 2K", t), ("t = 2K+1", t + 1), ("t = 2K+2", t + 2)):
            left = cell.alike[step - 1] - h.alike_isomorphic[step - 1]
            assert row[column] == percent(different - left, different)
        assert row["theorem at 2K"] == "100 %"
        assert number(row["internals differ too"]) == h.internal_collisions
    assert hops[0]["t = 2K"] == "0 %"
    outside = sections["Told apart by t returns, n = 60, r = 4 (outside the theorem's "
                    "range of r)"]  # fmt: skip
    assert {row["theorem at 2K"] for row in outside} == {"–"}
    for row in sections["The collision argument"]:
        cell = by_size[int(row["n"]), int(row["r"])]
        h = cell.counts(int(row["K"]))
        assert h is not None
        t = 2 * h.radius - 1
        context = h.context_alike[t] - h.context_alike_isomorphic[t]
        assert number(row["collisions"]) == context
    for row, c in zip(sections["Pairs of graphs"], record.cells, strict=True):
        assert int(row["t = 3"]) == c.graph_pairs - c.graph_alike[2]
    edges = sections["Edge configurations, n = 60, r = 3"]
    for row, h in zip(edges, by_size[60, 3].radii, strict=True):
        assert number(row["first difference has equally many edges"]) == h.same_edges


def test_the_committed_page_is_made_of_the_committed_record() -> None:
    results = Path(studies.theorem1.__path__[0]) / "results"
    record = Theorem1Record.from_json((results / "theorem1.json").read_text("utf-8"))
    assert (results / "theorem1.md").read_text("utf-8") == theorem1_page(record)


def test_the_words_count_too(record: Theorem1Record) -> None:
    page = theorem1_page(record)
    total = after = inside = 0
    for cell in record.cells:
        for h in cell.radii:
            if cell.degree == 3 and h.radius <= 5:
                total += cell.pairs - h.isomorphic
                after += cell.collisions(h, 2 * h.radius)
                inside += h.ego_alike[2 * h.radius - 1] > h.isomorphic
    assert "Of 8 combinations" in page
    assert 0 < inside < 8
    assert f"which notices more, {inside} of 8 have such pairs" in page
    assert f"{after:,} of {total:,} pairs" in page
    edges = sum(h.same_edges for c in record.cells for h in c.radii)
    assert f"Of {edges:,} such pairs" in page
    assert "2K steps are not sufficient" in page
    assert "71/512" in page  # of a counterexample
    assert "/work" not in page


def test_a_record_outside_the_range_says_so(record: Theorem1Record) -> None:
    outside = tuple(cell for cell in record.cells if cell.degree == 4)
    page = theorem1_page(replace(record, cells=outside))
    assert "No degree of this run is in the theorem's range" in page
    assert "not sufficient" not in page
    assert main_cell(replace(record, cells=outside)) == outside[-1]


def test_summary(record: Theorem1Record) -> None:
    lines = summary(record).splitlines()
    assert lines[0].startswith("n = 60, r = 3")
    assert len(lines) == 2 + 4
    assert re.match(r" +1 +[\d,]+ +0 % +100 % +0 %$", lines[2])


def test_figure(record: Theorem1Record) -> None:
    png = theorem1_png(record)
    assert png.startswith(b"\x89PNG")
    assert len(png) < 300_000


def test_rounding_never_hides_an_exception() -> None:
    assert percent(999_999, 1_000_000) == "99.9999 %"
    assert percent(1, 1_000_000) == "0.0001 %"
    assert (percent(0, 7), percent(7, 7), percent(0, 0)) == ("0 %", "100 %", "–")
    assert scientific(0, 1234) == "none in 1,234"
    assert power(-1177.1) == "8e-1178"
