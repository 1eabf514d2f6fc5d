// The trials under way: rate and RTT now, of each stream or of the extremes where streams are many.
import { fill, findFocused, make } from "./dom.js";
import { isRunning } from "./runs.js";
import { formatDuration, formatRate } from "../core/quantities.js";

const READINGS_KEPT = 60;
const SPARKS = { width: 120, height: 22 };
const SVG = "http://www.w3.org/2000/svg";
/** @type {HTMLElement} */
let root;
let isOpen = false; // the table of streams
/** @type {Map<string, TrialNow>} */
export const trialsUnderWay = new Map(); // by results and row

/** @param {{results: string, row: unknown}} told */
const name = (told) => told.results + " " + told.row;

/** @param {LiveEvent} told */
export function takeEvent(told) {
  if (told.event === "trial-started") {
    trialsUnderWay.set(name(told), { ...told, began: Date.parse(told.time_utc), rates: [], measures: {} });
  } else if (told.event === "trial-ended") {
    trialsUnderWay.delete(told.results + " " + told.record.plan_row);
  } else if (told.event === "campaign-ended") {
    trialsUnderWay.clear();
  } else {
    const trial = trialsUnderWay.get(name(told));
    if (trial) read(trial, told);
  }
}

/** @param {TrialNow} trial @param {LiveEvent} told */
function read(trial, told) {
  if (told.event === "rate") {
    trial.rates.push(told.bits_per_s);
    if (trial.rates.length > READINGS_KEPT) trial.rates.shift();
  } else if (told.event === "rtt") {
    trial.rtt = told.rtt_ns;
  } else if (told.event === "retransmissions") {
    trial.retransmitted = told.segments;
  } else if (told.event === "losses") {
    trial.loss = told.lost_packets / Math.max(1, told.lost_packets + told.received_packets);
  } else if (told.event === "streams") {
    trial.measures[told.measure] = told;
  }
}

/** @param {Run} run */
const listOf = (run) => [...trialsUnderWay.values()].filter((trial) => trial.results === run.results);

/**
 * Seconds of the trials under way that are over; one that takes longer than expected counts no more.
 * @param {Run} run
 */
export function countUnderWay(run) {
  return listOf(run).reduce(
    (sum, trial) => sum + Math.min(trial.estimate_ns / 1e9, Math.max(0, (Date.now() - trial.began) / 1000)),
    0,
  );
}

/** @param {Run} run */
export function drawTrials(run) {
  const shown = isRunning(run) ? listOf(run) : [];
  root.hidden = shown.length === 0;
  const fold = findFocused(root)?.parentElement;
  if (fold instanceof HTMLDetailsElement) isOpen = isOpen || fold.open;
  while (root.children.length > shown.length) root.lastChild?.remove();
  shown.forEach((trial, place) => {
    const part = root.children[place] || root.appendChild(makeTrial());
    drawTrial(part, trial);
  });
}

function makeTrial() {
  const fold = make(
    "details",
    {
      class: "streams",
      open: isOpen,
      on: {
        toggle: (event) => {
          isOpen = event.target.open;
        },
      },
    },
    make("summary", {}),
    make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Streams" }),
  );
  return make("section", { class: "under-way" }, make("h3", {}), make("p", { class: "readings" }), fold);
}

/** @param {Element} part @param {TrialNow} trial */
function drawTrial(part, trial) {
  const [title, readings, fold] = part.children;
  const attempt = trial.attempt > 1 ? ", attempt " + trial.attempt : "";
  write(
    title,
    "Row " + (trial.row + 1) + attempt + ": " + trial.source + " → " + trial.destination + ", " +
      trial.levels,
  );
  fill(readings, listReadings(trial));
  drawStreams(/** @type {HTMLDetailsElement} */ (fold), trial);
}

/**
 * Without an answer in time a probe may be late, and is not called lost.
 * @param {number | null} rtt
 */
export const formatRtt = (rtt) => "RTT " + (rtt === null ? "no answer" : formatDuration(rtt));

/** @param {TrialNow} trial */
function listReadings(trial) {
  const facts = [];
  if (trial.rates.length) {
    facts.push(
      make("span", { class: "now" }, formatRate(trial.rates[trial.rates.length - 1])),
      drawSparks(trial.rates),
    );
  }
  if (trial.rtt !== undefined) {
    facts.push(make("span", {}, formatRtt(trial.rtt)));
  }
  if (trial.retransmitted !== undefined) {
    facts.push(make("span", {}, trial.retransmitted + " retransmissions"));
  }
  if (trial.loss !== undefined) {
    facts.push(make("span", {}, "loss " + Number((100 * trial.loss).toPrecision(3)) + " %"));
  }
  return facts.length ? facts : "no reading yet";
}

/** @param {number[]} values */
function drawSparks(values) {
  const { width, height } = SPARKS;
  const top = Math.max(...values, 1);
  const points = values.map((value, place) =>
    (place * width / (READINGS_KEPT - 1)).toFixed(1) + "," +
    (height - 1 - (height - 2) * value / top).toFixed(1)
  );
  const svg = document.createElementNS(SVG, "svg");
  const about = {
    viewBox: "0 0 " + width + " " + height,
    width,
    height,
    "aria-hidden": "true",
    class: "sparks",
  };
  for (const [key, value] of Object.entries(about)) svg.setAttribute(key, String(value));
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points.join(" "));
  svg.append(line);
  return svg;
}

/** @param {HTMLDetailsElement} fold @param {TrialNow} trial */
function drawStreams(fold, trial) {
  const { bits_per_s: rates, rtt_ns: rtts } = trial.measures;
  const either = rates || rtts;
  fold.hidden = !either;
  if (!either) return;
  const shown = either.streams.map(([stream]) => stream);
  const [byRate, byRtt] = [rates, rtts].map((told) => new Map(told ? told.streams : []));
  const count = Math.max(rates ? rates.count : 0, rtts ? rtts.count : 0);
  const which = count > shown.length
    ? "the " + shown.length / 2 + " slowest and " + shown.length / 2 + " fastest of " +
      count.toLocaleString("en") + " streams"
    : count === 1
    ? "1 stream"
    : "each of " + count + " streams";
  const medians = [
    rates && "median " + formatRate(rates.median),
    rtts && "median RTT " + formatDuration(rtts.median),
  ].filter(Boolean);
  write(fold.children[0], "Streams: " + which + "; " + medians.join(", "));
  if (!fold.open) return;
  const head = ["Stream", "Rate", "RTT"].map((text) => make("th", { scope: "col" }, text));
  /**
   * @param {Map<number, number>} values
   * @param {number} stream
   * @param {(value: number | undefined) => string} format
   */
  const cell = (values, stream, format) =>
    make("td", {}, values.has(stream) ? format(values.get(stream)) : "–");
  const body = shown.map((stream) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, String(stream + 1)),
      cell(byRate, stream, formatRate),
      cell(byRtt, stream, formatDuration),
    )
  );
  fill(
    fold.children[1],
    make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body)),
  );
}

/** @param {Element} element @param {string} text */
const write = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

/** @param {HTMLElement} element */
export function mountTrials(element) {
  root = element;
}
