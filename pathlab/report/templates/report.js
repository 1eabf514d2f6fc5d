// Draws each figure of the page when it comes into sight, in the page's own ink, and offers its numbers,
// which page.js lists.
// A figure is described by the JSON in it: panels of layers, as pathlab.report.plots.live writes them.
// Needs plotly.js before it; without it the pictures in the page remain.
(function () {
  "use strict";
  const NARROW_PX = 560;
  const LETTER_PX = 7.1;
  const LEGEND_ROW_PX = 22;
  const BESIDE_NAME_PX = 52;
  const GAP_PX = 46;
  const AXIS_PX = 60;
  const LINE_PX = 15;
  const RING_PX = 19;
  const ABOVE_RING_PX = 9;
  const TOP_PX = 24;
  const BOTTOM_PX = 56;
  // How a slot is drawn besides its colour, in the order of the same lists for print.
  const MARKERS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];
  const DASHES = ["solid", "dash", "dashdot", "dot", "5px,2px,1px,2px,1px,2px", "2px,2px", "longdash"];
  const HATCHES = ["", "/", "\\", "x", "|", "-", "+"];
  const RULE_DASHES = ["dot", "dashdot", "2px,2px", "longdash"];
  const CLEAR = "rgba(0,0,0,0)";
  const FAINT = "#8b949e";
  const { tabulate } = window.pathlabPage;
  const coarse = window.matchMedia("(pointer: coarse)").matches;
  /** @type {HTMLElement[]} */
  const figures = Array.from(document.querySelectorAll("figure.plot"));
  const live = figures.filter((figure) => figure.querySelector("script[type='application/json']"));

  function count() {
    const drawn = live.filter((figure) => figure.dataset.state === "drawn").length;
    document.documentElement.dataset.plots = drawn + "/" + live.length;
  }

  /** @param {HTMLElement} figure */
  function read(figure) {
    /** @type {Plot} */
    const plot = JSON.parse(figure.querySelector("script[type='application/json']")?.textContent || "");
    const ink = window.getComputedStyle(figure).color;
    plot.panels.forEach((panel) =>
      panel.layers.forEach((layer) => {
        layer.colour = layer.colour || ink;
      })
    );
    return { ...plot, ink };
  }

  // Text that plotly.js, which knows some markup, shows as it is.
  /** @param {string} text */
  function plain(text) {
    return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }

  /** @param {string} colour @param {number} share */
  function fade(colour, share) {
    const hex = () => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const parts = colour.startsWith("#") ? hex() : (colour.match(/[\d.]+/g) || []).slice(0, 3);
    return "rgba(" + parts.join(",") + "," + share + ")";
  }

  /**
   * @typedef {Object} Frame what the layers of a panel are drawn in
   * @property {PlotPanel} panel
   * @property {Plot} plot
   * @property {number} number
   * @property {string} suffix of the names of its axes
   * @property {string} x
   * @property {string} y
   * @property {string} floor the axis of marks without a height
   * @property {Set<string>} named layers that the legend shows already
   * @property {number} rules
   * @property {PlotlyObject[]} shapes
   * @property {PlotlyObject[]} notes
   */

  // The traces of a layer; shapes, such as lines across a panel, are added to the frame.
  /** @type {{[Kind in Layer["kind"]]: (layer: Extract<Layer, {kind: Kind}>, frame: Frame) => PlotlyObject[]}} */
  const build = {
    /** @param {CurveLayer} layer @param {Frame} frame */
    curve(layer, frame) {
      const { colour, x, y } = layer;
      /** @type {PlotlyObject} */
      const trace = {
        type: "scatter",
        mode: [layer.line && "lines", layer.marked && "markers"].filter(Boolean).join("+"),
        x,
        y,
        connectgaps: false,
        line: { color: colour, width: layer.faint ? 1.2 : 2, dash: DASHES[layer.look] },
        opacity: layer.faint ? 0.45 : 1,
      };
      if (layer.step) trace.line.shape = "hv";
      if (layer.marked) {
        trace.marker = {
          symbol: MARKERS[layer.look] + (layer.filled ? "" : "-open"),
          size: 8,
          color: colour,
        };
        trace.cliponaxis = false;
      }
      if (layer.texts) {
        Object.assign(trace, {
          mode: trace.mode + "+text",
          text: layer.texts.map(plain),
          textposition: "top center",
          cliponaxis: false,
          textfont: { color: frame.plot.ink },
        });
      }
      if (layer.low && layer.high) {
        /** @param {Heights} from @param {Heights} to */
        const distance = (from, to) =>
          from.map((value, at) => value === null || to[at] === null ? null : Math.max(value - to[at], 0));
        trace.error_y = {
          type: "data",
          symmetric: false,
          color: colour,
          thickness: 1,
          width: 3,
          array: distance(layer.high, y),
          arrayminus: distance(y, raise(layer.low, frame.panel.y)),
        };
      }
      return [trace];
    },
    /** @param {PointsLayer} layer @param {Frame} frame */
    points(layer, frame) {
      const { colour, x } = layer;
      const common = { type: "scatter", mode: "markers", cliponaxis: false };
      if (layer.at_axis) {
        return [{
          ...common,
          x,
          y: x.map(() => 0.025),
          yaxis: frame.floor,
          hovertemplate: "%{x}<extra></extra>",
          marker: { symbol: "x-thin", size: 8, line: { width: 2, color: colour } },
        }];
      }
      if (layer.callout) {
        const named = layer.side !== "legend"; // else the legend names the ring
        return [{
          ...common,
          mode: named ? "markers+text" : "markers",
          x,
          y: layer.y,
          hoverinfo: "skip",
          textposition: named ? layer.side : "middle center",
          text: x.map(() => "<b>" + plain(layer.callout || "") + "</b>"),
          textfont: { color: colour },
          marker: { symbol: "circle-open", size: RING_PX, color: colour, line: { width: 2, color: colour } },
        }];
      }
      const apart = new Set(layer.outlier);
      /** @param {boolean} chosen */
      const pick = (chosen) => {
        const places = x.map((_, at) => at).filter((at) => apart.has(at) === chosen);
        /** @type {PlotlyObject} */
        const found = { ...common, x: places.map((at) => x[at]), y: places.map((at) => layer.y[at]) };
        const { hover } = layer;
        if (hover) {
          found.text = places.map((at) => plain(hover[at]));
          found.hovertemplate = "%{text}<br>%{x}, %{y}<extra></extra>";
        }
        return found;
      };
      const symbol = layer.small ? MARKERS[0] : MARKERS[layer.look];
      const usual = pick(false);
      usual.marker = {
        symbol: layer.hollow ? symbol + "-open" : symbol,
        color: colour,
        opacity: layer.hollow ? 1 : 0.6,
        line: { width: layer.hollow ? 1.6 : 0, color: colour },
        size: layer.small ? 4 : x.length <= 40 ? 8 : x.length <= 300 ? 6 : 4,
      };
      if (!apart.size) return [usual];
      const line = { width: 1.5, color: colour };
      return [usual, { ...pick(true), marker: { symbol: "circle-x-open", size: 10, color: colour, line } }];
    },
    // One polygon for each stretch without a gap: there along the upper edge, back along the lower.
    /** @param {AreaLayer} layer @param {Frame} frame */
    area(layer, frame) {
      const low = raise(layer.low, frame.panel.y);
      const along = [];
      const height = [];
      /** @param {number} at */
      const known = (at) => layer.x[at] !== null && low[at] !== null && layer.high[at] !== null;
      for (let start = 0, end; start < layer.x.length; start = end + 1) {
        for (end = start; end < layer.x.length && known(end); end += 1) { /* to the next gap */ }
        if (end === start) continue;
        if (along.length) {
          along.push(null);
          height.push(null);
        }
        along.push(...layer.x.slice(start, end), ...layer.x.slice(start, end).reverse());
        height.push(...layer.high.slice(start, end), ...low.slice(start, end).reverse());
      }
      return [{
        type: "scatter",
        mode: "lines",
        x: along,
        y: height,
        fill: "toself",
        hoveron: "fills",
        hoverinfo: "name",
        fillcolor: fade(layer.colour, layer.solid ? 0.75 : 0.18),
        line: { width: layer.solid ? 0.5 : 0, color: layer.colour },
      }];
    },
    /** @param {BarsLayer} layer */
    bars(layer) {
      const pattern = {
        shape: HATCHES[layer.hatch || 0],
        fgcolor: "rgba(255,255,255,0.6)",
        bgcolor: layer.colour,
        size: 9,
        solidity: 0.2,
      };
      const { x, height: y, width } = layer;
      const trace = { type: "bar", x, y, width, marker: { color: layer.colour, opacity: 0.85, pattern } };
      const stacked = { base: layer.bottom, customdata: y, hovertemplate: "%{x}: %{customdata}" };
      return [layer.bottom ? { ...trace, ...stacked } : trace];
    },
    // A bar for each field: the smallest bundle of plotly.js has no heatmap.
    /** @param {GridLayer} layer */
    grid(layer) {
      const fields = layer.values.flatMap((line, row) =>
        line.map(
          (value, column) => ({
            row,
            column,
            value,
            text: layer.texts[row][column],
            shade: layer.colours[row][column][0],
            ink: layer.colours[row][column][1],
          }),
        )
      );
      const measured = fields.filter((field) => field.value !== null);
      /** @template Value @param {(field: typeof measured[number]) => Value} pick */
      const list = (pick) => measured.map(pick);
      return [{
        type: "bar",
        x: list((field) => field.column),
        width: 0.98,
        base: list((field) => field.row - 0.48),
        y: list(() => 0.96),
        marker: { color: list((field) => field.shade) },
        insidetextfont: { color: list((field) => field.ink) },
        text: list((field) => field.text),
        textposition: "inside",
        insidetextanchor: "middle",
        textangle: 0,
        constraintext: "none",
        hovertemplate: "%{text} " + plain(layer.unit) + "<extra></extra>",
      }];
    },
    /** @param {RuleLayer} layer @param {Frame} frame */
    rule(layer, frame) {
      const axis = layer.vertical ? frame.panel.x : frame.panel.y;
      const dash = RULE_DASHES[frame.rules % RULE_DASHES.length];
      frame.rules += 1;
      if (layer.low !== undefined && layer.high !== undefined) {
        const [low] = raise([layer.low], axis);
        frame.shapes.push({
          ...stretch(frame, Boolean(layer.vertical), Number(low), layer.high),
          legendgroup: layer.name,
        });
      }
      frame.shapes.push({
        ...stretch(frame, Boolean(layer.vertical), layer.value, layer.value),
        ...entitle(layer, frame),
        type: "line",
        layer: "above",
        line: { color: frame.plot.ink, width: 1.3, dash },
      });
      if (layer.labelled) {
        const height = frame.panel.y.log ? Math.log10(layer.value) : layer.value;
        frame.notes.push({
          xref: frame.x + " domain",
          yref: frame.y,
          x: layer.at_right ? 1 : 0,
          y: height,
          yshift: layer.below ? -ABOVE_RING_PX : ABOVE_RING_PX,
          xanchor: layer.at_right ? "right" : "left",
          yanchor: layer.below ? "top" : "bottom",
          text: plain(layer.name),
          showarrow: false,
        });
      }
      return [];
    },
    /** @param {SpanLayer} layer @param {Frame} frame */
    span(layer, frame) {
      frame.shapes.push({ ...stretch(frame, true, layer.start, layer.end), ...entitle(layer, frame) });
      return [];
    },
  };

  // On a logarithmic axis an interval that reaches 0 begins where the axis does.
  /** @param {Heights} values @param {BuiltAxis} axis */
  function raise(values, axis) {
    return axis.log ? values.map((value) => value === null ? null : Math.max(value, axis.ends[0])) : values;
  }

  // From one value to another, over the whole panel in the other direction.
  /** @param {Frame} frame @param {boolean} vertical @param {number} start @param {number} end */
  function stretch(frame, vertical, start, end) {
    const place = vertical
      ? { xref: frame.x, yref: frame.y + " domain", x0: start, x1: end, y0: 0, y1: 1 }
      : { xref: frame.x + " domain", yref: frame.y, x0: 0, x1: 1, y0: start, y1: end };
    return {
      ...place,
      type: "rect",
      fillcolor: fade(FAINT, 0.2),
      line: { width: 0, color: FAINT },
      layer: "below",
    };
  }

  // The name of a layer, which the legend shows once.
  /** @param {{name: string, legend?: boolean}} layer @param {Frame} frame */
  function entitle(layer, frame) {
    const shown = Boolean(layer.legend) && !frame.named.has(layer.name);
    if (layer.legend) frame.named.add(layer.name);
    return { name: plain(layer.name), legendgroup: layer.name, showlegend: shown };
  }

  /** @param {BuiltAxis} axis @param {Plot} plot */
  function buildAxis(axis, plot) {
    /** @type {PlotlyObject} */
    const found = {
      title: { text: axis.title.map(plain).join("<br>") },
      type: axis.log ? "log" : "linear",
      range: axis.ends.map((end) => axis.log ? Math.log10(end) : end),
      automargin: true,
      ticklabeloverflow: "allow",
      zeroline: false,
      showline: true,
      linecolor: plot.ink,
      ticks: "outside",
      ticklen: 4,
      tickcolor: plot.ink,
      gridcolor: fade(FAINT, 0.3),
      exponentformat: "power",
    };
    if (!axis.marks) return found;
    const texts = axis.marks[1].map((text) => plain(text).replace(/\n/g, "<br>"));
    return { ...found, tickmode: "array", tickvals: axis.marks[0], ticktext: texts };
  }

  /** @param {Frame} frame @param {number[]} domain */
  function buildAxes(frame, domain) {
    const { panel, plot, number } = frame;
    /** @type {Record<string, string>} */
    /** @type {PlotlyObject} */
    const across = { ...buildAxis(panel.x, plot), anchor: frame.y };
    /** @type {PlotlyObject} */
    const upwards = { ...buildAxis(panel.y, plot), anchor: frame.x, domain };
    upwards.title.standoff = 4;
    if (plot.shared_x && number) across.matches = "x";
    if (plot.shared_x && number < plot.panels.length - 1) {
      Object.assign(across, { showticklabels: false, title: { text: "" } });
    }
    /** @type {PlotlyObject} */
    const axes = { ["xaxis" + frame.suffix]: across, ["yaxis" + frame.suffix]: upwards };
    if (panel.layers.some((layer) => layer.at_axis)) {
      const floor = { overlaying: frame.y, anchor: frame.x, range: [0, 1], visible: false, fixedrange: true };
      axes["yaxis" + frame.floor.slice(1)] = floor;
    }
    return axes;
  }

  // What plotly.js draws from.
  /** @param {Plot} plot */
  function describe(plot) {
    /** @type {PlotlyObject[]} */
    const data = [];
    const inner = plot.heights.reduce((sum, height) => sum + height + GAP_PX, -GAP_PX);
    /** @type {Set<string>} */
    const named = new Set();
    /** @type {Record<string, string>} */
    const across = {};
    /** @type {PlotlyObject} */
    const layout = {
      shapes: [],
      annotations: [],
      margin: { t: TOP_PX },
      showlegend: true,
      legend: {
        orientation: "h",
        x: 0,
        xanchor: "left",
        y: 0,
        yref: "container",
        yanchor: "bottom",
        bgcolor: CLEAR,
        itemwidth: 36,
      },
      hovermode: "closest",
      hoverlabel: { namelength: -1 },
      dragmode: coarse ? false : "zoom",
      barmode: "overlay",
      paper_bgcolor: CLEAR,
      plot_bgcolor: CLEAR,
      colorway: [plot.ink],
      title: { text: "" },
      font: { color: plot.ink, family: "system-ui, -apple-system, Segoe UI, sans-serif" },
      modebar: { bgcolor: CLEAR, color: FAINT, activecolor: plot.ink },
    };
    let top = 1;
    plot.panels.forEach((panel, number) => {
      const suffix = number ? String(number + 1) : "";
      /** @type {Frame} */
      const frame = {
        panel,
        plot,
        number,
        suffix,
        x: "x" + suffix,
        y: "y" + suffix,
        // marks without a height have an axis of their own over y
        floor: "y" + (100 + number),
        named,
        rules: 0,
        shapes: layout.shapes,
        notes: layout.annotations,
      };
      const domain = [Math.max(0, top - plot.heights[number] / inner), top];
      top -= (plot.heights[number] + GAP_PX) / inner;
      for (const layer of panel.layers) {
        const traces = /** @type {(layer: Layer, frame: Frame) => PlotlyObject[]} */ (build[layer.kind]);
        traces(layer, frame).forEach((trace) =>
          data.push(
            { xaxis: frame.x, yaxis: frame.y, meta: layer.kind, ...trace, ...entitle(layer, frame) },
          )
        );
      }
      Object.assign(layout, buildAxes(frame, domain));
      across["xaxis" + suffix] = panel.x.title.join(" ");
      const middle = { xref: frame.x + " domain", yref: frame.y + " domain", x: 0.5, y: 0.5 };
      const head = { xref: "paper", yref: "paper", x: 0, y: domain[1], xanchor: "left", yanchor: "bottom" };
      if (panel.title && plot.panels.length > 1) {
        layout.annotations.push({ ...head, text: plain(panel.title), showarrow: false });
      }
      if (panel.blank) layout.annotations.push({ ...middle, text: plain(panel.blank), showarrow: false });
    });
    layout.meta = { inner, across, names: Array.from(named, (name) => name.length) };
    // this script draws anew where the width changes; plotly.js, at any change of the window (a phone hides
    // its bar of addresses), takes the height away that a figure has by its contents
    /** @type {PlotlyObject} */
    const config = {
      responsive: false,
      displaylogo: false,
      scrollZoom: false,
      topojsonURL: "about:blank",
      showSendToCloud: false,
      plotlyServerURL: "", // nothing leaves the page
      modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
      toImageButtonOptions: { format: "svg", filename: plot.name },
    };
    return { data, layout, config };
  }

  /** @param {string} text @param {number} letters */
  function breakWords(text, letters) {
    return text.split(" ").reduce(function (/** @type {string[]} */ lines, word) {
      const last = lines[lines.length - 1];
      if (last !== undefined && last.length + word.length < letters) {
        lines[lines.length - 1] = last + " " + word;
      } else lines.push(word);
      return lines;
    }, []);
  }

  // Rows that the names need at this width, so that the legend covers no axis.
  /** @param {PlotlyObject} layout @param {number} width */
  function fit(layout, width) {
    const room = width - 20;
    let rows = 0;
    let left = 0;
    for (const letters of layout.meta.names) {
      const wide = Math.min(room, letters * LETTER_PX + BESIDE_NAME_PX);
      if (rows === 0 || wide > left) {
        rows += 1;
        left = room;
      }
      left -= wide;
    }
    const narrow = width < NARROW_PX;
    let lines = 1;
    for (const [key, title] of Object.entries(layout.meta.across)) {
      const broken = breakWords(title, Math.floor((width - AXIS_PX) / LETTER_PX));
      if (layout[key].title.text) layout[key].title.text = broken.map(plain).join("<br>");
      lines = Math.max(lines, broken.length);
    }
    const below = BOTTOM_PX + rows * LEGEND_ROW_PX + (lines - 1) * LINE_PX;
    layout.margin = { l: narrow ? 46 : 62, r: narrow ? 6 : 14, t: TOP_PX, b: below };
    layout.height = layout.meta.inner + TOP_PX + below;
    layout.font.size = narrow ? 11 : 12;
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis/.test(key) && layout[key].title) layout[key].title.font = { size: narrow ? 11 : 13 };
    }
    for (const note of layout.annotations) note.font = { size: narrow ? 10.5 : 12 };
    return layout;
  }

  /** @param {HTMLElement} figure */
  function draw(figure) {
    const area = /** @type {HTMLElement} */ (figure.querySelector(".plot-live"));
    try {
      const plot = read(figure);
      const { data, layout, config } = describe(plot);
      figure.dataset.state = "drawn"; // shows the area, which has no width before
      area.style.minHeight = ""; // from here on it has its own height
      const width = area.clientWidth;
      area.dataset.width = String(width);
      config.displayModeBar = width < NARROW_PX ? false : "hover";
      offer(figure, plot);
      return window.Plotly.react(area, data, fit(layout, width), config)
        .then(count, (error) => fail(figure, error));
    } catch (error) {
      fail(figure, error);
      return Promise.resolve();
    }
  }

  // Shows the picture that the page came with again.
  /** @param {HTMLElement} figure @param {unknown} error */
  function fail(figure, error) {
    figure.dataset.state = "failed";
    console.error("figure " + figure.dataset.name + ": " + error);
    count();
  }

  /** @param {HTMLElement} figure @param {Plot} plot */
  function offer(figure, plot) {
    const caption = figure.querySelector("figcaption") ||
      figure.appendChild(document.createElement("figcaption"));
    if (caption.querySelector("a[download]")) return;
    const link = document.createElement("a");
    link.textContent = "Data (CSV)";
    link.download = figure.dataset.name + ".csv";
    link.href = "#";
    link.addEventListener("click", function () {
      link.href = URL.createObjectURL(new Blob([tabulate(plot)], { type: "text/csv" }));
      window.setTimeout(() => {
        URL.revokeObjectURL(link.href);
        link.href = "#";
      }, 60000);
    });
    caption.append(link);
  }

  /** @param {HTMLElement[]} chosen */
  function drawAll(chosen) {
    return Promise.all(chosen.filter((figure) => figure.dataset.state === "waiting").map(draw));
  }

  if (!window.Plotly) return;
  count(); // from here on no figure needs to say how it could be had without this script
  if ("IntersectionObserver" in window) {
    const observer = new IntersectionObserver(function (entries) {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        observer.unobserve(entry.target);
        const figure = /** @type {HTMLElement} */ (entry.target);
        if (figure.dataset.state === "waiting") draw(figure);
      }
    }, { rootMargin: "400px 0px" });
    live.forEach((figure) => observer.observe(figure));
  } else {
    drawAll(live);
  }
  // Paper shows the picture that the page came with; figures without one are drawn first.
  window.addEventListener("beforeprint", () => drawAll(live.filter((f) => !f.querySelector(".plot-still"))));
  const redraw = () => live.filter((figure) => figure.dataset.state === "drawn").forEach(draw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let waiting = 0;
  window.addEventListener("resize", function () {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() =>
      live.filter((figure) => {
        const area = /** @type {HTMLElement} */ (figure.querySelector(".plot-live"));
        return figure.dataset.state === "drawn" && String(area.clientWidth) !== area.dataset.width;
      }).forEach(draw), 150);
  });
  window.pathlabPlots = { drawAll: () => drawAll(live), describe, tabulate };
})();
