// A view as text, the fragment of the address: as pathlab.study.exploration.view_text writes and reads it.
import {
  CHANGES,
  COLOURS_MOST,
  COUNTS,
  EMPTY,
  FACETS_MOST,
  HOSTS,
  MAIN_MEASURES,
  MEASURES_MOST,
  MESSAGE_SIZE,
  MISSING,
  NONE,
  PATH,
  RANGE_MARK,
  RANGES,
  RESULTS,
  ROUND_TRIP,
  SCALES,
  SHOWN_LETTERS,
  STATISTICS,
  STREAMS,
  SUGGESTED_AMONG,
  SWITCH,
  TRIAL,
  WHERE,
} from "./constants.js";
import { encodeColumn } from "./filter.js";

/** @type {Record<string, ["range" | "scaleX" | "scaleY" | "count" | "against", string[]]>} */
const CHOICES = {
  range: ["range", RANGES],
  "scale-x": ["scaleX", SCALES],
  "scale-y": ["scaleY", SCALES],
  count: ["count", COUNTS],
  against: ["against", CHANGES],
};
/** @type {Record<string, "minX" | "minY" | "maxX" | "maxY">} */
const LIMITS = { "min-x": "minX", "min-y": "minY", "max-x": "maxX", "max-y": "maxY" };
const KEYS = [
  "x",
  "y",
  "colour",
  "facet",
  "stat",
  "dots",
  ...Object.keys(CHOICES),
  ...Object.keys(LIMITS),
  "overlay",
  "text",
  "trial",
  "series",
  "baseline",
];
const MALFORMED = /%(?![0-9A-Fa-f]{2})/;
const ESCAPED = /[%,!()"]/g;
const PERCENTILE = /^p[1-9][0-9]?$/;
const SERIES = /^[a-z0-9_]{1,64}\.[a-z0-9_]{1,64}$/;
const TRIAL_NUMBER = /^[0-9]{1,15}$/;
const NUMBER = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
const INSTANT =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?)?(Z|[+-][0-9]{2}:[0-9]{2})?$/;
// The first and the last moment that has a year of four digits, in microseconds since 1970.
const FIRST_US = -62135596800000000n;
const LAST_US = 253402300799999999n;

/** @type {Readonly<View>} */
const PLAIN = Object.freeze({
  x: null,
  y: [],
  colour: null,
  facet: null,
  statistic: "median",
  range: "interval",
  scaleX: null,
  scaleY: null,
  minX: null,
  maxX: null,
  minY: null,
  maxY: null,
  dots: true,
  count: "usable",
  baseline: null,
  against: "ratio",
  overlay: null,
  where: {},
  text: "",
  trial: null,
  series: null,
});

class Mistake extends Error {}

// A text in a message: in quotes, and no more than its beginning.
/** @param {string} text */
function quote(text) {
  const letters = text.length > SHOWN_LETTERS ? Array.from(text) : [];
  return "'" +
    (letters.length > SHOWN_LETTERS ? letters.slice(0, SHOWN_LETTERS - 1).join("") + "…" : text) + "'";
}

/**
 * @param {string} message
 * @returns {never}
 */
function refuse(message) {
  throw new Mistake(message);
}

/**
 * The view of the parts of a text that can be read, the default for the others, and every mistake in words.
 * @param {string} text
 * @param {Table} table
 * @returns {{view: View, mistakes: string[]}}
 */
export function parseView(text, table) {
  const reader = new Reader(table);
  /** @type {string[]} */
  const mistakes = [];
  /** @param {() => void} act */
  const attempt = function (act) {
    try {
      act();
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      mistakes.push(error.message);
    }
  };
  const parts = text.replace(/^#/, "").split("&").filter((part) => part);
  parts.forEach((part) => attempt(() => reader.readPart(part)));
  attempt(() => reader.checkWhole());
  return { view: reader.build(), mistakes };
}

/**
 * The view that is shown where none is given.
 * @param {Table} table
 */
export function presetView(table) {
  return complete({}, table);
}

// The found parts with the default of what is not among them: x, y, colour; the facet where none of these is.
/** @param {Partial<View>} found @param {Table} table */
function complete(found, table) {
  const view = { ...PLAIN, y: [], where: {}, ...found };
  if (!("x" in found)) view.x = chooseX(table);
  if (!("y" in found)) view.y = [chooseY(table)];
  const others = listOthers(table, view.x);
  if (!("colour" in found)) view.colour = others.length ? others[0] : null;
  if (!["x", "y", "colour", "facet"].some((key) => key in found)) {
    const apart = others.filter((name) => name !== view.colour).sort((left, right) =>
      Number(left !== PATH) - Number(right !== PATH)
    );
    view.facet = apart.find((name) => (table.column(name)?.levelCount ?? Infinity) <= FACETS_MOST) || null;
  }
  return view;
}

/** @param {Table} table */
function listVaried(table) {
  return table.columns.filter((column) => column.role === "factor" && column.levelCount > 1);
}

// Streams where they vary, else the factor with most levels, those of numbers first; the first of equals.
/** @param {Table} table */
function chooseX(table) {
  /** @param {Column} column */
  const rank = (column) =>
    [column.name !== STREAMS, column.kind !== "number", -column.levelCount].map(Number);
  const ranked = listVaried(table).sort(function (left, right) {
    const [one, other] = [rank(left), rank(right)];
    return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
  });
  return ranked.length ? ranked[0].name : STREAMS;
}

// What sets trials of one x apart, the best colour first: results, the factors that vary (the one with most levels first,
// those with too many to be told apart last), paths.
/** @param {Table} table @param {string | null} x */
function listOthers(table, x) {
  const varied = listVaried(table).filter((column) => column.name !== x && !HOSTS.includes(column.name));
  /** @param {Column} column */
  const many = (column) => Number(column.levelCount > COLOURS_MOST);
  varied.sort((left, right) => many(left) - many(right) || right.levelCount - left.levelCount);
  const first = table.sources.length > 1 && x !== RESULTS ? [RESULTS] : [];
  const path = table.column(PATH);
  const paths = path && path.levelCount > 1 && x !== PATH ? [PATH] : [];
  return [...first, ...varied.map((column) => column.name), ...paths];
}

// Throughput, of messages alone their round trip, else the first that there is.
/** @param {Table} table */
function chooseY(table) {
  const measures = table.columns.filter((column) => column.role === "measured").map((column) => column.name);
  const main = table.sources.length === 1 && table.column(MESSAGE_SIZE)
    ? [ROUND_TRIP, ...MAIN_MEASURES]
    : MAIN_MEASURES;
  return [...main, ...measures].find((name) => measures.includes(name)) || TRIAL;
}

/**
 * The text of a view, which `parse` reads back. x, y and colour are always written, so that a link shows the
 * same when more trials are stored.
 * @param {View} view
 * @returns {string}
 */
export function formatView(view) {
  const parts = view.x === null ? [] : [["x", encode(view.x)]];
  if (view.y.length) parts.push(["y", view.y.map(encode).join(",")]);
  parts.push(["colour", encode(view.colour === null ? NONE : view.colour)]);
  /** @param {keyof View} name */
  const unless = (name) => view[name] === PLAIN[name] ? null : view[name];
  const values = {
    facet: view.facet,
    stat: unless("statistic"),
    range: unless("range"),
    "scale-x": view.scaleX,
    "scale-y": view.scaleY,
    "min-x": view.minX,
    "max-x": view.maxX,
    "min-y": view.minY,
    "max-y": view.maxY,
    dots: view.dots ? null : SWITCH[1],
    count: unless("count"),
    baseline: view.baseline,
    against: unless("against"),
    overlay: view.overlay,
  };
  for (const [key, value] of Object.entries(values)) {
    if (value !== null) parts.push([key, encode(String(value))]);
  }
  for (const name of Object.keys(view.where).sort()) {
    parts.push([WHERE + name, formatFilter(name, view.where[name])]);
  }
  for (const [key, text] of Object.entries({ text: view.text, trial: view.trial, series: view.series })) {
    if (text) parts.push([key, encode(text)]);
  }
  return parts.map((part) => part.join("=")).join("&");
}

/** @param {string} name @param {Filter} filter */
function formatFilter(name, filter) {
  if (filter.levels) {
    return (filter.except ? "!" : "") + filter.levels.map((level) => encode(escapeLevel(level))).join(",");
  }
  const write = name.endsWith("_utc") ? formatInstant : String;
  return [filter.low, filter.high].map((end) => end === null ? "" : write(end)).join(RANGE_MARK);
}

// A level as the text has it, before the value is encoded.
/** @param {Level | null} level */
function escapeLevel(level) {
  if (level === null) return MISSING;
  if (typeof level !== "string") return String(level);
  /** @param {string} sign */
  const code = (sign) => "%" + sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0");
  return level.replace(ESCAPED, code) || EMPTY;
}

/** @param {string} value */
function encode(value) {
  return encodeURIComponent(value.toWellFormed ? value.toWellFormed() : value).replace(/%2C/g, ",").replace(
    /%3A/g,
    ":",
  );
}

/** @param {string} value */
function decode(value) {
  if (MALFORMED.test(value)) refuse(quote(value) + " has a percent sign that encodes no character");
  try {
    return decodeURIComponent(value);
  } catch {
    return refuse(quote(value) + " is not UTF-8");
  }
}

/**
 * Seconds since 1970 as ISO 8601 in UTC, to the nearest microsecond; within the years 1 to 9999.
 * @param {number} seconds
 */
export function formatInstant(seconds) {
  const all = seconds * 1e6;
  const rounded = BigInt(Math.floor(all)) + (all - Math.floor(all) >= 0.5 ? 1n : 0n);
  const total = rounded < FIRST_US ? FIRST_US : rounded > LAST_US ? LAST_US : rounded;
  const micros = ((total % 1000000n) + 1000000n) % 1000000n;
  const whole = new Date(Number((total - micros) / 1000n)).toISOString().slice(0, 19);
  const fraction = String(micros).padStart(6, "0").replace(/0+$/, "");
  return whole + (fraction ? "." + fraction : "") + "Z";
}

/**
 * A time of ISO 8601 as seconds since 1970, UTC where it does not say; null for any other text.
 * @param {string} text
 */
export function parseInstant(text) {
  const found = INSTANT.exec(text);
  if (!found) return null;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map((one) => Number(one || 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const exists = year > 0 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!exists || hour > 23 || minute > 59 || second > 59) return null;
  const offset = found[8] || "Z";
  const [hours, minutes] = offset === "Z" ? [0, 0] : [Number(offset.slice(1, 3)), Number(offset.slice(4))];
  if (hours > 23 || minutes > 59) return null;
  const away = (hours * 60 + minutes) * (offset[0] === "-" ? 60 : -60);
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second + away;
  const total = BigInt(seconds) * 1000000n + BigInt((found[7] || "").padEnd(6, "0"));
  return total < FIRST_US || total > LAST_US ? null : Number(total) / 1e6;
}

/** @param {string} text */
function parseNumber(text) {
  const value = NUMBER.test(text) ? Number(text) : NaN;
  return Number.isFinite(value) ? value : null;
}

/**
 * A level as the baseline is named: its text, () for the missing one.
 * @param {Level | null} level
 */
export function showLevel(level) {
  return level === null ? MISSING : String(level);
}

// "; did you mean 'NAME'?" of the nearest one, if any is near.
/** @param {string} name @param {string[]} known */
function suggest(name, known) {
  if (Array.from(name).length > SHOWN_LETTERS) return "";
  let nearest = null;
  let least = Math.max(1, Math.floor(name.length * 0.4)) + 1;
  for (const one of known.slice(0, SUGGESTED_AMONG)) {
    const distance = Math.abs(one.length - name.length) < least ? measureDistance(name, one) : least;
    if (distance < least) [nearest, least] = [one, distance];
  }
  return nearest === null ? "" : "; did you mean '" + nearest + "'?";
}

// Levenshtein's distance.
/** @param {string} left @param {string} right */
function measureDistance(left, right) {
  let before = Array.from({ length: right.length + 1 }, (_, place) => place);
  for (let row = 1; row <= left.length; row += 1) {
    const now = [row];
    for (let place = 1; place <= right.length; place += 1) {
      const other = before[place - 1] + (left[row - 1] === right[place - 1] ? 0 : 1);
      now.push(Math.min(other, before[place] + 1, now[place - 1] + 1));
    }
    before = now;
  }
  return before[right.length];
}

// A view that is read part by part.
class Reader {
  /** @param {Table} table */
  constructor(table) {
    this.table = table;
    /** @type {Partial<View>} */
    this.found = {};
    /** @type {View["where"]} */
    this.where = {};
    /** @type {Set<string>} */
    this.seen = new Set();
  }

  build() {
    return { ...complete(this.found, this.table), where: this.where };
  }

  /** @param {string} part */
  readPart(part) {
    const mark = part.indexOf("=");
    const key = decode(mark < 0 ? part : part.slice(0, mark));
    if (mark < 0) refuse(quote(key) + " has no value");
    if (!KEYS.includes(key) && !key.startsWith(WHERE)) {
      refuse("a view has no key " + quote(key) + suggest(key, KEYS));
    }
    if (this.seen.has(key)) refuse(quote(key) + " is given twice");
    this.seen.add(key);
    const value = part.slice(mark + 1);
    if (key.startsWith(WHERE)) {
      this.readFilter(this.findColumn(key.slice(WHERE.length)), decode(value));
    } else {
      this.readValue(key, decode(value));
    }
  }

  // The baseline is a level of the colour.
  checkWhole() {
    const { baseline } = this.found;
    if (!baseline) return;
    const { colour } = complete(this.found, this.table);
    if (colour === null) {
      delete this.found.baseline;
      refuse("the baseline " + quote(baseline) + " needs a colour");
    }
    const levels = [...encodeColumn(this.findColumn(colour)).levels, null].map(showLevel);
    if (!levels.includes(baseline)) {
      delete this.found.baseline;
      refuse(
        "the baseline " + quote(baseline) + " is not a level of '" + colour + "'" +
          suggest(baseline, levels),
      );
    }
  }

  /** @param {string} key @param {string} value */
  readValue(key, value) {
    if (key === "x" || key === "colour" || key === "facet") {
      this.found[key] = this.readColumn(key, value);
    } else if (key === "y") {
      this.found.y = this.readMeasures(value);
    } else if (key === "stat") {
      if (!STATISTICS.includes(value) && !PERCENTILE.test(value)) this.refuseChoice(key, value, STATISTICS);
      this.found.statistic = value;
    } else if (key === "dots") {
      if (!SWITCH.includes(value)) this.refuseChoice(key, value, SWITCH);
      this.found.dots = value === SWITCH[0];
    } else if (key in CHOICES) {
      const [name, choices] = CHOICES[key];
      if (!choices.includes(value)) this.refuseChoice(key, value, choices);
      this.found[name] = value;
    } else if (key in LIMITS) {
      const number = parseNumber(value);
      if (number === null) refuse(key + ": " + quote(value) + " is not a number");
      this.found[LIMITS[key]] = number;
    } else if (key === "trial") {
      if (Array.from(value).length > SHOWN_LETTERS) refuse(quote(value) + " names no trial");
      this.found.trial = this.readTrial(value);
    } else if (key === "series" && !SERIES.test(value)) {
      refuse(quote(value) + " names no series");
    } else if (value) {
      Object.assign(this.found, { [key]: value }); // a key whose value is any text
    }
  }

  /** @param {string} key @param {string} value @param {string[]} choices */
  refuseChoice(key, value, choices) {
    refuse(key + ": unknown " + quote(value) + suggest(value, choices));
  }

  /** @param {string} name */
  findColumn(name) {
    const column = this.table.column(name);
    if (!column) {
      refuse(
        "there is no column " + quote(name) + suggest(name, this.table.columns.map((one) => one.name)),
      );
    }
    return column;
  }

  /** @param {string} key @param {string} value */
  readColumn(key, value) {
    if (value === NONE && key !== "x") return null;
    const { kind } = this.findColumn(value);
    if (kind === "flags" || (kind === "time" && key !== "x")) {
      refuse(key + ": column " + quote(value) + " cannot be used here");
    }
    return value;
  }

  /** @param {string} value */
  readMeasures(value) {
    const names = [...new Set(value.split(","))];
    if (names.length > MEASURES_MOST) refuse("y: " + names.length + " columns; at most " + MEASURES_MOST);
    for (const name of names) {
      if (this.findColumn(name).kind !== "number") refuse("y: column " + quote(name) + " has no numbers");
    }
    return names;
  }

  /** @param {string} name */
  readTrial(name) {
    const [label, number] = name.includes(":")
      ? [name.slice(0, name.lastIndexOf(":")), name.slice(name.lastIndexOf(":") + 1)]
      : ["", name];
    const labels = this.table.sources.map((source) => source.label);
    const wanted = label || labels[0];
    if (!TRIAL_NUMBER.test(number) || !labels.includes(wanted)) refuse(quote(name) + " names no trial");
    const code = labels.indexOf(wanted);
    const sources = this.table.column(RESULTS).values;
    const found = this.table.column(TRIAL).values.findIndex((one, row) =>
      one === Number(number) && sources[row] === code
    );
    if (found < 0) refuse("there is no trial " + number + " in results " + wanted);
    return wanted + ":" + Number(number);
  }

  /** @param {Column} column @param {string} value */
  readFilter(column, value) {
    const numeric = column.kind === "number" || column.kind === "time";
    if (numeric && value.includes(RANGE_MARK)) {
      this.where[column.name] = this.readRange(column, value);
      return;
    }
    const except = value.startsWith("!");
    const rest = except ? value.slice(1) : value;
    const levels = rest ? rest.split(",").map((part) => this.readLevel(column, part)) : [];
    this.where[column.name] = { levels: [...new Set(levels)], except };
  }

  /** @param {Column} column @param {string} value */
  readRange(column, value) {
    const at = value.indexOf(RANGE_MARK);
    const isTime = column.kind === "time";
    const ends = [value.slice(0, at), value.slice(at + RANGE_MARK.length)].map(function (text) {
      if (!text) return null;
      const end = isTime ? parseInstant(text) : parseNumber(text);
      const expected = isTime ? "a time such as 2026-11-21T05:03:05Z" : "a number";
      if (end === null) refuse("where." + column.name + ": " + quote(text) + " is not " + expected);
      return end;
    });
    const [low, high] = ends;
    if (low !== null && high !== null && low > high) {
      refuse("where." + column.name + ": " + quote(value) + " ends below its start");
    }
    return { low, high };
  }

  /** @param {Column} column @param {string} part */
  readLevel(column, part) {
    if (part === MISSING) return null;
    const text = part === EMPTY ? "" : decode(part);
    const numeric = column.kind === "number" || column.kind === "time";
    const known = column.kind === "flags" ? this.table.flags : encodeColumn(column).levels;
    const level = numeric ? parseNumber(text) : text;
    if (level === null || !known.includes(level)) {
      refuse("'" + column.name + "' has no level " + quote(text) + suggest(text, known.map(showLevel)));
    }
    return level;
  }
}
