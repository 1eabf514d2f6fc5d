"""What the native engine refuses of UDP flows and of their factors, before any host is touched.

A UDP flow is transport ``udp`` without ``message``. ``message_limits`` refuses what TCP alone has
(``congestion``, ``mss``, ``no_delay``). The engine refuses a payload above the MTU when it has connected.
"""

from __future__ import annotations

from pathlab.campaign.engine_rules import EngineLimit

_FLOW = "transport == 'udp' and message == 'none'"
_OTHER = "transport != 'udp' or message != 'none'"

#: Factor at fault, what is refused, and the constraint that every combination meets.
_LIMITS = (
    # Of UDP flows alone.
    ("datagram", "datagram without a UDP flow", f"datagram == 'auto' or {_FLOW}"),
    ("gso", "gso without a UDP flow", f"gso == false or {_FLOW}"),
    ("gro", "gro without a UDP flow", f"gro == false or {_FLOW}"),
    ("pacing_by", "pacing_by 'txtime' without a UDP flow", f"pacing_by != 'txtime' or {_FLOW}"),
    ("ecn", "ecn without UDP, as the kernel sets these bits of TCP", "ecn == 'none' or transport == 'udp'"),
    # Of streams of bytes alone.
    ("write", "write with a UDP flow, which has datagram", f"write == 'auto' or {_OTHER}"),
    ("zero_copy", "zero_copy with a UDP flow", f"zero_copy == false or {_OTHER}"),
    (
        "transfer",
        "transfer with a UDP flow, which may lose some of it",
        f"transfer == 'none' or {_OTHER}",
    ),
    # What excludes each other.
    ("pacing_by", "pacing_by without pacing", "pacing_by == 'auto' or pacing != 'none'"),
)

DATAGRAM_LIMITS = tuple(
    EngineLimit(what=what, constraint=constraint, expected=f'where = "{constraint}"', factor=factor)
    for factor, what, constraint in _LIMITS
)
