"""K-hop neighbourhoods N_k(v), in one compressed table."""

from sekgnn.hops.hop_pairs import HopKernel, hop_pairs, shell_sizes
from sekgnn.hops.hop_table import HopTable

__all__ = ["HopKernel", "HopTable", "hop_pairs", "shell_sizes"]
