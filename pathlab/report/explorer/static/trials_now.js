// The trials under way: rate and RTT now, of each stream or of the extremes where streams are many.
(function () {
  "use strict";
  const explorer = window.pathlabExplorer = window.pathlabExplorer || {};
  const { make, fill } = explorer.dom;
  const { formatRate, formatTime } = explorer.quantities;
  const READINGS_KEPT = 60;
  const SPARKS = { width: 120, height: 22 };
  const SVG = "http://www.w3.org/2000/svg";
  let root = null;
  let isOpen = false; // the table of streams
  const trials = new Map(); // by results and row

  const name = (told) => told.results + " " + told.row;

  function take(told) {
    if (told.event === "trial-started") {
      trials.set(name(told), { ...told, began: Date.parse(told.time_utc), rates: [], measures: {} });
    } else if (told.event === "trial-ended") {
      trials.delete(told.results + " " + told.record.plan_row);
    } else if (told.event === "campaign-ended") {
      trials.clear();
    } else if (trials.has(name(told))) {
      read(trials.get(name(told)), told);
    }
  }

  function read(trial, told) {
    if (told.event === "rate") {
      trial.rates.push(told.bits_per_s);
      if (trial.rates.length > READINGS_KEPT) trial.rates.shift();
    } else if (told.event === "rtt") {
      trial.rtt = told.rtt_ns;
    } else if (told.event === "retransmissions") {
      trial.retransmitted = told.segments;
    } else if (told.event === "losses") {
      trial.loss = told.lost_packets / Math.max(1, told.lost_packets + told.received_packets);
    } else if (told.event === "streams") {
      trial.measures[told.measure] = told;
    }
  }

  const listOf = (run) => [...trials.values()].filter((trial) => trial.results === run.results);

  /** Seconds of the trials under way that are over; one that takes longer than expected counts no more. */
  function countUnderWay(run) {
    return listOf(run).reduce(
      (sum, trial) => sum + Math.min(trial.estimate_ns / 1e9, Math.max(0, (Date.now() - trial.began) / 1000)),
      0,
    );
  }

  function draw(run) {
    const shown = explorer.live.isRunning(run) ? listOf(run) : [];
    root.hidden = shown.length === 0;
    if (root.contains(document.activeElement) && document.activeElement !== document.body) {
      isOpen = isOpen || document.activeElement.parentElement.open;
    }
    while (root.children.length > shown.length) root.lastChild.remove();
    shown.forEach((trial, place) => {
      const part = root.children[place] || root.appendChild(makeTrial());
      drawTrial(part, trial);
    });
  }

  function makeTrial() {
    const fold = make(
      "details",
      {
        class: "streams",
        open: isOpen,
        on: {
          toggle: (event) => {
            isOpen = event.target.open;
          },
        },
      },
      make("summary", {}),
      make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Streams" }),
    );
    return make("section", { class: "under-way" }, make("h3", {}), make("p", { class: "readings" }), fold);
  }

  function drawTrial(part, trial) {
    const [title, readings, fold] = part.children;
    const attempt = trial.attempt > 1 ? ", attempt " + trial.attempt : "";
    write(
      title,
      "Row " + (trial.row + 1) + attempt + ": " + trial.source + " → " + trial.destination + ", " +
        trial.levels,
    );
    fill(readings, listReadings(trial));
    drawStreams(fold, trial);
  }

  function listReadings(trial) {
    const facts = [];
    if (trial.rates.length) {
      facts.push(
        make("span", { class: "now" }, formatRate(trial.rates[trial.rates.length - 1])),
        drawSparks(trial.rates),
      );
    }
    if (trial.rtt !== undefined) {
      facts.push(make("span", {}, "RTT " + (trial.rtt === null ? "lost" : formatTime(trial.rtt))));
    }
    if (trial.retransmitted !== undefined) {
      facts.push(make("span", {}, trial.retransmitted + " retransmissions"));
    }
    if (trial.loss !== undefined) {
      facts.push(make("span", {}, "loss " + Number((100 * trial.loss).toPrecision(3)) + " %"));
    }
    return facts.length ? facts : "no reading yet";
  }

  function drawSparks(values) {
    const { width, height } = SPARKS;
    const top = Math.max(...values, 1);
    const points = values.map((value, place) =>
      (place * width / (READINGS_KEPT - 1)).toFixed(1) + "," +
      (height - 1 - (height - 2) * value / top).toFixed(1)
    );
    const svg = document.createElementNS(SVG, "svg");
    const about = {
      viewBox: "0 0 " + width + " " + height,
      width,
      height,
      "aria-hidden": "true",
      class: "sparks",
    };
    for (const [key, value] of Object.entries(about)) svg.setAttribute(key, value);
    svg.append(document.createElementNS(SVG, "polyline"));
    svg.firstChild.setAttribute("points", points.join(" "));
    return svg;
  }

  function drawStreams(fold, trial) {
    const { bits_per_s: rates, rtt_ns: rtts } = trial.measures;
    fold.hidden = !rates && !rtts;
    if (fold.hidden) return;
    const shown = (rates || rtts).streams.map(([stream]) => stream);
    const [byRate, byRtt] = [rates, rtts].map((told) => new Map(told ? told.streams : []));
    const count = Math.max(rates ? rates.count : 0, rtts ? rtts.count : 0);
    const which = count > shown.length
      ? "the " + shown.length / 2 + " slowest and " + shown.length / 2 + " fastest of " +
        count.toLocaleString("en") + " streams"
      : count === 1
      ? "1 stream"
      : "each of " + count + " streams";
    const medians = [
      rates && "median " + formatRate(rates.median),
      rtts && "median RTT " + formatTime(rtts.median),
    ].filter(Boolean);
    write(fold.firstChild, "Streams: " + which + "; " + medians.join(", "));
    if (!fold.open) return;
    const head = ["Stream", "Rate", "RTT"].map((text) => make("th", { scope: "col" }, text));
    const cell = (values, stream, format) =>
      make("td", {}, values.has(stream) ? format(values.get(stream)) : "–");
    const body = shown.map((stream) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, String(stream + 1)),
        cell(byRate, stream, formatRate),
        cell(byRtt, stream, formatTime),
      )
    );
    fill(fold.lastChild, make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body)));
  }

  const write = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  explorer.trialsNow = {
    mount(element) {
      root = element;
    },
    take,
    draw,
    countUnderWay,
    trials,
  };
})();
