// What `pathlab compare` says of the view: its sentences, a table for each measure, and how they were made.
import { fill, make } from "./dom.js";
import { formatView } from "../core/view.js";

const WAIT_MS = 150;
// A view with these changed has the same verdicts.
const BESIDE = {
  trial: null,
  series: null,
  minX: null,
  maxX: null,
  minY: null,
  maxY: null,
  scaleX: null,
  scaleY: null,
  overlay: null,
  dots: true,
  statistic: "median",
  range: "interval",
  against: "ratio",
};
/** @type {App} */
let app;
/** @type {HTMLElement} */
let root;
/** @type {string | null} */
let shown = null;
let timer = 0;

/** @param {HTMLElement} element @param {App} given */
function mount(element, given) {
  root = element;
  app = given;
  app.on("data", () => {
    shown = null;
  });
  update();
}

/**
 * The text of the view whose verdicts are those of this one; null where it has no baseline.
 * @param {View} view
 */
export const writeQuestion = (view) =>
  view.baseline && view.colour ? formatView({ ...view, ...BESIDE }) : null;

function update() {
  const key = writeQuestion(app.view);
  if (key === null) {
    root.hidden = true;
    shown = null;
    fill(root);
    return;
  }
  if (key === shown) return;
  shown = key;
  root.hidden = false;
  root.setAttribute("aria-busy", "true");
  if (!root.firstChild) fill(root, heading(null), make("p", { class: "soft" }, "Comparing …"));
  window.clearTimeout(timer);
  timer = window.setTimeout(() => ask(key), WAIT_MS);
}

/** @param {string} key */
async function ask(key) {
  let parts = null;
  try {
    const found = await app.source.verdicts(key);
    parts = found.refused ? refuse(found.refused) : draw(found);
  } catch (error) {
    parts = refuse(/** @type {Error} */ (error).message);
  }
  if (key !== shown) return; // another view is shown by now
  root.removeAttribute("aria-busy");
  fill(root, parts);
}

/** @param {string} text */
export const formatRefusal = (text) => "No verdicts: " + text + (/[.)]$/.test(text) ? "" : ".");

/** @param {string} text */
const refuse = (text) => [heading(null), make("p", { class: "soft" }, formatRefusal(text))];

/** @param {Verdicts | null} found */
const heading = (found) => make("h2", {}, found ? "Compared with " + found.baseline : "Comparison");

/** @param {Verdicts} found */
function draw(found) {
  return [
    heading(found),
    found.sentences.map((text) => make("p", { class: found.undecided ? "info" : "verdict-sentence" }, text)),
    listTables(found).map(write),
    make(
      "details",
      { class: "fold" },
      make("summary", {}, "How this is compared"),
      found.notes.map((text) => make("p", { class: "note" }, text)),
    ),
  ];
}

/**
 * The tables as they are shown: each cell with its class, each title with what is compared where several are.
 * @param {Verdicts} found
 * @returns {ShownVerdicts[]}
 */
export function listTables(found) {
  const several = new Set(found.tables.map((table) => table.after)).size > 1;
  return found.tables.map(({ title, after, columns, rows, verdicts }) => {
    const last = columns.length - 1;
    const judged = columns[last] === "Verdict";
    /** @param {string} text @param {number} place @param {number} row @returns {[string, string | null]} */
    const cell = (text, place, row) => [text, judged && place === last ? "verdict " + verdicts[row] : null];
    return {
      title: several ? after + ": " + title : title,
      columns,
      rows: rows.map((row, number) => row.map((text, place) => cell(text, place, number))),
    };
  });
}

/** @param {ShownVerdicts} table */
function write({ title, columns, rows }) {
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
    make(
      "table",
      {},
      make("caption", {}, title),
      make("thead", {}, make("tr", {}, columns.map((text) => make("th", { scope: "col" }, text)))),
      make(
        "tbody",
        {},
        rows.map((row) =>
          make(
            "tr",
            {},
            row.map(([text, kind], place) =>
              make(place ? "td" : "th", { scope: place ? null : "row", class: kind }, text)
            ),
          )
        ),
      ),
    ),
  );
}

/** @type {Panel} */
export const panel = { name: "against", mount, update };
