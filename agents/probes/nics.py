"""Network interfaces of this namespace: /sys/class/net (kernel: ABI/testing/sysfs-class-net) and SIOCETHTOOL.

sysfs shows no offload flags: these come from the ethtool ioctl (linux/ethtool.h), which needs no privilege.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import socket
import struct
from typing import Any, Dict, Optional

from pathlab.agents.source import Source

MAX_NICS = 64
_FOLDER = "/sys/class/net"
_SIOCETHTOOL = 0x8946
_SIOCGIFMTU = 0x8921
_IFREQ_BYTES = 40
_OFFLOADS = {
    "rx_checksum": 0x14,
    "tx_checksum": 0x16,
    "scatter_gather": 0x18,
    "tso": 0x1E,
    "gso": 0x23,
    "gro": 0x2B,
}
_GET_FLAGS = 0x25
_FLAG_LRO = 1 << 15
_GET_DRIVER = 0x3
_DRIVER_BYTES = 196  # struct ethtool_drvinfo: the command, then 32 bytes of driver name, then more


def parse_speed(text: Optional[str]) -> Optional[int]:
    """bit/s from the text of a ``speed`` file (Mbit/s); None where the driver states none (-1 or empty)."""
    if text is None:
        return None
    try:
        mbit_per_s = int(text)
    except ValueError:
        return None
    # Some drivers print the unknown speed as an unsigned 32-bit -1.
    return mbit_per_s * 1_000_000 if 0 < mbit_per_s < 0xFFFFFFFF else None


def read_nics(source: Source) -> Dict[str, Any]:
    """Per interface: speed, MTU, driver, state, duplex, queues and offload flags; null where it has none.

    A mounted sysfs shows the namespace it was mounted in. Where that is not this process's own, only what the
    sockets interface states is reported, and the reason is kept.
    """
    shown = list_shown(source)
    if source.root != "/":
        own = shown
    else:
        own = {name: index for index, name in socket.if_nameindex()}
        if shown != own:
            source.reasons.append(f"{_FOLDER}: shows another network namespace")
    for name in sorted(own)[MAX_NICS:]:
        source.reasons.append(f"{name}: only the first {MAX_NICS} interfaces are read")
    return {name: _read_nic(source, name, shown == own) for name in sorted(own)[:MAX_NICS]}


def list_shown(source: Source) -> Dict[str, Optional[int]]:
    """Interface numbers by name as sysfs shows them; empty when it shows none."""
    try:
        names = source.names(_FOLDER)
    except OSError as error:
        source.reasons.append(f"{_FOLDER}: {error.strerror}")
        return {}
    return {
        name: source.integer(f"{_FOLDER}/{name}/ifindex")
        for name in names
        if source.exists(f"{_FOLDER}/{name}/ifindex")  # bonding_masters is a file
    }


def _read_nic(source: Source, name: str, shown: bool) -> Dict[str, Any]:
    folder = f"{_FOLDER}/{name}"
    facts: Dict[str, Any] = {
        "mtu_bytes": source.integer(f"{folder}/mtu") if shown else None,
        "speed_bits_per_s": parse_speed(_quiet(source, f"{folder}/speed")) if shown else None,
        "duplex": _quiet(source, f"{folder}/duplex") if shown else None,
        "state": _quiet(source, f"{folder}/operstate") if shown else None,
        "driver": source.link_name(f"{folder}/device/driver") if shown else None,
        "receive_queues": _count_queues(source, folder, "rx-") if shown else None,
        "transmit_queues": _count_queues(source, folder, "tx-") if shown else None,
        "offloads": None,
    }
    if source.root == "/":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
            facts["mtu_bytes"] = read_mtu_bytes(handle, name)
            facts["driver"] = read_driver(handle, name)
            facts["offloads"] = read_offloads(handle, name)
    return facts


def _quiet(source: Source, path: str) -> Optional[str]:
    # Virtual and unplugged interfaces refuse these files (EINVAL); that is an answer, no fault of the host.
    try:
        return source.text(path)
    except OSError:
        return None


def _count_queues(source: Source, folder: str, prefix: str) -> Optional[int]:
    try:
        return sum(1 for name in source.names(f"{folder}/queues") if name.startswith(prefix))
    except OSError:
        return None


def read_mtu_bytes(handle: socket.socket, name: str) -> Optional[int]:
    """The MTU of an interface of this namespace (netdevice(7), SIOCGIFMTU); None when it just went."""
    request = struct.pack("16si", os.fsencode(name), 0).ljust(_IFREQ_BYTES, b"\0")
    try:
        answer = fcntl.ioctl(handle.fileno(), _SIOCGIFMTU, request)
    except OSError as error:
        if error.errno == errno.ENODEV:
            return None
        raise
    return int(struct.unpack_from("16si", answer)[1])


def read_driver(handle: socket.socket, name: str) -> Optional[str]:
    """The driver's name, None when the interface states none."""
    answer = _request_ethtool(handle, name, struct.pack("I", _GET_DRIVER).ljust(_DRIVER_BYTES, b"\0"))
    return None if answer is None else answer[4:36].partition(b"\0")[0].decode("ascii", "replace") or None


def read_offloads(handle: socket.socket, name: str) -> Dict[str, Optional[bool]]:
    """Offload flags of one interface, None each that the driver does not state."""
    flags = {flag: _read_flag(handle, name, command, 1) for flag, command in _OFFLOADS.items()}
    flags["lro"] = _read_flag(handle, name, _GET_FLAGS, _FLAG_LRO)
    return flags


def _read_flag(handle: socket.socket, name: str, command: int, mask: int) -> Optional[bool]:
    answer = _request_ethtool(handle, name, struct.pack("II", command, 0))  # struct ethtool_value
    return None if answer is None else bool(struct.unpack("II", answer)[1] & mask)


def _request_ethtool(handle: socket.socket, name: str, question: bytes) -> Optional[bytes]:
    buffer = array.array("B", question)
    address, _length = buffer.buffer_info()
    request = struct.pack("16sP", os.fsencode(name), address).ljust(_IFREQ_BYTES, b"\0")
    try:
        fcntl.ioctl(handle.fileno(), _SIOCETHTOOL, request)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENODEV, errno.EPERM, errno.EINVAL, errno.ENOTTY):
            return None
        raise
    return buffer.tobytes()
