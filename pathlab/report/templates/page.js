// What the page does besides its figures: links open folds, wide tables say so, and the numbers of a figure,
// as pathlab.report.plots.live writes them, become CSV. It comes before report.js.
(function () {
  "use strict";
  // A link into a fold opens it, and those around it.
  function reveal() {
    const target = document.getElementById(window.location.hash.slice(1));
    for (
      let fold = target && target.closest("details");
      fold;
      fold = fold.parentElement?.closest("details") || null
    ) {
      fold.open = true;
    }
    if (target) target.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", function (event) {
    const link = event.target instanceof Element
      ? /** @type {HTMLAnchorElement | null} */ (event.target.closest("a[href^='#']"))
      : null;
    if (link && link.hash && link.hash === window.location.hash) reveal();
  });
  if (window.location.hash) reveal();
  // Paper shows the folds of every question; afterwards they are as they were.
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  window.addEventListener("beforeprint", function () {
    opened = Array.from(document.querySelectorAll("details.question:not([open])"));
    opened.forEach((fold) => {
      fold.open = true;
    });
  });
  window.addEventListener("afterprint", () =>
    opened.forEach((fold) => {
      fold.open = false;
    }));

  // Tables that are wider than the page say so until their end is in sight.
  /** @param {HTMLElement} table */
  function hint(table) {
    const beyond = table.clientWidth ? table.scrollWidth - table.clientWidth : 0; // in a closed fold: none
    if (beyond > 1) table.dataset.more = beyond - table.scrollLeft > 1 ? "yes" : "no";
    else delete table.dataset.more;
  }
  const tables = /** @type {HTMLElement[]} */ (Array.from(document.querySelectorAll(".scroll")));
  tables.forEach(function (table) {
    table.addEventListener("scroll", () => hint(table), { passive: true });
    if ("ResizeObserver" in window) new ResizeObserver(() => hint(table)).observe(table);
    else hint(table);
  });

  /** @typedef {string | number | null | undefined} Cell */
  /** @typedef {(...cells: Cell[]) => void} Add x, y, low, high and note of a row */

  // One row for each point, as write_csv does.
  /** @param {Plot} plot */
  function tabulate(plot) {
    const along = new Set(plot.panels.map((panel) => panel.x.title.join(" ")));
    /** @type {Cell[][]} */
    const rows = [["panel", "series", "x: " + Array.from(along).join("; "), "y", "low", "high", "note"]];
    for (const panel of plot.panels) {
      for (const layer of panel.layers) {
        /** @type {Add} */
        const add = (...cells) =>
          void rows.push([panel.title || panel.y.title.join(" "), layer.name, ...cells]);
        /** @type {(layer: Layer, add: Add) => void} */ (list[layer.kind])(layer, add);
      }
    }
    return rows.map((row) => row.map(quote).join(",")).join("\n") + "\n";
  }

  /**
   * @template Value
   * @param {Value[] | undefined} values
   * @param {number} at
   */
  const pick = (values, at) => values ? values[at] : null;
  /** @type {{[Kind in Layer["kind"]]: (layer: Extract<Layer, {kind: Kind}>, add: Add) => void}} */
  const list = {
    curve: (layer, add) =>
      layer.x.forEach((x, at) => add(x, layer.y[at], pick(layer.low, at), pick(layer.high, at), null)),
    area: (layer, add) => layer.x.forEach((x, at) => add(x, null, layer.low[at], layer.high[at], null)),
    points: (layer, add) =>
      layer.x.forEach((x, at) => {
        const notes = [pick(layer.hover, at), (layer.outlier || []).includes(at) ? "outlier" : ""];
        add(x, layer.at_axis ? null : layer.y[at], null, null, notes.filter(Boolean).join("; "));
      }),
    bars: (layer, add) =>
      layer.x.forEach((x, at) => {
        const [bottom, height] = [layer.bottom ? layer.bottom[at] : 0, layer.height[at]];
        // sums of rounded numbers have no more digits than those
        add(x, height, bottom, height === null ? null : Number((bottom + height).toPrecision(7)), null);
      }),
    rule: (layer, add) => {
      const ends = layer.vertical ? [layer.value, null] : [null, layer.value];
      add(...ends, layer.low, layer.high, "line");
    },
    span: (layer, add) => add(null, null, layer.start, layer.end, "stretch of x"),
    grid: (layer, add) =>
      layer.values.forEach((line, row) =>
        line.forEach((value, column) => add(layer.x[column], value, null, null, layer.y[row]))
      ),
  };

  /** @param {Cell} value */
  function quote(value) {
    if (value === null || value === undefined) return "";
    const text = String(value);
    return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }

  window.pathlabPage = { tabulate };
})();
