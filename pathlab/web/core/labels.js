// Texts of a figure: what all selected trials share is its title, what differs its legend. The same texts as
// study/exploration/labels.py.
import { HOSTS, MEDIUM, PATH, RESULTS, UNKNOWN } from "./constants.js";
import { indexLevels } from "./grouping.js";

/** @type {WeakMap<Column, {count: number, same: boolean}>} */
const compared = new WeakMap(); // by column: how many of its values were compared, and whether they are the same

/**
 * `1 trial`, `12 trials`.
 * @param {number} count
 */
export function writeTrialCount(count) {
  return count === 1 ? "1 trial" : count + " trials";
}

/**
 * The name of a curve: its level of colour, and its y column where there are several.
 * @param {string} level
 * @param {{label: string}} column
 * @param {boolean} several
 */
export function nameCurve(level, column, several) {
  const parts = [level, several ? column.label : ""].filter(Boolean);
  return parts.join(", ") || column.label;
}

// The level that all rows have in this column with its name, as a list of one text; empty where they differ.
/** @param {Table} table @param {Column} column @param {Uint32Array} rows */
function share(table, column, rows) {
  if (column.kind === "flags") return [];
  const { values } = column;
  const first = values[rows[0]];
  for (let at = 1; at < rows.length; at += 1) {
    if (!Object.is(values[rows[at]], first)) return [];
  }
  if (!(column.kind === "category" ? first >= 0 : Number.isFinite(first))) {
    return UNKNOWN.includes(column.missingLabel) ? [] : [column.label + " " + column.missingLabel];
  }
  const levels = indexLevels(table, column);
  const text = levels.name(levels.places[rows[0]]);
  return [column.name === PATH || column.name === MEDIUM ? text : column.label + " " + text];
}

// Whether all trials have one value. Trials are only ever added: what was compared is not compared again.
/** @param {Column} column */
function isConstant(column) {
  const { values } = column;
  const found = compared.get(column) || { count: 1, same: true };
  for (; found.same && found.count < values.length; found.count += 1) {
    found.same = Object.is(values[found.count], values[0]);
  }
  compared.set(column, found);
  return found.same;
}

// Whether it is a condition that titles name: the medium, or one that differs among all trials.
/** @param {Column} column */
function isCondition(column) {
  if (column.role !== "condition") return false;
  return column.name === MEDIUM || (column.kind !== "flags" && !isConstant(column));
}

/** @param {Table} table @param {Column} column @param {Uint32Array} rows */
function describeColumn(table, column, rows) {
  if (column.name === RESULTS) {
    if (table.sources.length === 1) return [table.sources[0].title];
    const first = column.values[rows[0]];
    return rows.every((row) => column.values[row] === first) ? [table.sources[first].title] : [];
  }
  if (column.name !== PATH && column.role !== "factor" && !isCondition(column)) return [];
  return share(table, column, rows);
}

/**
 * What all selected trials share: `Streams sweep, a → b, Window 64 KiB`; empty where they share nothing.
 * @param {Table} table
 * @param {View} view
 * @param {Uint32Array} rows
 * @returns {string}
 */
export function describeShared(table, view, rows) {
  if (!rows.length) return "";
  const shown = new Set([view.x, view.colour, view.facet, ...view.y, ...HOSTS]);
  return table.columns
    .filter((column) => !shown.has(column.name))
    .flatMap((column) => describeColumn(table, column, rows))
    .filter(Boolean)
    .join(", ");
}
