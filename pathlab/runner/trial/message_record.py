"""The columns of a trial of messages, from what the engines stated. Missing pieces stay None."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pathlab.engines.base import Record, first
from pathlab.engines.spec import TrialSpec
from pathlab.remote.engine_records import (
    FlowInterval,
    FlowReady,
    FlowResult,
    MessageSettings,
    MessageTotals,
    Quantiles,
    RoundTrips,
    Worker,
)
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.flow_records import EndPhase, find_phase, find_ready, find_result, list_intervals
from pathlab.runner.trial.round_trips import decode_round_trips
from pathlab.runner.trial.steady_rates import list_spans_ns, sum_rates_per_s
from pathlab.store.flags import Phase
from pathlab.store.hdr_histogram import is_quantile_stated

#: Quantiles of round trips by the ending of their column.
QUANTILES: Mapping[str, float] = {
    "median": 0.5,
    "p90": 0.9,
    "p99": 0.99,
    "p99_9": 0.999,
    "p99_99": 0.9999,
    "p99_999": 0.99999,
}
#: Share of the offered messages that must arrive in the steady window.
RATE_RATIO = 0.99


def measure_messages(spec: TrialSpec, data: TrialData) -> dict[str, Any]:
    """The columns of messages, by name; none for a stream of bytes."""
    if spec.cell.message_bytes is None:
        return {}
    sender, receiver = MessageCounts(data.sender), MessageCounts(data.receiver)
    counting = sender if spec.cell.reply else receiver
    return {
        "messages_per_s": counting.rate_per_s,
        "offered_messages_per_s": sender.settings.get("offered_per_s"),
        "messages_total": receiver.sum_up("received"),
        "messages_missing": _count_missing(sender, counting),
        "messages_out_of_order": counting.sum_up("out_of_order"),
        "send_calls": sender.sum_up("send_calls"),
        "first_arrival_ns": min(receiver.list_known("first_arrival_ns"), default=None),
        "last_arrival_ns": max(receiver.list_known("last_arrival_ns"), default=None),
        **_describe_round_trips(sender.totals.get("round_trip_ns")),
        **_describe_lateness(sender),
        **{
            f"{role}_cpu_ns_per_message": _divide_cpu(end, role) if stated is None else stated
            for role, end, stated in (
                ("sender", sender, _divide_steady_cpu(sender)),
                ("receiver", receiver, _divide_server_cpu(data, sender)),
            )
        },
        "clock_cost_ns": sender.settings.get("clock_ns"),
        "record_cost_ns": sender.settings.get("record_ns"),
    }


def is_rate_missed(spec: TrialSpec, data: TrialData) -> bool:
    """Whether less than ``RATE_RATIO`` of the messages due in the steady window arrived in it, or of
    all that were due were sent: the engine leaves messages unsent when the sender is too far behind.

    One message of each stream may be under way at the end. Without a warm-up nothing that was due before it
    arrives in the window either, so that what was due within the shortest round trip of its end is not
    expected.
    """
    sender = MessageCounts(data.sender)
    steady = (sender if spec.cell.reply else MessageCounts(data.receiver)).steady
    offered = sender.settings.get("offered_per_s")
    if not offered or not steady or "messages" not in steady:
        return False
    spans = [span for span in list_spans_ns(steady) if span is not None]
    awaited_ns: float = sum(spans) // len(spans)
    if not spec.cell.warmup_ns:
        stated = sender.totals.get("round_trip_ns")
        awaited_ns -= (stated["min"] if stated else None) or 0
    due = math.floor(offered * awaited_ns / 1e9)
    end_ns = sender.steady["end_ns"] if sender.steady else 0
    sent, ever_due = sender.sum_up("sent"), math.floor(offered * end_ns / 1e9)
    counts = [(sum(steady["messages"]), due), *([(sent, ever_due)] if sent is not None else [])]
    return any(count + spec.cell.streams < RATE_RATIO * expected for count, expected in counts)


def list_end_workers(
    ready: FlowReady | None, record: FlowInterval | FlowResult, role: str
) -> list[Worker] | None:
    """The threads of the ``sender`` or the ``receiver`` in an interval or a result of the end that is ready.

    One program that is both ends: with placement ``threaded`` its first threads are the sinks, one for each
    stream; with ``fused`` each thread is both, and counted as the sender's alone, so that a sum over both
    ends is that of the program. None where the end has no thread of its own.
    """
    workers = record["workers"]
    placement = (ready.get("messages") or {}).get("placement") if ready is not None else None
    if ready is not None and placement == "threaded":
        return workers[: ready["streams"]] if role == "receiver" else workers[ready["streams"] :]
    return None if placement == "fused" and role == "receiver" else workers


def sum_steady_cpu_ns(ready: FlowReady | None, intervals: Sequence[FlowInterval], role: str) -> int | None:
    """CPU time of an end's threads in its steady window, without what they spun until something was due."""
    threads = [
        list_end_workers(ready, interval, role) for interval in intervals if interval["phase"] == Phase.STEADY
    ]
    if not threads or None in threads:
        return None
    spent_ns: int = sum(
        worker["user_ns"] + worker["system_ns"] - (worker.get("spun_ns") or 0)
        for workers in threads
        for worker in workers or ()
    )
    return max(spent_ns, 0)


MessageTotal = Literal[
    "sent", "send_calls", "received", "missing", "out_of_order", "first_arrival_ns", "last_arrival_ns"
]


class MessageCounts:
    """What one end's records say of its messages."""

    def __init__(self, records: Sequence[Record]) -> None:
        result = find_result(records)
        self.ready: FlowReady | None = find_ready(records)
        self.settings: MessageSettings = (self.ready.get("messages") if self.ready else None) or {}
        self.totals: MessageTotals = (result.get("messages") if result else None) or {}
        self.steady: EndPhase | None = find_phase(records, Phase.STEADY)
        self.intervals = list_intervals(records)

    @property
    def rate_per_s(self) -> float | None:
        """In the steady window; of an end that sends and receives, what it received."""
        steady = self.steady
        if not steady or "messages" not in steady or steady["end_ns"] <= steady["start_ns"]:
            return None
        return sum_rates_per_s(steady, "messages")

    def count_steady(self) -> int:
        """The messages of the steady window over all streams."""
        return sum(self.steady.get("messages", ())) if self.steady else 0

    def list_known(self, name: MessageTotal) -> list[int]:
        """A figure of the whole trial, of each stream that has one."""
        return [value for value in self.totals.get(name) or () if value is not None]

    def sum_up(self, name: MessageTotal) -> int | None:
        """A count of the whole trial over all streams; None where this end does not state it."""
        return sum(self.list_known(name)) if name in self.totals else None


def _count_missing(sender: MessageCounts, counting: MessageCounts) -> int | None:
    """Those passed over and those after the last arrival, which no receiver can know of."""
    gaps, sent, received = counting.sum_up("missing"), sender.sum_up("sent"), counting.sum_up("received")
    if gaps is None or sent is None or received is None:
        return gaps
    return max(gaps, sent - received)


def _describe_round_trips(stated: RoundTrips | None) -> dict[str, float | int | None]:
    if stated is None or not stated["count"]:
        return {} if stated is None else {"round_trips": 0}
    histogram = decode_round_trips(stated)
    quantiles = {name: histogram.stated_quantile_ns(ratio) for name, ratio in QUANTILES.items()}
    known = {"min": stated["min"], "mean": stated["mean"], "max": stated["max"], **quantiles}
    columns = {f"round_trip_{name}_ns": value for name, value in known.items()}
    return {"round_trips": stated["count"], **columns}


def _describe_lateness(sender: MessageCounts) -> dict[str, float | None]:
    """How late messages were handed over. One of each stream is due at a time, and counts once."""
    late: Quantiles = sender.totals.get("send_error_ns") or {}
    count = max(sender.list_known("sent"), default=0)
    return {
        "send_late_median_ns": late.get("median") if is_quantile_stated(0.5, count) else None,
        "send_late_p99_ns": late.get("p99") if is_quantile_stated(0.99, count) else None,
        "send_late_max_ns": late.get("max"),
    }


def _divide_steady_cpu(end: MessageCounts) -> float | None:
    """CPU time of a technology's program in its steady window, for each reply that came in it."""
    spent_ns = None if end.steady is None else _sum_cpu_ns(end.steady)
    count = end.count_steady()
    return None if spent_ns is None or not count else spent_ns / count


def _divide_server_cpu(data: TrialData, asking: MessageCounts) -> float | None:
    """CPU time of a technology's server from go to stop, for each request of the whole trial.

    Of a server that does not wait for its children, their time is lost with them: the difference may be
    negative, and says nothing then.
    """
    if "adapter" not in (first(data.receiver, "ready") or {}):
        return None
    spent_ns, count = _sum_cpu_ns(first(data.receiver, "result") or {}), asking.sum_up("sent")
    return None if spent_ns is None or spent_ns < 0 or not count else spent_ns / count


def _sum_cpu_ns(record: Record | EndPhase) -> int | None:
    user_ns, system_ns = record.get("user_ns"), record.get("system_ns")
    return None if user_ns is None or system_ns is None else int(user_ns + system_ns)


def _divide_cpu(end: MessageCounts, role: str) -> float | None:
    """CPU time of an end's threads in its steady window, for each message that it counted there.

    Without what a sender spun until messages were due: that is our timing, and no cost of the transport.
    """
    spent_ns = sum_steady_cpu_ns(end.ready, end.intervals, role)
    count = end.count_steady()
    return None if spent_ns is None or not count else spent_ns / count
