// The figure by keyboard: arrows walk its points, which are announced, and Enter opens their trials.
(function () {
  "use strict";
  const explorer = window.pathlabExplorer = window.pathlabExplorer || {};
  const { make, fill } = explorer.dom;
  let parts = null;
  let app = null;
  let curves = [];
  let at = null;

  /** Listens to the keys of the figure. */
  function attach(shown, shared) {
    [parts, app] = [shown, shared];
    parts.frame.addEventListener("keydown", press);
    parts.frame.addEventListener("focus", () => {
      if (at) point();
    });
    parts.frame.addEventListener("blur", hide);
    parts.frame.addEventListener("pointerdown", hide);
  }

  // The curves of the figure, each with its points from left to right and the trials of each of them.
  function list(figure) {
    return figure.panels.flatMap((panel, number) => {
      const found = new Map();
      for (const layer of panel.layers) {
        if (!layer.points || layer.ring || layer.kind === "area") continue;
        const key = layer.curve;
        if (!found.has(key)) {
          found.set(key, {
            panel: number,
            name: layer.name,
            title: panel.title,
            against: panel.against,
            points: [],
            dots: [],
          });
        }
        const curve = found.get(key);
        const entries = layer.points.map((one, place) => ({
          ...one,
          px: layer.x[place],
          py: layer.kind === "bars" ? layer.height[place] : layer.y[place],
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

  /** A new figure was drawn: the cursor stays where it was, if there is still a point. */
  function rest(figure) {
    curves = list(figure);
    if (at && (!curves[at.curve] || !curves[at.curve].points[at.point])) at = null;
    if (at) at.dot = null;
    if (document.activeElement === parts.frame && at) show();
    else hide();
  }

  const dotsOf = (curve, place) =>
    curve.dots.filter((dot) => dot.x === curve.points[place].x).sort((a, b) => a.y - b.y);

  function current() {
    const curve = curves[at.curve];
    const chosen = curve.points[at.point];
    return at.dot === null ? chosen : dotsOf(curve, at.point)[at.dot];
  }

  function press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !curves.length) return;
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
    if (event.key === "Escape" && (!at || at.dot === null)) return;
    event.preventDefault();
    if (!at) at = { curve: 0, point: 0, dot: null };
    else move();
    point();
  }

  const within = (place, count) => Math.max(0, Math.min(count - 1, place));

  function walk(step) {
    const curve = curves[at.curve];
    if (at.dot !== null) at.dot = within(at.dot + step, dotsOf(curve, at.point).length);
    else at.point = within(at.point + step, curve.points.length);
  }

  // Curves of the same panel are walked from the lowest to the highest; the point nearest in x is taken.
  function change(step) {
    if (at.dot !== null) {
      walk(step);
      return;
    }
    const next = at.curve + step;
    if (curves[next] && curves[next].panel === curves[at.curve].panel) settle(next);
  }

  function turn(step) {
    const here = curves[at.curve].panel;
    const panels = Array.from(new Set(curves.map((curve) => curve.panel)));
    const next = panels[panels.indexOf(here) + step];
    if (next !== undefined) settle(curves.findIndex((curve) => curve.panel === next));
  }

  function settle(next) {
    const { px } = curves[at.curve].points[at.point];
    const { points } = curves[next];
    const best = points.reduce(
      (nearest, one, place) => Math.abs(one.px - px) < Math.abs(points[nearest].px - px) ? place : nearest,
      0,
    );
    at = { curve: next, point: best, dot: null };
  }

  function enter() {
    const curve = curves[at.curve];
    const dots = dotsOf(curve, at.point);
    if (at.dot === null && dots.length > 1) {
      at.dot = 0;
      return;
    }
    explorer.figurePanel.openTrial(at.dot === null ? dots[0] || curve.points[at.point] : current());
  }

  function leave() {
    at.dot = null;
  }

  function point() {
    show();
    const curve = curves[at.curve];
    const count = at.dot === null
      ? "point " + (at.point + 1) + " of " + curve.points.length
      : "trial " + (at.dot + 1) + " of " + dotsOf(curve, at.point).length;
    app.announce([curve.title, ...current().facts(), count].filter(Boolean).join(", "));
  }

  function show() {
    const chosen = current();
    const layout = parts.live._fullLayout;
    const suffix = curves[at.curve].panel ? String(curves[at.curve].panel + 1) : "";
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

  explorer.figureKeys = { attach, rest };
})();
