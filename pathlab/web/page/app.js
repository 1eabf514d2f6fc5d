// The page's state: what is shown is the view, and the view is the fragment of the address. Panels show
// parts of the page; each is told when the view or the data changed, once per frame of the screen.
import { buildExploration } from "../core/curves.js";
import { escapeControls } from "../core/escapes.js";
import { getPart } from "./dom.js";
import { selectRows } from "../core/filter.js";
import { openSource } from "./source.js";
import { formatView, parseView } from "../core/view.js";

const NARROW = "(max-width: 60rem)";
// Changes of these show a trial; they leave rows and curves as they are.
const BESIDE = ["trial", "series"];
/** @type {Map<string, Set<(...facts: any[]) => void>>} */
const listeners = new Map();
/** @type {Map<string, Notice>} */
const notices = new Map();
let frame = 0;
let late = 0;
/** @type {string | null} */
let computed = null;
/** @type {string | null} */
let shown = null;

/** @type {readonly Panel[]} */
let panels = [];

// The rest is there before a panel is mounted.
export const app = /** @type {App} */ (/** @type {Partial<App>} */ ({
  text: "",
  exploration: null,
  overlays: [],
  notices,
  setView,
  setOverlays,
  grow,
  replace,
  redraw,
  on,
  emit,
  announce,
  notice,
  withdraw,
  focusFigure,
}));

/**
 * Changes the view; the address and the panels follow.
 * @param {ViewChange} change keys of the view and their new values. `where` changes the filters of the columns
 *   that it names (null lifts one); `where: null` lifts all of them.
 * @param {{replace: boolean}} [how] replace: without an entry in the browser's history
 */
function setView(change, how) {
  const { where, ...others } = change;
  const next = { ...app.view, ...others };
  if (where !== undefined) next.where = mergeFilters(app.view.where, where);
  const text = formatView(next);
  if (text === app.text) return;
  adopt(next, text);
  const address = text ? "#" + text : window.location.pathname + window.location.search;
  window.history[how && how.replace ? "replaceState" : "pushState"](null, "", address);
  withdraw("link");
  emit("view", app.view);
  schedule();
}

/**
 * @param {View["where"]} before
 * @param {Record<string, Filter | null> | null} change
 */
function mergeFilters(before, change) {
  /** @type {View["where"]} */
  const merged = {};
  for (const [name, filter] of Object.entries(change === null ? {} : { ...before, ...change })) {
    if (filter !== null) merged[name] = filter;
  }
  return merged;
}

/** @param {View} view @param {string} text */
function adopt(view, text) {
  app.view = view;
  app.text = text;
}

// The view that the address holds. Mistakes in it are said; the rest of it counts.
function readAddress() {
  const { view, mistakes } = parseView(window.location.hash.slice(1), app.table);
  const text = formatView(view);
  withdraw("link");
  if (mistakes.length) {
    notice("Part of this link is not understood: " + mistakes.join("; ") + ".", { key: "link" });
  }
  if (text === app.text) return;
  adopt(view, text);
  emit("view", app.view);
  schedule();
}

/**
 * Lays curves of published tables over the figure; `facts` of a point are lines of text.
 * @param {Overlay[]} overlays
 */
function setOverlays(overlays) {
  app.overlays = overlays;
  schedule();
}

/**
 * Adds trials to the table, as `table.append` takes them, and shows them.
 * @param {LiveRow[]} rows
 */
function grow(rows) {
  app.table.append(rows);
  redraw();
}

/** Computes and draws anew although the view is the same: the data changed. */
function redraw() {
  computed = null;
  emit("data", app.table);
  schedule();
}

/**
 * Shows other results in the place of those before: `source` as source.open() gave it.
 * @param {Source} source
 */
function replace(source) {
  app.source = source;
  app.table = source.table;
  app.text = ""; // of no view, so that the view is read anew
  readAddress();
  redraw();
}

// The next frame is a part of its time away, in which the view is computed already.
function schedule() {
  if (!frame) frame = window.requestAnimationFrame(draw);
  if (!document.hidden) window.queueMicrotask(compute);
}

function draw() {
  frame = 0;
  window.clearTimeout(late);
  compute();
  update(true);
  emit("drawn", app.exploration);
  late = window.setTimeout(() => {
    update(false);
    emit("settled", app.exploration);
  }, 0);
}

function compute() {
  const key = formatView({
    ...app.view,
    ...Object.fromEntries(BESIDE.map((name) => [name, null])),
  });
  if (computed === key) return;
  computed = key;
  withdraw("compute");
  try {
    app.rows = selectRows(app.table, app.view);
    app.exploration = buildExploration(app.table, app.view, app.rows);
  } catch (error) {
    app.exploration = null;
    notice("The figure could not be computed: " + /** @type {Error} */ (error).message, { key: "compute" });
    console.error(error);
  }
  const title = app.exploration && app.exploration.title;
  if (title && title !== shown) {
    document.title = escapeControls(title) + " · PathLab explorer";
    shown = title;
  }
}

/** @param {boolean} early */
function update(early) {
  for (const panel of panels) {
    if (Boolean(panel.early) === early) guard(panel, () => panel.update && panel.update(app));
  }
}

// A panel that fails takes no other with it.
/** @param {Panel} panel @param {() => void} act */
function guard(panel, act) {
  try {
    act();
    withdraw("panel " + panel.name);
  } catch (error) {
    notice("The part '" + panel.name + "' of this page failed: " + /** @type {Error} */ (error).message, {
      key: "panel " + panel.name,
    });
    console.error(error);
  }
}

/**
 * Calls `listener` at each event: view, data, drawn, settled, notices and what panels emit.
 * @param {string} name
 * @param {(...facts: any[]) => void} listener the facts of each event: AppEvents
 */
function on(name, listener) {
  if (!listeners.has(name)) listeners.set(name, new Set());
  listeners.get(name)?.add(listener);
  return () => void listeners.get(name)?.delete(listener);
}

/** @param {string} name @param {...unknown} facts */
function emit(name, ...facts) {
  for (const listener of listeners.get(name) || []) {
    try {
      listener(...facts);
    } catch (error) {
      console.error(error);
    }
  }
}

/**
 * Says a text to screen readers.
 * @param {string} text
 */
function announce(text) {
  const announcer = getPart(document, "[data-announcer]");
  const said = escapeControls(text);
  announcer.textContent = announcer.textContent === said ? said + "\u00a0" : said;
}

/**
 * Shows a notice above the figure until it is withdrawn or dismissed.
 * @param {string} text one or two sentences: what is wrong, and the next step
 * @param {{key?: string, kind?: string}} [about] a notice replaces the earlier one of its key; kind: "warning"
 *   (default) or "info"
 */
function notice(text, about) {
  const { key = text, kind = "warning" } = about || {};
  const before = notices.get(key);
  if (before && before.text === text && before.kind === kind) return;
  notices.set(key, { text, kind });
  emit("notices", notices);
}

/**
 * Takes a notice back.
 * @param {string} key
 */
function withdraw(key) {
  if (notices.delete(key)) emit("notices", notices);
}

/** Moves the keyboard's focus to the figure. */
function focusFigure() {
  const figure = document.querySelector("[data-panel=figure] [tabindex]");
  if (figure instanceof HTMLElement) figure.focus();
}

function fold() {
  if (!window.matchMedia(NARROW).matches) return;
  document.querySelectorAll("aside.choices > details[open]").forEach((one) => one.removeAttribute("open"));
}

async function start() {
  fold();
  getPart(document, "[data-skip=figure]").addEventListener("click", (event) => {
    event.preventDefault(); // the fragment of the address is the view
    focusFigure();
  });
  try {
    app.source = await openSource();
    app.table = app.source.table;
  } catch (error) {
    const waiting = getPart(document, "[data-waiting]");
    waiting.textContent = "The results could not be read: " + /** @type {Error} */ (error).message;
    waiting.setAttribute("role", "alert");
    console.error(error);
    return;
  }
  document.documentElement.dataset.mode = app.source.mode;
  getPart(document, "[data-waiting]").remove();
  readAddress();
  for (const panel of panels) {
    const root = getPart(document, "[data-panel='" + panel.name + "']");
    guard(panel, () => panel.mount && panel.mount(root, app));
  }
  // both: the browser's buttons, and an address that was typed
  window.addEventListener("popstate", readAddress);
  window.addEventListener("hashchange", readAddress);
  emit("ready", app);
}

/**
 * Reads the results and mounts the panels in their order, as soon as the page is there.
 * @param {readonly Panel[]} given
 */
export function startApp(given) {
  panels = given;
  if (document.readyState === "loading") {
    document.addEventListener("DOMContentLoaded", start);
  } else {
    start();
  }
}
