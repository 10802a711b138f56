// One node beside the corresponding node of the other graph: shells, ego-nets, walks.
import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from "d3-force";
import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { className, colourOf, share } from "./classes.js";
import { distances, neighbours, parts, punctured, shells } from "./structure.js";

const RADII = [1, 2, 3];
const NET = { width: 240, height: 190 };
const CURVE = { width: 300, height: 150, left: 40, right: 10, top: 12, bottom: 24 };
const SIDES = ["mine", "theirs"];

export class Inspector {
  constructor(root, content) {
    this.content = content;
    this.around = content.graphs.map(neighbours);
    this.radius = 1;
    this.kind = 0;
    const box = select(root);
    this.title = box.append("h2");
    this.sentence = box.append("p").attr("class", "lead");
    const columns = box.append("div").attr("class", "columns");
    const table = columns.append("section");
    table.append("h3").text("Shells");
    this.shells = table.append("div").attr("class", "scroll").append("table").attr("class", "shells");
    table.append("p").attr("class", "note").text("One number where both nodes agree.");
    const nets = columns.append("section");
    nets.append("h3").text("Ego-net without its centre");
    this.radii = this.#choices(nets, "Radius", "radius", RADII.map(String), (i) => {
      this.radius = RADII[i];
      this.#showNets();
    });
    const two = nets.append("div").attr("class", "two");
    this.nets = SIDES.map((side) => {
      const figure = two.append("figure");
      const svg = figure
        .append("svg")
        .attr("viewBox", `0 0 ${NET.width} ${NET.height}`)
        .attr("class", `net ${side}`)
        .attr("role", "img");
      return { svg, caption: figure.append("figcaption") };
    });
    const walks = box.append("section").attr("class", "walks");
    walks.append("h3").text("Step vectors of walks");
    this.kinds = this.#choices(walks, "Walks", "kind", content.walks.map(kindName), (i) => {
      this.kind = i;
      this.#showWalks();
    });
    this.place = walks.append("p").attr("class", "note");
    this.legend = walks.append("p").attr("class", "legend");
    this.panels = walks.append("div").attr("class", "panels");
    const details = walks.append("details");
    details.append("summary").text("All values as exact fractions");
    this.values = details.append("div").attr("class", "scroll").append("table");
    this.tip = box.append("div").attr("class", "tip").attr("role", "status");
    const hide = (event) => event.target.closest?.(".curve") || this.#hideTip();
    document.addEventListener("pointerdown", hide);
    document.addEventListener("scroll", () => this.#hideTip(), { passive: true });
  }

  #choices(root, title, name, labels, choose) {
    const set = root.append("fieldset").attr("class", "choices");
    set.append("legend").text(title);
    const label = set.selectAll("label").data(labels).join("label");
    label
      .append("input")
      .attr("type", "radio")
      .attr("name", name)
      .attr("value", (_, i) => i)
      .on("change", (event) => choose(Number(event.target.value)));
    label.append("span").text((d) => d);
    return label;
  }

  /**
   * Show two nodes.
   *
   * @param {number[]} nodes The node of either graph.
   * @param {number} first The graph of the node that was selected.
   * @param {string} sentence What the test says about them.
   * @param {Array} looks Classes and hues of either graph, and the round.
   * @param {boolean} fresh Whether to look for the first walks that differ.
   */
  show(nodes, first, sentence, looks, fresh) {
    Object.assign(this, { nodes, order: [first, 1 - first], looks });
    const name = (g) => `node ${nodes[g]} of ${this.content.names[g]}`;
    const [mine, theirs] = this.order;
    this.title.text(
      nodes[theirs] === null
        ? `Node ${nodes[mine]} of ${this.content.names[mine]}`
        : `Node ${nodes[mine]} of ${this.content.names[mine]} beside ${name(theirs)}`,
    );
    this.sentence.text(sentence);
    this.distance = nodes.map((v, g) => (v === null ? null : distances(this.around[g], v)));
    if (fresh) {
      const differs = this.content.walks.findIndex((_, i) => this.#differs(i));
      if (differs >= 0 && !this.#differs(this.kind)) this.kind = differs;
    }
    this.#showShells();
    this.#showNets();
    this.#showWalks();
  }

  #differs(kind) {
    const { classes, steps } = this.content.walks[kind];
    if (!steps || this.nodes.includes(null)) return false;
    return classes[0][this.nodes[0]] !== classes[1][this.nodes[1]];
  }

  #showShells() {
    const found = this.order.map((g) => this.distance[g] && shells(this.around[g], this.distance[g]));
    const depth = Math.max(...found.map((s) => s?.length ?? 0));
    const columns = ["nodes", "within", "outwards"];
    const table = this.shells;
    table.selectAll("*").remove();
    const head = table.append("thead").append("tr");
    for (const text of ["distance", "nodes", "edges within", "edges outwards"]) head.append("th").text(text);
    const body = table.append("tbody");
    for (let k = 0; k < depth; k += 1) {
      const row = body.append("tr");
      row.append("td").text(k);
      for (const column of columns) {
        const values = found.filter(Boolean).map((s) => s[k]?.[column] ?? 0);
        const cell = row.append("td");
        if (new Set(values).size === 1) {
          cell.text(values[0]);
        } else {
          cell.attr("class", "differs");
          values.forEach((value, side) => cell.append("span").attr("class", SIDES[side]).text(value));
        }
      }
    }
  }

  #showNets() {
    this.radii.select("input").property("checked", (_, i) => RADII[i] === this.radius);
    this.order.forEach((g, side) => this.#drawNet(this.nets[side], g));
  }

  #drawNet({ svg, caption }, g) {
    svg.selectAll("*").remove();
    const name = this.content.names[g];
    if (this.nodes[g] === null) {
      caption.text(`${name} has no node to compare with`);
      return;
    }
    const net = punctured(this.content.graphs[g], this.distance[g], this.radius);
    const count = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
    const said = `${count(net.nodes.length, "node")}, ${count(net.edges.length, "edge")}, ${count(parts(net), "part")}`;
    caption.text(`${name}, node ${this.nodes[g]}: ${said}`);
    svg.attr("aria-label", `Ego-net of radius ${this.radius} without its centre: ${said}`);
    const at = new Map(net.nodes.map((v, i) => [v, i]));
    const dots = net.nodes.map((v) => ({ v }));
    const links = net.edges.map(([u, v]) => ({ source: at.get(u), target: at.get(v) }));
    const many = dots.length;
    const size = many > 60 ? 3.5 : many > 20 ? 6 : 10.5;
    forceSimulation(dots)
      .force("link", forceLink(links).distance(many > 20 ? 16 : 40))
      .force("charge", forceManyBody().strength(many > 20 ? -40 : -170))
      .force("x", forceX().strength(0.05))
      .force("y", forceY().strength(0.09))
      .force("apart", forceCollide(size + 2))
      .stop()
      .tick(many > 100 ? 120 : 260);
    const reach = (axis) => Math.max(...dots.map((d) => Math.abs(d[axis])), 1);
    const fit = Math.min((NET.width / 2 - size - 4) / reach("x"), (NET.height / 2 - size - 4) / reach("y"), 1.3);
    const x = (d) => NET.width / 2 + d.x * fit;
    const y = (d) => NET.height / 2 + d.y * fit;
    svg
      .append("g")
      .attr("class", "edges")
      .selectAll("line")
      .data(links)
      .join("line")
      .attr("x1", (d) => x(d.source))
      .attr("y1", (d) => y(d.source))
      .attr("x2", (d) => x(d.target))
      .attr("y2", (d) => y(d.target));
    const { classes, hues, round } = this.looks[g];
    const dot = svg
      .selectAll("g.node")
      .data(dots)
      .join("g")
      .attr("class", "node")
      .attr("transform", (d) => `translate(${x(d)},${y(d)})`);
    dot
      .append("circle")
      .attr("class", "body")
      .attr("r", (d) => (this.distance[g][d.v] === this.radius && this.radius > 1 ? size * 0.75 : size))
      .style("fill", (d) => colourOf(hues[classes[d.v]]));
    if (size > 5) {
      const labels = this.content.graphs[g].labels;
      dot
        .append("text")
        .attr("dy", "0.35em")
        .style("font-size", (d) => `${size * (String(labels?.[d.v] ?? d.v).length > 2 ? 0.72 : 0.95)}px`)
        .text((d) => labels?.[d.v] ?? d.v);
    }
    dot
      .append("title")
      .text((d) => `node ${d.v}, distance ${this.distance[g][d.v]}, class ${className(classes[d.v], round)}`);
  }

  #showWalks() {
    this.kinds.select("input").property("checked", (_, i) => i === this.kind);
    this.kinds.classed("differs", (_, i) => this.#differs(i));
    const kind = this.content.walks[this.kind];
    const both = !this.nodes.includes(null);
    const same = this.#differs(this.kind) ? "They differ." : "They are the same for both nodes.";
    const most = Math.max(...this.content.walks.map(({ steps }) => steps));
    const cut = kind.steps < most ? ` Fractions of more than ${kind.steps} step${kind.steps === 1 ? "" : "s"} are too long.` : "";
    this.place.text(
      kind.steps
        ? `${capital(kind.place)}: probabilities after t steps, summed. ${both ? same : ""}${cut}`
        : `${capital(kind.place)}: left out, the exact fractions of these graphs are too long.`,
    );
    this.legend.selectAll("*").remove();
    this.order.forEach((g, side) => {
      if (this.nodes[g] === null || !kind.steps) return;
      const entry = this.legend.append("span").attr("class", SIDES[side]);
      entry.append("i");
      entry.append("span").text(`node ${this.nodes[g]} of ${this.content.names[g]}`);
    });
    const curves = this.order.map((g) => {
      if (!kind.steps || this.nodes[g] === null) return {};
      return kind.curves[kind.classes[g][this.nodes[g]]];
    });
    const names = [...new Set(curves.flatMap((curve) => Object.keys(curve)))];
    this.panels.selectAll("*").remove();
    for (const name of names) this.#drawPanel(name, curves.map((curve) => curve[name] ?? []), kind.steps);
    if (kind.steps && !names.length) this.panels.append("p").attr("class", "note").text("There are no other nodes.");
    this.#listValues(names, curves, kind.steps);
    this.#hideTip();
  }

  #drawPanel(name, curves, steps) {
    const figure = this.panels.append("figure");
    figure.append("figcaption").text(name);
    const { width, height, left, right, top, bottom } = CURVE;
    const values = curves.map((curve) => curve.map(([sum]) => share(sum)));
    const most = Math.max(...values.flat(), 0) || 1;
    const x = scaleLinear([1, Math.max(steps, 2)], [left, width - right]);
    const y = scaleLinear([0, most], [height - bottom, top]).nice(3);
    const svg = figure.append("svg").attr("viewBox", `0 0 ${width} ${height}`).attr("class", "curve");
    const axis = svg.append("g").attr("class", "axis");
    for (const t of y.ticks(3)) {
      axis.append("line").attr("x1", left).attr("x2", width - right).attr("y1", y(t)).attr("y2", y(t));
      axis.append("text").attr("class", "y").attr("x", left - 5).attr("y", y(t)).attr("dy", "0.32em").text(y.tickFormat(3)(t));
    }
    for (let t = 1; t <= steps; t += 1) {
      axis.append("text").attr("class", "x").attr("x", x(t)).attr("y", height - 8).text(t);
    }
    const texts = (t) => curves.map((curve) => (curve[t - 1] ?? []).join(" "));
    const compared = !this.nodes.includes(null);
    const apart = compared ? Array.from({ length: steps }, (_, i) => i + 1).find((t) => texts(t)[0] !== texts(t)[1]) : undefined;
    if (apart) {
      svg.append("line").attr("class", "apart").attr("x1", x(apart)).attr("x2", x(apart)).attr("y1", top).attr("y2", height - bottom);
      figure.classed("differs", true).select("figcaption").append("b").text(` · differ from t = ${apart}`);
    }
    values.forEach((curve, side) => {
      if (!curve.length) return;
      const points = curve.map((value, i) => [x(i + 1), y(value)]);
      svg.append("path").attr("class", SIDES[side]).attr("d", `M${points.join("L")}`);
      svg
        .append("g")
        .selectAll("circle")
        .data(points)
        .join("circle")
        .attr("class", SIDES[side])
        .attr("cx", (d) => d[0])
        .attr("cy", (d) => d[1])
        .attr("r", side ? 2.2 : 3.4);
    });
    const cursor = svg.append("line").attr("class", "cursor").attr("y1", top).attr("y2", height - bottom);
    const point = (event) => {
      const box = svg.node().getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * width;
      const t = Math.max(1, Math.min(steps, Math.round(x.invert(place))));
      cursor.attr("x1", x(t)).attr("x2", x(t)).style("display", "inline");
      this.#showTip(event, name, t, curves);
    };
    svg.on("pointermove pointerdown", point).on("pointerleave", (event) => {
      if (event.pointerType === "touch") return; // it stays until the next tap
      cursor.style("display", null);
      this.#hideTip();
    });
  }

  #showTip(event, name, t, curves) {
    this.tip.selectAll("*").remove();
    this.tip.append("strong").text(`${name}, t = ${t}`);
    this.order.forEach((g, side) => {
      const [sum, multiset] = curves[side][t - 1] ?? [];
      if (sum === undefined) return;
      const line = this.tip.append("p").attr("class", SIDES[side]);
      line.append("span").text(`${this.content.names[g]}: `);
      line.append("code").text(multiset ? `${multiset}, sum ${sum}` : sum);
    });
    const box = this.tip.classed("shown", true).node().getBoundingClientRect();
    const [wide, high] = [document.documentElement.clientWidth, window.innerHeight];
    const left = Math.max(8, Math.min(event.clientX + 14, wide - box.width - 8));
    const below = event.clientY + 16;
    this.tip.style("left", `${left}px`).style("top", `${below + box.height > high ? event.clientY - box.height - 12 : below}px`);
  }

  #hideTip() {
    this.tip.classed("shown", false);
  }

  #listValues(names, curves, steps) {
    const table = this.values;
    table.selectAll("*").remove();
    const head = table.append("tr");
    for (const text of ["walks", "t", ...this.order.map((g) => this.content.names[g])]) head.append("th").text(text);
    for (const name of names) {
      for (let t = 1; t <= steps; t += 1) {
        const cells = curves.map((curve) => {
          const [sum, multiset] = curve[name]?.[t - 1] ?? ["–"];
          return multiset ? `${multiset}, sum ${sum}` : sum;
        });
        const row = table.append("tr").classed("differs", !this.nodes.includes(null) && cells[0] !== cells[1]);
        row.append("td").text(t === 1 ? name : "");
        row.append("td").text(t);
        for (const cell of cells) row.append("td").append("code").text(cell);
      }
    }
  }
}

function kindName({ scope, radius }) {
  return radius ? `${scope} ${radius}` : scope;
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}
