// Trials by their names: rows, details, and the one that is open.
import { RESULTS, TRIAL } from "../core/constants.js";
import { nameTrial } from "./source.js";

const KEPT_MAX = 50;
/** @type {Map<string, TrialDetails>} */
const kept = new Map();

/**
 * The row of a trial by its name, such as A:12; -1: there is none.
 * @param {Table} table
 * @param {string} name
 */
export function findRow(table, name) {
  const [label, number] = name.includes(":") ? name.split(":") : [table.sources[0].label, name];
  const results = table.column(RESULTS);
  const trials = table.column(TRIAL);
  const code = results.levels.indexOf(label);
  for (let row = 0; row < table.count; row += 1) {
    const trial = trials.levels ? trials.levels[trials.values[row]] : trials.values[row];
    if (results.values[row] === code && String(trial) === number) return row;
  }
  return -1;
}

// The trial's details, from memory where they were read before.
/** @param {App} app @param {string} name @param {number} row */
export async function readDetails(app, name, row) {
  const known = kept.get(name);
  if (known) return known;
  const found = await app.source.trial(row);
  kept.set(name, found);
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value || "");
  return found;
}

/** Reads details anew: after more trials one that was the last may have a neighbour. */
export function forgetDetails() {
  kept.clear();
}

/**
 * Opens the trial of a dot, or of a point the trial whose value is nearest to it.
 * @param {App} app
 * @param {Mark} point
 */
export function openTrial(app, point) {
  const row = point.row === undefined ? findNearest(app, point) : point.row;
  if (row !== undefined) app.setView({ trial: nameTrial(app.table, row) });
}

/** @param {App} app @param {Mark} point */
function findNearest(app, point) {
  const values = app.table.column(point.yColumn || app.view.y[0])?.values || [];
  const off = (/** @type {number} */ row) => Math.abs(values[row] - Number(point.y));
  return point.rows &&
    Array.from(point.rows).reduce((best, row) => off(row) < off(best) ? row : best, point.rows[0]);
}
