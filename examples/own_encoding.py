from dataclasses import dataclass

import networkx as nx
from numpy.linalg import matrix_power

import sekgnn
from sekgnn.training.predictor import Predictor


@sekgnn.register_encoding("near_walks")
@dataclass(frozen=True)
class NearWalks(sekgnn.SubstructureEncoding):  # closed walks among a node's neighbours
    channels = ("closed",)
    length: int = 4

    def encode_graph(self, g):  # [n, 1, length]
        adj = [g.induced(g.neighbors(v)).adjacency() for v in range(g.num_nodes)]
        return [[[matrix_power(a, t).trace() for t in range(self.length)]] for a in adj]


rings = [nx.circulant_graph(n, [1, k]) for n in range(10, 30) for k in (2, 3)]
task = sekgnn.datasets.networkx_task(rings, ["triangles", "plain"] * 20)
best = sekgnn.train(task, "run", encoding="near_walks", epochs=40, lr=0.01).headline
print(best.metric, best.value, Predictor.load("run").predict(task.graphs[:2]))
print(sekgnn.compare(rings[0], rings[1], encodings="near_walks"))
