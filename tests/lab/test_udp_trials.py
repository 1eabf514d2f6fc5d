"""UDP flows in a lab of known rate, loss and reordering: counts, intervals, who lost them, the limit."""

import pytest

from pathlab.campaign.load import build_campaign
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.study.datagrams.datagram_limit import DatagramLimit, classify_datagrams, read_datagrams
from pathlab.study.datagrams.datagram_trial import estimate_trial_loss, find_loss_runs, read_histograms
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

LOSS, REORDERED = 0.02, 0.05
#: What the link leaves for payloads of 1000 bytes, each in a packet of 1028 bytes.
LINK_BITS_PER_S = 20e6 * 1000 / 1028
ROWS = {
    "below": {"pacing": "8Mbit/s"},
    "above": {"pacing": "40Mbit/s"},
    "reverse": {"pacing": "8Mbit/s", "direction": "reverse", "streams": 3},
}
DATA = {
    "format": 1,
    "name": "datagrams",
    "title": "Datagrams",
    "seed": 1,
    "order": "given",
    "design": "explicit",
    "paths": [{"source": "a", "destination": "b"}],
    "factors": {"streams": 1, "transport": "udp", "direction": "forward", "pacing": "none", "datagram": 1000},
    "rows": list(ROWS.values()),
    "lab_retries": 3,
    "trial": {"warmup": "300ms", "duration": "4s", "interval": "100ms"},
    "probes": {"interval": "20ms", "unloaded": 5},
    "lab": {
        "hosts": ["a", "b"],
        "links": [
            {
                **{"between": ["a", "b"], "rate": "20Mbit/s", "delay": "10ms", "queue": "50kB"},
                **{"loss": LOSS, "reorder": REORDERED, "reorder_delay": "3ms"},
                "reverse": {"loss": 0, "reorder": 0},
            }
        ],
    },
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    require_engine()
    require_namespaces()
    folder = tmp_path_factory.mktemp("datagrams")
    campaign = build_campaign(DATA, label="datagrams")
    run_campaign(CampaignSource(campaign=campaign, text=""), folder, lambda _event: None)
    return Results.open(folder)


def find_trial(results: Results, name: str) -> tuple[int, TrialRecord]:
    """The trial of a row, the latest where it was lab-limited and measured again."""
    rows = [row.row for row in results.plan()]
    trials = [
        (trial_id, record)
        for trial_id, record in results.records_by_id().items()
        if record.plan_row == rows[[*ROWS].index(name)]
    ]
    assert {record.status for _, record in trials} == {Status.COMPLETE}
    return trials[-1]


def check_sent(record: TrialRecord) -> None:
    """1000 datagrams in each of 4 s; what a stall makes too late is not sent, and has a flag."""
    assert record.udp_offered_packets_per_s == pytest.approx(1000)
    missed = Flag.RATE_MISSED in record.flags
    assert (0 if missed else 3900) < record.udp_sent_packets < 4040


def count_link_loss(results: Results, trial_id: int) -> float:
    """The share of the packets that the link lost or had no room for, by its counters."""
    links = results.series(trial_id, "lab_links")
    counted = links[links["direction"] == "forward"].groupby("name")["value"].sum()
    lost = counted["lost_packets"] + counted["queue_dropped_packets"]
    return float(lost / counted["arrived_packets"])


def test_the_loss_of_the_link_is_the_paths(results: Results) -> None:
    trial_id, record = find_trial(results, "below")
    sent, lost = record.udp_sent_packets or 0, record.udp_lost_packets or 0
    check_sent(record)
    assert (record.udp_received_packets or 0) + lost == sent
    loss = estimate_trial_loss(results, trial_id, record)
    assert loss.interval_ratio.contains(LOSS), loss
    assert (record.udp_lost_host_packets or 0) + (record.udp_lost_path_packets or 0) == lost
    runs = find_loss_runs(read_histograms(results, trial_id))
    assert runs.mean_packets == pytest.approx(1 / (1 - LOSS), abs=0.15)  # single losses, by chance in a row
    reordered = (record.udp_reordered_packets or 0) / (record.udp_received_packets or 1)
    assert reordered == pytest.approx(REORDERED, rel=0.35)
    if Flag.LAB_LIMITED not in record.flags:
        assert record.udp_lost_host_packets == 0
        assert classify_datagrams(read_datagrams(record)).limit is DatagramLimit.PATH


def test_a_rate_above_the_link_loses_what_does_not_fit(results: Results) -> None:
    trial_id, record = find_trial(results, "above")
    expected = 1 - LINK_BITS_PER_S * (1 - LOSS) / 40e6
    lost_ratio = (record.udp_lost_packets or 0) / (record.udp_sent_packets or 1)
    if Flag.LAB_LIMITED not in record.flags:
        assert lost_ratio == pytest.approx(count_link_loss(results, trial_id), rel=0.02)
    if Flag.RATE_MISSED not in record.flags:
        assert lost_ratio == pytest.approx(expected, rel=0.05)
    assert record.throughput_bits_per_s <= LINK_BITS_PER_S * 1.02


def test_the_other_direction_has_no_loss(results: Results) -> None:
    _, record = find_trial(results, "reverse")
    check_sent(record)
    lost = record.udp_lost_packets
    if Flag.LAB_LIMITED not in record.flags:
        assert lost / (record.udp_sent_packets or 1) < 0.002
