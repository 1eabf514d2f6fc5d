// The distinct numbers of a column and the place of each trial's among them. Trials are only ever added to a
// table, so what is known of the earlier ones stays.
/** @type {WeakMap<Column, Index>} */
const known = new WeakMap(); // by column

/**
 * @typedef {Object} Index
 * @property {Float64Array} values
 * @property {number[]} levels
 * @property {Map<number, number>} byNumber
 * @property {Int32Array} room
 * @property {number} size
 * @property {NumberLevels} found
 */

/**
 * @param {Column} column of numbers or times
 * @returns {NumberLevels}
 */
export function indexNumbers(column) {
  const numbers = column.values;
  let index = known.get(column);
  if (!index || index.size > numbers.length || !extend(index, numbers)) {
    index = begin(numbers);
    extend(index, numbers);
    known.set(column, index);
  }
  return index.found;
}

/** @param {Numbers} numbers */
function begin(numbers) {
  const distinct = new Set();
  for (let at = 0; at < numbers.length; at += 1) {
    if (Number.isFinite(numbers[at])) distinct.add(numbers[at]);
  }
  const values = Float64Array.from(distinct).sort();
  const byNumber = new Map();
  values.forEach((value, place) => byNumber.set(value, place));
  return {
    values,
    levels: [...values],
    byNumber,
    room: new Int32Array(numbers.length + (numbers.length >> 3)),
    size: 0,
    found: { values, levels: [], places: new Int32Array(0) },
  };
}

// Finds the places of the trials that were added; false where one of them has a number of its own.
/** @param {Index} index @param {Numbers} numbers */
function extend(index, numbers) {
  if (index.found && index.size === numbers.length) return true;
  if (index.room.length < numbers.length) {
    const room = new Int32Array(2 * numbers.length);
    room.set(index.room);
    index.room = room;
  }
  for (let at = index.size; at < numbers.length; at += 1) {
    const place = index.byNumber.get(numbers[at]);
    if (place === undefined && Number.isFinite(numbers[at])) return false;
    index.room[at] = place === undefined ? -1 : place;
  }
  index.size = numbers.length;
  index.found = { values: index.values, levels: index.levels, places: index.room.subarray(0, index.size) };
  return true;
}
