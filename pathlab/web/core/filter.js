// Which trials a view shows, and how many each choice of a filter has: as pathlab.study.exploration.filtering.
import { TRIAL } from "./constants.js";
import { indexNumbers } from "./number_levels.js";

/** Name of the filter by words alongside those of columns, none of which is called so. */
const TEXT = "";
const SPACES = /[ \t\n\r\f\v]+/;
// What was computed of a column or a table, until its values are others.
/** @type {WeakMap<Level[], string[]>} */
const lowered = new WeakMap();
/** @type {WeakMap<Table, {count: number, filters: Map<string, {key: string, fits: Uint8Array}>}>} */
const matched = new WeakMap();

/**
 * The levels of a column that is not of flags, and for each trial the place of its level (-1: missing).
 * Of numbers: the distinct ones, ascending.
 * @param {Column} column
 * @returns {{levels: Level[], codes: Int32Array}}
 */
export function encodeColumn(column) {
  if (column.levels) return { levels: column.levels, codes: /** @type {Int32Array} */ (column.values) };
  const { levels, places } = indexNumbers(column);
  return { levels, codes: places };
}

/**
 * Whether trials are counted by a column's levels: a factor, a condition, a category, flags.
 * @param {Column} column
 */
export function hasLevels(column) {
  if (column.kind === "time" || column.name === TRIAL) return false;
  return column.kind !== "number" || column.role !== "measured";
}

/**
 * The rows of the trials that fit every filter and word of a view, ascending; counted or not.
 * @param {Table} table
 * @param {View} view
 * @returns {Uint32Array}
 */
export function selectRows(table, view) {
  return collect(table, countFailures(table, view).failures, (failed) => failed === 0);
}

/**
 * @param {Table} table
 * @param {Uint16Array} failures
 * @param {(failed: number, row: number) => boolean} fits
 */
function collect(table, failures, fits) {
  const rows = new Uint32Array(table.count);
  let size = 0;
  for (let row = 0; row < table.count; row += 1) {
    if (fits(failures[row], row)) {
      rows[size] = row;
      size += 1;
    }
  }
  return rows.slice(0, size);
}

/**
 * How many trials have each level of a column, for every column that has levels: one number for each level
 * (each flag), and one for the missing level (no flag) behind them. The filter of the column itself is
 * ignored, every other one and the words hold.
 * @param {Table} table
 * @param {View} view
 * @param {string[]} [wanted] the columns to count; all of them where none are given
 * @returns {Map<string, Uint32Array>}
 */
export function countByLevel(table, view, wanted) {
  const { names, failures, last } = countFailures(table, view);
  const fitting = collect(table, failures, (failed) => failed === 0);
  const found = new Map();
  /** @param {Column} column */
  const isWanted = (column) => hasLevels(column) && (!wanted || wanted.includes(column.name));
  for (const column of table.columns.filter(isWanted)) {
    const count = column.kind === "flags" ? countFlags : countCodes;
    const own = names.indexOf(column.name);
    const others = own < 0
      ? new Uint32Array(0)
      : collect(table, failures, (failed, row) => failed === 1 && last[row] === own);
    const counted = count(table, column, fitting);
    if (others.length) {
      count(table, column, others).forEach((more, place) => {
        counted[place] += more;
      });
    }
    found.set(column.name, counted);
  }
  return found;
}

/** @param {Table} _table @param {Column} column @param {Uint32Array} rows */
function countCodes(_table, column, rows) {
  const { levels, codes } = encodeColumn(column);
  const found = new Uint32Array(levels.length + 1);
  for (let place = 0; place < rows.length; place += 1) {
    const code = codes[rows[place]];
    found[code < 0 ? levels.length : code] += 1;
  }
  return found;
}

/** @param {Table} table @param {Column} _column @param {Uint32Array} rows */
function countFlags(table, _column, rows) {
  const found = new Uint32Array(table.flags.length + 1);
  for (let place = 0; place < rows.length; place += 1) {
    const [low, high] = [table.flagBits.low[rows[place]], table.flagBits.high[rows[place]]];
    if (low === 0 && high === 0) found[table.flags.length] += 1;
    for (let bits = low; bits; bits &= bits - 1) found[31 - Math.clz32(bits & -bits)] += 1;
    for (let bits = high; bits; bits &= bits - 1) found[63 - Math.clz32(bits & -bits)] += 1;
  }
  return found;
}

// By how many filters each trial is left out, and the place of the last of these among the names.
/** @param {Table} table @param {View} view */
function countFailures(table, view) {
  const names = [...Object.keys(view.where || {}), ...(view.text ? [TEXT] : [])];
  const failures = new Uint16Array(table.count);
  const last = new Uint16Array(table.count);
  names.forEach(function (name, place) {
    const fits = recall(table, name, name === TEXT ? view.text : view.where[name]);
    for (let row = 0; row < table.count; row += 1) {
      if (!fits[row]) {
        failures[row] += 1;
        last[row] = place;
      }
    }
  });
  return { names, failures, last };
}

// The trials that fit a filter (1 each), computed once for each filter and state of the table.
/** @param {Table} table @param {string} name @param {Filter | string} filter */
function recall(table, name, filter) {
  let known = matched.get(table);
  if (!known || known.count !== table.count) {
    known = { count: table.count, filters: new Map() };
    matched.set(table, known);
  }
  const key = JSON.stringify(filter);
  const before = known.filters.get(name);
  if (before && before.key === key) return before.fits;
  const fits = typeof filter === "string"
    ? matchWords(table, filter)
    : matchFilter(table, /** @type {Column} */ (table.column(name)), filter);
  known.filters.set(name, { key, fits });
  return fits;
}

/** @param {Table} table @param {Column} column @param {Filter} filter */
function matchFilter(table, column, filter) {
  if (!filter.levels) return matchRange(column.values, filter);
  const fits = matchLevels(table, column, filter.levels);
  return filter.except ? fits.map((one) => 1 - one) : fits;
}

/** @param {Numbers} values @param {RangeFilter} filter */
function matchRange(values, filter) {
  const low = filter.low === null ? -Infinity : filter.low;
  const high = filter.high === null ? Infinity : filter.high;
  const fits = new Uint8Array(values.length);
  for (let row = 0; row < values.length; row += 1) {
    fits[row] = Number(values[row] >= low && values[row] <= high);
  }
  return fits;
}

// The trials with one of the levels; of flags those with one of them. null: the missing level.
/** @param {Table} table @param {Column} column @param {(Level | null)[]} chosen */
function matchLevels(table, column, chosen) {
  const wanted = new Set(chosen);
  if (column.kind === "flags") return matchFlags(table, wanted);
  const { levels, codes } = encodeColumn(column);
  const known = Uint8Array.from([...levels, null], (level) => Number(wanted.has(level)));
  return chooseCodes(codes, known);
}

// Whether each code is known; that of the missing level is the last.
/** @param {Int32Array} codes @param {Uint8Array} known */
function chooseCodes(codes, known) {
  const fits = new Uint8Array(codes.length);
  const missing = known.length - 1;
  for (let row = 0; row < codes.length; row += 1) fits[row] = known[codes[row] < 0 ? missing : codes[row]];
  return fits;
}

/** @param {Table} table @param {Set<Level | null>} wanted */
function matchFlags(table, wanted) {
  let [low, high] = [0, 0];
  table.flags.forEach(function (name, place) {
    if (wanted.has(name)) {
      if (place < 32) low |= 1 << place;
      else high |= 1 << (place - 32);
    }
  });
  const bare = wanted.has(null);
  const bits = table.flagBits;
  const fits = new Uint8Array(table.count);
  for (let row = 0; row < table.count; row += 1) {
    fits[row] = Number(
      ((bits.low[row] & low) | (bits.high[row] & high)) !== 0 ||
        (bare && bits.low[row] === 0 && bits.high[row] === 0),
    );
  }
  return fits;
}

// The trials that hold every word, in any case, in one of their texts; of flags, in a flag's name.
/** @param {Table} table @param {string} text */
function matchWords(table, text) {
  const fits = new Uint8Array(table.count).fill(1);
  for (const word of splitWords(text)) {
    const found = new Uint8Array(table.count);
    for (const column of table.columns) {
      if (column.kind !== "category" && column.kind !== "flags") continue;
      const one = matchWord(table, column, word);
      for (let row = 0; one && row < table.count; row += 1) found[row] |= one[row];
    }
    for (let row = 0; row < table.count; row += 1) fits[row] &= found[row];
  }
  return fits;
}

// null: no level holds the word.
/** @param {Table} table @param {Column} column @param {string} word */
function matchWord(table, column, word) {
  if (column.kind === "flags") {
    const held = table.flags.filter((name) => name.toLowerCase().includes(word));
    return held.length ? matchFlags(table, new Set(held)) : null;
  }
  const { levels, codes } = encodeColumn(column);
  const small = recallLowered(levels);
  const known = new Uint8Array(small.length + 1);
  small.forEach((level, code) => {
    known[code] = Number(level.includes(word));
  });
  return known.includes(1) ? chooseCodes(codes, known) : null;
}

/** @param {Level[]} levels */
function recallLowered(levels) {
  let known = lowered.get(levels);
  if (!known || known.length !== levels.length) {
    known = levels.map((level) => String(level).toLowerCase());
    lowered.set(levels, known);
  }
  return known;
}

/**
 * The words of a search, in small letters; ASCII spaces part them.
 * @param {string} text
 */
export function splitWords(text) {
  return text.toLowerCase().split(SPACES).filter((word) => word);
}
