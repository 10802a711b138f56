// The page: which test, which round, which node; everything else follows.
import { select } from "d3-selection";
import { className } from "./classes.js";
import { GraphView } from "./graph_view.js";
import { Histogram } from "./histogram.js";
import { Inspector } from "./inspector.js";
import { distances, neighbours } from "./structure.js";

const content = JSON.parse(document.getElementById("content").textContent);
const around = content.graphs.map(neighbours);
const state = {
  test: content.start,
  round: 0,
  chosen: null, // [graph, node]
  partner: null,
  byHand: false,
  byPairs: false,
  lit: null,
  labels: content.graphs.some((graph) => graph.labels) ? "label" : "class",
  playing: null,
};
const element = (id) => select(`#${id}`);
const test = () => content.tests[state.test];
const last = () => test().rounds.length - 1;
const plural = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

// ---- what is always there -------------------------------------------------
content.names.forEach((name, g) => {
  element(`name-${g}`).text(name);
  const { n, edges } = content.graphs[g];
  element(`size-${g}`).text(`${plural(n, "node")}, ${plural(edges.length, "edge")}`);
});
element("about").text(content.about).style("display", content.about ? null : "none");
element("home")
  .style("display", content.home ? null : "none")
  .attr("href", content.home || null);
element("version").text(content.version);
const say = (text) => element("said").text(text);
const views = content.graphs.map(
  (graph, g) => new GraphView(element(`graph-${g}`).node(), graph, content.names[g], (v) => choose(g, v), say),
);
const histogram = new Histogram(
  element("histogram").node(),
  content.names,
  (c) => {
    state.lit = state.lit === c ? null : c;
    render();
  },
  say,
);
const inspector = new Inspector(element("inspector").node(), content);
drawLadder();

// ---- the ladder of tests --------------------------------------------------
function drawLadder() {
  const row = element("ladder").selectAll("label").data(content.tests).join("label");
  row
    .attr("class", (d) => (d.leftOut ? "missing" : d.separated ? "apart" : "alike"))
    .append("input")
    .attr("type", "radio")
    .attr("name", "test")
    .attr("value", (_, i) => i)
    .property("disabled", (d) => Boolean(d.leftOut))
    .on("change", (event) => chooseTest(Number(event.target.value)));
  const words = row.append("span").attr("class", "words");
  words.append("strong").text((d) => d.label);
  words.append("span").attr("class", "about").text((d) => d.about);
  const stops = words.append("span").attr("class", "stops");
  stops.append("span").attr("class", "verdict").text(stopWords);
  stops
    .append("span")
    .attr("class", "dots")
    .attr("aria-hidden", "true")
    .selectAll("i")
    .data((d) => (d.rounds?.length > 1 ? d.rounds : []).slice(0, 12).map((_, r) => d.separated && r >= d.round))
    .join("i")
    .classed("differ", (d) => d);
}

function stopWords(rung) {
  if (rung.leftOut) return `left out: ${rung.leftOut}`;
  if (rung.separated) return `≠ separates at round ${rung.round}`;
  return `= no difference, stable at round ${rung.rounds.length - 1}`;
}

// ---- what people do -------------------------------------------------------
function chooseTest(i) {
  if (content.tests[i].leftOut) return;
  state.test = i;
  state.round = test().separated ? test().round : last();
  state.lit = null;
  const { witness, counterpart } = test();
  if (witness && !state.byHand) {
    state.chosen = [witness.graph, witness.nodes[0]];
    state.partner = counterpart ? counterpart.nodes[0] : match(...state.chosen);
  } else if (state.chosen && !state.byHand) {
    state.partner = match(...state.chosen);
  }
  render(true);
}

function chooseRound(round) {
  state.round = Math.max(0, Math.min(last(), round));
  state.lit = null;
  render();
}

function choose(g, v) {
  if (state.byHand && state.chosen && g !== state.chosen[0]) {
    state.partner = v;
  } else {
    state.chosen = [g, v];
    if (!state.byHand || state.partner === null) state.partner = match(g, v);
  }
  render(true);
}

/** Return the node of the other graph that keeps the same class for longest. */
function match(g, v) {
  const other = 1 - g;
  const size = content.graphs[other].n;
  if (!size) return null;
  const { witness, counterpart, rounds } = test();
  const same = (r, u) => rounds[r].classes[g][v] === rounds[r].classes[other][u];
  let left = Array.from({ length: size }, (_, u) => u);
  for (let r = 0; r < rounds.length; r += 1) {
    const still = left.filter((u) => same(r, u));
    if (!still.length) break;
    left = still;
  }
  if (witness && counterpart && witness.graph === g && witness.nodes[0] === v) return counterpart.nodes[0];
  return left.includes(v) ? v : left[0];
}

function play() {
  if (state.playing) {
    clearInterval(state.playing);
    state.playing = null;
  } else {
    if (state.round === last()) chooseRound(0);
    state.playing = setInterval(() => {
      chooseRound(state.round + 1);
      if (state.round >= last()) play();
    }, 900);
  }
  element("play").text(state.playing ? "❚❚" : "▶").attr("aria-label", state.playing ? "Pause" : "Play the rounds");
}

element("round").on("input", (event) => chooseRound(Number(event.target.value)));
element("back").on("click", () => chooseRound(state.round - 1));
element("next").on("click", () => chooseRound(state.round + 1));
element("play").on("click", play);
element("reset").on("click", () => views.forEach((view) => view.reset()));
element("labels").on("change", (event) => {
  state.labels = event.target.value;
  render();
});
element("by-hand").on("change", (event) => {
  state.byHand = event.target.checked;
});
element("by-pairs").on("change", (event) => {
  state.byPairs = event.target.checked;
  render();
});
select(document).on("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("select, input[type=text]")) return;
  if (event.key === "[") chooseRound(state.round - 1);
  else if (event.key === "]") chooseRound(state.round + 1);
  else if (/^[1-9]$/.test(event.key) && content.tests[event.key - 1]) chooseTest(event.key - 1);
  else if (event.key === "Escape") {
    Object.assign(state, { lit: null, chosen: null, partner: null });
    render();
  }
});

// ---- what is seen ---------------------------------------------------------
/** Return classes and hues of a graph's nodes, or of their pairs with the chosen one. */
function colours(g) {
  const now = test().rounds[state.round];
  const v = nodeOf(g);
  if (state.byPairs && now.pairs && v !== null) {
    const { n } = content.graphs[g];
    return { classes: now.pairs[g].slice(v * n, (v + 1) * n), hues: now.pairHues, round: state.round };
  }
  return { classes: now.classes[g], hues: now.hues, round: state.round };
}

function nodeOf(g) {
  if (!state.chosen) return null;
  return state.chosen[0] === g ? state.chosen[1] : state.partner;
}

function render(fresh = false) {
  const rung = test();
  const now = rung.rounds[state.round];
  const uneven = new Set(now.uneven);
  const decides = rung.separated && state.round === rung.round;
  const looks = [0, 1].map(colours);
  views.forEach((view, g) => {
    const v = nodeOf(g);
    const place = [rung.witness, rung.counterpart].find((p) => p && p.graph === g);
    view.show({
      ...looks[g],
      uneven,
      lit: state.lit,
      labels: state.labels,
      witness: decides && rung.objects !== "graphs" ? place?.nodes : null,
      selected: v,
      partner: state.chosen?.[0] !== g,
      distance: v === null ? null : distances(around[g], v),
    });
  });
  histogram.show(now, state.round, rung.objects, decides ? rung.witness?.class : null, state.lit);
  element("ladder").selectAll("input").property("checked", (_, i) => i === state.test);
  element("by-pairs-label").style("display", now.pairs ? null : "none");
  showRound(rung);
  showReason(rung);
  showInspector(rung, looks, fresh);
}

function showRound(rung) {
  const input = element("round").attr("max", last()).property("disabled", last() === 0);
  input.property("value", state.round).attr("aria-valuetext", `round ${state.round} of ${last()}`);
  element("round-now").text(`Round ${state.round} of ${last()}`);
  element("back").property("disabled", state.round === 0);
  element("next").property("disabled", state.round === last());
  const differ = rung.separated && state.round >= rung.round;
  element("state")
    .attr("class", differ ? "differ" : "agree")
    .text(differ ? "the graphs differ" : "no difference seen");
}

function showReason(rung) {
  element("verdict")
    .attr("class", rung.separated ? "apart" : "alike")
    .text(
      rung.separated
        ? `${rung.label} tells them apart at round ${rung.round}.`
        : `${rung.label} does not tell them apart.`,
    );
  element("sentence").text(rung.sentence);
  const shown = element("reason");
  shown.selectAll("*").remove();
  let [list, folded] = [null, null];
  for (const line of rung.reasons) {
    const text = line.trim();
    if (!line.startsWith("  ")) {
      // what a colour means can be long: it is folded away, the difference is not
      const meaning = /^Colour .* It means:$/.test(line);
      shown.append("p").text(meaning ? line.replace(/ It means:$/, "") : line);
      folded = meaning ? shown.append("details") : null;
      if (folded) folded.append("summary").text("What this colour means");
      list = (folded ?? shown).append("ul");
    } else {
      list.append("li").classed("deeper", line.startsWith("      ")).text(text);
    }
  }
}

function showInspector(rung, looks, fresh) {
  element("inspector").style("display", state.chosen ? null : "none");
  element("invite").style("display", state.chosen ? "none" : null);
  if (!state.chosen) return;
  const nodes = [0, 1].map(nodeOf);
  inspector.show(nodes, state.chosen[0], agreement(rung, nodes), looks, fresh);
}

/** Say for how long a test gives two nodes the same class. */
function agreement(rung, [a, b]) {
  if (a === null || b === null) return "";
  const differs = rung.rounds.findIndex(({ classes }) => classes[0][a] !== classes[1][b]);
  const at = differs < 0 ? last() : differs;
  const [mine, theirs] = [0, 1].map((g) => className(rung.rounds[at].classes[g][[a, b][g]], at));
  if (differs < 0) return `${rung.label} gives both the same class, ${mine}, to the end.`;
  return `${rung.label} tells the two apart from round ${differs} on: ${mine} against ${theirs}.`;
}

const modes = [["class", "classes"], ["number", "numbers"]];
if (content.graphs.some((graph) => graph.labels)) {
  modes.unshift(["label", content.graphs.some((graph) => graph.bonds) ? "atoms" : "labels"]);
}
element("labels")
  .selectAll("option")
  .data(modes)
  .join("option")
  .attr("value", (d) => d[0])
  .text((d) => d[1]);

if (content.graphs[0].n) {
  state.chosen = [0, 0];
  state.partner = match(0, 0);
}
chooseTest(state.test);
