"""Thousands of changed and forged certificates: no wrong one is taken by the checker.

What is taken must be what the library itself says of the graphs, the test and the
parameters in the changed certificate, and be written in its types. ``SEKGNN_FUZZ=5000
pytest tests/fuzz`` tries that many of every kind.
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from tests.fuzz.test_hostile_input import COUNT, mutated
from tests.small_graphs import TRIANGLES
from tests.wl.test_certificate import checker

from sekgnn.graphs import (
    Graph,
    LabelledGraph,
    cycle_graph,
    rook_graph,
    shrikhande_graph,
)
from sekgnn.wl import Verdict, WLTest, compare, make_test
from sekgnn.wl.certificate import _facts, _seen

Claim = dict[str, Any]
TRIED = max(COUNT, 200)  # of every test and kind of change
NAMES = ("1wl", "khop", "subgraph", "sek", "2fwl", "sek2fwl")
WORDS = (
    *NAMES, "3fwl", "shortest_path", "diffusion", "Diffusion", "graph", "ego",
    "internal", "f1", "f2", "f3", "same", "all", "walks", "inner_wl", "0", "1/2", "",
)  # fmt: skip


def some_test(name: str, rng: random.Random) -> Claim:
    """Return a test with parameters, as certificates hold it."""
    parameters: Claim = {}
    hops = {
        "num_hops": rng.randint(1, 3),
        "kernel": rng.choice(["shortest_path", "diffusion"]),
    }
    if name == "subgraph":
        parameters = {"radius": rng.randint(1, 2), "marked": rng.random() < 0.5}
    elif name == "khop":
        parameters = hops
    elif "sek" in name:
        scope = rng.choice(["graph", "ego", "internal"])
        walks: Claim = {
            "encoding": "walks",
            "scope": scope,
            "radius": None if scope == "graph" else rng.randint(1, 2),
            "num_shells": rng.randint(1, 3),
            "walk_length": rng.randint(1, 4),
            "self_loops": rng.random() < 0.5,
        }
        if rng.random() < 0.3:
            walks["multisets"] = False
        else:
            walks["pairs"] = rng.choice(["same", "all"])
            walks["parts"] = rng.choice([["f3"], ["f1", "f3"], ["f1", "f2", "f3"]])
        parameters = {**hops, "encodings": [walks], "context": rng.random() < 0.5}
    return made({"test": name, **parameters}).to_dict()


def made(test: Claim) -> WLTest:
    """Return the test that a certificate names."""
    parameters = dict(test)
    return make_test(parameters.pop("test"), **parameters)


def some_graph(rng: random.Random, labels: tuple[bool, bool]) -> Graph:
    """Return a small graph, regular or random, with labels of nodes and edges."""
    n = rng.randint(0, 6)
    pairs = [(u, v) for u in range(n) for v in range(u)]
    edges = rng.sample(pairs, rng.randint(0, len(pairs)))
    if rng.random() < 0.6:
        ring = cycle_graph(n := rng.choice([3, 4, 6]))
        if n == 6 and rng.random() < 0.5:
            ring = TRIANGLES
        edges = [(u, v) for u, v in ring.edge_index().T.tolist() if u < v]
    nodes, kinds = ([rng.randrange(2) for _ in part] for part in (range(n), edges))
    graph = Graph.from_edge_index(
        np.array(edges, dtype=np.int64).reshape(-1, 2).T, n, undirected="add"
    )
    return LabelledGraph(
        graph,
        nodes if labels[0] else None,
        dict(zip(edges, kinds, strict=True)) if labels[1] else None,
    )


def honest(name: str, rng: random.Random) -> Verdict:
    """Return a verdict on two small graphs, or on two famous ones."""
    if name in ("subgraph", "2fwl", "khop") and rng.random() < 0.1:
        pair = rook_graph(4), shrikhande_graph()
        return compare(*pair, made(some_test(name, rng)))
    labels = rng.random() < 0.3, rng.random() < 0.3
    first, second = some_graph(rng, labels), some_graph(rng, labels)
    if rng.random() < 0.4:
        second = first.relabel(rng.sample(range(first.num_nodes), first.num_nodes))
    return compare(first, second, made(some_test(name, rng)))


def forged(verdict: Verdict, rng: random.Random) -> Claim:
    """Return a certificate of the opposite, as near to a proof as it gets."""
    true, ptr = verdict.certificate(), verdict.run.colouring.ptr.tolist()
    claim = {key: true[key] for key in ("format", "test", "graphs")}
    rounds = [np.array(classes) for classes in verdict.words.classes]
    parts = [[now[a:b].tolist() for a, b in ((0, ptr[1]), ptr[1:])] for now in rounds]
    if verdict.separated:  # classes of each graph by themselves, paired by their sizes
        claim |= {"separated": False, "partition": parts[-1]}
        if rng.random() < 0.5:
            claim["partition"] = [[0 for _ in part] for part in parts[-1]]
        sizes = [Counter(part).most_common() for part in claim["partition"]]
        pairs = zip(*([a for a, _ in part] for part in sizes), strict=False)
        return claim | {"bijection": [list(pair) for pair in pairs]}
    if not ptr[1]:
        return claim | {"separated": True, "rounds": parts, "colour": {}}
    stable, most = rounds[-1], int(rounds[-1].max()) + 1
    split = [parts[-1][0], [c + most for c in parts[-1][1]]]
    item = rng.randrange(ptr[1])
    _, nodes = verdict.run.colouring.locate(item)
    graph = verdict.run.batch.graphs[0]
    colour = {
        "class": int(stable[item]),
        "counts": [split[0].count(int(stable[item])), 0],
        "graph": 0,
        "nodes": nodes,
        "facts": [_facts(verdict, graph, node) for node in nodes],
        "unfolding": [
            {"was": int(now[item]), "sees": _seen(verdict, item, now)} for now in rounds
        ],
    }
    return claim | {"separated": True, "rounds": [*parts, split], "colour": colour}


def sealed(claim: Any) -> Claim:
    """Return it as it comes out of a file."""
    out: Claim = json.loads(json.dumps(claim, default=str))
    return out


def place(claim: Claim, rng: random.Random) -> tuple[Any, Any]:
    """Return something in a certificate: what holds it, and where it stands there."""
    inside: Any = claim
    while True:
        keys = [*inside] if isinstance(inside, dict) else [*range(len(inside))]
        key = rng.choice(keys)
        child = inside[key]
        if not isinstance(child, dict | list) or not child or rng.random() < 0.2:
            return inside, key
        inside = child


def deep(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return it with every integer changed."""
    if isinstance(value, list):
        return [deep(item, change) for item in value]
    if isinstance(value, dict):
        return {key: deep(item, change) for key, item in value.items()}
    return change(value) if type(value) is int else value


def retype(claim: Claim, rng: random.Random) -> None:
    """Give something another type, or every integer in it."""
    if rng.random() < 0.05:  # the one change of type that is allowed
        for graph in claim["graphs"]:
            graph["node_labels"] = deep(graph["node_labels"], str)
        return
    inside, key = place(claim, rng)
    value = inside[key]
    others: list[Any] = [None, [value], {"0": value}, str(value), True, 0, 1.0, [], {}]
    if isinstance(value, dict):
        others += [[*value.values()], [[*pair] for pair in value.items()]]
    if isinstance(value, list):
        others += [{str(k): item for k, item in enumerate(value)}, len(value)]
    if isinstance(value, int):
        others += [float(value), bool(value), int(value), str(value).lower()]
    if isinstance(value, dict | list | int):
        changes: list[Callable[[Any], Any]] = [float, bool, str, lambda x: [x]]
        others += 3 * [deep(value, change) for change in changes]
    others += [0.0, False, "", float("nan"), float("-inf"), 1e300]
    inside[key] = rng.choice(others)


def rewrite(claim: Claim, rng: random.Random) -> None:
    """Change something and keep its type."""
    inside, key = place(claim, rng)
    value = inside[key]
    if isinstance(value, bool):
        inside[key] = not value
    elif isinstance(value, int):
        far = 2**31, 2**63 - 1, 2**63, -(2**64), 10**30
        inside[key] = rng.choice([value + 1, value - 1, 0, 1, 2, -1, rng.choice(far)])
    elif isinstance(value, str):
        inside[key] = rng.choice([*WORDS, value + " ", value.upper()])
    elif isinstance(value, list) and value:
        k = rng.randrange(len(value))
        inside[key] = rng.choice(
            [value[::-1], rng.sample(value, len(value)), value[:k] + value[k + 1 :],
             [*value, value[k]], [value[k], *value], value[k:] + value[:k]]
        )  # fmt: skip
    elif isinstance(value, dict) and value:
        one, other = rng.choice([*value]), rng.choice([*value])
        if rng.random() < 0.5:
            value[one], value[other] = value[other], value[one]
        else:
            value[rng.choice([one.upper(), "extra", other])] = value.pop(one)


def rethink(claim: Claim, rng: random.Random) -> None:
    """Change it as one who understands it would."""
    graph = rng.choice(claim["graphs"])
    edges, n = graph["edges"], min(max(graph["num_nodes"], 0), 300)
    tables = claim["rounds"] if "rounds" in claim else [claim["partition"]]
    kind = rng.randrange(12)
    if kind == 0:
        claim["test"] = some_test(rng.choice([*NAMES, claim["test"]["test"]]), rng)
    elif kind == 1:
        claim["graphs"] = [copy.deepcopy(graph), copy.deepcopy(graph)]
    elif kind == 2:
        claim["graphs"].reverse()
    elif kind == 3 and edges:
        edges.pop(rng.randrange(len(edges)))
        graph["edge_labels"] = graph["edge_labels"] and graph["edge_labels"][1:]
    elif kind == 4 and n:
        edges.append([rng.randrange(n), rng.randrange(n)])
        graph["edge_labels"] = graph["edge_labels"] and [*graph["edge_labels"], 1]
    elif kind == 5:
        perm = rng.sample(range(n), n)
        graph["edges"] = [[perm[v], perm[u]] for u, v in edges]
    elif kind == 6:  # other names of classes, everywhere
        used = sorted({c for table in tables for part in table for c in part})
        new = dict(zip(used, rng.sample(used, len(used)), strict=True))
        tables[:] = [[[new[c] for c in part] for part in table] for table in tables]
        if "bijection" in claim:
            claim["partition"] = tables[0]
            claim["bijection"] = [[new[c] for c in row] for row in claim["bijection"]]
    elif kind == 7:  # two classes become one, or an object a class of its own
        part = rng.choice(rng.choice(tables))
        if part:
            was, now = rng.choice(part), rng.choice([rng.choice(part), max(part) + 1])
            part[:] = [now if c == was and rng.random() < 0.7 else c for c in part]
    elif kind == 8 and "rounds" in claim:
        at = rng.randrange(len(tables))
        tables.insert(rng.randrange(len(tables) + 1), copy.deepcopy(tables[at]))
        if rng.random() < 0.5:
            del tables[at]
    elif kind == 9:
        shifted = (c + 1 for c in claim.get("colour", {}).get("nodes", []))
        if "colour" in claim:
            claim["colour"]["nodes"] = [*shifted]
        else:
            rng.shuffle(claim["bijection"])
    elif kind == 10:  # the same edges in another order, with other ends first
        graph["edges"] = [edge[::-1] for edge in edges]
    elif kind == 11:
        for each in claim["graphs"]:
            each["node_labels"] = [rng.randrange(2)] * min(each["num_nodes"], 300)


def changed(claim: Claim, kind: str, rng: random.Random) -> Claim:
    """Return a certificate with one to three changes of a kind."""
    if kind == "bytes":
        text = mutated(json.dumps(claim).encode(), rng).decode()
        out: Claim = json.loads(text, object_pairs_hook=checker.once)
        return out
    ways = [retype] if kind == "types" else [rewrite, rethink, rethink]
    out = copy.deepcopy(claim)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        try:
            rng.choice(ways)(out, rng)
        except (LookupError, TypeError, AttributeError):  # changed too much before
            break
    return out


def changes(pool: list[Claim], kind: str, rng: random.Random) -> Iterator[Claim]:
    """Yield changed certificates without end."""
    while True:
        before = rng.choice(pool)
        try:
            after = changed(before, kind, rng)
        except (ValueError, RecursionError):  # bytes that are no JSON
            continue
        if json.dumps(after) != json.dumps(before):
            yield after


def written(claim: Claim) -> str:
    """Return test and graphs as text, edges sorted: the same only for the same."""
    graphs = []
    for graph in claim["graphs"]:
        labels = graph["edge_labels"]
        kinds = [None for _ in graph["edges"]] if labels is None else labels
        rows = zip(graph["edges"], kinds, strict=True)
        edges = sorted(json.dumps([sorted(ends), kind]) for ends, kind in rows)
        size, nodes = graph["num_nodes"], graph["node_labels"]
        graphs.append([size, edges, nodes, labels is None])
    return json.dumps([claim["test"], graphs], sort_keys=True)


def with_numbers(claim: Claim) -> Claim:
    """Return a certificate whose labels, if all are text, are numbers instead."""
    out = copy.deepcopy(claim)
    for graph in out["graphs"]:
        labels = graph["node_labels"]
        if labels and all(type(label) is str for label in labels):
            graph["node_labels"] = [int(label) for label in labels]
    return out


def says(claim: Claim) -> bool | None:
    """Return the library's own verdict; ``None`` if it writes no such certificate."""
    try:
        numbers = with_numbers(claim)
        pair = []
        for graph in numbers["graphs"]:
            edges, labels = graph["edges"], graph["edge_labels"]
            ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
            structure = Graph.from_edge_index(
                ends.T, graph["num_nodes"], undirected="add"
            )
            if labels is not None:
                labels = dict(zip(map(tuple, edges), labels, strict=True))
            pair.append(LabelledGraph(structure, graph["node_labels"], labels))
        first, second = pair
        verdict = compare(first, second, made(claim["test"]))
        same = written(sealed(verdict.certificate())) == written(numbers)
        proof = claim["rounds"] if claim["separated"] else claim["partition"]
    except Exception:  # it cannot even be read
        return None
    whole = all(type(c) is int for c in leaves([proof, claim.get("bijection", [])]))
    return verdict.separated if same and whole else None


def leaves(value: Any) -> Iterator[Any]:
    """Yield what lists hold, and the lists in them."""
    if isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def taken(claim: Claim) -> bool:
    """Return whether the checker takes it; its own main program catches all else."""
    checker.KNOWN.clear()
    try:
        checker.check(claim)
    except Exception:
        return False
    return True


@pytest.fixture(scope="module")
def claims() -> dict[str, list[Claim]]:
    """Return true certificates of every test and both verdicts, and forged ones."""
    rng = random.Random(6)
    out: dict[str, list[Claim]] = {}
    for name in NAMES:
        verdicts = [honest(name, rng) for _ in range(24)]
        assert {v.separated for v in verdicts} == {True, False}
        out[name] = [sealed(v.certificate()) for v in verdicts]
        assert all(taken(claim) for claim in out[name])
        false = [sealed(forged(v, rng)) for v in verdicts]
        assert not any(taken(claim) for claim in false)
        out[name] += false
    return out


@pytest.mark.parametrize("kind", ["types", "values", "bytes"])
@pytest.mark.parametrize("name", NAMES)
def test_no_wrong_certificate_is_taken(
    name: str, kind: str, claims: dict[str, list[Claim]]
) -> None:
    rng = random.Random(f"{name} {kind}")
    accepted, wrong = 0, []
    for claim in islice(changes(claims[name], kind, rng), TRIED):
        if taken(claim):
            accepted += 1
            if says(claim) is not claim["separated"]:
                wrong.append(claim)
    print(f"{name}, {kind}: {TRIED} tried, {accepted} taken, {len(wrong)} wrong")
    assert not wrong, wrong[0]
