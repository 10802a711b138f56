"""K-hop neighbourhoods N_k(v), in one compressed table."""

from sekgnn.hops.hop_pairs import HopKernel, HopTable, hop_pairs, shell_sizes

__all__ = ["HopKernel", "HopTable", "hop_pairs", "shell_sizes"]
