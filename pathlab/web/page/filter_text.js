// Filters in words.
import { formatBinaryBytes, formatUtc } from "./axes.js";

const NAMED_MOST = 3;
const NOT_SET = "not set";

/**
 * A level of a column with its unit; null: the missing level.
 * @param {{unit?: string | null, kind?: string}} column
 * @param {Level | null | undefined} value
 */
export function describeLevel(column, value) {
  if (value === null || value === undefined) return column.kind === "flags" ? "no flag" : NOT_SET;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (column.kind === "time") return formatUtc(value) + " UTC";
  if (column.unit === "B") return formatBinaryBytes(value);
  const text = String(Number(value.toPrecision(6)));
  return column.unit ? text + " " + column.unit : text;
}

/**
 * A filter: `streams is 4 or 8`, `throughput from 10 to 20 Mbit/s`.
 * @param {{label: string, unit?: string | null, kind?: string} | null} column
 * @param {Filter} filter
 */
export function describeFilter(column, filter) {
  const name = column ? column.label : "column";
  if (!filter.levels) {
    const ends = [filter.low, filter.high].map((end) =>
      end === null || end === undefined ? null : describeLevel(column || {}, end)
    );
    if (ends[0] !== null && ends[1] !== null) return name + " from " + ends[0] + " to " + ends[1];
    return name + (ends[0] !== null ? " at least " + ends[0] : " at most " + ends[1]);
  }
  if (!filter.levels.length) return name + (filter.except ? " is any" : " is none of its levels");
  const named = filter.levels.slice(0, NAMED_MOST).map((value) => describeLevel(column || {}, value));
  const more = filter.levels.length - named.length;
  if (more) named.push(more + " more");
  const list = named.length > 1 ? named.slice(0, -1).join(", ") + " or " + named[named.length - 1] : named[0];
  return name + (filter.except ? " is not " : " is ") + list;
}
