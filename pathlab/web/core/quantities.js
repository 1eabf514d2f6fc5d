// Rates, times and amounts of a running campaign in words, as the command line writes them.
/** @type {[number, string][]} */
const RATES = [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]];
/** @type {[number, string][]} */
const AMOUNTS = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
/** @type {[number, string][]} */
const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

/** @param {number | null | undefined} value @param {[number, string][]} units */
function scale(value, units) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const [size, unit] = units.find(([one]) => Math.abs(value) >= one) || units[units.length - 1];
  return String(Number((value / size).toPrecision(3))) + " " + unit;
}

/** @param {number | null | undefined} bitsPerS */
export const formatRate = (bitsPerS) => scale(bitsPerS, RATES);
/** @param {number | null | undefined} bytes */
export const formatAmount = (bytes) => scale(bytes, AMOUNTS);
/** @param {number | null | undefined} ns */
export const formatDuration = (ns) => scale(ns, TIMES);

/**
 * `0:41`, `1:02:03`: a span of time in seconds.
 * @param {number} seconds
 */
export function formatSpan(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? hours + ":" + String(minutes).padStart(2, "0") + ":" + rest : minutes + ":" + rest;
}

/**
 * `12:04:31`: the time of day of an instant, in UTC.
 * @param {string} utc
 */
export function formatClock(utc) {
  const time = new Date(utc);
  return Number.isNaN(time.getTime()) ? "" : time.toISOString().slice(11, 19);
}
