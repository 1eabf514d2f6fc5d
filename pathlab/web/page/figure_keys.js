// The figure by keyboard: arrows walk its points, which are announced, and Enter opens their trials.
import { fill, make } from "./dom.js";
import { openTrial } from "./trials.js";

/** @type {FigureParts} */
let parts;
/** @type {App} */
let app;
/** @typedef {Mark & {px: number, py: number}} WalkedPoint a mark and its place on the axes */
/**
 * @typedef {Object} WalkedCurve
 * @property {number} panel
 * @property {string} name
 * @property {string | null} title
 * @property {boolean} against
 * @property {WalkedPoint[]} points from left to right
 * @property {WalkedPoint[]} dots
 * @property {WalkedPoint[]} [along] of its line
 */
/** @typedef {{curve: number, point: number, dot: number | null}} Cursor */
/** @type {WalkedCurve[]} */
let curves = [];
/** @type {Cursor | null} */
let at = null;

/**
 * Listens to the keys of the figure.
 * @param {FigureParts} shown
 * @param {App} shared
 */
export function attachKeys(shown, shared) {
  [parts, app] = [shown, shared];
  parts.frame.addEventListener("keydown", press);
  parts.frame.addEventListener("focus", () => {
    if (at) point();
  });
  parts.frame.addEventListener("blur", hide);
  parts.frame.addEventListener("pointerdown", hide);
}

// The curves of the figure, each with its points from left to right and the trials of each of them.
/** @param {Figure} figure */
function list(figure) {
  return figure.panels.flatMap((panel, number) => {
    /** @type {Map<string | number | undefined, WalkedCurve>} */
    const found = new Map();
    for (const layer of panel.layers) {
      const isWalked = layer.kind === "curve" || layer.kind === "points" || layer.kind === "bars";
      if (!isWalked || !layer.points || layer.ring) continue;
      const key = layer.curve;
      const { title, against } = panel;
      const curve = found.get(key) ||
        { panel: number, name: layer.name, title, against, points: [], dots: [] };
      found.set(key, curve);
      const entries = layer.points.map((one, place) => ({
        ...one,
        px: Number(layer.x[place]),
        py: Number(layer.kind === "bars" ? layer.height[place] : layer.y[place]),
      }));
      if (layer.kind === "points") curve.dots.push(...entries);
      else if (!layer.along) curve.points.push(...entries);
      else curve.along = entries;
    }
    return Array.from(found.values()).map((curve) => {
      const points = (curve.points.length ? curve.points : curve.along || curve.dots).slice().sort((a, b) =>
        a.px - b.px
      );
      return { ...curve, points };
    }).filter((curve) => curve.points.length);
  });
}

/**
 * A new figure was drawn: the cursor stays where it was, if there is still a point.
 * @param {Figure} figure
 */
export function restKeys(figure) {
  curves = list(figure);
  if (at && (!curves[at.curve] || !curves[at.curve].points[at.point])) at = null;
  if (at) at.dot = null;
  if (document.activeElement === parts.frame && at) show();
  else hide();
}

/** @param {WalkedCurve} curve @param {number} place */
const dotsOf = (curve, place) =>
  curve.dots.filter((dot) => dot.x === curve.points[place].x).sort((a, b) => Number(a.y) - Number(b.y));

// The cursor, for what is called only where there is one.
const here = () => /** @type {Cursor} */ (at);

function current() {
  const curve = curves[here().curve];
  const chosen = curve.points[here().point];
  const { dot, point } = here();
  return dot === null ? chosen : dotsOf(curve, point)[dot];
}

/** @param {KeyboardEvent} event */
function press(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || !curves.length) return;
  /** @type {Record<string, () => void>} */
  const moves = {
    ArrowRight: () => walk(1),
    ArrowLeft: () => walk(-1),
    ArrowUp: () => change(1),
    ArrowDown: () => change(-1),
    Home: () => walk(-Infinity),
    End: () => walk(Infinity),
    PageDown: () => turn(1),
    PageUp: () => turn(-1),
    Enter: enter,
    " ": enter,
    Escape: leave,
  };
  const move = moves[event.key];
  if (!move) return;
  if (event.key === "Escape" && (!at || here().dot === null)) return;
  event.preventDefault();
  if (!at) at = { curve: 0, point: 0, dot: null };
  else move();
  point();
}

/** @param {number} place @param {number} count */
const within = (place, count) => Math.max(0, Math.min(count - 1, place));

/** @param {number} step */
function walk(step) {
  const curve = curves[here().curve];
  const { dot } = here();
  if (dot !== null) here().dot = within(dot + step, dotsOf(curve, here().point).length);
  else here().point = within(here().point + step, curve.points.length);
}

// Curves of the same panel are walked from the lowest to the highest; the point nearest in x is taken.
/** @param {number} step */
function change(step) {
  if (here().dot !== null) {
    walk(step);
    return;
  }
  const next = here().curve + step;
  if (curves[next] && curves[next].panel === curves[here().curve].panel) settle(next);
}

/** @param {number} step */
function turn(step) {
  const shown = curves[here().curve].panel;
  const panels = Array.from(new Set(curves.map((curve) => curve.panel)));
  const next = panels[panels.indexOf(shown) + step];
  if (next !== undefined) settle(curves.findIndex((curve) => curve.panel === next));
}

/** @param {number} next */
function settle(next) {
  const { px } = curves[here().curve].points[here().point];
  const { points } = curves[next];
  const best = points.reduce(
    (nearest, one, place) => Math.abs(one.px - px) < Math.abs(points[nearest].px - px) ? place : nearest,
    0,
  );
  at = { curve: next, point: best, dot: null };
}

function enter() {
  const curve = curves[here().curve];
  const dots = dotsOf(curve, here().point);
  if (here().dot === null && dots.length > 1) {
    here().dot = 0;
    return;
  }
  openTrial(app, here().dot === null ? dots[0] || curve.points[here().point] : current());
}

function leave() {
  here().dot = null;
}

function point() {
  show();
  const curve = curves[here().curve];
  const { dot } = here();
  const count = dot === null
    ? "point " + (here().point + 1) + " of " + curve.points.length
    : "trial " + (dot + 1) + " of " + dotsOf(curve, here().point).length;
  app.announce([curve.title, ...current().facts(), count].filter(Boolean).join(", "));
}

function show() {
  const chosen = current();
  const layout = parts.live._fullLayout;
  const suffix = curves[here().curve].panel ? String(curves[here().curve].panel + 1) : "";
  const [x, y] = [layout["xaxis" + suffix], layout["yaxis" + suffix]];
  const left = x._offset + x.d2p(chosen.px);
  const top = y._offset + y.d2p(chosen.py);
  parts.cursor.hidden = false;
  parts.cursor.style.left = left + "px";
  parts.cursor.style.top = top + "px";
  fill(parts.facts, chosen.facts().map((line) => make("div", {}, line)));
  parts.facts.hidden = false;
  const box = { width: parts.facts.offsetWidth, height: parts.facts.offsetHeight };
  const room = { width: parts.frame.clientWidth, height: parts.frame.clientHeight };
  parts.facts.style.left =
    Math.max(0, left + 14 + box.width > room.width ? left - 14 - box.width : left + 14) + "px";
  parts.facts.style.top =
    Math.max(0, top + 14 + box.height > room.height ? top - 14 - box.height : top + 14) + "px";
}

function hide() {
  parts.cursor.hidden = true;
  parts.facts.hidden = true;
}
