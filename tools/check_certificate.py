"""Check a certificate that ``sekgnn wl A B --certificate FILE`` wrote.

Nothing of sekgnn is used and nothing is hashed: signatures are derived again from the
two lists of edges, by their definitions, in integers and fractions. Prints OK and the
verdict (exit code 0), or the first line that does not hold (exit code 1).
"""

import json
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import chain, product
from math import inf

HOPS, SEK = {"num_hops", "kernel"}, {"num_hops", "kernel", "encodings", "context"}
TESTS = {"1wl": set(), "khop": HOPS, "subgraph": {"radius", "marked"}, "sek": SEK,
         "2fwl": set(), "sek2fwl": SEK}  # fmt: skip


def require(holds, line):
    if not holds:
        raise ValueError(line)


class Graph:
    def __init__(self, data):
        self.name, self.nodes = data["name"], range(data["num_nodes"])
        self.labels = data["node_labels"] or [0 for _ in self.nodes]
        require(len(self.labels) == len(self.nodes), f"{self.name}: a label per node")
        labels = data["edge_labels"] or [0 for _ in data["edges"]]
        self.edges = {}
        for (u, v), label in zip(data["edges"], labels, strict=True):
            new = {u, v} <= {*self.nodes} and u != v and (u, v) not in self.edges
            require(new, f"{self.name}: {u} - {v} joins two nodes and is listed once")
            self.edges[u, v] = self.edges[v, u] = label
        self.near = [[u for u, w in self.edges if w == v] for v in self.nodes]

    def ball(self, v, radius):  # nodes up to a distance, and their distances
        found = {v: 0}
        for u in (queue := [v]):
            new = [w for w in self.near[u] if w not in found and found[u] < radius]
            found.update(dict.fromkeys(new, found[u] + 1))
            queue += new
        return found

    def hops(self, v, test):  # the nodes at hop 1, ..., K
        levels = [{v}]
        for _ in range(test.get("num_hops", 1)):
            levels.append({w for u in levels[-1] for w in self.near[u]})
        if test.get("kernel") == "diffusion":
            return levels[1:]
        return [levels[k].difference(*levels[:k]) for k in range(1, len(levels))]

    def facts(self, v, test):
        values = [self.value(v, f) for f in test.get("encodings", [])]
        return json.loads(json.dumps([self.labels[v], *values], default=str))

    def value(self, v, f):  # multisets of step vectors, or their sums
        around, centred = self.ball(v, f["radius"] or inf), f["scope"] != "internal"
        inside = self.nodes if f["scope"] == "graph" else sorted(around)
        nodes = tuple(u for u in inside if centred or u != v)
        h = walks(self, nodes, f["walk_length"], f["self_loops"])
        farthest = inf if f["pairs"] == "all" else not (f["multisets"] or centred)
        found = {}
        for i, j in product(self.ball(v, f["radius"] or f["num_shells"]), repeat=2):
            a, b = around[i], around[j]
            near = abs(a - b) <= farthest if a * b else a == 0 and centred
            if near and (part := f"f{1 + (a > 0) + (b > 0)}") in f["parts"]:
                name = f"{part}: {a} to {b}{', returns' if i == j else ''}"
                row = *h[i, j], self.labels[i], self.labels[j]
                found.setdefault(name, []).append(row)
        if f["multisets"]:
            return {name: counted(found[name]) for name in sorted(found)}
        rows = ((name, zip(*found[name], strict=True)) for name in sorted(found))
        sums = {name: [*map(sum, columns)][:-2] for name, columns in rows}
        return {name: row for name, row in sums.items() if any(row)}


@cache
def walks(g, nodes, length, loops):  # H_ij at steps 1 to l
    near = {i: [j for j in g.near[i] if j in nodes] + [i] * loops for i in nodes}
    now = {i: {j: Fraction(i == j) for j in nodes} for i in nodes}
    found = {pair: [] for pair in product(nodes, nodes)}
    for _ in range(length):
        rows = {i: [now[k] for k in near[i]] for i in nodes}
        now = {i: {j: sum(x[j] for x in row) / Fraction(len(row) or 1) for j in nodes}
               for i, row in rows.items()}  # fmt: skip
        for i, j in found:
            found[i, j].append(now[i][j])
    return found


def counted(members):
    return [[*member, n] for member, n in sorted(Counter(members).items())]


def numbered(graphs, values):  # integers, equal for equal ones
    table = {}
    rows = ([table.setdefault(repr(v), len(table)) for v in part] for part in values)
    return list(zip(graphs, rows, strict=True))


def first_signatures(test, graphs):  # what the colours of round 0 stand for
    out = [[g.facts(v, test) for v in g.nodes] for g in graphs]
    if test.get("context"):
        out = [[(c[v], sorted(c[u] for u in chain(*g.hops(v, test)))) for v in g.nodes]
               for g, c in numbered(graphs, out)]  # fmt: skip
    if "2fwl" not in test["test"]:
        return out
    return [[(u == v, g.edges.get((u, v)), a, b) for u, a in enumerate(c)
             for v, b in enumerate(c)] for g, c in numbered(graphs, out)]  # fmt: skip


def seen(test, g, item, c):  # the multisets that a step reads
    if "2fwl" in test["test"]:
        n, (u, v) = len(g.nodes), divmod(item, len(g.nodes))
        return [counted((c[u * n + w], c[w * n + v]) for w in g.nodes)]
    if test["test"] == "subgraph":
        return [counted((d, c[u]) for u, d in g.ball(item, test["radius"]).items())]
    first, *others = g.hops(item, test)
    edges = counted((g.edges[item, u], c[u]) for u in first)
    return [edges, *(counted((c[u],) for u in hop) for hop in others)]


def next_signatures(test, graphs, colours):  # of the next round
    both = list(zip(graphs, colours, strict=True))
    if test["test"] != "subgraph":
        return [[(c[i], seen(test, g, i, c)) for i in range(len(c))] for g, c in both]
    nets = [(g, c, g.ball(v, test["radius"])) for g, c in both for v in g.nodes]
    now = ([(c[u], d * test["marked"]) for u, d in net.items()] for _, c, net in nets)
    rows, count = numbered(nets, now), 0
    while count < (count := len({*chain(*(row for _, row in rows))})):  # 1-WL inside
        now = ((g, dict(zip(net, row, strict=True))) for (g, _, net), row in rows)
        now = ([(c[u], counted((g.edges[u, w], c[w]) for w in g.near[u] if w in c))
                for u in c] for g, c in now)  # fmt: skip
        rows = numbered(nets, now)
    inner = (sorted(row) for _, row in rows)
    return [[(own, next(inner)) for own in c] for c in colours]


def check_alike(line, keys, values):  # equal keys go with equal values
    table = {}
    for g, both in enumerate(zip(keys, values, strict=True)):
        for i, (key, value) in enumerate(zip(*both, strict=True)):
            same = table.setdefault(repr(key), value) == value
            require(same, f"{line}: object {i} of graph {g}")


def check_separated(test, graphs, rounds, colour):
    known = first_signatures(test, graphs)
    for t, classes in enumerate(rounds):
        known = next_signatures(test, graphs, rounds[t - 1]) if t else known
        check_alike(f"one signature per colour of round {t}", classes, known)
        check_alike(f"one colour per signature in round {t}", known, classes)
    number, g, nodes = colour["class"], graphs[colour["graph"]], colour["nodes"]
    counts = [part.count(number) for part in rounds[-1]]
    require(colour["counts"] == counts, f"colour {number} occurs {colour['counts']}")
    require(counts[0] != counts[1], f"colour {number} is not equally often in both")
    item = sum(v * len(g.nodes) ** k for k, v in enumerate(reversed(nodes)))
    own = [classes[colour["graph"]] for classes in rounds]
    true = {*nodes} <= {*g.nodes} and own[-1][item] == number
    require(true, f"{nodes} of {g.name} has colour {number}")
    true = [{"was": c[item], "sees": seen(test, g, item, c)} for c in own[:-1]]
    require(colour["unfolding"] == true, f"the unfolding of colour {number}")
    true = [g.facts(v, test) for v in nodes]
    require(colour["facts"] == true, f"label and walks of {nodes} of {g.name}")
    return f"separates: colour {number} of round {t} occurs {counts} times"


def check_stable(test, graphs, partition, bijection):
    mine, (first, second) = {b: a for a, b in bijection}, partition
    require({*first} == {*mine.values()} and {*second} == {*mine}, "all classes")
    require(len({*first}) == len(mine) == len(bijection), "a bijection")
    for a, b in bijection:
        require(first.count(a) == second.count(b), f"classes {a}, {b} of equal size")
    classes = [first, [mine[b] for b in second]]
    check_alike("first signatures", classes, first_signatures(test, graphs))
    check_alike("next signatures", classes, next_signatures(test, graphs, classes))
    return f"does not separate: {len(mine)} classes are stable, of equal size in both"


def check(claim):
    test, graphs = claim["test"], [Graph(data) for data in claim["graphs"]]
    require(claim["format"] == "sekgnn certificate 1", "format 1 of certificates")
    require({*test} - {"test"} == TESTS[test["test"]], "the parameters of the test")
    for f in test.get("encodings", []):
        require(f["encoding"] == "walks", "no encoding but walks")
    if claim["separated"] is True:
        return check_separated(test, graphs, claim["rounds"], claim["colour"])
    return check_stable(test, graphs, claim["partition"], claim["bijection"])


if __name__ == "__main__":
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            print(f"OK: the test {check(json.load(file))}.")
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        sys.exit(f"this does not hold: {error}")
