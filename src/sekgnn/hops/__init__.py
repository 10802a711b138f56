"""K-hop neighbourhoods N_k(v), as index pairs."""

from sekgnn.hops.hop_pairs import HopKernel, hop_pairs, shell_sizes
from sekgnn.hops.pairs import HopPairs

__all__ = ["HopKernel", "HopPairs", "hop_pairs", "shell_sizes"]
