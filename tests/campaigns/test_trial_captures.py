"""``[trial] capture = "headers"``: what a run keeps beside its results, and what it says where it cannot."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.utils import RawPcapNgReader

import pathlab
from pathlab.errors import HostError, Stage
from pathlab.remote.local import start_process
from pathlab.remote.process import ProcessChannel
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.trials.trials import plot_trial
from pathlab.store.capture_files import FOLDER
from pathlab.store.check import check_results
from pathlab.store.flags import Flag
from pathlab.study.analyses import StudiedResults
from tests.command_line import call
from tests.integration.conducting import AB, LAB, campaign_of, journal, run, stored
from tests.require import require

pytestmark = [pytest.mark.engine, pytest.mark.netns]

CAPTURE = {"warmup": "20ms", "duration": "200ms", "interval": "20ms", "drain": "2s", "capture": "headers"}
ENDS = ("sender", "receiver")


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two trials, one in each direction, with their captures."""
    folder = tmp_path_factory.mktemp("captured") / "out"
    factors = {"streams": [2], "direction": ["forward", "reverse"]}
    run(campaign_of(paths=AB, lab=LAB, trial=CAPTURE, factors=factors), folder)
    return folder


def read_packets(path: Path) -> list[bytes]:
    with RawPcapNgReader(str(path)) as reader:
        return [data for data, _ in reader]


def test_both_ends_of_each_trial_are_kept_from_the_first_syn_on(captured: Path) -> None:
    records = stored(captured)
    assert [record.status for record in records] == ["complete"] * 2
    with pathlab.open(captured) as results:
        captures = results.captures()
    assert [(one.trial_id, one.end) for one in captures] == [
        (number, end) for number in (1, 2) for end in ("sender", "receiver")
    ]
    for capture in captures:
        packets = [IP(data) for data in read_packets(capture.path)]
        assert (len(packets), capture.dropped_packets) == (capture.packets, 0)
        assert packets[0][TCP].flags == "S"
        assert len({packet[TCP].sport for packet in packets if packet[TCP].flags == "S"}) == 2
    assert [record.capture_sender_missing for record in records] == [None, None]
    assert not any(Flag.CAPTURE_INCOMPLETE in record.flags for record in records)
    checked = check_results(captured)
    assert checked.faults == checked.notes == ()


def test_what_shows_results_names_the_files(
    captured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(captured, tmp_path / "out")
    (folder / FOLDER / "trial-1-receiver.pcapng").unlink()
    shown = " ".join(call(["results", "show", str(folder)], capsys).out.split())
    lines = [line for line in shown.split("trial 1: ") if line.startswith("capture ")]
    assert [f"trial-1-{end}.pcapng" in line for end, line in zip(ENDS, lines, strict=False)] == [True, True]
    assert ["the file was deleted" in line for line in lines[:2]] == [False, True]
    listed = json.loads(call(["results", "show", str(folder), "--json"], capsys).out)["captures"]
    assert [(one["end"], one["exists"]) for one in listed[:2]] == [("sender", True), ("receiver", False)]
    with StudiedResults.open(folder) as stored_results:
        plot = plot_trial(ReportInputs(stored_results), 1)
    assert "captures/trial-1-sender.pcapng" in plot.sentence


def test_udp_flows_and_mptcp_subflows_are_recorded(tmp_path: Path) -> None:
    factors = {"transport": ["udp", "mptcp"], "streams": [2]}
    run(campaign_of(paths=AB, lab=LAB, trial=CAPTURE, factors=factors), tmp_path)
    with pathlab.open(tmp_path) as results:
        protocols = {
            (capture.trial_id, capture.end): {packet[9] for packet in read_packets(capture.path)}
            for capture in results.captures()
        }
    udp, mptcp = ({(number, end): found for end in ENDS} for number, found in ((1, {6, 17}), (2, {6})))
    assert protocols == udp | mptcp


def test_a_capture_that_reaches_its_limit_says_so_and_the_trial_stays(tmp_path: Path) -> None:
    trial = {**CAPTURE, "duration": "1s", "interval": "100ms", "capture_bytes": "64KiB"}  # of about 250 KiB
    run(campaign_of(paths=AB, lab=LAB, trial=trial, factors={"streams": [8]}), tmp_path)
    [record] = stored(tmp_path)
    assert record.status == "complete"
    assert record.capture_sender_bytes <= 64 * 1024
    assert "has reached its limit" in str(record.capture_sender_missing)
    assert Flag.CAPTURE_INCOMPLETE in record.flags


def test_both_ends_on_one_host_give_one_capture(tmp_path: Path) -> None:
    trial = {**CAPTURE, "capture_bytes": "1MiB"}
    run(campaign_of(trial=trial), tmp_path)  # over this machine's loopback
    [record] = stored(tmp_path)
    require("CAP_NET_RAW" not in str(record.capture_sender_missing), "the privilege to record packets")
    assert record.capture_sender_packets > 0
    assert (record.capture_receiver_packets, record.capture_receiver_missing) == (None, None)


def test_without_the_privilege_the_run_says_so_once_and_measures_unless_it_must_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(shutil.which("setpriv"), "setpriv (apt-get install util-linux)")

    def start_without(command: Sequence[str], *, host: str) -> ProcessChannel:
        return start_process(
            ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", *command], host=host
        )

    monkeypatch.setattr("pathlab.remote.local.start_process", start_without)
    run(campaign_of(trial=CAPTURE, cycles=2), tmp_path / "out")
    (said,) = [text for kind, text in journal(tmp_path / "out") if kind == "capture-missing"]
    assert said.startswith("local ")
    assert "CAP_NET_RAW" in said
    for record in stored(tmp_path / "out"):
        assert record.status == "complete"
        assert "CAP_NET_RAW" in str(record.capture_sender_missing)
        assert Flag.CAPTURE_INCOMPLETE in record.flags
    assert check_results(tmp_path / "out").faults == ()
    with pytest.raises(HostError, match="CAP_NET_RAW"):
        run(campaign_of(trial=CAPTURE, on_missing="fail"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_disk_of_the_controller_that_is_full_costs_the_capture_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlab.runner.trial.trial_captures.open_nameless_file", refuse)
    run(campaign_of(paths=AB, lab=LAB, trial=CAPTURE), tmp_path)
    [record] = stored(tmp_path)
    assert record.status == "complete"
    assert "No space left on device" in str(record.capture_sender_missing)


def test_a_failed_trial_keeps_its_captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: object) -> None:
        raise HostError("made up", host="a", stage=Stage.ENGINE)

    monkeypatch.setattr("pathlab.engines.native.NativeEngine.check_ends", fail)
    run(campaign_of(paths=AB, lab=LAB, trial=CAPTURE), tmp_path)
    [record] = stored(tmp_path)
    assert (record.status, record.failure) == ("failed", "host 'a', engine: made up")
    assert record.capture_sender_packets > 0
