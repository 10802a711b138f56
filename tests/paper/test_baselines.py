"""The systems of the paper's tables, written the slow and obvious way."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.models.helpers import make, named, suited
from tests.nn.helpers import dressed, hops_of
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import RootedEgoNets

from sekgnn.encoding import PeripheralEdges, encode
from sekgnn.errors import GraphInputError
from sekgnn.graphs import Graph
from sekgnn.nn import membership
from sekgnn.paper.capsules import squash
from sekgnn.paper.ego_nets import ego_nets
from sekgnn.paper.node_sets import pairs_of, triples_of
from sekgnn.paper.orderings import bfs_orderings
from sekgnn.paper.overlaps import overlap_weights
from sekgnn.paper.peripheral_conv import path_counts
from sekgnn.training.objective import Objective

KARATE = nx.karate_club_graph()
SMALL = nx.gnp_random_graph(9, 0.4, seed=2)


def to_graph(graph: nx.Graph) -> Graph:
    edges = np.array(graph.edges()).T.reshape(2, -1)
    return Graph.from_edge_index(edges, graph.number_of_nodes(), undirected="add")


def inputs(name: str, graph: Graph, **options: Any) -> Any:
    """Return a model, its branch, a graph, and what the model computes with."""
    model = make(name, **options)
    (data,) = suited(model, dressed([graph]))
    return model, model.branches[0], data, model.prepare(data)


def dense(data: Any) -> Tensor:
    out = torch.zeros(data.num_nodes, data.num_nodes, dtype=torch.float64)
    out[data.edge_index[1], data.edge_index[0]] = 1
    return out


def linear(layer: Any, x: Tensor) -> Tensor:
    out: Tensor = x @ layer.weight.t()
    return out if layer.bias is None else out + layer.bias


def test_graphsage_takes_means() -> None:
    _, branch, data, prepared = inputs("graphsage", to_graph(SMALL), num_layers=1)
    conv = branch.layers[0].conv
    mean = dense(data) @ data.x / dense(data).sum(1, keepdim=True).clamp(min=1)
    expected = linear(conv.lin_l, mean) + linear(conv.lin_r, data.x)
    torch.testing.assert_close(branch(prepared), expected)


def test_pna_is_fitted_to_training_degrees() -> None:
    """δ is the mean of log(d + 1) over all nodes; 12 aggregates of every node."""
    options = {"num_layers": 1, "jump": "last", "edge_channels": 0, "towers": 1}
    model, branch, data, prepared = inputs("pna", to_graph(SMALL), **options)
    model.fit_inputs(lambda: iter([data]))
    degrees = dense(data).sum(1)
    delta = degrees.log1p().mean()
    scaler = branch.layers[0].conv.aggr_module
    torch.testing.assert_close(scaler.avg_deg_log, delta.view(1))
    model.reset_parameters()
    torch.testing.assert_close(scaler.avg_deg_log, delta.view(1))
    conv, out = branch.layers[0].conv, []
    for v in range(data.num_nodes):
        near = dense(data)[v].nonzero()[:, 0]
        pairs = torch.cat([data.x[v].expand(len(near), -1), data.x[near]], dim=1)
        m = conv.pre_nns[0](pairs)
        std = (m.square().mean(0) - m.mean(0).square()).clamp(min=1e-5).sqrt()
        std = torch.where(std <= math.sqrt(1e-5), 0.0, std)
        aggregates = torch.cat([m.mean(0), m.min(0).values, m.max(0).values, std])
        log = math.log(len(near) + 1)
        scaled = [aggregates, aggregates * log / delta, aggregates * delta / log]
        out.append(conv.lin(conv.post_nns[0](torch.cat([data.x[v], *scaled]))))
    torch.testing.assert_close(branch(prepared), torch.stack(out))


def test_dgcnn_sorts_what_a_random_walk_averages() -> None:
    model, branch, data, prepared = inputs("dgcnn", to_graph(SMALL))
    walk = dense(data) + torch.eye(data.num_nodes, dtype=torch.float64)
    walk = walk / walk.sum(1, keepdim=True)
    h, layers = data.x, []
    for lift in branch.lifts:
        h = (walk @ linear(lift, h)).tanh()
        layers.append(h)
    rows = torch.cat(layers, dim=1)
    assert rows.shape == (9, 7)
    torch.testing.assert_close(branch(prepared), rows)
    first = rows[rows[:, -1].argsort(descending=True)][:6]
    readout = model.readouts[0]
    z = readout.pool(readout.first(first.reshape(1, 1, -1)).relu())
    expected = readout.second(z).relu().flatten(start_dim=1)
    torch.testing.assert_close(model.pool(prepared), expected)


@pytest.mark.parametrize("graph", [KARATE, nx.complete_graph(5), nx.star_graph(3)])
def test_overlaps_are_those_of_closed_neighbourhoods(graph: nx.Graph) -> None:
    data = dressed([to_graph(graph)])[0]
    hops = hops_of(data, 1)
    overlaps = overlap_weights(hops)
    omega: dict[Any, float] = {}
    for v, u in itertools.chain(graph.edges(), ((u, v) for v, u in graph.edges())):
        common = ({v} | set(graph[v])) & ({u} | set(graph[u]))
        induced = graph.subgraph(common)
        size = len(common)
        omega[v, u] = induced.number_of_edges() / (size * (size - 1)) * size**2
    receiver, sender = (side.tolist() for side in hops.pairs(1))
    totals = {v: sum(omega[v, u] for u in graph[v]) for v in graph}
    expected = [1 + omega[v, u] / totals[v] for v, u in zip(receiver, sender)]  # noqa: B905
    torch.testing.assert_close(
        overlaps.weights[:, 0], torch.tensor(expected, dtype=torch.float64)
    )
    assert (overlaps.self_weights == 2).all()


def test_graphsnn_weighs_neighbours() -> None:
    _, branch, data, prepared = inputs(
        "graphsnn", to_graph(SMALL), num_layers=1, jump="last"
    )
    layer, weights = branch.layers[0], dense(data)
    weights[prepared.hops.pairs(1)] = prepared.extra.weights[:, 0]
    total = layer.gamma * prepared.extra.self_weights * data.x + weights @ data.x
    torch.testing.assert_close(branch(prepared), layer.mlp(total))


@pytest.mark.parametrize("graph", [KARATE, SMALL, nx.path_graph(4), nx.empty_graph(3)])
def test_peripheral_edges_are_counted_inside_shells(graph: nx.Graph) -> None:
    counts = encode(to_graph(graph), PeripheralEdges(num_shells=3, max_distance=2))
    expected = np.zeros((len(graph), 3, 2))
    for v in graph:
        far = nx.single_source_shortest_path_length(graph, v)
        for k in (1, 2, 3):
            shell = graph.subgraph([u for u in far if far[u] == k])
            for u, w in itertools.combinations(shell, 2):
                if nx.has_path(shell, u, w):
                    d = nx.shortest_path_length(shell, u, w)
                    if d <= 2:
                        expected[v, k - 1, d - 1] += 1
    np.testing.assert_array_equal(counts, expected)


def test_shortest_paths_are_counted() -> None:
    data = dressed([to_graph(KARATE)], 4)[0]
    counts = torch.cat(path_counts(hops_of(data, 4)), dim=1)
    expected = torch.zeros(len(KARATE), 4, dtype=torch.float64)
    for v in KARATE:
        for u in KARATE:
            k = nx.shortest_path_length(KARATE, v, u)
            if 1 <= k <= 4:
                ways = len(list(nx.all_shortest_paths(KARATE, v, u)))
                expected[v, k - 1] += math.log(ways)
    torch.testing.assert_close(counts, expected)


@pytest.mark.parametrize("name", ["kp-gin", "kp-gin+"])
def test_kp_gin_adds_up_hops_paths_and_peripheral_edges(name: str) -> None:
    """Two layers by matrices: the second of KP-GIN+ reads its second hop at layer 0."""
    options: dict[str, Any] = {"num_hops": 2, "shortest_paths": True, "jump": "last"}
    more = {"combine": "sum", "norm": "none", "activation": "relu"}
    model = named(name, hidden_channels=4, num_layers=2, **options, **more)().double()
    (data,) = suited(model, dressed([to_graph(SMALL)]))
    prepared, branch = model.prepare(data), model.branches[0]
    near = dense(data)
    walks = near @ near
    second = ((walks > 0) & (near == 0)).double().fill_diagonal_(0)
    hops, logs = [near, second], [near * 0, second * walks.clamp(min=1).log()]
    layers = [branch.embedding(data.x, 9)]
    for layer in branch.layers:
        conv, messages = layer.conv, []
        for k in range(2):
            read = layers[max(len(layers) - 1 - k, 0)] if conv.plus else layers[-1]
            total = hops[k] @ read + conv.lifts[k](data.sub_enc[:, k].log1p())
            if k:
                total = total + logs[k].sum(1, keepdim=True) * conv.paths[0]
            messages.append(total)
        previous = layers[-1]
        if conv.plus:
            h = conv.mlps[0]((1 + conv.eps) * previous + sum(messages))
        else:
            h = sum(
                conv.mlps[k]((1 + conv.eps[k]) * previous + messages[k])
                for k in range(2)
            )
        layers.append(h if layer is branch.layers[-1] else h.relu())
    torch.testing.assert_close(branch(prepared), layers[-1])


def test_set2set_pools_by_three_steps_of_attention() -> None:
    model, branch, _, prepared = inputs("GIN set2set", to_graph(SMALL))
    h, steps = branch(prepared), model.readouts[0].steps
    query, state = torch.zeros(1, 1, 12, dtype=torch.float64), None
    for _ in range(3):
        q, state = steps.lstm(query, state)
        share = (h @ q[0, 0]).softmax(0)
        query = torch.cat([q, (share @ h).view(1, 1, -1)], dim=2)
    expected = torch.cat([query[0], h.max(0).values.view(1, -1)], dim=1)
    torch.testing.assert_close(model.pool(prepared), expected)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # PyG's matrices
@pytest.mark.parametrize("radius", [1, 2])
def test_ego_nets_are_those_of_pyg(radius: int) -> None:
    """PyG's RootedEgoNets, copy by copy and edge by edge; nearer nodes come first."""
    (data,) = dressed([to_graph(SMALL)])
    egos = ego_nets(hops_of(data, radius), radius)
    theirs = RootedEgoNets(radius)(Data(edge_index=data.edge_index, num_nodes=9))
    copies = [*zip(theirs.n_sub_batch.tolist(), theirs.n_id.tolist(), strict=True)]
    mine = [*zip(egos.centre.tolist(), egos.node.tolist(), strict=True)]
    assert sorted(mine) == sorted(copies)
    assert all(mine[at] == (v, v) for v, at in enumerate(egos.centres.tolist()))
    far = dict(nx.all_pairs_shortest_path_length(SMALL))
    assert egos.distance.tolist() == [far[v][u] for v, u in mine]

    def named_edges(edges: Tensor, names: list[Any]) -> list[Any]:
        return sorted((names[a], names[b]) for a, b in edges.t().tolist())

    row, col = egos.hops.pairs(1)
    assert named_edges(torch.stack([col, row]), mine) == named_edges(
        theirs.sub_edge_index, copies
    )
    receiver, sender = hops_of(data, 1).pairs(1)
    assert torch.equal(receiver[egos.edge], egos.node[row])
    assert torch.equal(sender[egos.edge], egos.node[col])


def test_gin_ak_reads_centroid_subgraph_and_context() -> None:
    """One layer, ego-net by ego-net."""
    options = {"num_layers": 1, "jump": "sum", "norm": "none", "edge_channels": 0}
    _, branch, data, prepared = inputs("gin-ak+", to_graph(SMALL), **options)
    layer, far = branch.layers[0], dict(nx.all_pairs_shortest_path_length(SMALL))
    h = branch.embedding(data.x, 9)
    z: dict[tuple[int, int], Tensor] = {}
    for v in SMALL:
        ball = [u for u in far[v] if far[v][u] <= 2]
        near = dense(data)[ball][:, ball]
        rows = h[ball] + layer.distance.weight[[far[v][u] for u in ball]]
        for conv in layer.convs:
            eps = conv.message.eps.flatten()[0]
            rows = conv.updates[0]((1 + eps) * rows + near @ rows).relu()
        z |= {(v, u): row for u, row in zip(ball, rows, strict=True)}
    out = []
    for v in SMALL:
        readouts = [z[v, v]]
        for gate, turn in ((layer.subgraph_gate, False), (layer.context_gate, True)):
            pairs = [(u, v) if turn else (v, u) for u in far[v] if far[v][u] <= 2]
            gates = [gate.weight[far[a][b]].sigmoid() for a, b in pairs]
            readouts.append(sum(g * z[p] for g, p in zip(gates, pairs, strict=True)))
        out.append(h[v] + layer.fuse(torch.cat(readouts)))
    torch.testing.assert_close(branch(prepared), torch.stack(out).relu())


@pytest.mark.parametrize(("radius", "size"), [(1, 3), (2, 3), (2, 4)])
def test_orderings_are_all_that_breadth_first_search_can_take(
    radius: int, size: int
) -> None:
    (data,) = dressed([to_graph(nx.lollipop_graph(4, 3))])
    graph = nx.lollipop_graph(4, 3)
    expected = set()
    for v in graph:
        for seed in range(400):  # neighbours in any order, and a queue
            rng = random.Random(seed)
            met, depth, queue = [v], {v: 0}, [v]
            while queue:
                a = queue.pop(0)
                near = list(graph[a]) if depth[a] < radius else []
                for b in rng.sample(near, len(near)):
                    if b not in depth:
                        depth[b] = depth[a] + 1
                        met.append(b)
                        queue.append(b)
            expected.add((*met, *[-1] * size)[:size])
    orderings = bfs_orderings(hops_of(data, 1), radius, size)
    rows = [tuple(row) for row in orderings.nodes.tolist()]
    assert len(rows) == len(set(rows)) and set(rows) == expected
    positions = itertools.combinations(range(size), 2)
    for c, (a, b) in enumerate(positions):
        flags = [graph.has_edge(row[a], row[b]) for row in rows]
        assert orderings.relations[:, c].tolist() == flags


def test_pairs_and_triples_are_those_of_k_gnns() -> None:
    graph = nx.lollipop_graph(4, 2)
    (data,) = dressed([to_graph(graph)])
    hops = hops_of(data, 1)
    pairs = pairs_of(hops, membership(torch.tensor([0, 6])))
    triples = triples_of(hops, pairs)
    assert pairs.nodes.tolist() == [list(p) for p in itertools.combinations(graph, 2)]
    connected = [
        list(t)
        for t in itertools.combinations(graph, 3)
        if nx.is_connected(graph.subgraph(t))
    ]
    assert triples.nodes.tolist() == connected
    for sets in (pairs, triples):
        rows = [frozenset(row) for row in sets.nodes.tolist()]
        sizes = [graph.subgraph(row).number_of_edges() for row in rows]
        assert sets.num_edges.tolist() == sizes
        expected = {
            (a, b)
            for a, row in enumerate(rows)
            for b, other in enumerate(rows)
            if len(row ^ other) == 2 and graph.has_edge(*(row ^ other))
        }
        edges = [tuple(edge) for edge in sets.edge_index.t().tolist()]
        assert len(edges) == len(expected) and set(edges) == expected
    nodes = pairs.nodes[triples.components].flatten(1).tolist()
    assert [sorted(set(row)) for row in nodes] == connected


@pytest.mark.parametrize("kinds", [1, 3, 99])
def test_mpnn_sends_matrices_of_edges(kinds: int) -> None:
    """Edges of equal features share a matrix: all, some, or none of them."""
    _, branch, data, prepared = inputs("mpnn", to_graph(SMALL), num_layers=1)
    attr = torch.rand(kinds, 2).double().repeat(99, 1)[: len(prepared.edges.attr)]
    h = branch.embedding(data.x, 9).relu()
    edges = zip(prepared.edge_index().t().tolist(), attr, strict=True)
    m = branch.bias.expand(9, 6).clone()
    for (u, v), features in edges:
        m[v] = m[v] + h[u] @ branch.matrices(features).view(6, 6)
    out = branch(prepared._replace(edges=prepared.edges._replace(attr=attr)))
    torch.testing.assert_close(out, branch.gate(m.relu(), h))


def test_dtnn_reads_distances_alone() -> None:
    """By its equation; and turned or moved in space, a molecule is the same."""
    model, branch, data, prepared = inputs("dtnn", to_graph(SMALL), num_layers=1)
    c = branch.embedding(data.x, 9)
    centres = torch.linspace(-1, 18, 100, dtype=torch.float64)
    out = []
    for i in range(9):
        total = c[i]
        for j in range(9):
            if i != j:
                d = (data.pos[i] - data.pos[j]).norm()
                gauss = (-((d - centres) / (19 / 99)).square() / 2).exp()
                product = branch.from_atom(c[j]) * branch.from_distance(gauss)
                total = total + branch.to_atom(product).tanh()
        out.append(branch.out(total).tanh())
    torch.testing.assert_close(branch(prepared), torch.stack(out))
    turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64)).Q
    moved = data.clone()
    moved.pos = data.pos @ turn + 1
    torch.testing.assert_close(model(moved), model(data))
    del moved.pos
    with pytest.raises(GraphInputError, match="'pos'"):
        model(moved)


@pytest.mark.parametrize("kind", ["binary", "multilabel", "regression"])
def test_capsgnn_learns_by_margins_and_rebuilds_features(kind: Any) -> None:
    model, _, _, prepared = inputs("capsgnn", to_graph(SMALL))
    (data,) = dressed([to_graph(SMALL)])
    task = Objective(kind, "mse", (0.0, 0.0), (1.0, 1.0))
    y = torch.tensor([1]) if kind == "binary" else torch.tensor([[0.0, 1.0]])
    mask = torch.ones(1, 1 if kind == "binary" else 2, dtype=torch.bool)
    total, count = model.loss_sum(data, y, mask, task)
    capsules = model.head.route(model.represent(prepared))[0]  # [2, d]
    square = capsules.square().sum(1)
    torch.testing.assert_close(model(data)[0], square.log())
    length = square / (1 + square)
    torch.testing.assert_close(squash(capsules).norm(dim=1), length)
    squashed = squash(capsules)
    if kind == "regression":
        expected = (square.log() - y[0]).square().sum()
    else:
        squashed = squashed * torch.tensor([[0.0], [1.0]])
        expected = (0.9 - length[1]).clamp(min=0) ** 2
        expected = expected + 0.5 * (length[0] - 0.1).clamp(min=0) ** 2
    error = (model.decoder(squashed.flatten()) - data.x.mean(0)).square().mean()
    torch.testing.assert_close(total, expected + 0.1 * error)
    assert int(count) == mask.numel()


def test_too_many_orderings_are_refused_before_anything_is_computed() -> None:
    edges = torch.stack([torch.zeros(2_000).long(), torch.arange(1, 2_001)])
    data = Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=2_001)
    make("deep-lrp", order_size=3).check_graph(dressed([to_graph(KARATE)])[0], "here")
    with pytest.raises(GraphInputError, match=r"here: 2001 nodes .* order_size"):
        make("deep-lrp", order_size=3).check_graph(data, "here")
