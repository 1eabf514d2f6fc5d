// How the values of selected trials are distributed: CDF, CCDF and histogram of each curve. The same points as
// study/exploration/distributions.py, which says how bins and bands are chosen.
import { BINS_MAX, EDGE_RATIO, END_STEPS, ONLY_BIN, ONLY_BIN_RATIO, STEPS_MAX } from "./constants.js";
import { bandWidth, quantile } from "./estimates.js";
import { describeAxis } from "./figure_axes.js";
import { chooseEvenly, keepRows, takeValues } from "./grouping.js";
import { writeTrialCount } from "./labels.js";
import { searchSorted } from "./serial_order.js";

/** @type {Record<string, string>} */
const LABELS = { cdf: "trials at or below", ccdf: "trials above", histogram: "trials" };

/**
 * How many bins of equal width sorted values get, 1 to 100.
 * @param {Float64Array} sorted
 */
function countBins(sorted) {
  const [low, q1, q3, high] = [0, 0.25, 0.75, 1].map((ratio) => quantile(sorted, ratio));
  if (low === high) return 1;
  if (q1 === q3) return Math.ceil(Math.log2(sorted.length)) + 1;
  const bins = (high - low) / (2 * (q3 - q1)) * Math.cbrt(sorted.length);
  return Math.min(BINS_MAX, Math.max(1, Math.ceil(bins - EDGE_RATIO)));
}

/**
 * Bins of equal width on a scale.
 * @param {Float64Array} sorted
 * @param {boolean} log
 */
function makeBins(sorted, log) {
  const places = log ? sorted.map(Math.log10) : sorted;
  let low = places[0];
  let high = places[places.length - 1];
  const count = countBins(places);
  if (low === high) {
    const half = Math.abs(low) * ONLY_BIN_RATIO || ONLY_BIN;
    [low, high] = [low - half, high + half];
  }
  const width = (high - low) / count;
  /** @param {number} at */
  const edge = (at) => {
    const place = at === count ? high : low + at * width;
    return log ? 10 ** place : place;
  };
  /** @param {number} value */
  const find = (value) => {
    const bin = Math.floor(((log ? Math.log10(value) : value) - low) / width + EDGE_RATIO);
    return Math.min(count - 1, Math.max(0, bin));
  };
  return { count, edge, find };
}

// The rows of each of so many parts, in their order.
/** @param {Uint32Array} rows @param {number} count @param {(row: number) => number} find */
function splitRows(rows, count, find) {
  /** @type {number[][]} */
  const parts = Array.from({ length: count }, () => []);
  for (let at = 0; at < rows.length; at += 1) parts[find(rows[at])].push(rows[at]);
  return parts;
}

// The number of trials in each bin, at its middle on the scale of the bins.
/** @param {Numbers} values @param {Uint32Array} rows @param {ReturnType<typeof makeBins>} bins */
function buildBins(values, rows, bins) {
  return splitRows(rows, bins.count, (row) => bins.find(values[row])).map((part, place) => ({
    x: bins.edge(place + 0.5),
    y: part.length,
    low: null,
    high: null,
    state: "estimated",
    trials: part.length,
    rows: Uint32Array.from(part),
  }));
}

// The last place of each distinct value, or of some of them.
/** @param {Float64Array} sorted */
function chooseSteps(sorted) {
  const ends = [];
  for (let at = 0; at < sorted.length; at += 1) {
    if (sorted[at] !== sorted[at + 1]) ends.push(at);
  }
  if (ends.length <= STEPS_MAX) return ends;
  const chosen = new Set([
    ...chooseEvenly(ends, STEPS_MAX),
    ...ends.slice(0, END_STEPS),
    ...ends.slice(-END_STEPS),
  ]);
  return Array.from(chosen).sort((one, other) => one - other);
}

// The share of trials at or below, or above, each value; a point's rows are its step's.
/** @param {View} view @param {Numbers} values @param {Uint32Array} rows */
function buildSteps(view, values, rows) {
  const samples = takeValues(values, rows);
  const sorted = samples.slice().sort();
  const ends = chooseSteps(sorted);
  const band = bandWidth(samples, sorted);
  const shown = band === null || view.range !== "interval" ? null : 100 * band;
  const tops = Float64Array.from(ends, (end) => sorted[end]);
  const steps = splitRows(rows, ends.length, (row) => searchSorted(tops, values[row], false));
  return ends.map((end, step) => {
    const share = 100 * (view.statistic === "ccdf" ? rows.length - end - 1 : end + 1) / rows.length;
    return {
      x: sorted[end],
      y: share,
      low: shown === null ? null : Math.max(0, share - shown),
      high: shown === null ? null : Math.min(100, share + shown),
      state: band === null ? "undecided" : "estimated",
      trials: rows.length,
      rows: Uint32Array.from(steps[step]),
    };
  });
}

/** @param {SelectedTrials} selection @param {Column} column */
function describeShares(selection, column) {
  const { view, ys } = selection;
  const label = LABELS[view.statistic];
  const suggested = view.statistic === "ccdf" ? "log10" : "linear";
  return {
    ...describeAxis(column, view.scaleY || suggested, view.minY, view.maxY),
    label: ys.length > 1 ? column.label + ": " + label : label.charAt(0).toUpperCase() + label.slice(1),
    unit: view.statistic === "histogram" ? null : "%",
    kind: "number",
    suggested,
  };
}

/**
 * @param {Column[]} kept
 * @param {Uint32Array} rows
 * @param {(column: Column, row: number) => boolean} takes
 */
function listValues(kept, rows, takes) {
  const parts = kept.map((column) => takeValues(column.values, keepRows(rows, (row) => takes(column, row))));
  const pooled = new Float64Array(parts.reduce((total, part) => total + part.length, 0));
  parts.reduce((start, part) => {
    pooled.set(part, start);
    return start + part.length;
  }, 0);
  return pooled.sort();
}

/**
 * The distribution of each curve over all its trials, whatever their x.
 * @param {SelectedTrials} selection of curves.js
 * @returns {Drawn}
 */
export function buildDistributions(selection) {
  const { view, rows, ys, isUsed } = selection;
  const notes = selection.listLimits();
  const kept = ys.filter((column) => column.unit === ys[0].unit);
  for (const column of ys.filter((one) => one.unit !== ys[0].unit)) {
    notes.push(column.label + " not shown: " + ys[0].label + " has another unit.");
  }
  const histogram = view.statistic === "histogram";
  const log = histogram && (view.scaleX || "linear") !== "linear";
  /** @param {Column} column @param {number} row */
  const isKnown = (column, row) => isUsed(row) && Number.isFinite(column.values[row]);
  /** @param {Column} column @param {number} row */
  const takes = (column, row) => isKnown(column, row) && (!log || column.values[row] > 0);
  if (log) {
    const below = kept.reduce((total, column) =>
      total +
      keepRows(rows, (row) => isKnown(column, row) && column.values[row] <= 0).length, 0);
    if (below) notes.push(writeTrialCount(below) + " at or below 0 not shown on a logarithmic axis.");
  }
  const pooled = listValues(histogram ? kept : [], rows, takes);
  const bins = pooled.length ? makeBins(pooled, log) : null;
  const edges = bins ? Array.from({ length: bins.count + 1 }, (_, at) => bins.edge(at)) : [];
  /** @param {Column} column @param {number} colour @param {Uint32Array} part */
  const buildCurve = (column, colour, part) => {
    const known = keepRows(part, (row) => takes(column, row));
    if (!known.length) return [];
    const points = bins ? buildBins(column.values, known, bins) : buildSteps(view, column.values, known);
    return [selection.makeCurve(column, colour, { points, edges })];
  };
  const axis = describeAxis(ys[0], view.scaleX || "linear", view.minX, view.maxX);
  return {
    x: { ...axis, label: kept.map((column) => column.label).join(", ") },
    ys: kept.map((column) => describeShares(selection, column)),
    facets: selection.buildFacets(kept, buildCurve),
    notes,
  };
}
