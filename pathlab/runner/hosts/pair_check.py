"""What hosts can do for a measurement, tried from here; the logic of ``pathlab hosts check``."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pathlab.campaign.host_model import Host
from pathlab.errors import HostError, PathlabError
from pathlab.host_names import LOCAL
from pathlab.remote.hosts import RemoteAccess, RemoteHosts
from pathlab.remote.jobs import EngineJob
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from pathlab.remote.transport import Transport
from pathlab.runner.hosts.facts_check import HostCheck, split_fix
from pathlab.runner.hosts.host_check import OpenHost, check_host, describe_failure, measure_hosts, open_host
from pathlab.runner.hosts.technology_check import TechnologyState, check_technologies
from pathlab.runner.trial.probing import PathProber, ProbeTimeouts
from pathlab.units import format_time

PARALLEL_MAX = 64
WAIT_S = 10.0
CONNECT_TIMEOUT_NS = 3_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCheck:
    """One direction between two hosts; ``items`` are what was tried, in order."""

    source: str
    destination: str
    items: tuple[HostCheck, ...]


class HostInspection:
    """Sessions with all hosts at once, and what they find."""

    def __init__(self, hosts: Mapping[str, Host], access: RemoteAccess) -> None:
        self._hosts = dict(hosts)
        self._remote = RemoteHosts(hosts, access)
        self._opened: dict[str, OpenHost] = {}

    def close(self) -> None:
        """End every session."""
        for host in self._opened.values():
            host.session.close()
        self._remote.close()

    def check_hosts(self, names: Sequence[str]) -> list[tuple[str, tuple[HostCheck, ...]]]:
        """Every host's checks, all looked at together; a host that fails has one check that says why."""
        if not names:
            return []
        with ThreadPoolExecutor(min(len(names), PARALLEL_MAX)) as pool:
            tried = dict(zip(names, pool.map(self._open_host, names), strict=True))
            opened = {name: item for name, item in tried.items() if isinstance(item, OpenHost)}
            self._opened.update(opened)
            activities = measure_hosts(opened)  # while nothing else of ours runs on them

            def check(name: str) -> tuple[HostCheck, ...]:
                item = tried[name]
                return (
                    tuple(check_host(item, activities.get(name))) if isinstance(item, OpenHost) else (item,)
                )

            return list(zip(names, pool.map(check, names), strict=True))

    def check_technologies(self, name: str, technologies: Sequence[str]) -> list[TechnologyState]:
        """What one host has of these technologies. Raises PathlabError where it cannot be asked."""
        session = Session(self._transport(name), host=name)
        try:
            session.open()
            return check_technologies(session, technologies)
        finally:
            session.close()

    def check_pairs(self, pairs: Sequence[tuple[str, str]]) -> Iterator[PairCheck]:
        """Every pair whose two hosts answered, one after the other."""
        for source, destination in pairs:
            if source in self._opened and destination in self._opened:
                items = tuple(self._check_pair(source, destination))
                yield PairCheck(source=source, destination=destination, items=items)

    def _transport(self, name: str) -> Transport:
        return self._remote.transport(name) if name in self._remote else LocalTransport(host=name)

    def _open_host(self, name: str) -> OpenHost | HostCheck:
        host = self._hosts.get(name)
        try:
            return open_host(self._transport(name), name, host.nic if host is not None else None)
        except PathlabError as error:
            return describe_failure(error, "agent")

    def _check_pair(self, source: str, destination: str) -> Iterator[HostCheck]:
        try:
            ends = self._remote.pair_addresses(source, destination)
        except HostError as error:
            yield HostCheck("addresses", "missing", error.reason, error.hint)
            return
        yield HostCheck("addresses", "ok", f"{ends[0]} to {ends[1]}")
        yield self._try_probes(source, ends)
        yield self._try_data_port(source, destination, ends)

    def _try_probes(self, source: str, ends: tuple[str, str]) -> HostCheck:
        fix = 'allow ICMP: sysctl -w net.ipv4.ping_group_range="0 2147483647", and the firewall\'s rules'
        fallback = "UDP echo is used instead"
        prober = PathProber(self._opened[source].session, ends)
        try:
            job = prober.start(
                count=5, interval_ns=20_000_000, timeouts=ProbeTimeouts.fixed(3_000_000_000), seconds=WAIT_S
            )
            method = job.wait_for("start", WAIT_S)["method"]
            job.wait_for("result", WAIT_S)
        except HostError as error:
            reason, advice = split_fix(error.reason, fix)
            return HostCheck("probes", "limited", f"{reason}; {fallback}", advice)
        finally:
            prober.close()
        times = [record["rtt_ns"] for record in job.records if record["type"] == "probe"]
        answered = sorted(rtt for rtt in times if rtt is not None)
        if not answered:
            result = f"{method} is not answered; {fallback}"
            return HostCheck("probes", "limited", result, fix)
        result = f"{method}, {len(answered)} of {len(times)} answered, RTT {format_time(answered[0])}"
        return HostCheck("probes", "ok", result)

    def _try_data_port(self, source: str, destination: str, ends: tuple[str, str]) -> HostCheck:
        """A short flow from the source, as a trial makes it."""
        token = secrets.token_hex(16)
        ports = self._remote.ports(destination)
        receiver = sender = None
        try:
            options: dict[str, str | int] = {"bind": ends[1], "port": ports, "streams": 1}
            receiver = self._opened[destination].session.start_engine(
                "receive", options, seconds=WAIT_S, token=token
            )
            port = int(receiver.wait_for("listening", WAIT_S)["port"])
        except HostError as error:
            self._end(receiver)
            fix = "free a port there, or name others with `port_range`"
            return HostCheck("data port", "missing", *split_fix(error.reason, fix))
        try:
            options = {"address": ends[1], "port": port, "bind": ends[0], "streams": 1}
            options |= {"connect-timeout-ns": CONNECT_TIMEOUT_NS, "warmup-ns": 0, "duration-ns": 50_000_000}
            sender = self._opened[source].session.start_engine("send", options, seconds=WAIT_S, token=token)
            sender.wait_for("ready", WAIT_S)
            sender.command("go")
            sender.wait_for("result", WAIT_S)
        except HostError as error:
            opened = f"TCP port {port}" if ports == "0" else f"the TCP ports {ports}"
            return HostCheck(
                "data port",
                "missing",
                f"port {port} of {destination} cannot be reached: {error.reason}",
                f"let {opened} in at {destination} for {ends[0]} (`port_range` keeps to some), or let "
                f'the path be opened from there: connect_from = "receiver"',
            )
        finally:
            self._end(sender)
            self._end(receiver)
        return HostCheck("data port", "ok", f"{port} of {destination} lets traffic in")

    @staticmethod
    def _end(job: EngineJob | None) -> None:
        if job is not None:
            with contextlib.suppress(HostError):  # the session is gone, and the engine with it
                job.kill()


def list_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Every ordered pair of different hosts; a host alone is paired with this machine."""
    ends = list(dict.fromkeys(names if len(names) > 1 else (LOCAL, *names)))
    return [(source, destination) for source in ends for destination in ends if source != destination]
