"""What can be asked for, what the answer's channels are called, and what they hold.

Step 0, shell sizes, and walks with and without self-loops in one encoding: that every
backend and the residues follow the definition is tested where backends are.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sekgnn.encoding import WalkEncoding, encode, encode_exact, encode_sampled
from sekgnn.encoding.encoder import BACKENDS, Backend
from sekgnn.encoding.substructure import make_encoding
from sekgnn.errors import ConfigError
from sekgnn.graphs import Graph, cycle_graph, path_graph, random_graph

PLAIN = WalkEncoding(num_shells=2, walk_length=3, scope=("graph", "internal"))
RICH = replace(PLAIN, self_loops=(True, False), first_step=0, shell_sizes=6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_shells": 0}, "num_shells must be at least 1 .*, got 0"),
        ({"num_shells": 2.0}, "num_shells must be an integer"),
        ({"num_shells": True}, "num_shells must be an integer"),
        ({"walk_length": -1}, "walk_length must be at least 1 .*, got -1"),
        ({"scope": "grph"}, "Did you mean 'graph'"),
        ({"scope": ()}, "scope must not be empty"),
        ({"scope": ("ego", "ego")}, "scope must not repeat"),
        ({"scope": "ego", "radius": 0}, "radius must be at least 1"),
        ({"radius": 2}, "radius has no meaning in scope"),
        ({"aggregate": "max"}, "aggregate must be one of"),
        ({"merge": "sum"}, "merge must be one of"),
        ({"aggregate": "moments", "merge": "mean"}, "mixes sums and squares"),
        ({"self_loops": 1}, "self_loops must be true or false"),
        ({"self_loops": (True, "no")}, "self_loops must be true, false or both"),
        ({"self_loops": (True, True)}, "self_loops must not repeat"),
        ({"self_loops": ()}, "self_loops must not be empty"),
        ({"first_step": 2}, "first_step must be .* at most 1, got 2"),
        ({"first_step": False}, "first_step must be an integer"),
        ({"shell_sizes": -1}, "shell_sizes must be at least 0"),
    ],
)
def test_bad_parameters_name_cause_and_cure(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        WalkEncoding(**parameters)


def test_shells_beyond_the_ego_net_are_left_out() -> None:
    encoding = WalkEncoding(num_shells=3, scope=("graph", "ego"), radius=(1, 5))
    assert [num_shells for _, _, num_shells in encoding.blocks] == [3, 1, 3]


def test_channel_names_say_scope_radius_kind_and_hop() -> None:
    encoding = WalkEncoding(num_shells=2, scope=("graph", "internal"), radius=2)
    assert encoding.channels == (
        "graph/return",
        "graph/to_shell/1",
        "graph/to_shell/2",
        "graph/across_diagonal/1",
        "graph/across_diagonal/2",
        "graph/across_off_diagonal/1",
        "graph/across_off_diagonal/2",
        "internal2/across_diagonal/1",
        "internal2/across_diagonal/2",
        "internal2/across_off_diagonal/1",
        "internal2/across_off_diagonal/2",
        "internal2/outward/1",
        "internal2/inward/1",
    )


def test_channel_names_tell_loops_and_distances() -> None:
    encoding = WalkEncoding(
        num_shells=1,
        walk_length=3,
        merge="parts",
        self_loops=(False, True),
        first_step=0,
        shell_sizes=6,
    )
    parts = ("graph/return", "graph/to_shell", "graph/across")
    assert encoding.channels == (
        *(f"no_loops/{part}" for part in parts),
        *(f"loops/{part}" for part in parts),
        "shell_sizes/1-4",
        "shell_sizes/5-6",
    )
    one = replace(encoding, self_loops=(True,), shell_sizes=0)
    assert one.channels == parts
    assert one.self_loops is True


def test_a_missing_field_of_an_older_file_means_its_default() -> None:
    older = {"encoding": "walks", "scope": ["graph"], "self_loops": True}
    assert make_encoding(older) == WalkEncoding()


def test_a_spec_can_be_copied_and_rebuilt() -> None:
    for encoding in (
        WalkEncoding(),
        WalkEncoding(scope="ego", radius=2),
        WalkEncoding(self_loops=(True, False), first_step=0, shell_sizes=3),
    ):
        assert replace(encoding) == encoding
        assert make_encoding(encoding.to_dict()) == encoding
        assert hash(make_encoding(encoding.to_dict())) == hash(encoding)


def test_numpy_numbers_become_plain_ones() -> None:
    encoding = WalkEncoding(num_shells=np.int64(2), scope="ego", radius=(np.int32(1),))  # type: ignore[arg-type]
    assert json.loads(json.dumps(encoding.to_dict())) == encoding.to_dict()


def test_a_path_by_hand() -> None:
    """0 - 1 - 2 - 3 from node 0: one node at each distance."""
    encoding = replace(RICH, scope="graph", radius=None, shell_sizes=5)
    by_channel = dict(
        zip(encoding.channels, encode(path_graph(4), encoding)[0], strict=True)
    )
    for loops in ("loops", "no_loops"):
        assert by_channel[f"{loops}/graph/return"][0] == 1
        assert by_channel[f"{loops}/graph/across_diagonal/2"][0] == 1
        assert by_channel[f"{loops}/graph/to_shell/1"][0] == 0
    assert by_channel["no_loops/graph/to_shell/1"].tolist() == [0, 1, 0, 0.75]
    assert by_channel["loops/graph/to_shell/1"][:2] == pytest.approx([0, 0.5])
    assert by_channel["shell_sizes/1-4"].tolist() == [1, 1, 1, 0]
    assert by_channel["shell_sizes/5-5"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_walks_are_those_of_simpler_specs_to_the_bit(backend: Backend) -> None:
    g = random_graph(40, 0.15, np.random.default_rng(0))
    got = encode(g, RICH, backend=backend)
    exact = encode_exact(g, RICH)
    apart = [replace(PLAIN, self_loops=loops) for loops in (True, False)]
    end = 2 * PLAIN.num_channels
    for values, plain in (
        (got, [encode(g, encoding, backend=backend) for encoding in apart]),
        (exact, [encode_exact(g, encoding) for encoding in apart]),
    ):
        np.testing.assert_array_equal(
            values[:, :end, 1:], np.concatenate(plain, axis=1)
        )
    np.testing.assert_array_equal(got[:, end:], exact[:, end:, :, 0])


def test_estimates_have_exact_sizes_and_no_error_there() -> None:
    g = path_graph(5).disjoint_union(cycle_graph(6))
    encoding = replace(
        RICH, scope="graph", radius=None, aggregate="mean", merge="parts"
    )
    walks = replace(encoding, first_step=1, shell_sizes=0)
    sampled, exact = encode_sampled(g, encoding, num_walks=9), encode(g, encoding)
    without_error = sampled.standard_error == 0
    without_error[:, :-2, 1:] = False
    assert without_error[:, :, 0].all() and without_error[:, -2:].all()
    np.testing.assert_array_equal(sampled.values[without_error], exact[without_error])
    plain = [
        encode_sampled(g, replace(walks, self_loops=loops), num_walks=9)
        for loops in (True, False)
    ]
    for name in ("values", "standard_error"):
        both = np.concatenate([getattr(walk, name) for walk in plain], axis=1)
        np.testing.assert_array_equal(getattr(sampled, name)[:, :-2, 1:], both)


def test_corners() -> None:
    assert encode(path_graph(0), RICH).shape == (0, RICH.num_channels, 4)
    alone = encode(Graph.from_edge_index([[], []], 2), RICH)
    returns = [RICH.channels.index(f"{x}/graph/return") for x in ("loops", "no_loops")]
    assert alone[:, returns].tolist() == [[[1, 1, 1, 1], [1, 0, 0, 0]]] * 2
    assert not np.delete(alone, returns, axis=1).any()


def test_sizes_far_out_on_a_large_graph_need_no_pairs() -> None:
    """A matrix over all pairs of nodes would take 7 GB."""
    encoding = WalkEncoding(num_shells=1, walk_length=2, shell_sizes=101)
    sizes = encode(cycle_graph(30_000), encoding)[:, 4:]
    assert sizes.shape == (30_000, 51, 2)
    assert (sizes.reshape(30_000, -1)[:, :101] == 2).all()
    assert not sizes[:, -1, 1].any()
