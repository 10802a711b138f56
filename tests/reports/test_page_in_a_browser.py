"""The page of a report as a browser shows it, on a screen and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.reports.run_records import folds, holdout, save

from sekgnn.paper.paper_numbers import paper_number_of
from sekgnn.reports.run_report import write_report

# pieces of text that stand on more than one line; where <wbr> is, a line may end
_BROKEN_WORDS = """() => {
  const broken = [], range = document.createRange();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (node.parentElement.closest("script, pre, h1, h2")) continue;
    for (const word of node.data.matchAll(/\\S+/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""
_TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll(".wide")]
  .filter((e) => e.scrollWidth > Math.max(e.clientWidth, 1))
  .map((e) => e.textContent.slice(0, 80))"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of three runs: many targets with intervals, folds, long names."""
    place = tmp_path_factory.mktemp("runs")
    metrics = {"test_r2": 0.75, "test_coverage": 0.9}
    targets = ["gap", "polarizability", "heat_capacity_at_298_kelvin_in_cal_per_mol"]
    head, row = ["graph", "fold"], [5.0, 1.0]
    for i, name in enumerate(targets):
        head += [f"{word} {name}" for word in ("true", "predicted", "lower", "upper")]
        row += [1.0, 1.5, i, 2.0]
        metrics |= {f"test_mae[{name}]": 10.0**-i, f"test_rmse[{name}]": 2.0 + i}
        metrics |= {f"test_coverage[{name}]": 0.9, f"test_interval_width[{name}]": 2.0}
    several = holdout("molecules.csv", targets, metrics=metrics)
    several.config["confidence"] = 0.9
    runs = [
        save(several, place / "several", head, [row]),
        save(folds(), place / "folds"),
        save(replace(folds(), seconds=9.0), place / f"a-name-{'without-end-' * 8}"),
        save(holdout("x" * 70), place / ("y" * 70)),
    ]
    return write_report(runs, place / "report", published=paper_number_of).page


@pytest.fixture(params=[1200, 375])
def page(
    request: pytest.FixtureRequest, browser: Any, page_file: Path
) -> Iterator[Any]:
    """Return the page at two widths, all of it unfolded."""
    shown = browser.new_page(viewport={"width": request.param, "height": 900})
    said: list[str] = []
    asked: list[str] = []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto(page_file.as_uri())
    shown.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    yield shown
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    shown.close()


def test_words_stay_whole_and_nothing_is_too_wide(page: Any) -> None:
    assert page.evaluate(_BROKEN_WORDS) == []
    assert page.evaluate(_TOO_WIDE) == []
    pictures = page.locator("img").evaluate_all("all => all.map(i => i.naturalWidth)")
    assert len(pictures) == 2 + 3 + 3 * 2 and min(pictures) > 400


def test_a_click_on_a_heading_sorts(page: Any) -> None:
    """Numbers as numbers, names as names; what is missing comes last, both ways."""
    table = page.locator("table").first

    def sort(name: str) -> list[str]:
        table.get_by_role("button", name=name, exact=True).click()
        cells = table.locator(f'td[data-label="{name}"]').all_inner_texts()
        return [" ".join(cell.split()) for cell in cells]

    values = [float(value.split()[0]) for value in sort("value")]
    assert values == sorted(values) and len(set(values)) > 3
    assert table.locator("th[aria-sort=ascending]").count() == 1
    again = [float(value.split()[0]) for value in sort("value")]
    assert again == values[::-1]
    for _ in ("up", "down"):
        paper = sort("paper")
        assert paper[0] and not paper[-1]
        assert paper == sorted(paper, key=lambda text: not text)
    runs = sort("run")
    assert runs == sorted(runs, key=str.casefold) != runs[::-1]
    assert table.locator("th[aria-sort]").count() == 1
