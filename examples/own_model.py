import torch
from torch_geometric.nn import GINConv, global_mean_pool

from sekgnn import SEKClassifier, register_model
from sekgnn.graphs import cycle_graph, path_graph


@register_model("my-gin")  # or sekgnn train --model my_module:MyGIN --model-options ...
class MyGIN(torch.nn.Module):
    def __init__(self, in_channels, out_channels, encoding, width=8):
        super().__init__()
        lift = torch.nn.Linear(encoding.num_features, width)
        self.conv, self.head = GINConv(lift), torch.nn.Linear(width, out_channels)

    def forward(self, b):
        h = self.conv(b.sub_enc.flatten(1), b.edge_index).relu()
        return self.head(global_mean_pool(h, b.batch))


graphs = [make(n) for n in range(4, 16) for make in (cycle_graph, path_graph)]
labels = ["cycle", "path"] * 12
model = SEKClassifier("my-gin", model_options={"width": 16}, epochs=60, lr=0.02)
model.fit(graphs, labels).save("mine.safetensors")
print(SEKClassifier.load("mine.safetensors").predict(graphs[:4]))
