// Published tables laid over the figure: those that go by what is on x and hold what is on y.
import { fill, make, makeLabel, makeSelect } from "./dom.js";

const NONE = "";
/** @type {App} */
let app;
/** @type {HTMLElement} */
let root;
/** @type {PublishedTable[]} */
let tables = [];
let laid = "";

/** @param {HTMLElement} element @param {App} given */
async function mount(element, given) {
  root = element;
  app = given;
  try {
    tables = await app.source.published();
  } catch (error) {
    app.notice("The published tables could not be read: " + /** @type {Error} */ (error).message, {
      key: "published",
      kind: "info",
    });
    return;
  }
  update();
}

// Trials without the column that a table needs carried something else.
/** @param {PublishedTable} table */
const suits = (table) => (app.table.column(table.needs)?.levelCount ?? 0) > 0;
/** @param {PublishedTable} table @param {View} view */
const fits = (table, view) =>
  table.x === view.x && suits(table) &&
  table.curves.some((curve) => view.y.some((column) => Object.hasOwn(curve.y, column)));

function update() {
  if (!app) return;
  const { view } = app;
  const fitting = tables.filter((table) => fits(table, view));
  const chosen = tables.find((table) => table.id === view.overlay);
  root.hidden = !fitting.length && !view.overlay;
  show(fitting, chosen);
  lay(chosen && fits(chosen, view) ? chosen : null);
}

/** @param {PublishedTable[]} fitting @param {PublishedTable | undefined} chosen */
function show(fitting, chosen) {
  const { view } = app;
  const listed = chosen && !fitting.includes(chosen) ? [...fitting, chosen] : fitting;
  const held = root.contains(document.activeElement);
  const choice = makeSelect(
    [[NONE, "none"], ...listed.map((table) => /** @type {Choice} */ ([table.id, table.title]))],
    chosen ? chosen.id : NONE,
    (id) => app.setView({ overlay: id || null }),
  );
  const texts = [];
  if (view.overlay && tables.length && !chosen) {
    texts.push("There is no published table '" + view.overlay + "'.");
  }
  if (chosen) {
    texts.push(chosen.source + ". " + chosen.condition);
    if (!fits(chosen, view)) texts.push("Not drawn: its figures are of " + describe(chosen) + ".");
  }
  fill(root, makeLabel("Published figures", choice), texts.map((text) => make("p", { class: "soft" }, text)));
  if (held) choice.focus();
}

// What has to be on the axes for a table to be drawn.
/** @param {PublishedTable} table */
function describe(table) {
  /** @param {string} column */
  const name = (column) => (app.table.column(column) || { label: column.replace(/_/g, " ") }).label;
  const measures = Array.from(new Set(table.curves.flatMap((curve) => Object.keys(curve.y))));
  return measures.map(name).join(" or ") + " by " + name(table.x);
}

// The same curves are laid once: laying them draws the figure anew.
/** @param {PublishedTable | null} table */
function lay(table) {
  const { view } = app;
  const key = table ? table.id + " " + view.y.join(" ") : "";
  if (key === laid) return;
  laid = key;
  app.setOverlays(
    !table
      ? []
      : view.y.flatMap((column) =>
        table.curves.filter((curve) => Object.hasOwn(curve.y, column)).map((curve) => ({
          name: curve.name,
          yColumn: column,
          points: table.levels.map((x, place) => ({
            x,
            y: curve.y[column][place],
            facts: ["published: " + table.source],
          })),
        }))
      ),
  );
}

/** @type {Panel} */
export const panel = { name: "overlay", mount, update };
