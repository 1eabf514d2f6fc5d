"""What a host's facts mean for measurements: its limits, and how to raise them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pathlab.units import format_bytes, format_rate

#: A window of this size fills 1 Gbit/s at 128 ms; smaller limits are worth raising on long paths.
USEFUL_WINDOW_BYTES = 16 << 20
STEADY_CLOCKS = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase"})
USEFUL_OFFLOADS = ("tso", "gso", "gro", "rx_checksum", "tx_checksum")
ETHTOOL_NAMES = {"rx_checksum": "rx", "tx_checksum": "tx"}
IDLE_INTERFACES = frozenset({"down", "lowerlayerdown", "notpresent"})
ETHERNET_MTU_BYTES = 1500
CONGESTION = "congestion control"


@dataclass(frozen=True, slots=True)
class HostCheck:
    """One thing looked at. ``state``: ``ok``, ``limited`` (works with less), ``missing`` (needed).

    ``optional``: nothing needs it unless it is asked for.
    """

    item: str
    state: str
    found: str
    fix: str | None = None


def check_limit(item: str, result: str, fix: str | None) -> HostCheck:
    """A check of something that works, with less where there is a ``fix``."""
    return HostCheck(item, "limited" if fix else "ok", result, fix)


def split_fix(reason: str, fix: str | None = None) -> tuple[str, str | None]:
    """What is wrong, and the one thing to do: what a program itself advises in its error, else ``fix``."""
    what, advised, advice = reason.partition("; fix: ")
    return what, advice if advised else fix


def check_facts(facts: Mapping[str, Any], *, nic: str | None) -> list[HostCheck]:
    """Every check that a host's facts allow; one whose fact could not be read says so.

    ``nic`` is the interface that the traffic shall use, None for all that are up.
    """
    checks: list[HostCheck] = []
    readers: tuple[tuple[str, str, Callable[[Mapping[str, Any]], Iterator[HostCheck]]], ...] = (
        ("windows", "buffers", _check_windows),
        (CONGESTION, "tcp", _check_congestion),
        ("clock", "clock", _check_clock),
        ("CPU frequency", "frequency", _check_frequency),
    )
    for item, fact, read in readers:
        if facts.get(fact) is None:
            reasons = "; ".join(facts.get("unread", {}).get(fact, [])) or "not reported"
            checks.append(HostCheck(item, "limited", f"cannot be read ({reasons})"))
        else:
            checks += read(facts[fact])
    checks += _check_nics(facts.get("nics") or {}, nic)
    return checks


def _check_windows(buffers: Mapping[str, Any]) -> Iterator[HostCheck]:
    limits = {"rmem": buffers.get("rmem_max_bytes"), "wmem": buffers.get("wmem_max_bytes")}
    tuned = {"rmem": buffers.get("tcp_rmem"), "wmem": buffers.get("tcp_wmem")}
    known = [size for size in limits.values() if size is not None]
    if len(known) < 2:
        yield HostCheck("windows", "limited", "the limits cannot be read")
        return
    most = {name: (table or {}).get("max_bytes") for name, table in tuned.items()}
    result = (
        f"windows up to {format_bytes(min(known))} can be requested; "
        f"autotuning goes to {format_bytes(most['rmem'])} received, {format_bytes(most['wmem'])} sent"
    )
    lines = [
        f"net.core.{name}_max={USEFUL_WINDOW_BYTES}"
        for name, size in limits.items()
        if size is not None and size < USEFUL_WINDOW_BYTES
    ]
    for name, table in tuned.items():
        if table and table.get("max_bytes", 0) < USEFUL_WINDOW_BYTES:
            least, usual = table["min_bytes"], table["default_bytes"]
            lines.append(f'net.ipv4.tcp_{name}="{least} {usual} {USEFUL_WINDOW_BYTES}"')
    fix = f"for long paths, as root: sysctl -w {' '.join(lines)}" if lines else None
    yield check_limit("windows", result, fix)


def _check_congestion(tcp: Mapping[str, Any]) -> Iterator[HostCheck]:
    available = tcp.get("congestion_available") or []
    allowed = tcp.get("congestion_settable") or []
    result = f"default {tcp.get('congestion_default')}; may be set: {', '.join(allowed) or 'unknown'}"
    barred = [name for name in available if name not in allowed]
    fix = None
    if barred:
        result += f"; refused to this user: {', '.join(barred)}"
        fix = f'as root: sysctl -w net.ipv4.tcp_allowed_congestion_control="{" ".join(available)}"'
    yield check_limit(CONGESTION, result, fix)
    if tcp.get("tcp_window_scaling") == 0:
        yield HostCheck(
            "window scaling",
            "limited",
            "is off: no window above 64 KiB",
            "as root: sysctl -w net.ipv4.tcp_window_scaling=1",
        )


def _check_clock(clock: Mapping[str, Any]) -> Iterator[HostCheck]:
    current = clock.get("current")
    if current in STEADY_CLOCKS:
        yield HostCheck("clock", "ok", str(current))
        return
    better = [name for name in clock.get("available") or [] if name in STEADY_CLOCKS]
    fix = None
    if better:
        folder = "/sys/devices/system/clocksource/clocksource0"
        fix = f"as root: echo {better[0]} > {folder}/current_clocksource"
    result = f"{current}: reading it is slow, which costs CPU and makes time stamps less accurate"
    yield HostCheck("clock", "limited", result, fix)


def _check_frequency(frequency: Mapping[str, Any]) -> Iterator[HostCheck]:
    if not frequency.get("scaling"):
        yield HostCheck("CPU frequency", "ok", "not scaled by this system")
        return
    governors = frequency.get("governors") or []
    fix = None
    if set(governors) != {"performance"}:
        fix = "as root: cpupower frequency-set -g performance, for steady rates"
    yield check_limit("CPU frequency", f"governor {', '.join(sorted(governors)) or 'unknown'}", fix)


def _check_nics(nics: Mapping[str, Any], wanted: str | None) -> Iterator[HostCheck]:
    if wanted is not None and wanted not in nics:
        result = f"there is no interface {wanted}; there are {', '.join(sorted(nics)) or 'none'}"
        yield HostCheck(f"NIC {wanted}", "missing", result, "correct `nic`")
        return
    for name, nic in sorted(nics.items()):
        up = nic.get("state") not in IDLE_INTERFACES
        if (name == wanted) if wanted is not None else (name != "lo" and up):
            yield _check_nic(name, nic, up=up)


def _check_nic(name: str, nic: Mapping[str, Any], *, up: bool) -> HostCheck:
    offloads = nic.get("offloads") or {}
    off = [offload for offload in USEFUL_OFFLOADS if offloads.get(offload) is False]
    speed, mtu_bytes = nic.get("speed_bits_per_s"), nic.get("mtu_bytes")
    speed_text = f"speed {format_rate(speed)}" if speed is not None else "speed not reported"
    result = f"{speed_text}, MTU {mtu_bytes}"
    result += f", without {', '.join(off)}" if off else ", offloads on"
    fix = None
    if not up:
        result, fix = f"{result}, down", f"as root: ip link set {name} up"
    elif off:
        switches = " ".join(f"{ETHTOOL_NAMES.get(offload, offload)} on" for offload in off)
        fix = f"as root: ethtool -K {name} {switches}"
    elif mtu_bytes is not None and mtu_bytes < ETHERNET_MTU_BYTES:
        fix = "an MTU below 1500 costs rate and CPU; look for the tunnel or setting behind it"
    return check_limit(f"NIC {name}", result, fix)
