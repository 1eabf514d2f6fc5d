// Every curve against the baseline's: by what factor, or by how much, it differs at each x. As
// study/exploration/baselines.py, which says which values are pairs.
import { CYCLE, MAXIMUM_PAIRS, MINIMUM_PAIRS, MISSING, RESULTS } from "./constants.js";
import { cutAt } from "./estimates.js";
import { keepRows, takeValues } from "./grouping.js";
import { estimateShift } from "./shifts.js";

// Results and cycle as one number: cycles are whole and far below it.
const SOURCE_STEP = 2 ** 40;

// The place of the baseline among the levels of colour, -1: the missing one; null: there is none.
/** @param {SelectedTrials} parts */
function findBaseline({ view, table, colours }) {
  const wanted = view.baseline;
  const column = colours && table.column(view.colour);
  if (wanted === null || wanted === undefined || !column || column.kind === "flags") return null;
  const { values, size } = colours.levels;
  /** @param {number} place */
  const isWanted = (place) =>
    column.levels ? String(column.levels[place]) === wanted : String(values[place]) === wanted;
  for (let place = 0; place < size; place += 1) {
    if (isWanted(place)) return place;
  }
  return wanted === MISSING ? -1 : null;
}

// The mean of the values of each results and cycle, by number; trials without a cycle are left out.
/** @param {Table} table @param {Numbers} values @param {Uint32Array} rows */
function averageCycles(table, values, rows) {
  const cycles = table.column(CYCLE).values;
  const sources = table.column(RESULTS).values;
  const groups = new Map();
  for (let at = 0; at < rows.length; at += 1) {
    const row = rows[at];
    if (!Number.isNaN(cycles[row])) {
      const key = sources[row] * SOURCE_STEP + cycles[row];
      const group = groups.get(key);
      if (group) {
        group.total += values[row];
        group.count += 1;
      } else {
        groups.set(key, { total: values[row], count: 1 });
      }
    }
  }
  return groups;
}

// The mean of each side in the cycles that have both, those of the first results first, and whether the order of
// the sides was drawn in all of these cycles.
/** @param {SelectedTrials} parts @param {Numbers} values @param {Uint32Array[]} sides */
function pairCycles({ table, view }, values, sides) {
  const [first, second] = sides.map((rows) => averageCycles(table, values, rows));
  const shared = Float64Array.from(Array.from(first.keys()).filter((key) => second.has(key))).sort();
  const [before, after] = [first, second].map((groups) =>
    shared.map((key) => groups.get(key).total / groups.get(key).count)
  );
  const byFactor = table.column(view.colour)?.role === "factor";
  const drawn = byFactor &&
    shared.every((key) => table.sources[Math.floor(key / SOURCE_STEP)].orderDrawn);
  return { before, after, drawn };
}

// The least and the largest change of a pair, or of any trial of the second side against any of the first.
/** @param {Float64Array} first @param {Float64Array} second @param {{paired: boolean, ratio: boolean}} how */
function findRange(first, second, { paired, ratio }) {
  /** @param {number} before @param {number} after */
  const change = (before, after) => ratio ? after / before : after - before;
  if (!paired) {
    /** @param {Float64Array} values */
    const ends = (values) => values.slice().sort();
    const [before, after] = [ends(first), ends(second)];
    return [change(before[before.length - 1], after[0]), change(before[0], after[after.length - 1])];
  }
  const changes = Float64Array.from(second, (value, at) => change(first[at], value)).sort();
  return [changes[0], changes[changes.length - 1]];
}

/** @param {SelectedTrials} selection @param {Numbers} values @param {number} x @param {Uint32Array[]} sides */
function comparePoint(selection, values, x, sides) {
  const pairs = pairCycles(selection, values, sides);
  const paired = pairs.before.length >= MINIMUM_PAIRS;
  const [first, second] = paired
    ? [pairs.before, pairs.after]
    : sides.map((rows) => takeValues(values, rows));
  const byDraw = paired && pairs.drawn && first.length <= MAXIMUM_PAIRS;
  const how = { paired, drawn: byDraw, ratio: selection.view.against === "ratio" };
  const found = estimateShift(first, second, how);
  const [least, most] = findRange(first, second, how);
  const ends = found.low === null || found.high === null
    ? { low: null, high: null, cut: false }
    : cutAt(found.low, found.high, least, most);
  return {
    x,
    y: found.y,
    low: ends.low,
    high: ends.high,
    state: ends.low === null ? "undecided" : ends.cut ? "cut" : "estimated",
    trials: second.length,
    baselineTrials: first.length,
    paired,
    drawn: byDraw && ends.low !== null,
  };
}

/**
 * @param {SelectedTrials} selection
 * @param {Column} column
 * @param {SplitColumn} xs
 * @param {Part[]} before
 * @param {Part[]} after
 */
function compareCurve(selection, column, xs, before, after) {
  const firsts = new Map(before.map((part) => [part.key, part.rows]));
  return after.flatMap((part) => {
    const first = firsts.get(part.key);
    const x = xs.levels.values[xs.shown[part.key]];
    return first ? [comparePoint(selection, column.values, x, [first, part.rows])] : [];
  });
}

/**
 * Each curve against that of the view's baseline in the same facet; null: the view has no baseline.
 * @param {SelectedTrials} selection of curves.js
 * @param {SplitColumn} xs the levels of x, as splitColumn gives them
 * @returns {AgainstCurve[] | null}
 */
export function buildAgainst(selection, xs) {
  const { facets, colours, rows, ys, isUsed, splitBy } = selection;
  const baseline = findBaseline(selection);
  if (baseline === null || !colours) return null;
  const { places } = colours.levels;
  return splitBy(facets, rows).flatMap((facet) =>
    ys.flatMap((column) => {
      const { values } = column;
      /** @param {number} row */
      const isKnown = (row) => isUsed(row) && Number.isFinite(values[row]);
      const before = xs.split(keepRows(facet.rows, (row) => isKnown(row) && places[row] === baseline));
      const others = keepRows(facet.rows, (row) => isKnown(row) && places[row] !== baseline);
      return colours.split(others).flatMap((part) => {
        const points = compareCurve(selection, column, xs, before, xs.split(part.rows));
        const { name, colourLevel, yColumn } = selection.makeCurve(column, part.key, {});
        return points.length
          ? [{ facet: facets ? facets.name(facet.key) : "", name, colourLevel, yColumn, points }]
          : [];
      });
    })
  );
}
