"""``sekgnn explore`` writes a page or a gallery, or says in one line why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sekgnn.graphs import named_graph
from sekgnn.wl import compare

from .conftest import Run

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
    done = run("explore", "--gallery", "-o", folder, code=0)
    assert str(folder / "index.html") in done.stdout
    assert len([*folder.glob("*.html")]) == len([*folder.iterdir()]) == 7
