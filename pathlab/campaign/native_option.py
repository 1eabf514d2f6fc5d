"""A factor in the native engine: its flag, and how an end's ``ready`` states it (native/PROTOCOL.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import PydanticCustomError

TIMESTAMP_BYTES = 12

Ready = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NativeOption:
    """How one factor reaches the engine and is read back.

    ``flag`` None: it reaches the engine in another way. ``ends`` get the flag: both, those that transmit,
    those that receive, the one that opens the connections, which states it to the other, or the one at which
    the counted data start (sender) or arrive (receiver). ``write`` gives the flag's value,
    None to leave it out. ``read`` gives what an end's ``ready`` states, None where it does not. ``grants``
    compares the texts of requested and stated level; None: a difference is no flag of the trial. With
    ``is_of_one_end`` only the end that gets the flag is read: the other's value is another setting.
    """

    flag: str | None = None
    ends: Literal["both", "transmitting", "receiving", "connecting", "sender", "receiver"] = "both"
    write: Callable[[Any], str | int | None] = lambda level: level
    read: Callable[[Ready], Any] | None = None
    grants: Callable[[str, str], bool] | None = None
    is_of_one_end: bool = False

    def states(self, end: str) -> bool:
        """Whether the ready of the ``sender`` or the ``receiver`` is read."""
        return not self.is_of_one_end or end == ("receiver" if self.ends == "receiving" else self.ends)

    def is_for(self, *, sends: bool, both_ways: bool, connects: bool) -> bool:
        """Whether an end gets the flag.

        ``sends``: it is the end whose data are counted; ``both_ways``: so are those of the other end;
        ``connects``: it opens the connections.
        """
        chosen = {
            "both": True,
            "transmitting": sends or both_ways,
            "receiving": not sends or both_ways,
            "connecting": connects,
            "sender": sends,
            "receiver": not sends,
        }
        return chosen[self.ends]


def read_key(*keys: str) -> Callable[[Ready], Any]:
    """A value of the record, or of a table in it."""

    def read(ready: Ready) -> Any:
        for key in keys[:-1]:
            ready = ready.get(key) or {}
        return ready.get(keys[-1])

    return read


def read_least(key: str) -> Callable[[Ready], Any]:
    """The smallest value over the end's sockets: what the stream with the least was granted."""

    def read(ready: Ready) -> int | None:
        values = [line[key] for line in ready.get("sockets", ()) if line.get(key) is not None]
        return min(values, default=None)

    return read


def read_congestion(ready: Ready) -> str | None:
    """The congestion control of the first socket."""
    return next((line.get("congestion") for line in ready.get("sockets", ())), None)


def read_code_point(ready: Ready) -> int | None:
    """The code point is the upper six bits of the traffic class (RFC 2474)."""
    traffic_class = read_least("traffic_class")(ready)
    return None if traffic_class is None else traffic_class >> 2


def read_ecn_bits(ready: Ready) -> int | None:
    """The lower two bits of the traffic class (RFC 3168); None for TCP, of which the kernel sets them."""
    traffic_class = read_least("traffic_class")(ready)
    return None if traffic_class is None or "datagrams" not in ready else traffic_class & 3


def read_pacing_by(ready: Ready) -> str | None:
    """Who paces, of datagrams or of a stream of bytes; None where nothing is paced."""
    by = (ready.get("datagrams") or {}).get("pacing") or (ready.get("pacing") or {}).get("by")
    return None if by == "off" else by


def read_zero_copy(ready: Ready) -> bool | None:
    """Whether neither way is by copying; None where the end names no way."""
    transfer = ready.get("transfer") or {}
    modes = [transfer.get("send"), transfer.get("receive")]
    return "copy" not in modes if any(modes) else None


def read_transport(ready: Ready) -> str | None:
    """What carries the messages, where it is not the transport of the streams itself."""
    return (ready.get("messages") or {}).get("carrier") or ready.get("transport")


def read_placement(ready: Ready) -> str | None:
    """What an end can know: that its peer is another thread, or itself."""
    placement = (ready.get("messages") or {}).get("placement")
    return None if placement == "apart" else placement


def read_priority(ready: Ready) -> int | None:
    """The priority in force, 0 for ordinary scheduling; None where the end states nothing of it."""
    messages = ready.get("messages")
    return messages and (messages.get("priority") or 0)


def read_cores(ready: Ready) -> str | None:
    """The cores of the workers, each once."""
    cores = [core for core in ready.get("cores", ()) if core is not None]
    return ",".join(map(str, dict.fromkeys(cores))) or None


def write_switch(level: bool) -> str | None:
    """A switch is left out where it is off."""
    return "yes" if level else None


def write_unless(default: str) -> Callable[[str], str | None]:
    """A name is left out where it is the default."""
    return lambda level: None if level == default else level


def list_cores(text: str) -> list[int]:
    """The cores of a list such as ``0,2-3``."""
    cores: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        cores += range(int(first), int(last or first) + 1)
    return cores


def check_cores(value: str) -> None:
    """Raise PydanticCustomError for a range that ends below its start."""
    for part in value.split(","):
        first, _, last = part.partition("-")
        if last and int(last) < int(first):
            raise PydanticCustomError("cores", "{text}", {"text": f"'{part}' ends below its start"})


def write_cores(level: str | None) -> str | None:
    """The cores one by one, as the engine takes them."""
    return None if level is None else ",".join(map(str, list_cores(level)))


def is_granted_mss(requested: str, stated: str) -> bool:
    """The kernel states it less the room that timestamps take."""
    return int(requested) - TIMESTAMP_BYTES <= int(stated) <= int(requested)


def are_granted_cores(requested: str, stated: str) -> bool:
    """Fewer workers than cores use the first ones."""
    return set(list_cores(stated)) <= set(list_cores(requested))
