"""Evidence for a limit: figures against thresholds, how far each can be trusted, whether a queue builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType


class Quality(IntEnum):
    """How far a kind of evidence can be trusted, best first. The values are stable and machine-readable."""

    #: Known from the plan, the lab or the host: no measurement can be wrong about it.
    SETTING = 1
    #: Counted by the kernel over the whole steady window: complete, and independent of when it is read.
    COUNTER = 2
    #: The least of many probes: whatever else delays some of them, a host's noise included, it stays out.
    LEAST_PROBE = 3
    #: The median of probes: half of them must be late before it moves, but a busy host can do that.
    PROBE = 4
    #: Smoothed by TCP over the traffic's own segments: holds the ends' delays (acknowledgements, waits for a
    #: core) as well as the path's, and each reading repeats the one before.
    SMOOTHED = 5
    #: The form of the rate over time: many causes have the same.
    SHAPE = 6


#: The kind of every figure that a verdict is read from.
QUALITIES: Mapping[str, Quality] = MappingProxyType(
    {
        "requested_share_ratio": Quality.SETTING,
        "line_share_ratio": Quality.SETTING,
        "busiest_core_ratio": Quality.COUNTER,
        "engine_core_ratio": Quality.COUNTER,
        "waiting_ratio": Quality.COUNTER,
        "host_limited": Quality.COUNTER,
        "receiver_limited_ratio": Quality.COUNTER,
        "buffer_limited_ratio": Quality.COUNTER,
        "idle_ratio": Quality.COUNTER,
        "app_limited_ratio": Quality.COUNTER,
        "resent_segments": Quality.COUNTER,
        "retransmit_ratio": Quality.COUNTER,
        "rate_under_limit_ratio": Quality.COUNTER,
        "unsent_ratio": Quality.COUNTER,
        "lost_host_ratio": Quality.COUNTER,
        "lost_path_ratio": Quality.COUNTER,
        "sender_core_ratio": Quality.COUNTER,
        "receiver_core_ratio": Quality.COUNTER,
        "standing_rise_ns": Quality.LEAST_PROBE,
        "probe_rtt_rise_ns": Quality.PROBE,
        "windows_share_ratio": Quality.PROBE,
        "tcp_rtt_rise_ns": Quality.SMOOTHED,
        "window_filled_ratio": Quality.SMOOTHED,
        "forward_share_ratio": Quality.SMOOTHED,
        "unread_window_ratio": Quality.SMOOTHED,
        "loss_law_share_ratio": Quality.SMOOTHED,
        "ceiling_share_ratio": Quality.SHAPE,
        "rate_spread_ratio": Quality.SHAPE,
        "loss_steadiness_ratio": Quality.SHAPE,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One figure compared with its threshold; ``met`` is ``None`` where the figure was not measured."""

    name: str
    value: float | None = None
    threshold: float
    met: bool | None = None
    quality: Quality


def weigh(name: str, value: float | None, threshold: float, *, most: bool = False) -> Evidence:
    """Evidence that is met from the threshold up, or with ``most`` up to it.

    Raises ``KeyError`` for a name without a quality.
    """
    quality = QUALITIES[name]
    if value is None:
        return Evidence(name=name, threshold=threshold, quality=quality)
    # Figures may come as numpy's, whose comparisons are not Python's True and False.
    figure = float(value)
    met = figure <= threshold if most else figure >= threshold
    return Evidence(name=name, value=figure, threshold=threshold, met=met, quality=quality)


def find_queue(met: Mapping[str, bool | None], *, kernel_stamps: bool | None) -> bool | None:
    """Whether a queue builds, by the readings of delay as their quality orders them; None: not measured.

    ``kernel_stamps``: probes were stamped by the kernel (None: not known, taken for yes).

    Notes
    -----
    The smoothed RTT of streams decides where there are no probes, and is no evidence against probes that were
    not late. Probes whose median is late are believed where their least is too. Where the least is not, or
    a busy program may have stamped them late, the smoothed RTT must agree: two clean readings outvote one.
    """
    late, standing, smoothed = met["probe_rtt_rise_ns"], met["standing_rise_ns"], met["tcp_rtt_rise_ns"]
    if late is None:
        return smoothed
    uncertain = standing is False or kernel_stamps is False
    if late and uncertain and not standing:
        return smoothed is not False
    return late
