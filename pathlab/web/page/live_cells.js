// Medians of the cells so far, with intervals that shrink as trials come in. The estimators are those of the
// figure, so both say the same.
import { MAIN_MEASURES, PATH, START } from "../core/constants.js";
import { fill, make } from "./dom.js";
import { estimate } from "../core/estimates.js";
import { formatLevel, formatNumber } from "../core/level_text.js";

const SHOWN = 30;
const REDRAW_MS = 1000;
/** @type {App} */
let app;
/** @type {HTMLDetailsElement} */
let fold;
/** @type {Record<"head" | "body" | "nothing" | "more" | "table", HTMLElement>} */
let parts;
/**
 * @typedef {Object} Cell trials of the same settings
 * @property {number} row its first trial
 * @property {[started: number, value: number][]} samples
 * @property {number} trials
 * @property {Estimate | null} estimate
 */
/**
 * @typedef {Object} Built what the cells were built of
 * @property {Table} table
 * @property {string} key
 * @property {Column[]} factors
 * @property {Column | null} measure
 * @property {string} levels
 */
/** @type {Map<string, Cell>} */
let cells = new Map();
/** @type {Built | null} */
let built = null;
let counted = 0; // rows taken so far
let timer = 0;
let all = false;

// The settings that the plan varies, and the path where there are several.
/** @param {Table} table */
function listFactors(table) {
  return table.columns.filter((column) => column.values && (column.role === "factor" || column.name === PATH))
    .filter((column) => varies(column, table.count));
}

/** @param {Column} column @param {number} count */
function varies(column, count) {
  for (let row = 1; row < count; row += 1) {
    if (!Object.is(column.values[row], column.values[0])) return true;
  }
  return false;
}

/** @param {Table} table */
function measureOf(table) {
  const wanted = [app.view.y && app.view.y[0], ...MAIN_MEASURES];
  return wanted.filter(Boolean).map((name) => table.column(name)).find((column) =>
    column && column.kind === "number" && column.role === "measured"
  ) || null;
}

/** @returns {Built} */
function build() {
  const { table } = app;
  const factors = listFactors(table);
  const measure = measureOf(table);
  const key = [measure && measure.name, ...factors.map((one) => one.name)].join(" ");
  const levels = countLevels(factors);
  let made = built;
  if (made === null || made.table !== table || made.key !== key || made.levels !== levels) {
    cells = new Map();
    counted = 0;
    made = { table, key, factors, measure, levels };
    built = made;
  }
  for (; counted < table.count; counted += 1) add(made, counted);
  return made;
}

// A level that is new moves the codes of others.
/** @param {Column[]} factors */
const countLevels = (factors) => factors.map((one) => one.levels ? one.levels.length : 0).join(" ");

/** @param {Built} made @param {number} row */
function add({ table, factors, measure }, row) {
  if (!measure) return;
  const key = factors.map((column) => column.values[row]).join(" ");
  const cell = cells.get(key) || { row, samples: [], trials: 0, estimate: null };
  cells.set(key, cell);
  cell.trials += 1;
  const value = measure.values[row];
  if (table.counted[row] && !Number.isNaN(value)) {
    cell.samples.push([startOf(table, row), value]);
    cell.estimate = null;
  }
}

/** @param {Table} table @param {number} row */
function startOf(table, row) {
  const started = table.column(START);
  return started && started.values ? started.values[row] : row;
}

/** @param {Column[]} factors @param {Cell} cell */
function nameOf(factors, cell) {
  return factors.map((column) => {
    const value = column.values[cell.row];
    return column.label + " " +
      formatLevel(column, column.levels ? column.levels[value] : value);
  }).join(", ") || "all trials";
}

/** @param {Cell} cell */
function estimateOf(cell) {
  if (!cell.estimate) {
    cell.samples.sort((left, right) => left[0] - right[0]);
    cell.estimate = estimate(
      Float64Array.from(cell.samples, (one) => one[1]),
      "median",
      "interval",
    );
  }
  return cell.estimate;
}

function draw() {
  timer = 0;
  if (!fold.open || !app.table.count || document.hidden) return;
  const { measure, factors } = build();
  if (!measure) return;
  /** @param {number} value */
  const format = (value) => formatNumber(value);
  const unit = measure.unit ? " (" + measure.unit + ")" : "";
  const list = [...cells.values()].sort((left, right) => compare(factors, left, right));
  const head = ["Cell", "Trials", "Median " + measure.label + unit, "95 % CI", "Half width"].map((text) =>
    make("th", { scope: "col" }, text)
  );
  const body = (all ? list : list.slice(0, SHOWN)).map((cell) => {
    const { y, low, high } = estimateOf(cell);
    const isKnown = low !== null && high !== null;
    const trials = cell.samples.length === cell.trials
      ? String(cell.trials)
      : cell.samples.length + " of " + cell.trials;
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, nameOf(factors, cell)),
      make("td", {}, trials),
      make("td", {}, y === null ? "–" : format(y)),
      make("td", {}, isKnown ? format(low) + "–" + format(high) : "undecided"),
      make(
        "td",
        {},
        isKnown && y ? "±" + Number((100 * (high - low) / 2 / Math.abs(y)).toPrecision(2)) + " %" : "–",
      ),
    );
  });
  fill(parts.head, make("tr", {}, head));
  fill(parts.body, body);
  parts.nothing.hidden = true;
  parts.table.hidden = false;
  parts.more.hidden = list.length <= SHOWN;
  parts.more.textContent = all ? "Show the first " + SHOWN : "Show all " + list.length;
}

// In the order of the levels, as the figure has them.
/** @param {Column[]} factors @param {Cell} left @param {Cell} right */
function compare(factors, left, right) {
  for (const column of factors) {
    const [one, other] = [column.values[left.row], column.values[right.row]];
    if (!Object.is(one, other)) return one - other || (Number.isNaN(one) ? 1 : -1);
  }
  return 0;
}

function schedule() {
  if (!timer) timer = window.setTimeout(draw, REDRAW_MS);
}

/** @param {HTMLDetailsElement} foldElement @param {HTMLElement} element @param {App} given */
export function mountCells(foldElement, element, given) {
  [fold, app] = [foldElement, given];
  const [head, body] = [make("thead", {}), make("tbody", {})];
  parts = {
    head,
    body,
    nothing: make("p", {}, "Nothing was measured yet."),
    more: make("button", {
      type: "button",
      class: "plain",
      hidden: true,
      on: {
        click: () => {
          all = !all;
          draw();
        },
      },
    }),
    table: make("div", {
      class: "wide",
      tabindex: 0,
      role: "region",
      "aria-label": "Medians so far",
      hidden: true,
    }, make("table", {}, head, body)),
  };
  fill(element, parts.nothing, parts.table, parts.more);
  fold.addEventListener("toggle", draw);
  app.on("data", schedule);
  app.on("view", schedule);
}
