import torch
from torch_geometric.datasets import FakeDataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import global_add_pool

from sekgnn import AddKHopEdges, SEKConv


class Net(torch.nn.Module):  # a network of SEK layers, in a plain PyG loop
    def __init__(self):
        super().__init__()
        self.first, self.second = SEKConv(8, 16, num_hops=2), SEKConv(16, 2, num_hops=2)

    def forward(self, b):
        h = self.first(b.x, b.hop_edge_index, b.hop_order).relu()
        return global_add_pool(self.second(h, b.hop_edge_index, b.hop_order), b.batch)


data = FakeDataset(64, 20, 4, 8, num_classes=2, transform=AddKHopEdges(2))
net = Net()
adam = torch.optim.Adam(net.parameters())
for batch in DataLoader(data, batch_size=8, shuffle=True):
    loss = torch.nn.functional.cross_entropy(net(batch), batch.y)
    adam.zero_grad(), loss.backward(), adam.step()
print(f"loss {loss:.2f}")
