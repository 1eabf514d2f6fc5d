"""``[trial] capture = "headers"``: what a run keeps beside its results, and what it says where it cannot."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.utils import RawPcapNgReader

import pathlab
from pathlab.errors import HostError
from pathlab.report.inputs import ReportInputs
from pathlab.report.sections.trials import plot_trial
from pathlab.store.capture_files import FOLDER
from pathlab.store.check import check_results
from pathlab.store.flags import Flag
from pathlab.study.analyses import StudiedResults
from tests.integration.conducting import AB, LAB, campaign_of, journal, run, stored
from tests.patience import PATIENCE_S
from tests.require import require

pytestmark = [pytest.mark.engine, pytest.mark.netns]

CAPTURE = {"warmup": "20ms", "duration": "200ms", "interval": "20ms", "drain": "2s", "capture": "headers"}


def read_packets(path: Path) -> list[Any]:
    with RawPcapNgReader(str(path)) as reader:
        return [IP(data) for data, _ in reader]


def test_both_ends_of_each_trial_are_kept_from_the_first_syn_on(tmp_path: Path) -> None:
    factors = {"streams": [2], "direction": ["forward", "reverse"]}
    run(campaign_of(paths=AB, lab=LAB, trial=CAPTURE, factors=factors), tmp_path)
    records = stored(tmp_path)
    assert [record.status for record in records] == ["complete"] * 2
    with pathlab.open(tmp_path) as results:
        captures = results.captures()
    assert [(one.trial_id, one.end) for one in captures] == [
        (number, end) for number in (1, 2) for end in ("sender", "receiver")
    ]
    for capture in captures:
        packets = read_packets(capture.path)
        assert (len(packets), capture.dropped_packets) == (capture.packets, 0)
        assert packets[0][TCP].flags == "S"
        assert len({packet[TCP].sport for packet in packets if packet[TCP].flags == "S"}) == 2
    assert [record.capture_sender_missing for record in records] == [None, None]
    assert not any(Flag.CAPTURE_INCOMPLETE in record.flags for record in records)
    checked = check_results(tmp_path)
    assert checked.faults == checked.notes == ()


def test_what_shows_results_names_the_files(tmp_path: Path) -> None:
    run(campaign_of(paths=AB, lab=LAB, trial=CAPTURE), tmp_path)
    (tmp_path / FOLDER / "trial-1-receiver.pcapng").unlink()
    show = [sys.executable, "-m", "pathlab", "results", "show", str(tmp_path)]
    text, document = (
        subprocess.run(
            [*show, *more], capture_output=True, text=True, timeout=2 * PATIENCE_S, check=True
        ).stdout
        for more in ([], ["--json"])
    )
    lines = [line for line in " ".join(text.split()).split("trial 1: ") if line.startswith("capture ")]
    assert lines[0].startswith("capture captures/trial-1-sender.pcapng, ")
    assert "the file was deleted" not in lines[0]
    assert lines[1].split("; ")[1].startswith("the file was deleted")
    listed = json.loads(document)["captures"]
    assert [(one["end"], one["exists"]) for one in listed] == [("sender", True), ("receiver", False)]
    with StudiedResults.open(tmp_path) as stored_results:
        plot = plot_trial(ReportInputs(stored_results), 1)
    assert "Packet headers of the sender: captures/trial-1-sender.pcapng (" in plot.sentence


def test_nothing_is_recorded_unless_it_is_requested(tmp_path: Path) -> None:
    run(campaign_of(paths=AB, lab=LAB), tmp_path)
    assert not (tmp_path / FOLDER).exists()
    assert stored(tmp_path)[0].capture_sender_packets is None


def test_udp_flows_and_mptcp_subflows_are_recorded(tmp_path: Path) -> None:
    factors = {"transport": ["udp", "mptcp"], "streams": [2]}
    run(campaign_of(paths=AB, lab=LAB, trial=CAPTURE, factors=factors, order="given"), tmp_path)
    by_transport = {}
    with pathlab.open(tmp_path) as results:
        for capture in results.captures():
            packets = read_packets(capture.path)
            by_transport[capture.trial_id, capture.end] = {packet.proto for packet in packets}
    assert by_transport == {
        (1, "sender"): {6, 17},
        (1, "receiver"): {6, 17},
        (2, "sender"): {6},
        (2, "receiver"): {6},
    }


def test_a_capture_that_reaches_its_limit_says_so_and_the_trial_stays(tmp_path: Path) -> None:
    trial = {**CAPTURE, "duration": "2s", "interval": "100ms", "capture_bytes": "64KiB"}  # of about 500 KiB
    run(campaign_of(paths=AB, lab=LAB, trial=trial, factors={"streams": [8]}), tmp_path)
    [record] = stored(tmp_path)
    assert record.status == "complete"
    assert record.capture_sender_bytes is not None
    assert record.capture_sender_bytes <= 64 * 1024
    assert "has reached its limit" in str(record.capture_sender_missing)
    assert Flag.CAPTURE_INCOMPLETE in record.flags


def test_both_ends_on_one_host_give_one_capture(tmp_path: Path) -> None:
    trial = {**CAPTURE, "capture_bytes": "1MiB"}
    run(campaign_of(trial=trial), tmp_path)  # over this machine's loopback
    [record] = stored(tmp_path)
    require("CAP_NET_RAW" not in str(record.capture_sender_missing), "the privilege to record packets")
    assert record.capture_sender_packets is not None
    assert record.capture_sender_packets > 0
    assert (record.capture_receiver_packets, record.capture_receiver_missing) == (None, None)


CAMPAIGN = """
format = 1
name = "unable"
title = "Without the privilege"
seed = 1
[[paths]]
source = "local"
destination = "local"
[factors]
streams = [1]
[trial]
warmup = "0ms"
duration = "100ms"
capture = "headers"
[probes]
unloaded = 2
"""


def run_unable(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    """The command without CAP_NET_RAW, whoever runs the tests."""
    require(shutil.which("setpriv"), "setpriv (apt-get install util-linux)")
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    program = ["-m", "pathlab", "run", str(tmp_path / "c.toml"), "--out", str(tmp_path / "r")]
    command = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", sys.executable, *program]
    return subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False)


def test_without_the_privilege_the_run_says_so_once_and_measures(tmp_path: Path) -> None:
    done = run_unable(tmp_path, CAMPAIGN)
    assert done.returncode == 0, done.stderr
    said = [text for kind, text in journal(tmp_path / "r") if kind == "capture-missing"]
    assert len(said) == 1
    assert said[0].startswith("local records no packet headers, and its trials are measured without them: ")
    assert "needs CAP_NET_RAW; fix: " in said[0]
    [record] = stored(tmp_path / "r")
    assert record.status == "complete"
    assert "CAP_NET_RAW" in str(record.capture_sender_missing)
    assert Flag.CAPTURE_INCOMPLETE in record.flags
    assert check_results(tmp_path / "r").faults == ()


def test_on_missing_fail_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    done = run_unable(tmp_path, CAMPAIGN.replace("seed = 1\n", 'seed = 1\non_missing = "fail"\n'))
    assert done.returncode == 3, done.stderr
    assert "CAP_NET_RAW" in done.stderr
    assert not (tmp_path / "r").exists()


def test_a_disk_of_the_controller_that_is_full_costs_the_capture_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlab.runner.trial.trial_captures.open_nameless_file", refuse)
    run(campaign_of(paths=AB, lab=LAB, trial=CAPTURE), tmp_path)
    [record] = stored(tmp_path)
    assert record.status == "complete"
    assert record.capture_sender_missing == "the controller cannot keep it: No space left on device"


def test_a_failed_trial_keeps_its_captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: object) -> None:
        raise HostError("made up", host="a", stage="engine")

    monkeypatch.setattr("pathlab.engines.native.NativeEngine.check_ends", fail)
    run(campaign_of(paths=AB, lab=LAB, trial=CAPTURE), tmp_path)
    [record, *_] = stored(tmp_path)
    assert (record.status, record.failure) == ("failed", "host 'a', engine: made up")
    assert record.capture_sender_packets is not None
    assert record.capture_sender_packets > 0
