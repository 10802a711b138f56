"""The simulation: laws of its counts, brute force, seeds, and interrupted runs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studies.theorem1 import simulation
from studies.theorem1.counts import (
    Cell,
    Theorem1Config,
    Theorem1Record,
    degree_in_range,
    radius_bound,
)
from studies.theorem1.simulation import (
    count_cell,
    draw_graphs,
    run_cell,
    run_theorem1,
)
from tests.brute_force import distances, landing

from sekgnn.errors import CacheWarning, ConfigError
from sekgnn.graphs import (
    Graph,
    csl_graph,
    pack,
    petersen_graph,
    random_regular_graph,
    unpack,
)

SMALL = Theorem1Config(nodes=(10, 16), degrees=(3, 4), radii=(1, 2), graphs=3, seed=5)


@pytest.fixture(scope="module")
def record() -> Theorem1Record:
    return run_theorem1(SMALL, threads=1)


def same_root(a: dict[str, bool], b: dict[str, bool]) -> bool:
    return a["root"] == b["root"]


def net(g: Graph, v: int, radius: int) -> nx.Graph:
    ego = nx.ego_graph(g.to_networkx(), v, radius)
    nx.set_node_attributes(ego, {u: u == v for u in ego}, "root")
    return ego


def test_counts_are_those_of_the_definition() -> None:
    """Every number of a small cell, pair by pair, in fractions and with networkx."""
    config = Theorem1Config(nodes=(10,), degrees=(3,), radii=(1, 2), graphs=3, seed=1)
    graphs = unpack(draw_graphs(config, 10, 3))
    cell = run_cell(config, 10, 3, threads=1)
    nodes = [(i, v) for i in range(3) for v in range(10)]
    all_nodes = list(range(10))
    walks = [landing(g, all_nodes, config.steps, True) for g in graphs]
    reach = [distances(g) for g in graphs]
    pairs = [(a, b) for a, b in combinations(nodes, 2) if a[0] != b[0]]
    own_pairs = [(a, b) for a, b in combinations(nodes, 2) if a[0] == b[0]]
    assert (cell.pairs, cell.own_pairs) == (len(pairs), len(own_pairs))

    def returns(node: tuple[int, int], t: int) -> tuple[object, ...]:
        return tuple(walks[node[0]][node[1], node[1]][:t])

    def ball(node: tuple[int, int], radius: int) -> list[tuple[int, int]]:
        near = reach[node[0]][node[1]]
        return [(node[0], u) for u in near if near[u] <= radius]

    def context(node: tuple[int, int], radius: int, t: int) -> object:
        return returns(node, t), Counter(returns(u, t) for u in ball(node, radius))

    def configuration(node: tuple[int, int], k: int) -> Counter[int]:
        near, g = reach[node[0]][node[1]], graphs[node[0]]
        shell = {u for u in near if near[u] == k}
        return Counter(
            len(shell & {*g.neighbors(u).tolist()}) for u in near if near[u] == k + 1
        )

    def edges(counter: Counter[int]) -> int:
        return sum(i * count for i, count in counter.items())

    steps = range(1, config.steps + 1)
    alike = {
        t: {p for p in pairs if returns(p[0], t) == returns(p[1], t)} for t in steps
    }
    assert cell.alike == tuple(len(alike[t]) for t in steps)
    assert cell.own_alike == tuple(
        sum(returns(a, t) == returns(b, t) for a, b in own_pairs) for t in steps
    )
    for h in cell.radii:
        k = h.radius
        nets = {(i, v): net(graphs[i], v, k) for i, v in nodes}
        iso = {
            (a, b)
            for a, b in pairs
            if nx.is_isomorphic(nets[a], nets[b], node_match=same_root)
        }
        sizes = [len(ball(node, k)) for node in nodes]
        assert (h.ball_nodes, h.smallest, h.largest) == (
            sum(sizes), min(sizes), max(sizes),
        )  # fmt: skip
        assert h.isomorphic == len(iso)
        assert h.alike_isomorphic == tuple(len(alike[t] & iso) for t in steps)
        ego = {
            (i, v): landing(graphs[i], list(nets[i, v]), config.steps, True)[v, v]
            for i, v in nodes
        }
        assert h.ego_alike == tuple(
            sum(ego[a][:t] == ego[b][:t] for a, b in pairs) for t in steps
        )
        for t in (2, 4, 5):
            bags = {node: context(node, k, t) for node in nodes}
            equal_bags = {(a, b) for a, b in pairs if bags[a] == bags[b]}
            assert h.context_alike[t - 1] == len(equal_bags)
            assert h.context_alike_isomorphic[t - 1] == len(equal_bags & iso)
        inner = {
            (i, v): nx.Graph(list(x.subgraph({*x} - {v}).edges))
            for (i, v), x in nets.items()
        }
        collided = alike[2 * k] - iso
        assert h.internal_collisions == sum(
            not nx.is_isomorphic(inner[a], inner[b]) for a, b in collided
        )
        same, equal = set(), set()
        for a, b in pairs:
            shapes = [(configuration(a, j), configuration(b, j)) for j in range(k)]
            first = next((pair for pair in shapes if pair[0] != pair[1]), None)
            if first is None:
                same.add((a, b))
            elif edges(first[0]) == edges(first[1]):
                equal.add((a, b))
        assert h.configuration_alike == len(same)
        assert h.configuration_alike_returns_alike == len(same & alike[2 * k])
        assert (h.same_edges, h.same_edges_alike) == (
            len(equal), len(equal & alike[2 * k]),
        )  # fmt: skip
    for t, found_alike in zip(steps, cell.graph_alike, strict=True):
        multisets = [Counter(returns((i, v), t) for v in all_nodes) for i in range(3)]
        assert found_alike == sum(a == b for a, b in combinations(multisets, 2))


def test_laws(record: Theorem1Record) -> None:
    for cell in record.cells:
        for counts in (cell.alike, cell.own_alike, cell.graph_alike):
            assert all(b <= a for a, b in pairwise(counts))  # more steps, more apart
        assert cell.alike[:2] == (cell.pairs, cell.pairs)  # 1/(r+1), twice
        assert cell.graph_alike[-1] >= cell.graph_isomorphic
        for h in cell.radii:
            collisions = [
                [collide(h, t) for t in range(1, SMALL.steps + 1)]
                for collide in (
                    cell.collisions,
                    cell.ego_collisions,
                    cell.context_collisions,
                )
            ]
            for counts_of in collisions:
                assert all(b <= a for a, b in pairwise(counts_of))
                assert min(counts_of) >= 0
            # within 2K + 1 steps the walk knows no more than the rooted ego-net
            assert {*h.alike_isomorphic[: 2 * h.radius + 1]} == {h.isomorphic}
            assert h.internal_collisions <= cell.collisions(h, 2 * h.radius)
            assert all(c <= a for c, a in zip(h.context_alike, cell.alike, strict=True))
        smaller, larger = cell.radii
        assert larger.isomorphic <= smaller.isomorphic


def test_one_hop_is_blind(record: Theorem1Record) -> None:
    for cell in record.cells:
        h = cell.radii[0]
        assert cell.collisions(h, 2) == cell.different(h) > 0


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), rng=st.randoms())
def test_relabelling_changes_no_count(seed: int, rng: np.random.Generator) -> None:
    generator = np.random.default_rng(seed)
    graphs = [random_regular_graph(12, 3, generator) for _ in range(3)]
    moved = [g.relabel(rng.sample(range(12), 12)) for g in graphs]  # type: ignore[attr-defined]
    config = Theorem1Config(nodes=(12,), degrees=(3,), radii=(1, 2, 3), graphs=3)
    a, b = (count_cell(pack(some), config, 3, threads=1) for some in (graphs, moved))
    assert a == b


def test_a_vertex_transitive_graph_has_one_class() -> None:
    config = Theorem1Config(nodes=(10,), degrees=(3,), radii=(1, 2), graphs=2)
    g = petersen_graph()
    cell = count_cell(pack([g, g.relabel(range(9, -1, -1))]), config, 3)
    assert {*cell.alike} == {100} == {cell.pairs}
    assert (cell.graph_isomorphic, {*cell.graph_alike}) == (1, {1})
    for h in cell.radii:
        assert (h.types, h.isomorphic, h.same_edges) == (1, 100, 0)
        assert {*h.ego_alike, *h.context_alike} == {100}


def test_context_includes_the_node_itself() -> None:
    """Where all ego-nets are the whole graph, only a node's own returns differ."""
    config = Theorem1Config(nodes=(12,), degrees=(3,), radii=(12,), graphs=2)
    g = random_regular_graph(12, 3, np.random.default_rng(0))
    cell = count_cell(pack([g, g.relabel(range(11, -1, -1))]), config, 3)
    assert cell.radii[0].context_alike == cell.alike
    assert cell.alike[-1] < cell.pairs


def test_graphs_that_returns_tell_apart_are_not_isomorphic() -> None:
    config = Theorem1Config(nodes=(41,), degrees=(4,), radii=(1,), graphs=2)
    cell = count_cell(pack([csl_graph(41, 2), csl_graph(41, 3)]), config, 4)
    assert cell.graph_isomorphic == 0
    assert cell.graph_alike == (1, 1, 0, 0, 0, 0)  # by triangles, of which one has none


def test_without_self_loops_the_whole_graph_says_the_same() -> None:
    a, b = (
        run_cell(
            Theorem1Config(
                nodes=(20,), degrees=(3,), radii=(2,), graphs=3, self_loops=loops
            ),
            20,
            3,
        )
        for loops in (True, False)
    )
    assert a.alike == b.alike
    assert a.radii[0].context_alike == b.radii[0].context_alike
    assert a.radii[0].isomorphic == b.radii[0].isomorphic


def test_the_seed_decides(record: Theorem1Record) -> None:
    assert run_theorem1(SMALL, threads=2) == record
    other = Theorem1Config(**{**SMALL.to_dict(), "seed": 6})
    assert run_theorem1(other).cells != record.cells
    last_cell = Theorem1Config(
        nodes=(16,), degrees=(4,), radii=(1, 2), graphs=3, seed=5
    )
    assert run_theorem1(last_cell).cells == record.cells[-1:]


def test_records_survive_json(record: Theorem1Record) -> None:
    again = Theorem1Record.from_json(record.to_json())
    assert again == record
    assert again.to_json() == record.to_json()
    assert again.versions["igraph"] and again.cells[0].seconds > 0


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 1}', '{"format": 0}', '{"format": 1, "config"']
)
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="record"):
        Theorem1Record.from_json(text)


class Stop(Exception):
    pass


def test_an_interrupted_run_continues(
    record: Theorem1Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    partial = tmp_path / "part.json"
    ran: list[tuple[int, int]] = []

    def fragile(config: Theorem1Config, n: int, r: int, **options: object) -> Cell:
        if len(ran) == 2:
            raise Stop
        ran.append((n, r))
        return run_cell(config, n, r)

    monkeypatch.setattr(simulation, "run_cell", fragile)
    with pytest.raises(Stop):
        run_theorem1(SMALL, partial=partial)
    finished = Theorem1Record.from_json(partial.read_text())
    assert finished.cells == record.cells[:2]
    ran.clear()
    assert run_theorem1(SMALL, partial=partial) == record
    assert ran == SMALL.cells[2:]
    # another job does not mistake it for its own
    other = Theorem1Config(**{**SMALL.to_dict(), "seed": 6, "nodes": (10,)})
    ran.clear()
    run_theorem1(other, partial=partial)
    assert ran == other.cells


def test_a_broken_partial_file_is_said_and_replaced(tmp_path: Path) -> None:
    config = Theorem1Config(nodes=(8,), degrees=(3,), radii=(1,), graphs=2)
    partial = tmp_path / "part.json"
    partial.write_bytes(b"\xff{")
    with pytest.warns(CacheWarning, match="cannot be continued from"):
        record = run_theorem1(config, partial=partial)
    assert Theorem1Record.from_json(partial.read_text()) == record


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    partial = tmp_path / "part.json"
    seen: list[tuple[int, int]] = []
    for _ in range(2):  # from nothing, then with everything finished
        seen.clear()
        run_theorem1(SMALL, partial=partial, progress=lambda *x: seen.append(x))
        done = [d for d, _ in seen]
        assert done == sorted(done)
        assert seen[-1] == (52, 52)  # 2 (10 + 16) nodes


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": (9,)}, "9 . 3 edge ends do not pair up"),
        ({"nodes": (4,), "degrees": (4,)}, "no graph with 4 nodes is 4-regular"),
        ({"degrees": (2,)}, "degrees must be at least 3"),
        ({"radii": (0,)}, "radii must be at least 1"),
        ({"radii": ()}, "radii must be a list"),
        ({"nodes": "10"}, "nodes must be a list"),
        ({"graphs": 1}, "graphs must be at least 2"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"nodes": (10**7,)}, "GiB"),
    ],
)
def test_impossible_jobs(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Theorem1Config(**{"degrees": (3,), **changes})  # type: ignore[arg-type]


def test_range_of_the_theorem() -> None:
    """3 < √(2 ln 2n) from n = 46 on: e^4.5 / 2 = 45.01; 4 from e^8 / 2 = 1490.5 on."""
    assert [degree_in_range(n, 3) for n in (45, 46)] == [False, True]
    assert [degree_in_range(n, 4) for n in (1490, 1491)] == [False, True]
    assert not degree_in_range(10**6, 2)
    assert radius_bound(128, 3) == 5  # log2 256 / 2 + 1
    assert radius_bound(129, 3) == 6
    assert Theorem1Config(radii=(2, 1, 2), degrees=(3,)).radii == (1, 2)
