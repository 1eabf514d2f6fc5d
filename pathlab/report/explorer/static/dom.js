// Elements of the page, made without markup: text of results is text, whatever it holds, and characters that
// turn the direction of writing or cannot be seen are shown as JSON writes them, as pathlab.escaping does.
(function () {
  "use strict";
  const explorer = window.pathlabExplorer = window.pathlabExplorer || {};
  const UNSAFE = new RegExp(
    "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u061c\\u200b\\u200e\\u200f" +
      "\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]|\\p{Surrogate}|\\r(?!\\n)",
    "gu",
  );
  const READ_OUT = ["title", "aria-label", "placeholder"];
  let numbered = 0;

  /** Text without a control, and without what turns or hides the text around it. */
  function escapeControls(text) {
    return text.replace(
      UNSAFE,
      (found) =>
        Array.from(
          { length: found.length },
          (_, at) => "\\u" + found.charCodeAt(at).toString(16).padStart(4, "0"),
        ).join(""),
    );
  }

  /**
   * An element with its attributes and children.
   * @param {string} tag the name of the element
   * @param {Object<string, *>} [attributes] `on`: {event: function}; `data`: {name: text}; `class`; true sets
   *   an attribute without a value; false, null and undefined leave it out
   * @param {...(Node|string|number|null|undefined|false|Array)} children text becomes text nodes
   * @returns {HTMLElement}
   */
  function make(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") {
        for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
      } else if (name === "data") {
        for (const [key, text] of Object.entries(value)) made.dataset[key] = text;
      } else if (name === "value" || name === "checked" || name === "indeterminate") {
        made[name] = value;
      } else {
        made.setAttribute(
          name,
          value === true ? "" : READ_OUT.includes(name) ? escapeControls(String(value)) : String(value),
        );
      }
    }
    append(made, children);
    return made;
  }

  function append(parent, children) {
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      parent.append(child instanceof Node ? child : escapeControls(String(child)));
    }
  }

  /** Replaces the children of an element. */
  function fill(parent, ...children) {
    parent.replaceChildren();
    append(parent, children);
    return parent;
  }

  /** An id that no other element has. */
  function name(prefix) {
    numbered += 1;
    return prefix + "-" + numbered;
  }

  /**
   * A control with its label before it.
   * @param {string} text the label
   * @param {HTMLElement} control an input, select or textarea
   * @param {Object<string, *>} [attributes] of the element around both
   */
  function label(text, control, attributes) {
    control.id = control.id || name("field");
    return make("div", { class: "field", ...attributes }, make("label", { for: control.id }, text), control);
  }

  /**
   * A list to choose from; a change calls `choose(value)`.
   * @param {Array<[string, string]|{group: string, options: Array<[string, string]>}>} options value and text
   */
  function select(options, value, choose) {
    const one = ([key, text]) => make("option", { value: key, selected: key === value }, text);
    const made = make(
      "select",
      { on: { change: () => choose(made.value) } },
      options.map((entry) =>
        Array.isArray(entry) ? one(entry) : make("optgroup", { label: entry.group }, entry.options.map(one))
      ),
    );
    made.value = value;
    return made;
  }

  explorer.dom = { escapeControls, make, fill, name, label, select };
})();
