// Student's t and the binomial distribution, as intervals need them: accurate to some 1e-13.
const TINY = 1e-300;
const EPSILON = 2.3e-16;
// Chances below this share of the largest one are taken as 0.
const NEGLIGIBLE = 1e-22;
/** @type {Map<string, number>} */
const quantiles = new Map();
/** @type {Map<string, ReturnType<typeof quantileRanks>>} */
const ranks = new Map();
/** @type {Map<string, ReturnType<typeof medianRank>>} */
const medianRanks = new Map();
const CACHED = 4096;

/**
 * The value of a key, computed once; the cache is emptied when it is full.
 * @template Value
 * @param {Map<string, Value>} cache
 * @param {string} key
 * @param {() => Value} compute
 * @returns {Value}
 */
function remember(cache, key, compute) {
  let found = cache.get(key);
  if (found === undefined) {
    found = compute();
    if (cache.size >= CACHED) cache.clear();
    cache.set(key, found);
  }
  return found;
}

// What Stirling's formula leaves out of the logarithm of gamma(x), x of 10 or more.
/** @param {number} x */
function stirlingRest(x) {
  const square = 1 / (x * x);
  return (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square * (1 / 1188 -
                    square * 691 / 360360))))) / x;
}

// log(gamma(x + 1/2) / gamma(x)), x above 0.
/** @param {number} x */
function logGammaStep(x) {
  let ratio = 1;
  let at = x;
  while (at < 10) {
    ratio *= at / (at + 0.5);
    at += 1;
  }
  return Math.log(ratio) + (at * Math.log1p(0.5 / at) - 0.5) + Math.log(at) / 2 +
    stirlingRest(at + 0.5) - stirlingRest(at);
}

// The continued fraction of the incomplete beta function (Lentz's method; Abramowitz and Stegun 26.5.8).
/** @param {number} a @param {number} b @param {number} x */
function betaFraction(a, b, x) {
  let c = 1;
  let d = 1 - (a + b) * x / (a + 1);
  d = 1 / (Math.abs(d) < TINY ? TINY : d);
  let found = d;
  for (let m = 1; m <= 10000; m += 1) {
    for (
      const part of [
        m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
        -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
      ]
    ) {
      d = 1 + part * d;
      c = 1 + part / c;
      d = 1 / (Math.abs(d) < TINY ? TINY : d);
      c = Math.abs(c) < TINY ? TINY : c;
      found *= d * c;
    }
    if (Math.abs(d * c - 1) < EPSILON) break;
  }
  return found;
}

// Density of Student's t.
/** @param {number} t @param {number} freedom */
function studentDensity(t, freedom) {
  return Math.exp(
    logGammaStep(freedom / 2) - Math.log(freedom * Math.PI) / 2 -
      (freedom + 1) / 2 * Math.log1p(t * t / freedom),
  );
}

/**
 * The chance that Student's t lies above t.
 * @param {number} t above 0
 * @param {number} freedom degrees of freedom, above 0, whole or not
 * @returns {number}
 */
export function studentTail(t, freedom) {
  // x^a (1 - x)^b / B(a, b) with a = freedom / 2, b = 1/2 and x = freedom / (freedom + t^2)
  const front = studentDensity(t, freedom) * t;
  const a = freedom / 2;
  if (t * t > 3 * freedom / (freedom + 2)) {
    return front * betaFraction(a, 0.5, freedom / (freedom + t * t)) / a / 2;
  }
  return 0.5 - front * betaFraction(0.5, a, t * t / (freedom + t * t));
}

/**
 * The value that Student's t exceeds with a chance of 1 - ratio.
 * @param {number} freedom degrees of freedom
 * @param {number} ratio above 1/2 and below 1
 * @returns {number}
 */
export function studentQuantile(freedom, ratio) {
  return remember(quantiles, freedom + " " + ratio, () => {
    const tail = 1 - ratio;
    let t = 2;
    // Newton's method for the logarithms, in which the tail is almost straight
    for (let step = 0; step < 100; step += 1) {
      const above = studentTail(t, freedom);
      const change = Math.log(above / tail) * above / (t * studentDensity(t, freedom));
      t *= Math.exp(change);
      if (Math.abs(change) < 1e-15) break;
    }
    return t;
  });
}

// The chances of the counts about the mean of a binomial distribution, as shares of their sum.
/** @param {number} n @param {number} ratio */
function binomialChances(n, ratio) {
  const mode = Math.min(n, Math.floor((n + 1) * ratio));
  const upward = [1];
  const downward = [];
  for (let k = mode, chance = 1; k < n && chance > NEGLIGIBLE; k += 1) {
    chance *= (n - k) / (k + 1) * ratio / (1 - ratio);
    upward.push(chance);
  }
  for (let k = mode, chance = 1; k > 0 && chance > NEGLIGIBLE; k -= 1) {
    chance *= k / (n - k + 1) * (1 - ratio) / ratio;
    downward.push(chance);
  }
  const chances = downward.reverse().concat(upward);
  const first = mode - downward.length;
  // the small ones first, from both ends
  let total = 0;
  for (let low = 0, high = chances.length - 1; low <= high;) {
    total += chances[low] < chances[high] || low === high ? chances[low++] : chances[high--];
  }
  return { first, chances: chances.map((chance) => chance / total) };
}

/**
 * Ranks (from 1) of the order statistics about a quantile of n samples, and their coverage; null: none.
 * As find_quantile_ranks of analysis/estimators/serial_levels.py.
 * @param {number} n
 * @param {number} ratio
 * @param {number} confidence
 * @returns {?{low: number, high: number, coverage: number}}
 */
export function quantileRanks(n, ratio, confidence) {
  return remember(ranks, n + " " + ratio + " " + confidence, () => {
    const tail = (1 - confidence) / 2;
    const { first, chances } = binomialChances(n, ratio);
    let below = 0;
    let low = first;
    for (let at = 0; at < chances.length && below + chances[at] <= tail; at += 1) {
      below += chances[at];
      low += 1;
    }
    let above = 0;
    let high = first + chances.length;
    for (let at = chances.length - 1; at >= 0 && above + chances[at] <= tail; at -= 1) {
      above += chances[at];
      high -= 1;
    }
    return low === 0 || high > n ? null : { low, high, coverage: 1 - below - above };
  });
}

/**
 * Rank at which the median's interval of n samples begins, and its coverage; null: none.
 * As _find_rank of analysis/estimators/quantiles.py.
 * @param {number} n
 * @param {number} confidence
 * @returns {?{rank: number, coverage: number}}
 */
export function medianRank(n, confidence) {
  if (n < 2) return null;
  return remember(medianRanks, n + " " + confidence, () => {
    const { first, chances } = binomialChances(n, 0.5);
    const half = Math.floor(n / 2);
    let below = 0;
    let rank = Math.min(first, half);
    for (let at = 0; rank < half && 1 - 2 * (below + chances[at]) >= confidence; at += 1) {
      below += chances[at];
      rank += 1;
    }
    return rank ? { rank, coverage: 1 - 2 * below } : null;
  });
}
