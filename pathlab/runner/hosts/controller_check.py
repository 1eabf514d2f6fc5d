"""What this machine can and cannot do for PathLab, and how to fix it; the logic of ``pathlab doctor``.

What can be tried is tried: a lab is built and taken down, probes are sent over loopback, congestion controls
are set on a socket. The rest are the agent's facts, as ``pathlab hosts check`` reads them.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from pathlab import __version__
from pathlab.errors import PathlabError
from pathlab.lab.namespaces import Namespaces
from pathlab.remote.engine import engine_version, find_engine
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from pathlab.runner.hosts.environment import may_set_congestion
from pathlab.runner.hosts.facts_check import CONGESTION, HostCheck, check_facts, check_limit
from pathlab.runner.trial.probing import PathProber
from pathlab.units import format_bytes

LIBRARIES = (
    "numpy",
    "scipy",
    "matplotlib",
    "paramiko",
    "scapy",
    "pyarrow",
    "SQLAlchemy",
    "pydantic",
)
PROBE_TIMEOUT_S = 5.0
FREE_BYTES_MIN = 200 << 20


def examine() -> Iterator[HostCheck]:
    """Every check in turn; each one is yielded as soon as it is known, and none can fail the others."""
    yield HostCheck(
        "PathLab", "ok", f"{__version__} on Python {platform.python_version()}, Linux {platform.release()}"
    )
    for check in (
        _engine,
        _libraries,
        _pdf,
        _agent,
        _probes,
        _namespaces,
        _tun,
        _congestion,
        _disk,
    ):
        yield from _guarded(check)


def _guarded(check: Callable[[], Iterator[HostCheck]]) -> Iterator[HostCheck]:
    try:
        yield from check()
    except PathlabError as error:
        yield HostCheck(check.__name__.strip("_"), "missing", str(error), error.hint)
    except OSError as error:
        yield HostCheck(check.__name__.strip("_"), "missing", f"{error.strerror}: {error.filename}")


def _engine() -> Iterator[HostCheck]:
    engine = find_engine()
    yield HostCheck("engine", "ok", f"{engine_version(engine)} at {engine}")


def _libraries() -> Iterator[HostCheck]:
    found, missing = [], []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    yield HostCheck(
        "libraries",
        "missing" if missing else "ok",
        ", ".join(found) + (f"; missing: {', '.join(missing)}" if missing else ""),
        f"{sys.executable} -m pip install {' '.join(missing)}" if missing else None,
    )


def _pdf() -> Iterator[HostCheck]:
    try:
        yield HostCheck("PDF", "ok", f"weasyprint {metadata.version('weasyprint')}")
    except metadata.PackageNotFoundError:
        yield HostCheck("PDF", "limited", "weasyprint is not installed", "pip install 'pathlab[pdf]'")


def _agent() -> Iterator[HostCheck]:
    with contextlib.closing(Session(LocalTransport(), host="local")) as session:
        hello = session.open()
        yield HostCheck("agent", "ok", f"protocol {hello['protocol']}, answers over a local process")
        facts = check_facts(session.facts(), nic=None)
        yield from (check for check in facts if check.item != CONGESTION)  # which is tried below


def _probes() -> Iterator[HostCheck]:
    with contextlib.closing(Session(LocalTransport(), host="local")) as session:
        session.open()
        prober = PathProber(session, ("127.0.0.1", "127.0.0.1"))
        job = prober.start(count=3, interval_ns=10_000_000, timeout_ns=500_000_000, seconds=PROBE_TIMEOUT_S)
        fix = 'sysctl -w net.ipv4.ping_group_range="0 2147483647", or run as root'
        try:
            start = job.wait_for("start", PROBE_TIMEOUT_S)
            answered = job.wait_for("result", PROBE_TIMEOUT_S)["received"]
        except PathlabError:
            yield HostCheck("probes", "limited", "ICMP is not permitted; UDP echo is used instead", fix)
            return
    if answered:
        found = f"{start['method']}, {start['stamps']} time stamps"
        yield HostCheck("probes", "ok", found)
    else:
        found = "ICMP may be sent but nothing answers on loopback; UDP echo is used instead"
        yield HostCheck("probes", "limited", found, "look at the firewall's ICMP rules")


def _namespaces() -> Iterator[HostCheck]:
    try:
        with Namespaces() as namespaces:
            node = "doctor"
            namespaces.add_node(node)
            namespaces.run(node, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
            found = f"network namespaces with {namespaces.privilege} privilege, veth"
        yield HostCheck("lab", "ok", found)
    except PathlabError as error:
        yield HostCheck(
            "lab",
            "limited",
            f"{error.message}; campaigns with a lab fall back to loopback where they allow it",
            error.hint,
        )


def _tun() -> Iterator[HostCheck]:
    if os.access("/dev/net/tun", os.R_OK | os.W_OK):
        yield HostCheck("/dev/net/tun", "ok", "accessible")
    else:
        yield HostCheck(
            "/dev/net/tun", "ok", "not accessible; the lab uses packet sockets, which are as good"
        )


def _congestion() -> Iterator[HostCheck]:
    root = Path("/proc/sys/net/ipv4")
    default = (root / "tcp_congestion_control").read_text(encoding="ascii").strip()
    available = (root / "tcp_available_congestion_control").read_text(encoding="ascii").split()
    refused = [name for name in available if not may_set_congestion(name)]
    usable = [name for name in available if name not in refused]
    found = f"default {default}; may be set: {', '.join(usable)}"
    fix = None
    if refused:
        found += f"; refused to this user: {', '.join(refused)}"
        fix = f'sysctl -w net.ipv4.tcp_allowed_congestion_control="{" ".join(available)}"'
    yield check_limit(CONGESTION, found, fix)


def _disk() -> Iterator[HostCheck]:
    free = shutil.disk_usage(".").free
    fix = "make room, or name another folder with --out" if free < FREE_BYTES_MIN else None
    yield check_limit("disk", f"{format_bytes(free)} free here", fix)
