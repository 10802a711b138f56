"""Benchmarks as data: graphs to separate, and graphs with targets.

The files lie below the folder ``SEKGNN_DATA`` (or ``data_root``), and are checked
against their SHA-256 whenever they are read. Without such a folder, random data is
generated. Importing this room loads neither torch nor torch_geometric.
"""

from sekgnn.datasets.by_name import DATASETS, TU_NAMES, register_dataset
from sekgnn.datasets.graph_task import GraphTask, Split, as_data
from sekgnn.datasets.node_task import NodeTask, link_task, node_task
from sekgnn.datasets.qm9 import QM9_TARGETS, qm9_task
from sekgnn.datasets.read_task import (
    list_task,
    networkx_task,
    pyg_task,
    read_task,
    stream_task,
)
from sekgnn.datasets.root import find_data_root
from sekgnn.datasets.tu import tu_folds, tu_task
from sekgnn.datasets.wl_benchmarks import (
    BREC,
    CATEGORIES,
    CEXP,
    CSL,
    EXP,
    SR25,
    BRECPair,
    rook_shrikhande,
)

__all__ = [
    "BREC",
    "CATEGORIES",
    "CEXP",
    "CSL",
    "DATASETS",
    "EXP",
    "QM9_TARGETS",
    "SR25",
    "TU_NAMES",
    "BRECPair",
    "GraphTask",
    "NodeTask",
    "Split",
    "as_data",
    "find_data_root",
    "link_task",
    "list_task",
    "networkx_task",
    "node_task",
    "pyg_task",
    "qm9_task",
    "read_task",
    "register_dataset",
    "rook_shrikhande",
    "stream_task",
    "tu_folds",
    "tu_task",
]
