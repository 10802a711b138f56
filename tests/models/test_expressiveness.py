"""Random networks separate what their tests separate, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.nn.helpers import dress
from torch_geometric.data import Batch

from sekgnn import EncodingSpec
from sekgnn.graphs import Graph, from_graph6, rook_graph, shrikhande_graph
from sekgnn.models import GIN, PPGN, SEKGIN, SEKGNN, SEKPPGN, GraphModel, KHopGNN

GRAPH = EncodingSpec(num_hops=4, walk_length=16, aggregate="moments")
INSIDE = EncodingSpec(
    num_hops=2, walk_length=8, scope="internal", radius=(1, 2), aggregate="moments"
)
WIDTH: dict[str, Any] = {"hidden_channels": 16, "num_layers": 3}
COPIES = 4


def outputs(model: GraphModel, spec: Any, graphs: list[Graph]) -> torch.Tensor:
    data = [dress(g, 4, spec=spec) for g in graphs]
    with torch.no_grad():
        out: torch.Tensor = model.double().eval()(Batch.from_data_list(data))
    return out / out.abs().max()


def separates(model: GraphModel, spec: Any, a: Graph, b: Graph) -> bool:
    """Return whether the outputs differ by far more than by relabelling a graph.

    A relabelled copy itself must never be told from its graph, to 1e-9 of the output.
    """
    copies = [shuffled(g, seed) for g in (a, b) for seed in range(COPIES)]
    out = outputs(model, spec, [a, b, *copies])
    of_a, of_b = out[2 : 2 + COPIES], out[2 + COPIES :]
    noise = torch.cat([of_a - out[0], of_b - out[1]]).abs().max()
    assert noise < 1e-9
    return bool((out[0] - out[1]).abs().max() > 1e3 * (noise + 1e-16))


def shuffled(graph: Graph, seed: int) -> Graph:
    return graph.relabel(np.random.default_rng(seed).permutation(graph.num_nodes))


def sek(spec: EncodingSpec, kind: Any = SEKGNN) -> GraphModel:
    model: GraphModel = kind(0, 8, spec, num_hops=4, **WIDTH)
    return model


@pytest.mark.parametrize("seed", range(3))
def test_rook_and_shrikhande(seed: int) -> None:
    """Only the inside of ego-nets tells them apart; 2-FWL and K hops do not."""
    torch.manual_seed(seed)
    rook, shrikhande = rook_graph(4), shrikhande_graph()
    for kind in (SEKGNN, SEKGIN, SEKPPGN):
        assert separates(sek(INSIDE, kind), INSIDE, rook, shrikhande)
        assert not separates(sek(GRAPH, kind), GRAPH, rook, shrikhande)
    blind = (
        KHopGNN(0, 8, num_hops=4, **WIDTH),
        KHopGNN(0, 8, num_hops=4, message="gin", **WIDTH),
        GIN(0, 8, **WIDTH),
        PPGN(0, 8, **WIDTH),
    )
    for model in blind:
        assert not separates(model, None, rook, shrikhande)


@pytest.fixture(scope="module")
def brec(data_root: Path) -> list[tuple[Graph, Graph]]:
    """Return the 400 pairs of BREC."""
    pairs = []
    for line in (data_root / "brec" / "brec.g6.txt").read_text().splitlines():
        _, _, a, b = line.split("\t")
        pairs.append((from_graph6(a), from_graph6(b)))
    return pairs


BASIC, SIMPLE = range(0, 60, 6), range(60, 110, 6)
STRONG, EXTENSION = range(110, 160, 12), range(160, 260, 12)


@pytest.mark.dataset
@pytest.mark.parametrize("index", [*BASIC, *SIMPLE, *EXTENSION])
def test_graph_scope_and_ppgn_separate_what_their_tests_do(
    brec: list[tuple[Graph, Graph]], index: int
) -> None:
    """SEK 1-WL (graph) and 2-FWL separate all basic, simple and extension pairs."""
    torch.manual_seed(index)
    a, b = brec[index]
    assert separates(sek(GRAPH), GRAPH, a, b)
    assert separates(PPGN(0, 8, **WIDTH), None, a, b)


@pytest.mark.dataset
@pytest.mark.parametrize("index", STRONG)
def test_strongly_regular_pairs_need_the_inside(
    brec: list[tuple[Graph, Graph]], index: int
) -> None:
    torch.manual_seed(index)
    a, b = brec[index]
    assert separates(sek(INSIDE), INSIDE, a, b)
    assert not separates(sek(GRAPH), GRAPH, a, b)
    assert not separates(PPGN(0, 8, **WIDTH), None, a, b)
    assert not separates(KHopGNN(0, 8, num_hops=4, **WIDTH), None, a, b)


@pytest.mark.dataset
@pytest.mark.parametrize("index", [*BASIC, *SIMPLE, *EXTENSION])
def test_k_hop_networks_separate_what_k_hop_1_wl_does(
    brec: list[tuple[Graph, Graph]], index: int
) -> None:
    """Against the refinement itself, written out here."""
    torch.manual_seed(index)
    a, b = brec[index]
    model = KHopGNN(
        0, 8, num_hops=4, message="gin", hidden_channels=32, num_layers=5, jump="concat"
    )
    differ = k_hop_refinement(a, 4) != k_hop_refinement(b, 4)
    assert separates(model, None, a, b) == differ


def k_hop_refinement(graph: Graph, num_hops: int) -> list[Any]:
    """Return the stable K-hop colours, as nested signatures turned to text."""
    import hashlib

    from sekgnn.hops import hop_pairs

    n = graph.num_nodes
    pairs = hop_pairs(graph, num_hops)
    near = [pairs.csr(k) for k in range(1, num_hops + 1)]
    colours = ["" for _ in range(n)]
    for _ in range(n):
        signatures = [
            repr(
                [colours[v]]
                + [sorted(colours[u] for u in i[p[v] : p[v + 1]]) for p, i in near]
            )
            for v in range(n)
        ]
        colours = [hashlib.sha256(s.encode()).hexdigest() for s in signatures]
    return sorted(colours)
