// Draws each figure of the page when it comes into sight, in the page's own ink, and offers its numbers.
// Needs plotly.js before it; without it the pictures that stand in the page stay.
(function () {
  "use strict";
  const INK = /"#1f2328"/g;
  const NARROW_PX = 560;
  const LETTER_PX = 7.1;
  const LEGEND_ROW_PX = 22;
  const BESIDE_NAME_PX = 52;
  const coarse = window.matchMedia("(pointer: coarse)").matches;
  const figures = Array.from(document.querySelectorAll("figure.plot"));
  const live = figures.filter((figure) => figure.querySelector("script[type='application/json']"));

  function count() {
    const drawn = live.filter((figure) => figure.dataset.state === "drawn").length;
    document.documentElement.dataset.plots = drawn + "/" + live.length;
  }

  function read(figure) {
    const ink = JSON.stringify(window.getComputedStyle(figure).color);
    const text = figure.querySelector("script[type='application/json']").textContent;
    return JSON.parse(text.replace(INK, ink));
  }

  // Rows that the names need at this width, so that the legend covers no axis.
  function fit(layout, width) {
    const room = width - 20;
    let rows = 0;
    let left = 0;
    for (const letters of layout.meta.names) {
      const wide = Math.min(room, letters * LETTER_PX + BESIDE_NAME_PX);
      if (rows === 0 || wide > left) { rows += 1; left = room; }
      left -= wide;
    }
    const narrow = width < NARROW_PX;
    const below = 56 + rows * LEGEND_ROW_PX;
    layout.margin = { l: narrow ? 46 : 62, r: narrow ? 6 : 14, t: layout.margin.t, b: below };
    layout.height = layout.meta.inner + layout.margin.t + below;
    layout.font.size = narrow ? 11 : 12;
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis/.test(key) && layout[key].title) { layout[key].title.font = { size: narrow ? 11 : 13 }; }
    }
    for (const note of layout.annotations) { note.font = { size: narrow ? 10.5 : 12 }; }
    if (coarse) { layout.dragmode = false; }
    return layout;
  }

  function draw(figure) {
    const area = figure.querySelector(".plot-live");
    try {
      const plot = read(figure);
      figure.dataset.state = "drawn";  // shows the area, which has no width before
      const width = area.clientWidth;
      area.dataset.width = String(width);
      plot.config.displayModeBar = width < NARROW_PX ? false : "hover";
      offer(figure, plot);
      return window.Plotly.react(area, plot.data, fit(plot.layout, width), plot.config)
        .then(count, (error) => fail(figure, error));
    } catch (error) {
      fail(figure, error);
      return Promise.resolve();
    }
  }

  // The picture that the page came with stands again.
  function fail(figure, error) {
    figure.dataset.state = "failed";
    console.error("figure " + figure.dataset.name + ": " + error);
    count();
  }

  // One row for each point, as write_csv does; bands come as polygons, there along the top and back below.
  function tabulate(plot) {
    const along = Object.keys(plot.layout).filter((key) => key.startsWith("xaxis"))
      .map((key) => plain((plot.layout[key].title || {}).text || "")).filter(Boolean);
    const x = ["x", ...new Set(along)].join(": ");
    const rows = [["panel", "series", x, "y", "low", "high", "note"]];
    for (const trace of plot.data) {
      const axis = plot.layout["yaxis" + (trace.yaxis || "y").slice(1)] || {};
      const panel = plain((axis.title || {}).text || "");
      const name = plain(trace.name);
      const kind = (trace.meta || {}).layer;
      if (kind === "grid") {
        trace.z.forEach((line, row) => line.forEach((value, column) =>
          rows.push([panel, name, trace.meta.x[column], value, null, null, trace.meta.y[row]])));
      } else if (kind === "band") {
        for (const [place, low, high] of unfold(trace)) { rows.push([panel, name, place, null, low, high, null]); }
      } else {
        trace.x.forEach((place, at) => {
          const y = kind === "marks" ? null : trace.y[at];
          const ends = span(trace, at, y, kind);
          const notes = [plain((trace.text || [])[at] || ""), (trace.meta || {}).outliers ? "outlier" : ""];
          rows.push([panel, name, place, y, ends[0], ends[1], notes.filter(Boolean).join("; ")]);
        });
      }
    }
    return rows.map((row) => row.map(quote).join(",")).join("\n") + "\n";
  }

  function span(trace, at, y, kind) {
    if (kind === "bars") {
      const base = trace.base ? trace.base[at] : 0;
      return [base, y === null ? null : tidy(base + y)];
    }
    if (!trace.error_y || y === null) { return [null, null]; }
    const below = trace.error_y.arrayminus[at];
    const above = trace.error_y.array[at];
    const low = trace.meta.low ? trace.meta.low[at] : below === null ? null : tidy(y - below);
    return [low, above === null ? null : tidy(y + above)];
  }

  function unfold(trace) {
    const found = [];
    let from = 0;
    for (let at = 0; at <= trace.x.length; at += 1) {
      if (at < trace.x.length && trace.x[at] !== null) { continue; }
      const half = (at - from) / 2;
      for (let step = 0; step < half; step += 1) {
        const low = (trace.meta.low || [])[found.length];
        found.push([trace.x[from + step], low === undefined ? trace.y[at - 1 - step] : low, trace.y[from + step]]);
      }
      from = at + 1;
    }
    return found;
  }

  // Sums of rounded numbers have no more digits than those.
  function tidy(value) {
    return Number(value.toPrecision(7));
  }

  function plain(text) {
    return String(text).replace(/<br>/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  }

  function quote(value) {
    if (value === null || value === undefined) { return ""; }
    const text = String(value);
    return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }

  function offer(figure, plot) {
    const caption = figure.querySelector("figcaption") || figure.appendChild(document.createElement("figcaption"));
    if (caption.querySelector("a[download]")) { return; }
    const link = document.createElement("a");
    link.textContent = "Data (CSV)";
    link.download = figure.dataset.name + ".csv";
    link.href = "#";
    link.addEventListener("click", function () {
      link.href = URL.createObjectURL(new Blob([tabulate(plot)], { type: "text/csv" }));
      window.setTimeout(() => { URL.revokeObjectURL(link.href); link.href = "#"; }, 60000);
    });
    caption.append(link);
  }

  function drawAll(chosen) {
    return Promise.all(chosen.filter((figure) => figure.dataset.state === "waiting").map(draw));
  }

  if (!window.Plotly) { return; }
  count();  // from here on no figure needs to say how it could be had without this script
  if ("IntersectionObserver" in window) {
    const observer = new IntersectionObserver(function (entries) {
      for (const entry of entries) {
        if (!entry.isIntersecting) { continue; }
        observer.unobserve(entry.target);
        if (entry.target.dataset.state === "waiting") { draw(entry.target); }
      }
    }, { rootMargin: "400px 0px" });
    live.forEach((figure) => observer.observe(figure));
  } else {
    drawAll(live);
  }
  // On paper stands the picture that the page came with; figures without one are drawn first.
  window.addEventListener("beforeprint", () => drawAll(live.filter((f) => !f.querySelector(".plot-still"))));
  const redraw = () => live.filter((figure) => figure.dataset.state === "drawn").forEach(draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let waiting = 0;
  window.addEventListener("resize", function () {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => live.filter((figure) => {
      const area = figure.querySelector(".plot-live");
      return figure.dataset.state === "drawn" && String(area.clientWidth) !== area.dataset.width;
    }).forEach(draw), 150);
  });
  window.pathlabPlots = { drawAll: () => drawAll(live), tabulate: (name) => {
    const figure = live.find((one) => one.dataset.name === name);
    return figure ? tabulate(read(figure)) : null;
  } };
}());
