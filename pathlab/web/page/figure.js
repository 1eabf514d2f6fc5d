// The description of an exploration's figure: the JSON of panels and layers that report.js draws.
// Besides what report.js reads, a panel has its place in a grid (`row`, `column`), and a layer what is behind
// its marks (`points`: each with `rows` or `row`, and `facts()`, its lines of text).
import { BARS_MAX, COLOURS, LEVEL_SHARE, MARKED_MAX } from "../core/constants.js";
import { buildAxis, formatBinaryBytes, formatUtc, fromShare, toShare } from "./axes.js";
import { listLevels } from "../core/column_choice.js";
import { describeLevel } from "./filter_text.js";
import { nameTrial } from "./source.js";

/** @typedef {{name: string, colourLevel: number | null, yColumn: string, points: (Point | Change)[], edges?: number[]}} DrawnCurve */
/** @typedef {Dot & {number: number, curve: Curve, at: number}} PlacedDot */
/** @typedef {{y: Axis, against: boolean}} Line a row of panels for each measure, and one against its baseline */
/** @typedef {LayerLook} Common what the layers of a curve share */
/**
 * @typedef {Object} Cell a panel while it is made
 * @property {Exploration} exploration
 * @property {Facet} facet
 * @property {View} view
 * @property {Table} table
 * @property {Axis} y
 * @property {Axis} xAxis
 * @property {MarkedAxis} across
 * @property {(curve: DrawnCurve) => (x: number) => number} move where points of a curve lie
 * @property {number} widthPx
 * @property {number} heightPx
 * @property {number} dotsMax
 * @property {boolean} joined by lines
 */
const LOOKS = 7;
const ALL_PERCENT = 100;
const DOTS_MAX = 600;
const DOT_CELLS_PX = [4, 6, 9, 14, 20, 30];
const PANEL_MIN_PX = 250;
const JITTER_PX = 4;
const STEP_PX = 9;
const AGAINST_SHARE = 0.55;
const PLAIN = ["median", "mean", "min", "max", "iqr"];

/**
 * The looks of a slot: colour, and the places of its marker, dash and hatch in report.js.
 * @param {number} number
 */
export function chooseSlot(number) {
  const turn = Math.floor(number / COLOURS.length);
  return {
    colour: COLOURS[number % COLOURS.length],
    look: (number + turn) % LOOKS,
    hatch: (number + Math.floor(number / LOOKS)) % LOOKS,
  };
}

/**
 * The slot of a curve: of its level of colour, the same under every filter.
 * @param {{colourLevel: number | null}} curve
 * @param {number} number
 */
export function slotOf(curve, number) {
  return chooseSlot(
    curve.colourLevel !== null && curve.colourLevel >= 0 ? curve.colourLevel : number,
  );
}

/** @param {View} view */
export const isSteps = (view) => view.statistic === "cdf" || view.statistic === "ccdf";
/** @param {View} view */
export const isBars = (view) => view.statistic === "histogram";
/** @param {View} view */
export const isCourse = (view) => view.statistic === "course";
/** @param {View} view */
export const isPlain = (view) => PLAIN.includes(view.statistic) || /^p\d/.test(view.statistic);

/** @param {View} view */
const hasDots = (view) => view.dots && isPlain(view);

/**
 * A number with its unit, for people.
 * @param {number | null | undefined} value
 * @param {Axis} axis
 */
export function formatValue(value, axis) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "not measured";
  if (axis.levels && axis.levels.length) return String(axis.levels[value]);
  if (axis.kind === "time") return formatUtc(value) + " UTC";
  if (axis.unit === "B") return formatBinaryBytes(value);
  const text = String(Number(value.toPrecision(4)));
  return axis.unit ? text + " " + axis.unit : text;
}

/**
 * What a point shows, one fact per line.
 * @param {Point | Change} point
 * @param {{name: string}} curve
 * @param {Exploration} exploration
 * @param {Axis} y
 */
function describePoint(point, curve, exploration, y) {
  const lines = [curve.name, exploration.x.label + ": " + formatValue(point.x, exploration.x)];
  lines.push(y.label + ": " + formatValue(point.y, y));
  if (
    point.low !== null && point.high !== null && point.low !== undefined && Number.isFinite(point.low) &&
    Number.isFinite(point.high)
  ) {
    lines.push(exploration.range + ": " + formatValue(point.low, y) + " to " + formatValue(point.high, y));
  }
  if (point.trials) lines.push(point.trials === 1 ? "1 trial" : point.trials + " trials");
  if (point.state === "undecided") lines.push("undecided: too few trials for an interval");
  if (point.state === "provisional") lines.push("provisional: all its trials were lab-limited");
  if (point.state === "cut") lines.push("cut at the range of the trials; its level is not known");
  return lines.filter(Boolean);
}

/**
 * The names of the flags of a row.
 * @param {Table} table
 * @param {number} row
 */
function listFlags(table, row) {
  const { low, high } = table.flagBits;
  return table.flags.filter((_, place) =>
    place < 32 ? low[row] >>> place & 1 : high[row] >>> (place - 32) & 1
  );
}

/**
 * What a dot shows, one fact per line.
 * @param {Dot} dot
 * @param {Curve} curve
 * @param {Cell} parts
 */
function describeDot(dot, curve, { exploration, y, table, view }) {
  const all = view.count === "all";
  const lines = ["trial " + nameTrial(table, dot.row), curve.name];
  lines.push(
    exploration.x.label + ": " + formatValue(dot.x, exploration.x),
    y.label + ": " + formatValue(dot.y, y),
  );
  const flags = listFlags(table, dot.row);
  if (flags.length) lines.push("flags: " + flags.join(", "));
  if (!dot.counted) {
    lines.push((all ? "unusable, counted: " : "not counted: ") + (dot.reason || "excluded"));
  }
  return lines.filter(Boolean);
}

// A number from 0 to 1 that depends on the row alone, so that a dot keeps its place.
/** @param {number} row */
function scatterOf(row) {
  let mixed = (row + 1) * 2654435761 >>> 0;
  mixed ^= mixed >>> 15;
  return (mixed * 2246822519 >>> 0) / 4294967296;
}

// Where a curve's points lie: side by side in their level on an axis of levels, else alongside their value.
// A level of colour has the same place in every panel.
/**
 * @param {Axis} axis
 * @param {(number | null)[]} levels
 * @param {(x: number) => number} places
 * @param {{across: BuiltAxis, widthPx: number, stepPx: number}} how
 * @returns {Cell["move"]}
 */
function shifter(axis, levels, places, how) {
  /** @param {DrawnCurve} curve */
  const aside = (curve) => levels.indexOf(curve.colourLevel) - (levels.length - 1) / 2;
  if (axis.levels.length) {
    const step = LEVEL_SHARE / Math.max(1, levels.length);
    return (curve) => (x) => places(x) + aside(curve) * step;
  }
  const step = how.stepPx / how.widthPx;
  return (curve) => (x) => step ? fromShare(how.across, toShare(how.across, x) + aside(curve) * step) : x;
}

// Room next to the outermost values for curves that are set apart.
/** @param {View} view @param {Curve[]} curves @param {number} ys */
function padFor(view, curves, ys) {
  const most = new Set(curves.map((curve) => curve.colourLevel)).size;
  return isPlain(view) && ys ? Math.min(60, (most - 1) / 2 * STEP_PX + JITTER_PX + 8) : 0;
}

// How far curves are set apart, in px, so that their intervals do not hide each other.
/**
 * @param {View} view
 * @param {MarkedAxis} across
 * @param {Curve[]} curves
 * @param {number} levels
 * @param {number} widthPx
 */
function chooseStep(view, across, curves, levels, widthPx) {
  if (!isPlain(view) || levels < 2) return 0;
  const xs = Array.from(new Set(xValues(curves))).filter((x) => !across.log || x > 0).map((x) =>
    toShare(across, x)
  ).sort((a, b) => a - b);
  const gap = xs.slice(1).reduce((least, x, at) => Math.min(least, x - xs[at]), 1) * widthPx;
  const step = Math.min(STEP_PX, gap * 0.45 / levels);
  return step < 1 ? 0 : step;
}

/**
 * @param {number} x
 * @param {number} row
 * @param {Axis} axis
 * @param {MarkedAxis} across
 * @param {number} px
 * @param {number} curves
 */
function jitter(x, row, axis, across, px, curves) {
  const share = scatterOf(row) - 0.5;
  if (axis.levels.length) return x + share * Math.min(0.5 * LEVEL_SHARE / curves, 0.3);
  return fromShare(across, toShare(across, x) + share * 2 * JITTER_PX / px);
}

// One dot of each kind in a cell of the screen, in larger cells until at most so many remain.
/** @param {PlacedDot[]} dots @param {MarkedAxis} across @param {MarkedAxis} upwards @param {Cell} parts */
function thin(dots, across, upwards, { widthPx, heightPx, dotsMax }) {
  if (dots.length <= dotsMax) return dots;
  let kept = dots;
  for (const cell of DOT_CELLS_PX) {
    const taken = new Set();
    kept = dots.filter((dot) => {
      const column = Math.floor(toShare(across, dot.at) * widthPx / cell);
      const row = Math.floor(toShare(upwards, dot.y) * heightPx / cell);
      const key = (column * 65536 + row) * 4 + (dot.counted ? 2 : 0) + (dot.flagged ? 1 : 0);
      if (taken.has(key)) return false;
      taken.add(key);
      return true;
    });
    if (kept.length <= dotsMax) break;
  }
  return kept.slice(0, dotsMax);
}

/**
 * @param {PlacedMark[]} points
 * @param {Common} common
 * @param {(point: PlacedMark) => boolean} keep
 * @returns {CurveLayer}
 */
function listPoints(points, common, keep) {
  const chosen = points.filter(keep);
  return {
    kind: "curve",
    ...common,
    x: chosen.map((point) => point.at),
    y: chosen.map((point) => point.y),
    points: chosen,
  };
}

/** @param {Mark} point */
const isDecided = (point) => point.state !== "undecided" && point.state !== "provisional";

// The layers of one curve: its range, its line, what is estimated and what is undecided.
/**
 * @param {DrawnCurve} curve
 * @param {number} number
 * @param {Cell} cell
 * @returns {TraceLayer[]}
 */
function layCurve(curve, number, cell) {
  const { exploration, view, y, move } = cell;
  const slot = slotOf(curve, number);
  const shift = move(curve);
  const points = curve.points.filter((point) => point.y !== null && Number.isFinite(point.y)).map((
    point,
  ) => ({
    ...point,
    yColumn: curve.yColumn,
    at: shift(point.x),
    facts: () => describePoint(point, curve, exploration, y),
  }));
  const common = {
    name: curve.name,
    colour: slot.colour,
    look: slot.look,
    hatch: slot.hatch,
    legend: false,
    curve: number,
  };
  if (isBars(view)) return layBins(points, curve.edges || [], common, cell.across.log);
  /** @type {TraceLayer[]} */
  const layers = [];
  /** @param {Mark} point */
  const ranged = (point) =>
    Number.isFinite(point.low) && Number.isFinite(point.high) && point.low !== null && point.high !== null;
  const many = points.length > BARS_MAX;
  const banded = points.some(ranged) && (many || isSteps(view));
  if (isSteps(view)) return laySteps(points, common, view, banded, ranged);
  if (banded) {
    layers.push({
      kind: "area",
      ...common,
      x: points.map((point) => point.at),
      low: points.map((point) => ranged(point) ? point.low : null),
      high: points.map((point) => ranged(point) ? point.high : null),
    });
  }
  const lined = points.length > 1 && !exploration.x.levels.length && cell.joined;
  if (lined) layers.push({ ...listPoints(points, common, () => true), line: true, along: true });
  if (lined && points.length > MARKED_MAX) return layers;
  const estimated = listPoints(
    points,
    { ...common, marked: true, filled: true },
    isDecided,
  );
  if (!banded) {
    const known = points.filter(isDecided);
    estimated.low = known.map((point) => ranged(point) ? point.low : null);
    estimated.high = known.map((point) => ranged(point) ? point.high : null);
  }
  const undecided = listPoints(
    points,
    { ...common, marked: true, filled: false },
    (point) => point.state === "undecided",
  );
  const provisional = listPoints(
    points,
    { ...common, marked: true, filled: false, dotted: true },
    (point) => point.state === "provisional",
  );
  // in a cloud of dots a single trial is its own dot
  if (!cell.joined && hasDots(view) && points.every((point) => point.trials <= 1)) return layers;
  return layers.concat([estimated, undecided, provisional].filter((layer) => layer.x.length));
}

// A distribution: from none of the trials (or all of them) in steps, with a band of steps.
/**
 * @param {PlacedMark[]} points
 * @param {Common} common
 * @param {View} view
 * @param {boolean} banded
 * @param {(point: Mark) => boolean} ranged
 * @returns {TraceLayer[]}
 */
function laySteps(points, common, view, banded, ranged) {
  const first = { ...points[0], y: view.statistic === "cdf" ? 0 : ALL_PERCENT };
  /** @type {CurveLayer} */
  const line = {
    ...listPoints(points.length ? [first, ...points] : [], common, () => true),
    line: true,
    step: true,
    along: true,
  };
  if (!banded) return [line];
  const known = points.filter(ranged);
  const corners = known.flatMap((point, at) =>
    at ? [{ ...point, low: known[at - 1].low, high: known[at - 1].high }, point] : [point]
  );
  /** @param {"at" | "low" | "high"} end */
  const pick = (end) => corners.map((point) => point[end] ?? null);
  return [{ kind: "area", ...common, x: pick("at"), low: pick("low"), high: pick("high") }, line];
}

// A histogram as its outline, so that several are seen on each other; bars that are not seen take the pointer.
/**
 * @param {PlacedMark[]} points
 * @param {number[]} edges
 * @param {Common} common
 * @param {boolean} log
 * @returns {TraceLayer[]}
 */
function layBins(points, edges, common, log) {
  const x = edges.flatMap((edge) => [edge, edge]);
  const y = [0, ...points.flatMap((point) => [point.y, point.y]), 0];
  const width = edges.slice(1).map((edge, at) => log ? Math.log10(edge / edges[at]) : edge - edges[at]);
  return [
    { kind: "area", ...common, x, low: y.map(() => 0), high: y },
    { kind: "curve", ...common, x, y, line: true, along: true },
    {
      kind: "bars",
      ...common,
      x: points.map((point) => point.at),
      height: points.map((point) => point.y),
      width,
      points,
      unseen: true,
    },
  ];
}

// Replicates: counted ones, flagged ones with a cross in their ring, and those that are not counted, open.
/**
 * @param {Cell} cell
 * @param {MarkedAxis} across
 * @param {MarkedAxis} upwards
 * @param {DotCount} count
 * @returns {PointsLayer[]}
 */
function layDots(cell, across, upwards, count) {
  const { facet, view, y, move, widthPx, xAxis } = cell;
  if (!hasDots(view)) return [];
  const curves = facet.curves.filter((curve) => curve.yColumn === y.column);
  /** @param {Dot} dot */
  const reachable = (dot) =>
    Number.isFinite(dot.y) && dot.y !== null && (!upwards.log || dot.y > 0) && (!across.log || dot.x > 0);
  const all = curves.flatMap((curve, number) =>
    curve.dots.filter(reachable).map((dot) => ({
      ...dot,
      number,
      curve,
      at: jitter(move(curve)(dot.x), dot.row, xAxis, across, widthPx, curves.length),
    }))
  );
  const kept = thin(all, across, upwards, cell);
  count.dots += all.length;
  count.drawn += kept.length;
  /** @type {({keep: (dot: Dot) => boolean} & Partial<PointsLayer>)[]} */
  const kinds = [
    { keep: (dot) => !dot.counted, hollow: true },
    { keep: (dot) => dot.counted && !dot.flagged, small: true },
    { keep: (dot) => dot.counted && dot.flagged, flagged: true },
  ];
  return curves.flatMap((curve, number) =>
    kinds.flatMap(({ keep, ...kind }) => {
      const dots = kept.filter((dot) => dot.number === number && keep(dot));
      if (!dots.length) return [];
      if (kind.flagged) count.flagged += dots.length;
      if (kind.hollow) count.excluded += dots.length;
      const slot = slotOf(curve, number);
      return [{
        kind: /** @type {const} */ ("points"),
        name: curve.name,
        ...kind,
        colour: slot.colour,
        look: 0,
        legend: false,
        curve: number,
        x: dots.map((dot) => dot.at),
        y: dots.map((dot) => dot.y),
        points: dots.map((dot) => ({ ...dot, facts: () => describeDot(dot, curve, cell) })),
      }];
    })
  );
}

/**
 * @template {DrawnCurve} Some
 * @param {Some[]} curves
 * @param {(curve: Some, add: (value: number | null) => void) => void} pick
 */
function listValues(curves, pick) {
  /** @type {number[]} */
  const values = [];
  for (const curve of curves) {
    pick(curve, (value) => {
      if (value !== null && Number.isFinite(value)) values.push(value);
    });
  }
  return values;
}

/** @param {Curve[]} curves @param {View} view */
function yValues(curves, view) {
  const dots = hasDots(view);
  return listValues(curves, (curve, add) => {
    curve.points.forEach((point) => {
      add(point.y);
      if (point.low !== null) add(point.low);
      if (point.high !== null) add(point.high);
    });
    if (dots) curve.dots.forEach((dot) => add(dot.y));
    if (isBars(view) || isSteps(view)) add(0);
  });
}

/** @param {Curve[]} curves */
function xValues(curves) {
  return listValues(curves, (curve, add) => {
    curve.points.forEach((point) => add(point.x));
    curve.dots.forEach((dot) => add(dot.x));
    curve.edges.forEach(add);
  });
}

// An axis of levels shows those that were selected, side by side; `places` is where each of them is.
/** @param {Axis} axis @param {Curve[]} curves */
function gather(axis, curves) {
  if (!axis.levels.length) return { axis, places: /** @param {number} x */ (x) => x };
  const used = Array.from(new Set(xValues(curves))).sort((a, b) => a - b);
  const places = new Map(used.map((level, place) => [level, place]));
  return {
    axis: { ...axis, levels: used.map((level) => axis.levels[level]) },
    places: /** @param {number} x */ (x) => places.get(x) ?? NaN,
  };
}

// Columns of the grid of panels, and the order of its cells.
/** @param {Facet[]} facets @param {Line[]} lines @param {number} widthPx */
function arrangeCells(facets, lines, widthPx) {
  const most = Math.max(1, Math.floor(widthPx / PANEL_MIN_PX));
  const even = Math.ceil(facets.length / Math.ceil(facets.length / Math.min(most, facets.length)));
  /** @type {(Line & {facet: Facet, column: number, row: number})[]} */
  const cells = [];
  facets.forEach((facet, number) => {
    const block = Math.floor(number / even);
    lines.forEach((line, at) =>
      cells.push({ facet, ...line, column: number % even, row: block * lines.length + at })
    );
  });
  return { columns: even, rows: Math.ceil(facets.length / even) * lines.length, cells };
}

// Curves of published tables: faint, in the colour of text, with the dashes of their place in the list.
/** @param {Overlay[]} overlays @param {{y: Axis, ink: string}} cell */
function layOverlays(overlays, cell) {
  return overlays.filter((overlay) => overlay.yColumn === cell.y.column).flatMap((overlay, number) => {
    const points = overlay.points.map((point) => ({
      ...point,
      at: point.x,
      facts: () => [overlay.name, ...(point.facts || [])],
    }));
    const common = {
      name: overlay.name,
      colour: cell.ink,
      look: (number + 1) % LOOKS,
      hatch: 0,
      legend: false,
      curve: "overlay " + number,
      overlay: true,
    };
    return [{
      ...listPoints(points, { ...common, marked: true, filled: false, faint: true }, () => true),
      line: true,
    }];
  });
}

// A panel without a trace would have no axes.
/** @type {(ink: string) => CurveLayer} */
const keepAxes = (ink) => ({
  kind: "curve",
  name: "",
  colour: ink,
  look: 0,
  hatch: 0,
  legend: false,
  line: true,
  x: [null],
  y: [null],
});

// The part of the height that each row of panels has.
/** @param {{rows: number}} grid @param {Line[]} lines */
function shareRows(grid, lines) {
  const weights = Array.from(
    { length: grid.rows },
    (_, row) => lines[row % lines.length].against ? AGAINST_SHARE : 1,
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

// Ratio or difference to the baseline, and the line at which both are equal.
/**
 * @param {Facet} facet
 * @param {Cell} cell
 * @returns {Layer[]}
 */
function layAgainst(facet, cell) {
  const { exploration, view, y } = cell;
  const equal = view.against === "difference" ? 0 : 1;
  const curves = (exploration.against || []).filter((curve) =>
    curve.facet === facet.name && curve.yColumn === y.column
  );
  const layers = curves.flatMap((curve, number) => layCurve(curve, number, cell));
  return [...layers, { kind: "rule", name: "equal to the baseline", value: equal, legend: false }];
}

// The text of the level that is the baseline.
/** @param {View} view @param {Table} table */
function nameBaseline(view, table) {
  const column = view.colour && table.column(view.colour);
  const level = column &&
    listLevels(table, column).find((one) => String(one) === String(view.baseline));
  return level === undefined || level === null || !column
    ? String(view.baseline)
    : describeLevel(column, level);
}

/** @param {Exploration} exploration @param {View} view @param {Axis} y @param {Table} table */
function nameAgainst(exploration, view, y, table) {
  const difference = view.against === "difference";
  const label = (difference ? "difference to " : "ratio to ") + nameBaseline(view, table);
  const curves = (exploration.against || []).filter((curve) => curve.yColumn === y.column);
  const values = listValues(
    curves,
    (curve, add) =>
      curve.points.forEach((point) =>
        [point.y, point.low, point.high].forEach((one) => {
          if (one !== null) add(one);
        })
      ),
  );
  const axis = {
    column: y.column,
    label,
    unit: difference ? y.unit : null,
    scale: "linear",
    kind: "number",
    ticks: null,
    levels: [],
    tight: true,
  };
  return { axis, values: [...values, difference ? 0 : 1] };
}

/**
 * The figure of an exploration.
 * @param {Exploration} exploration as curves.build makes it
 * @param {FigureRoom} how width, height: of the picture in px; ink: the
 *   colour of text
 * @returns {Figure} {name, shared_x, ink, columns, rows, shares, heights, panels, count}; `count`: dots, drawn,
 *   flagged and excluded ones
 */
export function describeFigure(exploration, how) {
  const { view, table, overlays = [], width, height, ink, sizePx = 12 } = how;
  const laid = exploration.x.levels.length ? [] : overlays;
  /** @param {(point: Overlay["points"][number]) => number | null} pick @param {Axis} [y] */
  const addLaid = (pick, y) =>
    laid.filter((one) => !y || one.yColumn === y.column).flatMap((one) => one.points.map(pick))
      .filter((value) => value !== null);
  const facets = exploration.facets.length ? exploration.facets : [{ name: "", curves: [] }];
  const every = facets.flatMap((facet) => facet.curves);
  const { axis: xAxis, places } = gather(exploration.x, every);
  const lines = exploration.ys.flatMap((y) => {
    const compared = (exploration.against || []).some((curve) => curve.yColumn === y.column);
    return compared ? [{ y, against: false }, { y, against: true }] : [{ y, against: false }];
  });
  const grid = arrangeCells(facets, lines, width);
  const widthPx = Math.max(80, width / grid.columns - 50);
  const dotsMax = Math.ceil(DOTS_MAX / (facets.length * exploration.ys.length));
  // measured values on both axes are a cloud
  const joined = !isPlain(view) || table.column(exploration.x.column)?.role !== "measured";
  const shares = shareRows(grid, lines);
  const heightPx = Math.max(80, (height - 30 * grid.rows) * shares[0]);
  const besidePx = Math.max(60, heightPx * AGAINST_SHARE);
  const count = { dots: 0, drawn: 0, flagged: 0, excluded: 0 };
  /** @param {number} px */
  const letters = (px) => Math.max(12, Math.floor(px / (sizePx * 0.58)));
  const across = buildAxis(xAxis, [...xValues(every), ...addLaid((point) => point.x)], {
    px: widthPx,
    sizePx,
    across: true,
    padPx: padFor(view, every, exploration.ys.length),
    letters: letters(width),
    low: view.minX,
    high: view.maxX,
  });
  const levels = Array.from(new Set(every.map((curve) => curve.colourLevel))).sort((a, b) =>
    Number(a) - Number(b)
  );
  const stepPx = chooseStep(view, across, every, levels.length, widthPx);
  const move = shifter(xAxis, levels, places, { across, widthPx, stepPx });
  const single = exploration.ys.length === 1;
  const upwards = new Map(
    exploration.ys.map((y) => [
      y,
      buildAxis(y, [
        ...yValues(every.filter((curve) => curve.yColumn === y.column), view),
        ...addLaid((point) => point.y, y),
      ], {
        px: heightPx,
        sizePx,
        letters: letters(heightPx),
        low: single ? view.minY : null,
        high: single ? view.maxY : null,
      }),
    ]),
  );
  const beside = new Map(
    lines.filter((line) => line.against).map(({ y }) => {
      const { axis, values } = nameAgainst(exploration, view, y, table);
      return [y, {
        axis,
        built: buildAxis(axis, values, { px: besidePx, sizePx, letters: letters(besidePx) }),
      }];
    }),
  );
  /** @type {FigurePanel[]} */
  const panels = grid.cells.map(({ facet, y, against, column, row }) => {
    const curves = facet.curves.filter((curve) => curve.yColumn === y.column);
    /** @type {Cell} */
    const cell = {
      exploration,
      facet,
      view,
      y,
      move,
      widthPx,
      heightPx,
      table,
      xAxis,
      across,
      joined,
      dotsMax,
    };
    const place = { x: across, column, row, facet, yColumn: y.column, against };
    if (against) {
      const { axis, built } = /** @type {{axis: Axis, built: MarkedAxis}} */ (beside.get(y));
      return {
        ...place,
        title: null,
        y: built,
        yAxis: axis,
        layers: layAgainst(facet, { ...cell, y: axis }),
      };
    }
    const up = /** @type {MarkedAxis} */ (upwards.get(y));
    const dots = layDots(cell, across, up, count);
    /** @type {TraceLayer[]} */
    const layers = [
      ...dots,
      ...layOverlays(laid, { y, ink }),
      ...curves.flatMap((curve, number) => layCurve(curve, number, cell)),
    ];
    return {
      ...place,
      title: y === exploration.ys[0] && facet.name ? facet.name : null,
      y: up,
      yAxis: y,
      ...(layers.some((layer) => layer.x.length)
        ? { layers }
        : { layers: [keepAxes(ink)], blank: "no value to draw" }),
    };
  });
  return {
    name: "exploration",
    shared_x: false,
    ink,
    columns: grid.columns,
    rows: grid.rows,
    shares,
    panels,
    count,
    entries: [],
    fixedY: false,
    heights: panels.map((panel) => panel.against ? besidePx : heightPx),
  };
}
