"""TCP settings of this network namespace, from /proc/sys/net (kernel: networking/ip-sysctl)."""

from __future__ import annotations

from typing import Any, Dict

from pathlab.agents.congestion import may_set_congestion
from pathlab.agents.source import Source

_FOLDER = "/proc/sys/net/ipv4"
_INTEGERS = (
    "tcp_window_scaling",
    "tcp_sack",
    "tcp_timestamps",
    "tcp_moderate_rcvbuf",
    "tcp_no_metrics_save",
    "tcp_slow_start_after_idle",
    "tcp_mtu_probing",
    "tcp_reordering",
    "tcp_ecn",
    "tcp_adv_win_scale",
    "tcp_notsent_lowat",
)


def read_tcp(source: Source) -> Dict[str, Any]:
    """Congestion control (default, available, allowed to ordinary users, and settable by this process, which
    is tried), ``default_qdisc`` and the integer sysctls.

    A sysctl that this kernel or namespace does not have is null.
    """
    available = source.optional(f"{_FOLDER}/tcp_available_congestion_control")
    allowed = source.optional(f"{_FOLDER}/tcp_allowed_congestion_control")
    facts: Dict[str, Any] = {
        "congestion_default": source.text(f"{_FOLDER}/tcp_congestion_control"),
        "congestion_available": None if available is None else available.split(),
        "congestion_allowed": None if allowed is None else allowed.split(),
        "congestion_settable": None
        if available is None
        else list(filter(may_set_congestion, available.split())),
        "default_qdisc": source.optional("/proc/sys/net/core/default_qdisc"),
    }
    for name in _INTEGERS:
        facts[name] = source.integer(f"{_FOLDER}/{name}")
    return facts
