// Filters: for each column its levels with the trials that each would show, ranges of numbers and times, text.
// A section is filled when it is open; of many levels the first are listed, and a search finds the others.
import { FLAGS, PATH, RESULTS, START, STATUS } from "../core/constants.js";
import { formatUtc } from "./axes.js";
import { countLevels, listLevels, listOptions, nameColumn } from "../core/column_choice.js";
import { fill, findFocused, getPart, make, makeLabel, makeSelect } from "./dom.js";
import { countByLevel, encodeColumn, hasLevels } from "../core/filter.js";
import { describeFilter, describeLevel } from "./filter_text.js";

const LISTED = 40;
const SEARCHED_FROM = 12;
const LEVELLED_MOST = 200;
const FOUND_MOST = 500; // levels that a link names
const TYPING_MS = 150;
const ALWAYS = [RESULTS, STATUS, FLAGS, START];
/** @typedef {{value: Level | null, place: number}} FoundLevel a level and its place among those of its column */
/**
 * @typedef {Object} Section the part of a column, filled when it is open: with levels, or with the ends of a range
 * @property {Column} column
 * @property {HTMLElement} state
 * @property {HTMLElement} body
 * @property {HTMLDetailsElement} fold
 * @property {string} search
 * @property {number} listed
 * @property {string} [shape] what the list was filled of
 * @property {number} [total]
 * @property {FoundLevel[]} found
 * @property {(FoundLevel & {box: HTMLInputElement, number: HTMLElement, item: HTMLElement})[]} shown
 * @property {HTMLElement} list
 * @property {HTMLElement} more
 * @property {HTMLInputElement} [low]
 * @property {HTMLInputElement} [high]
 */
/**
 * @typedef {Object} Parts
 * @property {HTMLInputElement} text
 * @property {HTMLElement} chips
 * @property {HTMLElement} list
 * @property {HTMLElement} more
 * @property {string} [names] of the columns that have a section
 */
/** @type {Map<string, Section>} */
const sections = new Map();
/** @type {Set<string>} */
const added = new Set();
/** @type {HTMLElement} */
let root;
let parts = /** @type {Parts} */ ({});
/** @type {App} */
let app;
let typing = 0;

// Columns that have a section: settings that vary, states of trials, and what a filter or a reader chose.
function listColumns() {
  const { table, view } = app;
  /** @param {Column} column */
  const varies = (column) => countLevels(table, column) > 1;
  return table.columns.filter((column) =>
    added.has(column.name) || (view.where && view.where[column.name]) || ((column.role === "factor" ||
      ALWAYS.includes(column.name) || (column.role === "condition" && isLevelled(column)) ||
      column.name === PATH) && varies(column))
  );
}

/** @param {Column} column */
const isLevelled = (column) =>
  hasLevels(column) &&
  (column.kind !== "number" || countLevels(app.table, column) <= LEVELLED_MOST);

// --- selection of levels

/** @param {Column} column */
const filterOf = (column) => (app.view.where && app.view.where[column.name]) || null;

/** @param {Filter | null} filter @param {Level | null} value */
function isChosen(filter, value) {
  if (!filter || !filter.levels) return true;
  return filter.levels.includes(value) !== Boolean(filter.except);
}

/** @param {Column} column @param {Filter | null} filter */
function set(column, filter) {
  app.setView({ where: { [column.name]: filter } });
}

// A filter names the levels that it shows or those that it hides, whichever it began with.
/** @param {Column} column @param {Level | null} value */
function toggle(column, value) {
  const filter = filterOf(column);
  if (!filter || !filter.levels) {
    set(column, { levels: [value], except: true });
    return;
  }
  const named = filter.levels.includes(value)
    ? filter.levels.filter((one) => one !== value)
    : [...filter.levels, value];
  const every = named.length === countAll(column);
  if (named.length === 0) {
    set(column, filter.except ? null : { levels: [], except: false });
    return;
  }
  set(
    column,
    every ? (filter.except ? { levels: [], except: false } : null) : { levels: named, except: filter.except },
  );
}

/** @param {Column} column */
const countAll = (column) => countLevels(app.table, column) + (hasMissing(column) ? 1 : 0);

// --- counts

/** @param {Column} column */
function hasMissing(column) {
  if (column.kind === "flags") return true;
  const { codes } = encodeColumn(column);
  return codes.includes(-1);
}

// The levels whose text holds a word, each with its place; the missing level is the last.
/** @param {Column} column @param {string} wanted */
function findLevels(column, wanted) {
  const levels = listLevels(app.table, column);
  /** @type {FoundLevel[]} */
  const found = [];
  /** @param {Level | null} value @param {number} place */
  const add = (value, place) => {
    if (!wanted || describeLevel(column, value).toLowerCase().includes(wanted)) {
      found.push({ value, place });
    }
  };
  levels.forEach(add);
  if (hasMissing(column)) add(null, levels.length);
  return found;
}

// --- sections

/** @param {Column} column */
function makeSection(column) {
  const state = make("span", { class: "soft" });
  const body = make("div", { class: "filter-body" });
  const fold = make(
    "details",
    { class: "filter", data: { column: column.name } },
    make(
      "summary",
      { title: column.meaning || null },
      make("span", {}, nameColumn(column)),
      " ",
      state,
    ),
    body,
  );
  /** @type {Section} */
  const section = {
    column,
    state,
    body,
    fold,
    search: "",
    listed: LISTED,
    found: [],
    shown: [],
    list: make("ul", { class: "levels" }),
    more: make("p", { class: "soft" }),
  };
  fold.addEventListener("toggle", () => {
    if (fold.open) fillSection(section);
  });
  fold.open = Boolean(filterOf(column)) ||
    (column.role === "factor" && countLevels(app.table, column) <= SEARCHED_FROM &&
      app.table.count < 20000 && sections.size < 3);
  return section;
}

/** @param {Section} section */
function describeState(section) {
  const filter = filterOf(section.column);
  section.fold.classList.toggle("active", Boolean(filter));
  section.state.textContent = filter
    ? describeFilter(section.column, filter).slice(section.column.label.length + 1)
    : "";
}

/** @param {Section} section */
function fillSection(section) {
  if (isLevelled(section.column)) fillLevels(section);
  else fillRange(section);
}

/** @param {Section} section */
function fillLevels(section) {
  const { column } = section;
  const total = countAll(column);
  const shape = [total, section.search, section.listed].join(" ");
  if (section.shape !== shape) {
    section.shape = shape;
    const found = findLevels(column, section.search.toLowerCase());
    section.found = found;
    section.shown = found.slice(0, section.listed).map((level) => makeLevel(column, level));
    if (section.total !== total) {
      section.total = total;
      fill(section.body, makeTools(section, total), section.list, section.more);
    }
    fill(section.list, section.shown.map((one) => one.item));
    const left = found.length - section.shown.length;
    fill(
      section.more,
      left
        ? [
          left.toLocaleString("en") + " more. ",
          make("button", {
            type: "button",
            class: "plain",
            on: {
              click: () => {
                section.listed += 4 * LISTED;
                fillSection(section);
              },
            },
          }, "Show more"),
        ]
        : found.length
        ? null
        : "No level has this in its name.",
    );
  }
  const counts = countByLevel(app.table, app.view, [column.name]).get(column.name) || [];
  const filter = filterOf(column);
  for (const { value, place, box, number } of section.shown) {
    box.checked = isChosen(filter, value);
    number.textContent = counts[place].toLocaleString("en");
    number.parentElement?.classList.toggle("empty", !counts[place]);
  }
}

/** @param {Column} column @param {{value: Level | null, place: number}} parts */
function makeLevel(column, { value, place }) {
  const text = describeLevel(column, value);
  const box = make("input", { type: "checkbox", on: { change: () => toggle(column, value) } });
  const number = make("span", { class: "count" });
  const item = make(
    "li",
    {},
    make("label", {}, box, make("span", { class: "level" }, text), number),
    make("button", {
      type: "button",
      class: "plain only",
      "aria-label": "Only " + text,
      on: { click: () => set(column, { levels: [value], except: false }) },
    }, "only"),
  );
  return { value, place, box, number, item };
}

/** @param {Section} section @param {number} total */
function makeTools(section, total) {
  const { column } = section;
  /** @param {string} text @param {() => Filter | null} filter */
  const act = (text, filter) =>
    make("button", {
      type: "button",
      class: "plain",
      "aria-label": text + ": " + column.label,
      on: { click: () => set(column, filter()) },
    }, text);
  const tools = make(
    "div",
    { class: "tools" },
    act("All", () => null),
    act("None", () => ({ levels: [], except: false })),
  );
  if (total <= SEARCHED_FROM) return tools;
  const found = act("Found", () => ({ levels: section.found.map(({ value }) => value), except: false }));
  const search = make("input", {
    type: "search",
    placeholder: "Search " + total.toLocaleString("en") + " levels",
    "aria-label": "Search the levels of " + column.label,
    value: section.search,
  });
  search.addEventListener("input", () => {
    section.search = search.value;
    section.listed = LISTED;
    fillSection(section);
    found.disabled = section.found.length > FOUND_MOST;
  });
  found.disabled = section.found.length > FOUND_MOST;
  tools.prepend(search);
  tools.append(found);
  return tools;
}

/** @param {Section} section */
function fillRange(section) {
  const { column } = section;
  const filter = filterOf(column);
  if (!section.low) {
    const isTime = column.kind === "time";
    const [least, most] = spanOf(column);
    /** @param {string} text @param {number | null} end */
    const input = (text, end) =>
      make("input", {
        type: "text",
        autocomplete: "off",
        spellcheck: "false",
        inputmode: isTime ? "text" : "decimal",
        "aria-label": column.label + " " + text,
        placeholder: end === null ? "" : describeLevel({ ...column, unit: null }, end).replace(" UTC", ""),
        on: { change: () => readRange(section) },
      });
    section.low = input("from", least);
    section.high = input("to", most);
    fill(
      section.body,
      make("div", { class: "row" }, makeLabel("from", section.low), makeLabel("to", section.high)),
      isTime ? make("p", { class: "soft" }, "In UTC, as 2026-11-21 05:03.") : null,
    );
  }
  /** @param {number | null | undefined} value */
  const write = (value) =>
    value === null || value === undefined ? "" : column.kind === "time" ? formatUtc(value) : String(value);
  for (const end of /** @type {const} */ (["low", "high"])) {
    const control = section[end];
    if (control && (control !== document.activeElement || !control.value)) {
      control.value = write(filter?.[end]);
    }
  }
}

/** @param {Column} column */
function spanOf(column) {
  let [least, most] = [Infinity, -Infinity];
  for (let row = 0; row < app.table.count; row += 1) {
    const value = column.values[row];
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return least <= most ? [least, most] : [null, null];
}

/** @param {Section} section */
function readRange(section) {
  const { column } = section;
  /** @param {HTMLInputElement | undefined} control */
  const read = (control) => {
    const typed = control ? control.value.trim() : "";
    const value = typed === "" ? null : column.kind === "time"
      ? Date.parse(
        /(Z|[+-]\d\d:\d\d)$/.test(typed) ? typed : typed.replace(" ", "T") + (typed.length > 10 ? "Z" : ""),
      ) / 1000
      : Number(typed.replace(",", "."));
    control?.setAttribute("aria-invalid", String(typed !== "" && !Number.isFinite(value)));
    return value;
  };
  const [low, high] = [read(section.low), read(section.high)];
  const wrong = [low, high].some((value) => value !== null && !Number.isFinite(value));
  const key = "range " + column.name;
  if (wrong) {
    app.notice(
      "The range of " + column.label + " is not understood: write " +
        (column.kind === "time" ? "a time in UTC as 2026-11-21 05:03." : "a number as 12.5."),
      { key },
    );
    return;
  }
  app.withdraw(key);
  set(column, low === null && high === null ? null : { low, high });
}

// --- the panel

/** @param {HTMLElement} element @param {App} shared */
function mount(element, shared) {
  [root, app] = [element, shared];
  const text = make("input", {
    type: "search",
    autocomplete: "off",
    placeholder: "words in any text of a trial",
  });
  text.addEventListener("input", () => {
    window.clearTimeout(typing);
    typing = window.setTimeout(
      () => app.setView({ text: text.value.trim() }, { replace: true }),
      TYPING_MS,
    );
  });
  parts = {
    text,
    chips: make("ul", { class: "chips", "aria-label": "Filters in use" }),
    list: make("div"),
    more: make("div"),
  };
  fill(root, parts.chips, makeLabel("Text", text), parts.list, parts.more);
}

// The section of a column, made when it is first listed.
/** @param {Column} column */
function getSection(column) {
  const section = sections.get(column.name) || makeSection(column);
  sections.set(column.name, section);
  return section;
}

function update() {
  const columns = listColumns();
  const names = columns.map((column) => column.name).join("\n");
  if (parts.names !== names) {
    parts.names = names;
    const place = findFocused(document.body);
    fill(parts.list, columns.map((column) => getSection(column).fold));
    if (place && place.isConnected && place !== document.activeElement) place.focus();
    offerMore(columns);
  }
  for (const column of columns) {
    const section = getSection(column);
    describeState(section);
    if (section.fold.open) fillSection(section);
  }
  showChips();
  if (parts.text !== document.activeElement) parts.text.value = app.view.text || "";
}

/** @param {Column[]} columns */
function offerMore(columns) {
  const taken = new Set(columns.map((column) => column.name));
  const options = listOptions(app.table, {
    suits: (column) => !taken.has(column.name),
    none: "choose a column …",
  });
  if (options.length < 2) {
    fill(parts.more);
    return;
  }
  fill(
    parts.more,
    makeLabel(
      "Filter by another column",
      makeSelect(options, "", (name) => {
        if (!name) return;
        added.add(name);
        update();
        const fold = sections.get(name)?.fold;
        if (!fold) return;
        fold.open = true;
        getPart(fold, "summary").focus();
      }),
    ),
  );
}

function showChips() {
  const where = app.view.where || {};
  /** @type {{text: string, change: ViewChange}[]} */
  const active = Object.keys(where).map((name) => ({
    text: describeFilter(app.table.column(name) || { label: name }, where[name]),
    change: { where: { [name]: null } },
  }));
  if (app.view.text) active.push({ text: "text “" + app.view.text + "”", change: { text: "" } });
  fill(
    parts.chips,
    active.map(({ text, change }) =>
      make(
        "li",
        {},
        make(
          "button",
          {
            type: "button",
            class: "chip",
            "aria-label": "Remove the filter: " + text,
            on: { click: () => app.setView(change) },
          },
          text,
          make("span", { "aria-hidden": "true" }, " ×"),
        ),
      )
    ),
    active.length > 1
      ? make(
        "li",
        {},
        make("button", {
          type: "button",
          class: "plain",
          on: { click: () => app.setView({ where: null, text: "" }) },
        }, "Remove all"),
      )
      : null,
  );
  const summary = getPart(document, "[data-filters]");
  summary.textContent = active.length ? active.length + " in use" : "";
}

/** @type {Panel} */
export const panel = { name: "filters", mount, update };
