"""UDP flows by combination: their rates, loss, who lost them, what limits them, and what offloads gain."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.report.datagrams.datagram_text import format_datagram_limit
from pathlab.study.analyses import Study
from pathlab.study.datagrams.datagram_limit import DatagramLimit, DatagramReading, classify_datagrams
from pathlab.study.datagrams.datagram_trial import estimate_trial_loss
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.results import SyntheticResults, make_campaign
from tests.builders.trials import make_record

SLOW, FAST = {"pacing_bits_per_s": 32_000_000}, {"pacing_bits_per_s": 80_000_000}
NOTHING_SENT: dict[str, float | None] = {"sent_packets_per_s": 0.0, "sent_packets": 0}
BINS = {"loss_runs": [(1, 1, 30), (4, 4, 5)], "n_reordering": [(0, 0, 9), (3, 3, 1)]}


def test_losses_of_the_path_and_of_the_host_are_counted_apart() -> None:
    slow, fast = Study(make_udp_trials([SLOW, FAST], carry_flow, bins=BINS)).datagrams()
    assert slow.condition.get("pacing_bits_per_s") == 32_000_000
    found = slow.result
    assert (found.packets.lost_path, found.packets.lost_unexplained) == (0, 0)
    assert found.packets.lost_host == pytest.approx(8 * 40_000 * 0.005, rel=0.1)
    assert found.loss.loss_ratio == pytest.approx(0.005, rel=0.1)
    assert found.loss.interval_ratio.contains(0.005)
    assert found.limit.limit is DatagramLimit.RECEIVING_HOST
    assert found.offered_packets_per_s == 4_000
    assert found.received_packets_per_s.interval.contains(3_980)
    assert (found.loss_runs.runs, found.loss_runs.longest_packets) == (8 * 35, 4)
    assert found.loss_runs.mean_packets == pytest.approx(50 / 35)
    assert found.loss_runs.burst_packets == pytest.approx((30 + 80) / 50)
    assert found.reordered.loss_ratio == pytest.approx(0.001, rel=0.05)
    assert (found.extent_max_packets, found.late_time_max_ns) == (7, 90_000)
    beyond = fast.result
    assert beyond.limit.limit is DatagramLimit.PATH
    assert beyond.limit.beside == (DatagramLimit.RECEIVING_HOST,)
    assert beyond.packets.lost_path == pytest.approx(8 * 50_000, rel=0.01)
    assert beyond.received_packets_per_s.median == pytest.approx(4_975, rel=0.001)


def test_host_limited_trials_are_kept_and_lab_limited_ones_are_not() -> None:
    kept = Study(make_udp_trials([SLOW], carry_flow, flags=("host-limited",))).datagrams()
    assert kept[0].result.received_packets_per_s.n == 8
    assert not kept[0].result.provisional
    (shown,) = Study(make_udp_trials([SLOW], carry_flow, flags=("lab-limited",))).datagrams()
    assert (shown.result.provisional, shown.selection.used) == (True, 8)
    both = [{**SLOW, "gso": on} for on in (False, True)]
    assert not Study(make_udp_trials(both, carry_flow, flags=("lab-limited",))).offloads()


def test_gso_is_compared_with_the_same_flow_without_it_in_each_cycle() -> None:
    flows = [{**SLOW, "gso": on} for on in (False, True)]
    answers = Study(make_udp_trials(flows, carry_flow)).offloads()
    found = {answer.result.metric: answer.result for answer in answers}
    assert {one.offload for one in found.values()} == {"GSO"}
    cost = found["CPU/packet, sender"]
    assert cost.pairs == 8
    assert cost.ratio == pytest.approx(0.5, rel=0.02)
    assert cost.interval.contains(0.5)
    assert found["received"].interval.contains(1.0)
    few = Study(make_udp_trials(flows, carry_flow, cycles=3)).offloads()
    assert {answer.result.undecided for answer in few} == {Undecided.TOO_FEW_SAMPLES}


def test_gso_and_gro_together_have_an_answer_of_their_own() -> None:
    flows = [{**SLOW, "gso": gso, "gro": gro} for gso in (False, True) for gro in (False, True)]
    answers = Study(make_udp_trials(flows, carry_flow)).offloads()
    assert [answer.result.offload for answer in answers[::3]] == ["GSO", "GRO", "GSO + GRO"]
    alone = make_udp_trials([{**SLOW, "gso": True}], carry_flow)
    assert Study(alone).offloads() == ()


def test_an_offload_that_was_not_granted_is_none() -> None:
    flows = [{**SLOW, "gso": on} for on in (False, True)]
    results = make_udp_trials(flows, carry_flow, flags=("gso-not-granted",))
    assert Study(results).offloads() == ()


def make_reading(**given: Any) -> DatagramReading:
    known: Mapping[str, Any] = {
        **{"offered_packets_per_s": 1000.0, "sent_packets_per_s": 1000.0, "sent_packets": 10_000},
        **{"lost_packets": 0, "lost_host_packets": 0, "lost_path_packets": 0},
    }
    return DatagramReading(**{**known, **given})


def test_a_path_that_carries_no_datagram_of_the_size_names_what_finds_the_mtu() -> None:
    hint = "`pathlab path` shows whether the path drops large packets silently (MTU)"
    texts = [
        format_datagram_limit(classify_datagrams(make_reading(**lose(path=lost)))) for lost in (10_000, 5_000)
    ]
    assert [hint in text for text in texts] == [True, False]


def lose(*, path: int = 0, host: int = 0) -> dict[str, float | None]:
    return {"lost_packets": path + host, "lost_path_packets": path, "lost_host_packets": host}


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({}, DatagramLimit.OFFERED_RATE),
        ({"offered_packets_per_s": None}, DatagramLimit.SENDING_HOST),
        ({"sent_packets_per_s": 985.0}, DatagramLimit.SENDING_HOST),
        ({"sent_packets_per_s": 995.0}, DatagramLimit.OFFERED_RATE),
        ({"sent_packets_per_s": 985.0, "under_way_packets_per_s": 16.0}, DatagramLimit.OFFERED_RATE),
        ({"sent_packets_per_s": 983.0, "under_way_packets_per_s": 16.0}, DatagramLimit.SENDING_HOST),
        (NOTHING_SENT, DatagramLimit.SENDING_HOST),
        ({**NOTHING_SENT, "offered_packets_per_s": 0.1, "under_way_packets_per_s": 1.0}, None),
        (lose(path=9), DatagramLimit.OFFERED_RATE),
        (lose(path=10), DatagramLimit.PATH),
        (lose(path=10, host=20), DatagramLimit.RECEIVING_HOST),
        ({**lose(path=500), "offered_packets_per_s": None}, DatagramLimit.PATH),
        ({"lost_packets": 50, "lost_host_packets": None, "lost_path_packets": None}, None),
        ({"lost_packets": 50, "lost_host_packets": 10, "lost_path_packets": None}, None),
        ({**lose(path=20, host=30), "lost_path_packets": None}, DatagramLimit.RECEIVING_HOST),
        ({"lost_packets": None}, None),
        ({"sent_packets": None}, None),
    ],
)
def test_the_limit_is_where_most_was_lost_or_not_sent(
    given: dict[str, float | None], limit: DatagramLimit | None
) -> None:
    found = classify_datagrams(make_reading(**given))
    assert found.limit is limit
    assert (found.undecided is None) is (limit is not None)


def make_single(blocks: list[tuple[int, int]], runs: list[dict[str, Any]] | None = None) -> SyntheticResults:
    rows = [
        {"index": index, "phase": phase, "stream": 0, "received": received, "lost": lost}
        for index, (phase, received, lost) in enumerate(
            [("warmup", 500, 500), *(("steady", *block) for block in blocks), ("drain", 5, 0)]
        )
    ]
    series = {"receiver_datagrams": pd.DataFrame(rows)}
    if runs:
        series["datagram_histograms"] = pd.DataFrame(runs)
    return SyntheticResults(make_campaign(), [], [], {1: series}, ())


def test_the_loss_of_one_trial_has_the_interval_of_its_blocks() -> None:
    steady = make_single([(990, 10)] * 20)
    bursty = make_single([(1000, 0)] * 15 + [(960, 40)] * 5)
    record = make_record(udp_sent_packets=20_000, udp_lost_packets=200)
    widths = []
    for results in (steady, bursty):
        found = estimate_trial_loss(results, 1, record)
        assert (found.sent, found.lost, found.loss_ratio) == (20_000, 200, 0.01)
        assert found.interval_ratio.contains(0.01)
        widths.append((found.interval_ratio.high or 0) - (found.interval_ratio.low or 0))
    assert widths[1] > 4 * widths[0]


def test_runs_of_lost_datagrams_widen_the_interval() -> None:
    runs = [{"metric": "loss_runs", "low": 20, "high": 20, "count": 10}]
    record = make_record(udp_sent_packets=20_000, udp_lost_packets=200)
    single, run = (estimate_trial_loss(make_single([(990, 10)] * 20, one), 1, record) for one in (None, runs))
    assert (run.dispersion, single.dispersion) == (20, 4)  # of unknown bursts, those assumed
    assert (run.interval_ratio.high or 0) > (single.interval_ratio.high or 1)


def test_a_loss_after_the_last_arrival_or_of_nothing() -> None:
    steady = make_single([(1000, 0)] * 20)
    record = make_record(udp_sent_packets=20_000, udp_lost_packets=500)
    tail = estimate_trial_loss(steady, 1, record)
    assert tail.interval_ratio.contains(0.025)
    none = estimate_trial_loss(steady, 1, make_record(udp_sent_packets=20_000, udp_lost_packets=0))
    assert none.interval_ratio.low == 0
    assert 0 < (none.interval_ratio.high or 0) < 0.001
    bare = estimate_trial_loss(SyntheticResults(make_campaign(), [], [], {}, ()), 1, record)
    assert not bare.interval_ratio.decided
    for missing in (make_record(), make_record(udp_sent_packets=0, udp_lost_packets=0)):
        assert estimate_trial_loss(make_single([(1, 0)]), 1, missing) is None
