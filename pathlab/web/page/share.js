// The view as link, command and Python code, and its figure as files.
import { fill, make, makeLabel } from "./dom.js";
import { writeCsv } from "../core/figure_csv.js";
import { toImage } from "./figure_panel.js";

const NAME_LETTERS_MAX = 60;
const KEEP_URL_MS = 60000;
/** @type {App} */
let app;
/** @typedef {"csv" | "svg" | "png"} Ending */
/** @typedef {HTMLInputElement | HTMLTextAreaElement} Field */
const parts =
  /** @type {Record<"link" | "command" | "code", Field> & {status: HTMLElement, files: HTMLButtonElement[]}} */ ({});

/**
 * A word of a POSIX shell that means exactly this text.
 * @param {string} text
 */
export function quoteShell(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\"'\"'") + "'";
}

/**
 * The results of the page as words of a command; a name like an option is made a path.
 * @param {Table} table
 */
function listResults(table) {
  return listPaths(table).map((path) => quoteShell(path.startsWith("-") ? "./" + path : path));
}

// A file that was sent to somebody names the folder of its results, not the place where they once were.
/** @param {Table} table */
const listPaths = (table) => table.sources.map((source) => source.path || source.name);

/**
 * A text as Python has it, on one line and in ASCII.
 * @param {string} text
 */
export function quotePython(text) {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (letter) => "\\u" + letter.charCodeAt(0).toString(16).padStart(4, "0"),
  )
    .replace(
      /\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}/g,
      (pair) => "\\U" + JSON.parse('"' + pair + '"').codePointAt(0).toString(16).padStart(8, "0"),
    );
}

/**
 * The command that prints the numbers of the view.
 * @param {Table} table
 * @param {string} text
 */
export function writeCommand(table, text) {
  return ["pathlab view", ...listResults(table), quoteShell(text)].join(" ");
}

/**
 * The Python code that computes the view.
 * @param {Table} table
 * @param {string} text
 */
export function writePython(table, text) {
  const names = listPaths(table).map(quotePython);
  const open = names.length === 1
    ? "pathlab.open(" + names[0] + ")"
    : "pathlab.explore(" + names.join(", ") + ")";
  return "import pathlab\n\nfigure = " + open + ".view(" + quotePython(text) + ").figure()\n";
}

/** @param {string} text */
function writeLink(text) {
  return window.location.href.split("#")[0] + (text ? "#" + text : "");
}

/**
 * A file name that says what the figure shows.
 * @param {Ending} ending
 */
function nameFile(ending) {
  const title = (app.exploration && app.exploration.ys.map((y) => y.column).join("-") || "figure") +
    "-by-" + (app.view.x || "");
  return "pathlab-" +
    title.replace(/[^A-Za-z0-9-]+/g, "_").slice(0, NAME_LETTERS_MAX).replace(/[-_]+$/, "") + "." + ending;
}

/** @param {Blob} content @param {string} name */
function download(content, name) {
  const url = URL.createObjectURL(content);
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(url), KEEP_URL_MS);
}

const writers = {
  csv: async () =>
    new Blob([writeCsv(/** @type {Exploration} */ (app.exploration))], {
      type: "text/csv",
    }),
  svg: async () => toBlob(await toImage({ format: "svg" })),
  png: async () => toBlob(await toImage({ format: "png" })),
};

// A data URL as bytes; fetch could not read it under the page's policy.
/** @param {string} url */
function toBlob(url) {
  const [head, body] = [url.slice(0, url.indexOf(",")), url.slice(url.indexOf(",") + 1)];
  const type = head.slice(5).split(";")[0];
  if (!head.endsWith(";base64")) return new Blob([decodeURIComponent(body)], { type });
  return new Blob([Uint8Array.from(window.atob(body), (letter) => letter.charCodeAt(0))], { type });
}

/** @param {Ending} ending */
async function save(ending) {
  try {
    const name = nameFile(ending);
    download(await writers[ending](), name);
    say("Saved as " + name + ".");
  } catch (error) {
    say("The file could not be made: " + /** @type {Error} */ (error).message);
    console.error(error);
  }
}

/** @param {string} text */
function say(text) {
  parts.status.textContent = text;
  app.announce(text);
}

/** @param {HTMLInputElement | HTMLTextAreaElement} field @param {string} what */
async function copy(field, what) {
  try {
    await window.navigator.clipboard.writeText(field.value);
  } catch {
    field.select(); // no access to the clipboard: the browser's own copy of what is selected
    if (!document.execCommand("copy")) {
      say("The browser does not let this page copy. The " + what + " is selected: press Ctrl+C.");
      return;
    }
  }
  say("Copied the " + what + ".");
}

/** @param {"link" | "command" | "code"} name @param {string} heading @param {number} lines */
function offer(name, heading, lines) {
  const field = lines > 1
    ? make("textarea", { readonly: true, rows: String(lines), wrap: "off", spellcheck: "false" })
    : make("input", { type: "text", readonly: true, spellcheck: "false" });
  parts[name] = field;
  field.classList.add("code");
  return make(
    "div",
    { class: "shared" },
    makeLabel(heading, field),
    make("button", {
      type: "button",
      "aria-label": "Copy the " + name,
      data: { copy: name },
      on: { click: () => copy(field, name) },
    }, "Copy"),
  );
}

/** @param {HTMLElement} root @param {App} shared */
function mount(root, shared) {
  app = shared;
  parts.status = make("p", { class: "soft", data: { status: "share" } });
  /** @type {[Ending, string][]} */
  const kinds = [["csv", "Numbers (CSV)"], ["svg", "Picture (SVG)"], ["png", "Picture (PNG)"]];
  const files = kinds.map(([ending, text]) =>
    make("button", { type: "button", data: { download: ending }, on: { click: () => save(ending) } }, text)
  );
  parts.files = files;
  fill(
    root,
    make("div", { class: "row", role: "group", "aria-label": "Download" }, files),
    offer("link", "Link to this view", 1),
    offer("command", "Command", 1),
    offer("code", "Python", 4),
    parts.status,
  );
}

function update() {
  parts.link.value = writeLink(app.text);
  parts.command.value = writeCommand(app.table, app.text);
  parts.code.value = writePython(app.table, app.text);
  parts.files.forEach((button) => {
    button.disabled = !app.exploration || !app.exploration.facets.length;
  });
}

/** @type {Panel} */
export const panel = { name: "share", mount, update };
