// Selected trials grouped by the levels of columns, in the order of measurement: as study/exploration/grouping.py.
import { RESULTS, START, UNKNOWN } from "./constants.js";
import { encodeColumn } from "./filter.js";
import { formatLevel } from "./level_text.js";
import { indexNumbers } from "./number_levels.js";

/** @type {WeakMap<Column, {count: number, values: Numbers, levels: Levels}>} */
const known = new WeakMap();
/** @type {WeakMap<Column, {count: number, complete: boolean}>} */
const looked = new WeakMap(); // by column: of how many trials it is known that they have values

// The distinct sets of flags, and the place of each trial's.
/** @param {Table} table */
function indexFlags(table) {
  const { low, high } = table.flagBits;
  const sets = new Map();
  const names = Array.from(low, (bits, row) => high[row] + ":" + bits);
  names.forEach((name, row) => sets.set(name, [high[row], low[row]]));
  const sorted = Array.from(sets).sort(([, one], [, other]) => one[0] - other[0] || one[1] - other[1]);
  const known = new Map(sorted.map(([name], place) => [name, place]));
  /** @param {number[]} ends @param {number} place */
  const has = ([upper, lower], place) => (place < 32 ? lower >>> place : upper >>> (place - 32)) & 1;
  const texts = sorted.map(([, bits]) =>
    table.flags.filter((_, place) => has(bits, place)).join(", ") || "no flag"
  );
  return { texts, places: Int32Array.from(names, (name) => known.get(name) ?? -1) };
}

// `A: Streams sweep`, with the folder behind it where several have that title.
/** @param {Table["sources"]} sources */
function nameSources(sources) {
  return sources.map((source) => {
    const several = sources.filter((other) => other.title === source.title).length > 1;
    const folder = (source.path || "").split("/").filter(Boolean).pop() || source.name;
    return source.label + ": " + source.title + (several ? " (" + folder + ")" : "");
  });
}

// Whether a missing level is one of a factor, such as auto.
/** @param {Column} column */
function leavesToSystem(column) {
  return column.role === "factor" && !UNKNOWN.includes(column.missingLabel);
}

// The levels as names, and the missing one as the last of them.
/** @param {Levels} levels @param {Column} column @returns {Levels} */
function nameUnset(levels, column) {
  const texts = Array.from({ length: levels.size }, (_, place) => levels.name(place));
  texts.push(column.missingLabel);
  return {
    size: texts.length,
    values: Float64Array.from(texts.keys()),
    places: levels.places.map((place) => place < 0 ? levels.size : place),
    texts,
    name: (place) => texts[place] ?? column.missingLabel,
  };
}

/** @param {Table} table @param {Column} column */
function indexTexts(table, column) {
  if (column.kind === "flags") return indexFlags(table);
  const { levels, codes } = encodeColumn(column);
  const several = column.name === RESULTS && table.sources.length > 1;
  const texts = several ? nameSources(table.sources) : levels.map((level) => formatLevel(column, level));
  return { texts, places: codes };
}

/** @param {Table} table @param {Column} column */
function readLevels(table, column) {
  const named = column.kind === "category" || column.kind === "flags";
  if (named) {
    const { texts, places } = indexTexts(table, column);
    const values = Float64Array.from(texts.keys());
    /** @param {number} place */
    const name = (place) => place >= 0 && place < texts.length ? texts[place] : column.missingLabel;
    return { size: texts.length, values, places, texts, name };
  }
  const found = indexNumbers(column);
  const size = found.values.length;
  /** @param {number} place */
  const name = (place) =>
    place >= 0 && place < size ? formatLevel(column, found.values[place]) : column.missingLabel;
  return { size, values: found.values, places: found.places, texts: null, name };
}

/**
 * The levels of a column over all trials of the table, whatever is selected.
 * @param {Table} table
 * @param {Column} column
 * @returns {Levels}
 */
export function indexLevels(table, column) {
  const cached = known.get(column);
  if (cached && cached.count === table.count && cached.values === column.values) return cached.levels;
  const levels = readLevels(table, column);
  known.set(column, { count: table.count, values: column.values, levels });
  return levels;
}

/**
 * The rows for which something holds; loops are several times as fast as `filter` of typed arrays.
 * @param {Uint32Array} rows
 * @param {(row: number) => boolean} holds
 * @returns {Uint32Array}
 */
export function keepRows(rows, holds) {
  const kept = new Uint32Array(rows.length);
  let count = 0;
  for (let at = 0; at < rows.length; at += 1) {
    if (holds(rows[at])) kept[count++] = rows[at];
  }
  return kept.subarray(0, count);
}

/**
 * The rows whose mark (0 or 1 for each trial of the table) is the wanted one; all of them: the list itself.
 * @param {Uint32Array} rows
 * @param {Uint8Array} marks
 * @param {number} wanted
 */
export function keepMarked(rows, marks, wanted) {
  let size = 0;
  for (let at = 0; at < rows.length; at += 1) size += marks[rows[at]] === wanted ? 1 : 0;
  if (size === rows.length) return rows;
  const kept = new Uint32Array(size);
  for (let at = 0, count = 0; count < size; at += 1) {
    if (marks[rows[at]] === wanted) kept[count++] = rows[at];
  }
  return kept;
}

// Whether all trials have a value. Trials are only ever added: what was looked at is not looked at again.
/** @param {Column} column */
function isComplete(column) {
  const { values } = column;
  const found = looked.get(column) || { count: 0, complete: true };
  for (; found.complete && found.count < values.length; found.count += 1) {
    found.complete = Number.isFinite(values[found.count]);
  }
  looked.set(column, found);
  return found.complete;
}

/**
 * The rows that have a value; all of them: the list itself.
 * @param {Uint32Array} rows
 * @param {Column} column
 */
export function keepFinite(rows, column) {
  const { values } = column;
  return isComplete(column) ? rows : keepRows(rows, (row) => Number.isFinite(values[row]));
}

/**
 * The values of these rows.
 * @param {NumberList} values
 * @param {NumberList} rows
 */
export function takeValues(values, rows) {
  const taken = new Float64Array(rows.length);
  for (let at = 0; at < rows.length; at += 1) taken[at] = values[rows[at]];
  return taken;
}

// At most so many places of a list, the first and the last among them.
/** @param {number} size @param {number} most */
export function choosePlaces(size, most) {
  if (size <= most) return Array.from({ length: size }, (_, place) => place);
  const step = (size - 1) / (most - 1);
  /** @type {number[]} */
  const chosen = [];
  for (let at = 0, before = -1; at < most; at += 1) {
    const exact = at === most - 1 ? size - 1 : at * step;
    const floor = Math.floor(exact);
    const rest = exact - floor;
    const place = rest > 0.5 || (rest === 0.5 && floor % 2) ? floor + 1 : floor;
    if (place !== before) chosen.push(place);
    before = place;
  }
  return chosen;
}

/**
 * At most so many of the items: choose_evenly of study/base/selection.py.
 * @template Item
 * @param {Item[]} items
 * @param {number} most
 */
export function chooseEvenly(items, most) {
  return choosePlaces(items.length, most).map((place) => items[place]);
}

/**
 * The rows in the order of measurement; trials without a start come last.
 * @param {Table} table
 * @param {Uint32Array} rows
 * @returns {Uint32Array}
 */
export function sortByStart(table, rows) {
  const starts = table.column(START).values;
  let ascending = true;
  for (let at = 1; at < rows.length && ascending; at += 1) {
    ascending = rows[at - 1] < rows[at] && starts[rows[at - 1]] <= starts[rows[at]];
  }
  if (ascending) return rows;
  /** @param {number} row */
  const rank = (row) => Number.isNaN(starts[row]) ? Infinity : starts[row];
  return Uint32Array.from(rows).sort((one, other) => {
    const before = rank(one);
    const after = rank(other);
    return before === after ? one - other : before - after;
  });
}

/**
 * Split rows by a column.
 * @param {Table} table
 * @param {string | null} name null: all rows are one part
 * @param {Uint32Array} rows
 * @param {number} most levels that are shown
 * @param {boolean} unset trials without a level are a level of their own
 * @returns {SplitColumn | null}
 */
export function splitColumn(table, name, rows, most, unset) {
  const column = name ? table.column(name) : null;
  if (!column) return null;
  return splitLevels(indexLevels(table, column), rows, most, unset);
}

/**
 * Split rows by the column of an x axis; what a factor leaves to the system is a level like any other.
 * @param {Table} table
 * @param {Column} column
 * @param {Uint32Array} rows
 * @param {number} most levels that are shown
 */
export function splitPlaces(table, column, rows, most) {
  const levels = indexLevels(table, column);
  const named = leavesToSystem(column) && rows.some((row) => levels.places[row] < 0);
  return splitLevels(named ? nameUnset(levels, column) : levels, rows, most, false);
}

/**
 * Split rows by levels of all trials.
 * @param {Levels} levels
 * @param {Uint32Array} rows
 * @param {number} most
 * @param {boolean} unset
 * @returns {SplitColumn}
 */
function splitLevels(levels, rows, most, unset) {
  const { places, size } = levels;
  const slots = new Int32Array(size + 1).fill(-1);
  for (let at = 0; at < rows.length; at += 1) {
    const place = places[rows[at]];
    slots[place < 0 ? size : place] = 0;
  }
  if (!unset) slots[size] = -1;
  /** @type {number[]} */
  const present = [];
  slots.forEach((slot, place) => {
    if (slot === 0) present.push(place);
  });
  const shown = chooseEvenly(present, most);
  slots.fill(-1);
  shown.forEach((place, key) => {
    slots[place] = key;
  });

  /** @param {Uint32Array} part */
  function split(part) {
    const ends = new Uint32Array(shown.length);
    const keys = new Int32Array(part.length);
    for (let at = 0; at < part.length; at += 1) {
      const place = places[part[at]];
      const key = slots[place < 0 ? size : place];
      keys[at] = key;
      if (key >= 0) ends[key] += 1;
    }
    const starts = new Uint32Array(shown.length);
    for (let key = 1; key < shown.length; key += 1) starts[key] = starts[key - 1] + ends[key - 1];
    const sorted = new Uint32Array(part.length);
    const next = Uint32Array.from(starts);
    for (let at = 0; at < part.length; at += 1) {
      const key = keys[at];
      if (key >= 0) sorted[next[key]++] = part[at];
    }
    const parts = [];
    for (let key = 0; key < shown.length; key += 1) {
      if (ends[key]) parts.push({ key, rows: sorted.subarray(starts[key], next[key]) });
    }
    return parts;
  }

  /** @param {number} key */
  const place = (key) => shown[key] < size ? shown[key] : -1;
  return { levels, shown, present: present.length, split, place, name: (key) => levels.name(shown[key]) };
}
