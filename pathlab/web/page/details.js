// One trial in full, next to the figure: why it failed or does not count, its limit, series, settings,
// figures, and its neighbours in time. Everything is text that Python wrote.
import { createCourseChart } from "./course.js";
import { fill, findFocused, getPart, make } from "./dom.js";
import { findRow, forgetDetails, readDetails } from "./trials.js";

// Sections that are open at first; the others are one click away.
const OPEN = ["results", "probes"];
/** @type {App} */
let app;
/** @type {HTMLElement} */
let root;
/** @typedef {{name: string, row: number, details: TrialDetails | null, asked: boolean}} Shown */
/** @type {Shown | null} */
let shown = null;
/** @type {HTMLElement | null} */
let before = null;
let started = false;
/** @type {Map<string, boolean>} */
const folds = new Map();
/** @type {CourseChart | null} */
let course = null;
/** @type {HTMLElement} */
let chart;

/** @param {HTMLElement} element @param {App} given */
function mount(element, given) {
  app = given;
  root = element;
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) {
      event.preventDefault();
      close();
    }
  });
  // a trial that was the last one may have got a neighbour
  app.on("data", () => forgetDetails());
  show();
  started = true;
}

function drop() {
  if (course) course.destroy();
  course = null;
}

// The trial's series, unless they take the place of the figure.
function trace() {
  if (!shown || !shown.details) return;
  if (app.view.statistic === "course") {
    drop();
    return;
  }
  course = course || createCourseChart(chart, app);
  course.show(shown.row, shown.details, app.view.series);
}

function close() {
  app.setView({ trial: null, series: null });
}

function leave() {
  root.hidden = true;
  drop();
  fill(root);
  shown = null;
  const back = before;
  before = null;
  if (back && back.isConnected && back !== document.body) back.focus();
  else if (started) app.focusFigure();
}

function show() {
  const name = app.view.trial;
  if (!name) {
    if (shown) leave();
    return;
  }
  if (shown && shown.name === name) {
    trace();
    return;
  }
  const row = findRow(app.table, name);
  if (!findFocused(root)) before = findFocused(document.body);
  shown = { name, row, details: null, asked: started };
  root.hidden = false;
  root.setAttribute("aria-busy", "true");
  if (row < 0) {
    refuse(shown, "There is no trial " + name + ".");
    return;
  }
  if (!root.firstChild) {
    fill(root, head("Trial " + name, null), make("p", { class: "soft" }, "Reading the trial …"));
  }
  const wanted = shown;
  readDetails(app, name, row).then((details) => {
    if (shown === wanted) draw(wanted, details);
  }, (error) => {
    if (shown === wanted) refuse(wanted, "The trial could not be read: " + error.message);
  });
}

/** @param {Shown} wanted @param {string} text */
function refuse(wanted, text) {
  root.removeAttribute("aria-busy");
  drop();
  fill(root, head("Trial " + wanted.name, null), make("p", { class: "warning", role: "alert" }, text));
  focusHeading(wanted);
}

// Somebody asked for it, unless the page was opened with it: their focus follows.
/** @param {Shown} wanted */
function focusHeading(wanted) {
  if (wanted.asked && !root.contains(document.activeElement)) {
    getPart(root, "h2").focus({ preventScroll: true });
    root.scrollIntoView({ block: "nearest" });
  }
}

/** @param {string} title @param {TrialDetails | null} details */
function head(title, details) {
  /** @param {Neighbour | null | undefined} one @param {string} text @param {string} label */
  const open = (one, text, label) =>
    make("button", {
      type: "button",
      disabled: !one,
      "aria-label": one ? label + " trial of this path: " + one.name : label + " trial of this path: none",
      data: { step: label.toLowerCase() },
      on: { click: () => one && app.setView({ trial: one.name }) },
    }, text);
  const last = details && details.before[details.before.length - 1];
  return make(
    "div",
    { class: "trial-head" },
    make("h2", { tabindex: "-1" }, title),
    details
      ? make(
        "span",
        { class: "steps" },
        open(last, "‹ Previous", "Previous"),
        open(details.after[0], "Next ›", "Next"),
      )
      : null,
    make("button", {
      type: "button",
      class: "close",
      "aria-label": "Close the trial",
      on: { click: close },
    }, "×"),
  );
}

/** @param {Shown} wanted @param {TrialDetails} details */
function draw(wanted, details) {
  wanted.details = details;
  const focused = findFocused(root)?.dataset.step;
  drop();
  root.removeAttribute("aria-busy");
  chart = make("div", { class: "course" });
  fill(
    root,
    head(details.title, details),
    make("p", { class: "meta" }, [details.name, details.path, details.medium, details.started].join(" · ")),
    warn(details),
    details.remarks.map((text) => make("p", { class: text.startsWith("Limited by") ? "limit" : null }, text)),
    chart,
    details.sections.map(write),
    listNeighbours(details),
  );
  trace();
  if (focused) {
    /** @type {HTMLButtonElement | null} */
    const again = root.querySelector("[data-step='" + focused + "']");
    (again && !again.disabled ? again : getPart(root, "h2")).focus();
  } else {
    focusHeading(wanted);
  }
  if (wanted.asked) app.announce(details.title + " is open.");
}

/** @param {TrialDetails} details */
function warn(details) {
  const texts = [];
  if (details.failure) texts.push(details.failure[0].toUpperCase() + details.failure.slice(1));
  if (details.excluded && details.excluded !== details.status) {
    texts.push("Not counted: " + details.excluded + ".");
  }
  for (const text of details.unreadable) texts.push("Not shown: " + text + ".");
  return [
    texts.map((text) => make("p", { class: "warning" }, text)),
    details.flags.length
      ? make(
        "dl",
        { class: "facts flags", "aria-label": "Flags" },
        details.flags.map((flag) =>
          make("div", {}, make("dt", {}, flag.name), make("dd", {}, flag.meaning || "meaning not known"))
        ),
      )
      : null,
  ];
}

// A section that was opened or closed stays so in the next trial.
/** @param {DetailSection} section */
function write(section) {
  const open = folds.has(section.key) ? folds.get(section.key) : OPEN.includes(section.key);
  const fold = make(
    "details",
    { class: "fold", open, data: { section: section.key } },
    make("summary", {}, make("h3", {}, section.title)),
    section.facts
      ? make(
        "dl",
        { class: "facts" },
        section.facts.map(([label, text]) =>
          make(
            "div",
            { class: label.startsWith(" ") ? "part" : null },
            make("dt", {}, label),
            make("dd", {}, text),
          )
        ),
      )
      : table(section.title, section.columns || [], section.rows || []),
    (section.notes || []).map((text) => make("p", { class: "note" }, text)),
  );
  fold.addEventListener("toggle", () => folds.set(section.key, fold.open));
  return fold;
}

/** @param {string} title @param {string[]} columns @param {Child[][]} rows */
function table(title, columns, rows) {
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
    make(
      "table",
      {},
      make("thead", {}, make("tr", {}, columns.map((text) => make("th", { scope: "col" }, text)))),
      make(
        "tbody",
        {},
        rows.map((row) =>
          make(
            "tr",
            {},
            row.map((cell, place) => make(place ? "td" : "th", { scope: place ? null : "row" }, cell)),
          )
        ),
      ),
    ),
  );
}

/** @param {TrialDetails} details */
function listNeighbours(details) {
  /** @param {Neighbour} one */
  const end = (one) => one.failure || (one.excluded ? "not counted: " + one.excluded : one.status);
  /** @param {Neighbour} one @param {string} when */
  const describe = (one, when) => [
    make("button", {
      type: "button",
      class: "plain",
      on: { click: () => app.setView({ trial: one.name }) },
    }, one.name),
    when,
    one.started,
    one.combination,
    one.throughput || "–",
    end(one),
  ];
  const here = [
    make("strong", {}, details.name),
    "this trial",
    details.started,
    details.combination,
    details.throughput || "–",
    end(details),
  ];
  const rows = [
    ...details.before.map((one) => describe(one, "before")),
    here,
    ...details.after.map((one) => describe(one, "after")),
  ];
  return make(
    "div",
    { class: "neighbours" },
    make("h3", {}, "Neighbours in time, same path"),
    rows.length > 1
      ? table("Neighbours in time", ["Trial", "When", "Start", "Combination", "Throughput", "Status"], rows)
      : make("p", { class: "soft" }, "It is the only trial of this path."),
  );
}

/** @type {Panel} */
export const panel = { name: "details", mount, update: show };
