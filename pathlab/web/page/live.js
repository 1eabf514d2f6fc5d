// The connection to what happens in the results: server-sent events, each stored one once and in order.
// It comes back by itself, asks for what it missed, and shows whether it is connected.
import { RESULTS, TRIAL } from "../core/constants.js";
import { mountControl } from "./control.js";
import { fill, make } from "./dom.js";
import { mountProgress } from "./progress.js";
import { isRunning, liveState, runs } from "./runs.js";
import { openSource } from "./source.js";

// The server says something every 10 s; a connection that is silent for longer is dead, such as after sleep.
const SILENT_MS = 25000;
const TICK_MS = 2000;
const WAITS_MS = [500, 1000, 2000, 4000, 8000, 15000];
// A page that nobody sees gives its connection back: a browser has six for each server.
const HIDDEN_MS = 60000;
// The figure follows at once, and then this often; where drawing takes long, less often.
const GROW_MS = 400;
const NAMES = [
  "run",
  "progress",
  "journal",
  "trial-ended",
  "preparing",
  "campaign-started",
  "search",
  "trial-started",
  "rate",
  "rtt",
  "retransmissions",
  "losses",
  "streams",
  "notice",
  "waiting",
  "paused",
  "continued",
  "campaign-ended",
  "skipped",
  "dropped",
  "gone",
  "heartbeat",
];
/** @type {Record<string, string>} */
const LINKS = {
  connecting: "connecting …",
  connected: "connected",
  reconnecting: "reconnecting …",
  asleep: "not connected while hidden",
  ended: "run ended",
  lost: "no connection",
  closed: "",
};

/** @type {App} */
let app;
/** @type {HTMLElement} */
let root;
/** @type {HTMLElement} */
let line;
/** @type {EventSource | null} */
let stream = null;
let position = "";
/** @type {Map<string, number>} */
let seen = new Map(); // by source: the number of its last trial
let heard = 0;
let ticked = 0;
let failures = 0;
let timer = 0;
let hiddenSince = 0;
/** @type {LiveRow[]} */
let pending = [];
let grown = 0;
let growing = 0;
let drawing = 0;
/** @type {Promise<void> | null} */
let renewing = null;

// --- the place in the results

// The number of the last trial of each of the results.
/** @param {Table} table */
function findLast(table) {
  const last = new Map(table.sources.map((source) => [source.label, 0]));
  const [results, trial] = [table.column(RESULTS), table.column(TRIAL)];
  for (let row = 0; row < table.count; row += 1) {
    const label = String(results.levels[results.values[row]]);
    const number = Number(trial.levels ? trial.levels[trial.values[row]] : trial.values[row]);
    if (number > (last.get(label) ?? Infinity)) last.set(label, number);
  }
  return last;
}

function address() {
  const opened = new URLSearchParams(window.location.search).get("open");
  const query = new URLSearchParams({ ...(opened ? { open: opened } : {}), after: position });
  return "events?" + query.toString();
}

// --- the connection

function connect() {
  disconnect();
  show(failures ? "reconnecting" : "connecting");
  heard = Date.now();
  const opened = new window.EventSource(address());
  stream = opened;
  opened.onopen = () => {
    failures = 0;
    heard = Date.now();
    show("connected");
  };
  opened.onerror = () => {
    if (stream === opened) retry();
  };
  for (const name of NAMES) {
    opened.addEventListener(name, (event) => {
      if (stream === opened) receive(name, event);
    });
  }
}

function disconnect() {
  window.clearTimeout(timer);
  timer = 0;
  if (stream) stream.close();
  stream = null;
}

// Later each time, and not all pages at once.
function retry() {
  disconnect();
  show("reconnecting");
  const wait = WAITS_MS[Math.min(failures, WAITS_MS.length - 1)];
  failures += 1;
  if (failures === 2) explain();
  timer = window.setTimeout(connect, wait * (0.75 + Math.random() / 2));
}

// An EventSource does not say why it failed.
async function explain() {
  let text =
    "The server does not answer. What is shown stays; the page connects again by itself. Is the program still running?";
  try {
    const answer = await fetch("api/catalogue", { cache: "no-store" });
    if (answer.status === 401) {
      text = "The server was restarted and does not know this page. Open the address that it printed.";
    } else if (answer.ok) {
      return;
    }
  } catch {
    // said already
  }
  if (liveState.link === "reconnecting") app.notice(text, { key: "connection" });
}

/** @param {string} name @param {MessageEvent} event */
function receive(name, event) {
  heard = Date.now();
  if (event.lastEventId) position = event.lastEventId;
  let told = null;
  try {
    told = JSON.parse(event.data);
  } catch (error) {
    console.error(error);
    return;
  }
  if (name === "run") {
    const before = runs.get(told.results);
    runs.set(told.results, { ...told, shown: Boolean(before && before.shown) });
    show("connected");
  } else if (name === "progress") {
    runs.set(told.results, { ...runs.get(told.results), ...told });
    show("connected");
  } else if (name === "trial-ended") {
    if (!takeTrial(told)) return;
  } else if (name === "gone") {
    disconnect();
    app.notice(
      told.text + ". What was read until then is shown; reload the page to see what is there now.",
      { key: "gone" },
    );
    show("lost");
  } else if (name === "dropped") {
    disconnect();
    connect();
  }
  app.emit("live", told);
}

// A trial counts once, however often connections were made.
/** @param {LiveEvent} told */
function takeTrial(told) {
  if (told.trial <= (seen.get(told.results) || 0)) return false;
  seen.set(told.results, told.trial);
  const run = runs.get(told.results);
  if (run && run.rows) run.rows = markRow(run.rows, told.record);
  pending.push(told.row);
  if (!growing) {
    growing = window.setTimeout(grow, Math.max(0, grown + Math.max(GROW_MS, 4 * drawing) - Date.now()));
  }
  return true;
}

/** @param {string} rows @param {TrialRecord} record */
function markRow(rows, record) {
  const place = record.plan_row;
  if (rows[place] === "c") return rows;
  const letter = record.status === "complete"
    ? "c"
    : record.failed_stage === "safety-limit"
    ? "s"
    : record.status === "interrupted"
    ? "i"
    : "f";
  return rows.slice(0, place).padEnd(place, "p") + letter + rows.slice(place + 1);
}

async function grow() {
  growing = 0;
  const rows = pending;
  pending = [];
  const known = new Set(app.table.columns.map((column) => column.name));
  if (
    renewing ||
    rows.some((row) =>
      Object.keys(row).some((name) => !known.has(name) && name !== "flags" && name !== "reason")
    )
  ) {
    await renew();
    const last = findLast(app.table);
    const later = rows.filter((row) => row.trial > (last.get(row.results) || 0));
    if (later.length) app.grow(later);
  } else {
    app.grow(rows);
    const begun = performance.now();
    window.requestAnimationFrame(() =>
      window.setTimeout(() => {
        drawing = performance.now() - begun;
      }, 0)
    );
  }
  grown = Date.now();
}

// A trial has columns that none before it had: the whole table is read again.
function renew() {
  if (!renewing) {
    renewing = openSource().then((source) => {
      for (const [label, last] of findLast(source.table)) {
        seen.set(label, Math.max(seen.get(label) || 0, last));
      }
      app.replace(source);
    }).catch((error) => {
      app.notice("New trials could not be read: " + error.message, { key: "renew" });
    }).finally(() => {
      renewing = null;
    });
  }
  return renewing;
}

// --- the state of the connection

/** @param {string} link */
function show(link) {
  const all = [...runs.values()];
  const before = liveState.link;
  liveState.link = link === "connected" && all.length && !all.some(isRunning) ? "ended" : link;
  if (link === "connected") app.withdraw("connection");
  const isLive = all.some((run) => isRunning(run) || run.shown);
  for (const run of all.filter(isRunning)) run.shown = true;
  if (isLive) { // this panel says so, and when it ends
    for (const key of [...app.notices.keys()].filter((one) => /^source \S+ being written/.test(one))) {
      app.withdraw(key);
    }
  }
  root.hidden = !isLive;
  root.dataset.link = liveState.link;
  if (line.textContent !== LINKS[liveState.link]) fill(line, LINKS[liveState.link]);
  if (before !== liveState.link && isLive && ["reconnecting", "lost"].includes(liveState.link)) {
    app.announce("Connection: " + LINKS[liveState.link]);
  }
  app.emit("runs", runs);
}

// Timers stand still while a computer sleeps: after it the connection is dead, whatever it says.
function tick() {
  const now = Date.now();
  const slept = now - ticked > 5 * TICK_MS;
  ticked = now;
  if (hiddenSince && now - hiddenSince > HIDDEN_MS && stream) {
    disconnect();
    show("asleep");
  } else if (stream && !hiddenSince && (slept || now - heard > SILENT_MS)) {
    failures = 0;
    connect();
  }
}

function changeVisibility() {
  hiddenSince = document.hidden ? Date.now() : 0;
  if (!hiddenSince && (!stream || Date.now() - heard > SILENT_MS) && liveState.link !== "lost") {
    failures = 0;
    connect();
  }
}

/** @param {HTMLElement} element @param {App} given */
function mount(element, given) {
  [root, app] = [element, given];
  if (app.source.mode !== "served" || !("EventSource" in window)) return;
  line = make("span", { class: "link", role: "status" });
  const head = make("div", { class: "live-head" });
  const body = make("div", {});
  fill(
    root,
    make(
      "div",
      { class: "row live-bar" },
      head,
      make("span", { class: "link-mark", "aria-hidden": "true" }),
      line,
    ),
    body,
  );
  mountProgress(head, body, app);
  mountControl(root.children[0], app);
  seen = findLast(app.table);
  position = app.table.sources.map((source) => "0." + seen.get(source.label)).join(",");
  ticked = Date.now();
  document.addEventListener("visibilitychange", changeVisibility);
  window.addEventListener("online", () => {
    failures = 0;
    connect();
  });
  window.addEventListener("pagehide", disconnect);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) connect();
  });
  window.setInterval(tick, TICK_MS);
  connect();
}

/** @type {Panel} */
export const panel = { name: "live", mount };
