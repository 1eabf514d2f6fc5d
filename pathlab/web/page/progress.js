// How far the run is: its state, the time left with its range, what it used, and what happened.
import { fill, make } from "./dom.js";
import { isRunning, RUN_STATES, runs } from "./runs.js";
import { mountCells } from "./live_cells.js";
import { drawPlan, mountPlan } from "./plan_rows.js";
import { formatAmount, formatClock, formatRate, formatSpan } from "../core/quantities.js";
import { drawRunEnd, mountRunEnd } from "./run_end.js";
import { countUnderWay, drawTrials, mountTrials, takeEvent } from "./trials_now.js";

const EVENTS_KEPT = 100;
const TICK_MS = 1000;
/** @typedef {"state" | "count" | "left" | "use" | "happened" | "happenedCount"} PartName */
/** @type {Record<PartName, HTMLElement> & {happenedFold: HTMLDetailsElement}} */
let parts;
/** @type {Map<string, LiveEvent>} */
const steps = new Map(); // by results: what the run does between trials
/** @type {{results: string, utc: string, text: string}[]} */
let happened = [];
let noted = 0;
let frame = 0;

// --- events

/** @param {LiveEvent} told */
function take(told) {
  const { event, results } = told;
  if (["preparing", "waiting"].includes(event)) {
    steps.set(results, told);
  } else if (["trial-started", "continued", "paused", "campaign-ended"].includes(event)) {
    steps.delete(results);
  } else if (event === "journal") {
    note(results, told.recorded_utc, told.text);
  } else if (event === "skipped") {
    note(
      "",
      told.time_utc,
      told.events +
        " short events were left out, since this page read too slowly; nothing stored is missing.",
    );
  }
  if (event === "trial-ended" && told.record.status !== "complete") {
    note(results, told.record.started_utc, describeFailure(told));
  }
  takeEvent(told);
  schedule();
}

/** @param {LiveEvent} told */
function describeFailure(told) {
  const { record } = told;
  return "Trial " + told.results + ":" + told.trial + " (row " + (record.plan_row + 1) + ", " +
    record.path_source + " → " +
    record.path_destination + ") " + record.status +
    (record.failed_stage ? " at stage " + record.failed_stage : "") +
    (record.failure ? ": " + record.failure : "");
}

/** @param {string} results @param {string} utc @param {string} text */
function note(results, utc, text) {
  noted += 1;
  happened.push({ results, utc, text });
  if (happened.length > EVENTS_KEPT) happened = happened.slice(-EVENTS_KEPT);
}

// --- drawing

function schedule() {
  if (!frame) {
    frame = window.requestAnimationFrame(() => {
      frame = 0;
      draw();
    });
  }
}

/** The run that is shown: the first that goes on, else the first that did while the page was open. */
function findRun() {
  const all = [...runs.values()];
  return all.find(isRunning) || all.find((run) => run.shown) || null;
}

function draw() {
  const run = findRun();
  if (!run) return;
  drawHead(run);
  drawUse(run);
  drawRunEnd(run);
  drawTrials(run);
  drawPlan(run);
  drawHappened();
}

/** @param {Run} run */
function drawHead(run) {
  const several = runs.size > 1 ? run.results + ": " : "";
  const why = run.state === "ended" && run.text ? ": " + run.text : "";
  parts.state.dataset.state = run.state;
  write(parts.state, several + (RUN_STATES[run.state] || run.state) + why);
  write(
    parts.count,
    run.complete + " of " + run.planned + (run.planned === 1 ? " trial" : " trials") +
      (run.failed_trials ? " · " + run.failed_trials + " failed" : ""),
  );
  write(parts.left, describeLeft(run));
}

/**
 * `about 4:10 left, at most 6:30`, or what the run waits for.
 * @param {Run} run
 */
export function describeLeft(run) {
  if (!isRunning(run)) return "";
  const step = steps.get(run.results);
  if (step && step.event === "waiting") {
    return step.reason + "; waits until " + formatClock(step.until_utc).slice(0, 5) + " UTC" +
      (step.at_most ? " at most" : "");
  }
  if (step && step.event === "preparing" && run.state === "running") return step.text;
  if (!run.left) return "time left not known";
  const over = countUnderWay(run);
  const [expected, longest] = [run.left.expected_ns, run.left.at_most_ns].map((ns) =>
    Math.max(0, ns / 1e9 - over)
  );
  const range = Math.round(longest) > Math.round(expected) ? ", at most " + formatSpan(longest) : "";
  return "about " + formatSpan(expected) + " left" + range;
}

/** @param {Run} run */
function drawUse(run) {
  const budget = run.budget || {};
  const facts = [["Sent", describeAmount(run.sent_bytes, budget.bytes_per_campaign)]];
  if (budget.bytes_per_day) {
    facts.push(["Sent today", describeAmount(run.sent_today_bytes, budget.bytes_per_day)]);
  }
  if (budget.rate_bits_per_s) facts.push(["Rate limit", formatRate(budget.rate_bits_per_s)]);
  const since = isRunning(run) ? Math.max(0, (Date.now() - Date.parse(run.time_utc)) / 1000) : 0;
  const isPaused = run.state === "paused";
  facts.push(["Measuring for", formatSpan(run.measuring_s + (isPaused ? 0 : since))]);
  if (isPaused || run.paused_s >= 1) {
    facts.push(["Paused for", formatSpan(run.paused_s + (isPaused ? since : 0))]);
  }
  const text = facts.map((fact) => fact.join(" ")).join("|");
  if (parts.use.dataset.text === text) return;
  parts.use.dataset.text = text;
  fill(
    parts.use,
    facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
  );
}

/** @param {number} used @param {number | undefined} limit */
function describeAmount(used, limit) {
  return limit
    ? formatAmount(used) + " of " + formatAmount(limit) + " (" + Math.round(100 * used / limit) + " %)"
    : formatAmount(used);
}

function drawHappened() {
  write(
    parts.happenedCount,
    happened.length
      ? "(" + (happened.length === EVENTS_KEPT ? "the latest " : "") + happened.length + ")"
      : "",
  );
  const key = happened.length ? happened[happened.length - 1].utc + " " + noted : "";
  if (!parts.happenedFold.open || parts.happened.dataset.key === key) return;
  parts.happened.dataset.key = key;
  const several = runs.size > 1;
  fill(
    parts.happened,
    happened.slice().reverse().map(({ results, utc, text }) =>
      make(
        "li",
        {},
        make("time", { datetime: utc }, formatClock(utc)),
        " ",
        several && results ? results + ": " : null,
        text,
      )
    ),
  );
}

/** @param {HTMLElement} element @param {string} text */
const write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

/** @param {string} title @param {...Child} children */
const foldOf = (title, ...children) =>
  make(
    "details",
    { class: "fold", on: { toggle: schedule } },
    make("summary", {}, make("h2", {}, title), " ", children[0]),
    ...children.slice(1),
  );

/**
 * @param {HTMLElement} head the line with state and time left  @param {HTMLElement} body everything below it
 * @param {HTMLElement} head
 * @param {HTMLElement} body
 * @param {App} app
 */
export function mountProgress(head, body, app) {
  const happened = make("ol", { class: "happened", tabindex: 0, "aria-label": "What happened" });
  const happenedCount = make("span", { class: "soft" });
  parts = {
    state: make("strong", { class: "run-state" }),
    count: make("span", {}),
    left: make("span", { class: "soft" }),
    use: make("dl", { class: "use" }),
    happened,
    happenedCount,
    happenedFold: foldOf("What happened", happenedCount, happened),
  };
  fill(
    head,
    make("h2", { class: "unseen" }, "Running campaign"),
    parts.state,
    " ",
    parts.count,
    " ",
    parts.left,
  );
  const [end, now, plan, rows, cells] = Array.from({ length: 5 }, () => make("div", {}));
  const cellsFold = foldOf("Medians so far", make("span", { class: "soft" }), cells);
  fill(
    body,
    end,
    plan,
    now,
    parts.use,
    make("div", { class: "folds" }, rows, cellsFold, parts.happenedFold),
  );
  mountRunEnd(end, app);
  mountTrials(now);
  mountPlan(plan, rows, app, schedule);
  mountCells(cellsFold, cells, app);
  app.on("live", take);
  app.on("runs", schedule);
  window.setInterval(() => {
    if (!document.hidden && isRunning(findRun())) schedule();
  }, TICK_MS);
}
