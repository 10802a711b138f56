"""What exists only to reproduce the SEK-GNN paper, written at the public doors.

Its baselines and kernels, synthetic data, recipes of runs, published numbers, tables.
"""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.paper.baselines import (
        DGCNN,
        KPGIN,
        PNA,
        GraphSAGE,
        GraphSNN,
        KPGINPlus,
    )
    from sekgnn.paper.capsules import CapsGNN
    from sekgnn.paper.counting import CountingDataset, pattern_counts
    from sekgnn.paper.ego_models import DeepLRP, GINAKPlus, NestedGNN
    from sekgnn.paper.graph_property import (
        GraphPropertyDataset,
        graph_properties,
        node_properties,
    )
    from sekgnn.paper.kernel_machine import (
        FGW,
        GNTK,
        WWL,
        KernelMachine,
        RetGK,
        WLSubtree,
    )
    from sekgnn.paper.molecule_models import DTNN, MPNN

__all__ = [
    "DGCNN",
    "DTNN",
    "FGW",
    "GNTK",
    "KPGIN",
    "MPNN",
    "PNA",
    "WWL",
    "CapsGNN",
    "CountingDataset",
    "DeepLRP",
    "GINAKPlus",
    "GraphPropertyDataset",
    "GraphSAGE",
    "GraphSNN",
    "KPGINPlus",
    "KernelMachine",
    "NestedGNN",
    "RetGK",
    "WLSubtree",
    "graph_properties",
    "node_properties",
    "pattern_counts",
]

__getattr__, __dir__ = lazy_names(__name__)
