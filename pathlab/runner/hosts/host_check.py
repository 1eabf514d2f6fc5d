"""The checks of one host, over a session with its agent: the list that ``doctor`` and ``hosts check`` share.

What can be tried is tried: probes are sent over its loopback, congestion controls are set on a socket, and
its activity is measured. The rest are the agent's facts.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pathlab.campaign.technologies import list_technologies
from pathlab.errors import HostError, PathlabError
from pathlab.remote.engine import engine_version, find_engine
from pathlab.remote.session import Session
from pathlab.remote.ssh import SshTransport
from pathlab.remote.transport import Transport
from pathlab.runner.hosts.capture_check import check_host_captures
from pathlab.runner.hosts.facts_check import HostCheck, check_facts, split_fix
from pathlab.runner.hosts.host_activity import HostActivity, check_activity, measure_activity
from pathlab.runner.hosts.technology_check import check_host_technologies
from pathlab.runner.trial.probing import PathProber, ProbeTimeouts
from pathlab.units import format_time

PROBE_TIMEOUT_S = 5.0
CLOCK_OFF_NS = 60 * 1_000_000_000
PROBES_FIX = 'sysctl -w net.ipv4.ping_group_range="0 2147483647", or run as root'


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenHost:
    """A host whose agent answers; ``opened_ns``: the time that this took, ``nic``: what traffic shall use."""

    session: Session
    transport: Transport
    hello: Mapping[str, Any]
    facts: Mapping[str, Any]
    opened_ns: int
    clock_off_ns: int
    nic: str | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the deployment over SSH found; empty for this machine."""
        return self.transport.identity if isinstance(self.transport, SshTransport) else {}


def open_host(transport: Transport, name: str, nic: str | None = None) -> OpenHost:
    """Connect to a host and read its facts. Raises PathlabError; the session is closed then."""
    began_ns = time.monotonic_ns()
    session = Session(transport, host=name)
    try:
        hello = session.open()
        opened_ns = time.monotonic_ns() - began_ns
        facts, off_ns = session.facts(), session.clock()[1] - time.time_ns()
    except BaseException:
        session.close()
        raise
    return OpenHost(
        session=session,
        transport=transport,
        hello=hello,
        facts=facts,
        opened_ns=opened_ns,
        clock_off_ns=off_ns,
        nic=nic,
    )


def measure_hosts(hosts: Mapping[str, OpenHost]) -> dict[str, HostActivity]:
    """What others do on these hosts, all measured at once."""
    return measure_activity(
        {name: functools.partial(host.session.request, "activity") for name, host in hosts.items()}
    )


def check_host(host: OpenHost, activity: HostActivity | None) -> Iterator[HostCheck]:
    """Every check in turn; none can fail the others."""
    for check in HOST_CHECKS:
        try:
            yield from check(host)
        except PathlabError as error:
            yield describe_failure(error, check.__name__.removeprefix("_check_"))
    yield check_activity(activity)


def describe_failure(error: PathlabError, item: str) -> HostCheck:
    """What is missing, under the stage that failed where the error names one."""
    stage = error.stage if isinstance(error, HostError) else item
    reason = error.reason if isinstance(error, HostError) else str(error)
    return HostCheck(stage, "missing", *split_fix(reason, error.hint))


def _check_reached(host: OpenHost) -> Iterator[HostCheck]:
    ssh = host.transport.connection.settings.login if isinstance(host.transport, SshTransport) else None
    way = "local process" if ssh is None else f"SSH to {ssh}"
    result = f"{way}, ready within {format_time(host.opened_ns)}; agent protocol {host.hello['protocol']}"
    yield HostCheck("reached", "ok", result)


def _check_interpreter(host: OpenHost) -> Iterator[HostCheck]:
    path = host.identity.get("interpreter") or (host.facts.get("interpreter") or {}).get("path", "")
    yield HostCheck("interpreter", "ok", f"Python {host.hello['python']} ({path})")


def _check_engine(host: OpenHost) -> Iterator[HostCheck]:
    machine = (host.facts.get("kernel") or {}).get("machine")
    if engine := host.identity.get("engine"):
        yield HostCheck("engine", "ok", f"runs on {machine} in {engine}")
    else:
        own = find_engine()
        yield HostCheck("engine", "ok", f"{engine_version(own)} runs on {machine}, {own}")


def _check_probes(host: OpenHost) -> Iterator[HostCheck]:
    prober = PathProber(host.session, ("127.0.0.1", "127.0.0.1"))
    try:
        job = prober.start(
            count=3,
            interval_ns=10_000_000,
            timeouts=ProbeTimeouts.fixed(500_000_000),
            seconds=PROBE_TIMEOUT_S,
        )
        start = job.wait_for("start", PROBE_TIMEOUT_S)
        answered = job.wait_for("result", PROBE_TIMEOUT_S)["received"]
    except PathlabError:
        result = "ICMP is not permitted; UDP echo is used instead"
        yield HostCheck("loopback probes", "limited", result, PROBES_FIX)
        return
    finally:
        prober.close()
    if answered:
        yield HostCheck("loopback probes", "ok", f"{start['method']}, {start['stamps']} time stamps")
        return
    result = "ICMP may be sent but nothing answers on loopback; UDP echo is used instead"
    yield HostCheck("loopback probes", "limited", result, "look at the firewall's ICMP rules")


def _check_facts(host: OpenHost) -> Iterator[HostCheck]:
    yield from check_facts(host.facts, nic=host.nic)


def _check_technologies(host: OpenHost) -> Iterator[HostCheck]:
    if not list_technologies():
        return
    try:
        yield check_host_technologies(host.session)
    except PathlabError as error:
        yield HostCheck("technologies", "optional", f"cannot be looked for: {error}")


def _check_captures(host: OpenHost) -> Iterator[HostCheck]:
    yield check_host_captures(host.session)


def _check_clock(host: OpenHost) -> Iterator[HostCheck]:
    off_ns = host.clock_off_ns
    if abs(off_ns) > CLOCK_OFF_NS:
        result = f"its time of day is {format_time(abs(off_ns))} {'ahead' if off_ns > 0 else 'behind'}"
        result += "; measurements do not depend on it, logs do"
        yield HostCheck("time of day", "limited", result, "set it, or let NTP set it")


HOST_CHECKS: tuple[Callable[[OpenHost], Iterator[HostCheck]], ...] = (
    _check_reached,
    _check_interpreter,
    _check_engine,
    _check_probes,
    _check_facts,
    _check_technologies,
    _check_captures,
    _check_clock,
)
