"""Check a certificate of ``sekgnn wl A B --certificate FILE``.

Nothing of sekgnn is used and nothing is hashed: signatures are derived from both lists
of edges, in integers and fractions. Prints OK and the verdict, or the fault.
"""

import json
import sys
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import chain, product

INTEGER, SIZE, FLAG = range(-(2**63), 2**63), range(1, 257), (True, False)
HOPS = {"num_hops": SIZE, "kernel": ("shortest_path", "diffusion")}
WALKS = {"encoding": "walks", "scope": ("graph", "ego", "internal"), "multisets": FLAG,
         "parts": [("f1", "f2", "f3")], "pairs": ("same", "all"), "self_loops": FLAG,
         "radius": (None, SIZE), "num_shells": SIZE, "walk_length": SIZE}  # fmt: skip
SEK = HOPS | {"test": ("sek", "sek2fwl"), "encodings": [WALKS], "context": FLAG}
TESTS = ({"test": ("1wl", "2fwl")}, HOPS | {"test": "khop"}, SEK,
         {"test": "subgraph", "radius": SIZE, "marked": FLAG})  # fmt: skip
GRAPH = {"name": str, "num_nodes": range(201), "edges": [[INTEGER]]}
LABELS = product((None, [INTEGER], [str]), repeat=2)  # of nodes and edges, in both
GRAPHS = (*([GRAPH | {"node_labels": a, "edge_labels": b}] for a, b in LABELS),)
CLAIM = {"format": "sekgnn certificate 1", "test": TESTS, "graphs": GRAPHS}
APART = CLAIM | {"separated": True, "rounds": [[[INTEGER]]], "colour": dict}
ALIKE = CLAIM | {"separated": False, "partition": [[INTEGER]], "bijection": [[INTEGER]]}
KNOWN = {}


def require(holds, line):
    if not holds:
        raise ValueError(line)


def fits(value, shape):  # one of several, integers of a range, lists, keys or a type
    if isinstance(shape, tuple):
        return any(fits(value, option) for option in shape)
    if isinstance(shape, range):
        return type(value) is int and value in shape
    if isinstance(shape, list):
        return type(value) is list and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, dict) and type(value) is dict and {*value} == {*shape}:
        return all(fits(value[key], shape[key]) for key in shape)
    return type(value) is shape or (type(value) is type(shape) and value == shape)


def number(value):  # the same for equal values; 1, 1.0, true and "1" are four
    return KNOWN.setdefault(json.dumps(value, sort_keys=True, default=str), len(KNOWN))


def counted(members):
    return [[*member, n] for member, n in sorted(Counter(members).items())]


class Graph:
    def __init__(self, test, name, num_nodes, edges, node_labels, edge_labels):
        self.test, self.name, self.nodes = test, json.dumps(name), range(num_nodes)
        self.edges, self.walks = {}, lru_cache(16)(self.walks)
        self.labels = [0] * num_nodes if node_labels is None else node_labels
        require(len(self.labels) == num_nodes, f"{self.name}: a label per node")
        labels = [0] * len(edges) if edge_labels is None else edge_labels
        for (u, v), label in zip(edges, labels, strict=True):
            new = {u, v} <= {*self.nodes} and u != v and (u, v) not in self.edges
            require(new, f"{self.name}: {u} - {v} joins two nodes and is listed once")
            self.edges[u, v] = self.edges[v, u] = label
        self.near = [[u for u, w in self.edges if w == v] for v in self.nodes]

    def ball(self, v, radius):  # nodes up to a distance, and their distances
        distances, level = {v: 0}, {v}
        for distance in range(1, radius + 1):
            level = {w for u in level for w in self.near[u]} - {*distances}
            distances |= dict.fromkeys(level, distance)
        return distances

    def hops(self, v):  # the nodes at hop 1, ..., K
        steps, level = range(1, self.test.get("num_hops", 1) + 1), {v}
        if self.test.get("kernel") == "diffusion":
            return [level := {w for u in level for w in self.near[u]} for _ in steps]
        ball = self.ball(v, len(steps))
        return [[u for u in ball if ball[u] == k] for k in steps]

    def walks(self, nodes, length, loops):  # H_ij after 1, ..., l steps
        near = {i: [j for j in self.near[i] if j in nodes] + [i] * loops for i in nodes}
        steps = [{(i, j): Fraction(i == j) for i, j in product(nodes, repeat=2)}]
        for _ in range(length):
            h = {(i, j): sum(steps[-1][k, j] for k in near[i]) for i, j in steps[0]}
            steps += [{(i, j): Fraction(h[i, j], len(near[i]) or 1) for i, j in h}]
        return steps[1:]

    def values(self, v):  # of f: multisets of step vectors, or their sums
        for f in self.test.get("encodings", []):
            centred, sums, group = f["scope"] != "internal", not f["multisets"], {}
            around = self.ball(v, f["radius"] or len(self.nodes))
            nodes = tuple(u for u in sorted(around) if centred or u != v)
            walk = self.walks(nodes, f["walk_length"], f["self_loops"])
            far = len(around) if f["pairs"] == "all" else sums and not centred
            ball = self.ball(v, f["radius"] or f["num_shells"])
            for (i, a), (j, b) in product(ball.items(), repeat=2):
                near = abs(a - b) <= far if a * b else a == 0 and centred
                if near and (part := f"f{1 + (a > 0) + (b > 0)}") in f["parts"]:
                    name = f"{part}: {a} to {b}{', returns' if i == j else ''}"
                    ends = () if sums else (self.labels[i], self.labels[j])
                    group.setdefault(name, []).append((*(h[i, j] for h in walk), *ends))
            for name, rows in group.items():
                columns = zip(*rows, strict=True)
                group[name] = [*map(sum, columns)] if sums else counted(rows)
            yield {name: rows for name, rows in group.items() if any(rows)}

    def first(self):  # numbers of the signatures of round 0
        self.facts = [[self.labels[v], *self.values(v)] for v in self.nodes]
        c = [number(facts) for facts in self.facts]
        if self.test.get("context"):
            around = ([c[u] for hop in self.hops(v) for u in hop] for v in self.nodes)
            c = [number((c[v], sorted(others))) for v, others in enumerate(around)]
        if "2fwl" not in self.test["test"]:
            return c
        edges, both = self.edges, product(enumerate(c), repeat=2)
        return [number((edges.get((u, v), u == v), a, b)) for (u, a), (v, b) in both]

    def next(self, c):  # numbers of the signatures of the next round
        read = self.refined if self.test["test"] == "subgraph" else self.seen
        return [number((colour, read(item, c))) for item, colour in enumerate(c)]

    def seen(self, item, c):  # the multisets that a step reads
        if "2fwl" in self.test["test"]:
            n, (u, v) = len(self.nodes), divmod(item, len(self.nodes))
            return [counted((c[u * n + w], c[w * n + v]) for w in self.nodes)]
        if self.test["test"] == "subgraph":
            ball = self.ball(item, self.test["radius"])
            return [counted((d, c[u]) for u, d in ball.items())]
        near, *others = self.hops(item)
        edges = counted((self.edges[item, u], c[u]) for u in near)
        return [edges, *(counted((c[u],) for u in hop) for hop in others)]

    def refined(self, v, c):  # the stable colours of 1-WL in the ego-net of a node
        net, kind, classes = self.ball(v, self.test["radius"]), self.edges, 0
        c = {u: number((c[u], d * self.test["marked"])) for u, d in net.items()}
        while classes < (classes := len({*c.values()})):
            near = {u: [(kind[u, w], c[w]) for w in self.near[u] if w in c] for u in c}
            c = {u: number((c[u], counted(near[u]))) for u in c}
        return sorted(c.values())


def check_separated(graphs, claim):
    for t, classes in enumerate(rounds := claim["rounds"]):
        both = zip(graphs, classes, rounds[t - 1], strict=True)
        pairs = ((now, g.next(c) if t else g.first()) for g, now, c in both)
        table = {pair for sides in pairs for pair in zip(*sides, strict=True)}
        alike = len(table) == len(dict(table)) == len({sign for _, sign in table})
        require(alike, f"a colour for every signature of round {t}, and only one")
    graph = [0, 1].index(claim["colour"]["graph"])
    g, history = graphs[graph], [classes[graph] for classes in rounds]
    objects = [*product(g.nodes, repeat=1 + ("2fwl" in g.test["test"]))]
    colour = history[-1][item := objects.index((*claim["colour"]["nodes"],))]
    counts = [classes.count(colour) for classes in rounds[-1]]
    path = [{"was": c[item], "sees": g.seen(item, c)} for c in history[:-1]]
    true = {"class": colour, "counts": counts, "graph": graph, "unfolding": path}
    true |= {"nodes": objects[item], "facts": [g.facts[v] for v in objects[item]]}
    require(number(claim["colour"]) == number(true), "the colour and how it unfolds")
    require(counts[0] != counts[1], "a colour that is not equally often in both")
    return "separates", f"colour {colour} of round {t} occurs {counts} times"


def check_stable(graphs, claim):
    (first, second), back = claim["partition"], {b: a for a, b in claim["bijection"]}
    classes = [first, [back[b] for b in second]]
    require(len({*first}) == len(claim["bijection"]), "a bijection between classes")
    require(sorted(first) == sorted(classes[1]), "classes of equal size")
    both = zip(graphs, classes, strict=True)
    table = (zip(c, g.first(), g.next(c), strict=True) for g, c in both)
    require(len({*chain(*table)}) == len(back), "first and next signature of classes")
    return "does not separate", f"{len(back)} classes are stable, of equal size in both"


def check(claim):
    test = fits(claim, (APART, ALIKE)) and claim["test"]
    require(test and test.get("encodings") != [], "known keys, types and ranges")
    for f in test.get("encodings", []):
        parts = {*f["parts"]} - ({"f1", "f2"} if f["scope"] == "internal" else set())
        whole = f["multisets"] or (f["pairs"] == "same" and len({*f["parts"]}) == 3)
        place = (f["scope"] == "graph") == (f["radius"] is None)
        require(parts and whole and place, "parameters of an encoding that agree")
    first, second = graphs = [Graph(test, **data) for data in claim["graphs"]]
    says, why = (check_separated if claim["separated"] else check_stable)(graphs, claim)
    return f"{test['test']} {says} {first.name} and {second.name}: {why} ({test})."


def once(pairs):
    require(len(dict(pairs)) == len(pairs), "a key that stands once")
    return dict(pairs)


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            print(f"OK: {check(json.load(file, object_pairs_hook=once))}")
    except Exception as error:
        sys.exit(f"this does not hold: {error}")
