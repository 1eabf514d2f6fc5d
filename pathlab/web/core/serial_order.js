// Serial correlation of samples in time order, and what it takes from intervals: the same numbers as
// analysis/estimators/serial.py, which says where the methods come from and what they assume.
import {
  BOUND_RATIO,
  CEILING_RATIO,
  CORRELATION_SAMPLES,
  LEAST_PERIODS,
  SECOND_QUANTILE,
  SECOND_SAMPLES,
  SHAPE_SAMPLES,
  TREND_RATIO,
  UPPER_QUANTILE,
} from "./constants.js";
import { studentQuantile } from "./distribution_functions.js";

// Lags that are summed one by one; more of them come from a Fourier transform of the whole series.
const DIRECT_LAGS = 64;
const NEGLIGIBLE = 1e-20;

/**
 * The sum of numbers, with what rounding takes from it.
 * @param {NumberList} values
 */
export function sum(values) {
  let total = 0;
  let rest = 0;
  for (let at = 0; at < values.length; at += 1) {
    const next = total + values[at];
    rest += Math.abs(total) >= Math.abs(values[at]) ? total - next + values[at] : values[at] - next + total;
    total = next;
  }
  return total + rest;
}

/**
 * The values less their mean.
 * @param {Float64Array} values
 */
function centre(values) {
  const mean = sum(values) / values.length;
  const centred = new Float64Array(values.length);
  for (let at = 0; at < values.length; at += 1) centred[at] = values[at] - mean;
  return centred;
}

/**
 * Where a value would stand among sorted ones, between two places: before those equal to it, or after.
 * @param {NumberList} sorted
 * @param {number} value
 * @param {boolean} after
 * @param {number} [from]
 * @param {number} [to]
 */
export function searchSorted(sorted, value, after, from = 0, to = sorted.length) {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value || (after && sorted[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// For as many parts of equal width as there are sorted values: where each begins, and the part of a value.
/** @param {Float64Array} sorted */
function indexParts(sorted) {
  const n = sorted.length;
  const scale = Math.min(n / (sorted[n - 1] - sorted[0]), Number.MAX_VALUE);
  /** @param {number} value */
  const partOf = (value) => {
    const part = Math.floor((value - sorted[0]) * scale);
    return part >= 0 ? Math.min(n - 1, part) : 0; // no number where the difference is no finite one
  };
  const starts = new Int32Array(n + 1).fill(n);
  for (let at = n - 1; at >= 0; at -= 1) starts[partOf(sorted[at])] = at;
  for (let part = n - 1; part >= 0; part -= 1) starts[part] = Math.min(starts[part], starts[part + 1]);
  return { starts, partOf };
}

// Autocorrelation of the ranks at lag one, and their partial one at lag two; equal values share a mean rank.
/** @param {Float64Array} samples @param {Float64Array} sorted */
function rankCorrelations(samples, sorted) {
  const n = samples.length;
  const { starts, partOf } = indexParts(sorted);
  let power = 0;
  let products = 0;
  let seconds = 0;
  let before = 0;
  let earlier = 0;
  for (let at = 0; at < n; at += 1) {
    const value = samples[at];
    const part = partOf(value);
    const low = searchSorted(sorted, value, false, starts[part], starts[part + 1]);
    const high = sorted[low + 1] === value
      ? searchSorted(sorted, value, true, low, starts[part + 1])
      : low + 1;
    const rank = (low + high - n) / 2;
    power += rank * rank;
    products += rank * before;
    seconds += rank * earlier;
    earlier = before;
    before = rank;
  }
  const first = products / power;
  return { first, partial: (seconds / power - first * first) / (1 - first * first) };
}

// The bound where the partial correlation at lag two is not 0; `estimate` is that of neighbours.
/** @param {{first: number, partial: number}} found @param {number} estimate @param {number} n */
function findSecondOrder({ first, partial }, estimate, n) {
  if (n < SECOND_SAMPLES) return null;
  /** @param {number} ratio */
  const hold = (ratio) => Math.min(CEILING_RATIO, Math.max(-CEILING_RATIO, ratio));
  const q = hold((partial + 2 / n) / (1 - 4 / n));
  if (Math.abs(q) <= SECOND_QUANTILE * Math.sqrt((1 - q * q) / n)) return null;
  const p = hold(q > 0 ? estimate : first);
  if (q < 0) {
    const cosine = p * (1 - q) / (2 * Math.sqrt(-q));
    if (Math.abs(cosine) >= 1 || 2 * Math.PI / Math.acos(cosine) > n / LEAST_PERIODS) return null;
  }
  const inflation = 2 * (Math.atanh(p) + Math.atanh(q));
  const spread = (1 + q) / ((1 - q) * (1 - p * p)) + 1 / (1 - q * q);
  const upper = inflation + UPPER_QUANTILE * 2 * Math.sqrt(spread / n);
  return {
    bound: Math.min(Math.tanh(upper / 2), Math.max(BOUND_RATIO, Math.tanh(inflation / 2))),
    cyclic: q < 0,
  };
}

// The Fourier transform of complex numbers in place; their count is a power of two.
/** @param {Float64Array} real @param {Float64Array} imaginary */
function transform(real, imaginary) {
  const n = real.length;
  for (let at = 1, other = 0; at < n; at += 1) {
    let bit = n >> 1;
    for (; other & bit; bit >>= 1) other ^= bit;
    other ^= bit;
    if (at < other) {
      [real[at], real[other]] = [real[other], real[at]];
      [imaginary[at], imaginary[other]] = [imaginary[other], imaginary[at]];
    }
  }
  for (let size = 2; size <= n; size *= 2) {
    const half = size / 2;
    for (let place = 0; place < half; place += 1) {
      const angle = -2 * Math.PI * place / size;
      const cos = Math.cos(angle);
      const sin = Math.sin(angle);
      for (let at = place; at < n; at += size) {
        const to = at + half;
        const x = real[to] * cos - imaginary[to] * sin;
        const y = real[to] * sin + imaginary[to] * cos;
        real[to] = real[at] - x;
        imaginary[to] = imaginary[at] - y;
        real[at] += x;
        imaginary[at] += y;
      }
    }
  }
}

// Sums of products at every lag, times the number of points.
/** @param {Float64Array} centred */
function productsByTransform(centred) {
  let size = 2;
  while (size < 2 * centred.length) size *= 2;
  const real = new Float64Array(size);
  const imaginary = new Float64Array(size);
  real.set(centred);
  transform(real, imaginary);
  for (let at = 0; at < size; at += 1) {
    real[at] = real[at] * real[at] + imaginary[at] * imaginary[at];
    imaginary[at] = 0;
  }
  transform(real, imaginary);
  return real;
}

/** @param {Float64Array} centred @param {number} lag */
function productsAt(centred, lag) {
  let total = 0;
  for (let at = lag; at < centred.length; at += 1) total += centred[at] * centred[at - lag];
  return total;
}

// The first-order correlation that inflates a mean as much as the pairs of lags of the series do.
/** @param {Float64Array} samples */
function measureShape(samples) {
  const centred = centre(samples);
  const pairs = Math.floor(samples.length / 4);
  const most = (1 + CEILING_RATIO) / (1 - CEILING_RATIO);
  /** @param {number} lag */
  let products = (lag) => productsAt(centred, lag);
  let power = products(0);
  let least = Infinity;
  let total = 0;
  for (let pair = 0; pair < pairs && 2 * total - 1 < most; pair += 1) {
    if (2 * pair === DIRECT_LAGS) {
      const every = productsByTransform(centred);
      products = (lag) => every[lag];
      power = every[0];
    }
    const value = (products(2 * pair) + products(2 * pair + 1)) / power;
    if (value <= 0) break;
    least = Math.min(least, value);
    total += least;
  }
  const inflation = Math.max(1, 2 * total - 1);
  return (inflation - 1) / (inflation + 1);
}

// Inflation of a mean's variance, share of the variance shown, and degrees of freedom.
/** @param {number} n @param {number} correlation */
function orderMoments(n, correlation) {
  if (n < 2 || correlation <= 0) return { inflation: 1, spread: 1, freedom: Math.max(n - 1, 1) };
  const powers = new Float64Array(n + 1);
  for (let at = 0, power = 1; at <= n && power > NEGLIGIBLE; at += 1, power *= correlation) {
    powers[at] = power;
  }
  let total = 0;
  let cross = 0;
  let squares = 0;
  for (let at = 0; at < n; at += 1) {
    const row = (1 + correlation - powers[at + 1] - powers[n - at]) / (1 - correlation);
    total += row;
    cross += row * row;
    if (at) squares += (n - at) * powers[at] * powers[at];
  }
  const trace = n - total / n;
  const mean = total / n;
  return {
    inflation: mean,
    spread: trace / (n - 1),
    freedom: trace * trace / (n + 2 * squares - 2 * cross / n + mean * mean),
  };
}

/**
 * Upper limit of the serial correlation of samples in time order, and its effect on a mean; null for a ramp
 * or a step, which has no level.
 * @param {Float64Array} samples in time order
 * @param {Float64Array} sorted the same, ascending
 * @returns {SerialOrder | null}
 */
export function boundOrder(samples, sorted) {
  const n = samples.length;
  let bound = BOUND_RATIO;
  if (n >= CORRELATION_SAMPLES && sorted[0] < sorted[n - 1]) {
    const found = rankCorrelations(samples, sorted);
    if (found.first >= TREND_RATIO && !findSecondOrder(found, found.first, n)) return null;
    const estimate = Math.min(CEILING_RATIO, (found.first + 1 / n) / (1 - 3 / n));
    const error = Math.sqrt(Math.max(0, 1 - estimate * estimate) / n);
    bound = Math.min(estimate + UPPER_QUANTILE * error, Math.max(BOUND_RATIO, estimate));
    const second = findSecondOrder(found, estimate, n);
    if (second) bound = second.bound;
    if (n >= SHAPE_SAMPLES && !(second && second.cyclic)) bound = Math.max(bound, measureShape(samples));
  }
  bound = Math.min(CEILING_RATIO, Math.max(0, bound));
  const { inflation, spread, freedom } = orderMoments(n, bound);
  return {
    n,
    boundRatio: bound,
    inflationRatio: inflation,
    spreadRatio: spread,
    freedom,
    errorRatio: Math.sqrt(inflation / spread),
  };
}

/**
 * Factor, 1 or more, from Student's interval of independent samples to the one that holds.
 * @param {SerialOrder} order
 * @param {number} confidence
 */
export function widening(order, confidence) {
  const tail = (1 + confidence) / 2;
  return Math.max(
    1,
    order.errorRatio * studentQuantile(order.freedom, tail) / studentQuantile(order.n - 1, tail),
  );
}
