"""A link made by tc-netem(8), where the kernel has it.

The lab's own namespace is the router between the two nodes: a bridge joins the outer ends of their veth
pairs, and each outer end carries netem on its way out, so that no node's own interface is shaped. netem
counts its queue in packets and holds those on their way in the same queue, so that its limit is what the line
holds plus the queue, in packets of full size: small packets find a shorter queue than they should.
Super-packets are switched off on these links, because netem would delay and lose them whole. What it loses
has used no share of the rate, and follows no seed.
"""

from __future__ import annotations

import json
from typing import Any

from pathlab.errors import HostError
from pathlab.lab.namespaces import lab_error
from pathlab.lab.topology import LinkSettings
from pathlab.lab.wiring import WiredLink

ETHERNET_BYTES = 14
#: The limit where the queue has none; netem's own default of 1000 would be one.
UNLIMITED_PACKETS = 1_000_000


def is_possible(settings: LinkSettings) -> bool:
    """Whether netem means the same by everything that is set."""
    return not (
        settings.jitter_ns  # it may change the order
        or settings.reorder_ratio  # it hurries some instead of holding them back
        or settings.ecn_bytes
        or settings.cross_bits_per_s
        or settings.lines > 1
        or settings.aqm != "none"
    )


def format_netem(settings: LinkSettings, mtu_bytes: int) -> list[str]:
    """The direction as arguments of ``tc qdisc ... netem``."""
    words = ["limit", str(limit_packets(settings, mtu_bytes))]
    if settings.delay_ns:
        words += ["delay", f"{settings.delay_ns / 1000:.3f}us"]
    if settings.burst_enter_ratio:
        ratios = (
            settings.burst_enter_ratio,
            settings.burst_leave_ratio,
            settings.burst_loss_ratio,
            settings.loss_ratio,
        )
        words += ["loss", "gemodel", *(f"{100 * ratio:.9g}%" for ratio in ratios)]
    elif settings.loss_ratio:
        words += ["loss", "random", f"{100 * settings.loss_ratio:.9g}%"]
    if settings.duplicate_ratio:
        words += ["duplicate", f"{100 * settings.duplicate_ratio:.9g}%"]
    if settings.rate_bits_per_s:
        words += ["rate", f"{settings.rate_bits_per_s}bit", str(-ETHERNET_BYTES)]
    return words


def limit_packets(settings: LinkSettings, mtu_bytes: int) -> int:
    """netem's limit: what the line and the queue hold, in packets of full size."""
    if settings.rate_bits_per_s is None or settings.queue_bytes is None:
        return UNLIMITED_PACKETS
    held_bytes = settings.rate_bits_per_s * settings.delay_ns // (8 * 10**9)
    return max(2, (held_bytes + settings.queue_bytes) // mtu_bytes + 1)


class NetemLink(WiredLink):
    """A running link. :meth:`start` brings both interfaces up; it ends with the lab's namespaces."""

    def start(self) -> None:
        """Make the interfaces, join them, shape both directions. Raises HostError (stage lab)."""
        for end in (0, 1):
            self._check(self._link.direction(end))
        run, bridge = self._namespaces.run, f"br{self._place.number}"
        self.add_veth_pairs()
        run(None, *f"ip link add {bridge} mtu {self._link.mtu_bytes} type bridge".split())
        run(None, *f"ip link set {bridge} up".split())
        for end, node in enumerate(self._link.between):
            run(node, *f"ip link set {self.interface} gso_max_segs 1".split())
            run(None, *f"ip link set {self.outer(end)} master {bridge}".split())
            self._shape("add", 1 - end, self._link.direction(1 - end))

    def _check(self, settings: LinkSettings) -> None:
        if not is_possible(settings):
            raise lab_error(
                f"link {'-'.join(self._link.between)}: netem cannot emulate jitter, reordering, marking, "
                "queue management or cross traffic as set here",
                "use the back end 'tun' or 'packet'",
            )

    def _shape(self, action: str, start: int, settings: LinkSettings) -> None:
        """The direction from an end is shaped where it leaves for the other one."""
        place = f"qdisc {action} dev {self.outer(1 - start)} root netem"
        words = format_netem(settings, self._link.mtu_bytes)
        if action == "change" and settings.rate_bits_per_s is None:
            words += ["rate", "0bit"]  # else the old one would stay
        self._namespaces.run(None, "tc", *place.split(), *words)

    def change(self, end: int, settings: LinkSettings) -> None:
        """Give the direction from this end (0 or 1) other settings. Raises HostError (stage lab)."""
        self._check(settings)
        self._shape("change", end, settings)

    def find_fault(self) -> str | None:
        """Why the link is no longer shaped; None: it is."""
        try:
            for end in (0, 1):
                self._qdisc(end)
        except HostError as error:
            return error.reason
        return None

    def _qdisc(self, end: int) -> dict[str, Any]:
        """What tc shows of one direction. Raises HostError (stage lab) where netem is gone."""
        shown = self._namespaces.run(None, "tc", "-s", "-j", "qdisc", "show", "dev", self.outer(end))
        for qdisc in json.loads(shown):
            if qdisc.get("kind") == "netem":
                result: dict[str, Any] = qdisc
                return result
        raise lab_error(f"link {'-'.join(self._link.between)}: netem is gone from {self.outer(end)}")

    def counters(self, *, lap: bool = False) -> dict[str, Any]:  # noqa: ARG002
        """What netem counts, under the emulator's names; it does not distinguish queue drops from losses."""
        directions = {}
        for name, end in (("forward", 1), ("reverse", 0)):
            qdisc = self._qdisc(end)
            directions[name] = {
                "delivered_packets": qdisc["packets"],
                "delivered_bytes": qdisc["bytes"] - ETHERNET_BYTES * qdisc["packets"],
                "dropped_packets": qdisc["drops"],
                "waiting_packets": qdisc["qlen"],
            }
        return {"type": "counters", "elapsed_ns": None, "cpu_ns": None, "late_ns": None, **directions}

    def close(self) -> None:
        """Nothing to end: the interfaces end with the namespaces."""
