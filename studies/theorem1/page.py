"""The page on Theorem 1: every number is the record's; claim and count side by side."""

from __future__ import annotations

import math
from itertools import pairwise

from studies.theorem1.counterexamples import counterexamples
from studies.theorem1.counts import Cell, RadiusCounts, Theorem1Record

INTRODUCTION = """
Theorem 1 of the paper: for two r-regular graphs G and H of n nodes,
3 ≤ r < √(2 log 2n), and K up to ⌈(½ + ε) log 2n / log(r-1) + 1⌉, "2K steps of random
walk is sufficient to discriminate the internal substructure" of the ego-nets of u in G
and v in H. Here random regular graphs are drawn, and all pairs of nodes of different
graphs are counted: does the walk tell a pair apart exactly when an isomorphism test of
the two rooted ego-nets does? All arithmetic is exact.
"""

FACTS = """
## What can be proved

For an r-regular graph and the walk on the whole graph (degrees all equal, so returns
count closed walks):

- **p¹ … p^(2K+1) depend only on the rooted ego-net of radius K.** A closed walk of t
  steps stays within ⌊t/2⌋. So up to step 2K + 1 no pair with isomorphic ego-nets is
  ever told apart; from step 2K + 2 on the walk looks beyond the ego-net.
- **p¹ … p^(2K) do not depend on edges inside shell K.** A closed walk of 2K steps is
  in shell K at most once, at half time. The first walk through such an edge has 2K + 1
  steps. Two ego-nets that differ only there are a counterexample to the theorem, and
  for K = 1 all differences are of this kind.
- **p^(2K) adds one number to p¹ … p^(2K-1):** Σ w(i)² over shell K, w(i) being the
  number of shortest ways from v to i.
- **Self-loops change nothing on the whole graph:** (A+I)^t = Σ C(t,s) A^s, so the first
  t closed-walk counts of A and of A + I determine each other.
- **The walk on the ego-net agrees with the one on the graph for t < 2K.** At t = 2K it
  steps from node i of shell K with probability 1/(d(i)+1) to each neighbour, where
  d(i) ≤ r is its degree in the ego-net: so it can notice edges inside shell K.
"""

METHOD = """
## How it was counted

- Returns are residues modulo two 31-bit primes (equal fractions are never told apart,
  different ones are confused about once in 2^62), computed by half walks.
- Ego-nets are compared as rooted graphs: exact canonical forms (BLISS, through igraph)
  of the core that is left when pendant trees are taken away; in a regular graph the
  core and K determine the rooted ego-net. Rooted isomorphism is the finer reading of
  "internal substructure"; collisions are also counted with Definition 1 to the letter.
- Nodes are grouped into classes and pairs are counted by class, so no pair is sampled
  or left out. Graphs come from the pairing model with repaired loops and repetitions,
  which is close to uniform, not exactly uniform.
- Logarithms are taken as natural. In range are then r = 3 from n = 46 on and r = 4
  from n = 1491 on.
"""


def theorem1_page(record: Theorem1Record, figure: str = "theorem1.png") -> str:
    """Return the results page in Markdown.

    Args:
        record: From :func:`~studies.theorem1.simulation.run_theorem1`.
        figure: Path of the figure, relative to the page.
    """
    sections = [
        "# Theorem 1, seen",
        INTRODUCTION,
        f"![what t returns tell apart]({figure})",
        _verdicts(record),
        _bound_section(record),
        *(_radius_section(cell) for cell in _largest_cells(record)),
        _context_section(record),
        _edges_section(record),
        _graph_section(record),
        FACTS,
        _examples_section(),
        METHOD,
        _provenance(record),
    ]
    return "\n\n".join(section.strip() for section in sections) + "\n"


def _claimed(record: Theorem1Record) -> list[tuple[Cell, RadiusCounts]]:
    """Return every cell and K in the range of the theorem."""
    return [
        (cell, h)
        for cell in record.cells
        for h in cell.radii
        if cell.in_range and h.radius <= cell.radius_bound and cell.different(h)
    ]


def _verdicts(record: Theorem1Record) -> str:
    """Say in words where claim and count agree and where not."""
    claimed = _claimed(record)
    broken, after, total, later, inside, inside_after = 0, 0, 0, 0, 0, 0
    for cell, h in claimed:
        total += cell.different(h)
        after += cell.collisions(h, 2 * h.radius)
        later += cell.collisions(h, 2 * h.radius + 1)
        broken += cell.collisions(h, 2 * h.radius) > 0
        inside += cell.ego_collisions(h, 2 * h.radius) > 0
        inside_after += cell.ego_collisions(h, 2 * h.radius)
    edges = sum(h.same_edges for cell in record.cells for h in cell.radii)
    edges_alike = sum(h.same_edges_alike for cell in record.cells for h in cell.radii)
    worst, where = _worst_context(record)
    held = "are not" if broken else "were found to be"
    items = [
        f"**2K steps {held} sufficient.** Of {len(claimed)} combinations of n, r and "
        f"K that the theorem speaks of, {broken} have pairs with different ego-nets "
        "that 2K returns of the walk on the whole graph do not tell apart: "
        f"{after:,} of {total:,} pairs "
        f"({percent(after, total)}; a pair counts once for every K). One step more "
        f"leaves {later:,} ({percent(later, total)}). With the walk on the ego-net, "
        f"which notices more, {inside} of {len(claimed)} have such pairs: "
        f"{inside_after:,} ({percent(inside_after, total)}).",
        "**K = 1 always fails on the whole graph:** two returns are 1/(r+1) each on "
        "every regular graph. The walk on the ego-net notices edges inside shell 1.",
    ]
    if not claimed:
        items[0] = "**No degree of this run is in the theorem's range.**"
    least = _least_at_bound(record)
    if least:
        items.append(
            "**At the theorem's own K, its largest as ε goes to 0,** at least "
            f"{least} of the pairs are told apart wherever r is in range."
        )
    if where:
        items.append(
            "**Context helps, but not as the paper's formula says.** The multiset over "
            "the ego-net collides less than a node's own returns, and more often than "
            f"p to the power of the size: up to {worst} times as often ({where}). "
            "Collisions of neighbouring nodes are not independent: what is out of "
            "sight of one is mostly out of sight of the others."
        )
    if edges:
        items.append(
            "**Equal numbers of edges are not what makes returns collide.** The proof "
            "says that pairs whose edge configurations differ while their numbers of "
            "edges agree cannot be told apart. Of "
            f"{edges:,} such pairs (once for every K), 2K returns tell "
            f"{edges - edges_alike:,} ({percent(edges - edges_alike, edges)}) apart."
        )
    return "## In short\n\n" + "\n".join(f"- {item}" for item in items)


def _worst_context(record: Theorem1Record) -> tuple[str, str]:
    """Return the largest excess of the context's rate over the claim, and its cell."""
    best, worst = 0.0, ("", "")
    for cell in record.cells:
        for h in cell.radii:
            c = rate(cell.context_collisions(h, 2 * h.radius), cell.different(h))
            p = rate(cell.collisions(h, 2 * h.radius), cell.different(h))
            if c == 0 or p == 1:
                continue
            excess = -predicted_log10(p, cell.ball_mean(h)) + predicted_log10(c, 1)
            if excess > best:
                where = f"n = {cell.nodes}, r = {cell.degree}, K = {h.radius}"
                best, worst = excess, (power(excess), where)
    return worst


def _least_at_bound(record: Theorem1Record) -> str:
    """Return the smallest share told apart at the theorem's K, in range."""
    counts = [
        (cell.collisions(h, 2 * h.radius), cell.different(h))
        for cell, h in _at_bound(record)
        if cell.in_range
    ]
    if not counts:
        return ""
    collisions, different = max(counts, key=lambda item: item[0] / item[1])
    return percent(different - collisions, different)


def _provenance(record: Theorem1Record) -> str:
    c = record.config
    versions = ", ".join(f"{name} {v}" for name, v in record.versions.items())
    seconds = sum(cell.seconds for cell in record.cells)
    return (
        f"## This run\n\n{c.graphs} graphs for each n and r, seed {c.seed}, walks "
        f"{'with' if c.self_loops else 'without'} self-loops, {c.steps} steps; "
        f"{seconds:.0f} s. {versions}; commit {record.commit or 'unknown'}. Every "
        "count is in theorem1.json; `python -m studies.theorem1` makes all three files."
    )


def summary(record: Theorem1Record) -> str:
    """Return what 2K and 2K + 1 steps tell apart in the main cell, a line per K."""
    cell = main_cell(record)
    lines = [
        f"n = {cell.nodes}, r = {cell.degree}: pairs of nodes with different ego-nets "
        "told apart",
        f"{'K':>3} {'pairs':>15} {'by 2K steps':>12} {'by 2K + 1':>12} "
        f"{'with context, 2K':>17}",
    ]
    for h in cell.radii:
        d, t = cell.different(h), 2 * h.radius
        apart = [
            d - cell.collisions(h, t),
            d - cell.collisions(h, t + 1),
            d - cell.context_collisions(h, t),
        ]
        first, second, third = (percent(separated, d) for separated in apart)
        lines.append(f"{h.radius:>3} {d:>15,} {first:>12} {second:>12} {third:>17}")
    return "\n".join(lines)


def _at_bound(record: Theorem1Record) -> list[tuple[Cell, RadiusCounts]]:
    """Return the cells that have counts for the theorem's K."""
    cells = [(cell, cell.counts(cell.radius_bound)) for cell in record.cells]
    return [(cell, h) for cell, h in cells if h is not None and cell.different(h)]


def _largest_cells(record: Theorem1Record) -> list[Cell]:
    """Return the largest cell of every degree."""
    largest = {cell.degree: cell for cell in record.cells}  # in order of n
    return list(largest.values())


def _bound_section(record: Theorem1Record) -> str:
    """Return the table for the theorem's K."""
    rows = []
    for cell, h in _at_bound(record):
        t, different = 2 * h.radius, cell.different(h)
        collisions = cell.collisions(h, t)
        rows.append(
            [str(cell.nodes), str(cell.degree), "yes" if cell.in_range else "no",
             str(h.radius), f"{different:,}", f"{collisions:,}",
             scientific(collisions, different),
             f"{cell.nodes * collisions / different:.2g}",
             f"{cell.collisions(h, t + 1):,}"]
        )  # fmt: skip
    head = ["n", "r", "in range", "K", "different pairs", "collisions at 2K", "rate",
            "n × rate", "at 2K + 1"]  # fmt: skip
    return (
        "## At the theorem's own K\n\nK = ⌈log 2n / (2 log(r-1)) + 1⌉, the bound as ε "
        "goes to 0. The proof gives a rate of o(1/n): n × rate should tend to 0. K is "
        f"rounded up, and the rate falls where it gains a hop. {_growth(record)} "
        "That is no proof against a claim about n without bound.\n\n"
        + (_table(head, rows) if rows else "No K of this run reaches it.")
    )


def _radius_section(cell: Cell) -> str:
    """Return the table over K of one cell."""
    rows = []
    for h in cell.radii:
        d, t = cell.different(h), 2 * h.radius
        claim = cell.in_range and h.radius <= cell.radius_bound
        apart = [d - cell.collisions(h, s) for s in (t - 1, t, t + 1, t + 2)]
        rows.append(
            [str(h.radius), f"{cell.ball_mean(h):.1f}", f"{h.types:,}", f"{d:,}",
             *(percent(a, d) for a in apart), "100 %" if claim else "–",
             percent(d - cell.ego_collisions(h, t), d),
             f"{h.internal_collisions:,}"]
        )  # fmt: skip
    head = ["K", "mean size", "ego-nets", "different pairs", "t = 2K-1", "t = 2K",
            "t = 2K+1", "t = 2K+2", "theorem at 2K", "ego-net walk at 2K",
            "internals differ too"]  # fmt: skip
    note = "" if cell.in_range else " (outside the theorem's range of r)"
    return (
        f"## Told apart by t returns, n = {cell.nodes}, r = {cell.degree}{note}\n\n"
        "Shares of the pairs with non-isomorphic rooted ego-nets. The last column is "
        "the number of collisions at 2K whose internal substructures (Definition 1, no "
        "root) are not isomorphic either.\n\n" + _table(head, rows)
    )


def _context_section(record: Theorem1Record) -> str:
    """Return the table of collisions with context, beside the prediction."""
    rows = []
    for cell in _largest_cells(record):
        for h in cell.radii:
            d, t, size = cell.different(h), 2 * h.radius, cell.ball_mean(h)
            collisions = cell.collisions(h, t)
            if not collisions:
                continue
            context = cell.context_collisions(h, t)
            rows.append(
                [str(cell.nodes), str(cell.degree), str(h.radius), f"{size:.1f}",
                 f"{collisions / d:.2g}", power(predicted_log10(collisions / d, size)),
                 scientific(context, d), f"{context:,}",
                 _effective(collisions, context, d)]
            )  # fmt: skip
    head = ["n", "r", "K", "mean size", "p, own returns", "paper: p^size",
            "measured with context", "collisions", "size it is like"]  # fmt: skip
    return (
        "## The collision argument\n\nA pair collides with context if its own 2K "
        "returns agree and so do the multisets of 2K returns over both ego-nets. The "
        "paper takes the nodes of an ego-net as independent and predicts p^size. A "
        'rate "none in N" says only that it is about 1/N or less. The '
        "last column is the s for which p^s is the measured rate.\n\n"
        + _table(head, rows)
    )


def _edges_section(record: Theorem1Record) -> str:
    """Return the table of edge configurations."""
    cell = main_cell(record)
    rows = [
        [str(h.radius), f"{cell.pairs - h.configuration_alike:,}",
         f"{cell.alike[2 * h.radius - 1] - h.configuration_alike_returns_alike:,}",
         f"{h.same_edges:,}", f"{h.same_edges_alike:,}",
         percent(h.same_edges - h.same_edges_alike, h.same_edges)]
        for h in cell.radii
    ]  # fmt: skip
    head = ["K", "configurations differ", "of these alike at 2K",
            "first difference has equally many edges", "of these alike at 2K",
            "told apart (paper: 0 %)"]  # fmt: skip
    return (
        f"## Edge configurations, n = {cell.nodes}, r = {cell.degree}\n\nThe proof "
        "rests on edge configurations C^k, k < K (Definition 6), and says that the "
        "returns of a pair collide when the first C^k that differs has the same number "
        "Σ i·a^(i,k) of edges. They need not: a walk of 2(k+1) steps that turns round "
        "in shell k+1 counts Σ w², w being the number of shortest ways to a node of "
        "that shell, which is Σ i²·a^(i,k) below a tree.\n\n" + _table(head, rows)
    )


def _graph_section(record: Theorem1Record) -> str:
    """Return the table of graph pairs over t."""
    last = min(8, record.config.steps)
    rows = [
        [str(c.nodes), str(c.degree), str(c.graph_pairs - c.graph_isomorphic),
         *(str(c.graph_pairs - a) for a in c.graph_alike[1:last])]
        for c in record.cells
    ]  # fmt: skip
    head = ["n", "r", "pairs", *(f"t = {t}" for t in range(2, last + 1))]
    equal = sum(c.graph_alike[-1] - c.graph_isomorphic for c in record.cells)
    return (
        "## Pairs of graphs\n\nTold apart by the multiset of the first t returns of "
        f"all nodes. After {record.config.steps} steps {equal} pairs of non-isomorphic "
        "graphs are left.\n\n" + _table(head, rows)
    )


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["--:"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _growth(record: Theorem1Record) -> str:
    """Return a sentence on the growth of n times the rate, for equal K and r."""
    steps = grown = 0
    for (a, h), (b, g) in pairwise(_at_bound(record)):
        if a.degree == b.degree and h.radius == g.radius:
            before = a.nodes * rate(a.collisions(h, 2 * h.radius), a.different(h))
            after = b.nodes * rate(b.collisions(g, 2 * g.radius), b.different(g))
            steps, grown = steps + 1, grown + (after > before)
    if not steps:
        return ""
    return f"From one n to the next of equal r and K it grew {grown} of {steps} times."


def _effective(returns: int, context: int, different: int) -> str:
    """Return the s for which p^s is the rate with context."""
    if not context or returns == different:
        return "–"
    ratio = math.log(context / different) / math.log(returns / different)
    return f"{ratio:.1f}"


def _examples_section() -> str:
    """Return the counterexamples with their returns as fractions."""
    sections = [
        "## The smallest counterexamples",
        "Node 0 in each. Copies beside one another bring 48 nodes, which is in the "
        "theorem's range, and change neither walks nor ego-nets.",
    ]
    for example in counterexamples():
        steps = 2 * example.radius + 2
        rows = [
            f"| {name} | " + " | ".join(map(str, returns)) + " |"
            for name, returns in zip(example.names, example.returns(steps), strict=True)
        ]
        head = " | ".join(f"t = {t}" for t in range(1, steps + 1))
        seen = (
            f"They differ at step {example.first_step} = 2K + 1."
            if example.first_step
            else "They never differ."
        )
        nodes = example.graphs[0].num_nodes
        sections.append(
            f"**K = {example.radius}, n = {nodes}.** {example.reason} {seen}\n\n"
            f"| graph | {head} |\n| --- |{' --: |' * steps}\n" + "\n".join(rows)
        )
    return "\n\n".join(sections)


def rate(count: int, total: int) -> float:
    """Return ``part / whole``, or 0 of nothing."""
    return count / total if total else 0.0


def percent(count: int, total: int) -> str:
    """Write a share in percent, without rounding to 0 or 100.

    Example:
        >>> percent(1, 3), percent(0, 5), percent(5, 5), percent(99999, 100000)
        ('33.3 %', '0 %', '100 %', '99.999 %')
    """
    if not total:
        return "–"
    if count in (0, total):
        return "100 %" if count else "0 %"
    value = 100 * count / total
    near = min(value, 100 - value)
    digits = 1 if near >= 1 else -math.floor(math.log10(near))
    return f"{value:.{digits}f} %"


def scientific(count: int, total: int) -> str:
    """Write a rate with two digits, or "none in N".

    Example:
        >>> scientific(3, 200), scientific(0, 1000)
        ('1.5e-02', 'none in 1,000')
    """
    return f"{count / total:.1e}" if count else f"none in {total:,}"


def predicted_log10(p: float, size: float) -> float:
    """Return log10 of p to the power of ``size``, the paper's rate with context."""
    return size * math.log10(p) if p > 0 else -math.inf


def power(log10: float) -> str:
    """Write 10 to a power.

    Example:
        >>> power(-0.1), power(-20.2)
        ('0.79', '6e-21')
    """
    if log10 > -2:
        return f"{10**log10:.2g}"
    exponent = math.floor(log10)
    return f"{10 ** (log10 - exponent):.0f}e{exponent}"


def main_cell(record: Theorem1Record) -> Cell:
    """Return the largest cell in the theorem's range, of the smallest degree there.

    If no cell is in range, the largest of the smallest degree.
    """
    cells = [cell for cell in record.cells if cell.in_range] or list(record.cells)
    return min(cells, key=lambda cell: (cell.degree, -cell.nodes))
