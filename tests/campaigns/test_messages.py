"""Campaigns whose levels are of messages: what reaches the engine, where both ends run, and what is left."""

from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.engines.settings import Options
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session
from tests.integration.conducting import AB, LAB, campaign_of, run, settings, stored
from tests.require import require_namespaces

pytestmark = pytest.mark.engine

LOCAL_TRANSPORTS = ["unix", "unix-datagram", "pipe", "shared-memory", "eventfd"]


def find_unix_names(prefixes: set[str]) -> set[str]:
    """Those of the prefixes with which the name of a unix socket begins (proc(5): the last field)."""
    names = [line.split()[-1] for line in Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()]
    return {prefix for prefix in prefixes if any(name.startswith(prefix) for name in names)}


def test_every_factor_of_messages_reaches_the_engine(tmp_path: Path) -> None:
    factors = {
        "streams": [1],
        "message": [64],
        "message_rate": [2000],
        "batch": ["4KiB"],
        "batch_min_delay": ["1ms"],
        "batch_max_delay": ["2ms"],
        "encoding": ["protobuf"],
        "reply": [True],
        "wait": ["poll"],
    }
    outcome = run(campaign_of(factors=factors), tmp_path / "out")
    assert (outcome.complete, outcome.failed) == (1, 0)
    reported = settings(tmp_path / "out", 1)
    for name, value in {
        "message_bytes": "64",
        "message_rate_per_s": "2000",
        "batch_bytes": "4096",
        "batch_min_delay_ns": "1000000",
        "batch_max_delay_ns": "2000000",
        "encoding": "protobuf",
        "reply": "yes",
        "wait": "poll",
    }.items():
        assert (reported[name]["requested"], reported[name]["sender"]) == (value, value)
    assert reported["message_bytes"]["receiver"] == "64"
    (record,) = stored(tmp_path / "out")
    assert not [flag for flag in record.flags if flag.endswith("-granted")]
    assert record.loaded_received
    # Corked, a message waits for others: as fast as possible, so that they come.
    corked = campaign_of(factors={"streams": [1], "message": [64], "cork": [True]})
    assert run(corked, tmp_path / "corked").complete == 1
    assert settings(tmp_path / "corked", 1)["cork"]["sender"] == "yes"


def test_local_transports_carry_messages_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Session.start_engine
    asked: list[str] = []
    listening: list[str] = []

    def start_and_keep(self: Session, subcommand: str, options: Options, **rest: Any) -> EngineJob:
        if subcommand == "send":  # when the receiver listens
            asked.append(str(options["address"]))
            listening.extend(find_unix_names({asked[-1]}))
        return started(self, subcommand, options, **rest)

    monkeypatch.setattr(Session, "start_engine", start_and_keep)
    factors = {"streams": [1], "message": [64], "transport": LOCAL_TRANSPORTS, "reply": [False, True]}
    outcome = run(campaign_of(factors=factors), tmp_path / "out")
    assert (outcome.complete, outcome.failed) == (len(LOCAL_TRANSPORTS) * 2, 0)
    # Other programs on this machine may have such sockets, too: only these trials' names count.
    assert listening == asked
    assert len(set(asked)) == len(LOCAL_TRANSPORTS) * 2
    assert find_unix_names(set(asked)) == set()
    for number, record in enumerate(stored(tmp_path / "out"), start=1):
        transport = settings(tmp_path / "out", number)["transport"]
        assert transport["requested"] == transport["sender"] == transport["receiver"]
        assert record.received_total_bytes
        assert not [flag for flag in record.flags if flag.endswith("-granted")]


@pytest.mark.netns
def test_both_ends_run_where_the_placement_says(tmp_path: Path) -> None:
    require_namespaces()
    placements = ["host", "process", "threaded", "fused"]
    factors: dict[str, Any] = {"streams": [1], "message": [1000], "placement": placements}
    extra: dict[str, Any] = {
        "cool_down": {"until_idle": True, "pause": "0ms", "max_wait": "1min"},
        "probes": {"interval": "10ms", "unloaded": 20},
    }
    outcome = run(campaign_of(factors=factors, lab=LAB, paths=AB, **extra), tmp_path / "out")
    assert (outcome.complete, outcome.failed) == (4, 0)
    across, *near = stored(tmp_path / "out")
    assert across.source_address != across.destination_address
    assert "lab" in across.flags
    assert (across.unloaded_rtt_min_ns or 0) > 9e6
    for number, record in enumerate(near, start=2):
        assert (record.path_source, record.path_destination) == ("a", "b")
        assert record.source_address == record.destination_address == across.source_address
        assert (record.unloaded_rtt_min_ns or 1e9) < (across.unloaded_rtt_min_ns or 0)  # the host itself
        assert {"not-drained", "over-line-rate", "lab-limited"}.isdisjoint(record.flags)
        placement = settings(tmp_path / "out", number)["placement"]
        stated = None if placement["requested"] == "process" else placement["requested"]
        assert placement["sender"] == placement["receiver"] == stated
    with pathlab.open(tmp_path / "out") as results:
        assert ["lab_links" in results.series_kinds(number) for number in range(1, 5)] == [True, *[False] * 3]
        links = results.series_table(1, "lab_links").to_pylist()
    carried = [line["value"] for line in links if line["name"] == "delivered_bytes"]
    assert max(carried) >= (across.received_total_bytes or 0) > 0


def test_a_transfer_of_messages_ends_when_it_is_done(tmp_path: Path) -> None:
    factors = {"streams": [1], "message": [1000], "transfer": ["1MB"], "duration": ["20s"]}
    assert run(campaign_of(factors=factors), tmp_path / "transfer").complete == 1
    (record,) = stored(tmp_path / "transfer")
    assert (record.received_total_bytes or 0) >= 1_000_000
