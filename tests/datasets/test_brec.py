"""BREC's file: its sizes, its categories, and what every pair has in common."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import igraph
import numpy as np
import pytest

from sekgnn.datasets import BREC, CATEGORIES, BRECPair
from sekgnn.errors import ConfigError, DataNotFoundError, GraphInputError
from sekgnn.graphs import Graph, cycle_graph, path_graph, to_graph6

# name: (first index, last index, fewest nodes, most nodes)
EXPECTED = {
    "basic": (0, 59, 10, 10),
    "simple_regular": (60, 109, 7, 10),
    "strongly_regular": (110, 159, 16, 35),
    "extension": (160, 259, 10, 19),
    "cfi": (260, 359, 18, 198),
    "four_vertex": (360, 379, 63, 63),
    "distance_regular": (380, 399, 30, 63),
}


@pytest.fixture(scope="module")
def brec(data_root: Path) -> BREC:
    return BREC(data_root)


def to_igraph(graph: Graph) -> igraph.Graph:
    return igraph.Graph(graph.num_nodes, graph.edge_index().T.tolist()).simplify()


@pytest.mark.dataset
def test_categories_indices_and_sizes(brec: BREC) -> None:
    assert len(brec) == 400 and repr(brec) == "BREC(400)"
    assert [pair.index for pair in brec] == list(range(400))
    assert sorted(CATEGORIES) == sorted(EXPECTED)
    for category, (begin, end, fewest, most) in EXPECTED.items():
        chosen = brec.select(category)
        assert [pair.index for pair in chosen] == list(range(begin, end + 1))
        sizes = [pair.first.num_nodes for pair in chosen]
        assert (min(sizes), max(sizes)) == (fewest, most)


@pytest.mark.dataset
def test_pairs_share_sizes_and_degrees_and_are_not_isomorphic(brec: BREC) -> None:
    regular = ("simple_regular", "strongly_regular", "four_vertex", "distance_regular")
    for pair in brec:
        first, second = pair.first, pair.second
        assert first.num_edges == second.num_edges
        degrees = np.sort(first.degrees)
        assert np.array_equal(degrees, np.sort(second.degrees)), pair.index
        assert np.unique(degrees).size == 1 or pair.category not in regular
        if pair.index % 7 == 0:
            assert not to_igraph(first).isomorphic(to_igraph(second)), pair.index


@pytest.mark.dataset
def test_graphs_that_occur_twice(brec: BREC) -> None:
    """Up to isomorphism: pairs 66 and 210 share a graph, and so do 387 and 388."""
    for a, b in ((66, 210), (387, 388)):
        assert to_igraph(brec[a].second).isomorphic(to_igraph(brec[b].second))
        assert not to_igraph(brec[a].first).isomorphic(to_igraph(brec[b].first))


@pytest.mark.dataset
def test_disconnected_graphs(brec: BREC) -> None:
    disconnected = Counter(
        pair.category
        for pair in brec
        if not all(to_igraph(g).is_connected() for g in (pair.first, pair.second))
    )
    assert disconnected == {"basic": 4, "extension": 3, "cfi": 3}


def test_selection_keeps_the_order() -> None:
    g, h = cycle_graph(6), path_graph(6)
    few = BREC.of([BRECPair(3, "cfi", g, h), BRECPair(1, "basic", g, h)])
    assert [pair.index for pair in few.select("basic", "cfi")] == [3, 1]
    assert [pair.index for pair in few.select("basic")] == [1]
    with pytest.raises(ConfigError, match="Did you mean 'cfi'"):
        few.select("cfl")


RAW = {"basic": 120, "regular": 100, "str": 100, "extension": 200, "cfi": 200,
       "4vtx": 40, "dr": 40}  # fmt: skip


@pytest.mark.dataset
def test_upstreams_files_hold_the_same_pairs(brec: BREC, tmp_path: Path) -> None:
    """The seven raw arrays, in a folder or a clone, and the file with all copies."""
    texts = [to_graph6(g) for pair in brec for g in (pair.first, pair.second)]
    raw = tmp_path / "clone" / "customize" / "Data" / "raw"
    raw.mkdir(parents=True)
    start = 0
    for number, (name, count) in enumerate(RAW.items()):
        array = np.array(texts[start : start + count], "S" if number % 2 else "U")
        in_rows = name in ("regular", "extension", "cfi")
        np.save(raw / f"{name}.npy", array.reshape(-1, 2) if in_rows else array)
        start += count
    for folder in (raw, tmp_path / "clone"):
        assert list(BREC(folder)) == list(brec)
    file = tmp_path / "brec_v3.npy"  # sparse: copies that are not read are left empty
    longest = max(map(len, texts))
    copies = np.lib.format.open_memmap(file, "w+", f"S{longest}", (51_200,))
    table = copies[:25_600].reshape(400, 64)
    table[:, :2] = np.array(texts).reshape(400, 2)
    table[:60, 2:4] = table[:60, 1::-1]  # relabelled copies come after the given graphs
    copies.flush()
    assert list(BREC(file)) == list(brec)
    table[7, :2] = table[7, 1::-1]
    copies.flush()
    with pytest.raises(GraphInputError, match=r"brec_v3\.npy.*not the file"):
        BREC(file)
    (raw / "dr.npy").unlink()
    with pytest.raises(DataNotFoundError, match=r"but not dr\.npy.*GraphPKU/BREC"):
        BREC(raw)


def test_upstreams_files_are_not_unpickled(tmp_path: Path) -> None:
    file = tmp_path / "brec_v3.npy"

    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return (file.unlink, ())

    np.save(file, np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(GraphInputError, match="not an array of strings"):
        BREC(file)
    np.save(file, np.array([b"Bw", b"B_"]))
    with pytest.raises(GraphInputError, match=r"2 values.* expected 51200"):
        BREC(file)
    content = file.read_bytes()
    file.write_bytes(content.replace(b"(2,)", b"(9,)"))  # promises more than there is
    with pytest.raises(GraphInputError, match="not an array of strings"):
        BREC(file)
