"""Names give the graph they say, or an error that shows the right form."""

from __future__ import annotations

import pytest

from sekgnn.errors import ConfigError
from sekgnn.graphs import (
    GRAPH_NAMES,
    Graph,
    circulant_graph,
    complete_graph,
    csl_graph,
    cycle_graph,
    named_graph,
    path_graph,
    petersen_graph,
    rook_graph,
    shrikhande_graph,
)


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("path:5", path_graph(5)),
        ("path:0", path_graph(0)),
        ("cycle:6", cycle_graph(6)),
        ("complete:4", complete_graph(4)),
        ("rook:4", rook_graph(4)),
        ("rook:3:5", rook_graph(3, 5)),
        ("shrikhande", shrikhande_graph()),
        (" Petersen ", petersen_graph()),
        ("csl:41:3", csl_graph(41, 3)),
        ("circulant:8:1:2", circulant_graph(8, [1, 2])),
    ],
)
def test_names(name: str, graph: Graph) -> None:
    assert named_graph(name) == graph


def test_unknown_names_list_the_known() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'shrikhande'") as caught:
        named_graph("shrikande")
    assert all(name in str(caught.value) for name in GRAPH_NAMES)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("rook", "rook:N or rook:N:M"),
        ("rook:1:2:3", "rook:N"),
        ("rook:x", "rook:N"),
        ("rook:-4", "rook:N"),
        ("rook:", "rook:N"),
        ("csl:41", "csl:N:SKIP"),
        ("petersen:3", "form petersen"),
        ("circulant:8", "circulant:N:JUMP"),
    ],
)
def test_wrong_numbers(name: str, form: str) -> None:
    with pytest.raises(ConfigError, match=form):
        named_graph(name)


def test_the_family_checks_its_numbers() -> None:
    with pytest.raises(ConfigError, match="at least 3"):
        named_graph("cycle:2")
