"""Every column is documented with its unit, once, and the page is what the source says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pathlab.store.columns import SERIES_COLUMNS, TABLE_COLUMNS, kind_of, unit_of
from pathlab.store.document import RECORDS, render_page
from pathlab.store.records import SERIES_KINDS
from pathlab.store.schema import METADATA, column_types

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "COLUMNS.md"
PROTOCOL = ROOT / "native" / "PROTOCOL.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), (
        "run: .venv/bin/python -m pathlab.store.document docs/COLUMNS.md"
    )


@pytest.mark.parametrize("table", RECORDS)
def test_every_column_of_a_table_is_described(table: str) -> None:
    described = set(TABLE_COLUMNS[table])
    assert described - {"trial_id"} == set(column_types(RECORDS[table])) - {"trial_id"}
    stored = set(METADATA.tables[table].columns.keys())
    assert described <= stored
    assert stored - described <= {"host_id", "journal_id"}


def test_every_table_but_the_blobs_is_described() -> None:
    assert set(METADATA.tables) - {"meta", "series"} == set(TABLE_COLUMNS)


def test_every_kind_of_series_is_described() -> None:
    assert {kind_of(kind) for kind in SERIES_KINDS} == set(SERIES_COLUMNS)


def test_every_field_of_tcp_info_is_described() -> None:
    words = PROTOCOL.read_text(encoding="utf-8").partition("with the unit added:\n")[2].partition(".\n")[0]
    fields = set(re.findall(r"[a-z_]+", words.replace("`", "")))
    assert {"rtt_us", "snd_wnd_bytes"} <= fields
    assert fields <= set(SERIES_COLUMNS["intervals"])


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("throughput_bits_per_s", "bit/s"),
        ("delivery_rate_bytes_per_s", "byte/s"),
        ("loaded_rtt_mean_ns", "ns"),
        ("sender_cpu_user_s", "s"),
        ("rtt_us", "µs"),
        ("mss_bytes", "bytes"),
        ("host_busy_ratio", "ratio"),
        ("failure", None),
        ("flags", None),
    ],
)
def test_units_follow_from_names(name: str, unit: str | None) -> None:
    assert unit_of(name) == unit
