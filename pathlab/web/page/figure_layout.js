// Places of panels, ticks and titles of a figure on the screen: what plotly.js would measure by drawing twice.
import { measureText } from "./axes.js";
import { escapeControls } from "../core/escapes.js";

const COLUMN_GAP_PX = 14;
const ROW_GAP_PX = 16;
const PANEL_TITLE_PX = 20;
const LINE_RATIO = 1.3;
const TICK_PX = 8;
const EDGE_PX = 10;
const PANELS_TOP_PX = 8;
// Not <b>: plotly.js would write a style attribute, which the page's policy refuses.
export const STRONG = 700;

/** @param {string} text */
const lines = (text) => text.split("\n");
/** @param {string[]} texts @param {number} sizePx */
const widest = (texts, sizePx) =>
  texts.reduce(
    (most, text) => Math.max(most, ...lines(text).map((line) => measureText(line, sizePx))),
    0,
  );

/** @param {MarkedAxis} axis @param {number} sizePx */
function labelsBelow(axis, sizePx) {
  const texts = axis.marks[1];
  if (axis.tilt) {
    return widest(texts, sizePx) * Math.sin(-axis.tilt * Math.PI / 180) + sizePx * LINE_RATIO;
  }
  return Math.max(...texts.map((text) => lines(text).length), 1) * sizePx * LINE_RATIO;
}

// A tilted label ends below its tick and begins to the left of it; the first ones reach over the edge.
/** @param {MarkedAxis} axis @param {number} sizePx */
function tiltedWidth(axis, sizePx) {
  return axis.tilt
    ? widest(axis.marks[1].slice(0, 4), sizePx) * Math.cos(axis.tilt * Math.PI / 180) - sizePx
    : 0;
}

/**
 * Puts the panels of a described figure into the layout that report.js made of it.
 * @param {Figure} figure as figure.describe makes it
 * @param {PlotlyObject} layout as pathlabPlots.describe makes it; changed in place
 * @param {LayoutRoom} how the whole picture in px
 */
export function arrangePanels(figure, layout, how) {
  const { width, height, sizePx } = how;
  const titlePx = sizePx + 1;
  const sides = Math.max(...figure.panels.map((panel) => widest(panel.y.marks[1], sizePx)), 0);
  const upTitle = Math.max(...figure.panels.map((panel) => panel.y.title.length)) * titlePx * LINE_RATIO;
  const [across] = figure.panels.map((panel) => panel.x);
  const titled = figure.panels.some((panel) => panel.title);
  const below = labelsBelow(across, sizePx) + TICK_PX + across.title.length * titlePx * LINE_RATIO +
    EDGE_PX;
  const last = across.marks[1].length && !across.tilt ? widest(across.marks[1].slice(-1), sizePx) / 2 : 0;
  const margin = {
    l: Math.ceil(Math.max(sides + TICK_PX + upTitle + 6, tiltedWidth(across, sizePx))),
    r: Math.ceil(Math.max(EDGE_PX, last)),
    t: PANELS_TOP_PX + (titled ? PANEL_TITLE_PX : 0) + (how.top || 0),
    b: Math.ceil(below) + (how.bottom || 0),
    pad: 0,
  };
  const inner = {
    width: Math.max(60, width - margin.l - margin.r),
    height: Math.max(60, height - margin.t - margin.b),
  };
  const wide = (inner.width - COLUMN_GAP_PX * (figure.columns - 1)) / figure.columns;
  const rows = placeRows(figure, inner.height);
  figure.panels.forEach((panel, number) => {
    const suffix = number ? String(number + 1) : "";
    const [x, y] = [layout["xaxis" + suffix], layout["yaxis" + suffix]];
    const left = panel.column * (wide + COLUMN_GAP_PX);
    const { top, high } = rows[panel.row];
    x.domain = [left / inner.width, Math.min(1, (left + wide) / inner.width)];
    y.domain = [Math.max(0, 1 - (top + high) / inner.height), 1 - top / inner.height];
    if (number) x.matches = "x";
    const twin = figure.panels.findIndex((other) =>
      other.yColumn === panel.yColumn && other.against === panel.against
    );
    if (twin !== number) y.matches = "y" + (twin ? twin + 1 : "");
    const lowest = !figure.panels.some((other) => other.column === panel.column && other.row > panel.row);
    Object.assign(x, { automargin: false, showticklabels: lowest, tickangle: panel.x.tilt || 0 });
    if (!lowest) x.title = { text: "" };
    Object.assign(y, { automargin: false, showticklabels: panel.column === 0 });
    if (panel.column) y.title = { text: "" };
    x.fixedrange = panel.x.fixed || false;
    y.fixedrange = figure.fixedY || panel.against;
    for (const axis of [x, y]) {
      axis.tickfont = { size: sizePx };
      if (axis.title.text) axis.title.font = { size: titlePx };
    }
    x.title.standoff = 6;
  });
  // one title for a row of panels, in the middle of them
  joinTitles(figure, layout, sizePx, margin.b - (how.bottom || 0));
  layout.margin = margin;
  layout.width = width;
  layout.height = height;
  layout.font.size = sizePx;
  layout.showlegend = false;
  layout.annotations.forEach((/** @type {PlotlyObject} */ note) => {
    note.font = { size: sizePx, ...note.font };
  });
  placeTitles(figure, layout);
  return layout;
}

// From where to where each row of panels reaches, in px from the top; a row with titles has room above it.
/** @param {Figure} figure @param {number} height */
function placeRows(figure, height) {
  const gaps = figure.shares.map((_, row) =>
    row === 0
      ? 0
      : ROW_GAP_PX + (figure.panels.some((panel) => panel.row === row && panel.title) ? PANEL_TITLE_PX : 0)
  );
  const room = height - gaps.reduce((sum, gap) => sum + gap, 0);
  let top = 0;
  return figure.shares.map((share, row) => {
    top += gaps[row];
    const found = { top, high: room * share };
    top += found.high;
    return found;
  });
}

/** @param {Figure} figure @param {PlotlyObject} layout @param {number} sizePx @param {number} below */
function joinTitles(figure, layout, sizePx, below) {
  if (figure.columns < 2) return;
  const title = figure.panels[0].x.title.join(" ");
  Object.keys(layout).filter((key) => /^xaxis/.test(key)).forEach((key) => {
    layout[key].title = { text: "" };
  });
  layout.annotations.push({
    text: escapeText(title),
    showarrow: false,
    xref: "paper",
    yref: "paper",
    x: 0.5,
    y: 0,
    xanchor: "center",
    yanchor: "bottom",
    yshift: 4 - below,
    font: { size: sizePx + 1 },
    captureevents: false,
  });
}

// report.js stacks panels; their titles follow them to their places.
/** @param {Figure} figure @param {PlotlyObject} layout */
function placeTitles(figure, layout) {
  const titles = layout.annotations.filter((/** @type {PlotlyObject} */ note) =>
    note.xref === "paper" && note.yanchor === "bottom" && note.x !== 0.5
  );
  const titled = figure.panels.length > 1 ? figure.panels.filter((panel) => panel.title) : [];
  titled.forEach((panel, at) => {
    const title = panel.title || "";
    const number = figure.panels.indexOf(panel);
    const suffix = number ? String(number + 1) : "";
    const note = titles[at];
    const [left, right] = layout["xaxis" + suffix].domain;
    const room = (right - left) * (layout.width - layout.margin.l - layout.margin.r);
    note.x = left;
    note.y = layout["yaxis" + suffix].domain[1];
    note.text = escapeText(shorten(title, room, layout.font.size));
    note.font = { ...note.font, weight: STRONG };
    if (note.text.includes("…")) note.hovertext = escapeText(title);
  });
}

/** @param {string} text @param {number} px @param {number} sizePx */
function shorten(text, px, sizePx) {
  if (measureText(text, sizePx) * 1.08 <= px) return text;
  let letters = text.length;
  while (letters > 1 && measureText(text.slice(0, letters) + "…", sizePx) * 1.08 > px) {
    letters -= 1;
  }
  return text.slice(0, letters) + "…";
}

/** @param {string} text */
export function escapeText(text) {
  return escapeControls(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(
    />/g,
    "&gt;",
  );
}
