// Views that were saved by name next to the results: opened by a link, saved, replaced, removed.
import { fill, make, makeLabel } from "./dom.js";

/** @type {App} */
let app;
/** @type {SavedView[]} */
let saved = [];
let asked = 0;
/**
 * @typedef {Object} Parts
 * @property {HTMLElement} status
 * @property {HTMLElement} list
 * @property {HTMLElement} none
 * @property {HTMLInputElement} name
 * @property {HTMLButtonElement} save
 * @property {HTMLFormElement} form
 */
const parts = /** @type {Parts} */ ({});

/** @param {string} name */
const find = (name) => saved.find((one) => one.name === name && one.results === app.table.sources[0].label);

/** @param {string} text */
function say(text) {
  parts.status.textContent = text;
  if (text) app.announce(text);
}

// Somebody else may have saved or removed views meanwhile. An answer that a later question overtook is dropped.
async function refresh() {
  asked += 1;
  const mine = asked;
  try {
    const found = await app.source.views.list();
    if (mine !== asked) return;
    saved = found;
    show();
  } catch (error) {
    say("The saved views could not be read: " + /** @type {Error} */ (error).message);
  }
}

function show() {
  const several = new Set(saved.map((one) => one.results)).size > 1;
  const entries = saved.map((one) =>
    make(
      "li",
      {},
      make("a", { href: "#" + one.view, "aria-current": one.view === app.text ? "true" : null }, one.name),
      several ? make("span", { class: "soft" }, " " + one.results) : null,
      app.source.views.remove
        ? make("button", {
          type: "button",
          class: "close",
          "aria-label": "Remove the view " + one.name,
          on: { click: () => remove(one) },
        }, "×")
        : null,
    )
  );
  fill(parts.list, entries);
  parts.list.hidden = !saved.length;
  parts.none.hidden = Boolean(saved.length);
  rename();
}

// The button says whether a view of this name is replaced.
function rename() {
  if (parts.save) parts.save.textContent = find(parts.name.value.trim()) ? "Replace" : "Save";
}

/** @param {SubmitEvent} event */
async function save(event) {
  event.preventDefault();
  const name = parts.name.value.trim();
  const before = find(name);
  const asked = parts.save.textContent;
  if (!name) {
    say("The view needs a name.");
    parts.name.focus();
    return;
  }
  let text = "Saved as " + name + ".";
  try {
    await app.source.views.save?.(name, app.text, asked === "Replace" && before ? before.view : undefined);
    parts.name.value = "";
  } catch (error) {
    text = "Not saved: " + /** @type {Error} */ (error).message;
  }
  await refresh();
  say(text);
}

/** @param {SavedView} one */
async function remove(one) {
  let text = "Removed the view " + one.name + ".";
  try {
    await app.source.views.remove?.(one.name, one.view, one.results);
  } catch (error) {
    text = "Not removed: " + /** @type {Error} */ (error).message;
  }
  await refresh();
  say(text);
  const next = parts.list.querySelector("button") || parts.name;
  if (next) next.focus();
}

/** @param {HTMLElement} root @param {App} shared */
function mount(root, shared) {
  app = shared;
  parts.status = make("p", { class: "soft", data: { status: "saved" } });
  parts.list = make("ul", { class: "views", hidden: true });
  parts.none = make("p", { class: "soft" }, "No view is saved alongside these results.");
  if (!app.source.views) {
    fill(
      root,
      make(
        "p",
        { class: "soft" },
        "This file cannot save views. Its link holds the view; 'pathlab serve RESULTS' saves views by name.",
      ),
    );
    return;
  }
  if (app.source.views.save) {
    parts.name = make("input", {
      type: "text",
      maxlength: "80",
      autocomplete: "off",
      spellcheck: "false",
      on: { input: rename },
    });
    parts.save = make("button", { type: "submit" }, "Save");
    parts.form = make(
      "form",
      { class: "row", on: { submit: save } },
      makeLabel("Save this view as", parts.name),
      parts.save,
    );
  }
  fill(root, parts.list, parts.none, parts.form, parts.status);
  const fold = root.closest("details");
  if (fold) {
    fold.addEventListener("toggle", () => {
      if (fold.open) refresh();
    });
  }
  window.addEventListener("focus", () => {
    if (!fold || fold.open) refresh();
  });
  refresh();
}

function update() {
  if (!parts.list) return;
  parts.list.querySelectorAll("a").forEach((link) => {
    if (link.getAttribute("href") === "#" + app.text) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
}

/** @type {Panel} */
export const panel = { name: "saved", mount, update };
