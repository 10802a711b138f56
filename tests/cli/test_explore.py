"""``sekgnn explore`` writes a page or a gallery, or says in one line why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sekgnn.graphs import named_graph
from sekgnn.wl import compare

from .conftest import Run, assert_refused

PAIR = ("cycle:6", "circulant:6:2")


def test_a_page_is_what_the_library_gives(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("explore", *PAIR, "--test", "khop", "--num-hops", 2, "-o", page)
    a, b = (named_graph(name) for name in PAIR)
    verdict = compare(a, b, "khop", num_hops=2, names=PAIR)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == verdict.sentence()
    assert page.read_text("utf-8") == verdict.to_html()


def test_the_gallery_is_a_folder(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    folder = tmp_path / "new" / "gallery"
    done = run("explore", "--gallery", "-o", folder)
    assert done.exit_code == 0, done.output
    assert str(folder / "index.html") in done.stdout
    assert len([*folder.glob("*.html")]) == len([*folder.iterdir()]) == 7


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("cycle:6",), "takes two graphs"),
        ((*PAIR, "-o", "page.txt"), "such as page.html"),
        (("path:201", "path:3"), "at most 200 nodes"),
        ((*PAIR, "--gallery"), "leave out graphs"),
        (("--gallery", "--test", "1wl"), "leave out graphs"),
        ((*PAIR, "--test", "2fwl", "--radius", 2), "means nothing"),
        ((*PAIR, "-o", "missing/page.html"), "does not exist"),
    ],
)
def test_wrong_use_is_one_line_and_writes_nothing(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[object, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    output = () if "-o" in args else ("-o", "page.html")
    assert_refused(run("explore", *args, *output), message)
    assert not [*tmp_path.iterdir()]
