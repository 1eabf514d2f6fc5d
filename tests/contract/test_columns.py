"""Every column is documented with its unit, once, and the page is what the source says."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.errors import Stage
from pathlab.store.column_page import render_column_page
from pathlab.store.flags import Flag, Status
from pathlab.store.schema import METADATA, TABLES, column_types
from pathlab.store.series_columns import SERIES, SERIES_KINDS, find_series_kind

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "COLUMNS.md"
PROTOCOL = ROOT / "native" / "PROTOCOL.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_column_page(), (
        "run: .venv/bin/python -m pathlab.store.column_page docs/COLUMNS.md"
    )


@pytest.mark.parametrize("record", TABLES)
def test_every_column_of_a_table_is_described(record: type) -> None:
    columns = column_types(record)
    assert [name for name, column in columns.items() if not column.meaning] == []
    stored = set(TABLES[record].columns.keys())
    assert columns.keys() <= stored
    assert stored - columns.keys() <= {"host_id", "journal_id", "trial_id"}


def test_every_table_but_the_blobs_is_described() -> None:
    assert set(METADATA.tables) - {"meta", "series"} == {table.name for table in TABLES.values()}


def test_every_column_of_a_series_is_described() -> None:
    assert all(column.meaning for kind in SERIES.values() for column in kind.columns.values())
    assert [find_series_kind(kind) for kind in ("sender_cpu", "lab")] == [SERIES["cpu"], SERIES["lab"]]
    assert len(SERIES_KINDS) == len(set(SERIES_KINDS)) == 33


def test_every_field_of_tcp_info_is_described() -> None:
    words = PROTOCOL.read_text(encoding="utf-8").partition("with the unit added:\n")[2].partition(".\n")[0]
    fields = set(re.findall(r"[a-z_]+", words.replace("`", "")))
    assert {"rtt_us", "snd_wnd_bytes"} <= fields
    assert fields <= SERIES["intervals"].columns.keys()


def list_stage_texts(tree: ast.AST) -> Iterator[str]:
    """Every text that is passed as a ``stage`` or compared with one."""
    for node in ast.walk(tree):
        values: list[ast.AST] = []
        if isinstance(node, ast.keyword) and node.arg in ("stage", "failed_stage"):
            values = [node.value]
        elif isinstance(node, ast.Compare) and getattr(node.left, "attr", "") in ("stage", "failed_stage"):
            values = list(node.comparators)
        yield from (str(value.value) for value in values if isinstance(value, ast.Constant) and value.value)


def test_stages_are_members_and_never_texts() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "pathlab").rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in texts.items() if "stage" in text}
    assert len(trees) > 30
    assert [(path, text) for path, tree in trees.items() for text in list_stage_texts(tree)] == []
    assert [Stage.parse(text) for text in ("lab", "warp", None)] == [Stage.LAB, Stage.AGENT, Stage.AGENT]


def test_members_are_their_texts() -> None:
    assert f"{Status.COMPLETE}, {Flag.LAB_LIMITED}" == "complete, lab-limited"
    assert all(one.meaning for kind in (Status, Stage, Flag) for one in kind)
