"""Campaigns that compare builds of the engine, and those that vary what is recorded, over loopback."""

import hashlib
from pathlib import Path

import pytest

import pathlab
from pathlab.errors import UsageError
from pathlab.remote.engine import find_engine
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from tests.integration.conducting import Watch, campaign_of, journal, run, stored
from tests.require import require_engine

pytestmark = pytest.mark.engine
BUILDS = {"streams": [1], "build": ["this", "again", "against"]}


def digest(engine: Path) -> str:
    return hashlib.sha256(engine.read_bytes()).hexdigest()


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The same engine as a file of other content."""
    require_engine()
    path = tmp_path / "other-engine"
    path.write_bytes(find_engine().read_bytes() + b"\0")
    path.chmod(0o755)
    return path


def measure(folder: Path, against: Path | None, **changes: object) -> Watch:
    watch = Watch()
    campaign = campaign_of(factors=BUILDS, **changes)
    run_campaign(CampaignSource(campaign=campaign, text="", against=against), folder, watch)
    return watch


def test_each_trial_names_the_engine_that_carried_its_data(tmp_path: Path, other: Path) -> None:
    measure(tmp_path / "out", other)
    own = digest(find_engine())
    records = stored(tmp_path / "out")
    assert [record.status for record in records] == ["complete"] * 3
    assert [record.engine_sha256 for record in records] == [own, own, digest(other)]
    with pathlab.open(tmp_path / "out") as results:
        assert [row.settings["build"] for row in results.plan()] == ["this", "again", "against"]
        (start,) = [entry.facts for entry in results.journal() if entry.kind == "started"]
    assert (start["engine_sha256"], start["against_sha256"]) == (own, digest(other))


def test_a_run_that_goes_on_with_another_build_says_so(tmp_path: Path, other: Path) -> None:
    measure(tmp_path / "out", other)
    other.write_bytes(other.read_bytes() + b"\0")
    measure(tmp_path / "out", other)
    assert "the engine to compare with was" in " ".join(text for _, text in journal(tmp_path / "out"))


def test_a_missing_build_is_named_before_any_host_is_reached(tmp_path: Path, other: Path) -> None:
    watch = Watch()
    for factors, against, fault in (
        (BUILDS, None, "--against names none"),
        ({"streams": [1]}, other, "--against has no effect"),
    ):
        source = CampaignSource(campaign=campaign_of(factors=factors), text="", against=against)
        with pytest.raises(UsageError, match=fault) as caught:
            run_campaign(source, tmp_path / "out", watch)
        assert caught.value.hint
    assert not watch.events
    assert not (tmp_path / "out").exists()


def test_recording_decides_what_is_stored_of_the_traffic(tmp_path: Path) -> None:
    factors = {"streams": [2], "recording": ["off", "default", "full"]}
    outcome = run(
        campaign_of(factors=factors, trial={"warmup": "50ms", "duration": "500ms"}), tmp_path / "out"
    )
    assert outcome.complete == 3
    off, usual, full = stored(tmp_path / "out")
    for record in (off, usual, full):
        assert record.throughput_bits_per_s
        assert record.unloaded_received == 2
        assert record.sender_cpu_user_s is not None
    assert off.loaded_sent is off.loaded_rtt_mean_ns is None
    assert off.sender_busiest_core_ratio is off.retransmitted_segments is None
    assert off.window_in_flight_max_bytes is off.retransmitted_steady_segments is None
    assert usual.loaded_sent
    assert usual.retransmitted_segments is not None
    assert [record.interval_ns for record in (off, usual, full)] == [10_000_000_000, 100_000_000, 10_000_000]
    with pathlab.open(tmp_path / "out") as results:
        kinds = [set(results.series_kinds(number)) for number in (1, 2, 3)]
        steady = [
            results.series(number, "receiver_intervals").query("phase == 'steady'") for number in (1, 2, 3)
        ]
        assert "srtt_ns" not in results.series(1, "sender_intervals").dropna(axis=1, how="all")
    assert {"sender_cpu", "loaded_probes", "sender_tcp_info_raw"}.isdisjoint(kinds[0])
    assert {"sender_cpu", "loaded_probes", "sender_tcp_info_raw"} <= kinds[1] & kinds[2]
    assert len(steady[0]) == 2  # one record for each stream
    assert (steady[1]["end_ns"] - steady[1]["start_ns"]).min() <= 100_000_000
    assert (steady[2]["end_ns"] - steady[2]["start_ns"]).min() <= 10_000_000
