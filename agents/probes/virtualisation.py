"""A hint whether this is a virtual machine or a container; neither can be known for certain from inside.

Sources: the CPU flag ``hypervisor`` (hypervisors set it for guests), /sys/class/dmi/id, /sys/hypervisor;
the marker files of Docker and Podman; cgroup paths of process 1.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

from pathlab.agents.source import Source

_CGROUP_WORDS = (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"))


def parse_cgroup(text: str) -> Optional[str]:
    """The container system named in the text of /proc/1/cgroup, or None."""
    for word, name in _CGROUP_WORDS:
        if any(word in line.rpartition(":")[2] for line in text.splitlines()):
            return name
    return None


def has_hypervisor_flag(text: str) -> bool:
    """Whether the first processor's flags in the text of /proc/cpuinfo name a hypervisor."""
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() == "flags":
            return "hypervisor" in value.split()
    return False


def read_virtualisation(source: Source) -> Dict[str, Any]:
    """``virtual_machine`` (bool), ``vendor``, ``product``, ``hypervisor``, ``container``; None if no hint."""
    container = parse_cgroup(source.optional("/proc/1/cgroup") or "")
    if container is None and source.exists("/run/.containerenv"):
        container = "podman"
    if container is None and source.exists("/.dockerenv"):
        container = "docker"
    optional = {
        name: source.text(path) if source.exists(path) else None
        for name, path in (
            ("vendor", "/sys/class/dmi/id/sys_vendor"),
            ("product", "/sys/class/dmi/id/product_name"),
            ("hypervisor", "/sys/hypervisor/type"),
        )
    }
    flagged = has_hypervisor_flag(source.text("/proc/cpuinfo"))
    return {
        "virtual_machine": flagged or optional["hypervisor"] is not None,
        **optional,
        "container": container,
    }
