// The figure of the view on the page: drawn by plotly.js, at the size of the window, with what it leaves out said.
import { showCourse } from "./course.js";
import { fill, make } from "./dom.js";
import { explainEmpty } from "./empty_figure.js";
import { describeFigure, isCourse } from "./figure.js";
import { attachKeys, restKeys } from "./figure_keys.js";
import { arrangePanels, escapeText, STRONG } from "./figure_layout.js";
import { renderPicture } from "./figure_picture.js";
import { explainLegend, showLegend } from "./legend.js";
import { nameTrial } from "./source.js";
import { writeHeadline } from "./title_panel.js";
import { openTrial } from "./trials.js";

const NARROW_PX = 560;
const LINE_PX = 190;
const PANEL_LEAST_PX = 300;
const TYPE_PX = 12;
const PAPER_PX = 680;
const EMPTY_CONFIG = {
  displayModeBar: false,
  responsive: false,
  doubleClick: false,
  scrollZoom: false,
  showTips: false,
};
const coarse = window.matchMedia("(pointer: coarse)").matches;
/**
 * @typedef {Object} DrawnFigure what the figure on the page was drawn of
 * @property {Exploration | null} exploration
 * @property {string | null} trial
 * @property {string} text
 * @property {Overlay[]} overlays
 * @property {number} width
 * @property {Figure} figure
 */
const parts = /** @type {FigureParts} */ ({});
/** @type {App} */
let app;
/** @type {DrawnFigure | null} */
let drawn = null;
// The app, for what is called only where there is an exploration.
const explored = () => /** @type {ExploredApp} */ (app);
/** @type {Promise<unknown> | null} */
let drawing = null;
let again = false;
let printing = false;

/** @param {HTMLElement} root @param {App} shared */
function mount(root, shared) {
  app = shared;
  parts.legend = make("div", { class: "legend" });
  parts.live =
    /** @type {PlotlyElement} */ (/** @type {HTMLElement} */ (make("div", { class: "plot-live" })));
  parts.cursor = make("div", { class: "cursor", hidden: true });
  parts.facts = make("div", { class: "facts-card", hidden: true });
  parts.frame = make(
    "div",
    {
      class: "frame",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "figure",
      "aria-describedby": "figure-keys",
    },
    parts.live,
    parts.cursor,
    parts.facts,
  );
  parts.keys = make("ul", { class: "marks" });
  parts.caption = make("figcaption", {});
  parts.empty = make("div", { class: "plot-empty", hidden: true });
  parts.figure = make(
    "figure",
    { class: "plot explored", data: { state: "waiting", name: "exploration" } },
    parts.legend,
    parts.frame,
    parts.keys,
    parts.caption,
  );
  parts.course = make("div", { hidden: true });
  fill(
    root,
    parts.empty,
    parts.course,
    parts.figure,
    make(
      "p",
      { class: "unseen", id: "figure-keys" },
      "Left and right arrows walk along a curve, up and down change the curve, page up and page down change the panel, ",
      "Enter goes to the trials of a point and then opens one, Escape goes back. The table of the figure has all numbers.",
    ),
  );
  attachKeys(parts, app);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  window.addEventListener("beforeprint", () => {
    printing = true;
    draw();
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    draw();
  });
  new ResizeObserver(() => {
    if (drawn && !printing && Math.abs(parts.frame.clientWidth - drawn.width) > 1) draw();
  }).observe(parts.frame);
  app.on("view", () => {
    if (app.exploration && drawn && drawn.trial !== app.view.trial) draw();
  });
}

function update() {
  const { exploration } = app;
  const course = showOpenCourse();
  const empty = course ? null : explainEmpty(app);
  parts.empty.hidden = !empty;
  parts.figure.hidden = Boolean(empty) || course;
  if (empty || course) {
    fill(parts.empty, empty);
    drawn = null;
    return;
  }
  parts.frame.setAttribute("aria-label", "Figure: " + writeHeadline(explored()));
  if (
    drawn && drawn.exploration === exploration && drawn.trial === app.view.trial &&
    drawn.text === app.text && drawn.overlays === app.overlays
  ) return;
  draw();
}

// The course of the open trial in place of the figure; false: the view shows none, or no trial is open.
function showOpenCourse() {
  const { view } = app;
  const wanted = isCourse(view) && view.trial ? view.trial + " " + view.series : null;
  if (parts.courseOf !== wanted) {
    parts.courseOf = wanted;
    fill(parts.course);
    if (wanted && !showCourse(parts.course, app)) parts.courseOf = null;
  }
  parts.course.hidden = !parts.courseOf;
  return Boolean(parts.courseOf);
}

/** @param {number} width @param {number} rows */
function chooseHeight(width, rows) {
  const room = Math.max(300, window.innerHeight * 0.6);
  const single = Math.min(room, Math.max(PANEL_LEAST_PX, width * 0.58));
  return Math.round(
    rows <= 1 ? single : Math.max(single, rows * Math.max(LINE_PX, Math.min(260, single / rows)) + 60),
  );
}

function draw() {
  if (!app.exploration || parts.figure.hidden || !window.Plotly) return;
  if (drawing && !printing) {
    again = true;
    return;
  }
  try {
    const width = printing ? PAPER_PX : parts.frame.clientWidth;
    if (!width) return;
    const sizePx = chooseType(width);
    const { figure, plot } = planFigure({ width, height: null, sizePx, ...chooseInk() });
    drawn = {
      exploration: app.exploration,
      trial: app.view.trial,
      text: app.text,
      overlays: app.overlays,
      width,
      figure,
    };
    parts.figure.dataset.state = "drawn";
    parts.frame.style.height = plot.layout.height + "px";
    drawing = window.Plotly.react(parts.live, plot.data, plot.layout, { ...plot.config, ...EMPTY_CONFIG });
    if (!parts.listening) listen();
    showLegend(parts.legend, explored(), figure);
    explainLegend(parts.keys, explored(), figure);
    describeLeft(figure);
    drawing.then(() => {
      done();
      app.emit("figure", figure);
    }, fail);
    restKeys(figure);
  } catch (error) {
    fail(error);
  }
}

function done() {
  drawing = null;
  if (again) {
    again = false;
    draw();
  }
}

/** @param {unknown} error */
function fail(error) {
  drawing = null;
  app.notice("The figure could not be drawn: " + /** @type {Error} */ (error).message, { key: "figure" });
  console.error(error);
}

const chooseInk = () =>
  printing ? { ink: "#000000", paper: "#ffffff" } : {
    ink: window.getComputedStyle(parts.figure).color,
    paper: window.getComputedStyle(document.body).backgroundColor,
  };

/** @param {number} width */
const chooseType = (width) =>
  Math.round(
    (width < NARROW_PX ? 0.69 : 0.75) *
      parseFloat(window.getComputedStyle(document.documentElement).fontSize) * 10,
  ) / 10;

/**
 * The figure of the page's view for plotly.js at any size.
 * @param {PictureSize} how
 * @returns {{figure: Figure, plot: PlotlyFigure}}
 */
export function planFigure(how) {
  const { exploration } = explored();
  const facets = Math.max(1, exploration.facets.length);
  /** @param {number} height */
  const described = (height) =>
    describeFigure(exploration, {
      ...how,
      height,
      view: app.view,
      table: app.table,
      overlays: app.overlays,
    });
  let height = how.height || chooseHeight(how.width, 1);
  let figure = described(height);
  if (!how.height && figure.rows > 1) {
    height = chooseHeight(how.width, figure.rows);
    figure = described(height);
  }
  figure.fixedY = exploration.ys.length > 1;
  figure.panels.forEach((panel) => {
    panel.x.fixed = exploration.x.levels.length > 0;
  });
  const chosen = markTrial(figure);
  const plot = window.pathlabPlots.describe(figure);
  decorate(figure, plot, how);
  arrangePanels(figure, plot.layout, {
    ...how,
    height: height + (how.top || 0) + (how.bottom || 0),
  });
  plot.layout.uirevision = app.text + facets + chosen;
  return { figure, plot };
}

// A ring around the trial that is open.
/** @param {Figure} figure */
function markTrial(figure) {
  const wanted = app.view.trial;
  if (!wanted) return "";
  for (const panel of figure.panels) {
    for (const layer of panel.layers.slice()) {
      if (layer.kind !== "points" || layer.callout || !layer.points) continue;
      const at = layer.points.findIndex((point) =>
        point.row !== undefined && nameTrial(app.table, point.row) === wanted
      );
      if (at < 0) continue;
      panel.layers.push({
        kind: "points",
        name: wanted,
        callout: wanted,
        side: "top center",
        colour: figure.ink,
        look: 0,
        legend: false,
        x: [layer.x[at]],
        y: [layer.y[at]],
        points: [layer.points[at]],
        ring: true,
      });
      break;
    }
  }
  return wanted;
}

// What report.js leaves to this page: what is behind each mark, and weight: replicates are pale, estimates strong.
/** @param {Figure} figure @param {PlotlyFigure} plot @param {PictureSize} how */
function decorate(figure, plot, how) {
  const entries = figure.panels.flatMap((panel) =>
    panel.layers.flatMap((layer) => layer.kind === "rule" || layer.kind === "span" ? [] : [{ panel, layer }])
  );
  const scale = how.sizePx / TYPE_PX;
  plot.data.forEach((trace, at) => {
    const { layer } = entries[at];
    trace.showlegend = false;
    trace.customdata = trace.x.map((/** @type {unknown} */ _, /** @type {number} */ place) => [at, place]);
    if (layer.kind === "points" && !layer.ring) {
      trace.marker.size = scale * (layer.flagged ? 8 : layer.x.length > 300 ? 4 : 5);
      if (layer.flagged) {
        trace.marker.symbol = "circle-x-open";
        trace.marker.opacity = 1;
        trace.marker.line = { width: 1.2, color: layer.colour };
      } else if (!layer.hollow) trace.marker.opacity = 0.42;
      else trace.marker.line.width = 1.1;
    }
    if (layer.ring) {
      trace.text = [escapeText(layer.callout || "")];
      trace.textfont = { color: layer.colour, weight: STRONG };
    }
    if (layer.along || layer.kind === "area") trace.hoverinfo = "skip";
    else if (layer.points && !layer.ring) {
      trace.text = layer.points.map((point) => point.facts().map(escapeText).join("<br>"));
      trace.hovertemplate = "%{text}<extra></extra>";
      if (layer.unseen) {
        trace.textposition = "none";
        trace.marker.opacity = 0;
      }
    }
    if (layer.kind === "curve" && layer.marked && !layer.overlay) {
      markEstimate(trace.marker, layer, scale, how.paper);
    }
    if (trace.error_y) Object.assign(trace.error_y, { thickness: 1.6 * scale, width: 4 * scale });
    if (trace.line && layer.along) trace.line.width = 2 * scale;
  });
  plot.layout.hoverlabel = { ...plot.layout.hoverlabel, align: "left", font: { size: how.sizePx } };
  plot.layout.dragmode = coarse ? false : "zoom";
  plot.layout.hoverdistance = 12;
  figure.entries = entries;
}

// Estimates stand out from the dots behind them; undecided and provisional ones are open.
/** @param {PlotlyObject} marker @param {TraceLayer} layer @param {number} scale @param {string} paper */
function markEstimate(marker, layer, scale, paper) {
  marker.size = (marker.symbol.startsWith("triangle") ? 13 : 10) * scale; // a triangle fills less of its box
  // a provisional one has a dot in it
  marker.symbol = marker.symbol.replace("-open", "") + (layer.dotted ? "-dot" : "");
  marker.color = layer.filled ? layer.colour : paper;
  marker.line = layer.filled
    ? { width: 1.2 * scale, color: paper }
    : { width: 2.2 * scale, color: layer.colour };
}

/** @param {PlotlyObject} event */
function find(event) {
  const point = event.points && event.points[0];
  if (!point || !point.customdata || !drawn) return null;
  const { layer } = drawn.figure.entries[point.customdata[0]];
  return layer.points ? layer.points[point.customdata[1]] : null;
}

function listen() {
  parts.listening = true;
  parts.live.on("plotly_click", (event) => {
    const point = find(event);
    if (point) openTrial(app, point);
  });
  parts.live.on("plotly_relayout", (change) => {
    if (Object.keys(change).some((key) => /axis\d*\.range/.test(key))) zoom();
  });
  parts.live.on(
    "plotly_doubleclick",
    () => app.setView({ minX: null, maxX: null, minY: null, maxY: null }),
  );
}

// A part of the figure that was drawn with the mouse becomes the view's limits, and so part of the link.
function zoom() {
  if (!drawn) return;
  const [first] = drawn.figure.panels;
  /** @param {PlotlyObject} axis @param {BuiltAxis} about */
  const read = (axis, about) => {
    /** @type {number[]} */
    const ends = axis.range.map((/** @type {number} */ end) => about.log ? 10 ** end : end);
    const digits = about.log ? 4 : Math.max(
      4,
      Math.ceil(Math.log10(Math.max(...ends.map(Math.abs)) / Math.abs(ends[1] - ends[0]))) + 3,
    );
    return ends.map((end) => Number(end.toPrecision(Math.min(15, digits))));
  };
  const change = /** @type {ViewChange} */ ({});
  if (!first.x.fixed) [change.minX, change.maxX] = read(parts.live.layout.xaxis, first.x);
  if (!drawn.figure.fixedY) [change.minY, change.maxY] = read(parts.live.layout.yaxis, first.y);
  app.setView(change);
}

/** @param {Figure} figure */
function describeLeft(figure) {
  const { exploration, view } = explored();
  const texts = exploration.notes.slice();
  const counted = exploration.facets.flatMap((facet) => facet.curves).flatMap((curve) => curve.points)
    .reduce((sum, point) => sum + point.trials, 0);
  if (figure.count.drawn && figure.count.drawn < counted) {
    texts.push(
      figure.count.drawn.toLocaleString("en") + " dots are drawn for " + counted.toLocaleString("en") +
        " values, so that they do not hide each other.",
    );
  }
  const limited = [view.minX, view.maxX, view.minY, view.maxY].some((limit) => limit !== null);
  const reset = limited
    ? make("button", {
      type: "button",
      class: "plain",
      on: { click: () => app.setView({ minX: null, maxX: null, minY: null, maxY: null }) },
    }, "Show the whole range")
    : null;
  const excluded = exploration.excluded.map(([reason, count]) => reason + " (" + count + ")");
  const left = excluded.length
    ? make(
      "p",
      {},
      "Not counted: " + excluded.join("; ") + ". ",
      view.count === "all" ? null : make("button", {
        type: "button",
        class: "plain",
        on: { click: () => app.setView({ count: "all" }) },
      }, "Include unusable trials"),
    )
    : null;
  fill(parts.caption, reset, texts.map((text) => make("p", {}, text)), left);
}

/**
 * The figure as a picture with its title and legend, for files.
 * @param {{format: string, width?: number, height?: number, scale?: number}} how format: svg or png
 * @returns {Promise<string>} a data URL
 */
export function toImage(how) {
  const { format, width = 1000, height = 560, scale = 2 } = how;
  return renderPicture(explored(), planFigure, { format, width, height, scale });
}

/** @type {Panel} */
export const panel = { name: "figure", early: true, mount, update };
