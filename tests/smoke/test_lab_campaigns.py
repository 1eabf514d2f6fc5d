"""One tiny campaign of each kind, in a lab: run, reported and checked."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import pathlab
from pathlab.store.flags import Flag
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.store.usable import is_usable
from tests.command_line import call
from tests.require import require_engine, require_mptcp, require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns]

CAMPAIGN = """
format = 1
name = "{name}"
title = "In short: {name}"
seed = 7
order = "given"
{top}
[[paths]]
source = "a"
destination = "b"
[factors]
{factors}
[trial]
warmup = "20ms"
duration = "150ms"
interval = "50ms"
drain = "30s"
[probes]
interval = "10ms"
unloaded = 2
{tables}
[lab]
hosts = ["a", "b"]
links = [{links}]
"""
LINK = '{ between = ["a", "b"], rate = "20Mbit/s", delay = "1ms", queue = "100kB" }'


def count_carried(results: Results, trial_id: int) -> int:
    """What the links delivered from a to b in a trial, with the probes, in bytes."""
    return sum(
        line["value"]
        for line in results.series_table(trial_id, "lab_links").to_pylist()
        if (line["direction"], line["name"]) == ("forward", "delivered_bytes")
    )


def check_bytes(results: Results, trial_id: int, record: TrialRecord) -> None:
    """Both ends and the links agree on what was carried."""
    rows = results.series_table(trial_id, "receiver_intervals").to_pylist()
    assert record.received_total_bytes
    assert record.received_total_bytes == sum(row["bytes"] for row in rows)
    assert record.sent_total_bytes == record.received_total_bytes + (record.undelivered_bytes or 0)
    assert count_carried(results, trial_id) > record.received_total_bytes


def check_datagrams(results: Results, trial_id: int, record: TrialRecord) -> None:
    assert record.udp_sent_packets
    assert record.udp_sent_packets == (record.udp_received_packets or 0) + (record.udp_lost_packets or 0)
    assert record.udp_foreign_packets == 0
    assert count_carried(results, trial_id) > (record.received_total_bytes or 0) > 0


def check_messages(results: Results, trial_id: int, record: TrialRecord) -> None:
    assert (record.messages_missing, record.messages_out_of_order) == (0, 0)
    assert record.messages_total
    assert record.received_total_bytes == record.messages_total * 64
    check_bytes(results, trial_id, record)


def check_technology(results: Results, trial_id: int, record: TrialRecord) -> None:
    assert record.messages_missing == 0
    assert record.round_trips
    assert record.adapter_versions
    assert count_carried(results, trial_id) > record.round_trips * 64


def check_subflows(results: Results, trial_id: int, record: TrialRecord) -> None:
    check_bytes(results, trial_id, record)
    used = {
        line["link"]
        for line in results.series_table(trial_id, "lab_links").to_pylist()
        if (line["direction"], line["name"]) == ("forward", "delivered_bytes") and line["value"] > 10_000
    }
    bond = results.plan()[record.plan_row].settings["bond"]
    assert used == {"link-1": {0}, "link-2": {1}, "mptcp": {0, 1}}[bond]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of campaign: its text, the check of each of its trials, and how many rows it has."""

    factors: str
    check: Callable[[Results, int, TrialRecord], None]
    rows: int | None
    top: str = ""
    tables: str = ""
    links: str = LINK


KINDS = {
    "windows": Kind(
        factors='streams = [1, 2]\nwindow = "32KiB"\ncongestion = "reno"', check=check_bytes, rows=2
    ),
    "datagrams": Kind(
        factors='streams = 1\ntransport = "udp"\ndatagram = "500B"\npacing = ["1Mbit/s", "2Mbit/s"]',
        check=check_datagrams,
        rows=2,
    ),
    "messages": Kind(
        factors="streams = 1\nmessage = 64\nreply = [false, true]\nno_delay = true\nmessage_rate = 500",
        check=check_messages,
        rows=2,
    ),
    "technologies": Kind(
        factors='streams = 1\nmessage = 64\nreply = true\nno_delay = true\nengine = ["tcp-python"]',
        check=check_technology,
        rows=1,
    ),
    "links": Kind(
        factors='bond = ["link-1", "link-2", "mptcp"]\ntransport = ["tcp", "mptcp"]\nstreams = 2',
        top="where = \"(bond == 'mptcp') == (transport == 'mptcp')\"",
        check=check_subflows,
        rows=3,
        links=f"{LINK}, {LINK}",
    ),
    "lossless-rate": Kind(
        factors='streams = 1\ntransport = "udp"\ndatagram = "200B"',
        tables='[search]\nloss = "20%"\nlowest = "700kbit/s"\nhighest = "1400kbit/s"\nresolution = "50%"',
        check=check_datagrams,
        rows=None,
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_campaign_of_each_kind_is_run_reported_and_checked(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require_namespaces()
    require_engine()
    kind, out = KINDS[name], tmp_path / "out"
    if name == "links":
        require_mptcp()
    text = CAMPAIGN.format(
        name=name, factors=kind.factors, top=kind.top, tables=kind.tables, links=kind.links
    )
    (tmp_path / "campaign.toml").write_text(text, encoding="utf-8")
    ran = call(["run", str(tmp_path / "campaign.toml"), "--out", str(out)], capsys)
    with pathlab.open(out) as results:
        usable = [number for number, record in results.records_by_id().items() if is_usable(record)]
        assert ran.status == (0 if usable else 7), ran.err
        plan = [row.row for row in results.plan()]
        complete = {
            number: record
            for number, record in results.records_by_id().items()
            if record.status == "complete"
        }
        assert plan == list(range(kind.rows or len(plan)))
        # A trial in which a host stalled is measured again.
        assert sorted({record.plan_row for record in complete.values()}) == plan
        for number, record in complete.items():
            assert Flag.LAB in record.flags
            assert record.unloaded_sent == 2
            assert not [flag for flag in record.flags if flag.endswith("-granted")]
            kind.check(results, number, record)
    assert f"In short: {name}" in (out / "report.html").read_text(encoding="utf-8")
    checked = call(["results", "check", str(out)], capsys)
    assert (checked.status, checked.err) == (0, "")
