// The figure as a file: with its title, what its trials share, and its legend, dark on white.
import { breakLines, measureText } from "./axes.js";
import { isPlain } from "./figure.js";
import { escapeText, STRONG } from "./figure_layout.js";
import { describeView, writeHeadline } from "./title_panel.js";

const INK = "#1f2328";
const PAPER = "#ffffff";
const SIZE_PX = 13;
const TITLE_PX = 17;
const LINE_PX = 18;
const ROW_PX = 21;
const BESIDE_NAME_PX = 62;
const EDGE_PX = 14;

// Rows that the entries of the legend need.
/** @param {string[]} names @param {number} width */
function countRows(names, width) {
  let rows = names.length ? 1 : 0;
  let left = width;
  for (const name of names) {
    const wide = measureText(name, SIZE_PX) * 1.08 + BESIDE_NAME_PX;
    if (wide > left && left < width) {
      rows += 1;
      left = width;
    }
    left -= wide;
  }
  return rows;
}

// The first mark of each curve stands for it in the legend.
/** @param {PlotlyFigure} plot @param {FigureEntry[]} entries */
function nameTraces(plot, entries) {
  /** @type {string[]} */
  const names = [];
  plot.data.forEach((trace, at) => {
    const { layer } = entries[at];
    trace.showlegend = false;
    if (layer.kind === "area" || layer.kind === "points" || layer.ring) return;
    const last = plot.data.findLastIndex((_, other) =>
      entries[other].layer.name === layer.name && ["curve", "bars"].includes(entries[other].layer.kind) &&
      (entries[other].layer.marked || entries[other].layer.along || entries[other].layer.kind === "bars")
    );
    if (!names.includes(layer.name) && (layer.along || at === last)) {
      names.push(layer.name);
      trace.showlegend = true;
      trace.legendgroup = layer.name;
    }
  });
  return names;
}

// What is below the title: what the trials share and how they were chosen, what the marks are, what is left out.
/** @param {ExploredApp} app @param {number} letters */
function listLines(app, letters) {
  const { exploration } = app;
  const { shared, chosen, facts } = describeView(app);
  const open = exploration.undecided && isPlain(app.view) ? "open markers: undecided, too few trials" : "";
  const marks = [exploration.statistic, exploration.range, open].filter(Boolean).join("; ");
  const texts = [
    shared,
    chosen ? "Only: " + chosen + "." : "",
    marks.charAt(0).toUpperCase() + marks.slice(1) + ". " + facts.join(", ") + ".",
    ...exploration.notes,
  ];
  return texts.filter(Boolean).flatMap((text) => breakLines(text, letters));
}

/**
 * @param {ExploredApp} app
 * @param {Plan} plan the figure at a size, as figure_panel.js makes it
 * @param {{format: string, width: number, height: number, scale: number}} how format: svg or png
 * @returns {Promise<string>} a data URL
 */
export function renderPicture(app, plan, how) {
  const { format, width, height, scale } = how;
  const title = writeHeadline(app);
  const lines = listLines(app, Math.floor((width - 2 * EDGE_PX) / (SIZE_PX * 0.52)));
  const probe = plan({ width, height, sizePx: SIZE_PX, ink: INK, paper: PAPER });
  const names = nameTraces(probe.plot, probe.figure.entries);
  const shown = names.length > 1;
  const bottom = shown ? countRows(names, width - 2 * EDGE_PX) * ROW_PX + EDGE_PX : EDGE_PX;
  const top = TITLE_PX * 1.6 + lines.length * LINE_PX + EDGE_PX;
  const { plot, figure } = plan({
    width,
    height: Math.max(200, height - top - bottom),
    sizePx: SIZE_PX,
    ink: INK,
    paper: PAPER,
    top,
    bottom,
  });
  nameTraces(plot, figure.entries);
  const { layout } = plot;
  Object.assign(layout, { paper_bgcolor: PAPER, plot_bgcolor: PAPER, showlegend: shown, height, width });
  layout.legend = { ...layout.legend, font: { size: SIZE_PX }, y: 0, yref: "container", yanchor: "bottom" };
  /** @param {string} text @param {number} y @param {PlotlyObject} font */
  const line = (text, y, font) => ({
    text,
    showarrow: false,
    xref: "paper",
    yref: "paper",
    x: 0,
    y: 1,
    xanchor: "left",
    yanchor: "top",
    xshift: -layout.margin.l + EDGE_PX,
    yshift: layout.margin.t - EDGE_PX - y,
    font,
  });
  layout.annotations.push(
    line(escapeText(title), 0, { size: TITLE_PX, weight: STRONG }),
  );
  lines.forEach((text, at) =>
    layout.annotations.push(line(escapeText(text), TITLE_PX * 1.5 + at * LINE_PX, { size: SIZE_PX }))
  );
  return window.Plotly.toImage({ data: plot.data, layout, config: plot.config }, {
    format,
    width,
    height,
    scale: format === "svg" ? 1 : scale,
  });
}
