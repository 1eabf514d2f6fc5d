"""Readings of a flow on a path of 160 ms and 100 Mbit/s, and the limit that they give."""

from collections.abc import Sequence
from dataclasses import replace

from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading
from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.analysis.verdicts.limits import Limit, classify_limits

Ratios = Sequence[float | None]


def give_loads(*busiest: float | None, own: Ratios = (), waiting: Ratios = ()) -> tuple[HostLoad, ...]:
    """The loads of one end after the other."""
    return tuple(
        HostLoad(busiest_core_ratio=core, engine_core_ratio=thread, waiting_ratio=wait)
        for core, thread, wait in zip(
            busiest, own or (None,) * len(busiest), waiting or (None,) * len(busiest), strict=True
        )
    )


#: One stream on a path of 160 ms and 100 Mbit/s with nothing against it: half of what it could carry.
PLAIN = StreamReading(
    rate_bits_per_s=50e6,
    steady_s=20.0,
    busy_s=20.0,
    receiver_limited_s=0.0,
    buffer_limited_s=0.0,
    app_limited_ratio=0.0,
    sent_bytes=125e6,
    retransmitted_bytes=0.0,
    rtt_ns=160.4e6,
    rtt_min_ns=160e6,
    segment_bytes=1448,
)
QUIET = FlowReading(
    streams=(PLAIN,),
    throughput_bits_per_s=50e6,
    rtt_loaded_ns=160.4e6,
    rtt_unloaded_ns=160e6,
    rate_spread_ratio=0.02,
    rate_spans=20,
    congestion="reno",
    hosts=give_loads(0.2, 0.3),
)


def read(streams: int = 1, rate_bits_per_s: float = 50e6, **stream: float | None) -> FlowReading:
    """A flow of equal streams that share the rate, every one with the given figures."""
    one = replace(PLAIN, rate_bits_per_s=rate_bits_per_s / streams, **stream)
    return replace(QUIET, streams=(one,) * streams, throughput_bits_per_s=rate_bits_per_s)


def flow_limit(reading: FlowReading) -> Limit | None:
    return classify_limits(reading).flow.limit
