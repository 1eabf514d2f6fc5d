// The legend of the figure: one entry for each curve, and what the marks mean. A click on an entry shows that
// curve alone, a second one all of them.
import { RESULTS } from "../core/constants.js";
import { listLevels, nameColumn } from "../core/column_choice.js";
import { fill, make } from "./dom.js";
import { isBars, isPlain, isSteps, slotOf } from "./figure.js";
import { describeLevel } from "./filter_text.js";

const SVG = "http://www.w3.org/2000/svg";
// In the order of the markers and dashes of report.js.
const SHAPES = [
  "M15 3.5a4.5 4.5 0 1 0 .01 0Z",
  "M11 4h8v8h-8Z",
  "M15 3l5 9h-10Z",
  "M15 2.5l5 5.5-5 5.5-5-5.5Z",
  "M15 13l5-9h-10Z",
  "M13 3h4v3h3v4h-3v3h-4v-3h-3v-4h3Z",
  "M11 2.8l4 3.4 4-3.4 1.6 1.6-3.6 3.6 3.6 3.6-1.6 1.6-4-3.4-4 3.4-1.6-1.6 3.6-3.6-3.6-3.6Z",
];
const DASHES = ["", "6 3", "6 2 2 2", "2 2", "5 1 1 1 1 1", "1 1.5", "9 3"];

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...Node} children
 */
function draw(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/**
 * The sample of a curve: its line and its marker.
 * @param {Slot} slot
 * @param {{line?: boolean, marker?: boolean}} [how]
 */
export function drawSample(slot, how) {
  const { line = true, marker = true } = how || {};
  /** @type {SVGElement[]} */
  const parts = [];
  if (line) {
    parts.push(
      draw("path", {
        d: "M1 8H29",
        fill: "none",
        stroke: slot.colour,
        "stroke-width": 2,
        "stroke-dasharray": DASHES[slot.look],
      }),
    );
  }
  if (marker) parts.push(draw("path", { d: SHAPES[slot.look], fill: slot.colour }));
  return draw("svg", {
    viewBox: "0 0 30 16",
    width: 30,
    height: 16,
    "aria-hidden": "true",
    class: "sample",
  }, ...parts);
}

/** @param {string} kind */
function mark(kind) {
  const common = { fill: "none", stroke: "currentColor", "stroke-width": 1.6 };
  /** @type {Record<string, SVGElement[]>} */
  const parts = {
    interval: [
      draw("path", { ...common, d: "M10 2v12M7 2h6M7 14h6" }),
      draw("circle", { cx: 10, cy: 8, r: 3.4, fill: "currentColor" }),
    ],
    point: [draw("circle", { cx: 10, cy: 8, r: 3.6, fill: "currentColor" })],
    undecided: [draw("circle", { ...common, cx: 10, cy: 8, r: 4 })],
    provisional: [
      draw("circle", { ...common, cx: 10, cy: 8, r: 4 }),
      draw("circle", { cx: 10, cy: 8, r: 1.3, fill: "currentColor" }),
    ],
    dot: [draw("circle", { cx: 10, cy: 8, r: 2.6, fill: "currentColor", opacity: 0.5 })],
    flagged: [
      draw("circle", { ...common, cx: 10, cy: 8, r: 4.4 }),
      draw("path", { ...common, d: "M7 5l6 6M13 5l-6 6" }),
    ],
    excluded: [draw("circle", { ...common, cx: 10, cy: 8, r: 2.8, "stroke-width": 1.2 })],
    band: [draw("rect", { x: 2, y: 4, width: 16, height: 8, fill: "currentColor", opacity: 0.25 })],
  };
  return draw("svg", {
    viewBox: "0 0 20 16",
    width: 20,
    height: 16,
    "aria-hidden": "true",
    class: "sample",
  }, ...parts[kind]);
}

// One entry for each curve of any panel, in the order of the panels.
/** @param {Exploration} exploration @param {View} view those of results stand in their order */
function listEntries(exploration, view) {
  /** @type {Map<string | number | null, {curve: Curve, number: number}>} */
  const entries = new Map();
  for (const facet of exploration.facets) {
    facet.curves.forEach((curve, number) => {
      const key = exploration.ys.length > 1 ? curve.colourLevel : curve.name;
      if (!entries.has(key)) entries.set(key, { curve, number });
    });
  }
  const listed = Array.from(entries.values());
  return view.colour === RESULTS
    ? listed.sort((one, other) => Number(one.curve.colourLevel) - Number(other.curve.colourLevel))
    : listed;
}

/**
 * Shows the entries and what the marks mean.
 * @param {Element} root
 * @param {ExploredApp} app
 * @param {Figure} figure
 */
export function showLegend(root, app, figure) {
  const { exploration, view } = app;
  const entries = listEntries(exploration, view);
  const column = view.colour ? app.table.column(view.colour) : null;
  const lined = !exploration.x.levels.length;
  const marked = !isSteps(view) && !isBars(view);
  const { colour } = view;
  const filter = colour && view.where[colour];
  const items = entries.map(({ curve, number }) => {
    const slot = slotOf(curve, number);
    const look = drawSample(slot, { line: lined, marker: marked });
    const level = column && curve.colourLevel !== null && curve.colourLevel >= 0
      ? listLevels(app.table, column)[curve.colourLevel]
      : undefined;
    const name = exploration.ys.length > 1 && column ? describeLevel(column, level) : curve.name;
    if (level === undefined || !colour || entries.length < 2) {
      return make("li", {}, make("span", { class: "entry" }, look, name));
    }
    const alone = () => {
      app.setView({ where: { [colour]: { levels: [level], except: false } } });
      app.announce("Only " + name + " is shown.");
    };
    return make(
      "li",
      {},
      make(
        "button",
        { type: "button", class: "entry", title: "Show " + name + " alone", on: { click: alone } },
        look,
        name,
      ),
    );
  });
  app.overlays.forEach((overlay, number) => {
    const look = drawSample({ colour: "currentColor", look: (number + 1) % 7 });
    items.push(make("li", {}, make("span", { class: "entry" }, look, overlay.name)));
  });
  const heading = column ? make("span", { class: "legend-title" }, nameColumn(column)) : null;
  const back = filter
    ? make("button", {
      type: "button",
      class: "plain",
      on: { click: () => app.setView({ where: { [colour]: null } }) },
    }, "all levels")
    : null;
  fill(root, column || app.overlays.length ? [heading, make("ul", {}, items), back] : null);
  return figure;
}

/**
 * The key of the marks that the figure has.
 * @param {Element} root
 * @param {ExploredApp} app
 * @param {Figure} figure
 */
export function explainLegend(root, app, figure) {
  const { exploration, view } = app;
  const layers = figure.panels.flatMap((panel) => panel.layers);
  /** @param {(layer: Layer) => unknown} test */
  const has = (test) => layers.some(test);
  /** @type {[string, string][]} */
  const keys = [];
  const name = exploration.statistic;
  if (isPlain(view)) {
    if (has((layer) => layer.low && layer.kind === "curve" && layer.low.some((one) => one !== null))) {
      keys.push(["interval", name + " with " + exploration.range]);
    } else if (has((layer) => layer.marked && layer.filled)) keys.push(["point", name]);
    if (has((layer) => layer.kind === "area")) keys.push(["band", exploration.range]);
    if (has((layer) => layer.marked && layer.filled === false && !layer.dotted)) {
      keys.push(["undecided", name + ", undecided: too few trials"]);
    }
    if (has((layer) => layer.dotted)) {
      keys.push(["provisional", name + ", provisional: all trials lab-limited"]);
    }
    if (has((layer) => layer.small)) keys.push(["dot", "one trial"]);
    if (figure.count.flagged) keys.push(["flagged", "flagged trial"]);
    if (figure.count.excluded) {
      keys.push([
        "excluded",
        view.count === "all" ? "unusable trial, counted" : "trial that is not counted",
      ]);
    }
  } else if (exploration.range && has((layer) => layer.kind === "area")) {
    keys.push(["band", exploration.range]);
  }
  fill(root, keys.map(([kind, text]) => make("li", {}, mark(kind), text)));
}
