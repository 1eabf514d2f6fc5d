// Where the results come from: the server that sent the page, or the page itself.
import { DOCUMENTS_ID, LEFT_OUT_ID, RESULTS, TABLE_ID, TRIAL } from "../core/constants.js";
import { readTable } from "../core/packed.js";

const WRITE = { "X-PathLab": "1" };

/** @returns {Promise<Source>} */
export function openSource() {
  return document.getElementById(TABLE_ID) ? openExported() : openServed();
}

/**
 * The name of a trial in links and requests: its results and its number, such as A:12.
 * @param {Table} table
 * @param {number} row
 */
export function nameTrial(table, row) {
  const results = table.column(RESULTS);
  return results.levels[results.values[row]] + ":" + readNumber(table.column(TRIAL), row);
}

/** @param {Column} column @param {number} row */
function readNumber(column, row) {
  return column.levels ? column.levels[column.values[row]] : column.values[row];
}

// --- from a server

// Every request names the results that the page read: where others took their place since, it is refused.
let opened = new URLSearchParams(window.location.search).get("open");

/**
 * What the server sends, also where it ends in the midst of it.
 * @template Sent
 * @param {Promise<Sent>} sent
 */
async function reach(sent) {
  try {
    return await sent;
  } catch (error) {
    throw new Error("the server does not answer; is 'pathlab serve' still running?", { cause: error });
  }
}

/**
 * @param {string} path
 * @param {Record<string, unknown>} [parameters] of the query; those without a value are left out
 * @param {RequestInit} [options]
 */
async function request(path, parameters, options) {
  const given = Object.entries({ open: opened || null, ...parameters });
  const query = new URLSearchParams(
    given.flatMap(([name, value]) => value === undefined || value === null ? [] : [[name, String(value)]]),
  ).toString();
  const answer = await reach(
    begun() || fetch(path + (query ? "?" + query : ""), { cache: "no-store", ...options }),
  );
  if (!answer.ok) {
    throw Object.assign(new Error(await explain(answer)), { status: answer.status });
  }
  return answer;
}

// The first request, which begin.js has sent already.
function begun() {
  const first = window.pathlabBegun;
  window.pathlabBegun = null;
  return first;
}

/** @param {Response} answer */
async function explain(answer) {
  const text = (await answer.text()).trim();
  try {
    const { error, hint } = JSON.parse(text);
    return hint ? error + " (fix: " + hint + ")" : error;
  } catch {
    return text || "the server answered with status " + answer.status;
  }
}

/** @param {string} path @param {Record<string, unknown>} [parameters] */
const requestJson = async (path, parameters) =>
  JSON.parse(await reach((await request(path, parameters)).text()));

/** @param {string} method @param {string} path @param {object} content */
function send(method, path, content) {
  return request(path, {}, {
    method,
    headers: { ...WRITE, "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
}

/** @returns {Promise<Source>} */
async function openServed() {
  const answer = await request("api/results");
  opened = answer.headers.get("X-PathLab-Open");
  const table = readTable(await reach(answer.arrayBuffer()));
  /** @param {string} action */
  const steer = (action) => send("POST", "api/control", { action });
  return {
    mode: "served",
    table,
    opened,
    live: Boolean(table.header.live),
    notices: [],
    trial: (row) => requestJson("api/trial/" + encodeURIComponent(nameTrial(table, row))),
    course(row, { kind, column, start, end, pixels }) {
      const series = column ? kind + "." + column : kind;
      return requestJson("api/course/" + encodeURIComponent(nameTrial(table, row)), {
        series,
        start,
        end,
        pixels,
      });
    },
    verdicts: (text) => requestJson("api/verdicts", { view: text }),
    published: () => requestJson("api/published"),
    plan: (results, first, count) => requestJson("api/plan", { results, first, count }),
    views: {
      list: () => requestJson("api/views"),
      save: (name, view, replaces) => send("PUT", "api/views", { name, view, replaces }),
      remove: (name, view, results) => send("DELETE", "api/views", { name, view, results }),
    },
    control: table.header.control
      ? { stop: () => steer("stop"), pause: () => steer("pause"), resume: () => steer("resume") }
      : null,
  };
}

// --- from the page itself

/** @param {string} encoded */
function decode(encoded) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(encoded);
  const text = window.atob(encoded);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** @param {string} id */
const getText = (id) => document.getElementById(id)?.textContent || "";

/** @param {string} id */
async function unpack(id) {
  if (!("DecompressionStream" in window)) {
    throw new Error("this browser is too old for the page; use one of 2023 or later");
  }
  const bytes = decode(getText(id));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** @returns {Promise<Source>} */
async function openExported() {
  const table = readTable(await unpack(TABLE_ID));
  document.getElementById(TABLE_ID)?.remove(); // its text takes several megabytes
  /** @type {Promise<ExportedDocuments> | null} */
  let reading = null;
  const documents = () => {
    reading = reading || unpack(DOCUMENTS_ID).then((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
    return reading;
  };
  /**
   * @template {"trials" | "courses" | "verdicts"} Kind
   * @param {Kind} part
   * @param {string} key
   * @param {string} why
   * @returns {Promise<ExportedDocuments[Kind][string]>}
   */
  const pick = async (part, key, why) => {
    const found = (await documents())[part];
    if (!found || !Object.hasOwn(found, key)) throw new Error(why);
    return /** @type {ExportedDocuments[Kind][string]} */ (found[key]);
  };
  return {
    mode: "exported",
    table,
    live: false,
    notices: JSON.parse(getText(LEFT_OUT_ID)),
    trial: (row) =>
      pick(
        "trials",
        nameTrial(table, row),
        "this file leaves out the details of this trial; 'pathlab serve RESULTS' shows them",
      ),
    course: (row, { kind, column }) =>
      pick(
        "courses",
        nameTrial(table, row) + " " + kind + "." + column,
        "this file leaves out this series; 'pathlab serve RESULTS' shows it",
      ),
    verdicts: (text) =>
      pick(
        "verdicts",
        text,
        "this file holds those of its first view and of saved views; 'pathlab serve RESULTS' shows all",
      ),
    published: async () => (await documents()).published,
    views: { list: async () => (await documents()).views },
    control: null,
    plan: null,
  };
}
