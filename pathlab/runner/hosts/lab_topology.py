"""From the ``[lab]`` table of a file to a topology."""

from __future__ import annotations

from typing import Any

from pathlab.campaign import lab_model
from pathlab.lab.topology import Link, LinkSettings, Topology


def build_topology(lab: lab_model.LabSettings) -> Topology:
    """Return what the table describes."""
    return Topology(
        hosts=lab.hosts,
        routers=lab.routers,
        links=tuple(_link(link) for link in lab.links),
        seed=lab.seed,
        ipv6=lab.ipv6,
    )


def _link(link: lab_model.LabLink) -> Link:
    reverse = None if link.reverse is None else LinkSettings(**_settings(link.direction(1)))
    return Link(
        between=link.between, mtu_bytes=link.mtu_bytes, reverse=reverse, **_settings(link.direction(0))
    )


def _settings(direction: lab_model.LabDirection) -> dict[str, Any]:
    burst = direction.burst_loss
    return {
        "rate_bits_per_s": direction.rate_bits_per_s,
        "delay_ns": direction.delay_ns,
        "queue_bytes": direction.whole_queue_bytes,
        "loss_ratio": direction.loss_ratio,
        "jitter_ns": direction.jitter_ns,
        "burst_enter_ratio": burst.enter_ratio if burst else 0.0,
        "burst_leave_ratio": burst.leave_ratio if burst else 0.0,
        "burst_loss_ratio": burst.loss_ratio if burst else 0.0,
        "reorder_ratio": direction.reorder_ratio,
        "reorder_ns": direction.reorder_delay_ns,
        "duplicate_ratio": direction.duplicate_ratio,
        "ecn_bytes": direction.ecn_bytes,
        "aqm": direction.aqm,
        "cross_bits_per_s": direction.cross_bits_per_s,
    }
