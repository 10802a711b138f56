"""The explorer in a real browser: by mouse, by keyboard, on a phone, in the dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sekgnn.graphs import LabelledGraph, path_graph, rook_graph, shrikhande_graph
from sekgnn.wl import Verdict, compare
from sekgnn.wl.ladder import explored

HOSTILE = "<img src=x onerror=\"document.title='run'\"></script><b>"
NAMES = ("first", "second")


class Opened:
    """A page in the browser, and whatever went wrong there."""

    def __init__(self, browser: Any, file: Path, verdict: Verdict, **look: Any) -> None:
        verdict.to_html(file)
        self.context = browser.new_context(
            **{"viewport": {"width": 1200, "height": 900}, **look}
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *error: object) -> None:
        self.context.close()
        if error[0] is None:
            assert self.wrong == []
            assert len(self.asked) == 1  # the page itself


@pytest.fixture(scope="module")
def isomers() -> Verdict:
    """Two labelled trees that 1-WL tells apart after some rounds."""
    first, second = (
        LabelledGraph(path_graph(7), list(text)) for text in ("CCCOCCN", "CCOCCCN")
    )
    return compare(first, second, "1wl", names=NAMES)


@pytest.fixture(scope="module")
def regular() -> Verdict:
    return compare(rook_graph(4), shrikhande_graph(), "1wl", names=NAMES)


def classes(page: Any, graph: int) -> list[str]:
    nodes = page.locator(f"#graph-{graph} .node")
    found: list[str] = nodes.evaluate_all("all => all.map(x => x.dataset.class)")
    return found


def texts(page: Any, place: str) -> list[str]:
    """Return the texts of all elements, inside drawings, too."""
    every = "all => all.map(x => x.textContent)"
    found: list[str] = page.locator(place).evaluate_all(every)
    return found


def test_the_slider_shows_every_round(
    browser: Any, tmp_path: Path, isomers: Verdict
) -> None:
    assert isomers.round is not None and isomers.round < isomers.rounds
    with Opened(browser, tmp_path / "a.html", isomers) as page:
        slider = page.locator("#round")
        assert slider.input_value() == str(isomers.round)  # where it is decided
        for r in range(isomers.rounds + 1):
            slider.fill(str(r))
            for g in (0, 1):
                items = isomers.run.colouring.node_items(g)
                numbers = isomers.words.classes[r][items].tolist()
                assert classes(page, g) == [isomers.words.name(n, r) for n in numbers]
            differ = "the graphs differ" if r >= isomers.round else "no difference seen"
            assert page.locator("#state").inner_text() == differ
            counts = isomers.histogram(r).tolist()
            assert texts(page, ".histogram .class title") == [
                f"{isomers.words.name(c, r)}: {a} in first, {b} in second"
                for c, (a, b) in enumerate(counts)
            ]
        assert texts(page, "#graph-0 .node text") == list("CCCOCCN")
        reason = page.locator("#reason").inner_text()
        assert isomers.explain().splitlines()[-1].strip() in reason


def test_tests_are_switched_and_say_where_they_stop(
    browser: Any, tmp_path: Path, regular: Verdict
) -> None:
    with Opened(browser, tmp_path / "a.html", regular) as page:
        for i, rung in enumerate(explored()):
            page.locator("#ladder input").nth(i).check()
            verdict = compare(rook_graph(4), shrikhande_graph(), rung.test, names=NAMES)
            head = page.locator("#verdict").inner_text()
            row = page.locator("#ladder label").nth(i).inner_text()
            assert verdict.sentence() == page.locator("#sentence").text_content()
            if verdict.separated:
                assert (
                    head == f"{rung.label} tells them apart at round {verdict.round}."
                )
                assert f"separates at round {verdict.round}" in row
                assert page.locator(".histogram .class.witness").count() == 1
                assert page.locator(".node.uneven").count() == 32
            else:
                assert head == f"{rung.label} does not tell them apart."
                assert f"stable at round {verdict.rounds}" in row
                assert page.locator(".node.uneven").count() == 0


def test_a_node_shows_its_surroundings_and_exact_fractions(
    browser: Any, tmp_path: Path, regular: Verdict
) -> None:
    with Opened(browser, tmp_path / "a.html", regular) as page:
        page.locator('#graph-1 .node[data-node="5"]').click()
        assert (
            page.locator("#inspector h2")
            .inner_text()
            .startswith("Node 5 of second beside node 5 of first")
        )
        nets = page.locator(".net + figcaption").all_inner_texts()
        assert "6 nodes, 6 edges, 1 part" in nets[0]
        assert "6 nodes, 6 edges, 2 parts" in nets[1]
        page.locator(".choices label", has_text="internal 1").locator("input").check()
        panel = page.locator(".panels figure", has_text="walks between nodes")
        assert "differ from t = 2" in panel.inner_text()
        curve = panel.locator("svg")
        curve.scroll_into_view_if_needed()
        box = curve.bounding_box()
        x = box["width"] * (40 + 250 / 7) / 300  # t = 2
        curve.hover(position={"x": x, "y": box["height"] / 2})
        tip = page.locator(".tip.shown").inner_text()
        assert "t = 2" in tip
        assert "{18 × 0, 12 × 1/3}, sum 4" in tip
        assert "{6 × 0, 12 × 1/9, 12 × 2/9}, sum 4" in tip
        page.locator("#by-hand").check()
        page.locator('#graph-0 .node[data-node="9"]').click()
        assert "beside node 9 of first" in page.locator("#inspector h2").inner_text()


def test_nodes_can_be_dragged_and_put_back(
    browser: Any, tmp_path: Path, regular: Verdict
) -> None:
    with Opened(browser, tmp_path / "a.html", regular) as page:
        node = page.locator('#graph-0 .node[data-node="3"]')
        before, box = node.get_attribute("transform"), node.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 30, y + 40, steps=3)
        page.wait_for_timeout(120)
        page.mouse.up()
        assert node.get_attribute("transform") != before
        page.locator("#reset").click()
        assert node.get_attribute("transform") == before


def test_everything_works_by_keyboard(
    browser: Any, tmp_path: Path, isomers: Verdict
) -> None:
    with Opened(browser, tmp_path / "a.html", isomers) as page:
        reached = set()
        for _ in range(25):
            page.keyboard.press("Tab")
            reached.add(
                page.evaluate(
                    "() => document.activeElement.id || document.activeElement.name"
                    " || document.activeElement.parentElement.id"
                )
            )
        assert {"test", "graph-0", "graph-1", "round", "labels", "play"} <= reached
        assert {"radius", "kind", "by-hand", "reset", "next"} <= reached
        page.locator("#play").focus()
        page.keyboard.press("8")
        assert page.locator("#verdict").inner_text().startswith("2-FWL")
        page.keyboard.press("1")
        page.locator("#round").focus()
        page.keyboard.press("Home")
        assert page.locator("#round-now").inner_text().startswith("Round 0")
        page.keyboard.press("]")
        assert page.locator("#round-now").inner_text().startswith("Round 1")
        page.locator("#graph-0 svg").focus()
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        assert page.locator("#inspector h2").inner_text().startswith("Node 6 of first")
        for arrow in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
            page.keyboard.press(arrow)
        assert page.locator("#graph-0 .node.cursor").count() == 1
        assert "class" in page.locator("#said").inner_text()
        page.locator(".histogram").focus()
        page.keyboard.press("ArrowRight")
        lit = page.locator("#graph-0 .node.lit").count()
        assert f"A1: {lit} in first" in page.locator("#said").inner_text()
        page.keyboard.press("Escape")
        assert page.locator("#inspector").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(
    browser: Any, tmp_path: Path, isomers: Verdict, scheme: str
) -> None:
    look = {
        "viewport": {"width": 375, "height": 667},
        "is_mobile": True,
        "has_touch": True,
        "color_scheme": scheme,
    }
    with Opened(browser, tmp_path / "a.html", isomers, **look) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 375
        page.locator('#graph-0 .node[data-node="2"]').tap()
        assert "Node 2 of first" in page.locator("#inspector h2").inner_text()
        ink, paper = page.evaluate(
            "() => [getComputedStyle(document.body).color,"
            " getComputedStyle(document.body).backgroundColor]"
        )
        dark = sum(map(int, paper[4:-1].split(","))) < 3 * 64
        assert dark == (scheme == "dark")
        assert (sum(map(int, ink[4:-1].split(","))) > 3 * 190) == dark


def test_hostile_text_is_shown_and_not_run(browser: Any, tmp_path: Path) -> None:
    graph = LabelledGraph(path_graph(2), [HOSTILE, "C"])
    verdict = compare(graph, graph, "1wl", names=(HOSTILE, "b"))
    with Opened(browser, tmp_path / "a.html", verdict) as page:
        assert page.locator("#name-0").inner_text() == HOSTILE
        assert page.locator("h1").inner_text() == f"{HOSTILE} and b"
        assert page.locator("img").count() == 0
        assert page.title() == f"{HOSTILE} and b"


def test_graphs_without_nodes_open(browser: Any, tmp_path: Path) -> None:
    for graphs in ((path_graph(0), path_graph(0)), (path_graph(0), path_graph(2))):
        verdict = compare(*graphs, "1wl", names=NAMES)
        with Opened(browser, tmp_path / "a.html", verdict) as page:
            assert "1-WL" in page.locator("#verdict").inner_text()
