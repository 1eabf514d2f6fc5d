// The axes of an exploration: what they show, where they are marked, which scale suits them. As
// study/exploration/figure_axes.py.
import { TICKS_MAX } from "./constants.js";

/**
 * The axis of a column without ticks.
 * @param {Column} column
 * @param {string} scale
 * @param {number | null} [low]
 * @param {number | null} [high]
 */
export function describeAxis(column, scale, low, high) {
  return {
    column: column.name,
    label: column.label,
    unit: column.unit || null,
    scale,
    kind: column.kind,
    ticks: null,
    tickLabels: null,
    levels: [],
    suggested: column.logSuggested ? "log10" : "linear",
    low: low === undefined ? null : low,
    high: high === undefined ? null : high,
  };
}

// The scale of an axis: log2 for powers of two, else log10 where the column suggests it.
/** @param {Column} column @param {number[]} values */
function suggestScale(column, values) {
  const positive = !values.length || values[0] > 0;
  if (
    values.length >= 3 && positive &&
    values.every((value) => Number.isInteger(Math.log2(value / values[0])))
  ) {
    return "log2";
  }
  return column.logSuggested && positive ? "log10" : "linear";
}

/**
 * The x axis of points over the levels of a column.
 * @param {View} view
 * @param {Column} column
 * @param {SplitColumn} xs
 */
export function describeX(view, column, xs) {
  const axis = describeAxis(column, view.scaleX || "linear", view.minX, view.maxX);
  if (xs.levels.texts) {
    return { ...axis, kind: column.kind === "flags" ? "flags" : "category", levels: xs.levels.texts };
  }
  const values = xs.shown.map((place) => xs.levels.values[place]);
  axis.suggested = suggestScale(column, values);
  axis.scale = view.scaleX || axis.suggested;
  if (column.role !== "factor" || !values.length || values.length > TICKS_MAX) return axis;
  return { ...axis, ticks: values, tickLabels: xs.shown.map((place) => xs.levels.name(place)) };
}

/**
 * The y axis of points in the unit of a column.
 * @param {View} view
 * @param {Column} column
 */
export function describeY(view, column) {
  return describeAxis(column, view.scaleY || "linear", view.minY, view.maxY);
}
