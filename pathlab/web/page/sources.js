// The results on the page: their names, where they come from, and what is wrong with them.
import { fill, make } from "./dom.js";

/** @type {HTMLElement} */
let root;

/** @param {ResultsSource} source */
function name(source) {
  return source.title || source.name;
}

// The folder tells results apart whose titles are alike.
/** @param {ResultsSource} source @param {boolean} several */
function facts(source, several) {
  const day = source.createdUtc ? String(source.createdUtc).slice(0, 16).replace("T", " ") + " UTC" : null;
  const folder = several && source.path ? source.path.split("/").filter(Boolean).pop() : null;
  return [
    folder,
    source.title && source.title !== source.name ? source.name : null,
    day,
    source.medium,
    source.programVersion ? "PathLab " + source.programVersion : null,
  ]
    .filter(Boolean).join(" · ");
}

/** @param {App} app */
function show(app) {
  const { sources } = app.table;
  const several = sources.length > 1;
  fill(
    root,
    make(
      "ul",
      { class: "sources" },
      sources.map((source) =>
        make(
          "li",
          {},
          several ? make("strong", { class: "badge" }, source.label) : null,
          several ? " " : null,
          make("span", {}, name(source)),
          " ",
          make("span", { class: "soft" }, facts(source, several)),
        )
      ),
      app.source.mode === "served" ? make("li", {}, make("a", { href: "choose" }, "Other results")) : null,
    ),
  );
}

/** @type {Panel} */
export const panel = {
  name: "sources",
  /** @param {HTMLElement} element @param {App} app */
  mount(element, app) {
    root = element;
    for (const source of app.table.sources) {
      for (const text of source.notes || []) {
        app.notice((app.table.sources.length > 1 ? source.label + ": " : "") + text, {
          key: "source " + source.label + " " + text,
        });
      }
    }
    for (const text of app.source.notices || []) app.notice(text, { key: "page " + text, kind: "info" });
    show(app);
    app.on("data", () => show(app));
  },
};
