// Lists of columns to choose from, the varied ones first.
import { encodeColumn, hasLevels } from "./filter.js";

export const DISTINCT_MOST = 1000;
const ROLES = [["factor", "Other settings"], ["measured", "Measured"], ["condition", "Conditions"], [
  "identity",
  "Trials and results",
]];
/** @type {{table: Table | null, count: number, distinct: Map<string, number>}} */
let known = { table: null, count: -1, distinct: new Map() };

/**
 * How many levels a column has in the table; the missing one does not count.
 * @param {Table} table
 * @param {Column} column
 */
export function countLevels(table, column) {
  if (known.table !== table || known.count !== table.count) {
    known = { table, count: table.count, distinct: new Map() };
  }
  const count = known.distinct.get(column.name) ?? listLevels(table, column).length;
  known.distinct.set(column.name, count);
  return count;
}

/**
 * The levels of a column; of one of measured numbers at most DISTINCT_MOST of them, ascending.
 * @param {Table} table
 * @param {Column} column
 */
export function listLevels(table, column) {
  if (column.kind === "flags") return table.flags;
  if (column.levels) return column.levels;
  if (hasLevels(column)) return encodeColumn(column).levels;
  const found = new Set();
  for (let row = 0; row < table.count && found.size < DISTINCT_MOST; row += 1) {
    const value = column.values[row];
    if (!Number.isNaN(value)) found.add(value);
  }
  return Array.from(found).sort((a, b) => a - b);
}

/**
 * A column with its unit; bytes are named with their levels, such as 64 KiB.
 * @param {{label: string, unit: string | null}} column
 */
export function nameColumn(column) {
  return column.unit && column.unit !== "B" ? column.label + " (" + column.unit + ")" : column.label;
}

/** @type {(column: Column) => Choice} */
const entry = (column) => [column.name, nameColumn(column)];

/**
 * The columns that `suits` accepts as groups of a select: settings that vary first.
 * @param {Table} table
 * @param {{suits: (column: Column) => boolean, none?: string, measured?: boolean}} how none: the text of the
 *   choice of no column; measured: those that were measured come first
 * @returns {(Choice | ChoiceGroup)[]}
 */
export function listOptions(table, how) {
  const columns = table.columns.filter(how.suits);
  const varied = columns.filter((column) => column.role === "factor" && countLevels(table, column) > 1);
  const groups = ROLES.map(([role, group]) => ({
    group,
    options: columns.filter((column) => column.role === role && !varied.includes(column)).map(entry),
    role,
  }));
  const first = { group: "Varied settings", options: varied.map(entry), role: "varied" };
  const ordered = how.measured
    ? [
      ...groups.filter((one) => one.role === "measured"),
      first,
      ...groups.filter((one) => one.role !== "measured"),
    ]
    : [first, ...groups];
  const listed = ordered.filter((one) => one.options.length).map(({ group, options }) => ({
    group,
    options,
  }));
  return how.none ? [["", how.none], ...listed] : listed;
}
