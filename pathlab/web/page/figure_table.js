// A table for each panel of the figure: the same numbers as text, for screen readers and for people.
import { app } from "./app.js";
import { fill, make } from "./dom.js";
import { formatPlace, nameAxis } from "../core/figure_csv.js";

// Beyond these a table has one row for each point, and pages.
const ROWS_MAX = 64;
const CURVES_MAX = 12;
const PAGE_ROWS = 100;
const POINTWISE = ["median", "mean", "min", "max", "iqr"];
/** @type {HTMLElement} */
let root;
/** @type {Exploration | null} */
let shown = null;

/**
 * A number for people: four digits; levels and times as words.
 * @param {number | null | undefined} value
 * @param {Axis} axis
 */
function formatValue(value, axis) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "not measured";
  if (axis.levels && axis.levels.length || axis.kind === "time") {
    return formatPlace(axis, value);
  }
  if (axis.tickLabels) {
    const at = axis.ticks ? axis.ticks.indexOf(value) : -1;
    if (at >= 0) return axis.tickLabels[at];
  }
  return String(Number(value.toPrecision(4)));
}

/** @param {number} value */
const write = (value) => String(Number(value.toPrecision(4)));
/** @type {(value: number | null | undefined) => value is number} */
const has = (value) => value !== null && value !== undefined && Number.isFinite(value);
/** @param {number} count */
const countTrials = (count) => count === 1 ? "1 trial" : count + " trials";

/**
 * What a cell says: the estimate, its range, and on how many trials it rests.
 * @param {Point | Change | undefined} point
 */
export function formatCell(point) {
  if (!point || !has(point.y)) return { main: "–", rest: "" };
  const mark = point.state === "cut" ? "cut to " : "";
  const range = has(point.low) && has(point.high) ? mark + write(point.low) + " to " + write(point.high) : "";
  const state = ["undecided", "provisional"].includes(point.state || "") ? point.state : "";
  return {
    main: write(point.y),
    rest: [range, state, countTrials(point.trials)].filter(Boolean).join(", "),
  };
}

/**
 * The tables of a figure.
 * @param {Exploration} exploration
 * @returns {FigureTable[]}
 */
export function listFigureTables(exploration) {
  /** @type {FigureTable[]} */
  const tables = [];
  for (const facet of exploration.facets) {
    for (const y of exploration.ys) {
      const curves = facet.curves.filter((curve) => curve.yColumn === y.column);
      if (curves.length) {
        tables.push({ caption: describe(exploration, facet, y, curves), x: exploration.x, y, curves });
      }
    }
  }
  for (const facet of new Set((exploration.against || []).map((curve) => curve.facet))) {
    for (const y of exploration.ys) {
      const curves = (exploration.against || []).filter((curve) =>
        curve.facet === facet && curve.yColumn === y.column
      );
      if (curves.length) {
        tables.push({
          caption: describeAgainst(exploration, facet, y, curves),
          x: exploration.x,
          y,
          curves,
        });
      }
    }
  }
  return tables;
}

/** @param {Exploration} exploration @param {Facet} facet @param {Axis} y @param {Curve[]} curves */
function describe(exploration, facet, y, curves) {
  const range = exploration.range ? " with " + exploration.range : "";
  const parts = [
    facet.name,
    nameAxis(y) + ", " + exploration.statistic + range + ", by " + exploration.x.label,
  ];
  return parts.filter(Boolean).join(": ") + "." + describeUndecided(curves);
}

/** @param {Exploration} exploration @param {string} facet @param {Axis} y @param {AgainstCurve[]} curves */
function describeAgainst(exploration, facet, y, curves) {
  const text = y.label + " against the baseline with 95 % confidence interval, by " + exploration.x.label;
  return [facet, text].filter(Boolean).join(": ") + "." + describeUndecided(curves);
}

/** @param {TableCurve[]} curves */
function describeUndecided(curves) {
  const points = curves.flatMap((curve) => curve.points);
  const undecided = points.filter((point) => point.state === "undecided").length;
  return undecided
    ? " " + undecided + " of " + points.length + " undecided: too few trials for an interval."
    : "";
}

/** @param {FigureTable} table */
function showWide(table) {
  const places = Array.from(new Set(table.curves.flatMap((curve) => curve.points.map((point) => point.x))))
    .sort((a, b) => a - b);
  const found = table.curves.map((curve) => new Map(curve.points.map((point) => [point.x, point])));
  const head = make(
    "tr",
    {},
    make("th", { scope: "col" }, nameAxis(table.x)),
    table.curves.map((curve) => make("th", { scope: "col" }, curve.name || table.y.label)),
  );
  const rows = places.map((x) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, formatValue(x, table.x)),
      found.map((points) => {
        const { main, rest } = formatCell(points.get(x));
        return make(
          "td",
          {},
          main,
          rest ? " " : null,
          rest ? make("span", { class: "soft" }, "(" + rest + ")") : null,
        );
      }),
    )
  );
  return place(table, head, rows);
}

const LONG = ["Low", "High", "State", "Trials"];

/** @param {FigureTable} table */
function showLong(table) {
  const rows = table.curves.flatMap((curve) => curve.points.map((point) => ({ curve, point })));
  const holder = make("div", {});
  let page = 0;
  const pages = Math.ceil(rows.length / PAGE_ROWS);
  const draw = () => {
    const head = make(
      "tr",
      {},
      ["Curve", nameAxis(table.x), nameAxis(table.y), ...LONG]
        .map((text) => make("th", { scope: "col" }, text)),
    );
    const part = rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS).map(({ curve, point }) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, curve.name || table.y.label),
        [
          formatValue(point.x, table.x),
          has(point.y) ? write(point.y) : "–",
          has(point.low) ? write(point.low) : "–",
          has(point.high) ? write(point.high) : "–",
          point.state,
          String(point.trials),
        ].map((text) => make("td", {}, text)),
      )
    );
    fill(holder, place(table, head, part), pages > 1 ? turn() : null);
  };
  const turn = () => {
    /** @param {number} by @param {string} text */
    const step = (by, text) =>
      make("button", {
        type: "button",
        disabled: page + by < 0 || page + by >= pages,
        data: { turn: String(by) },
        on: {
          click() {
            page += by;
            draw();
            /** @type {HTMLElement | null} */
            const same = holder.querySelector("[data-turn='" + by + "']:not(:disabled)") ||
              holder.querySelector("[data-turn]:not(:disabled)");
            if (same) same.focus();
            app.announce("Page " + (page + 1) + " of " + pages);
          },
        },
      }, text);
    return make(
      "p",
      { class: "row" },
      step(-1, "Previous rows"),
      make("span", {}, "Page " + (page + 1) + " of " + pages),
      step(1, "Next rows"),
    );
  };
  draw();
  return holder;
}

/** @param {FigureTable} table @param {HTMLElement} head @param {HTMLElement[]} rows */
function place(table, head, rows) {
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": table.caption },
    make("table", {}, make("caption", {}, table.caption), make("thead", {}, head), make("tbody", {}, rows)),
  );
}

/** @param {Exploration} exploration @param {View} view */
function show(exploration, view) {
  const tables = listFigureTables(exploration);
  const wide = POINTWISE.includes(view.statistic) || /^p\d/.test(view.statistic);
  fill(
    root,
    tables.length
      ? tables.map((table) => {
        const places = new Set(table.curves.flatMap((curve) => curve.points.map((point) => point.x))).size;
        return wide && places <= ROWS_MAX && table.curves.length <= CURVES_MAX
          ? showWide(table)
          : showLong(table);
      })
      : make("p", { class: "soft" }, "The figure shows no point, so there is no table."),
  );
}

// A closed fold is not read, so its table is made when it opens.
/** @param {App} app @param {boolean} [anyway] */
function update(app, anyway) {
  const fold = root.closest("details");
  if (!app.exploration || shown === app.exploration || fold && !fold.open && !anyway) return;
  shown = app.exploration;
  show(app.exploration, app.view);
}

/** @type {Panel} */
export const panel = {
  name: "figure-table",
  mount(element, app) {
    root = element;
    const fold = root.closest("details");
    if (fold) fold.addEventListener("toggle", () => update(app));
    window.addEventListener("beforeprint", () => update(app, true));
  },
  update,
};
