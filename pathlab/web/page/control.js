// Stop, pause and resume of the run that writes the results. Whatever ends or holds it is asked for again.
import { fill, make, makeId } from "./dom.js";
import { isRunning, runs } from "./runs.js";

/** @type {Record<"stop" | "pause", [title: string, text: string, yes: string]>} */
const QUESTIONS = {
  stop: [
    "Stop the run?",
    "It ends after the current trial. Everything measured is saved; the same command continues it later.",
    "Stop the run",
  ],
  pause: [
    "Pause the run?",
    "It starts no other trial after the current one, until somebody resumes it.",
    "Pause the run",
  ],
};
/** @type {App} */
let app;
/** @type {NonNullable<Source["control"]>} */
let steer;
/** @type {HTMLDialogElement} */
let dialog;
/** @type {Record<"pause" | "resume" | "stop", HTMLButtonElement>} */
let buttons;
/** @type {HTMLElement} */
let said;
/** @type {string | null} */
let asked = null; // an action that the run has not shown yet

/** Which run the buttons are for: the first that goes on. */
function findRun() {
  return [...runs.values()].find(isRunning) || null;
}

/** @param {"stop" | "pause"} action */
function ask(action) {
  const [title, text, yes] = QUESTIONS[action];
  const titleId = makeId("question");
  fill(
    dialog,
    make("h2", { id: titleId }, title),
    make("p", {}, text),
    make(
      "form",
      { method: "dialog", class: "row" },
      make("button", { type: "submit", value: "yes" }, yes),
      make("button", { type: "submit", value: "no", autofocus: true }, "Cancel"),
    ),
  );
  dialog.setAttribute("aria-labelledby", titleId);
  dialog.returnValue = "no";
  dialog.onclose = () => {
    if (dialog.returnValue === "yes") act(action);
  };
  dialog.showModal();
}

/** @param {"stop" | "pause" | "resume"} action */
async function act(action) {
  asked = action;
  update();
  try {
    const answer = await steer[action]();
    const { text } = await answer.json();
    say(text);
  } catch (error) {
    say("Not done: " + /** @type {Error} */ (error).message);
  }
  asked = null;
  update();
}

/** @param {string} text */
function say(text) {
  said.textContent = text;
  app.announce(text);
}

function update() {
  const run = findRun();
  const isPaused = run !== null && ["paused", "pausing"].includes(run.state);
  buttons.stop.disabled = !run || run.state === "stopping" || asked !== null;
  buttons.pause.disabled = !run || run.state === "stopping" || asked !== null;
  const focused = [buttons.pause, buttons.resume].some((button) => button === document.activeElement);
  buttons.pause.hidden = isPaused;
  buttons.resume.hidden = !isPaused;
  buttons.resume.disabled = asked !== null;
  if (focused && document.activeElement === document.body) {
    (isPaused ? buttons.resume : buttons.pause).focus();
  }
  for (const button of Object.values(buttons)) if (!run) button.hidden = true;
  buttons.stop.hidden = !run;
  if (!run) said.textContent = "";
}

/**
 * Adds the buttons to an element; none where the page may not steer the run.
 * @param {Element} parent
 * @param {App} given
 */
export function mountControl(parent, given) {
  app = given;
  if (!app.source.control) return;
  steer = app.source.control;
  buttons = {
    pause: make("button", { type: "button", on: { click: () => ask("pause") } }, "Pause …"),
    resume: make("button", { type: "button", on: { click: () => act("resume") } }, "Resume"),
    stop: make("button", { type: "button", on: { click: () => ask("stop") } }, "Stop …"),
  };
  said = make("span", { class: "soft" });
  dialog = make("dialog", { class: "question" });
  parent.append(
    make("div", { class: "row", role: "group", "aria-label": "Run" }, Object.values(buttons)),
    said,
    dialog,
  );
  app.on("runs", update);
  update();
}
