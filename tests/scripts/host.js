/// <reference lib="deno.ns" />
// Runs the scripts of the explorer's page without a page, for tests: reads a request a line, answers with a line.
// {"load": text} runs scripts in a world of their own; {"call": function, "argument": value} calls a function there.

/** Enough of a browser for scripts to begin: whatever draws needs a real one. */
const nothing = () => {};
const pencil = { measureText: (/** @type {string} */ text) => ({ width: 6.5 * text.length }) };
const document = {
  readyState: "loading",
  addEventListener: nothing,
  createElement: () => ({ getContext: () => pencil }),
  querySelectorAll: () => [],
  documentElement: { dataset: {} },
};
Object.assign(globalThis, {
  window: globalThis,
  document,
  location: { search: "", hash: "", href: "file:///explorer.html" },
  addEventListener: nothing,
  matchMedia: () => ({ matches: false, addEventListener: nothing }),
  Plotly: {},
});

/** A value as JSON with what JSON has no text for: typed arrays and maps as lists, numbers that are not finite. */
function pack(/** @type {string} */ _name, /** @type {unknown} */ value) {
  if (typeof value === "number" && !Number.isFinite(value)) return { $number: String(value) };
  if (ArrayBuffer.isView(value)) return Array.from(/** @type {Float64Array} */ (value));
  return value instanceof Map ? Array.from(value) : value;
}

/** @param {{load?: string, call?: string, argument?: unknown}} request */
async function answer({ load, call, argument }) {
  if (load !== undefined) {
    Object.assign(globalThis, { pathlabExplorer: undefined });
    (0, eval)(load);
    return null;
  }
  return await (0, eval)("(" + call + ")")(argument);
}

const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
let rest = "";
for await (const part of lines) {
  const [...requests] = (rest + part).split("\n");
  rest = requests.pop() || "";
  for (const request of requests) {
    let written;
    try {
      written = JSON.stringify({ value: await answer(JSON.parse(request)) }, pack);
    } catch (error) {
      written = JSON.stringify({ error: String(error) });
    }
    const bytes = new TextEncoder().encode(written + "\n");
    for (let sent = 0; sent < bytes.length;) sent += Deno.stdout.writeSync(bytes.subarray(sent));
  }
}
