"""What limits trials on links whose losses, queues and readers are known: limit, text and counters.

The link's rate is hidden from the verdicts here, as over a real path. A trial that a busy machine disturbed
(lab-limited) is classified by no analysis, and not here.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading
from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.analysis.verdicts.limits import Limit
from pathlab.campaign.load import build_campaign
from pathlab.lab.topology import Link, Topology
from pathlab.report.trials.limit_text import format_limit
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.series import build_series
from pathlab.store.flags import Flag, Status
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults, Study
from pathlab.study.flows.readings import LIMIT_SERIES, TrialSeries, read_flow
from pathlab.study.flows.trial_limit import SingleLimit, classify_record, describe_limit
from tests.builders.results import with_series
from tests.builders.sweeps import make_sweep
from tests.lab.labs import make_lab
from tests.lab.programs import run_in
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

TRAFFIC = Path(__file__).with_name("traffic.py")


class Trial(NamedTuple):
    """What limited a trial, without and with the rate of the link, and what the link counted."""

    limit: SingleLimit
    known: SingleLimit
    links: Mapping[tuple[str, str], int]


def run(
    folder: Path,
    link: dict[str, Any],
    *rows: dict[str, Any],
    warmup: str = "1s",
    duration: str = "2s",
    lab_retries: int = 3,
) -> list[Trial]:
    """The trials over a link that no busy machine disturbed, the last of each row."""
    require_engine()
    require_namespaces()
    data = {
        "format": 1,
        "name": "limits",
        "title": "Limits",
        "seed": 1,
        "order": "given",
        "design": "explicit",
        "paths": [{"source": "a", "destination": "b"}],
        "factors": {"streams": 1, "window": "4MiB", "congestion": "cubic"},
        "rows": list(rows),
        "cycles": 1,
        "lab_retries": lab_retries,
        "trial": {"warmup": warmup, "duration": duration},
        "probes": {"interval": "20ms", "unloaded": 20},
        "lab": {"hosts": ["a", "b"], "links": [{"between": ["a", "b"], **link}]},
    }
    campaign = build_campaign(data, label="limits")
    run_campaign(CampaignSource(campaign=campaign, text=""), folder, lambda _event: None)
    with StudiedResults.open(folder) as studied:
        named = {trial.trial_id for cell in Study(studied).limits() for trial in cell.result.trials}
    found: dict[int, Trial] = {}
    with Results.open(folder) as results:
        for trial_id, record in results.records_by_id().items():
            assert record.status == Status.COMPLETE
            assert (trial_id in named) is (Flag.LAB_LIMITED not in record.flags)
            if trial_id in named:
                known = classify_record(results, trial_id, record, reverse=False)
                limit = describe_limit(replace(known.reading, line_bits_per_s=None))
                rows_of = results.series(trial_id, "lab_links").itertuples()
                links = {(str(one.direction), str(one.name)): int(str(one.value)) for one in rows_of}
                found[record.plan_row] = Trial(limit, known, links)
    return list(found.values())


def test_few_losses_are_no_limit(tmp_path: Path) -> None:
    link = {"rate": "60Mbit/s", "delay": "10ms", "queue": "500kB", "loss": "0.02%"}
    for trial in run(tmp_path / "results", link, {"window": "256KiB"}):
        lost = trial.limit.reading.lost_segments
        assert lost <= trial.links["forward", "lost_packets"] + 1
        if lost < 10:
            assert trial.limit.verdict.limit is not Limit.CONGESTION
            assert "after losses" not in format_limit(trial.limit)


def test_losses_limit_cubic_and_not_bbr(tmp_path: Path) -> None:
    link = {"rate": "40Mbit/s", "delay": "20ms", "queue": "400kB", "loss": "2%"}
    for trial in run(tmp_path / "results", link, {"streams": 4}, {"streams": 4, "congestion": "bbr"}):
        reading, text = trial.limit.reading, format_limit(trial.limit)
        assert trial.links["forward", "lost_packets"] >= 10
        if reading.congestion == "bbr":
            assert trial.limit.verdict.limit is not Limit.CONGESTION
            assert trial.known.verdict.limit is not Limit.CONGESTION
        else:
            assert trial.limit.verdict.limit is Limit.CONGESTION
            assert f"{reading.lost_segments:.0f} segments were lost" in text


@pytest.mark.parametrize(
    ("rate", "rows"),
    [
        ("20Mbit/s", [{"streams": 4}, {"streams": 6}, {"streams": 1, "congestion": "bbr"}]),
        ("60Mbit/s", [{"streams": 8}, {"streams": 16}]),
    ],
    ids=["few streams", "many streams"],
)
def test_a_queue_of_nothing_is_a_rate_limit(tmp_path: Path, rate: str, rows: list[dict[str, Any]]) -> None:
    link = {"rate": rate, "delay": "10ms", "queue": "6kB"}
    trials = run(tmp_path / "results", link, *rows, duration="4s")
    for trial in trials:
        assert trial.links["forward", "queue_dropped_packets"] >= 10
        limit = trial.limit.verdict.limit
        assert limit in (Limit.RATE_LIMIT, Limit.CONGESTION, None)
        # How far a rate swings that a policer holds is chance; the verdict follows what was measured.
        flat = trial.limit.met("rate_spread_ratio") and trial.limit.met("loss_steadiness_ratio")
        if limit is Limit.CONGESTION:
            assert not flat
        if limit is Limit.RATE_LIMIT:  # BBR's rate is that of the path, however the losses fall
            assert trial.limit.met("rate_spread_ratio")
            assert "a rate limit of the path (steady at" in format_limit(trial.limit)


def test_a_queue_on_the_way_back_is_named(tmp_path: Path) -> None:
    link = {"rate": "50Mbit/s", "delay": "10ms", "queue": "250kB"}
    link["reverse"] = {"rate": "400kbit/s", "queue": "20kB"}  # type: ignore[assignment]
    for trial in run(tmp_path / "results", link, {"streams": 4}, {"window": "auto"}):
        assert trial.links["forward", "queue_dropped_packets"] == 0
        assert trial.limit.verdict.limit is Limit.RETURN_PATH
        assert trial.known.verdict.limit is Limit.RETURN_PATH
        assert "the path's capacity" not in format_limit(trial.known)


def test_a_way_back_that_is_far_slower_is_the_limit_and_not_the_path(tmp_path: Path) -> None:
    """10 Mbit/s there and 60 kbit/s back, over 80 ms: trials that a busy machine disturbed are read too.

    What the link counts says which way was full, whatever else the machine did.
    """
    link = {"rate": "10Mbit/s", "delay": "40ms", "queue": "100kB"}
    link["reverse"] = {"rate": "60kbit/s", "queue": "10kB"}  # type: ignore[assignment]
    rows = ({"streams": 1}, {"streams": 4})
    run(tmp_path / "results", link, *rows, warmup="3s", duration="4s", lab_retries=0)
    with Results.open(tmp_path / "results") as results:
        records = results.records_by_id()
        assert len(records) == len(rows)
        for trial_id, record in records.items():
            found = classify_record(results, trial_id, record, reverse=False)
            counted = results.series(trial_id, "lab_links")
            dropped = counted[
                (counted["direction"] == "forward") & (counted["name"] == "queue_dropped_packets")
            ]
            assert int(dropped["value"].sum()) == 0
            assert found.verdict.limit is Limit.RETURN_PATH
            assert "a queue on the return path" in format_limit(found)
    with StudiedResults.open(tmp_path / "results") as studied:
        limits = {cell.result.limit for cell in Study(studied).limits()}
    assert limits <= {Limit.RETURN_PATH, None}  # None: the machine disturbed them


def test_a_second_of_queue_on_the_way_there_is_the_paths(tmp_path: Path) -> None:
    link = {"rate": "3Mbit/s", "delay": "20ms", "queue": "450kB"}
    for trial in run(tmp_path / "results", link, {"streams": 4, "window": "1MiB"}, warmup="3s"):
        assert trial.limit.verdict.limit is Limit.PATH_CAPACITY
        assert trial.limit.met("forward_share_ratio")
        assert "a queue adds" in format_limit(trial.limit)


def test_a_receiver_that_does_not_read_is_named() -> None:
    engine = require_engine()
    link = Link(between=("a", "b"), rate_bits_per_s=100_000_000, delay_ns=10_000_000, queue_bytes=500_000)
    times = ("--warmup", "500ms", "--duration", "1s")
    common = ("--interval", "100ms", "--congestion", "cubic", "--output", "json", *times)
    with make_lab(Topology(hosts=("a", "b"), links=(link,))) as lab:
        address = lab.topology.address("b", "a")
        with run_in(lab, "b", engine, "receive", "--bind", address, *common) as receiver:
            receiver.wait_for('"listening"')
            options = (f"address={address}", "port=5210", "buffer_bytes=300000", "pause_s=0.02")
            with run_in(lab, "b", sys.executable, str(TRAFFIC), "relay-slowly", *options) as relay:
                port = relay.wait_for("ready").split()[1]
                with run_in(lab, "a", engine, "send", address, "--port", port, *common) as sender:
                    sent = [json.loads(line) for line in sender.finish().splitlines()]
                received = [json.loads(line) for line in receiver.finish().splitlines()]
    tables = build_series(TrialData(sender=sent, receiver=received))
    frames = {kind: table.to_pandas() for kind, table in tables.items()}
    figures = FlowReading(
        streams=(StreamReading(),),
        throughput_bits_per_s=8e6,
        rtt_unloaded_ns=20e6,
        hosts=(HostLoad(), HostLoad()),
        congestion="cubic",
    )
    source = with_series(make_sweep(1, levels=[(1, None)]), frames)
    found = describe_limit(read_flow(TrialSeries(source, 1, LIMIT_SERIES), figures, None, reverse=False))
    assert found.verdict.limit is Limit.RECEIVING_APPLICATION
    assert "it left data unread" in format_limit(found)
