"""The explorer's scripts have their constants and names of columns from Python."""

from __future__ import annotations

import re
from pathlib import Path

from pathlab import web
from pathlab.report.explorer.script_constants import COLUMNS, GROUPS, render_constants
from pathlab.store.records import TrialRecord
from pathlab.store.schema import column_types
from pathlab.study.exploration.column_labels import LABELS

FOLDER = Path(web.__file__).parent
CONSTANTS = FOLDER / "core" / "constants.js"
#: A column that is asked for, and one that another is compared with.
_ASKED = re.compile(r'(?:\.column\(|\bname === |\.colour === |\.x === )"(\w+)"')


def test_the_scripts_have_the_constants_of_this_program() -> None:
    assert CONSTANTS.read_text(encoding="utf-8") == render_constants(), "next: make pages"
    names = [name for group in GROUPS.values() for name in group]
    assert len({*names}) == len(names)


def test_every_constant_is_used_by_a_script() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in _list_scripts())
    assert [name for group in GROUPS.values() for name in group if not re.search(rf"\b{name}\b", text)] == []


def test_no_script_has_the_name_of_a_column() -> None:
    known = {*column_types(TrialRecord), *LABELS}
    named = {name for name in known if "_" in name}
    for file in _list_scripts():
        text = file.read_text(encoding="utf-8")
        found = {*re.findall(r'"(\w+)"', text)} & named | {*_ASKED.findall(text)} & known
        assert not found, file.name


def test_columns_that_scripts_ask_for_have_labels() -> None:
    names = [name for value in COLUMNS.values() for name in ([value] if isinstance(value, str) else value)]
    assert {*names} <= LABELS.keys() | {*column_types(TrialRecord)} | {"message_bytes", "streams"}


def _list_scripts() -> list[Path]:
    return [file for part in ("core", "page") for file in (FOLDER / part).glob("*.js") if file != CONSTANTS]
