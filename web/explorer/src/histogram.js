// How often each class occurs: the first graph upwards, the second downwards.
import { scaleBand, scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { className, colourOf } from "./classes.js";

const WIDTH = 420;
const HEIGHT = 210;
const MIDDLE = 22;

export class Histogram {
  /** Draw into an element; `light` is called with the class to light up, or that was. */
  constructor(root, names, light, say) {
    Object.assign(this, { names, light, say });
    this.note = select(root).append("p").attr("class", "note");
    this.svg = select(root)
      .append("svg")
      .attr("viewBox", `0 0 ${WIDTH} ${HEIGHT}`)
      .attr("class", "histogram")
      .attr("role", "application")
      .attr("tabindex", 0)
      .on("keydown", (event) => this.#key(event));
    names.forEach((name, g) => {
      const text = this.svg.append("text").attr("class", "side").attr("x", 2).attr("y", g ? HEIGHT - 4 : 11);
      text.text(`${g ? "↓" : "↑"} ${name.length > 40 ? `${name.slice(0, 39)}…` : name}`);
    });
  }

  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = this.bars.findIndex(([c]) => c === this.lit);
    const next = this.bars[at < 0 ? 0 : (at + step + this.bars.length) % this.bars.length];
    if (!next || next[0] === this.lit) return;
    this.light(next[0]);
    this.say(this.words(next));
  }

  show({ bars, kinds, unevenKinds: uneven }, round, objects, witness, lit) {
    const [first, second] = this.names;
    this.words = (d) => `${className(d[0], round)}: ${d[1]} in ${first}, ${d[2]} in ${second}`;
    Object.assign(this, { bars, lit });
    const hidden = kinds - bars.length;
    const differ = uneven ? `${uneven} of them not equally often in both` : "all equally often in both";
    const said = `${kinds} ${kinds === 1 ? "class" : "classes"} of ${objects}, ${differ}`;
    this.note.text(hidden ? `${said}; ${hidden} further ones are not drawn` : said);
    this.svg.attr("aria-label", `Round ${round}: ${said}; arrow keys light up one after the other`);
    const most = Math.max(1, ...bars.flatMap(([, a, b]) => [a, b]));
    const half = (HEIGHT - MIDDLE) / 2;
    const x = scaleBand(bars.map(([c]) => c), [0, WIDTH]).paddingInner(0.25).paddingOuter(0.15);
    const width = Math.min(x.bandwidth(), 56);
    const left = (d) => x(d[0]) + (x.bandwidth() - width) / 2;
    const scale = scaleLinear([0, most], [0, half - 30]);
    const y = (count) => (count ? Math.max(2, scale(count)) : 0);
    const bar = this.svg
      .selectAll("g.class")
      .data(bars, (d) => `${round}:${d[0]}`)
      .join((enter) => {
        const group = enter.append("g");
        group.append("rect").attr("class", "up");
        group.append("rect").attr("class", "down");
        group.append("text").attr("class", "name");
        group.append("text").attr("class", "count up");
        group.append("text").attr("class", "count down");
        group.append("title");
        return group;
      })
      .attr("class", "class")
      .classed("uneven", (d) => d[1] !== d[2])
      .classed("witness", (d) => d[0] === witness)
      .classed("dim", (d) => lit !== null && d[0] !== lit)
      .on("click", (event, d) => this.light(d[0]));
    const middle = (d) => left(d) + width / 2;
    bar.select("rect.up").attr("y", (d) => half - y(d[1])).attr("height", (d) => y(d[1]));
    bar.select("rect.down").attr("y", half + MIDDLE).attr("height", (d) => y(d[2]));
    bar.selectAll("rect").attr("width", width);
    bar.each(function (d) {
      select(this).selectAll("rect").attr("x", left(d)).style("fill", colourOf(d[3]));
    });
    bar
      .select(".name")
      .attr("x", middle)
      .attr("y", HEIGHT / 2)
      .attr("dy", "0.35em")
      .text((d) => (width < 14 && bars.length > 26 ? "" : className(d[0], round)))
      .style("font-size", width < 20 ? "8px" : null);
    const count = (part, place, value) =>
      bar
        .select(`.count.${part}`)
        .attr("x", middle)
        .attr("y", place)
        .text((d) => (width < 14 ? "" : value(d)))
        .style("font-size", width < 20 ? "8px" : null);
    count("up", (d) => half - y(d[1]) - 4, (d) => d[1]);
    count("down", (d) => half + MIDDLE + y(d[2]) + 11, (d) => d[2]);
    bar.select("title").text(this.words);
  }
}
