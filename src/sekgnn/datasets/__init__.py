"""Benchmarks, as data: which graphs must be told apart, and what is to be predicted.

The files lie below the folder that ``SEKGNN_DATA`` names (or ``data_root``), and are
checked against their SHA-256 whenever they are read. Random data is generated where
there is no such folder. Importing this room loads neither torch nor torch_geometric.
"""

from sekgnn.datasets.brec import BREC, CATEGORIES, BRECPair
from sekgnn.datasets.by_name import DATASETS, register_dataset
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.node_task import NodeTask, link_task, node_task
from sekgnn.datasets.qm9 import QM9_TARGETS, QM9Dataset, QM9Target
from sekgnn.datasets.read_task import (
    list_task,
    networkx_task,
    pyg_task,
    read_task,
    stream_task,
)
from sekgnn.datasets.root import DATA_FILES, DataFile, find_data_root
from sekgnn.datasets.statistics import (
    PAPER_STATISTICS,
    Split,
    Statistics,
    check_statistics,
)
from sekgnn.datasets.targets import TASK_KINDS
from sekgnn.datasets.tu import TU_NAMES, tu_dataset, tu_folds
from sekgnn.datasets.wl_benchmarks import CEXP, CSL, EXP, SR25, rook_shrikhande

__all__ = [
    "BREC",
    "CATEGORIES",
    "CEXP",
    "CSL",
    "DATASETS",
    "DATA_FILES",
    "EXP",
    "PAPER_STATISTICS",
    "QM9_TARGETS",
    "SR25",
    "TASK_KINDS",
    "TU_NAMES",
    "BRECPair",
    "DataFile",
    "GraphTask",
    "NodeTask",
    "QM9Dataset",
    "QM9Target",
    "Split",
    "Statistics",
    "check_statistics",
    "find_data_root",
    "link_task",
    "list_task",
    "networkx_task",
    "node_task",
    "pyg_task",
    "read_task",
    "register_dataset",
    "rook_shrikhande",
    "stream_task",
    "tu_dataset",
    "tu_folds",
]
