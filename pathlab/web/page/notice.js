// Notices: mistakes of the link, states of the results, failures. Each says what is wrong and the next step.
import { fill, make } from "./dom.js";

/** @type {HTMLElement} */
let root;
/** @type {App} */
let app;

function show() {
  fill(
    root,
    Array.from(app.notices, ([key, { text, kind }]) =>
      make(
        "p",
        { class: kind === "info" ? "info" : "warning" },
        kind === "info" ? null : make("strong", null, "Warning. "),
        text,
        make("button", {
          type: "button",
          class: "close",
          "aria-label": "Dismiss: " + text,
          on: { click: () => app.withdraw(key) },
        }, "×"),
      )),
  );
}

/** @type {Panel} */
export const panel = {
  name: "notice",
  early: true,
  /** @param {HTMLElement} element @param {App} shared */
  mount(element, shared) {
    [root, app] = [element, shared];
    app.on("notices", (all) => {
      show();
      const texts = Array.from(all.values(), (one) => one.text);
      if (texts.length) app.announce(texts[texts.length - 1]);
    });
    show();
  },
};
