// Why a figure is empty, and which filter to lift.
import { make } from "./dom.js";
import { isCourse, isPlain } from "./figure.js";
import { selectRows } from "../core/filter.js";
import { describeFilter } from "./filter_text.js";
import { nameTrial } from "./source.js";

/**
 * A filter in words: `streams is 4 or 8`.
 * @param {App} app
 * @param {string} name
 */
function describeShownFilter(app, name) {
  const column = app.table.column(name);
  return describeFilter(column, app.view.where[name]);
}

/** @param {number} number */
const trials = (number) => number.toLocaleString("en") + (number === 1 ? " trial" : " trials");

/** @param {App} app @param {string} text @param {ViewChange} change @param {number | null} selected */
function lift(app, text, change, selected) {
  return make(
    "li",
    {},
    make("button", { type: "button", on: { click: () => app.setView(change) } }, text),
    selected === null ? null : " → " + trials(selected),
  );
}

// Every filter with the trials that there are without it.
/** @param {App} app */
function listLifts(app) {
  const { table, view } = app;
  /** @type {{text: string, change: ViewChange, selected: number}[]} */
  const lifts = Object.keys(view.where || {}).map((name) => {
    const where = { ...view.where };
    delete where[name];
    return {
      text: "Remove: " + describeShownFilter(app, name),
      change: { where: { [name]: null } },
      selected: selectRows(table, { ...view, where }).length,
    };
  });
  if (view.text) {
    lifts.push({
      text: "Remove: text “" + view.text + "”",
      change: { text: "" },
      selected: selectRows(table, { ...view, text: "" }).length,
    });
  }
  return lifts.sort((a, b) => b.selected - a.selected);
}

/**
 * What to say in place of the figure; null where there is something to draw.
 * @param {App} app
 */
export function explainEmpty(app) {
  const { table, rows, exploration, view } = app;
  if (!exploration) return make("p", {}, "There is no figure: see the notice above.");
  if (!table.count) {
    return make(
      "p",
      {},
      "These results have no trials yet. ",
      app.source.live ? "The first one is shown when it ends." : null,
    );
  }
  if (!rows.length) {
    const lifts = listLifts(app);
    const helps = lifts.filter((one) => one.selected);
    return make(
      "div",
      {},
      make(
        "p",
        {},
        make("strong", {}, "No trial matches the filters."),
        helps.length ? " Remove one of them:" : " No single filter is the cause.",
      ),
      make(
        "ul",
        { class: "lifts" },
        helps.map((one) => lift(app, one.text, one.change, one.selected)),
        lifts.length > 1 || !helps.length
          ? lift(app, "Remove all filters", { where: null, text: "" }, table.count)
          : null,
      ),
    );
  }
  if (isCourse(view)) {
    const first = nameTrial(table, rows.find((row) => table.counted[row] === 1) ?? rows[0]);
    return make(
      "div",
      {},
      make(
        "p",
        {},
        "A time course is that of one trial. Open one with a click in another figure, or here:",
      ),
      make("ul", { class: "lifts" }, lift(app, "Open trial " + first, { trial: first }, null)),
    );
  }
  if (
    exploration.facets.some((facet) =>
      facet.curves.some((curve) =>
        (isPlain(view) && curve.dots.length) ||
        curve.points.some((point) => point.y !== null)
      )
    )
  ) return null;
  const left = exploration.excluded.reduce((sum, [, number]) => sum + number, 0);
  if (left === rows.length && view.count !== "all") {
    return make(
      "div",
      {},
      make(
        "p",
        {},
        make("strong", {}, "None of the " + trials(rows.length) + " is counted: "),
        exploration.excluded.map(([reason, number]) => reason + " (" + number + ")").join("; ") + ".",
      ),
      make("ul", { class: "lifts" }, lift(app, "Include unusable trials", { count: "all" }, null)),
    );
  }
  const measured = exploration.ys.map((y) => y.label).join(" or ");
  return make(
    "div",
    {},
    make(
      "p",
      {},
      make("strong", {}, "Nothing to draw. "),
      "None of the " + trials(rows.length) + " has both " + measured + " and " + exploration.x.label + ".",
    ),
    exploration.notes.map((text) => make("p", {}, text)),
    make("p", {}, "Choose another column for x or y."),
  );
}
