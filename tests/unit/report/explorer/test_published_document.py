"""Published tables in the units of the explorer's columns."""

import json

import pytest

from pathlab.reference.series import list_tables
from pathlab.report.explorer.published_document import list_published


def test_every_published_table_is_offered_with_its_source_and_condition() -> None:
    found = {one["id"]: one for one in list_published()}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert tuple(found) == list_tables()
    for one in found.values():
        assert one["source"].startswith("IBM, InfoSphere Streams ")
        assert "Xeon X5570" in one["condition"]
        assert one["needs"] == "message_bytes"
        for curve in one["curves"]:
            assert all(len(figures) == len(one["levels"]) for figures in curve["y"].values())


def test_rates_are_as_printed_and_messages_follow_from_their_size() -> None:
    (table,) = [one for one in list_published() if one["id"] == "ibm-streams-3.0-internode"]
    assert (table["title"], table["x"], table["levels"][0]) == ("Streams 3.0 internode", "message_bytes", 4)
    (plain,) = [one for one in table["curves"] if one["name"] == "Streams 3.0 internode: tcp"]
    assert plain["y"]["throughput_bits_per_s"][0] == pytest.approx(60)  # 0.06 Gbit/s in Mbit/s
    assert plain["y"]["messages_per_s"][0] == pytest.approx(0.06e9 / 32)


def test_receivers_are_streams_and_have_no_message_rate() -> None:
    (table,) = [one for one in list_published() if "fan-out" in one["id"]]
    assert table["x"] == "streams"
    assert {name for curve in table["curves"] for name in curve["y"]} == {"throughput_bits_per_s"}
