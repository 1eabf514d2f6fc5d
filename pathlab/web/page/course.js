// A series of one trial over its time (uPlot): moved and zoomed with a mouse, fingers, keys or buttons. A closer
// look asks the server for the values of that part; an exported page has the course at one width.
import { COURSE_STEP, COURSE_ZOOM, listenToCourse } from "./course_input.js";
import {
  alignCourse,
  COURSE_HEIGHT_PX,
  describeChart,
  describeShape,
  describeShown,
  listKeys,
} from "./course_plot.js";
import { fill, findFocused, getPart, make, makeId, makeLabel, makeSelect } from "./dom.js";
import { findRow, readDetails } from "./trials.js";

const LEAST_PX = 120;
// Alongside the part shown as much again is read on either side, so that moving it shows no gap at once.
const BESIDE = 1;
const WAIT_MS = 120;
const LEAST_SHARE = 1e-7;
const HELP =
  "Arrow keys move, plus and minus zoom, 0 shows all. Drag to move, pinch to zoom, and turn the mouse wheel to zoom once the figure was clicked.";

/**
 * A course in an element.
 * @param {HTMLElement} root
 * @param {App} app
 * @returns {CourseChart}
 */
export function createCourseChart(root, app) {
  /**
   * @typedef {Object} Parts
   * @property {HTMLSelectElement} choice
   * @property {HTMLElement} tools
   * @property {HTMLElement} frame
   * @property {HTMLElement} keys
   * @property {HTMLElement} status
   * @property {HTMLElement} readout
   * @property {HTMLElement} notes
   */
  /** @typedef {Omit<ShownCourse, "found"> & {found: Course | null}} State */
  const parts = /** @type {Parts} */ ({});
  /** @type {State | null} */
  let state = null;
  /** @type {UPlot | null} */
  let chart = null;
  let drawn = "";
  let frame = 0;
  let timer = 0;
  let asked = 0;
  const observer = new ResizeObserver(() => resize());
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const repaint = () => {
    if (state && state.found) plot();
  };
  scheme.addEventListener("change", repaint);

  /** @param {number} row @param {TrialDetails} details @param {string | null} series */
  function show(row, details, series) {
    if (!details.courses.length) {
      fill(root, make("p", { class: "soft" }, "The trial kept no series."));
      return;
    }
    const chosen = details.courses.find((one) => one.series === series) || details.courses[0];
    const wanted = chosen.series;
    if (state && state.row === row && state.series === wanted) return;
    state = { row, series: wanted, details, found: null, data: [[]], start: 0, end: 0 };
    build();
    load(null, null);
  }

  // What is shown, for what is called only after it was read.
  const now = () => /** @type {ShownCourse} */ (state);

  function build() {
    /** @type {Map<string, Choice[]>} */
    const groups = new Map();
    for (const one of now().details.courses) {
      const listed = groups.get(one.group) || [];
      groups.set(one.group, listed);
      const group = one.group.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
      listed.push([
        one.series,
        one.label + (one.unit ? " (" + one.unit + ")" : "") + " · " + group,
      ]);
    }
    const options = Array.from(groups, ([group, list]) => ({ group, options: list }));
    const held = findFocused(root)?.dataset.part;
    parts.choice = makeSelect(options, now().series, (series) => app.setView({ series }, { replace: true }));
    parts.choice.dataset.part = "choice";
    /** @param {string} part @param {string} text @param {string} name @param {() => void} act */
    const button = (part, text, name, act) =>
      make("button", {
        type: "button",
        "aria-label": name,
        title: name,
        data: { part },
        on: { click: act },
      }, text);
    parts.tools = make(
      "div",
      { class: "course-tools", role: "group", "aria-label": "Part of the time" },
      button("left", "←", "Earlier", () => move(-COURSE_STEP)),
      button("right", "→", "Later", () => move(COURSE_STEP)),
      button("in", "+", "Zoom in", () => zoom(1 / COURSE_ZOOM)),
      button("out", "−", "Zoom out", () => zoom(COURSE_ZOOM)),
      button("reset", "Reset", "Show the whole time", reset),
    );
    const help = makeId("course-help");
    parts.frame = make("div", {
      class: "course-frame",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "figure",
      "aria-describedby": help,
      data: { part: "frame" },
    });
    parts.keys = make("ul", { class: "course-keys" });
    parts.status = make("p", { class: "soft course-status" });
    parts.readout = make("p", { class: "soft course-readout", "aria-hidden": "true" });
    parts.notes = make("div", {});
    fill(
      root,
      make("div", { class: "row" }, makeLabel("Series over the trial's time", parts.choice), parts.tools),
      parts.frame,
      parts.readout,
      parts.keys,
      parts.status,
      parts.notes,
      make("p", { class: "unseen", id: help }, HELP),
    );
    listenToCourse(parts.frame, {
      chart: () => chart,
      shown: () => (state?.found ? now() : null),
      look,
      move,
      zoom,
      reset,
    });
    observer.disconnect();
    observer.observe(parts.frame);
    /** @type {HTMLElement | null | "" | undefined} */
    const again = held && root.querySelector("[data-part='" + held + "']");
    if (again) again.focus({ preventScroll: true });
  }

  const widthPx = () => Math.max(LEAST_PX, Math.round(parts.frame.clientWidth));

  // Reads a part of the course; an answer that was overtaken by a later question is dropped.
  /** @param {number | null} start @param {number | null} end */
  async function load(start, end) {
    asked += 1;
    const mine = asked;
    const wanted = now();
    const point = wanted.series.indexOf(".");
    const share = start === null || end === null
      ? 1
      : (end - start) / Math.max(wanted.end - wanted.start, 1e-12);
    if (!wanted.found) parts.status.textContent = "Reading the series …";
    parts.frame.setAttribute("aria-busy", "true");
    try {
      const found = await app.source.course(wanted.row, {
        kind: wanted.series.slice(0, point),
        column: wanted.series.slice(point + 1),
        start,
        end,
        pixels: Math.min(4000, Math.round(widthPx() * share)),
      });
      if (mine !== asked || wanted !== state) return;
      if (!wanted.found) [wanted.start, wanted.end] = [found.first, found.last];
      wanted.found = found;
      plot();
    } catch (error) {
      if (mine !== asked || wanted !== state) return;
      clear();
      parts.status.textContent = "The series could not be read: " + /** @type {Error} */ (error).message;
    }
    parts.frame.removeAttribute("aria-busy");
  }

  function clear() {
    if (chart) chart.destroy();
    chart = null;
    fill(parts.keys);
    fill(parts.notes);
    fill(parts.frame);
    parts.readout.textContent = "";
  }

  function plot() {
    const { found } = now();
    const data = alignCourse(found);
    now().data = data;
    const shape = describeShape(found);
    if (chart && shape === drawn && data[0].length) {
      chart.setData(data, false);
      explain(found);
      apply();
      return;
    }
    drawn = shape;
    clear();
    if (!data[0].length) {
      parts.status.textContent = "Nothing was measured in this part of the time.";
      return;
    }
    chart = new window.uPlot(
      describeChart(widthPx(), now, (text) => parts.readout.textContent = text),
      data,
      parts.frame,
    );
    apply();
    explain(found);
  }

  /** @param {Course} found */
  function explain(found) {
    fill(parts.keys, listKeys(found, Boolean(now().details.steady)));
    const more = app.source.mode === "served"
      ? "Zoom in to see all of them."
      : "This file holds no more; 'pathlab serve RESULTS' does.";
    fill(
      parts.notes,
      [...found.notes, found.reduced ? more : null].filter(Boolean).map((text) =>
        make("p", { class: "note" }, text)
      ),
    );
  }

  // Draws the part of the time that is shown, once per frame of the screen, and says what it holds.
  function apply() {
    if (frame || !chart) return;
    frame = window.requestAnimationFrame(() => {
      frame = 0;
      const shown = chart;
      if (!shown) return;
      shown.batch(() => shown.setScale("x", { min: now().start, max: now().end }));
      const text = describeShown(now());
      parts.status.textContent = text;
      parts.frame.setAttribute("aria-label", text);
      const whole = now().start <= now().found.first && now().end >= now().found.last;
      for (const part of ["left", "right", "reset", "out"]) disable(part, whole);
    });
  }

  // A disabled element would lose the keyboard's focus.
  /** @param {string} part @param {boolean} off */
  function disable(part, off) {
    getPart(parts.tools, "[data-part='" + part + "']").setAttribute("aria-disabled", String(off));
  }

  /** @param {number} start @param {number} end */
  function look(start, end) {
    if (!state?.found) return;
    const { first, last } = now().found;
    const least = Math.max((last - first) * LEAST_SHARE, 1e-6);
    const span = Math.min(Math.max(end - start, least), Math.max(last - first, least));
    const middle = (start + end) / 2;
    now().start = Math.min(Math.max(middle - span / 2, first), Math.max(last - span, first));
    now().end = now().start + span;
    apply();
    window.clearTimeout(timer);
    if (app.source.mode === "served") timer = window.setTimeout(refine, WAIT_MS);
  }

  // Reads the part anew where the values at hand are not all there are, or end within it.
  function refine() {
    if (!state?.found) return; // another series is being read
    const { found, start, end } = now();
    const span = end - start;
    const held = found.start <= start && found.end >= end;
    const fine = !found.reduced || (found.end - found.start) <= span * (2 * BESIDE + 1) * 1.01;
    if (held && fine) return;
    const from = Math.max(found.first, start - BESIDE * span);
    const to = Math.min(found.last, end + BESIDE * span);
    load(from, to);
  }

  /** @param {number} share */
  const move = (share) =>
    state &&
    look(now().start + share * (now().end - now().start), now().end + share * (now().end - now().start));

  /** @param {number} factor @param {number} [at] */
  function zoom(factor, at) {
    if (!state?.found) return;
    const centre = at === undefined ? (now().start + now().end) / 2 : at;
    look(centre - (centre - now().start) * factor, centre + (now().end - centre) * factor);
  }

  function reset() {
    if (state && state.found) look(now().found.first, now().found.last);
  }

  function resize() {
    if (chart && chart.width !== widthPx()) chart.setSize({ width: widthPx(), height: COURSE_HEIGHT_PX });
  }

  function destroy() {
    asked += 1;
    window.clearTimeout(timer);
    window.cancelAnimationFrame(frame);
    observer.disconnect();
    scheme.removeEventListener("change", repaint);
    if (chart) chart.destroy();
    chart = null;
    state = null;
    fill(root);
  }

  return { show, destroy };
}

/** @type {CourseChart | null} */
let figured = null;

// In place of the figure, where the view shows a time course: that of the trial that is open.
/** @param {HTMLElement} root @param {App} app */
export function showCourse(root, app) {
  if (figured) figured.destroy();
  figured = null;
  const name = app.view.trial || "";
  const row = name ? findRow(app.table, name) : -1;
  if (row < 0) return false;
  const holder = make("div", { class: "course" }, make("p", { class: "soft" }, "Reading the trial …"));
  fill(root, holder);
  const mine = createCourseChart(holder, app);
  figured = mine;
  readDetails(app, name, row).then(
    (details) => {
      if (figured === mine) mine.show(row, details, app.view.series);
    },
    (error) => fill(holder, make("p", { class: "warning" }, "The trial could not be read: " + error.message)),
  );
  return true;
}
