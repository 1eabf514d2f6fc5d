"""Whether a queue builds, and which evidence outvotes which, where readings contradict each other."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.evidence import QUALITIES, Quality
from pathlab.analysis.verdicts.flow_reading import FlowReading
from pathlab.analysis.verdicts.limits import Limit, classify_limits
from tests.builders.limits import PLAIN, flow_limit, give_loads, read


def test_losses_of_a_full_queue_are_the_paths() -> None:
    full = replace(read(1, 96e6, retransmitted_bytes=1e6, rtt_ns=240e6), rtt_loaded_ns=230e6)
    assert flow_limit(full) is Limit.PATH_CAPACITY
    uneven = replace(full, rate_spread_ratio=0.4)
    assert flow_limit(uneven) is Limit.CONGESTION
    unknown = classify_limits(replace(full, rate_spread_ratio=None)).flow
    assert (unknown.limit, unknown.undecided) == (None, Undecided.NOT_MEASURED)


def test_the_streams_rtt_tells_of_a_queue_only_without_probes() -> None:
    alone = replace(read(1, 96e6, rtt_ns=240e6), rtt_loaded_ns=None, rtt_unloaded_ns=None)
    assert flow_limit(alone) is Limit.PATH_CAPACITY
    assert flow_limit(replace(read(1, 96e6), rtt_loaded_ns=230e6)) is Limit.PATH_CAPACITY
    # Clean probes beside late streams: the hosts' delay, or a queue for each stream. Nothing was lost.
    clean = classify_limits(read(1, 96e6, rtt_ns=240e6))
    assert (clean.flow.limit, clean.streams[0].undecided) == (None, Undecided.CONFLICTING_EVIDENCE)
    assert clean.flow.undecided is Undecided.CONFLICTING_EVIDENCE


#: Mathis' rate at 1 % of loss and 20 ms, of that with timeouts.
MATHIS_TO_LAW = math.sqrt(1.5 / 0.01) * (0.01**0.5 * math.sqrt(2 / 3) + 11 * 0.01 * 0.184)


def lose_at_random(streams: int, share: float, rng: np.random.Generator) -> FlowReading:
    """Streams at a share of what 1 % of loss allows by Mathis over 20 ms, without a queue; flat together."""
    rate = share * math.sqrt(1.5 / 0.01) * 1448 * 8 / 20e-3
    sent = rate / 8 * 20
    late = 20.2e6 + rng.exponential(0.3e6, streams)  # a host's noise on every stream
    late[rng.integers(streams)] += 15e6
    return FlowReading(
        streams=tuple(
            replace(
                PLAIN,
                rate_bits_per_s=rate,
                sent_bytes=sent,
                retransmitted_bytes=0.01 * sent,
                rtt_ns=float(rtt),
                rtt_min_ns=20e6,
            )
            for rtt in late
        ),
        throughput_bits_per_s=rate * streams,
        rtt_loaded_ns=20.2e6,
        rtt_unloaded_ns=20.1e6,
        rtt_standing_ns=10e3,
        rate_spread_ratio=0.07,
        rate_spans=20,
        congestion="reno",
        hosts=give_loads(0.7, 0.8),
        kernel_stamps=True,
    )


@pytest.mark.parametrize("streams", [8, 16, 32])
@pytest.mark.parametrize("share", [0.75, 0.9, 1.1])
def test_random_loss_on_many_streams_is_congestion(streams: int, share: float) -> None:
    rng = np.random.default_rng(streams)
    for noise_ns in (0.0, 2e6, 5e6, 20e6):
        for _ in range(8):
            reading = lose_at_random(streams, share, rng)
            noisy = tuple(
                replace(one, rtt_ns=(one.rtt_ns or 0.0) + noise_ns * rng.random()) for one in reading.streams
            )
            found = classify_limits(replace(reading, streams=noisy))
            assert found.flow.limit is Limit.CONGESTION
            if noise_ns == 0:
                shares = [one.find("loss_law_share_ratio").value for one in found.streams]
                assert np.median(np.array(shares, dtype=float)) == pytest.approx(
                    share * MATHIS_TO_LAW, rel=0.1
                )


def test_one_noisy_reading_does_not_outvote_two_clean_ones() -> None:
    reading = lose_at_random(16, 0.9, np.random.default_rng(1))
    # Half of the probes late and the least of them not; the streams' RTT is clean (one stream's is not)
    assert flow_limit(replace(reading, rtt_loaded_ns=26e6)) is Limit.CONGESTION
    # late streams as well: the queue of a full path, which losses let run empty
    slow = tuple(replace(one, rtt_ns=26e6) for one in reading.streams)
    assert flow_limit(replace(reading, rtt_loaded_ns=26e6, streams=slow)) is Limit.PATH_CAPACITY
    # the least probe late too: a queue that stands, whatever the streams say
    assert flow_limit(replace(reading, rtt_loaded_ns=26e6, rtt_standing_ns=5e6)) is Limit.PATH_CAPACITY
    # stamped by a program, that may have been late itself
    bare = replace(reading, rtt_loaded_ns=26e6, rtt_standing_ns=None)
    assert flow_limit(bare) is Limit.PATH_CAPACITY
    assert flow_limit(replace(bare, kernel_stamps=False)) is Limit.CONGESTION
    # without probes, one stream of sixteen is not the flow
    alone = replace(reading, rtt_loaded_ns=None, rtt_unloaded_ns=None, rtt_standing_ns=None)
    assert flow_limit(alone) is Limit.CONGESTION
    assert flow_limit(replace(alone, streams=slow)) is Limit.PATH_CAPACITY


def test_evidence_has_its_quality() -> None:
    found = classify_limits(lose_at_random(8, 1.0, np.random.default_rng(1)))
    evidence = {one.name: one.quality for one in (*found.flow.evidence, *found.streams[0].evidence)}
    of_datagrams = {"unsent_ratio", "lost_host_ratio", "lost_path_ratio"}
    of_datagrams |= {"sender_core_ratio", "receiver_core_ratio"}
    assert evidence == {name: one for name, one in QUALITIES.items() if name not in of_datagrams}
    assert {QUALITIES[name] for name in of_datagrams} == {Quality.COUNTER}
    assert evidence["retransmit_ratio"] < evidence["standing_rise_ns"] < evidence["probe_rtt_rise_ns"]
    assert evidence["probe_rtt_rise_ns"] < evidence["tcp_rtt_rise_ns"] < evidence["rate_spread_ratio"]
