// Levels of columns as text, as study/exploration/level_text.py writes them.
import { BYTES } from "./constants.js";

/** @type {[string, number][]} */
const BYTE_UNITS = [["GB", 1e9], ["GiB", 2 ** 30], ["MB", 1e6], ["MiB", 2 ** 20], ["kB", 1e3], [
  "KiB",
  1024,
]];
/** @type {[string, number][]} */
const VOLUME_UNITS = [["B", 0], ["kB", 3], ["MB", 6], ["GB", 9], ["TB", 12]];

// The digits of the shortest decimal that is this number, without a point, and the power of ten of the first.
/** @param {number} value */
function splitDigits(value) {
  const [digits, exponent] = Math.abs(value).toExponential().split("e");
  return { digits: digits.replace(".", ""), exponent: Number(exponent) };
}

// As many digits, rounded; half goes up, or to even where `even` says so.
/** @param {{digits: string, exponent: number}} parts @param {number} kept @param {boolean} even */
function roundDigits({ digits, exponent }, kept, even) {
  if (digits.length <= kept) return { digits, exponent, exact: true };
  const rest = digits.slice(kept);
  const half = rest[0] === "5" && /^50*$/.test(rest);
  const up = half && even ? Number(digits[kept - 1]) % 2 === 1 : rest[0] >= "5";
  const head = String(Number(digits.slice(0, kept)) + (up ? 1 : 0));
  return head.length > kept
    ? { digits: head.slice(0, kept), exponent: exponent + 1, exact: false }
    : { digits: head, exponent, exact: false };
}

// Digits as a decimal number without an exponent.
/** @param {string} digits @param {number} exponent */
function placePoint(digits, exponent) {
  if (exponent < 0) return "0." + "0".repeat(-exponent - 1) + digits;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  const rest = digits.slice(exponent + 1);
  return rest ? whole + "." + rest : whole;
}

/** @param {string} text */
function trim(text) {
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

/**
 * Six significant digits of the shortest decimal that is this number, without zeros at the end.
 * @param {number} value
 */
export function formatNumber(value) {
  if (value === 0) return "0";
  const sign = value < 0 ? "-" : "";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return String(value);
  const { digits, exponent } = roundDigits(splitDigits(value), 6, false);
  if (size < 1e-6 || size >= 1e15) {
    return sign + trim(placePoint(digits, 0)) + "e" + (exponent < 0 ? "-" : "+") + Math.abs(exponent);
  }
  return sign + trim(placePoint(digits, exponent));
}

// An amount of data in decimal units with three digits; zeros at the end only where digits were rounded.
/** @param {number} value */
function formatVolume(value) {
  if (value === 0) return "0 B";
  const sign = value < 0 ? "-" : "";
  // the unit is that of the value before it is rounded, or the next where it rounds up to 1000
  const { exponent } = splitDigits(value);
  let place = Math.max(0, VOLUME_UNITS.filter(([, power]) => exponent >= power).length - 1);
  // beyond the largest unit all whole digits are written
  const found = roundDigits(splitDigits(value), Math.max(3, exponent - VOLUME_UNITS[place][1] + 1), true);
  if (found.exponent - VOLUME_UNITS[place][1] >= 3 && place + 1 < VOLUME_UNITS.length) place += 1;
  const text = placePoint(
    found.exact ? found.digits : found.digits.padEnd(3, "0"),
    found.exponent - VOLUME_UNITS[place][1],
  );
  return sign + (found.exact ? trim(text) : text) + " " + VOLUME_UNITS[place][0];
}

/**
 * A size: `64 KiB` where it is exact, else decimal, `12.3 MB`.
 * @param {number} value
 */
export function formatBytes(value) {
  if (!Number.isFinite(value)) return "not measured";
  if (Number.isInteger(value) && value) {
    const size = Math.abs(value);
    const unit = BYTE_UNITS.find(([, bytes]) => size % bytes === 0 && size / bytes < 10000);
    if (unit) return (value < 0 ? "-" : "") + size / unit[1] + " " + unit[0];
    if (size < 10000) return value + " B";
  }
  return formatVolume(value);
}

/**
 * A level with its unit: `64 KiB`, `40 ms`, `yes`, `2026-11-21 05:03:05 UTC`.
 * @param {{unit: string | null, kind: string}} column
 * @param {Level} value
 * @returns {string}
 */
export function formatLevel(column, value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (column.kind === "time") {
    return new Date(Math.floor(value) * 1000).toISOString().slice(0, 19).replace("T", " ") + " UTC";
  }
  if (column.unit === BYTES) return formatBytes(value);
  return column.unit ? formatNumber(value) + " " + column.unit : formatNumber(value);
}
