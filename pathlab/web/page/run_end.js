// What a run found, once it has ended: the answer as the terminal has it, and links to report and explorer.
import { fill, make } from "./dom.js";
import { isRunning } from "./runs.js";

// The run gives its results back a moment after its last event; until then there is no answer.
const AGAIN_MS = 1000;

/** @type {HTMLElement} */
let root;
/** @type {App} */
let app;
let shown = ""; // the run and its number of trials that the answer is of
let timer = 0;

/** @param {Run} run */
export function drawRunEnd(run) {
  const running = isRunning(run);
  const key = running ? "" : run.results + ":" + run.complete + ":" + run.state;
  if (key === shown) return;
  shown = key;
  window.clearTimeout(timer);
  fill(root, running ? null : make("p", { class: "soft", role: "status" }, "Computing the answer …"));
  if (key) ask(key, run);
}

/** @param {string} key @param {Run} run */
async function ask(key, run) {
  const opened = new URLSearchParams(window.location.search).get("open");
  try {
    const answer = await fetch("api/answer" + (opened ? "?open=" + encodeURIComponent(opened) : ""), {
      cache: "no-store",
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.error);
    if (told.running) {
      timer = window.setTimeout(() => ask(key, run), AGAIN_MS);
      return;
    }
    const place = app.table.sources.findIndex((source) => source.label === run.results);
    if (key === shown) show(told.results[place]);
  } catch (error) {
    if (key !== shown) return;
    const reason = error instanceof Error ? error.message : String(error);
    fill(root, make("p", { class: "soft" }, "The answer cannot be shown: " + reason + "."));
  }
}

/** @param {RunEnd} found */
function show(found) {
  fill(
    root,
    make("h2", {}, "Answer"),
    found.answers.map(({ lead, remarks }) => [
      make("p", {}, make("strong", {}, lead)),
      remarks.length ? make("ul", {}, remarks.map((text) => make("li", {}, text))) : null,
    ]),
    make(
      "p",
      {},
      make("a", { href: found.report, target: "_blank", rel: "noopener" }, "Report"),
      " · ",
      make("a", { href: found.explorer }, "Explorer of these results"),
    ),
  );
}

/** @param {HTMLElement} element @param {App} given */
export function mountRunEnd(element, given) {
  [root, app] = [element, given];
  root.className = "run-end";
}
