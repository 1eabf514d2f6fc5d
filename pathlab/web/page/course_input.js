// Moves and zooms a course with keys, a mouse wheel, a mouse or fingers.
const WHEEL = 1.25;
export const COURSE_ZOOM = 2;
export const COURSE_STEP = 0.25;

/**
 * @typedef {Object} CourseMoves
 * @property {() => UPlot | null} chart
 * @property {() => ShownCourse | null} shown null while the series is read
 * @property {(start: number, end: number) => void} look
 * @property {(share: number) => void} move
 * @property {(factor: number, at?: number) => void} zoom
 * @property {() => void} reset
 */

/** @param {HTMLElement} area @param {CourseMoves} moves */
export function listenToCourse(area, moves) {
  /** @type {Map<number, number>} */
  const pointers = new Map();
  /** @type {[number, number] | null} */
  let pinch = null;

  // The place of a point of the screen on the time axis, from 0 to 1.
  /** @param {number} x_px @param {UPlot} chart */
  const shareAt = (x_px, chart) => {
    const box = chart.over.getBoundingClientRect();
    return (x_px - box.left) / box.width;
  };

  area.addEventListener("keydown", (event) => {
    const shown = moves.shown();
    if (!shown || event.ctrlKey || event.metaKey || event.altKey) return;
    const { start, end, found } = shown;
    /** @type {Record<string, () => void>} */
    const acts = {
      ArrowLeft: () => moves.move(-COURSE_STEP),
      ArrowRight: () => moves.move(COURSE_STEP),
      "+": () => moves.zoom(1 / COURSE_ZOOM),
      "=": () => moves.zoom(1 / COURSE_ZOOM),
      "-": () => moves.zoom(COURSE_ZOOM),
      "0": moves.reset,
      Home: () => moves.look(found.first, found.first + end - start),
      End: () => moves.look(found.last - end + start, found.last),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  });
  area.addEventListener("wheel", (event) => {
    const chart = moves.chart();
    const shown = moves.shown();
    if (!chart || !shown || !(event.ctrlKey || area.contains(document.activeElement))) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      moves.move(event.deltaX / 600);
    } else {
      const at = shown.start + shareAt(event.clientX, chart) * (shown.end - shown.start);
      moves.zoom(event.deltaY > 0 ? WHEEL : 1 / WHEEL, at);
    }
  }, { passive: false });
  area.addEventListener("dblclick", moves.reset);
  area.addEventListener("pointerdown", (event) => {
    if (!moves.chart() || event.button) return;
    pointers.set(event.pointerId, event.clientX);
    area.setPointerCapture(event.pointerId);
    pinch = null;
  });
  area.addEventListener("pointermove", (event) => {
    const from = pointers.get(event.pointerId);
    const chart = moves.chart();
    if (from === undefined || !chart) return;
    pointers.set(event.pointerId, event.clientX);
    if (pointers.size === 1) moves.move((from - event.clientX) / chart.over.clientWidth);
    else if (pointers.size === 2) squeeze(chart);
  });
  for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
    area.addEventListener(name, (event) => {
      pointers.delete(event.pointerId);
      pinch = null;
    });
  }

  // Two fingers keep the times that they touch.
  /** @param {UPlot} chart */
  function squeeze(chart) {
    const shown = moves.shown();
    const [first, second] = Array.from(pointers.values(), (x) => shareAt(x, chart)).sort((a, b) => a - b);
    if (!shown || second - first < 0.02) return;
    const span = shown.end - shown.start;
    if (!pinch) pinch = [shown.start + first * span, shown.start + second * span];
    const wide = (pinch[1] - pinch[0]) / (second - first);
    moves.look(pinch[0] - first * wide, pinch[0] + (1 - first) * wide);
  }
}
