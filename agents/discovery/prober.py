"""The loop that sends a batch's probes, one under way per flow, and matches what comes back."""

from __future__ import annotations

import errno
import select
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence, Tuple

from pathlab.agents.discovery.batch import Batch
from pathlab.agents.discovery.flow import Flow, Reply, read_clocks

#: The two clocks may drift apart by no more during a round trip; more means that CLOCK_REALTIME was set.
CLOCK_SLACK_NS = 1_000_000
#: For so long after a probe went unanswered, a reply that names no probe could be its late one.
AMBIGUOUS_NS = 10_000_000_000
_SEND_ERRORS = {
    errno.EMSGSIZE,
    errno.ENETUNREACH,
    errno.EHOSTUNREACH,
    errno.EPERM,
    errno.ENOBUFS,
    errno.ENETDOWN,
}
_MAX_SEND_TRIES = 8
_REPLY_FIELDS = ("kind", "code", "source", "mtu_bytes", "reply_ttl", "reply_bytes")  # None without a reply

Record = Dict[str, Any]


class _Sent(NamedTuple):
    number: int
    ttl: int
    size_bytes: int
    sent_ns: int  # CLOCK_REALTIME, as the kernel's stamps
    monotonic_ns: int
    deadline_ns: int


class _Course:
    """What one flow still has to send in this batch, and what it waits for."""

    def __init__(self, flow: Flow, plan: List[Tuple[int, int]]) -> None:
        self.flow = flow
        self.plan: Deque[Tuple[int, int]] = deque(plan)
        self.under_way: Optional[_Sent] = None
        self.next_ns = 0

    @property
    def done(self) -> bool:
        return not self.plan and self.under_way is None


class Prober:
    """Runs batches over flows. ``write`` gets each record; ``interrupted`` is called at every turn."""

    def __init__(
        self, flows: Sequence[Flow], write: Callable[[Record], None], interrupted: Callable[[], bool]
    ) -> None:
        self._flows, self._write, self._interrupted = list(flows), write, interrupted
        self._last_number = 0
        self._expired: Dict[int, int] = {}  # number to when it was given up, of each probe of this batch
        self._silent_ns: Dict[int, int] = {}  # flow to when a probe of it last went unanswered
        self._late = self._ambiguous = 0

    def run(self, batch: Batch) -> None:
        """Send the batch and write one record per probe, then ``batch-end``. Ends early when interrupted."""
        self._expired.clear()
        self._late = self._ambiguous = 0
        courses = {
            self._flows[number].socket.fileno(): _Course(self._flows[number], batch.order(number))
            for number in batch.flows
        }
        poll = select.poll()
        for descriptor in courses:
            poll.register(descriptor, select.POLLIN)
        offset_ns = time.time_ns() - time.monotonic_ns()
        complete = True
        while not all(course.done for course in courses.values()):
            if self._interrupted():
                complete = False
                break
            for course in courses.values():
                self._advance(course, batch)
            for descriptor, _events in poll.poll(_wait_ms(list(courses.values()))):
                self._read_replies(courses[descriptor], batch)
        step_ns = time.time_ns() - time.monotonic_ns() - offset_ns
        self._write(
            {
                "type": "batch-end",
                "batch": batch.number,
                "complete": complete,
                "late": self._late,
                "ambiguous": self._ambiguous,
                "clock_step_ns": step_ns,
            }
        )

    def _advance(self, course: _Course, batch: Batch) -> None:
        """Give up what is over time, send what is due."""
        now_ns = time.monotonic_ns()
        if course.under_way is not None and now_ns >= course.under_way.deadline_ns:
            self._read_replies(course, batch)  # what came in time counts, however late this runs
            if course.under_way is not None:
                self._expired[course.under_way.number] = now_ns
                self._silent_ns[course.flow.number] = now_ns
                self._finish(course, batch, None)
        if course.under_way is None and course.plan and now_ns >= course.next_ns:
            self._send(course, batch)

    def _send(self, course: _Course, batch: Batch) -> None:
        ttl, size_bytes = course.plan.popleft()
        self._last_number += 1
        number = self._last_number
        for attempt in range(_MAX_SEND_TRIES):
            for reply in course.flow.read():  # an error that waits would be taken for this send's own
                self._count_stray(reply)
            try:
                monotonic_ns, sent_ns = course.flow.send(number, ttl, size_bytes)
            except OSError as error:
                passing = error.errno in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.EAGAIN, errno.EPROTO)
                if passing and attempt + 1 < _MAX_SEND_TRIES:
                    continue
                if error.errno not in _SEND_ERRORS and not passing:
                    raise
                name = errno.errorcode.get(error.errno or 0, str(error.errno))
                self._write_probe(course, batch, (number, ttl, size_bytes), unsent=name)
                course.next_ns = time.monotonic_ns() + batch.gap_ns
                return
            deadline_ns = monotonic_ns + batch.timeout_ns
            course.under_way = _Sent(number, ttl, size_bytes, sent_ns, monotonic_ns, deadline_ns)
            return

    def _read_replies(self, course: _Course, batch: Batch) -> None:
        for reply in course.flow.read():
            sent = course.under_way
            if sent is not None and self._answers(reply, sent, course.flow.number):
                self._finish(course, batch, reply)
            else:
                self._count_stray(reply)

    def _answers(self, reply: Reply, sent: _Sent, flow: int) -> bool:
        if reply.number is not None:
            return reply.number == sent.number & ((1 << reply.number_bits) - 1)
        silent_ns = self._silent_ns.get(flow)
        if silent_ns is not None and time.monotonic_ns() - silent_ns < AMBIGUOUS_NS:
            return False
        return reply.received_ns is None or reply.received_ns >= sent.sent_ns

    def _count_stray(self, reply: Reply) -> None:
        if reply.number is None:
            self._ambiguous += 1
        elif reply.number in self._expired:
            self._late += 1

    def _finish(self, course: _Course, batch: Batch, reply: Optional[Reply]) -> None:
        sent = course.under_way
        assert sent is not None
        course.under_way = None
        course.next_ns = time.monotonic_ns() + batch.gap_ns
        self._write_probe(course, batch, (sent.number, sent.ttl, sent.size_bytes), sent=sent, reply=reply)

    def _write_probe(
        self,
        course: _Course,
        batch: Batch,
        probe: Tuple[int, int, int],
        *,
        sent: Optional[_Sent] = None,
        reply: Optional[Reply] = None,
        unsent: Optional[str] = None,
    ) -> None:
        number, ttl, size_bytes = probe
        rtt_ns, stamps = _time_reply(sent, reply)
        self._write(
            {
                "type": "probe",
                "batch": batch.number,
                "number": number,
                "flow": course.flow.number,
                "ttl": ttl,
                "size_bytes": size_bytes,
                "unsent": unsent,
                "rtt_ns": rtt_ns,
                "stamps": stamps,
                **{name: getattr(reply, name, None) for name in _REPLY_FIELDS},
            }
        )


def _time_reply(sent: Optional[_Sent], reply: Optional[Reply]) -> Tuple[Optional[int], Optional[str]]:
    """The round trip and what it was taken from, ``kernel-receive`` or, where that is of no use, ``user``."""
    if sent is None or reply is None:
        return None, None
    now_ns, now_realtime_ns = read_clocks()
    elapsed_ns = now_ns - sent.monotonic_ns
    step_ns = now_realtime_ns - sent.sent_ns - elapsed_ns
    if reply.received_ns is not None and abs(step_ns) < CLOCK_SLACK_NS and reply.received_ns > sent.sent_ns:
        return reply.received_ns - sent.sent_ns, "kernel-receive"
    return elapsed_ns, "user"


def _wait_ms(courses: List[_Course]) -> float:
    """Until the next probe is due or over time; rounded up, so that nothing is sent too early."""
    due = [
        course.next_ns if course.under_way is None else course.under_way.deadline_ns
        for course in courses
        if not course.done
    ]
    return max(0, -(-(min(due) - time.monotonic_ns()) // 1_000_000)) if due else 0
