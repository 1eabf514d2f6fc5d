// The title of the figure: what is shown, what all selected trials share, and how many they are.
import { fill, make } from "./dom.js";
import { isCourse, isPlain, isSteps } from "./figure.js";
import { describeFilter } from "./filter_text.js";

/** @type {HTMLElement} */
let root;

// Within a sentence: `throughput`, but `RTT under load` and `CPU`.
/** @param {string} label */
export const inSentence = (label) =>
  /^.[a-z]/.test(label) ? label.charAt(0).toLowerCase() + label.slice(1) : label;
/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * One line that says what the figure shows: `Throughput by streams, median`.
 * @param {ExploredApp} app
 */
export function writeHeadline(app) {
  const { exploration, view } = app;
  const columns = isPlain(view) ? exploration.ys : view.y.flatMap((name) => app.table.column(name) || []);
  const shown = columns.map((y) => inSentence(y.label));
  const between = shown.some((name) => name.includes(",")) ? "; " : ", ";
  const names = shown.length > 1
    ? shown.slice(0, -1).join(between) + (between === "; " ? "; " : " and ") + shown[shown.length - 1]
    : shown[0] || "nothing";
  if (isCourse(view)) {
    return view.trial ? "Time course of trial " + view.trial : "Time course of a trial";
  }
  if (view.statistic === "histogram") return "Histogram of " + inSentence(exploration.x.label);
  if (isSteps(view)) return "Distribution of " + inSentence(exploration.x.label);
  const facet = view.facet && app.table.column(view.facet);
  return capital(names) + " by " + inSentence(exploration.x.label) +
    (facet ? ", for each " + inSentence(facet.label) : "");
}

/** @param {number} number @param {string} one @param {string} many */
const count = (number, one, many) => number.toLocaleString("en") + " " + (number === 1 ? one : many);

/**
 * What the selected trials share, how they were chosen, and how many they are.
 * @param {ExploredApp} app
 */
export function describeView(app) {
  const { exploration, rows, table, view } = app;
  const left = exploration.excluded.reduce((sum, [, number]) => sum + number, 0);
  const facts = [
    rows.length === table.count
      ? count(table.count, "trial", "trials")
      : rows.length.toLocaleString("en") + " of " + count(table.count, "trial", "trials"),
  ];
  if (left) facts.push(left.toLocaleString("en") + " not counted");
  if (exploration.undecided) {
    facts.push(count(exploration.undecided, "point undecided", "points undecided"));
  }
  const chosen = Object.keys(view.where || {}).map((name) =>
    describeFilter(table.column(name), view.where[name])
  );
  if (view.text) chosen.push("text “" + view.text + "”");
  return { shared: exploration.title, chosen: chosen.join("; "), facts };
}

/** @param {App} app */
function update(app) {
  if (!app.exploration) return;
  const explored = /** @type {ExploredApp} */ (app);
  const { view } = app;
  if (isCourse(view) && view.trial) {
    fill(root, make("h1", {}, writeHeadline(explored)));
    return;
  }
  const { shared, chosen, facts } = describeView(explored);
  fill(
    root,
    make("h1", {}, writeHeadline(explored)),
    make(
      "p",
      { class: "meta" },
      shared ? make("span", {}, shared + ".") : null,
      shared ? " " : null,
      chosen ? "Only: " + chosen + ". " : null,
      facts.join(" · "),
    ),
  );
}

/** @type {Panel} */
export const panel = {
  name: "title",
  early: true,
  /** @param {HTMLElement} element */
  mount(element) {
    root = element;
  },
  update,
};
