"""What the page on Theorem 1 says whatever was counted."""

from __future__ import annotations

from sekgnn.studies.counterexamples import counterexamples

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


def examples_section() -> str:
    """Return the counterexamples with their returns as fractions."""
    parts = ["## The smallest counterexamples"]
    parts.append(
        "Node 0 in each. Copies beside one another bring 48 nodes, which is in the "
        "theorem's range, and change neither walks nor ego-nets."
    )
    for example in counterexamples():
        steps = 2 * example.hops + 2
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
        parts.append(
            f"**K = {example.hops}, n = {nodes}.** {example.reason} {seen}\n\n"
            f"| graph | {head} |\n| --- |{' --: |' * steps}\n" + "\n".join(rows)
        )
    return "\n\n".join(parts)
