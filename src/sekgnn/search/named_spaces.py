"""The search spaces of the SEK-GNN paper, as data."""

from __future__ import annotations

from typing import Any

NAMED_SPACES: dict[str, dict[str, Any]] = {
    "tu": {  # section "Graph classification": hidden size max(int(120 / K), 40)
        "num_hops": [1, 2, 3, 4],
        "num_layers": [1, 2, 3, 4],
        "combine": ["sum", "geometric"],
        "jump": ["sum", "concat"],
        "hidden_channels": {
            "of": "num_hops",
            "values": {hops: max(int(120 / hops), 40) for hops in (1, 2, 3, 4)},
        },
    },
    "counting": {
        "num_layers, num_hops": [[5, 3], [5, 5], [5, 7], [6, 3], [6, 5], [6, 7]],
        "batch_size": [32, 64],
    },
    "graph_property": {
        "num_hops": [5, 6],
        "num_layers": [5, 6, 7],
        "batch_size": [64, 128],
    },
    "qm9": {
        "num_hops": [5, 6, 7],
        "num_layers": [4, 6, 8],
        "combine": ["sum", "geometric"],
    },
}
"""What the paper searched over for SEK-GIN, by experiment.

Values that the paper keeps fixed (lr, epochs, ...) are keys of the base config.
"""
