// A series of one trial over its time (uPlot): moved and zoomed with a mouse, fingers, keys or buttons. A closer
// look asks the server for the values of that part; an exported page has the course at one width.
import { COLOURS } from "../core/constants.js";
import { fill, findFocused, getPart, make, makeId, makeLabel, makeSelect } from "./dom.js";
import { findRow, readDetails } from "./trials.js";

const HEIGHT_PX = 260;
const LEAST_PX = 120;
const MARKED_MAX = 200;
const ZOOM = 2;
const STEP = 0.25;
const WHEEL = 1.25;
// Beside the part shown as much again is read on either side, so that moving it shows no gap at once.
const BESIDE = 1;
const WAIT_MS = 120;
const LEAST_SHARE = 1e-7;
const HELP =
  "Arrow keys move, plus and minus zoom, 0 shows all. Drag to move, pinch to zoom, and turn the mouse wheel to zoom once the figure was clicked.";

/** @param {number} value */
const format = (value) => String(Number(value.toPrecision(4)));
/** @param {number} seconds @param {number} span */
const formatTime = (seconds, span) =>
  seconds.toFixed(Math.max(0, Math.min(9, 3 - Math.floor(Math.log10(Math.max(span, 1e-9)))))) + " s";
/** @param {string} name */
const token = (name) => window.getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isDark = () => window.matchMedia("(prefers-color-scheme: dark)").matches;

/** @param {string} colour */
function lighten(colour) {
  if (!isDark()) return colour;
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return "rgb(" + parts.map((part) => Math.round(part + (255 - part) * 0.35)).join(", ") + ")";
}

/** @param {number} place */
const colourOf = (place) => lighten(COLOURS[place % COLOURS.length]);

// The sum of all is in the colour of text; streams keep their colours with it and without it.
/** @param {Course} found @param {number} place */
function colourLine(found, place) {
  const total = Boolean(found.lines.length) && found.lines[0].total;
  return found.lines[place] && found.lines[place].total ? token("--ink") : colourOf(place - Number(total));
}

/**
 * Times and values as uPlot takes them: lines first, then the five quantiles of the bands.
 * @param {Course} found
 * @returns {Aligned}
 */
export function alignCourse(found) {
  const steps = found.step && found.x.length ? found.x.concat([found.last]) : found.x;
  const lines = found.lines.map((line) =>
    found.step && line.values.length ? line.values.concat(line.values.slice(-1)) : line.values
  );
  const bands = found.bands.map((band) => band.values);
  if (!bands.length) return [steps, ...lines];
  if (!lines.length) return [found.bandX, ...bands];
  return window.uPlot.join([[steps, ...lines], [found.bandX, ...bands]]);
}

/**
 * The least and the largest value between two times; null where nothing was measured.
 * @param {Aligned} data
 * @param {number} start
 * @param {number} end
 */
export function measureSelection(data, start, end) {
  let low = Infinity;
  let high = -Infinity;
  const times = data[0];
  for (let place = 0; place < times.length; place += 1) {
    if (times[place] < start || times[place] > end) continue;
    for (let line = 1; line < data.length; line += 1) {
      const value = data[line][place];
      if (value === null || value === undefined) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? { low, high } : null;
}

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
  /**
   * @typedef {Object} State the series that is shown, and from when to when it is seen
   * @property {number} row
   * @property {string} series
   * @property {TrialDetails} details
   * @property {Course | null} found
   * @property {Aligned} data
   * @property {number} start
   * @property {number} end
   */
  const parts = /** @type {Parts} */ ({});
  /** @type {State | null} */
  let state = null;
  /** @type {UPlot | null} */
  let chart = null;
  let drawn = "";
  let frame = 0;
  let timer = 0;
  let asked = 0;
  /** @type {Map<number, number>} */
  const pointers = new Map();
  /** @type {[number, number] | null} */
  let pinch = null;
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
  const now = () => /** @type {State & {found: Course}} */ (state);

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
      button("left", "←", "Earlier", () => move(-STEP)),
      button("right", "→", "Later", () => move(STEP)),
      button("in", "+", "Zoom in", () => zoom(1 / ZOOM)),
      button("out", "−", "Zoom out", () => zoom(ZOOM)),
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
    listen();
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

  // What a chart is made for; values of the same shape are exchanged in it.
  /** @param {Course} found */
  const shapeOf = (found) =>
    [
      found.series,
      found.lines.map((line) => line.name).join("|"),
      found.bands.length,
      found.step,
      isDark(),
      isFew(found),
    ].join("\n");

  function plot() {
    const { found } = now();
    const data = alignCourse(found);
    now().data = data;
    const shape = shapeOf(found);
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
    chart = new window.uPlot(describe(found), data, parts.frame);
    apply();
    explain(found);
  }

  /** @param {Course} found */
  function explain(found) {
    /** @param {string} colour @param {string} name @param {string} kind */
    const entry = (colour, name, kind) => make("li", {}, swatch(colour, kind), name);
    fill(
      parts.keys,
      found.lines.map((line, place) => entry(colourLine(found, place), line.name, "line")),
      found.bands.length
        ? [entry(colourOf(0), "middle half and median", "band"), entry(colourOf(0), "range", "range")]
        : null,
      now().details.steady ? entry(token("--soft"), "steady window", "steady") : null,
      found.lost.length ? entry(token("--ink"), "lost probe", "lost") : null,
    );
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

  /** @param {string} colour @param {string} kind */
  function swatch(colour, kind) {
    const made = make(
      "span",
      { class: "swatch " + kind, "aria-hidden": "true" },
      kind === "lost" ? "×" : null,
    );
    made.style.color = colour;
    return made;
  }

  /** @param {Course} found */
  function describe(found) {
    const ink = token("--soft");
    const grid = { stroke: token("--line"), width: 1 };
    const axis = {
      stroke: ink,
      grid,
      ticks: grid,
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
      labelSize: 20,
    };
    const stepped = window.uPlot.paths.stepped({ align: 1 });
    const few = isFew(found);
    const lines = found.lines.map((line, place) => ({
      label: line.name,
      stroke: colourLine(found, place),
      width: line.total ? 2 : 1.5,
      paths: found.step ? stepped : undefined,
      points: { show: !found.step && few, size: 5 },
    }));
    const tone = colourOf(0);
    const bands = found.bands.map((band, place) => ({
      label: band.name,
      stroke: place === 2 ? tone : "transparent",
      width: place === 2 ? 1.5 : 0,
      points: { show: found.bandX.length === 1 },
    }));
    const first = found.lines.length + 1;
    const fades = [{ high: 4, low: 0, alpha: "28" }, { high: 3, low: 1, alpha: "48" }].map((
      { high, low, alpha },
    ) => ({
      series: [first + high, first + low],
      fill: fade(tone, alpha),
    }));
    return {
      width: widthPx(),
      height: HEIGHT_PX,
      legend: { show: false },
      padding: [10, 12, 0, 0],
      cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { size: 6 } },
      scales: {
        x: { time: false, range: () => [now().start, now().end] },
        y: { range: () => bound(now().data) },
      },
      axes: [
        {
          ...axis,
          size: 34,
          labelGap: 2,
          label: "Time since start" +
            (/^receiver/.test(found.series) ? " (receiver: since its first byte)" : "") + ", s",
        },
        {
          ...axis,
          label: found.label + (found.unit ? ", " + found.unit : ""),
          size: 62,
          values: (/** @type {unknown} */ _, /** @type {number[]} */ splits) => splits.map(format),
        },
      ],
      series: [{}, ...lines, ...bands],
      bands: found.bands.length ? fades : undefined,
      hooks: { drawClear: [shade], draw: [markLost], setCursor: [readOut] },
    };
  }

  // So few values that each has a mark.
  /** @param {Course} found */
  const isFew = (found) => !found.reduced && Math.max(found.x.length, found.bandX.length) <= MARKED_MAX;

  /** @param {string} colour @param {string} alpha */
  function fade(colour, alpha) {
    if (colour.startsWith("#")) return colour + alpha;
    return colour.replace("rgb(", "rgba(").replace(")", ", " + parseInt(alpha, 16) / 255 + ")");
  }

  // From 0 on, as the report draws it, unless a value is below.
  /** @param {Aligned} data */
  function bound(data) {
    const found = measureSelection(data, now().start, now().end) ||
      measureSelection(data, -Infinity, Infinity) ||
      { low: 0, high: 1 };
    const low = Math.min(0, found.low);
    const high = Math.max(found.high, low);
    return [low, high === low ? low + 1 : high + (high - low) * 0.06];
  }

  /** @param {UPlot} plotted */
  function shade(plotted) {
    if (!now().details.steady) return;
    const { left, top, width, height } = plotted.bbox;
    const [from, to] = (now().details.steady || []).map((time) => plotted.valToPos(time, "x", true));
    const low = Math.max(from, left);
    const high = Math.min(to, left + width);
    if (high <= low) return;
    const { ctx } = plotted;
    ctx.save();
    ctx.globalAlpha = 0.13;
    ctx.fillStyle = token("--soft");
    ctx.fillRect(low, top, high - low, height);
    ctx.restore();
  }

  /** @param {UPlot} plotted */
  function markLost(plotted) {
    const { left, top, width, height } = plotted.bbox;
    const { ctx } = plotted;
    const size = 4 * window.devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = token("--ink");
    ctx.lineWidth = 1.4 * window.devicePixelRatio;
    ctx.beginPath();
    for (const time of now().found.lost) {
      const x = plotted.valToPos(time, "x", true);
      if (x < left || x > left + width) continue;
      const y = top + height - size * 1.6;
      ctx.moveTo(x - size, y - size);
      ctx.lineTo(x + size, y + size);
      ctx.moveTo(x - size, y + size);
      ctx.lineTo(x + size, y - size);
    }
    ctx.stroke();
    ctx.restore();
  }

  /** @param {UPlot} plotted */
  function readOut(plotted) {
    const place = plotted.cursor.idx;
    if (place === null || place === undefined) {
      parts.readout.textContent = "";
      return;
    }
    const names = [...now().found.lines, ...now().found.bands].map((line) => line.name);
    const values = names.map((name, at) => {
      const value = now().data[at + 1][place];
      return value === null || value === undefined
        ? null
        : name + " " + format(value) + (now().found.unit ? " " + now().found.unit : "");
    }).filter(Boolean);
    parts.readout.textContent = formatTime(now().data[0][place], now().end - now().start) + ": " +
      (values.join(", ") || "not measured");
  }

  // Draws the part of the time that is shown, once per frame of the screen, and says what it holds.
  function apply() {
    if (frame || !chart) return;
    frame = window.requestAnimationFrame(() => {
      frame = 0;
      const shown = chart;
      if (!shown) return;
      shown.batch(() => shown.setScale("x", { min: now().start, max: now().end }));
      const range = measureSelection(now().data, now().start, now().end);
      const span = now().end - now().start;
      const unit = now().found.unit ? " " + now().found.unit : "";
      const text = now().found.label + ", " + now().found.group.toLowerCase() + ", from " +
        formatTime(now().start, span) + " to " +
        formatTime(now().end, span) + ": " +
        (range ? format(range.low) + " to " + format(range.high) + unit : "nothing measured") + ".";
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

  /** @param {MouseEvent} event */
  const timeAt = (event) => {
    const box = /** @type {UPlot} */ (chart).over.getBoundingClientRect();
    return now().start + (event.clientX - box.left) / box.width * (now().end - now().start);
  };

  function listen() {
    const { frame: area } = parts;
    area.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      /** @type {Record<string, () => void>} */
      const acts = {
        ArrowLeft: () => move(-STEP),
        ArrowRight: () => move(STEP),
        "+": () => zoom(1 / ZOOM),
        "=": () => zoom(1 / ZOOM),
        "-": () => zoom(ZOOM),
        "0": reset,
        Home: () => look(now().found.first, now().found.first + now().end - now().start),
        End: () => look(now().found.last - now().end + now().start, now().found.last),
      };
      if (!Object.hasOwn(acts, event.key) || !state?.found) return;
      event.preventDefault();
      acts[event.key]();
    });
    area.addEventListener("wheel", (event) => {
      if (!chart || !(event.ctrlKey || area.contains(document.activeElement))) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / 600);
      else zoom(event.deltaY > 0 ? WHEEL : 1 / WHEEL, timeAt(event));
    }, { passive: false });
    area.addEventListener("dblclick", reset);
    area.addEventListener("pointerdown", (event) => {
      if (!chart || event.button) return;
      pointers.set(event.pointerId, event.clientX);
      area.setPointerCapture(event.pointerId);
      pinch = null;
    });
    area.addEventListener("pointermove", (event) => {
      const from = pointers.get(event.pointerId);
      if (from === undefined || !chart) return;
      pointers.set(event.pointerId, event.clientX);
      if (pointers.size === 1) {
        move((from - event.clientX) / chart.over.clientWidth);
      } else if (pointers.size === 2) {
        squeeze();
      }
    });
    for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
      area.addEventListener(name, (event) => {
        pointers.delete(event.pointerId);
        pinch = null;
      });
    }
  }

  // Two fingers keep the times that they touch.
  function squeeze() {
    const box = /** @type {UPlot} */ (chart).over.getBoundingClientRect();
    const [first, second] = Array.from(pointers.values(), (x) => (x - box.left) / box.width).sort((a, b) =>
      a - b
    );
    if (second - first < 0.02) return;
    const span = now().end - now().start;
    if (!pinch) pinch = [now().start + first * span, now().start + second * span];
    const wide = (pinch[1] - pinch[0]) / (second - first);
    look(pinch[0] - first * wide, pinch[0] + (1 - first) * wide);
  }

  function resize() {
    if (chart && chart.width !== widthPx()) chart.setSize({ width: widthPx(), height: HEIGHT_PX });
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
