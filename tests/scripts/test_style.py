"""What Python and the page both hold: looks of slots, texts of ticks, and characters that are escaped."""

from __future__ import annotations

from pathlab.escaping import escape_controls
from pathlab.report.plots.extents import format_tick
from pathlab.report.plots.style import COLOURS, choose_slot
from tests.scripts.host import ScriptHost

SLOTS = 3 * len(COLOURS)
VALUES = (0, 1, 0.25, 2048, 1e7, 5e5, 123456, 0.00012, 1.5e-5, 99999, 1e5, 12.3456789)
TEXTS = (
    "plain",
    "a\u202eb",
    "\u200b\ufeff",
    "\x1b[31m\x00\x7f\x9f",
    "tab\tand\nbreak",
    "\r\n",
    "\rx",
    "\U000e0041",
    "東京 🛰",
    "\u2028",
)


def test_a_slot_looks_alike_in_reports_and_in_the_explorer(scripts: ScriptHost) -> None:
    found = scripts.evaluate(
        "(count) => Array.from({ length: count }, (_, at) => pathlabExplorer.figure.chooseSlot(at))", SLOTS
    )
    slots = [choose_slot(number) for number in range(SLOTS)]
    assert found == [{"colour": one.colour, "look": one.look, "hatch": one.hatch_look} for one in slots]


def test_a_tick_reads_alike_in_reports_and_in_the_explorer(scripts: ScriptHost) -> None:
    found = scripts.evaluate("(values) => values.map(window.pathlabExplorer.axes.formatTick)", list(VALUES))
    assert found == [format_tick(value) for value in VALUES]


def test_the_page_escapes_the_characters_that_terminals_are_spared(scripts: ScriptHost) -> None:
    escape = "(texts) => texts.map(window.pathlabExplorer.escapes.escapeControls)"
    assert scripts.evaluate(escape, list(TEXTS)) == [escape_controls(text) for text in TEXTS]
