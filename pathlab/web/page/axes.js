// Axes of a figure: from where to where they reach, and which ticks have room.
// The same rules as pathlab.report.plots.extents, with the widths of labels measured on this screen.
import { FROM_ZERO_RATIO, MARGIN_RATIO, STEPS_S } from "../core/constants.js";
import { nameColumn } from "../core/column_choice.js";

const LABEL_GAP_PX = 10;
const LINES_MAX = 3;
const TILTED_DEG = -40;
const TILTED_LETTERS = 22;
const TICKS_MOST = 10;
/** @type {Record<string, string>} */
const SUPERSCRIPT = {
  "-": "⁻",
  0: "⁰",
  1: "¹",
  2: "²",
  3: "³",
  4: "⁴",
  5: "⁵",
  6: "⁶",
  7: "⁷",
  8: "⁸",
  9: "⁹",
};
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];
const DAY_S = 86400;
const pencil = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/**
 * Width of a text in px, in the type of figures.
 * @param {string} text
 * @param {number} [sizePx]
 */
export function measureText(text, sizePx) {
  pencil.font = (sizePx || 12) + "px system-ui, -apple-system, Segoe UI, sans-serif";
  return pencil.measureText(text).width;
}

/**
 * A number as an axis shows it: `2048`, `0.25`, `10⁷`, `5×10⁵`.
 * @param {number} value
 */
export function formatTick(value) {
  if (value === 0 || (Math.abs(value) >= 1e-4 && Math.abs(value) < 1e5)) {
    return String(Number(value.toPrecision(6)));
  }
  const power = Math.floor(Math.log10(Math.abs(value)));
  const factor = String(Number((value / 10 ** power).toPrecision(3)));
  const tens = "10" + Array.from(String(power), (letter) => SUPERSCRIPT[letter]).join("");
  return factor === "1" ? tens : factor + "×" + tens;
}

/**
 * Bytes with a binary unit where they are whole in it: `64 KiB`.
 * @param {number} value
 */
export function formatBinaryBytes(value) {
  let unit = 0;
  while (unit < BINARY.length - 1 && Math.abs(value) >= 1024) {
    value /= 1024;
    unit += 1;
  }
  return String(Number(value.toPrecision(4))) + " " + BINARY[unit];
}

/** @param {number} number */
const pad = (number) => String(number).padStart(2, "0");

/**
 * A time in UTC: `2026-11-21 05:03:05`.
 * @param {number} seconds
 */
export function formatUtc(seconds) {
  if (!Number.isFinite(seconds)) return "not known";
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

// Hour and minute, with the date where a day begins and at the first tick.
/** @param {number} seconds @param {number} step @param {boolean} first */
function timeLabel(seconds, step, first) {
  const at = new Date(seconds * 1000);
  const day = at.toISOString().slice(0, 10);
  if (step >= 28 * DAY_S) return day.slice(0, 7);
  if (step >= DAY_S) return day;
  const clock = pad(at.getUTCHours()) + ":" + pad(at.getUTCMinutes()) +
    (step < 60 ? ":" + pad(at.getUTCSeconds()) : "");
  return first || seconds % DAY_S === 0 ? clock + "\n" + day : clock;
}

/**
 * @param {number[]} ends
 * @param {number} px
 * @returns {[number[], string[]]}
 */
function markTimes([low, high], px) {
  const wide = measureText("2026-11-23") + 2 * LABEL_GAP_PX;
  const wanted = (high - low) / Math.max(2, Math.floor(px / wide));
  const step = STEPS_S.find((one) => one >= wanted) || wanted;
  const ticks = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(at);
  return [ticks, ticks.map((at, number) => timeLabel(at, step, number === 0))];
}

/** @param {number[]} ends @param {number} px @param {boolean} across */
function markDecades([low, high], px, across) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const step = Math.max(1, Math.ceil((last - first) / Math.max(2, px / 45)));
  const sets = last - first <= 3 ? [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]] : [[1]];
  for (const factors of sets) {
    /** @type {number[]} */
    const marks = [];
    for (let power = first; power <= last; power += step) {
      factors.forEach((factor) => marks.push(Number((factor * 10 ** power).toPrecision(12))));
    }
    const inside = marks.filter((mark) => mark >= low && mark <= high);
    if (inside.length > 1) return inside;
  }
  return niceTicks([low, high], px, across);
}

/** @param {number[]} ends @param {number} px @param {boolean} across */
function markPowers([low, high], px, across) {
  const [first, last] = [Math.ceil(Math.log2(low)), Math.floor(Math.log2(high))];
  if (last - first < 1) return niceTicks([low, high], px, across);
  const step = Math.max(1, Math.ceil((last - first) / Math.max(2, px / 45)));
  const marks = [];
  for (let power = first; power <= last; power += step) marks.push(2 ** power);
  return marks;
}

/** @param {number[]} ends @param {number} px @param {boolean} [across] */
function niceTicks([low, high], px, across = true) {
  const raw = (high - low) / Math.min(TICKS_MOST, Math.max(3, Math.floor(px / (across ? 70 : 42))));
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = [0.2, 0.25, 0.5, 1, 2, 2.5, 5, 10].map((factor) => factor * power);
  for (let choice = steps.findIndex((one) => one >= raw * 0.999); choice >= 0; choice -= 1) {
    const marks = listMultiples([low, high], steps[choice]);
    if (marks.length > 2 || choice === 0) return marks;
  }
  return [low, high];
}

/** @param {number[]} ends @param {number} step */
function listMultiples([low, high], step) {
  const marks = [];
  for (
    let number = Math.ceil(low / step - 1e-9);
    number * step <= high * (1 + 1e-12) + step * 1e-9;
    number += 1
  ) {
    marks.push(Number((number * step).toPrecision(12)));
  }
  return marks;
}

/**
 * Where a value lies on an axis, 0 at its low end and 1 at its high end.
 * @param {BuiltAxis} axis
 * @param {number} value
 */
export function toShare(axis, value) {
  const [low, high] = axis.log ? axis.ends.map(Math.log) : axis.ends;
  return ((axis.log ? Math.log(value) : value) - low) / (high - low);
}

/**
 * The value at such a place.
 * @param {BuiltAxis} axis
 * @param {number} share
 */
export function fromShare(axis, share) {
  const [low, high] = axis.log ? axis.ends.map(Math.log) : axis.ends;
  const found = low + share * (high - low);
  return axis.log ? Math.exp(found) : found;
}

// Labels in the order of their ticks, "" for one that would touch the one before it.
/**
 * @param {BuiltAxis} axis
 * @param {number[]} ticks
 * @param {string[]} labels
 * @param {number} px
 * @param {boolean} across
 * @param {number} sizePx
 */
function dropCrowded(axis, ticks, labels, px, across, sizePx) {
  /** @param {string} label */
  const size = (label) =>
    across
      ? Math.max(...label.split("\n").map((line) => measureText(line, sizePx))) + LABEL_GAP_PX
      : (label.split("\n").length * sizePx * 1.3) + 2;
  let free = -Infinity;
  return labels.map((label, number) => {
    const middle = toShare(axis, ticks[number]) * px;
    const half = size(label) / 2;
    if (!Number.isFinite(middle) || middle - half < free) return "";
    free = middle + half;
    return label;
  });
}

/** @param {string} text @param {number} letters */
export function breakLines(text, letters) {
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + word.length < letters) lines[last] += " " + word;
    else lines.push(word);
  }
  return lines;
}

/** @param {string} text @param {number} letters */
const shorten = (text, letters) => text.length > letters ? text.slice(0, letters - 1) + "…" : text;

// Names of levels: in lines where they fit, else tilted, else each k-th of them.
/**
 * @param {BuiltAxis} axis
 * @param {string[]} levels
 * @param {number} px
 * @param {number} sizePx
 * @returns {{marks: [number[], string[]], tilt?: number}}
 */
function markLevels(axis, levels, px, sizePx) {
  const ticks = levels.map((_, number) => number);
  const room = px / Math.max(1, axis.ends[1] - axis.ends[0]);
  const letters = Math.max(4, Math.floor((room - LABEL_GAP_PX / 2) / (sizePx * 0.56)));
  const lines = levels.map((level) => breakLines(String(level), letters));
  const fits = lines.every((one) =>
    one.length <= LINES_MAX && one.every((line) => measureText(line, sizePx) <= room - 4)
  );
  if (fits) return { marks: [ticks, lines.map((one) => one.join("\n"))] };
  const every = Math.max(1, Math.ceil((sizePx * 1.5) / room));
  const most = Math.min(TILTED_LETTERS, Math.max(8, Math.floor(px / (sizePx * 2.4))));
  const texts = levels.map((level, number) => number % every ? "" : shorten(String(level), most));
  return { marks: [ticks, texts], tilt: TILTED_DEG };
}

/** @param {number[]} values @param {boolean} log @param {boolean} fromZero @param {number} marginRatio */
function reach(values, log, fromZero, marginRatio) {
  const good = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!good.length) return log ? [1, 10] : [0, 1];
  const least = good.reduce((a, b) => Math.min(a, b));
  const most = good.reduce((a, b) => Math.max(a, b));
  if (log) {
    const stretch = Math.max((most / least) ** marginRatio, 1.15);
    return [least / stretch, most * stretch];
  }
  const zero = fromZero && least >= 0 && least <= most * FROM_ZERO_RATIO;
  const start = zero ? 0 : least;
  const span = most - start || Math.abs(most) * 0.2 || 2;
  const margin = marginRatio * span;
  return [zero ? 0 : start - margin, most + margin];
}

// The name of a level that was measured, without the unit that the axis has in its title.
/** @param {Axis} axis @param {number} tick */
function nameTick(axis, tick) {
  const text = axis.tickLabels && axis.ticks && axis.tickLabels[axis.ticks.indexOf(tick)];
  if (!text) return null;
  const unit = " " + axis.unit;
  return axis.unit && axis.unit !== "B" && text.endsWith(unit) ? text.slice(0, -unit.length) : text;
}

/**
 * An axis as report.js reads it: `{title, log, ends, marks}`, and `tilt` of its labels in degrees.
 * @param {Axis} axis of the exploration: {label, unit, scale, ticks, kind, levels}
 * @param {number[]} values all that it has to reach
 * @param {AxisRoom} how
 *   px: its length on the screen; padPx: free before its first and after its last value; low, high: manual
 *   limits; letters: of a line of its title
 * @returns {MarkedAxis}
 */
export function buildAxis(axis, values, how) {
  const { px, sizePx = 12, across = false } = how;
  const scale = axis.scale || axis.suggested || "linear";
  const log = scale === "log2" || scale === "log10";
  const name = axis.kind === "time" ? axis.label + " (UTC)" : nameColumn(axis);
  const title = breakLines(name, how.letters || 60);
  const levels = axis.levels || [];
  if (levels.length || axis.kind === "category") {
    const found = { title, log: false, ends: [-0.5, Math.max(1, levels.length) - 0.5] };
    return { ...found, ...markLevels(found, levels, px, sizePx) };
  }
  const pad = (how.padPx || 0) / px;
  const ends = reach(
    values,
    log,
    !across && !axis.tight,
    Math.max(MARGIN_RATIO, pad / Math.max(0.2, 1 - 2 * pad)),
  );
  /** @type {(value: number | null | undefined) => value is number} */
  const usable = (value) =>
    value !== null && value !== undefined && Number.isFinite(value) && (!log || value > 0);
  if (usable(how.low)) ends[0] = how.low;
  if (usable(how.high)) ends[1] = how.high;
  if (!(ends[0] < ends[1])) {
    if (usable(how.high) && !usable(how.low)) ends[0] = log ? ends[1] / 10 : ends[1] - 1;
    else ends[1] = log ? ends[0] * 10 : ends[0] + 1;
  }
  const found = { title, log, ends };
  if (axis.kind === "time") return { ...found, marks: markTimes(ends, px) };
  const inside = (axis.ticks || []).filter((tick) => tick >= ends[0] && tick <= ends[1]);
  const ticks = inside.length > 1 || (inside.length && inside.length === (axis.ticks || []).length)
    ? inside
    : scale === "log2"
    ? markPowers(ends, px, across)
    : scale === "log10"
    ? markDecades(ends, px, across)
    : niceTicks(ends, px, across);
  const write = axis.unit === "B" ? formatBinaryBytes : formatTick;
  const labels = dropCrowded(
    found,
    ticks,
    ticks.map((tick) => nameTick(axis, tick) || write(tick)),
    px,
    across,
    sizePx,
  );
  return { ...found, marks: [ticks, labels] };
}
