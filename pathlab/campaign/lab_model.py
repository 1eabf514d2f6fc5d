"""The ``[lab]`` table: hosts, routers and emulated links, as a campaign or a topology file writes them.

A key left out means "not limited" or "none". What contradicts another key is found in
``pathlab.campaign.lab_checks``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pathlab.campaign.file_table import MIB, FileTable, HostName, Seed
from pathlab.campaign.quantities import BYTES, COUNT, RATE, RATIO, TIME, Bounds
from pathlab.units import SECOND_NS

Rate = Annotated[int | None, Bounds(RATE, 1000, 100 * 10**9)]
Delay = Annotated[int, Bounds(TIME, 0, 60 * SECOND_NS)]
Queue = Annotated[int | None, Bounds(BYTES, 576, 1024 * MIB)]
QueueTime = Annotated[int | None, Bounds(TIME, 1000, 60 * SECOND_NS)]
Ratio = Annotated[float, Bounds(RATIO)]


class BurstLoss(FileTable):
    """Losses in bursts, by the model of Gilbert and Elliott: a good and a bad state, drawn per packet."""

    enter_ratio: Ratio = Field(alias="enter", description="Share of packets at which a bad time begins.")
    leave_ratio: Ratio = Field(alias="leave", description="Share of packets at which it ends.")
    loss_ratio: Ratio = Field(1.0, alias="loss", description="Share of packets lost in bad times.")


class LabDirection(FileTable):
    """One direction of a link; what is left out is as in the other direction."""

    rate_bits_per_s: Rate = Field(None, alias="rate", description="Rate; left out: not limited.")
    delay_ns: Delay = Field(0, alias="delay", description="Delay one way: half of the round trip if alike.")
    queue_bytes: Queue = Field(
        None, alias="queue", description="Drop-tail queue before the link; left out: nothing is dropped."
    )
    queue_time_ns: QueueTime = Field(
        None,
        alias="queue_time",
        description="The same queue, as the time that it takes to empty at the rate.",
    )
    loss_ratio: Ratio = Field(0.0, alias="loss", description="Share of packets lost at random.")
    burst_loss: BurstLoss | None = Field(None, description="Losses in bursts, besides `loss`.")
    jitter_ns: Delay = Field(
        0, alias="jitter", description="Up to so much more delay; packets keep their order."
    )
    reorder_ratio: Ratio = Field(
        0.0, alias="reorder", description="Share of packets that may be overtaken ..."
    )
    reorder_delay_ns: Delay = Field(0, alias="reorder_delay", description="... being so much later.")
    duplicate_ratio: Ratio = Field(0.0, alias="duplicate", description="Share of packets delivered twice.")
    ecn_bytes: Queue = Field(
        None, alias="ecn", description="Backlog above which packets are marked (ECN), as TCP then allows."
    )
    aqm: Literal["none", "codel"] = Field("none", description="Queue management: none (drop-tail) or CoDel.")
    cross_bits_per_s: Rate = Field(
        None, alias="cross", description="Traffic of others in the same queue; it does not give way."
    )

    @property
    def whole_queue_bytes(self) -> int | None:
        """The queue in bytes, however it was given."""
        if self.queue_time_ns is None or self.rate_bits_per_s is None:
            return self.queue_bytes
        return max(1500, self.queue_time_ns * self.rate_bits_per_s // (8 * SECOND_NS))


class LabLink(LabDirection):
    """An emulated link between two nodes of the lab, alike in both directions but for `reverse`."""

    between: tuple[HostName, HostName] = Field(description="The two hosts or routers that the link joins.")
    mtu_bytes: Annotated[int, Bounds(COUNT, 576, 9000)] = Field(
        1500, alias="mtu", description="Largest packet in bytes."
    )
    reverse: LabDirection | None = Field(
        None, description="What differs in the direction from the second to the first."
    )

    def direction(self, end: int) -> LabDirection:
        """The direction that starts at this end (0 or 1), complete."""
        if end == 0 or self.reverse is None:
            return self
        given: dict[str, Any] = {name: getattr(self.reverse, name) for name in self.reverse.model_fields_set}
        if given.keys() & {"queue_bytes", "queue_time_ns"}:
            given = {"queue_bytes": None, "queue_time_ns": None, **given}
        return self.model_copy(update=given)


class LabSettings(FileTable):
    """Hosts that exist only on this machine, in network namespaces joined by emulated links."""

    topology: str | None = Field(
        None, description="A ready-made lab (`pathlab lab list`), for what is not given here."
    )
    fallback: Literal["loopback", "none"] = Field(
        "none", description="Where no lab can be built: measure over loopback and say so, or refuse to run."
    )
    seed: Seed = Field(1, description="Seed of all that happens at random on the links; netem has none.")
    backend: Literal["auto", "netem", "tun", "packet"] = Field("auto", description="How links are emulated.")
    ipv6: Annotated[bool, Field(strict=True)] = Field(
        False, description="Whether the links have IPv6 addresses besides those of IPv4."
    )
    hosts: tuple[HostName, ...] = Field(
        min_length=2, description="Names of the hosts (needed without `topology`)."
    )
    routers: tuple[HostName, ...] = Field((), description="Names of nodes that only forward.")
    links: tuple[LabLink, ...] = Field(
        min_length=1, description="The links between them (needed without `topology`)."
    )
