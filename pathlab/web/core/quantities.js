// Rates, times and amounts of a running campaign in words, as the command line writes them.
import { AMOUNTS, RATES, TIMES } from "./constants.js";

/** @param {number | null | undefined} value @param {Record<string, number>} units from small to large */
function scale(value, units) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const sizes = Object.entries(units).reverse();
  const [unit, size] = sizes.find(([, least]) => Math.abs(value) >= least) || sizes[sizes.length - 1];
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
