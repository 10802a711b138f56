"""A page holds what the tests found, exactly, and nothing that could run."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.brute_force import distances, walk_groups
from tests.small_graphs import HEXAGON, TRIANGLES, empty_graph

from sekgnn.errors import GraphInputError
from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    cfi_pair,
    cycle_graph,
    path_graph,
    random_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.wl import Batch, Verdict, Walks, compare
from sekgnn.wl.explorer import page as page_parts
from sekgnn.wl.explorer.gallery import PAIRS, gallery_pages
from sekgnn.wl.explorer.page import node_positions, packaged, page_content, rungs_of
from sekgnn.wl.ladder import explored

WEB = Path(__file__).parents[2] / "web" / "explorer"
SEES_EGO_NETS = ("ego", "internal", "sek")
HOSTILE = "</script><script>alert(1)</script><!-- $title & \" ' \u2028 <img src=x>"


def random_pair(seed: int) -> tuple[Graph, Graph]:
    rng = np.random.default_rng(seed)
    return random_graph(9, 0.3, rng), random_graph(9, 0.3, rng)


CASES = {
    "strongly regular": (rook_graph(4), shrikhande_graph()),
    "two triangles": (HEXAGON, TRIANGLES),
    "cfi": cfi_pair(cycle_graph(3)),
    "random": random_pair(0),
    "sizes differ": (path_graph(5), path_graph(3)),
    "no edges": (empty_graph(3), empty_graph(3)),
    "one node": (empty_graph(1), path_graph(2)),
    "no nodes": (empty_graph(0), empty_graph(0)),
    "nothing and something": (empty_graph(0), path_graph(2)),
}


class Elements(HTMLParser):
    """The scripts of a page, and all tags."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", {}))


def read(page: str) -> tuple[Elements, dict[str, Any]]:
    elements = Elements()
    elements.feed(page)
    content, _ = elements.scripts
    return elements, json.loads(content)


def same_partition(a: list[int], b: list[int]) -> bool:
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@pytest.mark.parametrize("case", CASES)
def test_a_page_holds_every_round_of_every_test(case: str) -> None:
    graphs = CASES[case]
    page = compare(*graphs, "2fwl", names=("first <", "second &")).to_html()
    _, content = read(page)
    assert content["names"] == ["first <", "second &"]
    assert [graph["n"] for graph in content["graphs"]] == [g.num_nodes for g in graphs]
    for graph, drawn in zip(graphs, content["graphs"], strict=True):
        row, col = graph.edge_index().tolist()
        expected = {(u, v) for u, v in zip(row, col, strict=True) if u < v}
        assert {tuple(edge) for edge in drawn["edges"]} == expected
    rungs = explored()
    assert content["start"] == [rung.test.name for rung in rungs].index("2fwl")
    for rung, seen in zip(rungs, content["tests"], strict=True):
        verdict = compare(*graphs, rung.test, names=("first <", "second &"))
        assert seen["label"] == rung.label
        assert seen["round"] == verdict.round
        assert [seen["sentence"], *seen["reasons"]] == verdict.explain().split("\n")
        assert len(seen["rounds"]) == verdict.rounds + 1
        check_rounds(verdict, seen["rounds"])


def check_rounds(verdict: Verdict, rounds: list[dict[str, Any]]) -> None:
    """Classes are those of the colours; hues tell them apart and stay."""
    before: tuple[list[int], dict[str, int]] | None = None
    for r, now in enumerate(rounds):
        items = np.concatenate([verdict.run.colouring.node_items(g) for g in (0, 1)])
        colours = [row.tobytes() for row in verdict.run.history[r][items]]
        classes = [*now["classes"][0], *now["classes"][1]]
        assert same_partition(classes, [sorted(set(colours)).index(c) for c in colours])
        counts = verdict.histogram(r)
        assert now["kinds"] == len(counts)
        differ = np.flatnonzero(counts[:, 0] != counts[:, 1]).tolist()
        assert now["unevenKinds"] == len(differ)
        assert set(now["uneven"]) & {*classes} == {*differ} & {*classes}
        assert [bar[1:3] for bar in now["bars"]] == [
            counts[bar[0]].tolist() for bar in now["bars"]
        ]
        hues = now["hues"]
        assert len(set(hues.values())) == len(hues) == len(set(classes))
        if before is not None:  # one part of every class goes on as it was
            for c in set(before[0]):
                parts = {b for a, b in zip(before[0], classes, strict=True) if a == c}
                assert before[1][str(c)] in {hues[str(b)] for b in parts}
        before = classes, hues


@pytest.mark.parametrize("seed", [1, 2])
def test_curves_are_the_landing_probabilities(seed: int) -> None:
    graphs = random_pair(seed)
    for kind in page_parts.walk_curves(Batch.of(map(LabelledGraph, graphs))):
        assert kind["steps"] == page_parts.STEPS
        walks = Walks(kind["scope"], kind["radius"], num_shells=2, walk_length=5)
        names = set()
        for graph, numbers in zip(graphs, kind["classes"], strict=True):
            for v, number in enumerate(numbers):
                h, pairs = walk_groups(walks, graph, v)
                for name, points in kind["curves"][number].items():
                    names.add(name)
                    for t in (1, 2, 5):
                        value = sum(h[pair][t - 1] for pair in pairs[name])
                        assert Fraction(points[t - 1][0]) == value
        assert len(names) >= (2 if kind["scope"] == "internal" else 4)


def test_curves_stay_short_where_fractions_are_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs = Batch.of(map(LabelledGraph, random_pair(1)))
    whole = page_parts.walk_curves(graphs)
    monkeypatch.setattr(page_parts, "LENGTH", 8_000)
    cut = page_parts.walk_curves(graphs)
    assert 0 < cut[0]["steps"] < page_parts.STEPS
    for kind, full in zip(cut, whole, strict=True):
        assert len(json.dumps(kind["curves"], ensure_ascii=False)) < 1.5 * 8_000
        for curve, points in zip(kind["curves"], full["curves"], strict=True):
            assert curve == {
                name: values[: kind["steps"]]
                for name, values in points.items()
                if kind["steps"]
            }


def test_hostile_names_and_labels_stay_text() -> None:
    graph = LabelledGraph(path_graph(2), [HOSTILE, "C"], {(0, 1): HOSTILE})
    page = compare(graph, graph, "1wl", names=(HOSTILE, "b")).to_html()
    elements, content = read(page)
    assert content["names"] == [HOSTILE, "b"]
    assert content["graphs"][0]["labels"] == [HOSTILE, "C"]
    tags = [tag for tag, _ in elements.tags]
    assert tags.count("script") == tags.count("/script") == 2
    assert "img" not in tags
    assert not any(key.startswith("on") for _, attrs in elements.tags for key in attrs)
    plain = compare(path_graph(2), path_graph(2), "1wl", names=("a", "b")).to_html()
    assert tags == [tag for tag, _ in read(plain)[0].tags]
    assert elements.scripts[1] == packaged("explorer.js")


def test_a_page_needs_no_network() -> None:
    page = compare(path_graph(2), path_graph(2), "1wl").to_html()
    elements, _ = read(page)
    assert not [attrs for _, attrs in elements.tags if attrs.keys() & {"src", "srcset"}]
    (policy,) = (a["content"] for _, a in elements.tags if "http-equiv" in a)
    assert policy is not None and policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    namespaces = {"1999/xhtml", "2000/svg", "1999/xlink", "XML/1998/namespace"}
    code = page.replace("2000/xmlns/", "2000/svg")
    for address in re.findall(r"https?://[^\s\"'`]+", code.split("*/")[-1]):
        assert address.removeprefix("http://www.w3.org/") in namespaces


def test_molecules_have_symbols_and_bonds() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    first, second = (chem.MolFromSmiles(s) for s in ("C[N+](C)(C)CC#N", "CC(=O)[O-]"))
    content = page_content(compare(first, second, "1wl"))
    assert content["graphs"][0]["labels"] == ["C", "N+", "C", "C", "C", "C", "N"]
    assert content["graphs"][1]["labels"] == ["C", "C", "O", "O-"]
    assert sorted(content["graphs"][0]["bonds"]) == [1, 1, 1, 1, 1, 3]


def test_graphs_too_large_are_refused(tmp_path: Path) -> None:
    verdict = compare(path_graph(201), path_graph(3), "1wl")
    with pytest.raises(GraphInputError, match="at most 200 nodes"):
        verdict.to_html(tmp_path / "page.html")
    assert not [*tmp_path.iterdir()]


def test_classes_beyond_the_histogram_are_marked() -> None:
    rng = np.random.default_rng(5)
    first, second = (random_graph(40, 0.2, rng) for _ in range(2))
    seen = rungs_of(compare(first, second, "1wl"))[0][0]
    last = seen["rounds"][-1]
    assert len(last["bars"]) < last["unevenKinds"] == len(last["uneven"])


def test_a_test_of_its_own_is_shown_and_chosen() -> None:
    content = page_content(compare(*CASES["two triangles"], "khop", num_hops=2))
    assert [test["label"] for test in content["tests"]][-1] == "K-hop 1-WL, K = 2"
    assert content["start"] == len(explored())


@pytest.mark.parametrize("case", CASES)
def test_drawings_are_within_bounds_and_repeat(case: str) -> None:
    for graph in CASES[case]:
        places = node_positions(graph)
        assert places.shape == (graph.num_nodes, 2)
        assert np.abs(places).max(initial=0) <= 1
        rounded = {tuple(place) for place in places.round(3).tolist()}
        assert len(rounded) == graph.num_nodes
        assert np.array_equal(places, node_positions(graph))


def sources_digest() -> str:
    digest = hashlib.sha256()
    names = ["build.mjs", "package.json", "package-lock.json"]
    names += [f"src/{path.name}" for path in (WEB / "src").iterdir()]
    for name in sorted(names):
        text = (WEB / name).read_bytes()
        digest.update(f"\n{name} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def test_the_script_was_built_from_its_sources() -> None:
    """Else run ``npm ci && npm run build`` in web/explorer."""
    script = packaged("explorer.js")
    assert f"sources sha256:{sources_digest()} */" in script.partition("\n")[0]
    assert len(script) < 150_000
    assert "</script" not in script and "<!--" not in script
    assert "Mike Bostock" in script and "(ISC)" in script
    locked = json.loads((WEB / "package-lock.json").read_text())["packages"]
    notice = (WEB.parents[1] / "NOTICE").read_text()
    for name, version, licence in re.findall(r"([\w-]+) ([\d.]+) \(([\w-]+)\)", script):
        assert locked[f"node_modules/{name}"]["version"] == version
        assert f"{name} ({licence})" in notice


@pytest.mark.skipif(
    not (WEB / "node_modules").is_dir() or shutil.which("node") is None,
    reason="web/explorer is not installed (npm ci)",
)
def test_building_again_gives_the_same_script(tmp_path: Path) -> None:
    built = tmp_path / "explorer.js"
    subprocess.run(["node", WEB / "build.mjs", built], check=True)
    assert built.read_text("utf-8") == packaged("explorer.js")


def intersection_array(graph: Graph) -> set[tuple[int, ...]]:
    """Return (distance, steps inwards, within, outwards) of all pairs of nodes."""
    reach = distances(graph)
    return {
        (
            d,
            *(
                sum(reach[v][w] == d + s for w in graph.neighbors(u))
                for s in (-1, 0, 1)
            ),
        )
        for v in range(graph.num_nodes)
        for u, d in reach[v].items()
    }


def test_the_gallery_shows_what_it_says() -> None:
    pytest.importorskip("rdkit")
    pages = dict(gallery_pages())
    assert set(pages) == {"index.html", *(pair.file for pair in PAIRS)}
    stops = {}
    for pair in PAIRS:
        assert len(re.findall(r"\.(?: |$)", pair.about)) == 2  # two sentences
        _, content = read(pages[pair.file])
        assert f'href="{pair.file}"' in pages["index.html"]
        assert (content["about"], content["home"]) == (pair.about, "index.html")
        stops[pair.file] = {t["label"]: t["round"] for t in content["tests"]}
    rook, csl, rings, isomers, doob, cfi = (stops[pair.file] for pair in PAIRS)
    hops = "K-hop 1-WL, K = 4"
    blind = [rung.label for rung in explored() if rung.key not in SEES_EGO_NETS]
    for regular in (rook, doob):
        assert {regular[label] for label in blind} == {None}
        assert regular["SEK, ego"] == regular["SEK, internal"] == 0
    assert (csl["1-WL"], csl[hops]) == (None, 1)
    assert rings.pop("1-WL") is None and None not in rings.values()
    assert (isomers["1-WL"], isomers[hops]) == (3, 1)
    assert cfi.pop("3-FWL (4-WL)") == 3 and set(cfi.values()) == {None}
    hamming, other = PAIRS[4].graphs()
    assert intersection_array(hamming) == intersection_array(other)
    assert len(intersection_array(hamming)) == 4  # one for every distance 0..3
