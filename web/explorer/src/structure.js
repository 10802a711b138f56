// What can be read off a graph: neighbours, shells, ego-nets.

/** Return the neighbours of every node. */
export function neighbours(graph) {
  const out = Array.from({ length: graph.n }, () => []);
  for (const [u, v] of graph.edges) {
    out[u].push(v);
    out[v].push(u);
  }
  return out;
}

/** Return the distance of every node from one; -1 where there is no way. */
export function distances(around, start) {
  const out = new Array(around.length).fill(-1);
  out[start] = 0;
  const queue = [start];
  for (const v of queue) {
    for (const u of around[v]) {
      if (out[u] < 0) {
        out[u] = out[v] + 1;
        queue.push(u);
      }
    }
  }
  return out;
}

/** Return, per distance k, the nodes there and the edges inwards, within, outwards. */
export function shells(around, distance) {
  const out = [];
  distance.forEach((k, v) => {
    if (k < 0) return;
    out[k] ??= { nodes: 0, within: 0, outwards: 0 };
    out[k].nodes += 1;
    for (const u of around[v]) {
      if (distance[u] === k && u > v) out[k].within += 1;
      if (distance[u] === k + 1) out[k].outwards += 1;
    }
  });
  return out;
}

/** Return the nodes within a radius of a node, itself left out, and their edges. */
export function punctured(graph, distance, radius) {
  const inside = (v) => distance[v] > 0 && distance[v] <= radius;
  const nodes = distance.map((_, v) => v).filter(inside);
  const edges = graph.edges.filter(([u, v]) => inside(u) && inside(v));
  return { nodes, edges };
}

/** Return how many connected parts some nodes and edges have. */
export function parts({ nodes, edges }) {
  const root = new Map(nodes.map((v) => [v, v]));
  const find = (v) => {
    while (root.get(v) !== v) v = root.get(v);
    return v;
  };
  for (const [u, v] of edges) root.set(find(u), find(v));
  return nodes.filter((v) => root.get(v) === v).length;
}
