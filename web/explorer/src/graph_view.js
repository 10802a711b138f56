// One graph: coloured by class, draggable, usable by mouse, finger and keyboard.
import { drag } from "d3-drag";
import { forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { className, colourOf } from "./classes.js";

const WIDE = [460, 400];
const NARROW = [250, 240]; // on phones, where nodes must be larger in comparison
const AROMATIC = 12;

export class GraphView {
  /** Draw a graph of the content into an element; `choose` and `say` are called back. */
  constructor(root, graph, name, choose, say) {
    this.graph = graph;
    this.choose = choose;
    this.say = say;
    this.cursor = 0;
    const narrow = root.clientWidth < 280;
    const [width, height] = narrow ? NARROW : WIDE;
    const size = (narrow ? 42 : 62) / Math.sqrt(Math.max(graph.n, 1));
    this.radius = Math.max(narrow ? 3 : 4.5, Math.min(narrow ? 12 : 15, size));
    const margin = this.radius + 8;
    const reach = (axis) => Math.max(...graph.places.map((place) => Math.abs(place[axis])), 1e-9);
    const scale = Math.min((width / 2 - margin) / reach(0), (height / 2 - margin) / reach(1));
    this.homes = graph.places.map(([x, y]) => [width / 2 + scale * x, height / 2 + scale * y]);
    this.nodes = this.homes.map(([x, y], v) => ({ v, x, y, home: [x, y] }));
    this.links = graph.edges.map(([source, target], e) => ({ source, target, e }));
    this.svg = select(root)
      .append("svg")
      .attr("viewBox", `0 0 ${width} ${height}`)
      .attr("class", "graph")
      .attr("tabindex", 0)
      .attr("role", "application")
      .attr("aria-label", `${name}: arrow keys move from node to node, Enter selects`);
    this.plane = this.svg.append("g");
    this.pair = this.plane.append("line").attr("class", "pair");
    this.#drawEdges();
    this.#drawNodes();
    this.#simulate();
    this.#zoomable();
    this.svg
      .on("keydown", (event) => this.#key(event))
      .on("focus", () => this.svg.node().matches(":focus-visible") && this.#mark())
      .on("blur", () => this.item.classed("cursor", false));
    this.#place();
  }

  #drawEdges() {
    const { bonds, edgeLabels } = this.graph;
    const lines = this.links.flatMap((link) => {
      const bond = bonds?.[link.e] ?? 1;
      if (bond === 2) return [-1.8, 1.8].map((shift) => ({ link, shift }));
      if (bond === 3) return [-3, 0, 3].map((shift) => ({ link, shift }));
      if (bond === AROMATIC) return [0, 3.6 * this.#ringSide(link)].map((shift) => ({ link, shift, dashed: shift !== 0 }));
      return [{ link, shift: 0 }];
    });
    this.lines = this.plane
      .append("g")
      .attr("class", "edges")
      .selectAll("line")
      .data(lines)
      .join("line")
      .classed("aromatic", (d) => d.dashed);
    if (edgeLabels && !bonds) {
      this.lines.append("title").text((d) => `edge ${edgeLabels[d.link.e]}`);
    }
  }

  /** Return on which side of an aromatic bond its ring lies, 1 or -1. */
  #ringSide({ source, target }) {
    const [a, b] = [this.homes[source], this.homes[target]];
    let side = 0;
    this.graph.edges.forEach(([u, v], e) => {
      const ends = [u, v].filter((w) => w !== source && w !== target);
      if (this.graph.bonds[e] !== AROMATIC || ends.length !== 1) return;
      const [x, y] = this.homes[ends[0]];
      side += (x - a[0]) * (b[1] - a[1]) - (y - a[1]) * (b[0] - a[0]);
    });
    return side < 0 ? -1 : 1;
  }

  #drawNodes() {
    this.item = this.plane
      .append("g")
      .selectAll("g")
      .data(this.nodes)
      .join("g")
      .attr("class", "node")
      .attr("data-node", (d) => d.v)
      .on("click", (event, d) => {
        this.cursor = d.v;
        this.choose(d.v);
      });
    this.item.append("circle").attr("class", "ring").attr("r", this.radius + 4);
    this.item.append("circle").attr("class", "body").attr("r", this.radius);
    this.item.append("text").attr("dy", "0.35em");
    this.item.append("title");
  }

  #simulate() {
    const length = (d) => Math.hypot(d.source.home[0] - d.target.home[0], d.source.home[1] - d.target.home[1]);
    const bonds = forceLink(this.links).strength(0.25);
    this.simulation = forceSimulation(this.nodes)
      .force("link", bonds)
      .force("x", forceX((d) => d.home[0]).strength(0.12))
      .force("y", forceY((d) => d.home[1]).strength(0.12))
      .force("charge", forceManyBody().strength(-4).distanceMax(60))
      .velocityDecay(0.5)
      .stop()
      .on("tick", () => this.#place());
    bonds.distance(length);
    this.item.call(
      drag()
        .on("start", (event, d) => {
          if (!event.active) this.simulation.alphaTarget(0.25).restart();
          d.fx = d.x;
          d.fy = d.y;
        })
        .on("drag", (event, d) => {
          d.fx = event.x;
          d.fy = event.y;
        })
        .on("end", (event, d) => {
          if (!event.active) this.simulation.alphaTarget(0);
          d.home = [d.fx, d.fy]; // it stays where it was put
          d.fx = d.fy = null;
          this.simulation.force("x").initialize(this.nodes, Math.random);
          this.simulation.force("y").initialize(this.nodes, Math.random);
        }),
    );
  }

  #zoomable() {
    const behaviour = zoom()
      .scaleExtent([0.7, 8])
      .filter((event) => {
        if (event.type === "wheel") return event.ctrlKey || event.metaKey;
        if (event.type === "touchstart") return event.touches.length > 1;
        return !event.button && event.type !== "dblclick";
      })
      .on("zoom", (event) => this.plane.attr("transform", event.transform));
    this.svg.call(behaviour).on("dblclick.reset", () => this.reset());
    this.unzoom = () => this.svg.call(behaviour.transform, zoomIdentity);
  }

  /** Put every node back to where it was drawn first. */
  reset() {
    this.simulation.stop();
    this.nodes.forEach((d, v) => {
      [d.x, d.y] = this.homes[v];
      Object.assign(d, { home: this.homes[v], vx: 0, vy: 0, fx: null, fy: null });
    });
    this.simulation.nodes(this.nodes);
    this.unzoom();
    this.#place();
  }

  #place() {
    this.item.attr("transform", (d) => `translate(${d.x.toFixed(1)},${d.y.toFixed(1)})`);
    this.lines.each(function ({ link, shift }) {
      const { source: a, target: b } = link;
      const long = Math.hypot(b.x - a.x, b.y - a.y) || 1;
      const [x, y] = [((b.y - a.y) / long) * shift, ((a.x - b.x) / long) * shift];
      this.setAttribute("x1", (a.x + x).toFixed(1));
      this.setAttribute("y1", (a.y + y).toFixed(1));
      this.setAttribute("x2", (b.x + x).toFixed(1));
      this.setAttribute("y2", (b.y + y).toFixed(1));
    });
    this.#placePair();
  }

  #placePair() {
    const [u, v] = this.witness ?? [];
    this.pair.style("display", v === undefined || u === v ? "none" : null);
    if (v === undefined) return;
    const [a, b] = [this.nodes[u], this.nodes[v]];
    this.pair.attr("x1", a.x).attr("y1", a.y).attr("x2", b.x).attr("y2", b.y);
  }

  #key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step && this.graph.n) {
      this.cursor = this.#towards(step);
    } else if (event.key === "Home" || event.key === "End") {
      this.cursor = event.key === "Home" ? 0 : this.graph.n - 1;
    } else if ((event.key === "Enter" || event.key === " ") && this.graph.n) {
      this.choose(this.cursor);
    } else {
      return;
    }
    event.preventDefault();
    this.#mark();
  }

  /** Return the nearest node in a direction; the cursor's own if there is none. */
  #towards([dx, dy]) {
    const here = this.nodes[this.cursor];
    let [best, found] = [Infinity, this.cursor];
    for (const d of this.nodes) {
      const along = (d.x - here.x) * dx + (d.y - here.y) * dy;
      const aside = Math.abs((d.x - here.x) * dy + (d.y - here.y) * dx);
      if (d.v !== this.cursor && along > 0.5 && along + 2.5 * aside < best) {
        [best, found] = [along + 2.5 * aside, d.v];
      }
    }
    return found;
  }

  #mark() {
    this.item.classed("cursor", (d) => d.v === this.cursor);
    if (this.words && this.graph.n) this.say(this.words(this.cursor));
  }

  /**
   * Show a round.
   *
   * @param {object} look classes, hues, uneven (a set of classes), witness (nodes),
   *   lit (a class or null), round, labels ("class", "number" or "label"),
   *   selected, partner (whether it is the second of two), distance (or null).
   */
  show(look) {
    const { classes, hues, uneven, lit, round, labels, selected, distance } = look;
    const text = {
      class: (v) => className(classes[v], round).slice(0, -String(round).length),
      number: (v) => String(v),
      label: (v) => this.graph.labels?.[v] ?? "",
    }[labels];
    this.words = (v) => {
      const label = this.graph.labels ? `, label ${this.graph.labels[v]}` : "";
      const far = distance && distance[v] > 0 ? `, at distance ${distance[v]}` : "";
      const differs = uneven.has(classes[v]) ? ", not equally often in both graphs" : "";
      return `node ${v}${label}, class ${className(classes[v], round)}${differs}${far}`;
    };
    const small = this.radius < 5.5;
    this.item
      .classed("uneven", (d) => uneven.has(classes[d.v]))
      .classed("lit", (d) => lit !== null && classes[d.v] === lit)
      .classed("dim", (d) => lit !== null && classes[d.v] !== lit)
      .classed("witness", (d) => Boolean(look.witness?.includes(d.v)))
      .classed("chosen", (d) => d.v === selected && !look.partner)
      .classed("partner", (d) => d.v === selected && look.partner)
      .classed("far", (d) => Boolean(distance) && (distance[d.v] < 0 || distance[d.v] > 2))
      .classed("second", (d) => Boolean(distance) && distance[d.v] === 2)
      .attr("data-class", (d) => className(classes[d.v], round));
    this.item.select(".body").style("fill", (d) => colourOf(hues[classes[d.v]]));
    this.item
      .select("text")
      .style("font-size", (d) => {
        const size = text(d.v).length > 2 ? 0.72 : 1;
        return `${Math.max(4, this.radius * (labels === "label" ? 1.05 : 0.95) * size)}px`;
      })
      .text((d) => (small && labels === "class" ? "" : text(d.v)));
    this.item.select("title").text((d) => this.words(d.v));
    this.witness = look.witness;
    this.lines.classed("near", ({ link }) => {
      if (!distance) return false;
      return distance[link.source.v] === 0 || distance[link.target.v] === 0;
    });
    this.lines.classed("inner", ({ link }) => {
      if (!distance) return false;
      return distance[link.source.v] === 1 && distance[link.target.v] === 1;
    });
    this.#placePair();
  }
}
