// The results that a server offers, newest first: one is opened by its link, several by their boxes.
import { fill, getPart, make, makeLabel } from "./dom.js";

/** While a run goes on, the list is read again after this. */
const REREAD_MS = 5000;
/** @type {Record<string, string>} */
const STATES = {
  complete: "complete",
  running: "running",
  stopped: "stopped early",
  locked: "locked",
  damaged: "damaged",
  older: "older format",
  newer: "newer format",
  foreign: "not PathLab's",
  unreadable: "cannot be read",
};
const READABLE = ["complete", "running", "stopped"];
const UNITS = ["B", "kB", "MB", "GB", "TB"];
/** @type {Set<string>} */
const chosen = new Set();
/** @type {Element} */
let root;
/** @type {HTMLElement | null} */
let list = null;
let words = "";
/** @type {Catalogue} */
let found = { entries: [], openMax: 0, folder: null };

/**
 * Opens results on the same axes; the first is A.
 * @param {string[]} ids
 */
const makeAddress = (ids) => "./?" + new URLSearchParams({ open: ids.join(",") });

/** @param {number} bytes */
function formatSize(bytes) {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return Number((bytes / 1000 ** power).toPrecision(3)) + " " + UNITS[power];
}

/** @param {string | null} utc */
const formatTime = (utc) => utc ? utc.slice(0, 16).replace("T", " ") : "";

/** @param {CatalogueEntry} entry */
function matches(entry) {
  const text = [entry.title, entry.name, entry.path, entry.createdUtc, STATES[entry.state]].join(" ")
    .toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** @param {string} id @param {boolean} isChosen */
function choose(id, isChosen) {
  if (isChosen) chosen.add(id);
  else chosen.delete(id);
  showChosen();
}

/** @param {CatalogueEntry} entry */
function makeRow(entry) {
  const title = entry.title || entry.name || entry.path;
  const canOpen = READABLE.includes(entry.state);
  /** @type {HTMLInputElement} */
  const box = make("input", {
    type: "checkbox",
    checked: chosen.has(entry.id),
    "aria-label": "Choose " + title + ", " + entry.path,
    on: { change: () => choose(entry.id, box.checked) },
  });
  const failed = entry.failed ? ", " + entry.failed + " failed" : "";
  return make(
    "tr",
    { data: { state: entry.state } },
    make("td", {}, canOpen ? box : null),
    make(
      "th",
      { scope: "row" },
      canOpen ? make("a", { href: makeAddress([entry.id]) }, title) : make("span", {}, title),
      make("div", { class: "soft" }, entry.path),
      entry.problem ? make("div", { class: "problem" }, entry.problem) : null,
    ),
    make("td", {}, STATES[entry.state] || entry.state),
    make("td", { class: "number" }, canOpen ? entry.complete + " of " + entry.planned + failed : ""),
    make("td", {}, formatTime(entry.createdUtc || entry.changedUtc)),
    make("td", { class: "number" }, formatSize(entry.sizeBytes)),
  );
}

function showList() {
  if (!list) return;
  const entries = found.entries.filter(matches);
  const focused = document.activeElement && document.activeElement.getAttribute("aria-label");
  fill(list, entries.map(makeRow));
  if (focused) {
    const again = Array.from(list.querySelectorAll("input")).find((box) =>
      box.getAttribute("aria-label") === focused
    );
    if (again) again.focus();
  }
  const count = entries.length === found.entries.length
    ? String(entries.length)
    : entries.length + " of " + found.entries.length;
  getPart(root, "[data-count]").textContent = found.entries.length
    ? count + " results, newest first" + (found.folder ? ", below " + found.folder : "")
    : "No results yet" + (found.folder ? " below " + found.folder : "") + ". 'pathlab run' writes them.";
}

function showChosen() {
  const button = /** @type {HTMLButtonElement} */ (getPart(root, "[data-open]"));
  const tooMany = chosen.size > found.openMax;
  button.disabled = !chosen.size || tooMany;
  button.textContent = chosen.size > 1
    ? "Open " + chosen.size + " on the same axes"
    : "Open the chosen results";
  getPart(root, "[data-limit]").textContent = tooMany
    ? "At most " + found.openMax + " fit on the same axes."
    : "";
}

function open() {
  const ids = found.entries.map((entry) => entry.id).filter((id) => chosen.has(id)).reverse(); // the oldest is A
  window.location.assign(makeAddress(ids));
}

function mount() {
  const search = make("input", {
    type: "search",
    placeholder: "words of a title, folder or state",
    on: {
      input: () => {
        words = search.value;
        showList();
      },
    },
  });
  /** @param {Child} text @param {Attributes} [attributes] */
  const column = (text, attributes) => make("th", { scope: "col", ...attributes }, text);
  list = make("tbody");
  fill(
    root,
    make("h1", {}, "Results"),
    make(
      "div",
      { class: "row" },
      makeLabel("Find", search),
      make(
        "button",
        { type: "button", disabled: true, data: { open: "" }, on: { click: open } },
        "Open the chosen results",
      ),
      make("span", { class: "soft", role: "status", data: { limit: "" } }),
    ),
    make("p", { class: "soft", role: "status", data: { count: "" } }),
    make(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Results" },
      make(
        "table",
        {},
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            column(make("span", { class: "unseen" }, "Choose")),
            column("Results"),
            column("State"),
            column("Trials", { class: "number" }),
            column("Started (UTC)"),
            column("Size", { class: "number" }),
          ),
        ),
        list,
      ),
    ),
  );
}

async function read() {
  try {
    const answer = await fetch("api/catalogue", { cache: "no-store" });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    found = await answer.json();
  } catch (error) {
    if (list) return; // it is shown as it was last
    fill(
      getPart(root, "[data-waiting]"),
      "The list could not be read: " + /** @type {Error} */ (error).message,
    );
    return;
  }
  if (!list) mount();
  const known = new Set(found.entries.map((entry) => entry.id));
  for (const id of chosen) if (!known.has(id)) chosen.delete(id);
  showList();
  showChosen();
}

/** Reads the list again while the page is seen: a run goes on, or another one begins. */
async function keepReading() {
  if (!document.hidden) await read();
  window.setTimeout(keepReading, REREAD_MS);
}

function start() {
  root = getPart(document, "[data-catalogue]");
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) read();
  });
  keepReading();
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
