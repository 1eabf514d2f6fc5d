// The numbers of a figure as CSV, byte for byte as pathlab.report.explorer.figure_csv writes them.
import { CSV_AFTER_X, CSV_BEFORE_X } from "./constants.js";
import { escapeCell } from "./escapes.js";

const DIGITS = 10;
const WHOLE_MAX = 1e15;
// Decimal exponents that Python writes without an exponent.
const EXPONENT_MIN = -4;
const EXPONENT_MAX = 15;

/**
 * The figure as CSV text.
 * @param {Exploration} exploration
 */
export function writeCsv(exploration) {
  const rows = [[...CSV_BEFORE_X, nameAxis(exploration.x), ...CSV_AFTER_X], ...listRows(exploration)];
  return rows.map((row) => row.map((cell) => quote(escapeCell(cell))).join(",")).join("\n") + "\n";
}

/**
 * The label of an axis with its unit.
 * @param {Axis} axis
 */
export function nameAxis(axis) {
  return axis.unit ? axis.label + " (" + axis.unit + ")" : axis.label;
}

/**
 * A number with ten significant digits, as Python's repr writes it; empty for none.
 * @param {number | null | undefined} value
 */
export function formatCsvNumber(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  const rounded = Number(value.toPrecision(DIGITS));
  if (Number.isInteger(rounded) && Math.abs(rounded) < WHOLE_MAX) return String(rounded + 0);
  const [digits, exponent] = rounded.toExponential().split("e");
  const place = Number(exponent);
  if (place >= EXPONENT_MIN && place <= EXPONENT_MAX) {
    return Number.isInteger(rounded) ? rounded + ".0" : String(rounded);
  }
  return digits + "e" + (place < 0 ? "-" : "+") + String(Math.abs(place)).padStart(2, "0");
}

/**
 * A place on the x axis: the name of a level, a time in UTC or a number.
 * @param {Axis} axis
 * @param {number} value
 */
export function formatPlace(axis, value) {
  if (axis.levels && axis.levels.length) return String(axis.levels[value]);
  return axis.kind === "time"
    ? new Date(Math.floor(value * 1000 + 0.5)).toISOString()
    : formatCsvNumber(value);
}

/** @param {Exploration} exploration */
function listRows(exploration) {
  const measures = new Map(exploration.ys.map((axis) => [axis.column, nameAxis(axis)]));
  const rows = [];
  for (const facet of exploration.facets) {
    for (const curve of facet.curves) {
      for (const point of curve.points) {
        rows.push([
          facet.name,
          measures.get(curve.yColumn) || "",
          curve.name,
          exploration.statistic,
          formatPlace(exploration.x, point.x),
          formatCsvNumber(point.y),
          exploration.range,
          formatCsvNumber(point.low),
          formatCsvNumber(point.high),
          point.state,
          String(point.trials),
          "",
        ]);
      }
    }
  }
  for (const curve of exploration.against || []) {
    for (const change of curve.points) {
      rows.push([
        curve.facet,
        measures.get(curve.yColumn) || "",
        curve.name,
        "against the baseline",
        formatPlace(exploration.x, change.x),
        formatCsvNumber(change.y),
        "95 % confidence interval",
        formatCsvNumber(change.low),
        formatCsvNumber(change.high),
        change.state,
        String(change.trials),
        String(change.baselineTrials),
      ]);
    }
  }
  return rows;
}

/** @param {string} cell */
function quote(cell) {
  return /[",\n\r]/.test(cell) ? '"' + cell.replace(/"/g, '""') + '"' : cell;
}
