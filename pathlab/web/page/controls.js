// What the figure shows: columns of its axes, colours and panels, the statistic, scales and limits.
import { MEASURES_MOST } from "../core/constants.js";
import { formatUtc } from "./axes.js";
import { countLevels, listLevels, listOptions } from "../core/column_choice.js";
import { fill, findFocused, make, makeId, makeLabel, makeSelect } from "./dom.js";
import { isPlain, isSteps } from "./figure.js";
import { describeLevel } from "./filter_text.js";
import { presetView } from "../core/view.js";

const LEVELS_MOST = 300;
const PERCENTILE_DEFAULT = 90;
/** @typedef {(view: View) => View[keyof View]} Read the value of a control */
/** @type {ChoiceGroup[]} */
const STATISTICS = [
  {
    group: "One value per group",
    options: [["median", "median"], ["mean", "mean"], ["min", "minimum"], ["max", "maximum"], [
      "pNN",
      "percentile",
    ], ["iqr", "inter-quartile range"]],
  },
  {
    group: "All values of a group",
    options: [["cdf", "distribution (CDF)"], ["ccdf", "distribution (CCDF)"], ["histogram", "histogram"]],
  },
  { group: "One trial", options: [["course", "time course of a trial"]] },
];
/** @type {Choice[]} */
const RANGES = [["interval", "95 % confidence interval"], ["iqr", "inter-quartile range"], [
  "extremes",
  "minimum to maximum",
], ["none", "none"]];
/** @type {Choice[]} */
const SCALES = [["", "automatic"], ["linear", "linear"], ["log2", "log, base 2"], [
  "log10",
  "log, base 10",
]];
/** @type {Choice[]} */
const AGAINST = [["ratio", "ratio"], ["difference", "difference"]];
/** @param {Column} column */
const numeric = (column) => column.kind === "number" || column.kind === "time";
/** @type {HTMLElement} */
let root;
/** @type {App} */
let app;
/** @type {string | null} */
let built = null;
/** @type {Map<string, {control: HTMLInputElement | HTMLSelectElement, read: Read}>} */
const fields = new Map();

/** @param {string} statistic */
const isPercentile = (statistic) => /^p\d/.test(statistic);

// Controls are built anew only when what they offer changed, so that the focus stays in them.
function update() {
  const { view, table } = app;
  const key = [
    table.columns.length,
    table.count && view.colour ? countOf(view.colour) : 0,
    view.y.length,
    view.colour,
    isPercentile(view.statistic),
  ].join(" ");
  if (key !== built) {
    build();
    built = key;
  }
  for (const { control, read } of fields.values()) {
    const value = read(app.view);
    if (control.type === "checkbox") {
      control.checked = Boolean(value);
      continue;
    }
    const text = value === null || value === undefined ? "" : String(value);
    if (control.value !== text && control !== document.activeElement) control.value = text;
    if (control.tagName === "SELECT" && control.value !== text) control.value = text;
  }
  enable();
}

/** @param {string} name */
const countOf = (name) => {
  const column = app.table.column(name);
  return column ? countLevels(app.table, column) : 0;
};

/**
 * @param {string} name
 * @param {string} text
 * @param {HTMLInputElement | HTMLSelectElement} control
 * @param {Read} read
 * @param {Attributes} [attributes]
 */
function field(name, text, control, read, attributes) {
  control.dataset.control = name;
  fields.set(name, { control, read });
  return makeLabel(text, control, attributes);
}

/**
 * @param {string} name
 * @param {string} text
 * @param {ColumnOptions} how
 * @param {(view: View) => string | null} read
 * @param {(value: string | null) => ViewChange} write
 */
function columns(name, text, how, read, write) {
  const options = listOptions(app.table, how);
  return field(
    name,
    text,
    makeSelect(options, read(app.view) || "", (value) => app.setView(write(value || null))),
    (view) => read(view) || "",
  );
}

/** @param {string} name @param {string} text @param {"minX" | "maxX" | "minY" | "maxY"} key */
function number(name, text, key) {
  const axis = key.endsWith("X") ? () => app.table.column(app.view.x) : () => app.table.column(app.view.y[0]);
  const control = make("input", {
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "auto",
  });
  const isTime = () => axis()?.kind === "time";
  control.addEventListener("change", () => {
    const typed = control.value.trim();
    const value = typed === ""
      ? null
      : isTime()
      ? Date.parse(/Z$/.test(typed) ? typed : typed.replace(" ", "T") + "Z") / 1000
      : Number(typed.replace(",", "."));
    const wrong = typed !== "" && !Number.isFinite(value);
    control.setAttribute("aria-invalid", String(wrong));
    if (wrong) {
      app.notice(
        "“" + typed + "” is not a " + (isTime() ? "time: write 2026-11-21 05:03" : "number: write 12.5") +
          ".",
        { key: "limit " + key },
      );
      return;
    }
    app.withdraw("limit " + key);
    app.setView({ [key]: value });
  });
  return field(name, text, control, (view) => {
    const value = view[key];
    return value !== null && value !== undefined && isTime() ? formatUtc(value) : value;
  });
}

function listY() {
  const { view } = app;
  const rows = view.y.map((_, at) =>
    make(
      "div",
      { class: "row y-row" },
      columns("y" + at, at ? "y " + (at + 1) : "y", { suits: numeric, measured: true }, (shown) =>
        shown.y[at], (value) => ({
          y: app.view.y.map((name, place) =>
            place === at ? String(value) : name
          ),
        })),
      view.y.length > 1
        ? make("button", {
          type: "button",
          class: "close",
          "aria-label": "Remove y " + (at + 1),
          on: {
            click: () =>
              app.setView({
                y: app.view.y.filter((_name, place) =>
                  place !== at
                ),
              }),
          },
        }, "×")
        : null,
    )
  );
  const unused = () =>
    app.table.columns.find((column) =>
      column.role === "measured" && numeric(column) &&
      !app.view.y.includes(column.name) && column.values.some((value) => !Number.isNaN(value))
    );
  const add = make("button", {
    type: "button",
    class: "plain",
    data: { control: "add-y" },
    on: {
      click: () => {
        const next = unused();
        if (next) app.setView({ y: [...app.view.y, next.name] });
      },
    },
  }, "+ Add a measure");
  return [rows, view.y.length < MEASURES_MOST ? add : null];
}

/** @returns {Choice[]} */
function levelOptions() {
  const column = app.view.colour && app.table.column(app.view.colour);
  if (!column) return [["", "none"]];
  const levels = listLevels(app.table, column).slice(0, LEVELS_MOST);
  return [
    ["", "none"],
    ...levels.map((
      level,
    ) => /** @type {Choice} */ ([String(level), describeLevel(column, level)])),
  ];
}

function build() {
  const focused = findFocused(root)?.dataset.control;
  fields.clear();
  const { view } = app;
  /** @param {(column: Column) => boolean} suits */
  const plain = (suits) => ({ suits });
  /** @param {Column} column */
  const split = (column) =>
    column.kind !== "time" && (column.kind !== "number" || column.role !== "measured");
  const statistic = makeSelect(
    STATISTICS,
    "",
    (value) => app.setView({ statistic: value === "pNN" ? "p" + PERCENTILE_DEFAULT : value }),
  );
  const percentile = make("input", { type: "number", min: "0.1", max: "99.9", step: "any" });
  percentile.addEventListener("change", () => {
    const wanted = Number(percentile.value);
    const wrong = !(wanted > 0 && wanted < 100);
    percentile.setAttribute("aria-invalid", String(wrong));
    if (!wrong) app.setView({ statistic: "p" + wanted });
  });
  /**
   * @param {string} name
   * @param {string} text
   * @param {(Choice | ChoiceGroup)[]} options
   * @param {keyof View} key
   */
  const choice = (name, text, options, key) =>
    field(
      name,
      text,
      makeSelect(options, "", (value) => app.setView({ [key]: value || null })),
      (shown) => shown[key] || "",
    );
  /**
   * @param {string} name
   * @param {string} text
   * @param {Read} read
   * @param {(on: boolean) => ViewChange} write
   */
  const check = (name, text, read, write) => {
    /** @type {HTMLInputElement} */
    const control = make("input", {
      type: "checkbox",
      on: { change: () => app.setView(write(control.checked)) },
    });
    control.dataset.control = name;
    control.id = makeId("field");
    fields.set(name, { control, read });
    return make("div", { class: "check" }, control, make("label", { for: control.id }, text));
  };
  const levels = levelOptions();
  fill(
    root,
    listY(),
    columns(
      "x",
      "x",
      plain(() => true),
      (shown) => shown.x,
      (value) => ({ x: value, minX: null, maxX: null }),
    ),
    columns(
      "colour",
      "Colour",
      { suits: split, none: "none" },
      (shown) => shown.colour,
      (value) => ({ colour: value, baseline: null }),
    ),
    columns(
      "facet",
      "Panels for each",
      { suits: split, none: "none" },
      (shown) => shown.facet,
      (value) => ({ facet: value }),
    ),
    make(
      "div",
      { class: "row" },
      field(
        "statistic",
        "Statistic",
        statistic,
        (shown) => isPercentile(shown.statistic) ? "pNN" : shown.statistic,
      ),
      isPercentile(view.statistic)
        ? field("percentile", "Percentile", percentile, (shown) => shown.statistic.slice(1), {
          class: "field small",
        })
        : null,
    ),
    choice("range", "Range", RANGES, "range"),
    check(
      "dots",
      "Each trial as a dot",
      (shown) => shown.dots,
      (on) => ({ dots: on }),
    ),
    check(
      "count",
      "Include unusable trials",
      (shown) => shown.count === "all",
      (on) => ({ count: on ? "all" : "usable" }),
    ),
    make(
      "details",
      { class: "more", open: hasLimits(view), data: { more: "axes" } },
      make("summary", {}, "Scales and limits"),
      make(
        "div",
        { class: "row" },
        choice("scale-x", "Scale of x", SCALES, "scaleX"),
        choice("scale-y", "Scale of y", SCALES, "scaleY"),
      ),
      make("div", { class: "row" }, number("min-x", "x from", "minX"), number("max-x", "x to", "maxX")),
      make("div", { class: "row" }, number("min-y", "y from", "minY"), number("max-y", "y to", "maxY")),
    ),
    make(
      "details",
      { class: "more", open: Boolean(view.baseline), data: { more: "baseline" } },
      make("summary", {}, "Compare with a baseline"),
      levels.length > 1
        ? make(
          "div",
          { class: "row" },
          choice("baseline", "Baseline", levels, "baseline"),
          choice("against", "Show the", AGAINST, "against"),
        )
        : make(
          "p",
          { class: "soft" },
          "Choose a column for colour first: one of its levels is the baseline.",
        ),
    ),
    make(
      "button",
      { type: "button", class: "plain", data: { control: "reset" }, on: { click: reset } },
      "Back to the first view",
    ),
  );
  if (focused) {
    /** @type {HTMLElement | null} */
    const again = root.querySelector("[data-control='" + focused + "']") ||
      root.querySelector("[data-control]");
    if (again) again.focus();
  }
}

/** @param {View} view */
const hasLimits = (view) =>
  [view.minX, view.maxX, view.minY, view.maxY, view.scaleX, view.scaleY].some((one) => one !== null);

function reset() {
  app.setView({ ...presetView(app.table), where: null, text: "", trial: null, series: null });
  app.announce("The first view is shown.");
}

// Controls without effect on this view are off.
function enable() {
  const { view, table } = app;
  const plain = isPlain(view);
  const column = table.column(view.x);
  const named = plain && column && column.kind === "category";
  const off = {
    range: !plain && !isSteps(view),
    dots: !plain,
    x: !plain,
    "scale-x": named,
    "min-x": named,
    "max-x": named,
    "min-y": view.y.length > 1,
    "max-y": view.y.length > 1,
    against: !view.baseline,
  };
  for (const [name, disabled] of Object.entries(off)) {
    const field = fields.get(name);
    if (field) field.control.disabled = Boolean(disabled);
  }
}

/** @type {Panel} */
export const panel = {
  name: "controls",
  /** @param {HTMLElement} element @param {App} shared */
  mount(element, shared) {
    [root, app] = [element, shared];
  },
  update,
};
