"""What this machine can and cannot do for PathLab, and how to fix it; the logic of ``pathlab doctor``.

Every line is tried, not looked up: a lab is built and taken down, probes are sent over loopback, congestion
controls are set on a socket.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from pathlab import __version__
from pathlab.errors import PathlabError
from pathlab.lab.namespaces import Namespaces
from pathlab.remote.engine import engine_version, find_engine
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from pathlab.runner.hosts.environment import may_set_congestion
from pathlab.units import format_bytes

LIBRARIES = (
    "numpy",
    "scipy",
    "matplotlib",
    "paramiko",
    "scapy",
    "iperf3",
    "pyarrow",
    "SQLAlchemy",
    "pydantic",
)
#: A window of this size fills 1 Gbit/s at 128 ms; smaller limits are worth raising on long paths.
USEFUL_WINDOW_BYTES = 16 << 20
PROBE_TIMEOUT_S = 5.0
FREE_BYTES_MIN = 200 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at. ``state``: ``ok``, ``limited`` (works with less), ``missing`` (needed)."""

    name: str
    state: str
    found: str
    fix: str | None = None


def examine() -> Iterator[Check]:
    """Every check in turn; each one is yielded as soon as it is known, and none can fail the others."""
    yield Check(
        name="PathLab",
        state="ok",
        found=f"{__version__} on Python {platform.python_version()}, Linux {platform.release()}",
    )
    for check in (
        _engine,
        _libraries,
        _agent,
        _probes,
        _namespaces,
        _tun,
        _congestion,
        _windows,
        _cores,
        _disk,
    ):
        yield from _guarded(check)


def _guarded(check: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    try:
        yield from check()
    except PathlabError as error:
        yield Check(name=check.__name__.strip("_"), state="missing", found=str(error), fix=error.hint)
    except OSError as error:
        yield Check(
            name=check.__name__.strip("_"), state="missing", found=f"{error.strerror}: {error.filename}"
        )


def _engine() -> Iterator[Check]:
    compiler = shutil.which("cc")
    try:
        engine = find_engine()
        yield Check(name="engine", state="ok", found=f"{engine_version(engine)} at {engine}")
    except PathlabError as error:
        fix = error.hint if compiler else "Debian: apt-get install gcc libc6-dev make, then make engine"
        yield Check(name="engine", state="missing", found=error.message, fix=fix)
    if not compiler:
        yield Check(
            name="C compiler",
            state="limited",
            found="none; needed only to build the engine",
            fix="Debian: apt-get install gcc libc6-dev",
        )


def _libraries() -> Iterator[Check]:
    found, missing = [], []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    yield Check(
        name="libraries",
        state="missing" if missing else "ok",
        found=", ".join(found) + (f"; missing: {', '.join(missing)}" if missing else ""),
        fix=f"{sys.executable} -m pip install {' '.join(missing)}" if missing else None,
    )


def _agent() -> Iterator[Check]:
    with contextlib.closing(Session(LocalTransport(), host="local")) as session:
        hello = session.open()
        yield Check(
            name="agent", state="ok", found=f"protocol {hello['protocol']}, answers over a local process"
        )


def _probes() -> Iterator[Check]:
    options: dict[str, str | int] = {
        "address": "127.0.0.1",
        "count": 3,
        "interval-ns": 10_000_000,
        "timeout-ns": 500_000_000,
    }
    with contextlib.closing(Session(LocalTransport(), host="local")) as session:
        session.open()
        job = session.start_engine("ping", options, seconds=PROBE_TIMEOUT_S)
        fix = 'sysctl -w net.ipv4.ping_group_range="0 2147483647", or run as root'
        try:
            start = job.wait_for("start", PROBE_TIMEOUT_S)
            answered = job.wait_for("result", PROBE_TIMEOUT_S)["received"]
        except PathlabError:
            yield Check(
                name="probes",
                state="limited",
                found="ICMP is not permitted; UDP echo is used instead",
                fix=fix,
            )
            return
    if answered:
        found = f"{start['method']}, {start['stamps']} time stamps"
        yield Check(name="probes", state="ok", found=found)
    else:
        found = "ICMP may be sent but nothing answers on loopback; UDP echo is used instead"
        yield Check(name="probes", state="limited", found=found, fix="look at the firewall's ICMP rules")


def _namespaces() -> Iterator[Check]:
    try:
        with Namespaces() as namespaces:
            node = "doctor"
            namespaces.add_node(node)
            namespaces.run(node, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
            found = f"network namespaces with {namespaces.privilege} privilege, veth"
        yield Check(name="lab", state="ok", found=found)
    except PathlabError as error:
        yield Check(
            name="lab",
            state="limited",
            found=f"{error.message}; campaigns with a lab fall back to loopback where they allow it",
            fix=error.hint,
        )


def _tun() -> Iterator[Check]:
    if os.access("/dev/net/tun", os.R_OK | os.W_OK):
        yield Check(name="/dev/net/tun", state="ok", found="accessible")
    else:
        yield Check(
            name="/dev/net/tun",
            state="ok",
            found="not accessible; the lab uses packet sockets, which are as good",
        )


def _congestion() -> Iterator[Check]:
    root = Path("/proc/sys/net/ipv4")
    default = (root / "tcp_congestion_control").read_text(encoding="ascii").strip()
    available = (root / "tcp_available_congestion_control").read_text(encoding="ascii").split()
    refused = [name for name in available if not may_set_congestion(name)]
    usable = [name for name in available if name not in refused]
    found = f"default {default}; may be set: {', '.join(usable)}"
    fix = None
    if refused:
        found += f"; refused to this user: {', '.join(refused)}"
        fix = 'sysctl -w net.ipv4.tcp_allowed_congestion_control="{" ".join(available)}"'
    yield Check(name="congestion control", state="limited" if refused else "ok", found=found, fix=fix)


def _windows() -> Iterator[Check]:
    limits = {}
    for name in ("rmem_max", "wmem_max"):
        limits[name] = int(Path(f"/proc/sys/net/core/{name}").read_text(encoding="ascii"))
    least = min(limits.values())
    found = f"at most {format_bytes(least)} per socket may be asked for"
    fix = None
    if least < USEFUL_WINDOW_BYTES:
        size = 4 * USEFUL_WINDOW_BYTES
        fix = f"sysctl -w net.core.rmem_max={size} net.core.wmem_max={size}"
    yield Check(name="windows", state="limited" if fix else "ok", found=found, fix=fix)


def _cores() -> Iterator[Check]:
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    busy = load > 0.5 * cores
    yield Check(
        name="processors",
        state="limited" if busy else "ok",
        found=f"{cores} cores, load {load:.1f}",
        fix="end what keeps them busy before measuring: a busy host is measured, not the path"
        if busy
        else None,
    )


def _disk() -> Iterator[Check]:
    free = shutil.disk_usage(".").free
    short = free < FREE_BYTES_MIN
    yield Check(
        name="disk",
        state="limited" if short else "ok",
        found=f"{format_bytes(free)} free here",
        fix="make room, or name another folder with --out" if short else None,
    )
