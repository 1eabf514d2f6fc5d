// For readers who do not see the figure or use no mouse: what the figure shows is said after each change, and the
// keys are listed at the end of the page.
import { fill, make } from "./dom.js";

const KEYS = [
  ["Tab, Shift+Tab", "to the next or previous control"],
  ["Enter or Space", "opens a fold, presses a button"],
  ["← →", "in the figure: along a curve"],
  ["↑ ↓", "in the figure: to the next curve"],
  ["Page up, Page down", "in the figure: to the next panel"],
  ["Enter", "in the figure: to the trials of a point, then opens the trial"],
  ["Escape", "in the figure: back; elsewhere: closes a trial"],
  ["Alt+← Alt+→", "to the view before and after, as in every page"],
];
/** @type {string | null} */
let said = null;
let changed = false;

/** @param {number} number @param {string} one */
const count = (number, one) => number === 1 ? "1 " + one : number.toLocaleString("en") + " " + one + "s";

/**
 * What the figure shows, in one or two sentences.
 * @param {App} app
 */
export function describeInWords(app) {
  const { exploration } = app;
  if (!exploration) return "The figure could not be computed.";
  const curves = exploration.facets.flatMap((facet) => facet.curves);
  if (!curves.length) return "The figure is empty: no selected trial has a value.";
  const points = curves.reduce((sum, curve) => sum + curve.points.length, 0);
  const excluded = exploration.excluded.reduce((sum, [, number]) => sum + number, 0);
  return exploration.ys.map((y) => y.label).join(" and ") + ", " + exploration.statistic + ", by " +
    exploration.x.label + ": " +
    [
      exploration.facets.length > 1 ? count(exploration.facets.length, "panel") : "",
      count(curves.length, "curve"),
      count(points, "point"),
      exploration.undecided ? exploration.undecided + " undecided" : "",
      count(app.rows.length, "trial"),
      excluded ? excluded.toLocaleString("en") + " of them not counted" : "",
    ].filter(Boolean).join(", ") + ".";
}

/** @type {Panel} */
export const panel = {
  name: "reading",
  /** @param {HTMLElement} root @param {App} app */
  mount(root, app) {
    fill(
      root,
      make(
        "details",
        { class: "fold", data: { fold: "keys" } },
        make("summary", {}, make("h2", {}, "Keyboard")),
        make(
          "dl",
          { class: "keys" },
          KEYS.map(([keys, what]) => [make("dt", {}, keys), make("dd", {}, what)]),
        ),
      ),
    );
    // Only what the reader changed is said: the first figure is read with the page, and live trials come too often.
    app.on("view", () => {
      changed = true;
    });
    app.on("settled", () => {
      const text = describeInWords(app);
      if (changed && text !== said) app.announce(text);
      [said, changed] = [text, false];
    });
  },
};
