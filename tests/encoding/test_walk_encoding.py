"""What can be asked for, and what the answer's channels are called."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sekgnn.encoding.substructure import make_encoding
from sekgnn.encoding.walk_encoding import WalkEncoding
from sekgnn.errors import ConfigError


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_shells": 0}, "num_shells must be at least 1, got 0"),
        ({"num_shells": 2.0}, "num_shells must be an integer"),
        ({"num_shells": True}, "num_shells must be an integer"),
        ({"walk_length": -1}, "walk_length must be at least 1, got -1"),
        ({"scope": "grph"}, "Did you mean 'graph'"),
        ({"scope": ()}, "scope must not be empty"),
        ({"scope": ("ego", "ego")}, "scope must not repeat"),
        ({"scope": "ego", "radius": 0}, "radius must be at least 1"),
        ({"radius": 2}, "radius has no meaning in scope"),
        ({"aggregate": "max"}, "aggregate must be one of"),
        ({"merge": "sum"}, "merge must be one of"),
        ({"aggregate": "moments", "merge": "mean"}, "mixes sums and squares"),
        ({"self_loops": 1}, "self_loops must be a bool"),
        ({"self_loops": (True, "no")}, "self_loops must be a bool or a tuple of both"),
        ({"self_loops": (True, True)}, "self_loops must not repeat"),
        ({"self_loops": ()}, "self_loops must not be empty"),
        ({"first_step": 2}, "first_step must be 0 or 1, got 2"),
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
    assert [block.num_shells for block in encoding.blocks] == [3, 1, 3]


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
