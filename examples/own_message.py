import torch
from torch_geometric.data import Data

from sekgnn import AddKHopEdges, KHopGNN, register_message


@register_message("mean")  # a function of z [N, C], the hops, and k
def mean(z, hops, k):
    return hops.sum(z, k) / hops.sizes(k).clamp(min=1).unsqueeze(1)


@register_message("gated")  # or a module, one for every layer
class Gated(torch.nn.Module):
    def __init__(self, channels, num_hops):
        super().__init__()
        self.gates = torch.nn.Parameter(torch.zeros(num_hops, channels))

    def forward(self, z, hops, k):
        return z + self.gates[k - 1].sigmoid() * hops.sum(z, k)


path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
g = AddKHopEdges(2)(Data(x=torch.rand(3, 4), edge_index=path))
print([KHopGNN(4, 1, num_hops=2, message=name)(g) for name in ("mean", "gated")])
