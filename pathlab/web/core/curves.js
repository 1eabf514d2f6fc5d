// The curves of a view: selected trials grouped by facet, colour and x, with an estimate for each group. The
// same exploration, field by field, as study/exploration/curves.py builds.
import {
  CURVES_MAX,
  DISTRIBUTIONS,
  DOTS_MAX,
  FACETS_MAX,
  HOSTS,
  LAB_FLAGS,
  NAMED_MAX,
  PATH,
  PLACES_MAX,
  PROVISIONAL_FLAGS,
  RESULTS,
  START,
} from "./constants.js";
import { buildAgainst } from "./baselines.js";
import { buildDistributions } from "./distributions.js";
import { estimate, median, nameRange, nameStatistic } from "./estimates.js";
import { describeAxis, describeX, describeY } from "./figure_axes.js";
import {
  choosePlaces,
  indexLevels,
  keepFinite,
  keepMarked,
  keepRows,
  sortByStart,
  splitColumn,
  splitPlaces,
  takeValues,
} from "./grouping.js";
import { describeShared, nameCurve, writeTrialCount } from "./labels.js";

// What was last made of each group of trials: after a filter or one more trial most groups have the same trials.
/** @type {{table: Table | null, state: string, groups: Map<string, PointGroup>}} */
let latest = { table: null, state: "", groups: new Map() };

// A view names columns that its table has.
/** @param {Table} table @param {string} name */
function findColumn(table, name) {
  return /** @type {Column} */ (table.column(name));
}

// Which flags all of these rows have.
/** @param {Table} table @param {Uint32Array} rows */
function findShared(table, rows) {
  const { low, high } = table.flagBits;
  let sharedLow = -1;
  let sharedHigh = -1;
  for (let at = 0; at < rows.length; at += 1) {
    sharedLow &= low[rows[at]];
    sharedHigh &= high[rows[at]];
  }
  return { low: sharedLow, high: sharedHigh };
}

// Whether a trial has a flag besides the shared ones.
/** @param {Table} parts @param {{low: number, high: number}} shared @param {number} row */
function hasOther({ flagBits }, shared, row) {
  return (flagBits.low[row] & ~shared.low) !== 0 || (flagBits.high[row] & ~shared.high) !== 0;
}

// Whether a trial has no other flaw than that the lab was at its limit.
/** @param {Table} table @returns {(row: number) => boolean} */
function findProvisional({ flags, flagBits, reasons, reasonCodes }) {
  const limited = LAB_FLAGS.map((flag) => reasons.indexOf(flag)).find((place) => place >= 0) ?? -1;
  let [low, high] = [0, 0];
  flags.forEach((flag, place) => {
    if (!PROVISIONAL_FLAGS.includes(flag)) return;
    if (place < 32) low |= 1 << place;
    else high |= 1 << (place - 32);
  });
  return (row) =>
    limited >= 0 && reasonCodes[row] === limited && (flagBits.low[row] & low) === 0 &&
    (flagBits.high[row] & high) === 0;
}

// Which trials count and have no flag besides the shared ones (1 each).
/** @param {Table} table @param {{low: number, high: number}} shared */
function markPlain(table, shared) {
  const plain = new Uint8Array(table.count);
  for (let row = 0; row < plain.length; row += 1) {
    plain[row] = table.counted[row] === 1 && !hasOther(table, shared, row) ? 1 : 0;
  }
  return plain;
}

/**
 * At most 40 of the rows, in their order: an even choice, and the extremes of their values.
 * @param {Numbers} values
 * @param {Uint32Array} rows
 */
function chooseDots(values, rows) {
  if (rows.length <= DOTS_MAX) return rows;
  let [low, high] = [0, 0];
  for (let at = 1; at < rows.length; at += 1) {
    const value = values[rows[at]];
    if (value < values[rows[low]]) low = at;
    if (value > values[rows[high]]) high = at;
  }
  const chosen = new Set([...choosePlaces(rows.length, DOTS_MAX - 2), low, high]);
  return Array.from(chosen).sort((one, other) => one - other).map((at) => rows[at]);
}

/**
 * The order of curves: from low to high by the median of their points, then by colour. Those of results, of
 * several measures one after the other, stay in the order in which they were given.
 * @param {Curve} one
 * @param {Curve} other
 */
function compareCurves(one, other) {
  const [before, after] = [one, other].map((curve) => {
    const heights = Float64Array.from(curve.points.flatMap((point) => point.y === null ? [] : [point.y]))
      .sort();
    return heights.length ? median(heights) : Infinity;
  });
  if (before !== after) return before < after ? -1 : 1;
  return (one.colourLevel === null ? -1 : one.colourLevel) -
    (other.colourLevel === null ? -1 : other.colourLevel);
}

/**
 * The trials that do not count of these rows, by reason, most first.
 * @param {Table} table
 * @param {Uint32Array} rows
 */
function countReasons(table, rows) {
  const counts = new Uint32Array(table.reasons.length);
  for (let at = 0; at < rows.length; at += 1) {
    const code = table.reasonCodes[rows[at]];
    if (code >= 0) counts[code] += 1;
  }
  return table.reasons.map((reason, code) => /** @type {[string, number]} */ ([reason, counts[code]]))
    .filter(([, count]) => count)
    .sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1));
}

/** @param {[string, number][]} reasons */
function noteUnusable(reasons) {
  return reasons.length
    ? [
      "Unusable trials are counted: " + reasons.map(([reason, count]) => count + " " + reason).join(", ") +
      ".",
    ]
    : [];
}

/** @param {Uint32Array} rows @param {Int32Array} places */
function countMissing(rows, places) {
  let missing = 0;
  for (let at = 0; at < rows.length; at += 1) missing += places[rows[at]] < 0 ? 1 : 0;
  return missing;
}

/** @param {number} missing @param {Column} column */
function noteMissing(missing, column) {
  return missing ? [writeTrialCount(missing) + " without " + column.label + " not shown."] : [];
}

/** @param {SplitColumn | null} split @param {string} what */
function noteLimit(split, what) {
  if (!split || split.present <= split.shown.length) return [];
  return [
    split.shown.length + " of " + split.present + " " + what +
    " shown, chosen evenly: filter to see the others.",
  ];
}

/**
 * What is drawn of the rows of one x: a dot for each trial, or for a choice of many.
 * @param {SelectedTrials} selection
 * @param {number} x
 * @param {Numbers} values
 * @param {Uint32Array} rows
 */
function buildDots(selection, x, values, rows) {
  const { table, plain, flagged } = selection;
  const parts = [keepMarked(rows, plain, 1), keepMarked(rows, plain, 0)];
  return parts.flatMap((part) =>
    Array.from(chooseDots(values, part), (row) => {
      const counted = Boolean(table.counted[row]);
      const reason = counted ? null : table.reasons[table.reasonCodes[row]];
      return { x, y: values[row], row, counted, reason, flagged: flagged(row) };
    })
  );
}

// The point of the trials of one x, if any counts or is provisional, and their dots.
/**
 * @param {SelectedTrials} selection
 * @param {number} x
 * @param {Numbers} values
 * @param {Uint32Array} rows
 * @param {boolean} combined x is a factor, so that its trials are of one combination
 */
function buildGroup(selection, x, values, rows, combined) {
  const { view, used } = selection;
  const taken = used ? keepMarked(rows, used, 1) : rows;
  const limited = combined && !taken.length ? keepRows(rows, selection.provisional) : taken;
  /** @param {Uint32Array} some */
  const point = (some) => ({
    x,
    ...estimate(takeValues(values, some), view.statistic, view.range),
    trials: some.length,
    rows: some,
  });
  const points = taken.length
    ? [point(taken)]
    : limited.length
    ? [{ ...point(limited), low: null, high: null, state: "provisional" }]
    : [];
  return { rows, points, dots: view.dots ? buildDots(selection, x, values, rows) : [] };
}

/** @param {Uint32Array} rows @param {Uint32Array} others */
function haveSame(rows, others) {
  if (rows.length !== others.length) return false;
  for (let at = 0; at < rows.length; at += 1) {
    if (rows[at] !== others[at]) return false;
  }
  return true;
}

/**
 * The curve of one y column and colour, as a list; empty where no trial has a value.
 * @param {SelectedTrials} selection
 * @param {Column} column
 * @param {number} colour
 * @param {Uint32Array} rows
 * @param {SplitColumn} xs
 * @param {number} facet
 */
function buildCurve(selection, column, colour, rows, xs, facet) {
  const place = [
    selection.facets ? selection.facets.place(facet) : "",
    selection.colours ? selection.colours.place(colour) : "",
  ];
  const across = findColumn(selection.table, selection.view.x || START);
  const combined = across.role === "factor" || across.name === PATH || across.name === RESULTS;
  const groups = xs.split(keepFinite(rows, column)).map((part) => {
    const x = xs.levels.values[xs.shown[part.key]];
    const key = [column.name, ...place, x].join("\n");
    const before = selection.groups.get(key);
    const found = before && haveSame(before.rows, part.rows)
      ? before
      : buildGroup(selection, x, column.values, part.rows, combined);
    selection.groups.set(key, found);
    return found;
  });
  const [points, dots] = [groups.flatMap((one) => one.points), groups.flatMap((one) => one.dots)];
  return points.length || dots.length ? [selection.makeCurve(column, colour, { points, dots })] : [];
}

/** @param {SplitColumn | null} split @param {Uint32Array} rows */
function splitBy(split, rows) {
  return split ? split.split(rows) : [{ key: 0, rows }];
}

/**
 * The trials that a view selects, as SelectedTrials of study/exploration/selected_trials.py.
 * @param {Table} table
 * @param {View} view
 * @param {Uint32Array} chosen
 * @returns {SelectedTrials}
 */
function selectTrials(table, view, chosen) {
  const rows = sortByStart(table, chosen);
  const ys = view.y.map((name) => findColumn(table, name));
  const facets = splitColumn(table, view.facet, rows, FACETS_MAX, true);
  const colours = splitColumn(table, view.colour, rows, CURVES_MAX, true);
  const shared = findShared(table, rows);
  const state = [
    view.x,
    view.colour,
    view.facet,
    view.statistic,
    view.range,
    view.count,
    view.dots,
    shared.low,
    shared.high,
  ].join("\n");
  if (latest.table !== table || latest.state !== state) latest = { table, state, groups: new Map() };
  return {
    table,
    view,
    rows,
    ys,
    facets,
    colours,
    splitBy,
    groups: latest.groups,
    used: view.count === "all" ? null : table.counted,
    provisional: findProvisional(table),
    isUsed: view.count === "all" ? () => true : (row) => table.counted[row] === 1,
    plain: markPlain(table, shared),
    flagged: (row) => hasOther(table, shared, row),

    listLimits() {
      const missing = ys.flatMap((column) =>
        noteMissing(rows.length - keepFinite(rows, column).length, column)
      );
      return [...missing, ...noteLimit(facets, "panels"), ...noteLimit(colours, "colours")];
    },

    /** @param {Column} column @param {number} colour @param {Partial<Curve>} found */
    makeCurve(column, colour, found) {
      return {
        name: nameCurve(colours ? colours.name(colour) : "", column, ys.length > 1),
        colourLevel: colours ? colours.place(colour) : null,
        yColumn: column.name,
        points: [],
        dots: [],
        edges: [],
        ...found,
      };
    },

    /**
     * Each facet that has a curve: `makeCurves(column, key of colour, rows, key of facet)` gives those of its parts.
     * @param {Column[]} columns
     * @param {(column: Column, colour: number, rows: Uint32Array, facet: number) => Curve[]} makeCurves
     */
    buildFacets(columns, makeCurves) {
      /** @param {Curve[]} curves */
      const sort = (curves) => view.colour === RESULTS ? curves : curves.sort(compareCurves);
      return splitBy(facets, rows).map((facet) => ({
        name: facets ? facets.name(facet.key) : "",
        curves: sort(columns.flatMap((column) =>
          splitBy(colours, facet.rows).flatMap(
            (part) => makeCurves(column, part.key, part.rows, facet.key),
          )
        )),
      })).filter((facet) => facet.curves.length);
    },
  };
}

// A point for each level of x.
/** @param {SelectedTrials} selection */
function buildOverX(selection) {
  const { table, view, rows, ys } = selection;
  const column = findColumn(table, view.x || START);
  const xs = splitPlaces(table, column, rows, PLACES_MAX);
  const { places } = xs.levels;
  const against = buildAgainst(selection, xs);
  const alone = against && !against.length
    ? ["Nothing is compared: no place has trials of the baseline and of another curve."]
    : [];
  return {
    against,
    x: describeX(view, column, xs),
    ys: ys.map((one) => describeY(view, one)),
    facets: selection.buildFacets(
      ys,
      (one, colour, part, facet) => buildCurve(selection, one, colour, part, xs, facet),
    ),
    notes: [
      ...noteMissing(countMissing(rows, places), column),
      ...selection.listLimits(),
      ...noteLimit(xs, "places on the x axis"),
      ...alone,
    ],
  };
}

// The time course of a trial is no curve over trials: it is drawn with the trial's details.
/**
 * @param {SelectedTrials} parts
 * @returns {Drawn}
 */
function leaveToTrial({ table, view, ys }) {
  const note = "A time course is that of one trial: open a trial to see it.";
  const x = describeAxis(table.column(START), "linear");
  return { x, ys: ys.map((one) => describeY(view, one)), facets: [], notes: view.trial ? [] : [note] };
}

/** @param {string} statistic */
function chooseBuilder(statistic) {
  if (statistic === "course") return leaveToTrial;
  return DISTRIBUTIONS.includes(statistic) ? buildDistributions : buildOverX;
}

// The rows of each point, or of each curve where its points are one group.
/** @param {Facet[]} facets @param {boolean} whole */
function listGroups(facets, whole) {
  const curves = facets.flatMap((facet) => facet.curves);
  return whole
    ? curves.map((curve) => curve.points.flatMap((point) => Array.from(point.rows)))
    : curves.flatMap((curve) => curve.points.map((point) => point.rows));
}

/** @param {Int32Array} places @param {NumberList} rows */
function hasSeveral(places, rows) {
  for (let at = 1; at < rows.length; at += 1) {
    if (places[rows[at]] !== places[rows[0]]) return true;
  }
  return false;
}

/**
 * A note for each factor, and the path, of which one point has trials of several levels.
 * @param {SelectedTrials} parts
 * @param {Facet[]} facets
 * @param {boolean} whole
 */
function listPooled({ table, view, ys }, facets, whole) {
  const apart = new Set([
    view.colour,
    view.facet,
    ...ys.map((one) => one.name),
    ...(whole ? [] : [view.x]),
    ...HOSTS,
  ]);
  const groups = listGroups(facets, whole);
  /** @param {Column} column */
  const isPooled = (column) =>
    !apart.has(column.name) && column.kind !== "flags" &&
    (column.role === "factor" || column.name === PATH);
  return table.columns.filter(isPooled).flatMap((column) => {
    const levels = indexLevels(table, column);
    if (!groups.some((rows) => hasSeveral(levels.places, rows))) return [];
    /** @type {Set<number>} */
    const seen = new Set();
    for (const rows of groups) for (const row of rows) seen.add(levels.places[row]);
    const names = Array.from(seen).sort((one, other) => one - other).map((place) => levels.name(place));
    return [
      names.length > NAMED_MAX
        ? "Each point mixes " + names.length + " levels of " + beginLow(column.label) + "."
        : "Each point mixes " + nameSeveral(column) + " " + names.slice(0, -1).join(", ") + " and " +
          names[names.length - 1] + ".",
    ];
  });
}

// The label for several levels: windows, paths; that of texts may have no plural.
/** @param {Column} column */
function nameSeveral(column) {
  const label = beginLow(column.label);
  const counted = column.kind === "number" || column.name === PATH;
  return counted && !label.endsWith("s") ? label + "s" : label;
}

// A label inside a sentence; abbreviations keep their capitals.
/** @param {string} label */
function beginLow(label) {
  return /^.\p{Lu}/u.test(label) ? label : label.charAt(0).toLowerCase() + label.slice(1);
}

// How many points are provisional, and why.
/** @param {Point[]} points */
function noteProvisional(points) {
  if (!points.length) return [];
  const [are, of] = points.length === 1 ? ["point is", "it"] : ["points are", "each"];
  return [points.length + " " + are + " provisional: all trials of " + of + " were lab-limited."];
}

// How many intervals are cut at the range of their trials, and what that means.
/** @param {{state: string}[]} points */
function noteCut(points) {
  const count = points.filter((point) => point.state === "cut").length;
  if (!count) return [];
  return [
    (count === 1 ? "1 interval is" : count + " intervals are") +
    " cut at the range of the trials: a 95 % confidence interval would reach beyond it. " +
    "The level of what is shown is not known.",
  ];
}

// What the intervals against the baseline rest on.
/** @param {Change[]} points */
function noteInference(points) {
  const shown = points.filter((point) => point.state !== "undecided");
  const drawn = shown.filter((point) => point.drawn).length;
  const rest = "on the drawn order of each cycle: exact signed-rank tests, whatever changed over time.";
  if (drawn && drawn === shown.length) return ["The intervals against the baseline rest " + rest];
  if (drawn) {
    return [
      drawn + " of " + shown.length + " intervals against the baseline rest " + rest,
      "The others allow for serial correlation.",
    ];
  }
  return shown.length ? ["The intervals against the baseline allow for serial correlation."] : [];
}

/**
 * What a view shows of these rows of the table: an Exploration of study/exploration/exploration.py.
 * @param {Table} table of packed.js
 * @param {View} view of view.js
 * @param {Uint32Array} chosen rows
 * @returns {Exploration}
 */
export function buildExploration(table, view, chosen) {
  const selection = selectTrials(table, view, chosen);
  const distribution = DISTRIBUTIONS.includes(view.statistic);
  const drawn = chooseBuilder(view.statistic)(selection);
  const points = drawn.facets.flatMap((facet) => facet.curves.flatMap((curve) => curve.points));
  const provisional = points.filter((point) => point.state === "provisional");
  const taken = new Set(provisional.flatMap((point) => Array.from(point.rows)));
  const unusable = countReasons(
    table,
    taken.size ? selection.rows.filter((row) => !taken.has(row)) : selection.rows,
  );
  const all = view.count === "all";
  return {
    title: describeShared(table, view, selection.rows),
    notes: [
      ...drawn.notes,
      ...listPooled(selection, drawn.facets, distribution),
      ...noteProvisional(provisional),
      ...noteUnusable(all && drawn.facets.length ? unusable : []),
      ...noteInference((drawn.against || []).flatMap((curve) => curve.points)),
      ...noteCut([...points, ...(drawn.against || []).flatMap((curve) => curve.points)]),
    ],
    statistic: nameStatistic(view.statistic),
    range: nameRange(view.statistic, view.range),
    x: drawn.x,
    ys: drawn.ys,
    facets: drawn.facets,
    excluded: all ? [] : unusable,
    against: drawn.against || null,
    undecided: points.filter((point) => point.state === "undecided").length,
  };
}
