"""From the ``[lab]`` table of a file to a topology."""

from __future__ import annotations

from dataclasses import fields
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
    alike = lab_model.LabDirection.model_fields.keys() & {field.name for field in fields(LinkSettings)}
    settings = {name: getattr(direction, name) for name in alike}
    settings |= {f"burst_{name}": ratio for name, ratio in direction.burst_loss or ()}
    return settings | {"queue_bytes": direction.whole_queue_bytes, "reorder_ns": direction.reorder_delay_ns}
