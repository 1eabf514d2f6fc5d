// One number for the trials of a group, with the range that a view shows: the same numbers as
// study/exploration/estimates.py, whose functions say what they assume.
import {
  CONFIDENCE_RATIO,
  MINIMUM_SAMPLES,
  MINIMUM_SPREAD,
  ROUNDING_RATIO,
  STATISTIC_NAMES,
} from "./constants.js";
import { medianRank, quantileRanks, studentQuantile } from "./distribution_functions.js";
import { boundOrder, sum, widening } from "./serial_order.js";

/**
 * The quantile of sorted samples, of which there is one at least, by linear interpolation.
 * @param {Float64Array} sorted
 * @param {number} ratio
 */
export function quantile(sorted, ratio) {
  const place = (sorted.length - 1) * ratio;
  const low = Math.floor(place);
  const step = place - low;
  const ends = [sorted[low], sorted[Math.min(low + 1, sorted.length - 1)]];
  const width = ends[1] - ends[0];
  return step < 0.5 ? ends[0] + width * step : ends[1] - width * (1 - step);
}

/**
 * The median of sorted samples.
 * @param {Float64Array} sorted
 */
export function median(sorted) {
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// The ends, cut where they reach beyond a range.
/** @param {number} low @param {number} high @param {number} least @param {number} most @returns {CutEnds} */
export function cutAt(low, high, least, most) {
  const rounding = ROUNDING_RATIO * Math.max(Math.abs(least), Math.abs(most));
  return {
    low: Math.min(Math.max(low, least), most),
    high: Math.max(Math.min(high, most), least),
    cut: least - low > rounding || high - most > rounding,
  };
}

// Of values that are nowhere below 0 no end is: that is no cut.
/** @param {number} low @param {number} high @param {Float64Array} sorted */
function keepInRange(low, high, sorted) {
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  return least >= 0 ? cutAt(Math.max(0, low), Math.max(0, high), least, most) : cutAt(low, high, least, most);
}

// How far order statistics have to move away from the estimate; 1 or more.
/** @param {SerialOrder} order @param {number} coverage */
function moveRatio(order, coverage) {
  const full = studentQuantile(order.n - 1, (1 + CONFIDENCE_RATIO) / 2);
  const spare = studentQuantile(order.n - 1, (1 + coverage) / 2);
  return Math.max(1, widening(order, CONFIDENCE_RATIO) * full / spare);
}

/** @param {Float64Array} samples @param {Float64Array} sorted @param {number} middle @returns {?CutEnds} */
function medianEnds(samples, sorted, middle) {
  const n = samples.length;
  const found = medianRank(n, CONFIDENCE_RATIO);
  if (!found) return null;
  const low = sorted[found.rank - 1];
  const high = sorted[n - found.rank];
  if (sorted[0] === sorted[n - 1]) return { low, high, cut: false };
  const order = boundOrder(samples, sorted);
  if (!order) return null;
  const factor = moveRatio(order, found.coverage);
  return keepInRange(middle - factor * (middle - low), middle + factor * (high - middle), sorted);
}

/** @param {Float64Array} samples @param {Float64Array} sorted @param {number} mean @returns {?CutEnds} */
function meanEnds(samples, sorted, mean) {
  const n = samples.length;
  if (n < MINIMUM_SAMPLES) return null;
  if (sorted[0] === sorted[n - 1]) return { low: mean, high: mean, cut: false };
  const order = boundOrder(samples, sorted);
  if (!order) return null;
  let squares = 0;
  for (let at = 0; at < n; at += 1) squares += (samples[at] - mean) * (samples[at] - mean);
  const error = Math.sqrt(squares / (n - 1)) / Math.sqrt(n) * order.errorRatio;
  const half = studentQuantile(order.freedom, (1 + CONFIDENCE_RATIO) / 2) * error;
  return keepInRange(mean - half, mean + half, sorted);
}

/**
 * @param {Float64Array} samples
 * @param {Float64Array} sorted
 * @param {number} ratio
 * @param {number} middle
 * @returns {?CutEnds}
 */
function quantileEnds(samples, sorted, ratio, middle) {
  const ranks = quantileRanks(samples.length, ratio, CONFIDENCE_RATIO);
  const order = ranks && boundOrder(samples, sorted);
  if (!order) return null;
  const low = sorted[ranks.low - 1];
  const high = sorted[ranks.high - 1];
  const factor = moveRatio(order, ranks.coverage);
  return keepInRange(
    Math.min(low, middle - factor * (middle - low)),
    Math.max(high, middle + factor * (high - middle)),
    sorted,
  );
}

/**
 * Half-width of the band about the empirical distribution; null: undecided.
 * @param {Float64Array} samples in time order
 * @param {Float64Array} sorted the same, ascending
 * @returns {?number}
 */
export function bandWidth(samples, sorted) {
  const n = samples.length;
  const order = n < MINIMUM_SAMPLES ? null : boundOrder(samples, sorted);
  if (!order) return null;
  return Math.min(
    1,
    Math.sqrt(Math.log(2 / (1 - CONFIDENCE_RATIO)) / (2 * n)) * widening(order, CONFIDENCE_RATIO),
  );
}

/**
 * The share of `p90`; null of another statistic.
 * @param {string} statistic
 */
export function parsePercentile(statistic) {
  const match = /^p([0-9]+(?:\.[0-9]+)?)$/.exec(statistic);
  const ratio = match ? Number(match[1]) / 100 : 0;
  return ratio > 0 && ratio < 1 ? ratio : null;
}

// The statistic, and the ends of its interval (null: undecided), only where these are wanted or decide.
/** @param {Float64Array} samples @param {Float64Array} sorted @param {string} statistic */
function describe(samples, sorted, statistic) {
  const n = samples.length;
  if (statistic === "median") {
    const y = median(sorted);
    return { y, ends: medianEnds(samples, sorted, y) };
  }
  if (statistic === "mean") {
    const y = sum(samples) / n;
    return { y, ends: meanEnds(samples, sorted, y) };
  }
  const ratio = parsePercentile(statistic);
  if (ratio !== null) {
    const y = quantile(sorted, ratio);
    return { y, ends: quantileEnds(samples, sorted, ratio, y) };
  }
  /** @type {Record<string, number>} */
  const others = {
    min: sorted[0],
    max: sorted[n - 1],
    iqr: quantile(sorted, 0.75) - quantile(sorted, 0.25),
  };
  return { y: others[statistic], ends: undefined };
}

/**
 * The statistic of samples in time order, and the range that is shown.
 * @param {Float64Array} samples
 * @param {string} statistic
 * @param {string} shown interval, iqr, extremes or none
 * @param {Float64Array} [ascending] the samples, sorted
 * @returns {Estimate}
 */
export function estimate(samples, statistic, shown, ascending) {
  if (!samples.length) return { y: null, low: null, high: null, state: "undecided" };
  const sorted = ascending || samples.slice().sort();
  const { y, ends } = describe(samples, sorted, statistic);
  const enough = samples.length >= MINIMUM_SPREAD;
  /** @type {number[] | null} */
  let range = null;
  const cut = Boolean(shown === "interval" && ends && ends.cut);
  if (shown === "interval") {
    range = ends ? [ends.low, ends.high] : null;
  } else if (enough && shown === "extremes") {
    range = [sorted[0], sorted[sorted.length - 1]];
  } else if (enough && shown === "iqr") {
    range = [quantile(sorted, 0.25), quantile(sorted, 0.75)];
  }
  const decided = ends === undefined ? enough : ends !== null;
  const [low, high] = range || [null, null];
  return { y, low, high, state: cut ? "cut" : decided ? "estimated" : "undecided" };
}

// `st` of 1 and 21, `th` of 11 and 99.9.
/** @param {string} number */
function findOrdinal(number) {
  if (number.includes(".") || Math.floor(Number(number) / 10) === 1) return "th";
  return { 1: "st", 2: "nd", 3: "rd" }[number[number.length - 1]] || "th";
}

/**
 * The statistic in words, for a legend.
 * @param {string} statistic
 */
export function nameStatistic(statistic) {
  const number = statistic.slice(1);
  return parsePercentile(statistic) === null
    ? STATISTIC_NAMES[statistic]
    : number + findOrdinal(number) + " percentile";
}

/**
 * The range in words; empty where the view shows none.
 * @param {string} statistic
 * @param {string} shown
 */
export function nameRange(statistic, shown) {
  if (statistic === "cdf" || statistic === "ccdf") {
    return shown === "interval" ? "95 % confidence band" : "";
  }
  if (statistic === "histogram" || statistic === "course" || shown === "none") return "";
  if (shown === "iqr") return "inter-quartile range";
  if (shown === "extremes") return "minimum to maximum";
  return ["min", "max", "iqr"].includes(statistic) ? "" : "95 % confidence interval";
}
