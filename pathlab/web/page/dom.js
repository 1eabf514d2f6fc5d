// Elements of the page, made without markup: text of results is text, whatever it holds, and characters that
// turn the direction of writing or cannot be seen are shown as JSON writes them, as pathlab.escaping does.
import { escapeControls } from "../core/escapes.js";

const READ_OUT = ["title", "aria-label", "placeholder"];
let numbered = 0;

/**
 * An element with its attributes and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag the name of the element
 * @param {Attributes | null} [attributes] `on`: {event: function}; `data`: {name: text}; `class`; true sets
 *   an attribute without a value; false, null and undefined leave it out
 * @param {...Child} children text becomes text nodes
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(attributes?.on || {})) {
        made.addEventListener(event, listener);
      }
    } else if (name === "data") {
      for (const [key, text] of Object.entries(attributes?.data || {})) made.dataset[key] = text;
    } else if (name === "value" || name === "checked" || name === "indeterminate") {
      Object.assign(made, { [name]: value });
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

/** @param {Element} parent @param {Child[]} children */
function append(parent, children) {
  for (const child of /** @type {unknown[]} */ (children).flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : escapeControls(String(child)));
  }
}

/**
 * Replaces the children of an element.
 * @template {Element} Parent
 * @param {Parent} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

/**
 * An id that no other element has.
 * @param {string} prefix
 */
export function makeId(prefix) {
  numbered += 1;
  return prefix + "-" + numbered;
}

/**
 * The element of this one that has the keyboard's focus.
 * @param {Element} root
 */
export function findFocused(root) {
  const focused = document.activeElement;
  return focused instanceof HTMLElement && root.contains(focused) ? focused : null;
}

/**
 * The element of a selector, of which there is one within the root.
 * @param {ParentNode} root
 * @param {string} selector
 */
export function getPart(root, selector) {
  return /** @type {HTMLElement} */ (root.querySelector(selector));
}

/**
 * A control with its label before it.
 * @param {string} text the label
 * @param {HTMLElement} control an input, select or textarea
 * @param {Attributes} [attributes] of the element around both
 */
export function makeLabel(text, control, attributes) {
  control.id = control.id || makeId("field");
  return make("div", { class: "field", ...attributes }, make("label", { for: control.id }, text), control);
}

/**
 * A list to choose from; a change calls `choose(value)`.
 * @param {(Choice | ChoiceGroup)[]} options value and text
 * @param {string} value
 * @param {(value: string) => void} choose
 */
export function makeSelect(options, value, choose) {
  /** @param {Choice} ends */
  const one = ([key, text]) => make("option", { value: key, selected: key === value }, text);
  /** @type {HTMLSelectElement} */
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
