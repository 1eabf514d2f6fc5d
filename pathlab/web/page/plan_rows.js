// The rows of the plan and the state of each: as a strip, and as a table, a page at a time.
import { fill, make } from "./dom.js";
import { isRunning } from "./runs.js";
import { trialsUnderWay } from "./trials_now.js";

/** @type {Record<string, string>} */
const NAMES = {
  p: "planned",
  r: "under way",
  c: "complete",
  f: "failed",
  i: "interrupted",
  s: "ended by a safety limit",
};
// Of several rows in one pixel, the state that a reader must not miss.
const URGENT = ["r", "f", "s", "i", "p", "c"];
const PAGE = 50;
/**
 * @typedef {Object} Parts
 * @property {HTMLCanvasElement} strip
 * @property {HTMLElement} legend
 * @property {HTMLElement} body
 * @property {HTMLElement} pages
 * @property {HTMLButtonElement} before
 * @property {HTMLButtonElement} after
 * @property {HTMLDetailsElement} fold
 */
/** @type {Parts} */
let parts;
/** @type {App} */
let app;
let first = 0;
let shown = ""; // what the table shows
let drawn = "";

// The letters of the rows, with those under way.
/** @param {Run} run */
function listStates(run) {
  const states = [...(run.rows || "")];
  if (isRunning(run)) {
    for (const trial of trialsUnderWay.values()) {
      if (trial.results === run.results && trial.row < states.length) states[trial.row] = "r";
    }
  }
  return states;
}

/** @param {Run} run */
export function drawPlan(run) {
  const states = listStates(run);
  const style = window.getComputedStyle(parts.strip);
  const colours = Object.fromEntries(
    URGENT.map((state) => [state, style.getPropertyValue("--row-" + state).trim() || "gray"]),
  );
  const key = [run.results, states.join(""), parts.strip.clientWidth, ...Object.values(colours)].join(" ");
  if (key !== drawn) {
    drawn = key;
    drawLegend(states);
    drawStrip(states, colours);
  }
  if (parts.fold.open) drawTable(run, states);
}

/** @param {string[]} states */
function drawLegend(states) {
  const counts = new Map();
  for (const state of states) counts.set(state, (counts.get(state) || 0) + 1);
  const present = Object.entries(NAMES).filter(([state]) => counts.has(state));
  /** @param {string[]} ends */
  const say = ([state, name]) => counts.get(state).toLocaleString("en") + " " + name;
  parts.strip.setAttribute("aria-label", "Rows of the plan: " + (present.map(say).join(", ") || "none"));
  fill(
    parts.legend,
    present.map((one) =>
      make(
        "li",
        {},
        make("span", { class: "row-state", data: { row: one[0] }, "aria-hidden": "true" }),
        say(one),
      )
    ),
  );
}

/** @param {string[]} states @param {Record<string, string>} colours */
function drawStrip(states, colours) {
  const { strip } = parts;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [
    Math.max(1, Math.round(strip.clientWidth * ratio)),
    Math.max(1, Math.round(strip.clientHeight * ratio)),
  ];
  [strip.width, strip.height] = [width, height];
  const context = /** @type {CanvasRenderingContext2D} */ (strip.getContext("2d"));
  const bins = Math.min(states.length, width);
  for (let bin = 0; bin < bins; bin += 1) {
    const [from, to] = [
      Math.floor(bin * states.length / bins),
      Math.floor((bin + 1) * states.length / bins),
    ];
    let state = states[from];
    for (let row = from + 1; row < to; row += 1) {
      if (URGENT.indexOf(states[row]) < URGENT.indexOf(state)) state = states[row];
    }
    context.fillStyle = colours[state] || colours.p;
    const left = Math.floor(bin * width / bins);
    const gap = width / bins > 6 * ratio ? ratio : 0;
    context.fillRect(left, 0, Math.max(1, Math.floor((bin + 1) * width / bins) - left - gap), height);
  }
}

/** @param {Run} run @param {string[]} states */
async function drawTable(run, states) {
  first = Math.max(0, Math.min(first, Math.floor((states.length - 1) / PAGE) * PAGE));
  const page = states.slice(first, first + PAGE);
  const key = run.results + " " + first + " " + page.join("") + " " + states.length;
  if (key === shown) return;
  const isFresh = !shown.startsWith(run.results + " " + first + " ");
  shown = key;
  if (!isFresh && parts.body.children.length === page.length) {
    page.forEach((state, place) => {
      const [cell] = Array.from(parts.body.children[place].children).slice(-1);
      cell.textContent = NAMES[state];
    });
    return;
  }
  try {
    const { rows } = await /** @type {NonNullable<Source["plan"]>} */ (app.source.plan)(
      run.results,
      first,
      PAGE,
    );
    if (shown !== key) return;
    fill(
      parts.body,
      rows.map((row, place) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, String(row.row + 1)),
          make("td", {}, String(row.cycle + 1)),
          make("td", {}, row.path),
          make("td", {}, row.settings),
          make("td", {}, NAMES[page[place]] || ""),
        )
      ),
    );
    parts.pages.textContent = "Rows " + (first + 1) + " to " + (first + rows.length) + " of " +
      states.length.toLocaleString("en");
    parts.before.disabled = first === 0;
    parts.after.disabled = first + PAGE >= states.length;
  } catch (error) {
    shown = "";
    parts.pages.textContent = "The plan could not be read: " + /** @type {Error} */ (error).message;
  }
}

/** @param {HTMLElement} root @param {HTMLElement} folds @param {App} given @param {() => void} schedule */
export function mountPlan(root, folds, given, schedule) {
  app = given;
  /** @param {number} step */
  const turn = (step) => () => {
    first += step * PAGE;
    schedule();
  };
  const body = make("tbody", {});
  const pages = make("span", { class: "soft", role: "status" });
  const before = make("button", { type: "button", on: { click: turn(-1) } }, "Earlier rows");
  const after = make("button", { type: "button", on: { click: turn(1) } }, "Later rows");
  const head = ["Row", "Cycle", "Path", "Settings", "State"].map((text) =>
    make("th", { scope: "col" }, text)
  );
  const fold = make(
    "details",
    { class: "fold", on: { toggle: schedule } },
    make("summary", {}, make("h2", {}, "Rows of the plan")),
    make(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "Rows of the plan" },
      make("table", {}, make("thead", {}, make("tr", {}, head)), body),
    ),
    make("div", { class: "row" }, before, after, pages),
  );
  const strip = make("canvas", { class: "strip", role: "img" });
  parts = { strip, legend: make("ul", { class: "marks" }), body, pages, before, after, fold };
  fill(root, parts.strip, parts.legend);
  fill(folds, parts.fold);
  window.addEventListener("resize", schedule);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", schedule);
}
