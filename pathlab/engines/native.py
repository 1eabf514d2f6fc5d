"""PathLab's own engine: one program at each end; the one that opens the connections starts and stops both."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from pathlab.agents.protocol import OTHER_BUILD, OWN_BUILD
from pathlab.campaign.engine_rules import Capabilities, Refusal
from pathlab.campaign.order import PlanRow
from pathlab.engines.base import (
    BITS_PER_S,
    GRACE_S,
    RTT_NS,
    SETUP_TIMEOUT_S,
    Engine,
    EngineContext,
    describe_silence,
    first,
)
from pathlab.engines.datagram_limits import DATAGRAM_LIMITS
from pathlab.engines.fan_out import merge_receivers
from pathlab.engines.message_limits import LOCAL_TRANSPORTS, MESSAGE_LIMITS, check_message_path
from pathlab.engines.settings import Options, engine_direction, flow_options
from pathlab.engines.spec import BOTH, NO_TOKEN, REVERSE
from pathlab.errors import HostError, Stage
from pathlab.remote.jobs import EngineJob
from pathlab.store.flags import Phase

#: So long without a byte of open streams, or the first one, a path has stopped carrying them.
SILENT_NS = 2_000_000_000
#: Placements in which one program is both ends.
ONE_PROCESS = ("threaded", "fused")


class NativeEngine(Engine):
    """Both ends connect all streams and wait for ``go`` at the end that opened the connections."""

    name = "native"
    capabilities = Capabilities(limits=(*MESSAGE_LIMITS, *DATAGRAM_LIMITS))

    @classmethod
    def check(cls, row: PlanRow) -> Iterator[Refusal]:
        """Messages have limits of their own, which may depend on the path as well."""
        yield from super().check(row)
        yield from check_message_path(row.path, row.cell)

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self._jobs: dict[str, EngineJob] = {}  # by role
        self._sinks: list[EngineJob] = []  # further receivers
        self._rates_bits_per_s: dict[int, float] = {}  # the latest of each receiver
        self._stream_rates: dict[int, list[float]] = {}  # the same, stream by stream
        self._retransmitted_segments: int | None = None  # as last reported
        self._lost = self._received = 0  # datagrams of a UDP flow so far

    def prepare(self) -> None:
        """Start the end that listens, then the one that connects, and wait until both are ready."""
        spec = self.context.spec
        if spec.cell.placement in ONE_PROCESS:
            self._prepare_one_process()
            return
        if spec.path.sinks:
            self._prepare_fan_out()
            return
        if spec.path.by_hand is not None:
            self._prepare_near_end(spec.path.by_hand.port)
            return
        from_receiver, roles = spec.path.connect_from == "receiver", ("sender", "receiver")
        # The end of the path that opens the connections sends, unless either is the other way round.
        sender_connects = (spec.cell.direction == REVERSE) == from_receiver
        self._connecting, listening = roles if sender_connects else roles[::-1]
        path = spec.path.turned() if from_receiver else spec.path
        if spec.cell.transport in LOCAL_TRANSPORTS:  # an abstract name: no file is left behind
            name = f"@pathlab-{secrets.token_hex(8)}"
            listen: Options = {"bind": name}
            connect: Options = {"address": name}
        else:
            listen = {"bind": path.destination_address, "port": path.destination_ports}
            connect = {"address": path.destination_address, "bind": path.source_address}
        self._start("receive", listening, listen)
        port = self._jobs[listening].wait_for("listening", SETUP_TIMEOUT_S)["port"]
        if port is not None:
            self.context.listening(port)
        self._start("send", self._connecting, connect if port is None else {**connect, "port": port})
        for role in (self._connecting, "sender", "receiver"):
            self._jobs[role].wait_for("ready", SETUP_TIMEOUT_S)

    def _prepare_near_end(self, port: int) -> None:
        """This end alone; the other engine listens at the destination already, without a token."""
        path = self.context.spec.path
        self._connecting = "receiver" if self.context.spec.cell.direction == REVERSE else "sender"
        ends: Options = {"address": path.destination_address, "bind": path.source_address, "port": port}
        self._start("send", self._connecting, ends).wait_for("ready", SETUP_TIMEOUT_S)

    def _prepare_one_process(self) -> None:
        """The sender alone, which is the receiver as well."""
        self._connecting = "sender"
        sender = self._jobs["receiver"] = self._start("send", "sender", {})
        sender.wait_for("ready", SETUP_TIMEOUT_S)

    def _prepare_fan_out(self) -> None:
        """Every receiver, each with its share of the streams, then the sender, which gets all addresses."""
        path, streams = self.context.spec.path, self.context.spec.cell.streams
        self._connecting = "sender"
        share = streams // (1 + len(path.sinks))
        listen: Options = {"bind": path.destination_address, "port": path.destination_ports}
        receivers = [self._start("receive", "receiver", {**listen, "streams": share})]
        for number, sink in enumerate(path.sinks):
            listen = {"bind": sink.address, "port": sink.ports}
            receivers.append(self._start("receive", "receiver", {**listen, "streams": share}, 1 + number))
        addresses = (path.destination_address, *(sink.address for sink in path.sinks))
        ports = [job.wait_for("listening", SETUP_TIMEOUT_S)["port"] for job in receivers]
        texts = [_join_port(address, port) for address, port in zip(addresses, ports, strict=True)]
        self.context.listening(ports[0])
        # The system chooses the address that faces each receiver.
        sender = self._start("send", "sender", {"receivers": ",".join(texts)})
        for job in (sender, *receivers):
            job.wait_for("ready", SETUP_TIMEOUT_S)

    @property
    def sha256(self) -> str | None:
        """As the sender's agent states it."""
        sender = self._jobs.get("sender")
        return sender.engine_sha256 if sender else None

    def _start(self, subcommand: str, role: str, ends: Options, receiver: int = 0) -> EngineJob:
        """Start one end; ``receiver`` counts from 0, which is at the destination."""
        context = self.context
        spec, sends = context.spec, role == "sender"
        direction = engine_direction(spec, sender_connects=self._connecting == "sender")
        if spec.cell.reply and not sends:
            direction = BOTH
        connects = role == self._connecting
        options = (
            flow_options(spec, context.allowed, sends=sends, connects=connects)
            | {"direction": direction}
            | ends
        )
        session = context.sinks[receiver - 1] if receiver else self.find_session(role)
        job = session.start_engine(
            subcommand,
            options,
            seconds=self.lifetime_s,
            token=context.token if spec.path.by_hand is None else NO_TOKEN,
            build=OTHER_BUILD if spec.cell.build == OTHER_BUILD else OWN_BUILD,
            on_record=functools.partial(self._on_record, role, receiver),
        )
        if receiver:
            self._sinks.append(job)
        else:
            self._jobs[role] = job
        context.keep(job)
        return job

    def _on_record(self, role: str, receiver: int, record: dict[str, Any]) -> None:
        if role == "sender":
            self._on_sender_record(record)
        spec = self.context.spec
        if role == "receiver" or spec.cell.placement in ONE_PROCESS or spec.path.by_hand is not None:
            self._on_receiver_record(receiver, record)

    def _on_sender_record(self, record: dict[str, Any]) -> None:
        # Loaded probes end with the steady window, whatever is still draining.
        if record["type"] == "result" or record.get("phase") == Phase.DRAIN:
            self.context.end_probes()
        counts = record.get("tcp_info", {}).get("total_retrans_segments", ())
        known = [count for count in counts if count is not None]
        if known and sum(known) != self._retransmitted_segments:
            self._retransmitted_segments = sum(known)
            self.context.observer.retransmissions(self._retransmitted_segments)
        rtts_us = record.get("tcp_info", {}).get("rtt_us")
        if record["type"] == "interval" and rtts_us:
            rtts_ns = [None if rtt_us is None else 1000 * rtt_us for rtt_us in rtts_us]
            self.context.observer.streams(RTT_NS, rtts_ns, record["end_ns"])

    def _on_receiver_record(self, receiver: int, record: dict[str, Any]) -> None:
        if record["type"] == "interval" and self.has_rate(record):
            span_ns = record["end_ns"] - record["start_ns"]
            self._rates_bits_per_s[receiver] = sum(record["bytes"]) * 8e9 / span_ns
            self._stream_rates[receiver] = [8e9 * size / span_ns for size in record["bytes"]]
            if receiver == 0:
                streams = [rate for _, rates in sorted(self._stream_rates.items()) for rate in rates]
                self.context.observer.streams(BITS_PER_S, streams, record["end_ns"])
                self.context.observer.rate(sum(self._rates_bits_per_s.values()), record["end_ns"])
        counts = record.get("datagrams") or {}
        if record["type"] == "interval" and "received" in counts:
            self._received += sum(counts["received"])
            self._lost += sum(counts["lost"])
            self.context.observer.losses(max(self._lost, 0), self._received)

    def run(self) -> None:
        """Say go and wait until the sender has stopped and the receiver has read to the end."""
        spec = self.context.spec
        self._jobs[self._connecting].command("go")
        if spec.path.by_hand is not None:
            self._jobs[self._connecting].wait_for("result", spec.traffic_s + GRACE_S)
            return
        try:
            self._jobs["sender"].wait_for("result", spec.traffic_s + GRACE_S)
        except HostError as error:
            if error.stage != Stage.ENGINE or not self._went_silent():
                raise
            text = f"nothing arrived any more: {error.reason}; {describe_silence(spec.path)}"
            raise self.fail("sender", text) from error
        for receiver in (self._jobs["receiver"], *self._sinks):
            receiver.wait_for("result", spec.trial.drain_ns / 1e9 + GRACE_S)

    def stop(self) -> None:
        self._jobs[self._connecting].command("stop")

    def collect(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        sender, receiver = (self._jobs.get(role) for role in ("sender", "receiver"))
        received = receiver.records if receiver else []
        if self._sinks:
            everything = [received, *(sink.records for sink in self._sinks)]
            received = merge_receivers(everything, self.context.spec.cell.streams)
        return sender.records if sender else [], received

    def _went_silent(self) -> bool:
        """Whether streams of bytes were open, and for ``SILENT_NS`` nothing of them had arrived."""
        if self.context.spec.cell.message_bytes is not None:
            return False
        intervals = [record for record in self._jobs["receiver"].records if record["type"] == "interval"]
        silent = takewhile(lambda item: not sum(item["bytes"]), reversed(intervals))
        spent_ns = sum(item["end_ns"] - item["start_ns"] for item in silent)
        return not intervals or spent_ns >= SILENT_NS

    def _died_silently(self) -> bool:
        """Whether streams of bytes that were open to the end delivered nothing more after the stop."""
        results = [first(records, "result") or {} for records in self.collect()]
        drains = [(result.get("phases") or {}).get(Phase.DRAIN) for result in results]
        spec = self.context.spec
        if spec.cell.message_bytes is not None or spec.path.by_hand is not None or None in drains:
            return False
        return bool(results[0].get("reset_streams")) and not sum((drains[1] or {})["bytes"])

    def check_ends(self) -> None:
        roles = [role for role in ("sender", "receiver") if role in self._jobs]  # one, of an end by hand
        ends = [(role, self.find_session(role), self._jobs[role]) for role in roles]
        ends += [("receiver", *pair) for pair in zip(self.context.sinks, self._sinks, strict=True)]
        for role, session, job in ends:
            result = job.wait_for("result", 0.0)
            if not result["complete"]:
                text = f"the {role} did not finish: {result.get('reason') or 'ended early'}"
                if self._died_silently():
                    text += f"; {describe_silence(self.context.spec.path)}"
                raise HostError(text, host=session.host, stage=Stage.ENGINE)


def _join_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


ENGINE = NativeEngine
