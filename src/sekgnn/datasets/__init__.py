"""Benchmarks, as data: which graphs must be told apart, and what is to be predicted.

The files lie below the folder that ``SEKGNN_DATA`` names (or ``root``), and are checked
against their SHA-256 whenever they are read. What is random is generated where there is
no such folder. Importing this room loads neither torch nor torch_geometric.
"""

from sekgnn.datasets.brec import BREC, CATEGORIES, BRECPair
from sekgnn.datasets.counting import CountingDataset
from sekgnn.datasets.csl import CSL
from sekgnn.datasets.exp import CEXP, EXP
from sekgnn.datasets.graph_property import GraphPropertyDataset
from sekgnn.datasets.graph_task import GraphTask
from sekgnn.datasets.json_task import json_task
from sekgnn.datasets.object_task import networkx_task, pyg_task
from sekgnn.datasets.pattern_targets import pattern_counts
from sekgnn.datasets.property_targets import graph_properties, node_properties
from sekgnn.datasets.qm9 import QM9Dataset
from sekgnn.datasets.qm9_table import QM9_TARGETS, QM9Target
from sekgnn.datasets.read_task import read_task
from sekgnn.datasets.root import DATA_FILES, DataFile, data_root
from sekgnn.datasets.smiles_task import smiles_task
from sekgnn.datasets.split import Split
from sekgnn.datasets.sr25 import SR25
from sekgnn.datasets.statistics import PAPER_STATISTICS, Statistics, check_statistics
from sekgnn.datasets.stream_task import Chunk, stream_task
from sekgnn.datasets.strongly_regular import rook_shrikhande
from sekgnn.datasets.target_kind import TASK_KINDS
from sekgnn.datasets.tu import TU_NAMES, tu_dataset
from sekgnn.datasets.tu_folds import tu_folds
from sekgnn.datasets.tu_task import tu_task

__all__ = [
    "BREC",
    "CATEGORIES",
    "CEXP",
    "CSL",
    "DATA_FILES",
    "EXP",
    "PAPER_STATISTICS",
    "QM9_TARGETS",
    "SR25",
    "TASK_KINDS",
    "TU_NAMES",
    "BRECPair",
    "Chunk",
    "CountingDataset",
    "DataFile",
    "GraphPropertyDataset",
    "GraphTask",
    "QM9Dataset",
    "QM9Target",
    "Split",
    "Statistics",
    "check_statistics",
    "data_root",
    "graph_properties",
    "json_task",
    "networkx_task",
    "node_properties",
    "pattern_counts",
    "pyg_task",
    "read_task",
    "rook_shrikhande",
    "smiles_task",
    "stream_task",
    "tu_dataset",
    "tu_folds",
    "tu_task",
]
