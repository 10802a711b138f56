"""The graph type, its readers and builders, and named families."""

from typing import TYPE_CHECKING

from sekgnn.lazy import lazy_names

if TYPE_CHECKING:
    from sekgnn.graphs.cleaning import SelfLoops, Undirected
    from sekgnn.graphs.convert import (
        as_graph,
        as_labelled,
        from_networkx,
        from_pyg,
    )
    from sekgnn.graphs.families import (
        GRAPH_NAMES,
        barabasi_albert_graph,
        cfi_pair,
        circulant_graph,
        complete_graph,
        csl_graph,
        cycle_graph,
        named_graph,
        path_graph,
        petersen_graph,
        random_graph,
        random_regular_graph,
        rook_graph,
        shrikhande_graph,
    )
    from sekgnn.graphs.graph import Graph, LabelledGraph
    from sekgnn.graphs.graph6 import from_graph6, to_graph6
    from sekgnn.graphs.graph_file import (
        GraphFile,
        pack_edge_list,
        pack_pairs,
        read_graph_file,
    )
    from sekgnn.graphs.graph_record import GraphRecord
    from sekgnn.graphs.molecules import (
        from_smiles,
        labelled_from_smiles,
    )
    from sekgnn.graphs.packed import PackedGraphs, pack, pack_edge_indices, unpack
    from sekgnn.graphs.read_options import ReadOptions
    from sekgnn.graphs.records import read_graphs, read_records

__all__ = [
    "GRAPH_NAMES",
    "Graph",
    "GraphFile",
    "GraphRecord",
    "LabelledGraph",
    "PackedGraphs",
    "ReadOptions",
    "SelfLoops",
    "Undirected",
    "as_graph",
    "as_labelled",
    "barabasi_albert_graph",
    "cfi_pair",
    "circulant_graph",
    "complete_graph",
    "csl_graph",
    "cycle_graph",
    "from_graph6",
    "from_networkx",
    "from_pyg",
    "from_smiles",
    "labelled_from_smiles",
    "named_graph",
    "pack",
    "pack_edge_indices",
    "pack_edge_list",
    "pack_pairs",
    "path_graph",
    "petersen_graph",
    "random_graph",
    "random_regular_graph",
    "read_graph_file",
    "read_graphs",
    "read_records",
    "rook_graph",
    "shrikhande_graph",
    "to_graph6",
    "unpack",
]

__getattr__, __dir__ = lazy_names(__name__)
