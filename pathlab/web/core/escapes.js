// Texts made harmless, as pathlab.escaping makes them: the patterns are those of Python.
import { FORMULA_PATTERN, NUMBER_PATTERN, UNSAFE_PATTERN } from "./constants.js";

const UNSAFE = new RegExp(UNSAFE_PATTERN, "gu");
const FORMULA = new RegExp("^(?:" + FORMULA_PATTERN + ")");
const NUMBER = new RegExp("^(?:" + NUMBER_PATTERN + ")$");

/**
 * Text without a control, and without what turns or hides the text around it.
 * @param {string} text
 */
export function escapeControls(text) {
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
 * A cell that acts on no terminal and that no spreadsheet takes for a formula.
 * @param {string} text
 */
export function escapeCell(text) {
  const safe = escapeControls(text);
  return FORMULA.test(text) && !NUMBER.test(text) ? "'" + safe : safe;
}
