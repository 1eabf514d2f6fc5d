// By how much two groups of values differ: the shifts of Hodges and Lehmann with their widened intervals. The
// same numbers as analysis/estimators/shifts.py and analysis/verdicts/two_samples.py, which say what they assume.
import {
  CONFIDENCE_RATIO,
  EXACT_PAIRS,
  MAXIMUM_PAIRS,
  MAXIMUM_PRODUCT,
  MINIMUM_PAIRS,
  NORMAL_QUANTILE,
  SHIFT_ROUNDING_RATIO,
} from "./constants.js";
import { studentQuantile } from "./distribution_functions.js";
import { boundOrder, sum } from "./serial_order.js";

const ALPHA = 1 - CONFIDENCE_RATIO;
/** @type {Map<number, {rank: number, coverage: number}>} */
const ranks = new Map();

// Evenly chosen values, as numpy's linspace with its ends cut to whole places.
/** @param {Float64Array} values @param {number} most */
function thin(values, most) {
  if (values.length <= most) return values;
  const step = (values.length - 1) / (most - 1);
  return Float64Array.from(
    { length: most },
    (_, at) => values[at === most - 1 ? values.length - 1 : Math.floor(at * step)],
  );
}

// Rank among the sorted averages at which the signed-rank interval begins, and its coverage.
/** @param {number} n */
function criticalRank(n) {
  const known = ranks.get(n) || findRank(n);
  ranks.set(n, known);
  return known;
}

/** @param {number} n */
function findRank(n) {
  if (n > EXACT_PAIRS) {
    const spread = Math.sqrt(n * (n + 1) * (2 * n + 1) / 24);
    const rank = Math.max(0, Math.floor(n * (n + 1) / 4 - 0.5 + NORMAL_QUANTILE * spread) + 1);
    return { rank, coverage: CONFIDENCE_RATIO };
  }
  const chances = new Float64Array(n * (n + 1) / 2 + 1);
  chances[0] = 1;
  for (let add = 1, reached = 0; add <= n; reached += add, add += 1) {
    for (let at = reached; at >= 0; at -= 1) {
      chances[at] /= 2;
      chances[at + add] += chances[at];
    }
  }
  let below = 0;
  let rank = 0;
  while (below + chances[rank] <= ALPHA / 2 * (1 + 1e-9)) {
    below += chances[rank];
    rank += 1;
  }
  return { rank, coverage: rank ? 1 - 2 * below : CONFIDENCE_RATIO };
}

// The k-th smallest (from 1) of numbers that are counted, not made: `count(t)` of them are t or less.
/** @param {number} k @param {number} low @param {number} high @param {(t: number) => number} count */
function selectCounted(k, low, high, count) {
  if (count(low) >= k) return low;
  let [under, over] = [low, high];
  if (low < 0 && high > 0) {
    // where many are 0, halving would go through a thousand ever smaller numbers
    if (count(0) < k) under = 0;
    else if (count(-Number.MIN_VALUE) < k) return 0;
    else over = -Number.MIN_VALUE;
  }
  for (;;) {
    const middle = under + (over - under) / 2;
    if (middle <= under || middle >= over) return over;
    if (count(middle) >= k) over = middle;
    else under = middle;
  }
}

// How many averages of two sorted values, each with itself included, are t or less.
/** @param {Float64Array} sorted @param {number} t */
function countAverages(sorted, t) {
  let count = 0;
  for (let at = 0, last = sorted.length - 1; at <= last; at += 1) {
    while (last >= at && (sorted[at] + sorted[last]) / 2 > t) last -= 1;
    if (last >= at) count += last - at + 1;
  }
  return count;
}

// How many differences of two sorted groups are t or less.
/** @param {Float64Array} before @param {Float64Array} after @param {number} t */
function countDifferences(before, after, t) {
  let count = 0;
  for (let at = 0, end = 0; at < before.length; at += 1) {
    while (end < after.length && after[end] - before[at] <= t) end += 1;
    count += end;
  }
  return count;
}

/** @param {number} total @param {(k: number) => number} select */
function middleOf(total, select) {
  const low = select(Math.floor((total - 1) / 2) + 1);
  return total % 2 ? low : (low + select(total / 2 + 1)) / 2;
}

/** @param {Float64Array} values */
function deviation(values) {
  const mean = sum(values) / values.length;
  return Math.sqrt(
    values.reduce((total, value) => total + (value - mean) * (value - mean), 0) / (values.length - 1),
  );
}

// How many averages of two values, each with itself included, there are, and the k-th smallest of them.
/** @param {Float64Array} values */
function rankAverages(values) {
  const used = values.slice().sort();
  const size = used.length;
  const [low, high] = [used[0], used[size - 1]];
  /** @param {number} k */
  const select = (k) => selectCounted(k, low, high, (t) => countAverages(used, t));
  return { size, low, high, total: size * (size + 1) / 2, select };
}

// Whether they differ by no more than the arithmetic.
/** @param {Float64Array} sorted */
function areEqual(sorted) {
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  return most - least <= SHIFT_ROUNDING_RATIO * Math.max(Math.abs(least), Math.abs(most));
}

/**
 * The Hodges-Lehmann shift of values in time order and its standard error.
 * @param {Float64Array} values at least one
 * @returns {Shift}
 */
function hodgesLehmann(values) {
  const n = values.length;
  const { size, low, high, total, select } = rankAverages(thin(values, MAXIMUM_PAIRS));
  const shift = middleOf(total, select);
  const sorted = values.slice().sort();
  const equal = areEqual(sorted);
  const order = n < MINIMUM_PAIRS || equal ? null : boundOrder(values, sorted);
  if (!order) return { shift, error: null, freedom: 0, equal: equal && n >= MINIMUM_PAIRS };
  const { rank, coverage } = criticalRank(size);
  const length = select(total - rank + 1) - select(rank);
  const plain = length <= SHIFT_ROUNDING_RATIO * Math.max(Math.abs(low), Math.abs(high))
    ? deviation(values) / Math.sqrt(n)
    : length / 2 / studentQuantile(size - 1, (1 + coverage) / 2) * Math.sqrt(size / n);
  return { shift, error: plain * order.errorRatio, freedom: order.freedom, equal: false };
}

/** @param {number} shift @param {number} error @param {number} freedom */
function buildInterval(shift, error, freedom) {
  const half = error === 0 ? 0 : studentQuantile(freedom, (1 + CONFIDENCE_RATIO) / 2) * error;
  return { y: shift, low: shift - half, high: shift + half };
}

/** @param {number | null} y */
const undecided = (y) => ({ y, low: null, high: null });

/**
 * By how much the second values lie above the first ones of the same cycles.
 * @param {Float64Array} first
 * @param {Float64Array} second
 */
function comparePairs(first, second) {
  const { shift, error, freedom } = hodgesLehmann(
    Float64Array.from(second, (value, at) => value - first[at]),
  );
  return error === null ? undecided(shift) : buildInterval(shift, error, freedom);
}

/**
 * The same where a draw decided the order in each cycle: all shifts that the exact signed-rank test allows.
 * @param {Float64Array} first
 * @param {Float64Array} second
 */
function compareDrawn(first, second) {
  const differences = Float64Array.from(second, (value, at) => value - first[at]);
  const { size, total, select } = rankAverages(differences);
  const { rank } = criticalRank(size);
  const shift = middleOf(total, select);
  if (areEqual(differences.slice().sort())) return undecided(shift);
  return { y: shift, low: select(rank), high: select(total - rank + 1) };
}

/**
 * By how much the second values lie above the first ones; both groups in time order.
 * @param {Float64Array} first
 * @param {Float64Array} second
 */
function compareGroups(first, second) {
  const [before, after] = [first, second].map((values) =>
    thin(values, Math.floor(Math.sqrt(MAXIMUM_PRODUCT))).slice().sort()
  );
  const low = after[0] - before[before.length - 1];
  const high = after[after.length - 1] - before[0];
  const shift = middleOf(
    before.length * after.length,
    (k) => selectCounted(k, low, high, (t) => countDifferences(before, after, t)),
  );
  const sides = [hodgesLehmann(first), hodgesLehmann(second)];
  if (sides.some((side) => side.error === null && !side.equal)) return undecided(shift);
  const known = sides.flatMap(({ error, freedom }) => error === null ? [] : [{ error, freedom }]);
  const variance = known.reduce((total, side) => total + side.error ** 2, 0);
  if (!variance) return buildInterval(shift, 0, 1);
  const freedom = variance ** 2 / known.reduce((total, side) => total + side.error ** 4 / side.freedom, 0);
  return buildInterval(shift, Math.sqrt(variance), freedom);
}

/**
 * By what factor, or by how much, the second values differ from the first.
 * @param {Float64Array} first the baseline
 * @param {Float64Array} second
 * @param {{paired: boolean, drawn?: boolean, ratio: boolean}} how drawn: of MAXIMUM_PAIRS at most
 * @returns {{y: ?number, low: ?number, high: ?number}} without ends: undecided
 */
export function estimateShift(first, second, { paired, drawn, ratio }) {
  const shift = paired ? (drawn ? compareDrawn : comparePairs) : compareGroups;
  if (!ratio) return shift(first, second);
  if (first.some((value) => value <= 0) || second.some((value) => value <= 0)) return undecided(null);
  const found = shift(first.map(Math.log), second.map(Math.log));
  /** @param {number | null} value */
  const raise = (value) => value === null ? null : Math.exp(value);
  return { y: raise(found.y), low: raise(found.low), high: raise(found.high) };
}
