// How uPlot draws a course: its lines, bands, axes, marks and legend, and the texts of its values.
import { COLOURS } from "../core/constants.js";
import { make } from "./dom.js";

export const COURSE_HEIGHT_PX = 260;
const MARKED_MAX = 200;

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
function measureSelection(data, start, end) {
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

// What a chart is made for; values of the same shape are exchanged in it.
/** @param {Course} found */
export const describeShape = (found) =>
  [
    found.series,
    found.lines.map((line) => line.name).join("|"),
    found.bands.length,
    found.step,
    isDark(),
    isFew(found),
  ].join("\n");

// So few values that each has a mark.
/** @param {Course} found */
const isFew = (found) => !found.reduced && Math.max(found.x.length, found.bandX.length) <= MARKED_MAX;

/** @param {string} colour @param {string} alpha */
function fade(colour, alpha) {
  if (colour.startsWith("#")) return colour + alpha;
  return colour.replace("rgb(", "rgba(").replace(")", ", " + parseInt(alpha, 16) / 255 + ")");
}

/**
 * The options of uPlot for a course.
 * @param {number} width_px
 * @param {() => ShownCourse} now
 * @param {(text: string) => void} readOut takes the values under the cursor
 */
export function describeChart(width_px, now, readOut) {
  const { found } = now();
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
    width: width_px,
    height: COURSE_HEIGHT_PX,
    legend: { show: false },
    padding: [10, 12, 0, 0],
    cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { size: 6 } },
    scales: {
      x: { time: false, range: () => [now().start, now().end] },
      y: { range: () => bound(now()) },
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
    hooks: {
      drawClear: [(/** @type {UPlot} */ plotted) => shade(plotted, now().details.steady)],
      draw: [(/** @type {UPlot} */ plotted) => markLost(plotted, now().found.lost)],
      setCursor: [(/** @type {UPlot} */ plotted) => readOut(describeCursor(plotted, now()))],
    },
  };
}

// From 0 on, as the report draws it, unless a value is below.
/** @param {ShownCourse} shown */
function bound({ data, start, end }) {
  const found = measureSelection(data, start, end) ||
    measureSelection(data, -Infinity, Infinity) ||
    { low: 0, high: 1 };
  const low = Math.min(0, found.low);
  const high = Math.max(found.high, low);
  return [low, high === low ? low + 1 : high + (high - low) * 0.06];
}

/** @param {UPlot} plotted @param {[number, number] | null} steady */
function shade(plotted, steady) {
  if (!steady) return;
  const { left, top, width, height } = plotted.bbox;
  const [from, to] = steady.map((time) => plotted.valToPos(time, "x", true));
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

/** @param {UPlot} plotted @param {number[]} times */
function markLost(plotted, times) {
  const { left, top, width, height } = plotted.bbox;
  const { ctx } = plotted;
  const size = 4 * window.devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = token("--ink");
  ctx.lineWidth = 1.4 * window.devicePixelRatio;
  ctx.beginPath();
  for (const time of times) {
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

/** @param {UPlot} plotted @param {ShownCourse} shown */
function describeCursor(plotted, { found, data, start, end }) {
  const place = plotted.cursor.idx;
  if (place === null || place === undefined) return "";
  const values = [...found.lines, ...found.bands].map(({ name }, at) => {
    const value = data[at + 1][place];
    return value === null || value === undefined
      ? null
      : name + " " + format(value) + (found.unit ? " " + found.unit : "");
  }).filter(Boolean);
  return formatTime(data[0][place], end - start) + ": " + (values.join(", ") || "not measured");
}

/**
 * The values of the part that is shown, as a sentence.
 * @param {ShownCourse} shown
 */
export function describeShown({ found, data, start, end }) {
  const range = measureSelection(data, start, end);
  const span = end - start;
  const unit = found.unit ? " " + found.unit : "";
  return found.label + ", " + found.group.toLowerCase() + ", from " + formatTime(start, span) + " to " +
    formatTime(end, span) + ": " +
    (range ? format(range.low) + " to " + format(range.high) + unit : "nothing measured") + ".";
}

/**
 * The legend: an entry for each line, the bands and the marks.
 * @param {Course} found
 * @param {boolean} hasSteady
 */
export function listKeys(found, hasSteady) {
  /** @param {string} colour @param {string} name @param {string} kind */
  const entry = (colour, name, kind) => make("li", {}, swatch(colour, kind), name);
  return [
    found.lines.map((line, place) => entry(colourLine(found, place), line.name, "line")),
    found.bands.length
      ? [entry(colourOf(0), "middle half and median", "band"), entry(colourOf(0), "range", "range")]
      : null,
    hasSteady ? entry(token("--soft"), "steady window", "steady") : null,
    found.lost.length ? entry(token("--ink"), "lost probe", "lost") : null,
  ];
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
