"""The page parses, needs nothing from elsewhere, runs nothing and tells all."""

from __future__ import annotations

import base64
import hashlib
import importlib
import math
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.reports.run_records import ON_EACH, ON_TEST, ON_VAL, as_run, folds, holdout

from sekgnn.paper.paper_numbers import paper_number_of
from sekgnn.reports import html
from sekgnn.reports.finished_runs import Run
from sekgnn.reports.run_report import config_yaml, run_page
from sekgnn.reports.run_table import table_rows
from sekgnn.training.config import RunConfig
from sekgnn.training.run_record import RunRecord

VOID = {"meta", "img", "wbr"}
EVIL = "<script>alert('x')</script>\"&"
PNG = b"\x89PNG not really"


class Page(HTMLParser):
    """A page that is read strictly: every tag is closed in its turn."""

    def __init__(self, text: str) -> None:
        """Read ``text``."""
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.cells: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.greys: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._grey = False
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
            self._grey = ("class", "default") in attrs
        if tag in ("td", "th"):
            self.cells.append("")
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] == "style":
            return
        if self.open[-1] == "script":
            self.scripts.append(data)
            return
        self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            self.cells[-1] += data
            self.tables[-1][-1][-1] += data
        if self._grey and self.open[-1] == "th":
            self.greys.append(data)


def page_of(*runs: Run, figures: dict[str, dict[str, bytes]] | None = None) -> Page:
    return Page(run_page(runs, table_rows(runs, (), paper_number_of), figures))


def evil_record() -> RunRecord:
    """Return a record in which every text tries to run a script."""
    record = holdout("mine", [EVIL, f"{EVIL}2"])
    config = {**record.config, "data": EVIL, "target": [EVIL], EVIL: EVIL}
    texts = {"name": EVIL, "source": EVIL, "classes": [EVIL], EVIL: {EVIL: EVIL}}
    fold = replace(record.folds[0], metrics={EVIL: 1.0})
    result = replace(record.results[0], metric=EVIL, protocol=EVIL, selected_on=EVIL)
    return replace(
        record, config=config, data={**record.data, **texts}, folds=(fold,),
        model={EVIL: [EVIL]}, versions={EVIL: EVIL}, commit=EVIL, started=EVIL,
        device=EVIL, monitor=EVIL, results=(result,),
    )  # fmt: skip


def test_no_text_can_run() -> None:
    run = Run(EVIL, "a", evil_record())
    text = run_page([run], table_rows([run]), {"a": {EVIL: PNG}})
    page = Page(text)
    (script,) = page.scripts  # the one that sorts, and the policy runs no other
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert page.tags.count("script") == text.count("<script") == 1
    assert "fetch" not in script and "innerHTML" not in script
    assert any(EVIL in cell for cell in page.cells)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "default-src 'none'" in text


def test_the_page_refers_to_nothing_elsewhere() -> None:
    runs = [as_run(holdout(), "a"), as_run(folds(), "b"), as_run(evil_record(), "c")]
    figures = {"a": {"curves": PNG}, "b": {"curves": PNG, "predictions": b"other"}}
    page = page_of(*runs, figures=figures)
    ids = [value for name, value in page.attributes if name == "id"]
    assert ids == ["run-1", "run-2", "run-3"]
    for name, value in page.attributes:
        if name == "href":
            assert value is not None and value.startswith("#") and value[1:] in ids
        if name == "src":
            assert value is not None and value.startswith("data:image/png;base64,")
        assert name not in ("srcset", "action", "data", "style")
    assert not {"link", "iframe", "object", "embed"} & set(page.tags)
    found = [value or "" for name, value in page.attributes if name == "src"]
    pictures = [base64.b64decode(value.split(",", 1)[1]) for value in found]
    assert pictures == [PNG, PNG, b"other"]


def test_every_number_stands_beside_what_it_was_selected_on() -> None:
    page = page_of(as_run(holdout(), "a"), as_run(folds(), "b"))
    assert "sekgnn: 2 runs" in page.texts
    cells = page.cells
    chosen = {"0.0125": ON_VAL, "90.5 ± 5.1 %": ON_TEST, "95.0 ± 3.0 %": ON_EACH}
    for value, words in {**chosen, "79.0 ± 6.0 %": "nothing"}.items():
        assert cells[cells.index(value) + 1] == words
    for text in ("0.0031", "-0.00235", "92.2 ± 6.2 %", "-1.7"):
        assert text in cells
    for text in ("f0" * 32, "abc1234", "python 3.x, torch 9.9", "12,345", "val_loss"):
        assert text in cells


def test_sizes_of_the_split() -> None:
    cells = page_of(as_run(holdout())).cells
    place = cells.index("fold")
    head, row = cells[place : place + 8], cells[place + 8 : place + 16]
    assert dict(zip(head, row, strict=True)) == {
        "fold": "1", "train": "4", "val": "1", "test": "2",
        "kept epoch": "2 of 3", "test_mae": "0.0125", "test_mse": "0.00075",
        "seconds": "61.5",
    }  # fmt: skip
    several = page_of(as_run(folds()))
    place = several.cells.index("fold")
    assert several.cells[place : place + 3] == ["fold", "test_accuracy", "seconds"]
    said = "".join(several.texts)
    assert "train 10 · test 1 · kept epoch 3 of 3" in said  # in all folds alike


def test_defaults_are_grey_and_only_they() -> None:
    page = page_of(as_run(holdout("mine")))
    config = RunConfig(data="mine", model="sek-gin", epochs=3, lr=0.002)
    changed = {"data", "epochs", "lr"}
    assert set(page.greys) == set(config.to_dict()) - changed
    for section in ("data", "protocol", "model", "encoding", "training", "machine"):
        assert section in page.texts


@pytest.mark.parametrize("record", [holdout(), folds(), holdout("a: b #", ["x"])])
def test_the_config_on_the_page_makes_the_same_run(record: RunRecord) -> None:
    text = config_yaml(record)
    yaml = importlib.import_module("yaml")
    assert RunConfig.from_dict(yaml.safe_load(text)).to_dict() == record.config
    page = page_of(as_run(record, "my run"))
    assert text in page.texts
    command = "sekgnn train --config config.yaml --output 'my run'"
    assert command in page.texts


def test_runs_that_say_little() -> None:
    bare = replace(
        folds(number=1), data={}, config={}, versions={}, commit=None, started=""
    )
    empty = replace(
        bare.folds[0], split={}, curves={}, metrics={"test_accuracy": math.nan}
    )
    page = page_of(as_run(replace(bare, folds=(empty,))))
    assert "–" in page.cells


def test_a_mean_over_seeds_links_to_its_first_run() -> None:
    first = holdout()
    second = replace(first, config={**first.config, "seed": 1})
    page = page_of(as_run(first, "a"), as_run(second, "b"))
    assert "a, mean of 2 seeds" in page.cells
    links = [value for name, value in page.attributes if name == "href"]
    assert links == ["#run-1"] * 2 + ["#run-2"] * 2 + ["#run-1"] * 2


def test_what_all_rows_share_is_said_once() -> None:
    """But nothing that one of them lacks."""
    page = page_of(as_run(holdout(), "a"))
    said = "".join(page.texts)
    head, *rows = page.tables[0]
    assert head == ["run", "metric", "value", "paper", "difference"]
    assert [row[:2] for row in rows] == [["a", "test_mae"], ["a", "test_mse"]]
    assert f"the epoch was chosen by {ON_VAL} · epochs 2 of 3" in said
    assert "In all rows: data counting · target triangle · model sek-gin" in said
    alone = page_of(as_run(folds(number=1, results=folds().results[:1])))
    assert len(alone.tables[0]) == 2 and "data" in alone.tables[0][0]  # one row
    lacking = Page(html.table(["a", "b"], [["x", "1"], ["", "1"]]))
    assert lacking.tables == [[["a"], ["x"], [""]]]


def test_coverage_stands_beside_what_was_asked_for() -> None:
    targets = ("mass", "logp")
    metrics = {"test_r2": 0.5, "test_coverage": 0.9}
    for name, share, width in (("mass", 0.85, 3.5), ("logp", 0.95, 0.25)):
        metrics |= {f"test_r2[{name}]": 0.5, f"test_coverage[{name}]": share}
        metrics[f"test_interval_width[{name}]"] = width
    record = holdout("mine", targets, metrics=metrics)
    known = {"confidence": 0.8, "graphs": [40, 39], "radii": [1.75, 0.125]}
    record = replace(
        record,
        config={**record.config, "confidence": 0.8},
        folds=(replace(record.folds[0], calibration=known),),
    )
    page = page_of(as_run(record))
    (table,) = [t for t in page.tables if "coverage" in t[0]]
    assert table == [
        ["target", "coverage", "mean width", "graphs that calibrate"],
        ["mass", "85.0 %", "3.5", "40"],
        ["logp", "95.0 %", "0.25", "39"],
    ]
    assert "confidence 80.0 %" in "".join(page.texts)
    alone = holdout("mine", metrics={"test_mae": 1.0, "test_coverage": 0.7,
                                     "test_interval_width": 2.0})  # fmt: skip
    alone = replace(alone, config={**alone.config, "confidence": 0.8})
    (table,) = [t for t in page_of(as_run(alone)).tables if "coverage" in t[0]]
    assert table[1] == ["triangle", "80.0 %", "70.0 %", "2", ""]
    assert "coverage" not in page_of(as_run(holdout())).cells
