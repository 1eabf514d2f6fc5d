// Reads the packed table of trials, as pathlab.report.explorer.packing writes it.
import { PACKED_VERSION } from "./constants.js";

const ARRAYS = { f64: Float64Array, f32: Float32Array, u8: Uint8Array, u16: Uint16Array, u32: Uint32Array };
// One more digit than is kept: the last one of a rounded number is not exact.
const DIGITS = 5;
// Powers of ten up to this one are exact.
const POWER_MAX = 22;
const NUMERIC = new Set(["number", "time"]);

// The buffers with room for more values than are seen of them.
const roomy = new WeakSet();

// The bytes of an array, those of each value together again.
/** @param {Uint8Array<ArrayBuffer>} body @param {PackedArray} described */
function collect(body, described) {
  const Kind = ARRAYS[described.type];
  if (!Kind) throw new Error("the table has an array of unknown type " + described.type);
  const width = Kind.BYTES_PER_ELEMENT;
  const start = body.byteOffset + described.offset;
  if (described.offset + described.count * width > body.byteLength) {
    throw new Error("the table of trials is cut short");
  }
  if (!described.shuffled || width === 1) return new Kind(body.buffer, start, described.count);
  const from = new Uint8Array(body.buffer, start, described.count * width);
  const bytes = new Uint8Array(from.length);
  for (let place = 0; place < width; place += 1) {
    for (let at = 0, index = place * described.count; at < described.count; at += 1, index += 1) {
      bytes[at * width + place] = from[index];
    }
  }
  return new Kind(bytes.buffer);
}

/**
 * @param {Uint8Array<ArrayBuffer>} body
 * @param {PackedArray} described
 * @returns {Float64Array}
 */
function readNumbers(body, described) {
  const stored = collect(body, described);
  if (stored instanceof Float64Array) return stored;
  const { missing, base = 0, scale = 1 } = described;
  if (described.type === "f32") return Float64Array.from(stored, shorten);
  return Float64Array.from(stored, (one) => one === missing ? NaN : base + scale * one);
}

// A rounded number has no more digits than were kept.
/** @param {number} value */
function shorten(value) {
  if (value === 0 || !Number.isFinite(value)) return value;
  const places = DIGITS - 1 - Math.floor(Math.log10(Math.abs(value)));
  if (Math.abs(places) > POWER_MAX) return Number(value.toPrecision(DIGITS));
  const unit = 10 ** Math.abs(places);
  return places > 0 ? Math.round(value * unit) / unit : Math.round(value / unit) * unit;
}

/**
 * @template {Int32Array | Int16Array} Codes
 * @param {Uint8Array<ArrayBuffer>} body
 * @param {PackedArray} described
 * @param {new (codes: ReturnType<typeof collect>) => Codes} Kind
 */
function readCodes(body, described, Kind) {
  const codes = new Kind(collect(body, described));
  if (described.missing === undefined || described.missing < 0) return codes;
  for (let row = 0; row < codes.length; row += 1) {
    if (codes[row] === described.missing) codes[row] = -1;
  }
  return codes;
}

/**
 * @param {ArrayBuffer} buffer
 * @returns {Table}
 */
export function readTable(buffer) {
  if (buffer.byteLength < 4) throw new Error("the table of trials is cut short");
  const length = new DataView(buffer).getUint32(0, true);
  if (4 + length > buffer.byteLength) throw new Error("the table of trials is cut short");
  /** @type {TableHeader} */
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  if (header.version !== PACKED_VERSION) {
    throw new Error(
      "the table of trials has format " + header.version + ", this page reads " + PACKED_VERSION,
    );
  }
  const body = new Uint8Array(buffer, 4 + length);
  const columns = header.columns.map(({ array, ...described }) =>
    Object.assign(
      new LazyColumn(
        array &&
          (() => NUMERIC.has(described.kind) ? readNumbers(body, array) : readCodes(body, array, Int32Array)),
      ),
      described,
    )
  );
  const table = new TrialTable(header, columns, {
    low: Uint32Array.from(collect(body, header.flagBits.low)),
    high: Uint32Array.from(collect(body, header.flagBits.high)),
    codes: readCodes(body, header.reasonCodes, Int16Array),
  });
  return /** @type {Table} */ (table); // with the columns that every table has
}

// A column reads its values when somebody asks for them: a view needs few of many columns.
class LazyColumn {
  #read;
  /** @type {Numbers | null | undefined} */
  #values;

  /** @param {(() => Numbers) | null} read null: flags, which have no array */
  constructor(read) {
    this.#read = read;
  }

  get values() {
    if (this.#values === undefined) this.#values = this.#read ? this.#read() : null;
    return /** @type {Numbers} */ (this.#values);
  }

  set values(values) {
    this.#values = values;
  }
}

/**
 * The trials, column by column.
 *
 * `count`, `sources`, `columns`; `flags` (names; a bit of flagBits.low and flagBits.high each); `counted`
 * (1: the trial enters estimates), else `reasons[reasonCodes[row]]` says why not; `header` as it was sent.
 */
class TrialTable {
  /**
   * @param {TableHeader} header
   * @param {Column[]} columns
   * @param {FlagBits & {codes: Int16Array}} bits
   */
  constructor(header, columns, { low, high, codes }) {
    this.count = header.trials;
    this.header = header;
    this.sources = header.sources;
    this.columns = columns;
    this.flags = header.flags;
    this.reasons = header.reasons;
    this.flagBits = { low, high };
    this.reasonCodes = codes;
    this.counted = new Uint8Array(codes.length);
    for (let row = 0; row < codes.length; row += 1) this.counted[row] = codes[row] < 0 ? 1 : 0;
    this.byName = new Map(columns.map((column) => [column.name, column]));
  }

  /**
   * @param {string | null} name
   * @returns {Column | null} the column of that name, or null
   */
  column(name) {
    return (name !== null && this.byName.get(name)) || null;
  }

  /**
   * Adds trials of a running campaign. A row has values by column name: a number, seconds of a time, a level
   * of a category; what is missing was not measured. Alongside them `flags` (names) and `reason` (why the trial
   * does not count; null: it counts).
   * @param {LiveRow[]} rows
   */
  append(rows) {
    const first = this.count;
    this.count += rows.length;
    for (const column of this.columns.filter((one) => one.values)) {
      const given = rows.map((row) => row[column.name]);
      if (NUMERIC.has(column.kind)) {
        column.values = extend(
          column.values,
          given.map((value) => typeof value === "number" ? value : NaN),
        );
      } else {
        const levels = addLevels(column, given);
        /** @type {Map<unknown, number>} */
        const codes = new Map(levels.map((level, code) => [level, code]));
        column.values = extend(
          column.values,
          given.map((level) => codes.get(level) ?? -1),
        );
      }
    }
    const bits = rows.map((row) => this.setFlags(row.flags || []));
    this.flagBits.low = extend(this.flagBits.low, bits.map(({ low }) => low));
    this.flagBits.high = extend(this.flagBits.high, bits.map(({ high }) => high));
    const codes = rows.map((row) => codeOf(this.reasons, row.reason));
    this.reasonCodes = extend(this.reasonCodes, codes);
    this.counted = extend(this.counted, codes.map((code) => code < 0 ? 1 : 0));
    return first;
  }

  /** @param {string[]} names */
  setFlags(names) {
    let [low, high] = [0, 0];
    for (const name of names) {
      const place = codeOf(this.flags, name);
      if (place < 32) low |= 1 << place;
      else high |= 1 << (place - 32);
    }
    return { low: low >>> 0, high: high >>> 0 };
  }
}

// The place of a name in a list, which it is added to; -1 for none.
/** @param {string[]} names @param {string | null | undefined} name */
function codeOf(names, name) {
  if (name === null || name === undefined) return -1;
  const found = names.indexOf(name);
  return found >= 0 ? found : names.push(name) - 1;
}

// Typed arrays cannot grow; theirs is a view of a buffer with room for as many again.
/**
 * @template {Numbers | Int16Array | Uint8Array | Uint32Array} List
 * @param {List} values
 * @param {number[]} more
 * @returns {List}
 */
function extend(values, more) {
  const size = values.length + more.length;
  const Kind = /** @type {ListKind<List>} */ (values.constructor);
  const spare = values.byteOffset === 0 && roomy.has(values.buffer)
    ? values.buffer.byteLength / Kind.BYTES_PER_ELEMENT
    : 0;
  let grown = values;
  if (spare >= size) {
    grown = new Kind(values.buffer, 0, size);
  } else {
    const larger = new Kind(size * 2);
    larger.set(values);
    roomy.add(larger.buffer);
    grown = new Kind(larger.buffer, 0, size);
  }
  grown.set(more, values.length);
  return grown;
}

// New levels get their place in the order, and the codes of all trials follow.
/** @param {Column} column @param {unknown[]} given */
function addLevels(column, given) {
  const before = column.levels || [];
  /** @type {Set<unknown>} */
  const known = new Set(before);
  const fresh = new Set(
    /** @type {Level[]} */ (given.filter((level) =>
      level !== null && level !== undefined && !known.has(level)
    )),
  );
  if (!fresh.size) return before;
  const levels = [...before, ...fresh].sort(compareLevels);
  const places = new Map(levels.map((level, code) => [level, code]));
  const moved = before.map((level) => places.get(level) ?? -1);
  column.levels = levels;
  column.values = column.values.map((code) => code < 0 ? -1 : moved[code]);
  return levels;
}

// Numbers ascending, then texts: digits by their value ("eth2" before "eth10"), the rest by characters.
/** @param {Level} left @param {Level} right */
function compareLevels(left, right) {
  if (typeof left !== "string" || typeof right !== "string") {
    if (typeof left !== typeof right && (typeof left === "string" || typeof right === "string")) {
      return typeof left === "string" ? 1 : -1;
    }
    return Number(left) - Number(right);
  }
  const [ones, others] = [left, right].map((text) => text.split(/([0-9]+)/));
  for (let at = 0; at < Math.min(ones.length, others.length); at += 1) {
    const order = at % 2 ? compareDigits(ones[at], others[at]) : compareTexts(ones[at], others[at]);
    if (order) return order;
  }
  return ones.length - others.length || compareTexts(left, right);
}

/** @param {string} left @param {string} right */
function compareDigits(left, right) {
  const [one, other] = [left, right].map((digits) => digits.replace(/^0+/, ""));
  return one.length - other.length || compareTexts(one, other);
}

/** @param {string} left @param {string} right */
function compareTexts(left, right) {
  return left < right ? -1 : left > right ? 1 : 0;
}
