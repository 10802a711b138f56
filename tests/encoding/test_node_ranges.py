"""Range by range is the whole, from a mapped file as from memory."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sekgnn import WalkEncoding, encode, encode_sampled
from sekgnn.encoding.node_ranges import (
    EncodedNodes,
    RangePlan,
    encode_graph_file,
    encode_nodes,
)
from sekgnn.errors import ConfigError, GraphInputError
from sekgnn.graphs import Graph, barabasi_albert_graph, cycle_graph, pack_pairs

_ENCODINGS = [
    WalkEncoding(num_shells=2, walk_length=5),
    WalkEncoding(num_shells=1, walk_length=4, scope=("graph", "internal"), radius=2),
    WalkEncoding(num_shells=2, walk_length=3, aggregate="moments", self_loops=False),
    WalkEncoding(num_shells=1, walk_length=2, first_step=0, shell_sizes=4),
]


def _graph() -> Graph:
    """A power law with a tail of twins and isolated nodes, beside a long cycle."""
    rng = np.random.default_rng(0)
    tree = barabasi_albert_graph(60, 2, rng)
    star = Graph.from_edge_index([[0] * 6, [1, 2, 3, 4, 5, 6]], 8, undirected="add")
    joined = tree.disjoint_union(star).disjoint_union(cycle_graph(40))
    return joined.relabel(rng.permutation(joined.num_nodes))


@pytest.mark.parametrize("encoding", _ENCODINGS)
def test_ranges_together_are_the_whole(encoding: WalkEncoding) -> None:
    """Whatever the ranges; one of no nodes included."""
    graph = _graph()
    whole = encode(graph, encoding)
    cuts = [0, 0, 1, 17, 50, 107, graph.num_nodes]
    for start, stop in pairwise(cuts):
        values = encode_nodes(graph, encoding, start, stop)
        np.testing.assert_allclose(values, whole[start:stop], atol=1e-12)


def test_a_graph_file_is_the_graph_in_memory_and_goes_on_where_it_stopped(
    tmp_path: Path,
) -> None:
    """Shards that are whole are not touched, others are made again."""
    graph, encoding = _graph(), _ENCODINGS[0]
    size = 20 * encoding.num_features
    file = pack_pairs([graph.edge_index().T], graph.num_nodes, tmp_path / "g.csr")
    for plan in (
        RangePlan(encoding, range_numbers=size),
        RangePlan(encoding, "sampled", "float32", 9, seed=3, range_numbers=size),
    ):
        folder = tmp_path / plan.backend
        encoded = encode_graph_file(file, plan, folder)
        expected = encode(graph, encoding)
        errors = encoded.standard_error(np.arange(3))
        assert (errors is None) == (plan.backend == "push")
        if plan.backend == "sampled":
            whole = encode_sampled(graph, encoding, num_walks=9, seed=3)
            expected = whole.values.astype(np.float32)
            assert errors is not None
            np.testing.assert_array_equal(errors, whole.standard_error[:3].astype("f4"))
        chosen = np.random.default_rng(1).permutation(graph.num_nodes)
        np.testing.assert_allclose(encoded[chosen], expected[chosen], atol=1e-12)
        shards = sorted(folder.glob("*.arrays"))
        assert len(shards) == 6
        before = {path: (path.read_bytes(), path.stat().st_ino) for path in shards}
        damaged = bytearray(shards[2].read_bytes())
        damaged[-1] ^= 1
        shards[2].write_bytes(damaged)
        shards[4].unlink()
        with pytest.raises(GraphInputError, match="missing or damaged"):
            EncodedNodes(folder)
        encode_graph_file(file, plan, folder)
        for i, path in enumerate(shards):
            assert path.read_bytes() == before[path][0]
            assert (path.stat().st_ino == before[path][1]) or i in (2, 4)
        shards[1].write_bytes(shards[0].read_bytes())
        with pytest.raises(GraphInputError, match="other data"):
            EncodedNodes(folder)
    with pytest.raises(ConfigError, match="made with other"):
        encode_graph_file(file, RangePlan(encoding, dtype="float32"), folder)


def test_what_cannot_be_done_by_ranges_is_refused(tmp_path: Path) -> None:
    """Before anything is computed."""
    with pytest.raises(ConfigError, match="by ranges"):
        RangePlan(WalkEncoding(aggregate="learned", walk_length=4))
    with pytest.raises(GraphInputError, match=r"not in \[0, 5\)"):
        encode_nodes(cycle_graph(5), _ENCODINGS[0], 3, 6)
    file = pack_pairs([np.array([[0, 1]])], 2, tmp_path / "g.csr", undirected="add")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("dear")
    with pytest.raises(ConfigError, match="not empty"):
        encode_graph_file(file, RangePlan(_ENCODINGS[0]), tmp_path / "other")
