"""The series of counters that one controller requested."""

from __future__ import annotations

from typing import Any, Dict, List

from pathlab.agents import limits
from pathlab.agents.counters.watch import CounterSampler
from pathlab.agents.outbox import Outbox
from pathlab.agents.protocol import Message, RequestError, encode_frame


class Watches:
    """Series under way, numbered from 1; their samples go into the outbox. Nothing blocks."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._running: Dict[int, CounterSampler] = {}
        self._last = 0

    @property
    def due_ns(self) -> List[int]:
        """When each wants its next sample, on CLOCK_MONOTONIC."""
        return [watch.due_ns for watch in self._running.values()]

    def start(self, request: Message) -> Dict[str, Any]:
        """Begin a series; its result for the controller. RequestError where this host shows no counters."""
        if len(self._running) >= limits.MAX_WATCHES:
            raise RequestError("agent", f"{limits.MAX_WATCHES} counter series run already, the most")
        interval_ns = limits.clamp_counter_interval_ns(request["interval_ns"])
        try:
            watch = CounterSampler(interval_ns)
        except (OSError, ValueError) as error:
            raise RequestError("agent", f"cannot read /proc/stat: {error}") from error
        self._last += 1
        self._running[self._last] = watch
        return {
            "watch": self._last,
            "interval_ns": interval_ns,
            "monotonic_ns": watch.start_ns,
            "absent": watch.absent,
        }

    def stop(self, request: Message) -> Dict[str, Any]:
        """End a series with one last sample. RequestError where there is none of that number."""
        number = request["watch"]
        watch = self._running.get(number)
        if watch is None:
            raise RequestError("agent", f"there is no counter series {number}")
        self._sample(number, watch, last=True)
        del self._running[number]
        return {}

    def sample_due(self, now_ns: int) -> None:
        """A sample of every series whose time has come."""
        for number, watch in self._running.items():
            if now_ns >= watch.due_ns:
                self._sample(number, watch)

    def _sample(self, number: int, watch: CounterSampler, *, last: bool = False) -> None:
        if self._outbox.throttled and not last:
            watch.skip()  # the next span covers this beat as well
            return
        try:
            sample = watch.sample()
        except (OSError, ValueError):
            # Nothing measured, so nothing said; the gap shows in the spans.
            watch.skip()
            return
        frame = encode_frame({"type": "counters", "watch": number, "sample": sample})
        self._outbox.append_record(frame, "counters", ("watch", number))
