// The page's state: what is shown is the view, and the view is the fragment of the address. Panels show
// parts of the page; each is told when the view or the data changed, once per frame of the screen.
// It comes after dom.js and before the panels, which add themselves to `panels`.
(function () {
  "use strict";
  const explorer = window.pathlabExplorer = window.pathlabExplorer || {};

  /**
   * @typedef {Object} Panel a part of the page
   * @property {string} name the element `[data-panel=NAME]` of explorer.html is its root
   * @property {boolean} [early] drawn in the same frame as the figure; others follow after it
   * @property {function(HTMLElement, Object): void} [mount] called once, when the results are there
   * @property {function(Object): void} [update] called after every change of view or data
   */
  /** @type {Panel[]} */
  explorer.panels = explorer.panels || [];

  const NARROW = "(max-width: 60rem)";
  // Changes of these show a trial; they leave rows and curves as they are.
  const BESIDE = ["trial", "series"];
  const listeners = new Map();
  const notices = new Map();
  let frame = 0;
  let late = 0;
  let computed = null;
  let shown = null;

  const app = {
    /** @type {Object|null} where the results come from, as source.js describes it */
    source: null,
    /** @type {Object|null} the table of packed.js */
    table: null,
    /** @type {Object|null} the view, as view.js describes it; changed by setView alone */
    view: null,
    /** @type {string} the view as text: the fragment of the address */
    text: "",
    /** @type {Uint32Array|null} the rows that the view selects */
    rows: null,
    /** @type {Object|null} what curves.build made of them */
    exploration: null,
    /** @type {Object[]} published curves over the figure: {name, yColumn, points: [{x, y, facts}]} */
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
  };

  /**
   * Changes the view; the address and the panels follow.
   * @param {Object} change keys of the view and their new values. `where` changes the filters of the columns
   *   that it names (null lifts one); `where: null` lifts all of them.
   * @param {{replace: boolean}} [how] replace: without an entry in the browser's history
   */
  function setView(change, how) {
    const next = { ...app.view, ...change };
    if ("where" in change) next.where = mergeFilters(app.view.where, change.where);
    const text = explorer.view.format(next, app.table);
    if (text === app.text) return;
    adopt(next, text);
    const address = text ? "#" + text : window.location.pathname + window.location.search;
    window.history[how && how.replace ? "replaceState" : "pushState"](null, "", address);
    withdraw("link");
    emit("view", app.view);
    schedule();
  }

  function mergeFilters(before, change) {
    const merged = change === null ? {} : { ...before, ...change };
    return Object.fromEntries(Object.entries(merged).filter(([, filter]) => filter !== null));
  }

  function adopt(view, text) {
    app.view = view;
    app.text = text;
  }

  // The view that the address holds. Mistakes in it are said; the rest of it counts.
  function readAddress() {
    const { view, mistakes } = explorer.view.parse(window.location.hash.slice(1), app.table);
    const text = explorer.view.format(view, app.table);
    withdraw("link");
    if (mistakes.length) {
      notice("This link is not understood in full: " + mistakes.join("; ") + ".", { key: "link" });
    }
    if (text === app.text && app.view) return;
    adopt(view, text);
    emit("view", app.view);
    schedule();
  }

  /** Lays curves of published tables over the figure; `facts` of a point are lines of text. */
  function setOverlays(overlays) {
    app.overlays = overlays;
    schedule();
  }

  /** Adds trials to the table, as `table.append` takes them, and shows them. */
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

  /** Shows other results in the place of those before: `source` as source.open() gave it. */
  function replace(source) {
    app.source = source;
    app.table = source.table;
    app.view = null;
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
    const key = explorer.view.format({
      ...app.view,
      ...Object.fromEntries(BESIDE.map((name) => [name, null])),
    }, app.table);
    if (computed === key) return;
    computed = key;
    withdraw("compute");
    try {
      app.rows = explorer.filter.select(app.table, app.view);
      app.exploration = explorer.curves.build(app.table, app.view, app.rows);
    } catch (error) {
      app.exploration = null;
      notice("The figure could not be computed: " + error.message, { key: "compute" });
      console.error(error);
    }
    const title = app.exploration && app.exploration.title;
    if (title && title !== shown) {
      document.title = explorer.dom.escapeControls(title) + " · PathLab explorer";
      shown = title;
    }
  }

  function update(early) {
    for (const panel of explorer.panels) {
      if (Boolean(panel.early) === early) guard(panel, () => panel.update && panel.update(app));
    }
  }

  // A panel that fails takes no other with it.
  function guard(panel, act) {
    try {
      act();
      withdraw("panel " + panel.name);
    } catch (error) {
      notice("The part '" + panel.name + "' of this page failed: " + error.message, {
        key: "panel " + panel.name,
      });
      console.error(error);
    }
  }

  /** Calls `listener` at each event: view, data, drawn, settled, notices and what panels emit. */
  function on(name, listener) {
    if (!listeners.has(name)) listeners.set(name, new Set());
    listeners.get(name).add(listener);
    return () => listeners.get(name).delete(listener);
  }

  function emit(name, ...facts) {
    for (const listener of listeners.get(name) || []) {
      try {
        listener(...facts);
      } catch (error) {
        console.error(error);
      }
    }
  }

  /** Says a text to screen readers. */
  function announce(text) {
    const announcer = document.querySelector("[data-announcer]");
    const said = explorer.dom.escapeControls(text);
    announcer.textContent = announcer.textContent === said ? said + "\u00a0" : said;
  }

  /**
   * Shows a notice above the figure until it is withdrawn or dismissed.
   * @param {string} text one or two sentences: what is wrong, and the next step
   * @param {{key: string, kind: string}} [about] a notice replaces the earlier one of its key; kind: "warning"
   *   (default) or "info"
   */
  function notice(text, about) {
    const { key = text, kind = "warning" } = about || {};
    const before = notices.get(key);
    if (before && before.text === text && before.kind === kind) return;
    notices.set(key, { text, kind });
    emit("notices", notices);
  }

  /** Takes a notice back. */
  function withdraw(key) {
    if (notices.delete(key)) emit("notices", notices);
  }

  /** Moves the keyboard's focus to the figure. */
  function focusFigure() {
    const figure = document.querySelector("[data-panel=figure] [tabindex]");
    if (figure) figure.focus();
  }

  function fold() {
    if (!window.matchMedia(NARROW).matches) return;
    document.querySelectorAll("aside.choices > details[open]").forEach((one) => {
      one.open = false;
    });
  }

  async function start() {
    fold();
    document.querySelector("[data-skip=figure]").addEventListener("click", (event) => {
      event.preventDefault(); // the fragment of the address is the view
      focusFigure();
    });
    try {
      app.source = await explorer.source.open();
      app.table = app.source.table;
    } catch (error) {
      const waiting = document.querySelector("[data-waiting]");
      waiting.textContent = "The results could not be read: " + error.message;
      waiting.setAttribute("role", "alert");
      console.error(error);
      return;
    }
    document.documentElement.dataset.mode = app.source.mode;
    document.querySelector("[data-waiting]").remove();
    readAddress();
    for (const panel of explorer.panels) {
      const root = document.querySelector("[data-panel='" + panel.name + "']");
      guard(panel, () => panel.mount && panel.mount(root, app));
    }
    // both: the browser's buttons, and an address that was typed
    window.addEventListener("popstate", readAddress);
    window.addEventListener("hashchange", readAddress);
    emit("ready", app);
  }

  explorer.app = app;
  if (document.readyState === "loading") {
    document.addEventListener("DOMContentLoaded", start);
  } else {
    start();
  }
})();
