"""Networks for molecules: messages along bonds, and across space."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sekgnn import fields
from sekgnn.errors import GraphInputError
from sekgnn.models.graph_inputs import GraphInputs
from sekgnn.models.graph_model import GraphModel, register_model
from sekgnn.models.hop_encoder import NodeEmbedding
from sekgnn.models.options import ModelOptions
from sekgnn.nn import EdgeFeatures
from sekgnn.nn.mlp import reset_children
from sekgnn.nn.pooling import membership
from sekgnn.nn.sparse_sum import Csr, csr_sum

NEAREST, FARTHEST, NUM_DISTANCES = -1.0, 18.0, 100


@register_model("mpnn")
class MPNN(GraphModel):
    r"""Message passing neural network for molecules (Gilmer et al., 2017).

    .. math:: m_v = \mathrm{ReLU}\Big(b + \sum_{u \in N(v)} A(e_{uv})\, h_u\Big), \quad
              h'_v = \mathrm{GRU}(m_v, h_v)

    with a network A from the features of a bond to a matrix, shared by all
    ``num_layers`` rounds, and PyG's ``Set2Set`` as readout. Without edge features A is
    one learned matrix. Like PyG's ``NNConv``, but bonds with equal features share one
    matrix, so that their messages are one product.
    """

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        return [_GatedMessages(self.in_channels, options, self.edge_channels)]


class _GatedMessages(nn.Module):
    """Rounds of messages with a matrix per edge, and a GRU."""

    def __init__(
        self, in_channels: int, options: ModelOptions, edge_channels: int
    ) -> None:
        super().__init__()
        channels = options.hidden_channels
        self.rounds = options.num_layers
        self.embedding = NodeEmbedding(in_channels, channels)
        self.matrices: nn.Module
        if edge_channels:
            self.matrices = nn.Sequential(
                nn.Linear(edge_channels, channels),
                nn.ReLU(),
                nn.Linear(channels, channels * channels),
            )
        else:
            self.matrices = nn.Linear(channels, channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(channels))
        self.reads_edges = edge_channels > 0
        self.gate = nn.GRUCell(channels, channels)
        self.dropout = nn.Dropout(options.dropout)

    def reset_parameters(self) -> None:
        reset_children(self)
        nn.init.zeros_(self.bias)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        h: Tensor = self.embedding(inputs.x, inputs.num_nodes).relu()
        bonds = None
        if self.reads_edges:
            assert inputs.edges is not None  # checked by graph_inputs
            bonds = _bonds(inputs.edges, self.matrices, h.size(1))
        for _ in range(self.rounds):
            if bonds is None:
                m = inputs.hops.sum(self.matrices(h), 1)
            else:
                m = bonds.messages(h)
            h = self.gate((m + self.bias).relu(), h)
        out: Tensor = self.dropout(h)
        return out


class _Bonds(NamedTuple):
    """The bonds of a batch, grouped by equal features.

    Attributes:
        matrices: A of every group, ``[D, C, C]``.
        sizes: Bonds per group, D numbers.
        sender: The node u of every bond, group by group, int64 ``[M_1]``.
        rank: Position of every bond in that order, int64 ``[M_1]``.
        receivers: The matrix of nodes and the bonds that they receive, ``[N, M_1]``.
    """

    matrices: Tensor
    sizes: list[int]
    sender: Tensor
    rank: Tensor
    receivers: Csr

    def messages(self, h: Tensor) -> Tensor:
        r"""Return :math:`\sum_{u \in N(v)} A(e_{uv})\, h_u`, ``[N, C]``."""
        senders = h.index_select(0, self.sender)  # [M_1, C]
        if len(self.sizes) == len(senders):  # no two are equal
            sent = torch.bmm(senders.unsqueeze(1), self.matrices).squeeze(1)
        else:
            groups = zip(torch.split(senders, self.sizes), self.matrices, strict=True)
            sent = torch.cat([group @ matrix for group, matrix in groups])
        return csr_sum(sent.index_select(0, self.rank), self.receivers)


def _bonds(edges: EdgeFeatures, matrices: nn.Module, channels: int) -> _Bonds:
    """Return the bonds of a batch with the matrices of their features."""
    kinds, kind = torch.unique(edges.attr, dim=0, return_inverse=True)  # [D, F], [M_1]
    order = kind.argsort()
    return _Bonds(
        matrices(kinds).view(-1, channels, channels),
        torch.bincount(kind, minlength=len(kinds)).tolist(),
        edges.sender.index_select(0, order),
        order.argsort(),
        edges.receivers,
    )


class _Space(NamedTuple):
    """All pairs of different nodes of the same graph, and their distances.

    Attributes:
        column: The node j of every pair (i, j), int64 ``[P]``.
        rows: The matrix of nodes and their pairs, ``[N, P]``.
        distances: Gaussians of the distance, ``[P, D]``.
    """

    column: Tensor
    rows: Csr
    distances: Tensor


@register_model("dtnn")
class DTNN(GraphModel):
    r"""Deep tensor neural network (Schütt et al., 2017), on distances in space.

    .. math:: c'_i = c_i + \sum_{j \neq i} \tanh\big(W [(W_1 c_j + b_1) \circ
              (W_2 \hat d_{ij} + b_2)]\big)

    over all pairs of atoms, bonded or not, with weights shared by all ``num_layers``
    rounds; :math:`\hat d_{ij}` are Gaussians of the distance, with 100 centres from -1
    to 18 as in MoleculeNet and their spacing as width; the readout takes
    :math:`\tanh(V c_i + b)` of every atom.

    Reads positions of the nodes, ``pos`` ``[N, 3]`` in Å.
    """

    def encoders(self, options: ModelOptions) -> list[nn.Module]:
        return [_Interactions(self.in_channels, options)]

    def check_graph(self, data: Any, place: str) -> None:
        """Refuse a graph without positions."""
        _positions(data, place)

    def extras(self, data: Any, inputs: GraphInputs) -> _Space:
        """Return the pairs of atoms and their distances."""
        pos = _positions(data, "the graph").to(next(self.parameters()).dtype)
        ptr = inputs.graphs.indptr.long()
        sizes = ptr.diff()
        owner = inputs.graphs.t_indices.long()
        width = sizes[owner]  # pairs (i, .), i itself among them, [N]
        row = torch.repeat_interleave(width)
        first = width.cumsum(0) - width
        column = torch.arange(len(row), device=row.device) - first[row]
        column = column + ptr[:-1][owner][row]
        others = row != column
        row, column = row[others], column[others]
        starts = torch.cat([ptr[:1], (width - 1).cumsum(0)])
        # no gradient is needed, and at 0 the square root has none
        far = (pos[row] - pos[column]).square().sum(1).sqrt()  # [P]
        centres = torch.linspace(
            NEAREST, FARTHEST, NUM_DISTANCES, dtype=pos.dtype, device=pos.device
        )
        step = (FARTHEST - NEAREST) / (NUM_DISTANCES - 1)
        spread = (far.unsqueeze(1) - centres) / step
        return _Space(column, membership(starts), (-spread.square() / 2).exp())


class _Interactions(nn.Module):
    """The rounds of DTNN."""

    def __init__(self, in_channels: int, options: ModelOptions) -> None:
        super().__init__()
        channels = options.hidden_channels
        self.rounds = options.num_layers
        self.embedding = NodeEmbedding(in_channels, channels)
        self.from_atom = nn.Linear(channels, channels)
        self.from_distance = nn.Linear(NUM_DISTANCES, channels)
        self.to_atom = nn.Linear(channels, channels, bias=False)
        self.out = nn.Linear(channels, channels)
        self.dropout = nn.Dropout(options.dropout)

    def reset_parameters(self) -> None:
        reset_children(self)

    def forward(self, inputs: GraphInputs) -> Tensor:
        """Return ``[N, C]``."""
        space: _Space = inputs.extra
        c: Tensor = self.embedding(inputs.x, inputs.num_nodes)
        near = self.from_distance(space.distances)  # [P, C]
        for _ in range(self.rounds):
            atoms = self.from_atom(c).index_select(0, space.column)
            c = c + csr_sum(self.to_atom(atoms * near).tanh(), space.rows)
        out: Tensor = self.dropout(self.out(c).tanh())
        return out


def _positions(data: Any, place: str) -> Tensor:
    """Return the positions of a graph's nodes.

    Raises:
        GraphInputError: If there are none.
    """
    pos = data[fields.POSITIONS] if fields.POSITIONS in data else None
    if pos is None:
        raise GraphInputError(
            f"{place} has no {fields.POSITIONS!r}: dtnn needs positions of nodes in "
            "space, as in QM9 and PyG's datasets of molecules; choose mpnn, which does "
            "not."
        )
    if tuple(pos.shape) != (int(data.num_nodes), 3):
        raise GraphInputError(
            f"{place}: {fields.POSITIONS} must have shape [{int(data.num_nodes)}, 3], "
            f"got {list(pos.shape)}."
        )
    positions: Tensor = pos
    return positions
