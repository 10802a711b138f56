"""Benchmarks of expressiveness as data: which graphs must be told apart.

Nothing is downloaded. The files lie below the folder that ``SEKGNN_DATA`` names (or
``root``), and each is checked against its SHA-256 whenever it is read.
"""

from sekgnn.datasets.brec import BREC, CATEGORIES, BRECPair
from sekgnn.datasets.csl import CSL
from sekgnn.datasets.exp import CEXP, EXP
from sekgnn.datasets.root import DATA_FILES, DataFile, data_root
from sekgnn.datasets.sr25 import SR25
from sekgnn.datasets.strongly_regular import rook_shrikhande

__all__ = [
    "BREC",
    "CATEGORIES",
    "CEXP",
    "CSL",
    "DATA_FILES",
    "EXP",
    "SR25",
    "BRECPair",
    "DataFile",
    "data_root",
    "rook_shrikhande",
]
