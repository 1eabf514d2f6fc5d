"""The prober's loop over real sockets on loopback, and over scripted flows for what loopback never does."""

import contextlib
import errno
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pathlab.agents.discovery.batch import Batch
from pathlab.agents.discovery.flow import Flow, Reply, Target, read_clocks
from pathlab.agents.discovery.prober import Prober

Record = dict[str, Any]
SHORT_NS = 20_000_000


def batch(**changes: Any) -> Batch:
    fields: dict[str, Any] = {
        "number": 1,
        "ttls": (1,),
        "sizes_bytes": (100,),
        "repeats": 1,
        "flows": (0,),
        "seed": -1,
        "gap_ns": 0,
        "timeout_ns": 5_000_000_000,
    }
    return Batch(**{**fields, **changes})


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A UDP socket that takes probes and says nothing by itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        yield opened


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that takes no probe, and that nobody else gets: its sockets hear one other port alone."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened,
        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as opened6,
    ):
        opened.bind(("127.0.0.1", 0))
        port = int(opened.getsockname()[1])
        opened6.bind(("::1", port))
        opened.connect(("127.0.0.1", 9))
        opened6.connect(("::1", 9))
        yield port


def run_batch(
    flows: list[Any], requested: Batch, interrupted: Callable[[], bool] = lambda: False
) -> list[Record]:
    """All records of a batch; the flows are closed with it."""
    records: list[Record] = []
    try:
        Prober(flows, records.append, interrupted).run(requested)
    finally:
        for flow in flows:
            flow.close()
    assert records[-1]["type"] == "batch-end"
    return records


def open_flow(port: int, address: str = "127.0.0.1", number: int = 0) -> Flow:
    return Flow(Target(address=address, method="udp", port=port, source_port=40000), number)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_closed_port_answers_each_probe_with_the_kernels_stamp(closed_port: int, address: str) -> None:
    flows = [open_flow(closed_port, address, number) for number in range(3)]
    began_ns = time.monotonic_ns()
    records = run_batch(flows, batch(flows=(0, 1, 2), repeats=4, sizes_bytes=(100, 1400)))
    elapsed_ns = time.monotonic_ns() - began_ns
    *probes, end = records
    assert len(probes) == 24
    assert {(p["flow"], p["size_bytes"]) for p in probes} == {(f, s) for f in range(3) for s in (100, 1400)}
    assert sorted(p["number"] for p in probes) == list(range(1, 25))
    for probe in probes:
        assert (probe["kind"], probe["source"]) == ("port-unreachable", address)
        assert probe["stamps"] == "kernel-receive"
        assert 0 < probe["rtt_ns"] < elapsed_ns
        # Headers of IP and ICMP before the quote, and the most that a quoting packet may have.
        headers, largest = (28, 576) if address == "127.0.0.1" else (48, 1280)
        assert probe["reply_bytes"] == min(probe["size_bytes"] + headers, largest)
    assert (end["complete"], end["late"], end["ambiguous"]) == (True, 0, 0)


def test_flows_keep_their_ports_and_fall_back_where_one_is_taken(closed_port: int) -> None:
    def open_from(port: int) -> tuple[bool, int]:
        target = Target(address="127.0.0.1", method="udp", port=closed_port, source_port=port)
        with contextlib.closing(Flow(target, 0)) as flow:
            return flow.kept_port, flow.source_port

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
        kept, other = open_from(port)
        assert not kept
        assert other != port
    assert open_from(port) == (True, port)


def test_no_answer_in_time_is_null_and_not_a_time(listener: socket.socket) -> None:
    flow = open_flow(listener.getsockname()[1])
    probe, end = run_batch([flow], batch(timeout_ns=SHORT_NS))
    assert (probe["rtt_ns"], probe["stamps"], probe["kind"], probe["source"]) == (None, None, None, None)
    assert probe["unsent"] is None
    assert end["complete"] is True


def test_an_answer_to_a_probe_given_up_is_late_and_nobody_elses(listener: socket.socket) -> None:
    answered: list[Record] = []

    def answer_the_first(record: Record) -> None:
        """As soon as the first probe is given up, answer it, and then the second at once."""
        answered.append(record)
        if len(answered) == 1:
            data, source = listener.recvfrom(2000)
            listener.sendto(data, source)

    with contextlib.closing(open_flow(listener.getsockname()[1])) as flow:
        Prober([flow], answer_the_first, lambda: False).run(batch(repeats=2, timeout_ns=SHORT_NS))
    first, second, end = answered
    assert (first["rtt_ns"], second["rtt_ns"], end["late"]) == (None, None, 1)


def test_a_probe_larger_than_the_first_link_is_not_sent_and_says_why() -> None:
    flow = ScriptedFlow([])
    flow.refusal = errno.EMSGSIZE
    probe, _ = run_batch([flow], batch(sizes_bytes=(9000,)))
    assert probe["unsent"] == "EMSGSIZE"
    assert probe["rtt_ns"] is None


def test_an_interruption_ends_a_batch_early(listener: socket.socket) -> None:
    flow = open_flow(listener.getsockname()[1])
    requested: list[int] = []

    def interrupted() -> bool:
        requested.append(1)
        return len(requested) > 2

    records = run_batch([flow], batch(repeats=50, timeout_ns=SHORT_NS), interrupted)
    assert records[-1]["complete"] is False
    assert len(records) <= 3


class ScriptedFlow:
    """A flow whose replies a test makes: ``answers`` gives, for each probe sent, what comes back at once."""

    def __init__(self, answers: list[Callable[[int, int], list[Reply]]]) -> None:
        self.number = 0
        self.socket, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.refusal: int | None = None
        self._answers = answers
        self._waiting: list[Reply] = []

    def send(self, number: int, _ttl: int, _size_bytes: int) -> tuple[int, int]:
        if self.refusal is not None:
            raise OSError(self.refusal, "no")
        now_ns, sent_ns = time.monotonic_ns(), time.time_ns()
        if self._answers:
            self._waiting += self._answers.pop(0)(number, sent_ns)
            self._far.send(b"x")
        return now_ns, sent_ns

    def read(self) -> list[Reply]:
        try:
            self.socket.recv(100)
        except BlockingIOError:
            return []
        replies, self._waiting = self._waiting, []
        return replies

    def close(self) -> None:
        self.socket.close()
        self._far.close()


def reply(number: int | None, received_ns: int | None, bits: int = 32) -> Reply:
    return Reply(
        number=number,
        number_bits=bits,
        kind="time-exceeded",
        code=0,
        source="198.18.0.2",
        received_ns=received_ns,
        mtu_bytes=None,
        reply_ttl=64,
        reply_bytes=56,
    )


def test_a_quote_too_short_to_name_its_probe_is_that_of_the_only_one_under_way() -> None:
    flow = ScriptedFlow([lambda _number, sent_ns: [reply(None, sent_ns + 1000)]])
    probe, end = run_batch([flow], batch())
    assert probe["rtt_ns"] == 1000
    assert end["ambiguous"] == 0


def test_a_short_quote_after_a_loss_is_nobodys() -> None:
    flow = ScriptedFlow([lambda _n, _s: [], lambda _number, sent_ns: [reply(None, sent_ns + 1000)]])
    first, second, end = run_batch([flow], batch(repeats=2, timeout_ns=SHORT_NS))
    assert (first["rtt_ns"], second["rtt_ns"]) == (None, None)
    assert end["ambiguous"] == 1


def test_sixteen_bits_of_a_number_are_compared_with_sixteen() -> None:
    records: list[Record] = []
    with contextlib.closing(
        ScriptedFlow([lambda number, sent_ns: [reply(number & 0xFFFF, sent_ns + 500, 16)]])
    ) as flow:
        prober = Prober([flow], records.append, lambda: False)  # type: ignore[list-item]
        prober._last_number = 70_000
        prober.run(batch())
    assert (records[0]["number"], records[0]["rtt_ns"]) == (70_001, 500)


@pytest.mark.parametrize("offset_ns", [None, -5, 0])
def test_a_missing_or_impossible_stamp_is_replaced_and_named(offset_ns: int | None) -> None:
    def answer(number: int, sent_ns: int) -> list[Reply]:
        return [reply(number, None if offset_ns is None else sent_ns + offset_ns)]

    flow = ScriptedFlow([answer])
    probe, _ = run_batch([flow], batch())
    assert probe["stamps"] == "user"
    assert probe["rtt_ns"] > 0


def test_a_clock_that_was_set_meanwhile_spoils_no_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    true_time_ns = time.time_ns
    flow = ScriptedFlow([])

    def answer(number: int, sent_ns: int) -> list[Reply]:
        monkeypatch.setattr(time, "time_ns", lambda: true_time_ns() + 3_600_000_000_000)
        return [reply(number, sent_ns + 3_600_000_000_000)]

    flow._answers = [answer]
    probe, end = run_batch([flow], batch())
    assert probe["stamps"] == "user"
    assert 0 < probe["rtt_ns"] < 3_600_000_000_000
    assert end["clock_step_ns"] > 3_599_000_000_000


def test_clocks_that_were_read_apart_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is held up for 50 ms between the first two."""
    monotonic_ns = iter([0, 50_000_000, 50_000_100, 50_000_200])
    realtime_ns = iter([1_050_000_000, 1_050_000_150])
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(monotonic_ns))
    monkeypatch.setattr(time, "time_ns", lambda: next(realtime_ns))
    assert read_clocks() == (50_000_100, 1_050_000_150)
