"""A word on the command line is the graph it names, or an error that says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sekgnn.cli.wl_options import graph_argument
from sekgnn.errors import ConfigError, GraphInputError, MissingExtraError
from sekgnn.graphs import (
    GRAPH_NAMES,
    Graph,
    LabelledGraph,
    csl_graph,
    cycle_graph,
    labelled_from_smiles,
    molecules,
    named_graph,
    path_graph,
    rook_graph,
    to_graph6,
)

NAMES = ("path:5", "cycle:6", "complete:4", "rook:3:5", "shrikhande", "Petersen",
         "csl:41:3", "circulant:8:1:2")  # fmt: skip
NO_NUMBERS = ("²", "-1", "x", "٣", "")
MISSING = ("no.g6", "no.g6#1", "no/file", "no.parquet", "a.b/no.txt#0", "no#1/no.npz")
WRONG_TEXTS = ("graph6:", "graph6:!", "smiles:", "smiles:C1C")
WRONG_NUMBERS = ("rook", "rook:x", "rook:1:2:3", "csl:41", "path:-1")
PLAIN = (path_graph(4), rook_graph(3), csl_graph(11, 3))  # those of the fixture g6


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder of our own: any file there counts."""
    monkeypatch.chdir(tmp_path)


def test_every_family() -> None:
    assert {name.partition(":")[0].lower() for name in NAMES} == {*GRAPH_NAMES}
    for name in NAMES:
        assert graph_argument(name) == LabelledGraph(named_graph(name))


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("name", ["some.g6", "dir#1/some.g6", "so#2me.g6", "#.g6"])
def test_one_of_several_graphs(g6: Path, name: str, number: int) -> None:
    """The number stands behind the last #; others belong to the path."""
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(g6.read_bytes())
    expected = LabelledGraph(PLAIN[number])
    assert graph_argument(f"{name}#{number}") == expected
    assert graph_argument(f"{Path(name).resolve()}#{number}") == expected


@pytest.mark.parametrize("name", ["one.g6", "dir#1/one.g6", "one#0.g6"])
def test_the_only_graph_needs_no_number(name: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(f"{to_graph6(rook_graph(3))}\n")
    for text in (name, f"{name}#0"):
        assert graph_argument(text) == LabelledGraph(rook_graph(3))


def test_an_edge_list() -> None:
    """As everywhere, reverse edges are added only when asked for."""
    Path("square.edges").write_text("0 1\n1 2\n2 3\n3 0\n")
    with pytest.raises(GraphInputError, match="one direction only"):
        graph_argument("square.edges")
    for text in ("square.edges", "square.edges#0"):
        found = graph_argument(text, undirected="add")
        assert found == LabelledGraph(cycle_graph(4))
    with pytest.raises(ConfigError, match="undirected must be"):
        graph_argument("square.edges", undirected="ad")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("some.g6", GraphInputError, "3 graphs"),
        ("some.g6#3", GraphInputError, "some.g6#2; there is no #3"),
        ("some.g6#40", GraphInputError, "some.g6#2; there is no #40"),
        *((f"some.g6#{n}", GraphInputError, r"some\.g6#") for n in NO_NUMBERS),
        *((text, GraphInputError, "does not exist") for text in MISSING),
        *((text, GraphInputError, "(?i)graph6|smiles") for text in WRONG_TEXTS),
        *((text, ConfigError, "should have the form") for text in WRONG_NUMBERS),
    ],
)
def test_what_cannot_be_read(
    g6: Path, text: str, error: type[ValueError], words: str
) -> None:
    """A number out of range or none, a missing file; a prefix leaves no choice."""
    if text.startswith("smiles"):
        pytest.importorskip("rdkit")
    with pytest.raises(error, match=words) as caught:
        graph_argument(text)
    if text in MISSING:
        path = text.removesuffix("#1").removesuffix("#0")
        assert str(caught.value).startswith(f"{path} ")


@pytest.mark.parametrize("text", ["rok:4", "", "#2", "C#", "hello world"])
def test_an_unknown_name_lists_what_there_is(text: str) -> None:
    with pytest.raises(GraphInputError) as got:
        graph_argument(text)
    for word in (repr(text), *GRAPH_NAMES, "smiles:", "graph6:", ".g6#2"):
        assert word in str(got.value)


@pytest.mark.parametrize(
    "graph", [path_graph(0), path_graph(3), rook_graph(4), csl_graph(60, 7)]
)
def test_graph6(graph: Graph) -> None:
    """With or without its prefix, also longer than a file's name may be."""
    text = to_graph6(graph)
    assert graph_argument(f"graph6:{text}") == LabelledGraph(graph)
    assert graph_argument(f"GRAPH6:{text}") == LabelledGraph(graph)
    assert graph_argument(text) == LabelledGraph(graph)


def test_graph6_with_a_backslash_is_no_path() -> None:
    graph = graph_argument("graph6:C\\")
    assert (graph.num_nodes, graph.num_edges) == (4, 4)
    assert graph_argument("C\\") == graph


@pytest.mark.parametrize(
    "text", ["CCO", "C#N", "F/C=C/F", "F/C=C\\F", "C1CC#CC1", "[Na+].[Cl-]", "C"]
)
def test_smiles(text: str) -> None:
    """Characters of paths do no harm, and labels are kept unless not wanted."""
    pytest.importorskip("rdkit")
    expected = labelled_from_smiles(text)
    for written in (text, f"smiles:{text}", f"SMILES:{text}"):
        found = graph_argument(written)
        assert found == expected
        assert found.node_labels is not None and found.edge_labels is not None
        assert graph_argument(written, labels=False) == LabelledGraph(expected.graph)


def test_more_than_one_reading() -> None:
    pytest.importorskip("rdkit")
    with pytest.raises(GraphInputError, match="graph6:CC or smiles:CC"):
        graph_argument("CC")
    assert graph_argument("graph6:CC").num_nodes == 4
    assert graph_argument("smiles:CC").num_nodes == 2


def test_a_file_comes_before_other_readings(g6: Path) -> None:
    Path("rook:4#1").write_text("")
    Path("rook:4").mkdir()
    with pytest.raises(GraphInputError, match="rook:4"):  # an empty folder
        graph_argument("rook:4")
    with pytest.raises(GraphInputError):
        graph_argument("rook:4#1")


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, extra: str | None) -> None:
        raise MissingExtraError("pip install 'sekgnn[mol]'")

    monkeypatch.setattr(molecules, "require", missing)
    with pytest.raises(MissingExtraError, match="sekgnn"):
        graph_argument("smiles:CCO")
    assert graph_argument("Bw").num_nodes == 3
    with pytest.raises(GraphInputError, match="cannot find a graph"):
        graph_argument("CCO")
