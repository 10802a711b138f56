r"""Theorem 1 of the paper, simulated on random regular graphs.

The theorem: for r-regular graphs of n nodes, :math:`3 \le r < \sqrt{2 \log 2n}`, and
:math:`K \le \lceil (\frac12 + ε) \frac{\log 2n}{\log(r-1)} + 1 \rceil`, 2K steps of the
walk suffice to tell the internal substructures of two K-hop ego-nets apart. Its proof
adds that a pair collides with some probability p, and that the multiset of returns over
the ego-net collides with :math:`p^{|G_v^K|}` only.

``python -m studies.theorem1`` counts, for every n, r and K, the pairs that the first t
returns do and do not tell apart, beside what an exact isomorphism test says, and writes
``results/``.
"""
